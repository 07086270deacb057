//! JSON text to a tree, unless the tree would take more memory than any record deserves.
//!
//! In: the text of one JSON value. Out: the value, or why there is none. A list of empty objects takes a hundred times its
//! text as a tree; what that would come to is told beforehand, by counting brackets and commas.

use serde_json::Value;

/// Bytes that one tree may take. Spans, the densest of what is read, take some twenty times their text.
pub const MOST_BYTES: u64 = 512 << 20;

/// What the body of one request may come to, read piece by piece: 3 million objects. The largest body of exchange lines comes
/// to a sixth of it, one of nothing but short lines of a gateway to two thirds.
pub(super) const MOST_OF_REQUEST: u64 = 4 * MOST_BYTES;

/// What a body hears whose parts would take longer to look at than its bytes are worth.
pub(super) const TOO_MANY_PARTS: &str = "the body is of too many parts for one request";

/// Shorter text is never too heavy.
const LIGHT: usize = 1 << 20;

/// What an object takes: a node of the tree that holds its members.
pub(super) const OBJECT: u64 = 700;
/// What a list takes: room for its first elements.
const LIST: u64 = 160;
/// What a further member or element takes, with the room that growing lists leave unused.
pub(super) const MEMBER: u64 = 80;

/// Why there is no tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeFault {
    /// It would take more than [`MOST_BYTES`].
    #[error("JSON value of too many parts")]
    TooHeavy,
    /// The text is no JSON value.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Reads exactly one value.
///
/// # Errors
/// When the text is no JSON, or the value too heavy.
pub fn read(text: &str) -> Result<Value, TreeFault> {
    if is_too_heavy(text) { Err(TreeFault::TooHeavy) } else { Ok(serde_json::from_str(text)?) }
}

/// Whether the value in a text would take more than [`MOST_BYTES`] as a tree.
pub fn is_too_heavy(text: &str) -> bool {
    text.len() > LIGHT && weighs_more(text.as_bytes(), MOST_BYTES)
}

/// How many bytes of an event stream may be read until the values in it, all kept, would take more than [`MOST_BYTES`]; none
/// if that is all of it. Each line is weighed for itself: no string goes on over a line's end, and none of an event that is
/// no JSON hides the next.
pub fn heavy_from(stream: &str) -> Option<usize> {
    if stream.len() <= LIGHT {
        return None;
    }
    let mut left = MOST_BYTES;
    let mut start = 0;
    for line in stream.split_inclusive(['\n', '\r']) {
        match left.checked_sub(weight(line.as_bytes(), left)) {
            Some(rest) => left = rest,
            None => return Some(start),
        }
        start += line.len();
    }
    None
}

/// Whether the lines of a body, each read by itself, and the values in them come to more than `limit`: what is of little text
/// and many parts takes a hundred times as long as any traffic of that size. A line counts as an object.
pub fn is_crowded(body: &[u8], limit: u64) -> bool {
    let mut left = limit;
    body.len() > LIGHT
        && body.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty()).any(|line| {
            match left.checked_sub(OBJECT.saturating_add(weight(line, left))) {
                Some(rest) => left = rest,
                None => return true,
            }
            false
        })
}

/// Whether brackets and commas outside of strings come to more than `limit`.
fn weighs_more(text: &[u8], limit: u64) -> bool {
    weight(text, limit) > limit
}

/// What brackets and commas outside of strings come to, counted no further than past `limit`.
fn weight(text: &[u8], limit: u64) -> u64 {
    let mut weight = 0;
    let mut rest = text;
    while let Some(quote) = rest.iter().position(|byte| {
        weight += match byte {
            b'{' => OBJECT,
            b'[' => LIST,
            b',' => MEMBER,
            _ => 0,
        };
        *byte == b'"'
    }) {
        if weight > limit {
            return weight;
        }
        rest = after_string(rest.get(quote + 1..).unwrap_or_default());
    }
    weight
}

/// What follows a string whose opening quote was passed; nothing where it does not end.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        let step = if rest[at] == b'"' { 1 } else { 2 };
        rest = rest.get(at + step..).unwrap_or_default();
        if step == 1 {
            return rest;
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_commas_count_and_those_in_strings_do_not() {
        let text = br#"{"a{,[\"{": [1, {}, "{{{{"], "b": "\\"}"#;
        let weight = 2 * OBJECT + LIST + 3 * MEMBER;
        assert!(weighs_more(text, weight - 1));
        assert!(!weighs_more(text, weight));
    }

    #[test]
    fn a_body_is_crowded_by_its_lines_and_by_the_parts_of_its_values() {
        let lines = (LIGHT + 1) as u64;
        let text = "x\n".repeat(LIGHT + 1);
        assert!(is_crowded(text.as_bytes(), lines * OBJECT - 1));
        assert!(!is_crowded(text.as_bytes(), lines * OBJECT));
        let list = format!("[{}{{}}]", "{},".repeat(LIGHT));
        let weight = OBJECT + LIST + lines * OBJECT + LIGHT as u64 * MEMBER;
        assert!(is_crowded(list.as_bytes(), weight - 1));
        assert!(!is_crowded(list.as_bytes(), weight));
        assert!(!is_crowded(&vec![b'\n'; 4 * LIGHT], OBJECT), "empty lines are passed at once");
    }

    #[test]
    fn a_stream_is_weighed_as_a_whole_and_an_open_quote_hides_only_its_line() {
        let event = "data: {\"a\":[{},{},{}]}\n\n";
        let events = (MOST_BYTES / (4 * OBJECT + LIST + 2 * MEMBER)) as usize;
        assert_eq!(heavy_from(&event.repeat(events)), None);
        assert_eq!(heavy_from(&event.repeat(events + 1)), Some(event.len() * events));
        let open = "data: \"\n\n";
        assert_eq!(heavy_from(&(open.to_owned() + &event.repeat(events + 1))), Some(open.len() + event.len() * events));
    }

    #[test]
    fn a_list_of_a_million_objects_is_too_heavy_and_a_long_text_is_not() {
        let heavy = format!("[{}1]", "{\"a\":1},".repeat(1_000_000));
        assert!(matches!(read(&heavy), Err(TreeFault::TooHeavy)));
        let long = Value::from(heavy).to_string();
        assert!(read(&long).is_ok_and(|value| value.is_string()));
    }
}
