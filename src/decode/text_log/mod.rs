//! Lines of text that the SDKs' loggers write, to log records.
//!
//! In: one line, and the time its framing gave it. Out: a log record: of Python's `logging`, Go's `slog`, Rust's `tracing`,
//! .NET's console, Java's loggers, or a sentence that is printed bare. What any program may write is taken only of the
//! SDKs' own loggers. Never joins lines (of a stack trace the first is read), and makes up neither time nor logger.

mod console;
mod dotnet;
mod java;
mod pairs;
mod slog;
mod tracing;

use std::sync::Arc;

use serde_json::Value;

use super::python_log;
use super::record::{Attributes, LogRecord, Origin, Record, Sink};
use super::times;
use crate::instant::Instant;

/// Decodes a line. False, and nothing delivered, if no reader knows it.
pub fn decode(line: &str, at: Option<Instant>, origin: &Origin, sink: &mut dyn Sink) -> bool {
    let plain = without_colours(line);
    let line = plain.as_deref().unwrap_or(line).trim();
    if python_log::decode(line, at, origin, sink) {
        return true;
    }
    let Some((format, said)) = read(line) else { return false };
    sink.recognised(&origin.source, format);
    if said.has_bad_time {
        times::note_bad("time of the line", None, origin, sink);
    }
    sink.record(Record::Log(Box::new(LogRecord {
        origin: origin.clone(),
        // Local time without a zone; the framing's clock names its own.
        at: if said.is_zoned { said.at.or(at) } else { at.or(said.at) },
        event_name: String::new(),
        severity: said.level.to_ascii_uppercase(),
        body: Value::from(said.message),
        scope: said.logger,
        attributes: Attributes(said.attributes),
        resource: Arc::default(),
        trace_id: String::new(),
        span_id: String::new(),
    })));
    true
}

/// Whether a line is one that a reader knows.
pub fn is_one(line: &str) -> bool {
    let plain = without_colours(line);
    let line = plain.as_deref().unwrap_or(line).trim();
    python_log::is_one(line) || read(line).is_some()
}

fn read(line: &str) -> Option<(&'static str, Line)> {
    READERS.iter().find_map(|(format, read)| Some((*format, read(line)?)))
}

type Reader = fn(&str) -> Option<Line>;

/// Readers and the names of their formats.
const READERS: [(&str, Reader); 5] = [
    ("slog-text", slog::read),
    ("rust-tracing", tracing::read),
    ("dotnet-console", dotnet::read),
    ("java-log", java::read),
    ("sdk-console", console::read),
];

/// A log line taken apart.
#[derive(Debug, Default, PartialEq)]
struct Line {
    at: Option<Instant>,
    /// The time names its zone.
    is_zoned: bool,
    /// A time was given, and is none.
    has_bad_time: bool,
    level: String,
    logger: String,
    message: String,
    attributes: Vec<(String, Value)>,
}

/// A line without the colours that terminals are told; none if it has none.
fn without_colours(line: &str) -> Option<String> {
    line.contains('\x1b').then(|| {
        let mut parts = line.split("\x1b[");
        let mut plain = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // Parameters, and the letter that ends them.
            let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |at| at + 1);
            plain.push_str(&part[end..]);
        }
        plain
    })
}

#[cfg(test)]
mod tests;
