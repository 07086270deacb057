//! The outer layers of an OTLP protobuf request, field by field.
//!
//! In: bytes. Out: fields, and what signal the bytes carry, if any. Copies nothing and allocates nothing, so that
//! hostile bytes cost no more than a walk over them; never looks inside a string.

use super::assemble::{SPAN_ID, TRACE_ID};

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decode) enum Signal {
    Traces,
    Logs,
    Metrics,
}

/// What a walk over bytes says about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sniff {
    /// An OTLP request with at least one telling item.
    Request(Signal),
    /// Nothing speaks against it and nothing for it: empty, or resources without items.
    Undecided,
    /// No OTLP request.
    Foreign,
}

/// Field numbers shared by the messages of all three signals (opentelemetry/proto/collector/*/v1, */v1).
pub(super) mod number {
    /// `Export*ServiceRequest.resource_*`.
    pub(in crate::decode::otlp) const RESOURCE_GROUP: u32 = 1;
    /// `Resource*.resource`.
    pub(in crate::decode::otlp) const RESOURCE: u32 = 1;
    /// `Resource*.scope_*`.
    pub(in crate::decode::otlp) const SCOPE_GROUP: u32 = 2;
    /// `Resource*.instrumentation_library_*`, of versions before 0.15 and of the same shape.
    pub(in crate::decode::otlp) const LIBRARY_GROUP: u32 = 1000;
    /// `Scope*.scope`.
    pub(in crate::decode::otlp) const SCOPE: u32 = 1;
    /// `ScopeSpans.spans`, `ScopeLogs.log_records`, `ScopeMetrics.metrics`.
    pub(in crate::decode::otlp) const ITEM: u32 = 2;
    /// `schema_url` of resource and scope groups.
    pub(super) const SCHEMA_URL: u32 = 3;
}

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field<'a> {
    /// Field number.
    pub(super) number: u32,
    /// Content.
    pub(super) content: Content<'a>,
}

/// Content of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// Wire type 0.
    Varint,
    /// Wire type 1.
    Fixed64,
    /// Wire type 5.
    Fixed32,
    /// Wire type 2: a string, bytes or a message.
    Bytes {
        /// What there is of it.
        bytes: &'a [u8],
        /// Where it starts in the message that holds it.
        start: usize,
        /// False if the bytes end before it does.
        is_complete: bool,
    },
}

/// Why a walk ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The bytes end within a field.
    Truncated,
    /// No field starts like this.
    Malformed,
}

/// Walks over the fields of a message; ends after the first error or incomplete field.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Starts at the first field.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn varint(&mut self) -> Result<u64, Broken> {
        let mut value = 0_u64;
        // Ten groups of seven bits hold 64; the tenth has room for one bit only.
        for shift in (0..70).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Broken::Truncated)?;
            self.at += 1;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Broken::Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Broken::Malformed)
    }

    fn skip(&mut self, count: usize) -> Result<(), Broken> {
        if self.bytes.len() - self.at < count {
            self.at = self.bytes.len();
            return Err(Broken::Truncated);
        }
        self.at += count;
        Ok(())
    }

    fn field(&mut self) -> Result<Field<'a>, Broken> {
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number != 0).ok_or(Broken::Malformed)?;
        let content = match key & 7 {
            0 => self.varint().map(|_| Content::Varint)?,
            1 => self.skip(8).map(|()| Content::Fixed64)?,
            5 => self.skip(4).map(|()| Content::Fixed32)?,
            2 => {
                // A length past the address space is as incomplete as any other that is too long.
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                let start = self.at;
                let end = start.saturating_add(length);
                self.at = end.min(self.bytes.len());
                Content::Bytes { bytes: &self.bytes[start..self.at], start, is_complete: end <= self.bytes.len() }
            }
            _ => return Err(Broken::Malformed),
        };
        Ok(Field { number, content })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.at = self.bytes.len();
        }
        Some(field)
    }
}

/// Tells whether bytes are an OTLP request, and of which signal. The bytes may end early.
///
/// All requests have one shape down to the items, whose field numbers and wire types then differ: a span's field 7 is
/// a fixed64, a log record's fields 1 and 11 are, a metric has none.
pub(super) fn sniff(request: &[u8]) -> Sniff {
    let item = |item: &[u8]| item_signal(item).map_or(Sniff::Undecided, Sniff::Request);
    let scope_group = |group: &[u8]| descend(group, &[number::ITEM], &[number::SCOPE, number::SCHEMA_URL], item);
    let resource_group = |group: &[u8]| {
        let groups = [number::SCOPE_GROUP, number::LIBRARY_GROUP];
        descend(group, &groups, &[number::RESOURCE, number::SCHEMA_URL], scope_group)
    };
    descend(request, &[number::RESOURCE_GROUP], &[], resource_group)
}

