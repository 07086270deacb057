//! JSON text to a tree, unless the tree would take more memory than any record deserves.
//!
//! In: the text of one JSON value. Out: the value, or why there is none. A list of empty objects takes a hundred times its
//! text as a tree; what that would come to is told beforehand, by counting brackets and commas.

use serde_json::Value;

/// Bytes that one tree may take. Spans, the densest of what is read, take some twenty times their text.
pub const MOST_BYTES: u64 = 512 << 20;

/// Shorter text is never too heavy.
const LIGHT: usize = 1 << 20;

/// What an object takes: a node of the tree that holds its members.
const OBJECT: u64 = 700;
/// What a list takes: room for its first elements.
const LIST: u64 = 160;
/// What a further member or element takes, with the room that growing lists leave unused.
const MEMBER: u64 = 80;

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

/// Whether brackets and commas outside of strings come to more than `limit`.
fn weighs_more(text: &[u8], limit: u64) -> bool {
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
            return true;
        }
        rest = after_string(rest.get(quote + 1..).unwrap_or_default());
    }
    weight > limit
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
    fn a_list_of_a_million_objects_is_too_heavy_and_a_long_text_is_not() {
        let heavy = format!("[{}1]", "{\"a\":1},".repeat(1_000_000));
        assert!(matches!(read(&heavy), Err(TreeFault::TooHeavy)));
        let long = Value::from(heavy).to_string();
        assert!(read(&long).is_ok_and(|value| value.is_string()));
    }
}
