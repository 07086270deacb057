//! Rust's `tracing_subscriber::fmt` in its full format, of targets that begin with `a2a`.
//!
//! Source: tracing-subscriber 0.3, `fmt/format/mod.rs` (`Format<Full>`).

use super::{Line, pairs};
use crate::instant::Instant;

const LEVELS: [&str; 5] = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"];

/// Spans around a line that are stepped over.
const MOST_SPANS: usize = 16;

/// Reads a line: `time LEVEL span{fields}: target: sentence key=value ..`, the time optional.
pub(super) fn read(line: &str) -> Option<Line> {
    let (first, rest) = line.split_once(' ')?;
    let (at, rest) = match Instant::parse_rfc3339(first) {
        Some(at) => (Some(at), rest.trim_start()),
        None => (None, line),
    };
    let (level, rest) = rest.split_once(' ').filter(|(level, _)| LEVELS.contains(level))?;
    let (target, said) = target(rest.trim_start())?;
    let (message, attributes) = pairs::split(said);
    Some(Line {
        at,
        // Its timers write `Z` or an offset.
        is_zoned: at.is_some(),
        has_bad_time: false,
        level: level.to_owned(),
        logger: target.to_owned(),
        message: message.to_owned(),
        attributes,
    })
}

/// The target and what is behind it.
fn target(mut rest: &str) -> Option<(&str, &str)> {
    for _ in 0..MOST_SPANS {
        let end = rest.find([' ', '{', ':'])?;
        let after = &rest[end..];
        if after.starts_with('{') {
            rest = after.split_once('}')?.1.trim_start_matches(':').trim_start();
            continue;
        }
        let (word, behind) = rest.split_once(": ")?;
        let is_path = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'));
        if !is_path {
            return None;
        }
        if word.starts_with("a2a") {
            return Some((word, behind.trim_start()));
        }
        // A span without fields has no path for a name.
        if word.contains("::") {
            return None;
        }
        rest = behind;
    }
    None
}
