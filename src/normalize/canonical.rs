//! One text for equal JSON: what is hashed must not depend on the order of members or on blanks.
//!
//! In: JSON values. Out: text with sorted members and no blanks, and its SHA-256. Never judges what the value means.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Deepest nesting that is looked at; the same as the limit of the JSON reader, so that only values made otherwise
/// exceed it.
pub const MAX_DEPTH: usize = 128;

/// Whether a value is nested no deeper than [`MAX_DEPTH`], so that walking it cannot exhaust the stack.
pub fn is_shallow(value: &Value) -> bool {
    within(value, MAX_DEPTH)
}

fn within(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(items) => left > 0 && items.iter().all(|item| within(item, left - 1)),
        Value::Object(members) => left > 0 && members.values().all(|item| within(item, left - 1)),
        _ => true,
    }
}

/// The value as JSON text, members sorted by name. What lies deeper than [`MAX_DEPTH`] is written as null.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    write(value, MAX_DEPTH, &mut out);
    out
}

fn write(value: &Value, left: usize, out: &mut String) {
    match value {
        Value::Array(_) | Value::Object(_) if left == 0 => out.push_str("null"),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, left - 1, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            // The map may keep the order of reading, if some dependency asks serde_json for that.
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, item)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(item, left - 1, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// SHA-256 of the value's canonical text, 64 hex digits.
pub fn sha256(value: &Value) -> String {
    sha256_of_text(&json(value))
}

/// SHA-256 of a text's UTF-8, 64 hex digits.
pub fn sha256_of_text(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json as value;

    use super::*;

    #[test]
    fn order_of_members_and_blanks_do_not_show_and_order_of_elements_does() {
        let a: Value = serde_json::from_str(r#"{"b": [1, {"z": null, "y": "\u00e4\""}], "a": true}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"a":true,"b":[1,{"y":"ä\"","z":null}]}"#).unwrap();
        assert_eq!(json(&a), r#"{"a":true,"b":[1,{"y":"ä\"","z":null}]}"#);
        assert_eq!(json(&a), json(&b));
        assert_ne!(json(&value!([1, 2])), json(&value!([2, 1])));
    }

    #[test]
    fn hashes_are_sha_256_in_hex() {
        // FIPS 180-2 gives the hash of the empty message.
        assert_eq!(sha256_of_text(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn deep_values_are_told_apart_without_walking_them() {
        let nested = |depth: usize| (0..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(is_shallow(&nested(MAX_DEPTH)));
        assert!(!is_shallow(&nested(MAX_DEPTH + 1)));
        assert!(json(&nested(500)).contains("null"));
    }
}