/// Looks into the fields numbered in `into` until one decides; other fields must be those in `beside`, and all are
/// length-delimited.
fn descend(message: &[u8], into: &[u32], beside: &[u32], look: impl Fn(&[u8]) -> Sniff) -> Sniff {
    for field in Fields::new(message) {
        let Ok(Field { number, content: Content::Bytes { bytes, .. } }) = field else {
            return if field == Err(Broken::Truncated) { Sniff::Undecided } else { Sniff::Foreign };
        };
        if into.contains(&number) {
            match look(bytes) {
                Sniff::Undecided => {}
                decided => return decided,
            }
        } else if !beside.contains(&number) {
            return Sniff::Foreign;
        }
    }
    Sniff::Undecided
}

/// Which signal an item is of, by the first of its fields that only one of them has.
fn item_signal(item: &[u8]) -> Option<Signal> {
    let mut has_name = false;
    let mut has_trace_id = false;
    let mut has_gauge = false;
    for field in Fields::new(item) {
        let Field { number, content } = field.ok()?;
        match (number, content) {
            (1 | 11, Content::Fixed64) | (2 | 7, Content::Varint) | (8, Content::Fixed32) => return Some(Signal::Logs),
            (7 | 8, Content::Fixed64) | (6 | 10, Content::Varint) | (16, Content::Fixed32) => {
                return Some(Signal::Traces);
            }
            (1, Content::Bytes { bytes, .. }) => {
                has_name = true;
                // A metric's name and description can have the lengths of ids, but are text.
                has_trace_id = bytes.len() == TRACE_ID && !is_printable(bytes);
            }
            (2, Content::Bytes { bytes, .. }) if has_trace_id && bytes.len() == SPAN_ID => return Some(Signal::Traces),
            // Sum, histograms, summary. A gauge (5) has the place of a span's name, so it decides only at the end.
            (7 | 9 | 10 | 11, Content::Bytes { .. }) if has_name => return Some(Signal::Metrics),
            (5, Content::Bytes { .. }) => has_gauge = has_name && !has_trace_id,
            _ => {}
        }
    }
    has_gauge.then_some(Signal::Metrics)
}

fn is_printable(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

/// Data points of a metric: what repeats in field 1 of its gauge, sum, histograms or summary.
pub(super) fn data_points(metric: &[u8]) -> u64 {
    let points = |data: &[u8]| Fields::new(data).flatten().filter(|field| field.number == 1).count();
    let data = Fields::new(metric).flatten().filter(|field| matches!(field.number, 5 | 7 | 9 | 10 | 11));
    data.map(|field| match field.content {
        Content::Bytes { bytes, .. } => points(bytes) as u64,
        _ => 0,
    })
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_walked_with_their_places() {
        // Field 1 varint 150, field 2 "hi", field 3 fixed32, field 4 fixed64.
        let bytes = b"\x08\x96\x01\x12\x02hi\x1d\0\0\0\0\x21\0\0\0\0\0\0\0\0";
        let fields: Vec<_> = Fields::new(bytes).collect::<Result<_, _>>().unwrap();
        assert_eq!(
            fields,
            [
                Field { number: 1, content: Content::Varint },
                Field { number: 2, content: Content::Bytes { bytes: b"hi", start: 5, is_complete: true } },
                Field { number: 3, content: Content::Fixed32 },
                Field { number: 4, content: Content::Fixed64 },
            ]
        );
    }

    #[test]
    fn a_field_that_ends_early_yields_what_there_is() {
        let fields: Vec<_> = Fields::new(b"\x12\x05hi").collect();
        let partial = Content::Bytes { bytes: b"hi", start: 2, is_complete: false };
        assert_eq!(fields, [Ok(Field { number: 2, content: partial })]);
    }

    #[test]
    fn broken_bytes_end_the_walk_once() {
        for (bytes, broken) in [
            (&b"\x80"[..], Broken::Truncated),
            (b"\x08", Broken::Truncated),
            (b"\x0d\0\0", Broken::Truncated),
            (b"\x09\0\0", Broken::Truncated),
            (b"\x0b", Broken::Malformed),
            (b"\x00\x01", Broken::Malformed),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", Broken::Malformed),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", Broken::Malformed),
        ] {
            assert_eq!(Fields::new(bytes).collect::<Vec<_>>(), [Err(broken)], "{bytes:?}");
        }
    }

    #[test]
    fn a_length_beyond_memory_is_an_incomplete_field() {
        let bytes = b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x";
        let partial = Content::Bytes { bytes: b"x", start: 11, is_complete: false };
        assert_eq!(Fields::new(bytes).collect::<Vec<_>>(), [Ok(Field { number: 1, content: partial })]);
    }

    #[test]
    fn text_is_no_request() {
        for text in ["", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n", "\nINFO:httpx:HTTP Request: GET", "{\"resourceSpans\":[]}"] {
            assert!(!matches!(sniff(text.as_bytes()), Sniff::Request(_)), "{text:?}");
        }
    }
}
