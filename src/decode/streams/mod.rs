//! What is open in each stream of lines: pieces of a line, a server-sent event, a JSON value.
//!
//! In: pieces, with the stream they belong to. Out: whole lines. Keeps a bounded number of streams and of bytes: what was
//! begun first is given up first, and handed back to be read as far as it came.

mod open_json;
mod sse;

use std::collections::HashMap;

use super::frame::Frame;
use super::record::{Origin, Position};
pub(super) use open_json::{Fed, OpenJson};
pub(super) use sse::{Event, Sse};

/// Streams with something open. A node runs some hundred containers.
const MOST_STREAMS: usize = 1024;

/// A line that came in pieces, as far as it came.
#[derive(Debug)]
pub(super) struct Part {
    /// The pieces.
    pub(super) text: String,
    /// Where the first stands.
    pub(super) origin: Origin,
    /// What stood around the first.
    pub(super) frame: Frame<'static>,
    /// It was said to go on, or only looks so.
    pub(super) is_sure: bool,
    /// Grown beyond the limit: the rest is passed over.
    pub(super) given_up: bool,
}

/// What is open in one stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    begun: u64,
    /// Pieces of a line.
    pub(super) part: Option<Part>,
    /// Server-sent events.
    pub(super) sse: Sse,
    /// A JSON value over several lines.
    pub(super) json: Option<OpenJson>,
}

impl Stream {
    fn bytes(&self) -> usize {
        let part = self.part.as_ref().map_or(0, |part| part.text.len());
        part + self.sse.bytes() + self.json.as_ref().map_or(0, OpenJson::bytes)
    }

    /// Line in which the first begins of what is not complete.
    fn open_since(&self) -> Option<u64> {
        let part = self.part.as_ref().map(|part| &part.origin);
        let json = self.json.as_ref().and_then(OpenJson::first).map(|line| &line.origin);
        [part, json, self.sse.origin()].into_iter().flatten().map(line).min()
    }

    fn is_idle(&self) -> bool {
        self.part.is_none() && self.json.is_none() && self.sse.is_idle()
    }
}

/// The streams of one source.
#[derive(Debug)]
pub(super) struct Streams {
    open: HashMap<u64, Stream>,
    begun: u64,
    held: usize,
    most_bytes: usize,
    /// What begins in this line of the source or later is not read before it is complete.
    waits_from: u64,
    /// Streams with such.
    waited_for: usize,
    /// Some are being given up.
    pub(super) closing: bool,
}

/// The line of a place; what is told by its byte is in the first.
fn line(origin: &Origin) -> u64 {
    if let Position::Line(line) = origin.position { line } else { 1 }
}

impl Streams {
    /// No streams; they may keep so many bytes together, and one piece too much.
    pub(super) fn new(most_bytes: usize) -> Self {
        let waits_from = u64::MAX;
        Self { open: HashMap::new(), begun: 0, held: 0, most_bytes, waits_from, waited_for: 0, closing: false }
    }

    /// Waits for the rest of what begins in this line or later. To be said before anything is open.
    pub(super) fn wait_from(&mut self, line: u64) {
        self.waits_from = line;
    }

    /// Whether there is something of which the rest is waited for.
    pub(super) fn is_any_waited_for(&self) -> bool {
        self.waited_for > 0
    }

    /// Longest line, event or value.
    pub(super) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Whether a stream has something open.
    pub(super) fn is_open(&self, stream: u64) -> bool {
        self.open.contains_key(&stream)
    }

    /// Changes what is open in a stream.
    pub(super) fn with<T>(&mut self, stream: u64, change: impl FnOnce(&mut Stream) -> T) -> T {
        let open = self.open.entry(stream).or_insert_with(|| {
            self.begun += 1;
            Stream { begun: self.begun, ..Stream::default() }
        });
        let (before, was_waited_for) = (open.bytes(), is_waited_for(open, self.waits_from));
        let result = change(open);
        self.held = (self.held + open.bytes()).saturating_sub(before);
        self.waited_for += usize::from(is_waited_for(open, self.waits_from));
        self.waited_for -= usize::from(was_waited_for);
        if open.is_idle() {
            self.open.remove(&stream);
        }
        result
    }

    /// Takes the event that a stream has open; none if it has no data.
    pub(super) fn end_event(&mut self, stream: u64) -> Option<Event> {
        if self.is_open(stream) { self.with(stream, |open| open.sse.end()) } else { None }
    }

    /// Takes the pieces that a stream has open.
    pub(super) fn take_part(&mut self, stream: u64) -> Option<Part> {
        if self.is_open(stream) { self.with(stream, |open| open.part.take()) } else { None }
    }

    /// Takes the JSON value that a stream has open.
    pub(super) fn take_json(&mut self, stream: u64) -> Option<OpenJson> {
        if self.is_open(stream) { self.with(stream, |open| open.json.take()) } else { None }
    }

    /// Takes the stream that began first, if there are too many, or too much in them.
    pub(super) fn surplus(&mut self) -> Option<Stream> {
        let too_much = self.open.len() > MOST_STREAMS || self.held > self.most_bytes;
        if too_much { self.first(|_| true) } else { None }
    }

    /// Takes the stream that began first, of those for whose rest is not waited.
    pub(super) fn first_over(&mut self) -> Option<Stream> {
        let waits_from = self.waits_from;
        self.first(|open| !is_waited_for(open, waits_from))
    }

    fn first(&mut self, is_one: impl Fn(&Stream) -> bool) -> Option<Stream> {
        let (stream, _) = self.open.iter().filter(|(_, open)| is_one(open)).min_by_key(|(_, open)| open.begun)?;
        let open = self.open.remove(&stream.clone())?;
        self.held = self.held.saturating_sub(open.bytes());
        self.waited_for -= usize::from(is_waited_for(&open, self.waits_from));
        Some(open)
    }
}

fn is_waited_for(open: &Stream, waits_from: u64) -> bool {
    open.open_since().is_some_and(|line| line >= waits_from)
}
