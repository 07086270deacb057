//! Go's `log/slog`: lines of its text handler (logfmt), and those it writes through the `log` package by default.
//!
//! Source: Go 1.27, `log/slog/text_handler.go` and `log/slog/handler.go` (`defaultHandler`).

use serde_json::Value;

use super::{Line, pairs};
use crate::decode::times;
use crate::instant::Instant;

/// Names of the time, level and sentence in logfmt.
const TIME: [&str; 4] = ["time", "ts", "timestamp", "t"];
const LEVEL: [&str; 3] = ["level", "lvl", "severity"];
const MESSAGE: [&str; 2] = ["msg", "message"];

/// Levels as `slog` prints them, with an offset behind those in between (`WARN+1`).
const LEVELS: [&str; 4] = ["DEBUG", "INFO", "WARN", "ERROR"];

/// `2026/11/30 09:31:53`
const STAMP_BYTES: usize = 19;

/// Reads a line.
pub(super) fn read(line: &str) -> Option<Line> {
    logfmt(line).or_else(|| default(line))
}

fn logfmt(line: &str) -> Option<Line> {
    let begins = TIME.iter().chain(&LEVEL).any(|key| line.strip_prefix(key).is_some_and(|rest| rest.starts_with('=')));
    if !begins {
        return None;
    }
    let (before, mut pairs) = pairs::split(line);
    let mut take = |names: &[&str]| {
        let place = pairs.iter().position(|(key, _)| names.contains(&key.as_str()))?;
        pairs.remove(place).1.as_str().map(str::to_owned)
    };
    let (time, level, message) = (take(&TIME), take(&LEVEL)?, take(&MESSAGE)?);
    before.is_empty().then(|| Line {
        is_zoned: time.as_deref().is_some_and(names_zone),
        has_bad_time: time
            .as_deref()
            .is_some_and(|time| times::is_time_like(time) && Instant::parse_rfc3339(time).is_none()),
        at: time.and_then(|time| Instant::parse_rfc3339(&time)),
        level,
        logger: String::new(),
        message,
        attributes: pairs,
    })
}

/// Whether a time ends with `Z` or an offset.
fn names_zone(time: &str) -> bool {
    time.ends_with('Z') || time.rsplit_once(['+', '-']).is_some_and(|(_, offset)| offset.len() == 5)
}

fn default(line: &str) -> Option<Line> {
    let (stamp, rest) = line.split_at_checked(STAMP_BYTES)?;
    let at = stamp.as_bytes().get(4).filter(|byte| **byte == b'/').and_then(|_| {
        // The zone is the machine's own.
        Instant::parse_rfc3339(&stamp.replace('/', "-"))
    })?;
    // Microseconds and the file are there where the program asks for them.
    let mut words = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit()).trim_start();
    let is_place = |file: &str| file.contains(".go:") && !file.contains(' ');
    words = words.split_once(": ").filter(|(file, _)| is_place(file)).map_or(words, |(_, after)| after);
    let (level, said) = words.split_once(' ')?;
    let word = level.split(['+', '-']).next().unwrap_or_default();
    let (message, attributes): (&str, Vec<(String, Value)>) = pairs::split(said);
    LEVELS.contains(&word).then(|| Line {
        at: Some(at),
        is_zoned: false,
        has_bad_time: false,
        level: level.to_owned(),
        logger: String::new(),
        message: message.to_owned(),
        attributes,
    })
}
