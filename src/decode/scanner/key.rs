//! Names of the members on the way to a list of records.
//!
//! In: the bytes of a key, in pieces. Out: which name it is. Keeps no more than the longest name has.

/// Keys on the way to a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Log,
    Entries,
    ResourceSpans,
    ResourceLogs,
    Batches,
    Trace,
    Result,
    Data,
    Streams,
    Values,
    Events,
    LogEvents,
    Results,
    Hits,
    Other,
}

/// Longest of [`Name`], in bytes.
const NAME_BYTES: usize = 13;

/// The beginning of a key, enough to compare it with [`Name`].
#[derive(Default)]
pub(super) struct Key {
    bytes: [u8; NAME_BYTES],
    length: usize,
    /// Longer than any name, or escaped.
    other: bool,
}

impl Key {
    /// Takes the next bytes of the key.
    pub(super) fn extend(&mut self, more: &[u8]) {
        match self.bytes.get_mut(self.length..self.length + more.len()) {
            Some(room) if !self.other => {
                room.copy_from_slice(more);
                self.length += more.len();
            }
            _ => self.other = true,
        }
    }

    /// Takes an escape: then it is none of the names, which need none.
    pub(super) fn spoil(&mut self) {
        self.other = true;
    }

    /// The name it is.
    pub(super) fn name(&self) -> Name {
        match &self.bytes[..self.length] {
            _ if self.other => Name::Other,
            b"log" => Name::Log,
            b"entries" => Name::Entries,
            b"resourceSpans" => Name::ResourceSpans,
            b"resourceLogs" => Name::ResourceLogs,
            b"batches" => Name::Batches,
            b"trace" => Name::Trace,
            b"result" => Name::Result,
            b"data" => Name::Data,
            b"streams" => Name::Streams,
            b"values" => Name::Values,
            b"events" => Name::Events,
            b"logEvents" => Name::LogEvents,
            b"results" => Name::Results,
            b"hits" => Name::Hits,
            _ => Name::Other,
        }
    }
}
