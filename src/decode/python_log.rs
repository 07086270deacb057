//! Lines of Python's `logging`, as a console or log file holds them, to log records.
//!
//! In: one line of text, and the time its framing gave it. Out: a log record for the loggers of the A2A SDK, of httpx, under
//! which the SDK calls, and of Google's ADK. Never takes a line of another logger, and never joins lines: of a traceback only
//! the first line is read.

use std::sync::Arc;

use serde_json::Value;

use super::record::{Attributes, LogRecord, Origin, Record, Sink};
use super::times;
use crate::instant::Instant;

/// Decodes a log line of a known logger. False, and nothing delivered, if it is none.
pub fn decode(line: &str, at: Option<Instant>, origin: &Origin, sink: &mut dyn Sink) -> bool {
    let Some(parsed) = Line::parse(line) else { return false };
    sink.recognised(&origin.source, "python-log");
    if parsed.has_bad_time {
        times::note_bad("time of the line", None, origin, sink);
    }
    sink.record(Record::Log(Box::new(LogRecord {
        origin: origin.clone(),
        // `asctime` is local time without a zone; the framing's clock names its own.
        at: if parsed.is_zoned { parsed.at.or(at) } else { at.or(parsed.at) },
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

/// Whether a line is one of a known logger.
pub fn is_one(line: &str) -> bool {
    Line::parse(line).is_some()
}

/// A log line taken apart.
struct Line<'l> {
    at: Option<Instant>,
    /// The time names its zone.
    is_zoned: bool,
    has_bad_time: bool,
    level: &'l str,
    logger: &'l str,
    message: &'l str,
}

impl<'l> Line<'l> {
    /// Takes apart `[time] level logger message` with level and logger in either order, and whatever of blanks, colons,
    /// dashes, bars and brackets the format puts between: `logging` has no fixed format, but these are its common ones.
    fn parse(line: &'l str) -> Option<Self> {
        let Stamp { at, is_zoned, is_bad, mut rest } = split_time(line);
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
        let logger = logger?;
        // `%(filename)s:%(lineno)d` stands for the logger in ADK's own format.
        let rest = if logger.ends_with(".py") { after_line_number(rest) } else { rest };
        Some(Self { at, is_zoned, has_bad_time: is_bad, level: level?, logger, message: message(rest) })
    }
}

/// Words of Python's levels, and of the formatters that abbreviate them.
const LEVELS: [&str; 8] = ["debug", "info", "warning", "warn", "error", "critical", "fatal", "exception"];

fn is_level(word: &str) -> bool {
    LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word))
}

/// Files of Google's ADK that speak A2A.
const ADK_FILES: [&str; 4] =
    ["remote_a2a_agent.py", "_remote_a2a_agent.py", "a2a_agent_executor.py", "a2a_agent_executor_impl.py"];

fn is_known_logger(word: &str) -> bool {
    ["a2a.", "httpx.", "google_adk."].iter().any(|known| word.starts_with(known))
        || word == "httpx"
        || ADK_FILES.contains(&word)
}

fn after_line_number(text: &str) -> &str {
    text.strip_prefix(':').map_or(text, |digits| digits.trim_start_matches(is_digit))
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

/// A leading time, and what is behind it.
pub(super) struct Stamp<'l> {
    pub(super) at: Option<Instant>,
    /// It names its zone.
    pub(super) is_zoned: bool,
    /// It has the form of a time, and is none.
    pub(super) is_bad: bool,
    pub(super) rest: &'l str,
}

/// Splits off a leading time: `%(asctime)s` (comma before the milliseconds) or ISO 8601, bare or in brackets.
pub(super) fn split_time(line: &str) -> Stamp<'_> {
    let none = Stamp { at: None, is_zoned: false, is_bad: false, rest: line };
    let text = line.trim_start().trim_start_matches('[');
    // "2026-11-30 06:15:34" has 19 characters, all of them ASCII.
    let Some((seconds, rest)) = text.split_at_checked(19).filter(|(seconds, _)| seconds.starts_with(is_digit)) else {
        return none;
    };
    let after_fraction = match rest.strip_prefix([',', '.']) {
        Some(digits) => digits.trim_start_matches(is_digit),
        None => rest,
    };
    let fraction = rest[..rest.len() - after_fraction.len()].replace(',', ".");
    let (zone, after) = split_zone(after_fraction);
    match Instant::parse_rfc3339(&format!("{seconds}{fraction}{zone}")) {
        Some(at) => Stamp { at: Some(at), is_zoned: !zone.is_empty(), is_bad: false, rest: after },
        None if has_form(seconds) && times::is_time_like(seconds) => Stamp { is_bad: true, rest: after, ..none },
        None => none,
    }
}

/// Whether 19 characters have the form `2026-11-30 06:15:34`, whatever the digits are.
fn has_form(seconds: &str) -> bool {
    seconds.bytes().zip(*b"0000-00-00 00:00:00").all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T'),
        separator => byte == separator,
    })
}

