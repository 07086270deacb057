//! Server-sent events written to a file as they came: `event:` and `data:` lines, a blank line after each event.
//!
//! In: lines. Out: events with their data joined (WHATWG HTML, 9.2.6). Never keeps more than one event.

use crate::decode::frame::Frame;
use crate::decode::record::Origin;

/// An event with data.
#[derive(Debug)]
pub(in crate::decode) struct Event {
    /// First line of it.
    pub(in crate::decode) origin: Origin,
    /// What stood around that line.
    pub(in crate::decode) frame: Frame<'static>,
    /// Its name; empty for none.
    pub(in crate::decode) name: String,
    /// Its `data` lines, joined.
    pub(in crate::decode) data: String,
    /// Its data exceeded the limit and is incomplete.
    pub(in crate::decode) too_large: bool,
}

/// The event under way.
#[derive(Debug, Default)]
pub(in crate::decode) struct Sse {
    current: Option<Event>,
    /// An event was seen, so that a comment line is one.
    in_stream: bool,
}

impl Sse {
    /// Whether a line may begin an event.
    pub(in crate::decode) fn begins(line: &str) -> bool {
        line.starts_with("data:") || line.starts_with("event:")
    }

    /// Nothing is kept, and no comment is waited for.
    pub(in crate::decode) fn is_idle(&self) -> bool {
        self.current.is_none() && !self.in_stream
    }

    /// Where the event under way begins.
    pub(in crate::decode) fn origin(&self) -> Option<&Origin> {
        self.current.as_ref().map(|event| &event.origin)
    }

    /// Bytes that are kept.
    pub(in crate::decode) fn bytes(&self) -> usize {
        self.current.as_ref().map_or(0, |event| event.name.len() + event.data.len())
    }

    /// Takes a line if it is part of an event stream.
    pub(in crate::decode) fn takes(
        &mut self,
        line: &str,
        origin: &Origin,
        frame: &Frame<'_>,
        max_bytes: usize,
    ) -> bool {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => return self.in_stream,
            "data" | "event" => {}
            "id" | "retry" if self.in_stream => {}
            _ => return false,
        }
        if !line.contains(':') {
            return false;
        }
        self.in_stream = true;
        let event = self.current.get_or_insert_with(|| Event {
            origin: origin.clone(),
            frame: frame.kept(),
            name: String::new(),
            data: String::new(),
            too_large: false,
        });
        match field {
            "event" => value.clone_into(&mut event.name),
            "data" if event.data.len() + value.len() > max_bytes => event.too_large = true,
            "data" => {
                if !event.data.is_empty() {
                    event.data.push('\n');
                }
                event.data.push_str(value);
            }
            _ => {}
        }
        true
    }

    /// Ends the event under way; none if it has no data.
    pub(in crate::decode) fn end(&mut self) -> Option<Event> {
        self.current.take().filter(|event| !event.data.is_empty() || event.too_large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::record::Position;

    #[test]
    fn data_lines_are_joined_and_one_blank_after_the_colon_is_no_data() {
        let mut sse = Sse::default();
        let origin = |line| Origin { source: "s".into(), position: Position::Line(line) };
        for (n, line) in ["event: error", "data: {", "data:  \"a\":1}", "id: 7", ": ping"].into_iter().enumerate() {
            assert!(sse.takes(line, &origin(n as u64 + 1), &Frame::default(), 100), "{line}");
        }
        let event = sse.end().unwrap();
        assert_eq!((event.origin, event.name.as_str(), event.data.as_str()), (origin(1), "error", "{\n \"a\":1}"));
        assert!(sse.end().is_none());
    }

    #[test]
    fn ordinary_lines_are_not_taken() {
        let mut sse = Sse::default();
        let origin = Origin { source: "s".into(), position: Position::Line(1) };
        for line in [": x", "id: 1", "INFO:a:b", "database: x", "data", ""] {
            assert!(!sse.takes(line, &origin, &Frame::default(), 100), "{line}");
        }
    }
}
