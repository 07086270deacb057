//! Lines that begin with the time at which something else received them.
//!
//! In: `<RFC 3339 time> <text>`, as exports of CloudWatch to S3, `kubectl logs --timestamps` and `docker logs -t` write them;
//! `<time> <tag>: <JSON>` and `<time>\t<tag>\t<JSON>` of Fluentd's `out_stdout` and `out_file`. Out: the text. Such a line is
//! a carrier only if something known is behind the time.

use super::{GoesOn, Payload, Wrapped};
use crate::decode::frame::Said;
use crate::decode::json;
use crate::instant::Instant;

/// Name of lines that begin with their time.
const TIMED: &str = "timed-lines";
/// Name of Fluentd's lines.
const FLUENTD: &str = "fluentd";

/// Reads a line: the name of its carrier, and what is behind the time.
pub(in crate::decode) fn read(line: &str) -> Option<(&'static str, Wrapped)> {
    if !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    fluentd(line).or_else(|| timed(line))
}

fn timed(line: &str) -> Option<(&'static str, Wrapped)> {
    let (time, text) = line.split_once([' ', '\t'])?;
    let at = Instant::parse_rfc3339(time).filter(|_| time.contains('T'))?;
    Some((TIMED, wrapped(at, text, "")))
}

fn fluentd(line: &str) -> Option<(&'static str, Wrapped)> {
    let (head, record) = line.split_once('{').map(|(head, _)| (head, &line[head.len()..]))?;
    let (time, tag) = match head.trim_end().strip_suffix(':') {
        // `2017-11-28 11:43:13.814351757 +0900 tag: {..}`
        Some(head) => head.rsplit_once(' ')?,
        None => head.strip_suffix('\t')?.split_once('\t')?,
    };
    let is_tag = !tag.is_empty() && !tag.contains(char::is_whitespace);
    let at = time_of(time).filter(|_| is_tag && json::begins(record.as_bytes()) == Some(true))?;
    Some((FLUENTD, wrapped(at, record, tag)))
}

/// A time, with its offset behind a blank as Ruby writes it.
fn time_of(text: &str) -> Option<Instant> {
    let Some((time, zone)) = text.rsplit_once(' ').filter(|(_, zone)| zone.len() == 5 && zone.starts_with(['+', '-']))
    else {
        return Instant::parse_rfc3339(text);
    };
    let (hours, minutes) = zone.split_at_checked(3)?;
    Instant::parse_rfc3339(&format!("{time}{hours}:{minutes}"))
}

fn wrapped(at: Instant, text: &str, stream: &str) -> Wrapped {
    Wrapped {
        said: Said { at: Some(at), stream: stream.to_owned(), ..Said::default() },
        payload: Payload::Text(text.to_owned(), GoesOn::No),
    }
}