/// Splits off `Z`, `+01:00` or `+0100` if the text starts with one, in RFC 3339's form.
fn split_zone(text: &str) -> (String, &str) {
    if let Some(after) = text.strip_prefix('Z') {
        return ("Z".to_owned(), after);
    }
    let end = text.find(|c| !matches!(c, '+' | '-' | ':') && !is_digit(c)).unwrap_or(text.len());
    let zone = text[..end].trim_end_matches(':');
    let digits = zone.get(1..).unwrap_or_default().replace(':', "");
    match (zone.get(..1), digits.split_at_checked(2)) {
        (Some(sign @ ("+" | "-")), Some((hours, minutes))) if digits.len() == 4 && digits.chars().all(is_digit) => {
            (format!("{sign}{hours}:{minutes}"), &text[zone.len()..])
        }
        _ => (String::new(), text),
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::record::{Position, Reject, RejectReason};

    #[derive(Default)]
    struct Collected(Vec<Record>);

    impl Sink for Collected {
        fn record(&mut self, record: Record) {
            self.0.push(record);
        }
        fn reject(&mut self, reject: Reject) {
            panic!("{reject:?}");
        }
        fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
    }

    fn read(line: &str, at: Option<Instant>) -> Option<LogRecord> {
        let mut sink = Collected::default();
        let origin = Origin { source: "test".into(), position: Position::Line(1) };
        let is_known = decode(line, at, &origin, &mut sink);
        assert_eq!(is_known, !sink.0.is_empty());
        match sink.0.pop() {
            Some(Record::Log(log)) => Some(*log),
            other => {
                assert_eq!(other, None);
                None
            }
        }
    }

    #[test]
    fn the_default_format_is_read_and_takes_the_frames_time() {
        let line = "ERROR:a2a.server.tasks.base_push_notification_sender:Error sending push-notification for task_id=1 to URL: http://w/";
        let log = read(line, Some(Instant(5))).unwrap();
        assert_eq!(log.severity, "ERROR");
        assert_eq!(log.scope, "a2a.server.tasks.base_push_notification_sender");
        assert_eq!(log.body, "Error sending push-notification for task_id=1 to URL: http://w/");
        assert_eq!(log.at, Some(Instant(5)));
        assert_eq!(read(line, None).unwrap().at, None);
    }

    #[test]
    fn common_formats_give_the_same_record() {
        let message = "HTTP Request: POST http://127.0.0.1:41002/hooks/a2a \"HTTP/1.1 401 Unauthorized\"";
        for prefix in [
            "2026-11-30 06:15:34,786 - httpx - INFO - ",
            "2026-11-30 06:15:34,786 INFO httpx ",
            "2026-11-30 06:15:34,786 INFO httpx: ",
            "2026-11-30 06:15:34,786 - INFO - httpx - ",
            "2026-11-30 06:15:34,786 [INFO] httpx: ",
            "2026-11-30 06:15:34,786 [12345] INFO httpx - ",
            "2026-11-30 06:15:34,786 [MainThread] [INFO] [httpx] ",
            "[2026-11-30 06:15:34,786] INFO     httpx | ",
            "2026-11-30T06:15:34.786Z INFO httpx ",
            "2026-11-30T07:15:34.786+01:00 INFO [httpx] ",
            "2026-11-30 06:15:34,786:INFO:httpx:",
            "2026-11-30 06:15:34.786-INFO-httpx-",
            "2026-11-30T01:15:34,786-0500:INFO:httpx:",
        ] {
            let log = read(&format!("{prefix}{message}"), None).unwrap_or_else(|| panic!("{prefix}"));
            assert_eq!((log.scope.as_str(), log.severity.as_str()), ("httpx", "INFO"), "{prefix}");
            assert_eq!(log.body, message, "{prefix}");
            assert_eq!(log.at, Some(Instant(1_796_019_334_786_000_000)), "{prefix}");
        }
    }

    #[test]
    fn other_loggers_and_plain_text_are_left_alone() {
        for line in [
            "",
            "INFO:uvicorn.access:127.0.0.1 - \"POST /a2a\" 200",
            "INFO:httpxray:something",
            "INFO:a2a:something",
            "httpx raised an ERROR",
            "Traceback (most recent call last):",
            "  File \"/app/x.py\", line 250, in wrapper",
            "2026-11-30 06:15:34,786",
            "2026-11-30 06:15:34,786 INFO",
            "2026-99-99 06:15:34,786 INFO x y",
            "INFO:     127.0.0.1:57340 - \"GET / HTTP/1.1\" 200 OK",
            "ääääääääääääääääääää INFO httpx",
            "1äääääääääää",
            ":::::----[[[[",
        ] {
            assert_eq!(read(line, None), None, "{line}");
        }
    }

    #[test]
    fn a_time_that_is_none_costs_a_line_its_time_only() {
        for line in ["2026-11-31 06:15:34,786 INFO httpx x", "[2026-11-30T25:15:34Z] httpx INFO x"] {
            let mut sink = crate::decode::framing::collect::Collected::default();
            let origin = Origin { source: "test".into(), position: Position::Line(1) };
            assert!(decode(line, Some(Instant(5)), &origin, &mut sink), "{line}");
            let [Record::Log(log)] = sink.records.as_slice() else { panic!("{line}") };
            assert_eq!((log.at, &log.body), (Some(Instant(5)), &Value::from("x")), "the frame's time stands");
            let reasons: Vec<_> = sink.rejects.iter().map(|reject| reject.reason).collect();
            assert_eq!(reasons, [RejectReason::BadTime], "{line}");
        }
    }

    #[test]
    fn a_message_that_starts_with_a_list_or_is_missing_is_kept_as_it_is() {
        assert_eq!(read("INFO:httpx:[1, 2]", None).unwrap().body, "[1, 2]");
        assert_eq!(read("INFO:httpx:", None).unwrap().body, "");
    }
}
