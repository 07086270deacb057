//! Framing: a stream cut into the pieces that stand for themselves.
//!
//! In: bytes. Out: lines, elements of JSON documents and protobuf bodies, handed to [`Router`]. Memory is one line or one
//! element, whatever the stream; a broken piece costs itself, never its successors.
//!
//! Every piece is looked at anew, so files may be mixed. A line that begins with a bracket is JSON: alone on its line it
//! is a record, else the scanner follows it over the lines ([`document`]).

#[cfg(test)]
pub(super) mod collect;
mod document;
mod inspected;
mod open;
mod sniff;
mod window;

use std::io::{self, Read};
use std::sync::Arc;

use super::frame::Frame;
use super::json;
use super::key_map::KeyMap;
use super::record::{Origin, Position, RejectReason, Sink};
use super::route::Router;
use super::{Limits, otlp};
use crate::receive::InflateFault;
use open::Open;
use sniff::Kind;
use window::{CHUNK, Fill, Window};

/// A line longer than this goes to the scanner at once, so that a whole capture on one line is never one value.
const SHORT_LINE: usize = 1 << 20;

/// Zero bytes in a row behind which any text is looked for: file systems make holes of whole blocks.
const HOLE: u64 = 512;

/// Bytes of a stream that begins as no text which are searched for some: more than a log's hole, less than a device has.
const SEARCHED: u64 = 4 << 30;

/// The stream of lines that stand in no log carrier.
const PLAIN: u64 = 0;

/// Reads one stream.
pub(super) struct Framer<'a> {
    source: &'a Arc<str>,
    window: Window<Box<dyn Read + 'a>>,
    router: Router<'a>,
    limits: &'a Limits,
    /// Bytes scanned over lines in vain; it bounds how often that is tried.
    wasted: u64,
    /// Up to here, in bytes of the stream, the line is known to hold more than one value, or too much for one.
    crowded_to: u64,
    /// What is not complete at the end, and is waited for.
    open: Open,
}

impl<'a> Framer<'a> {
    /// Prepares to read `reader`.
    pub(super) fn new(
        source: &'a Arc<str>,
        reader: Box<dyn Read + 'a>,
        limits: &'a Limits,
        keys: &'a KeyMap,
        sink: &'a mut dyn Sink,
    ) -> Self {
        let window = Window::new(reader, limits.max_record_bytes.max(CHUNK));
        Self {
            source,
            window,
            router: Router::new(limits, keys, sink),
            limits,
            wasted: 0,
            crowded_to: 0,
            open: Open::default(),
        }
    }

    /// Waits for the rest of what begins in this line or later.
    pub(super) fn waiting_from(mut self, line: u64) -> Self {
        self.open = Open::from(line);
        self.router.streams.wait_from(line);
        self
    }

    /// Reads to the end; the line from which on it has to be read again when there is more, if something is waited for.
    pub(super) fn run(&mut self) -> Option<u64> {
        let mut goes_on = self.begin();
        while goes_on {
            let line = self.window.line();
            goes_on = self.piece();
            self.open.passed(line, self.router.streams.is_any_waited_for());
        }
        self.router.end();
        if let Some(error) = self.window.take_failure() {
            self.reject_failure(&error);
        }
        self.open.line()
    }

    /// Looks at the head; false if nothing is left to read by lines.
    fn begin(&mut self) -> bool {
        const ENOUGH: usize = 64;
        const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";
        while self.window.data().len() < ENOUGH && self.window.more() == Fill::More {}
        if self.window.data().starts_with(UTF8_BOM) {
            self.window.consume(UTF8_BOM.len());
        }
        let head = self.window.data();
        match sniff::kind(&head[..head.len().min(sniff::HEAD)]) {
            Kind::Text => true,
            Kind::Protobuf => self.protobuf(),
            Kind::Binary => self.find_text(),
            Kind::Foreign(advice) => self.give_up(RejectReason::NeedsConversion, advice),
        }
    }

    fn give_up(&mut self, reason: RejectReason, detail: &str) -> bool {
        let origin = self.origin(Position::Byte(0));
        self.router.reject(&origin, reason, detail);
        self.window.abandon();
        false
    }

