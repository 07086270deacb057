//! Lines of Python's `logging`, as a console or log file holds them, to log records.
//!
//! In: one line of text, and the time its framing gave it. Out: a log record for the loggers of the A2A SDK and of
//! httpx, under which the SDK calls. Never takes a line of another logger, and never joins lines: of a traceback only
//! the first line is read.

use std::sync::Arc;

use serde_json::Value;

use super::record::{Attributes, LogRecord, Origin, Record, Sink};
use crate::instant::Instant;

/// Decodes a log line of a known logger. False, and nothing delivered, if it is none.
pub fn decode(line: &str, at: Option<Instant>, origin: &Origin, sink: &mut dyn Sink) -> bool {
    let Some(parsed) = Line::parse(line) else { return false };
    sink.record(Record::Log(Box::new(LogRecord {
        origin: origin.clone(),
        // The framing's clock names its zone; `asctime` is local time without one.
        at: at.or(parsed.at),
        event_name: String::new(),
        severity: parsed.level.to_ascii_uppercase(),
        body: Value::from(parsed.message),
        scope: parsed.logger.to_owned(),
        attributes: Attributes::default(),
        resource: Arc::default(),
        trace_id: String::new(),
        span_id: String::new(),
    })));
    true
}

/// A log line taken apart.
struct Line<'l> {
    at: Option<Instant>,
    level: &'l str,
    logger: &'l str,
    message: &'l str,
}

impl<'l> Line<'l> {
    /// Takes apart `[time] level logger message` with level and logger in either order, and whatever of blanks, colons,
    /// dashes, bars and brackets the format puts between: `logging` has no fixed format, but these are its common ones.
    fn parse(line: &'l str) -> Option<Self> {
        let (at, mut rest) = split_time(line);
        let (mut level, mut logger) = (None, None);
        while level.is_none() || logger.is_none() {
            let (word, after) = split_word(rest)?;
            match word {
                word if level.is_none() && is_level(word) => level = Some(word),
                word if logger.is_none() && is_known_logger(word) => logger = Some(word),
                word if is_process_or_thread(word) => {}
                _ => return None,
            }
            rest = after;
        }
        Some(Self { at, level: level?, logger: logger?, message: message(rest) })
    }
}

/// Words of Python's levels, and of the formatters that abbreviate them.
const LEVELS: [&str; 8] = ["debug", "info", "warning", "warn", "error", "critical", "fatal", "exception"];

fn is_level(word: &str) -> bool {
    LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word))
}

fn is_known_logger(word: &str) -> bool {
    word.starts_with("a2a.") || word == "httpx" || word.starts_with("httpx.")
}

/// `%(process)d` and `%(threadName)s`, which formats put before or between.
fn is_process_or_thread(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit()) || word.contains("Thread") || word.contains("Process")
}

/// What formats put between their fields.
fn is_separator(c: char) -> bool {
    matches!(c, ' ' | '\t' | ':' | '-' | '|' | '[' | ']' | '(' | ')')
}

/// The next word and what follows it.
fn split_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(is_separator);
    let end = text.find(is_separator).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The message behind the last field: one closing bracket and one separator belong to the format, the rest to it.
fn message(rest: &str) -> &str {
    let rest = rest.strip_prefix([']', ')']).unwrap_or(rest).trim_start();
    rest.strip_prefix([':', '-', '|']).unwrap_or(rest).trim()
}

/// Splits off a leading time: `%(asctime)s` (comma before the milliseconds) or ISO 8601, bare or in brackets.
fn split_time(line: &str) -> (Option<Instant>, &str) {
    let text = line.trim_start().trim_start_matches('[');
    // "2026-11-30 06:15:34" has 19 characters; fraction and offset follow up to the next blank or bracket.
    let is_date = text.len() >= 19 && text.is_char_boundary(19) && text.as_bytes()[0].is_ascii_digit();
    if !is_date {
        return (None, line);
    }
    let end = text[19..].find([' ', '\t', ']', '|']).map_or(text.len(), |at| at + 19);
    match Instant::parse_rfc3339(&text[..end].replace(',', ".")) {
        Some(at) => (Some(at), &text[end..]),
        None => (None, line),
    }
}
