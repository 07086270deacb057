//! Bytes to records: formats are recognised by content, never by file name, and framings nest.
//!
//! In: a byte stream and its name. Out: [`record::Record`]s and [`record::Reject`]s. Knows HTTP, HAR and OTLP; never
//! A2A, and never fails: what cannot be read is a reject, and reading goes on behind it.
//!
//! ```text
//!  bytes -> [framing] lines, documents cut into their elements, protobuf bodies
//!               |
//!           [lines]   text: pieces joined, SSE events, text_log <-------.
//!               |                                                       | each looked at anew, up to four
//!           [route]   by shape: wrapper, what log carriers carry -------'
//!               |               exchange | har | home_made | otlp | trace_export | own_event | document | json_log
//!            Sink     records and rejects, completed by what carriers said (frame)
//! ```

pub mod access_log;
pub mod exchange;
pub mod otlp;
pub mod own_event;
pub mod python_log;
pub mod python_repr;
mod reasons;
pub mod record;
pub mod request;
pub mod text_log;
pub mod tree;

mod har;
mod home_made;
pub mod key_map;

mod body;
mod carried;
mod document;
mod frame;
mod framing;
mod headers;
mod json;
mod json_log;
mod lines;
mod literal;
mod node_repr;
mod position;
mod resume;
mod route;
mod scanner;
#[cfg(test)]
mod so_far;
mod streams;
mod times;
mod trace_export;
mod wrapper;

use std::io::Read;
use std::sync::Arc;

use key_map::KeyMap;
use record::{Record, Reject, Sink};

/// What decoding may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Longest line, and longest element of a document, in bytes. It bounds memory.
    pub max_record_bytes: usize,
    /// Deepest nesting of a JSON value; at most [`Limits::DEEPEST`].
    pub max_depth: usize,
}

impl Limits {
    /// Nesting that the JSON parser accepts with room for a wrapper around a document's element.
    pub const DEEPEST: usize = 120;
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_record_bytes: 64 << 20, max_depth: 100 }
    }
}

/// Decodes a stream to its end, with the built-in key map of home-made recorders.
pub fn decode(source: &Arc<str>, reader: Box<dyn Read + '_>, limits: &Limits, sink: &mut dyn Sink) {
    decode_with(source, reader, limits, KeyMap::built_in(), sink);
}

/// Decodes a stream to its end; `keys` tells the spellings of home-made recorders.
pub fn decode_with(source: &Arc<str>, reader: Box<dyn Read + '_>, limits: &Limits, keys: &KeyMap, sink: &mut dyn Sink) {
    decode_so_far(source, reader, limits, keys, WAITS_FOR_NOTHING, sink);
}

/// A line to wait from that no stream has: it is read to its end, as far as it came.
pub const WAITS_FOR_NOTHING: u64 = u64::MAX;

/// Decodes what a stream has so far, of which more may follow. What begins in line `waits_from` (one-based) or later and
/// is not complete is left alone; what begins before is read as far as it came.
///
/// Returns the line from which on the stream has to be read again together with what follows, if something was left
/// alone: nothing that is joined of lines reaches over its beginning. Records and rejects of complete things behind it were
/// delivered, and come again then.
pub fn decode_so_far(
    source: &Arc<str>,
    reader: Box<dyn Read + '_>,
    limits: &Limits,
    keys: &KeyMap,
    waits_from: u64,
    sink: &mut dyn Sink,
) -> Option<u64> {
    let mut once = Once { sink, seen: Vec::new() };
    framing::Framer::new(source, reader, limits, keys, &mut once).waiting_from(waits_from).run()
}

/// Passes everything on, and each format of a source once.
struct Once<'a> {
    sink: &'a mut dyn Sink,
    seen: Vec<&'static str>,
}

impl Sink for Once<'_> {
    fn record(&mut self, record: Record) {
        self.sink.record(record);
    }

    fn reject(&mut self, reject: Reject) {
        self.sink.reject(reject);
    }

    fn recognised(&mut self, source: &Arc<str>, format: &'static str) {
        if !self.seen.contains(&format) {
            self.seen.push(format);
            self.sink.recognised(source, format);
        }
    }
}