    /// Reads the whole stream as a request body; true if it turns out to be text.
    fn protobuf(&mut self) -> bool {
        while self.window.data().len() <= self.limits.max_record_bytes && self.window.more() == Fill::More {}
        if self.window.data().len() > self.limits.max_record_bytes {
            return sniff::is_mostly_text(self.window.data())
                || self.give_up(RejectReason::TooLarge, "protobuf body longer than the record limit");
        }
        let origin = self.origin(Position::Byte(0));
        if otlp::proto::decode(self.window.data(), &origin, self.router.sink()) {
            self.window.abandon();
            return false;
        }
        sniff::is_mostly_text(self.window.data()) || self.find_text()
    }

    /// Leaves behind what is no text, in constant memory, up to a hole's end or a line that begins as a record does: a log
    /// that was cut while its writer kept its place begins with a hole. False if there is none.
    fn find_text(&mut self) -> bool {
        let origin = self.origin(Position::Byte(self.window.offset()));
        let what = match self.window.data() {
            [0x1f, 0x8b, ..] => "compressed as gzip is, and nothing said so: a request names it as Content-Encoding",
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                "compressed as zstd is, and nothing said so: a request names it as Content-Encoding"
            }
            _ => "no text and no OTLP protobuf",
        };
        self.router.reject(&origin, RejectReason::Binary, what);
        let end = self.window.offset().saturating_add(SEARCHED);
        while self.window.offset() < end {
            let hole = self.skip_hole(end);
            while self.window.data().len() < sniff::HEAD && self.window.more() == Fill::More {}
            let data = self.window.data();
            if data.is_empty() {
                return false;
            }
            let is_text = hole >= HOLE && sniff::kind(&data[..data.len().min(sniff::HEAD)]) == Kind::Text;
            if is_text || [&b"{\""[..], b"[{"].iter().any(|start| data.starts_with(start)) {
                return true;
            }
            let next = memchr::memchr2(b'\n', 0, data).map_or(data.len(), |at| at + usize::from(data[at] == b'\n'));
            self.window.consume(next);
        }
        self.window.abandon();
        false
    }

    /// Passes zero bytes up to an offset; how many there were.
    fn skip_hole(&mut self, end: u64) -> u64 {
        const ZEROS: [u8; 4096] = [0; 4096];
        let start = self.window.offset();
        loop {
            let data = self.window.data();
            let blocks = data.chunks_exact(ZEROS.len()).take_while(|block| **block == ZEROS).count() * ZEROS.len();
            let rest = data[blocks..].iter().take(ZEROS.len()).take_while(|byte| **byte == 0).count();
            let length = blocks + rest;
            let ends_here = length < data.len();
            self.window.consume(length);
            if ends_here || self.window.offset() >= end || self.window.more() != Fill::More {
                return self.window.offset() - start;
            }
        }
    }

    /// Reads one line or document; false at the end.
    fn piece(&mut self) -> bool {
        match self.first_byte() {
            None => false,
            Some(b'\n') => {
                self.window.consume(1);
                self.router.end_event(PLAIN);
                true
            }
            Some(b'{') if self.inspected() => true,
            Some(b'{' | b'[') if self.looks_like_json() => {
                self.router.end_event(PLAIN);
                self.json();
                true
            }
            Some(_) => {
                self.text();
                true
            }
        }
    }

    /// Passes blanks and what stands between values: commas, the record separator of JSON text sequences (RFC 7464).
    fn first_byte(&mut self) -> Option<u8> {
        loop {
            let data = self.window.data();
            let between = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b',' | 0x1e);
            if let Some(at) = data.iter().position(|b| !between(b)) {
                let first = data[at];
                self.window.consume(at);
                return Some(first);
            }
            self.window.consume(data.len());
            if self.window.more() != Fill::More {
                return None;
            }
        }
    }

    fn looks_like_json(&mut self) -> bool {
        loop {
            if let Some(begins) = json::begins(self.window.data()) {
                return begins;
            }
            if self.window.more() != Fill::More {
                return true;
            }
        }
    }

    /// Length of the current line without its end, if that comes within `limit`; at the end of the stream, the rest.
    fn line_length(&mut self, limit: usize) -> Option<usize> {
        let mut searched = 0;
        loop {
            let data = self.window.data();
            if let Some(at) = memchr::memchr(b'\n', &data[searched..]) {
                return Some(searched + at).filter(|length| *length <= limit);
            }
            searched = data.len();
            if searched > limit || self.window.more() == Fill::Full {
                return None;
            }
            if self.window.data().len() == searched {
                return Some(searched);
            }
        }
    }

    /// A line that begins with a bracket: a record of its own, or the beginning of a document.
    fn json(&mut self) {
        if self.window.offset() >= self.crowded_to && self.line_is_one_value() {
            return;
        }
        self.document();
    }

    /// Reads the line, if it is one value. False if not, and nothing read: then nothing behind it on the line is either, and
    /// to look at the whole line for each of many values in a row would cost their square.
    fn line_is_one_value(&mut self) -> bool {
        let most = SHORT_LINE.min(self.limits.max_record_bytes);
        let line_length = self.line_length(most);
        if let Some(length) = line_length
            && !is_list_of_records(self.window.data())
        {
            let line = &self.window.data()[..length];
            // Values between commas on lines of their own.
            let line = line.trim_ascii_end().strip_suffix(b",").unwrap_or(line);
            if let Ok(parsed) = json::parse(line, self.limits.max_depth) {
                let origin = self.origin(Position::Line(self.window.line()));
                self.router.parsed(parsed, &origin, &Frame::default());
                self.window.consume(length);
                return true;
            }
        }
        self.crowded_to = self.window.offset() + line_length.unwrap_or(most) as u64;
        false
    }

    fn text(&mut self) {
        let line_number = self.window.line();
        let Some(length) = self.line_length(self.limits.max_record_bytes) else {
            self.router.end_event(PLAIN);
            let origin = self.origin(Position::Line(line_number));
            self.router.reject(&origin, RejectReason::TooLarge, "line longer than the record limit");
            self.skip_line();
            return;
        };
        let line = &self.window.data()[..length];
        let binary = !sniff::is_mostly_text(line);
        // A blank at the end may be within what goes on in the next line.
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        let replaced = text.contains(char::REPLACEMENT_CHARACTER) && std::str::from_utf8(line).is_err();
        self.window.consume(length);
        self.line_of_text(&text, line_number, binary, replaced);
        // The line end is consumed here, so that it is not taken for the blank line that ends an SSE event.
        self.window.consume(1);
    }

    fn line_of_text(&mut self, text: &str, line: u64, binary: bool, replaced: bool) {
        let origin = self.origin(Position::Line(line));
        if binary {
            self.router.delivery.unread(RejectReason::Binary, &origin);
        } else if self.router.line(text, &origin, &Frame::default()) && replaced {
            self.router.reject(&origin, RejectReason::InvalidUtf8, "bytes that are not UTF-8 were replaced");
        }
    }

    /// Leaves the rest of the current line behind, with its end, in constant memory; how many bytes it had without.
    fn skip_line(&mut self) -> u64 {
        let start = self.window.offset();
        loop {
            let data = self.window.data();
            let end = memchr::memchr(b'\n', data);
            self.window.consume(end.map_or(data.len(), |at| at + 1));
            if end.is_some() || self.window.more() != Fill::More {
                return self.window.offset() - start - u64::from(end.is_some());
            }
        }
    }

    fn reject_failure(&mut self, error: &io::Error) {
        let fault = error.get_ref().and_then(|inner| inner.downcast_ref::<InflateFault>());
        let (reason, detail) = match fault {
            Some(fault @ InflateFault::TooLarge { .. }) => (RejectReason::InflatedTooLarge, fault.to_string()),
            Some(fault @ (InflateFault::EndsEarly { .. } | InflateFault::Broken { .. })) => {
                (RejectReason::BadCompression, fault.to_string())
            }
            None => (RejectReason::Unreadable, error.kind().to_string()),
        };
        let origin = self.origin(Position::Byte(self.window.offset()));
        self.router.reject(&origin, reason, &detail);
    }

    fn origin(&self, position: Position) -> Origin {
        Origin { source: self.source.clone(), position }
    }
}

/// First keys of documents that hold lists of records: HAR, and answers of log stores.
const LIST_KEYS: [&[u8]; 14] = [
    b"\"log\"",
    b"\"entries\"",
    b"\"status\"",
    b"\"data\"",
    b"\"streams\"",
    b"\"events\"",
    b"\"searchedLogStreams\"",
    b"\"nextForwardToken\"",
    b"\"results\"",
    b"\"messageType\"",
    b"\"owner\"",
    b"\"logEvents\"",
    b"\"took\"",
    b"\"hits\"",
];

/// A line that is better not read as one value: a list, or a document that holds one. Each record of it then has a place of
/// its own.
fn is_list_of_records(line: &[u8]) -> bool {
    let key = line.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    line.starts_with(b"[") || key.is_some_and(|key| LIST_KEYS.iter().any(|name| key.starts_with(name)))
}

#[cfg(test)]
mod tests;
