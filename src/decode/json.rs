//! Text to JSON values, with the repairs that keep a record whose spelling is slightly wrong.
//!
//! In: bytes of one value. Out: the value, or why there is none. Never recurses deeper than the limit.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::tree;

/// A value and what had to be done to read it.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The value.
    pub(super) value: Value,
    /// Bytes that are not UTF-8 were replaced.
    pub(super) replaced_bytes: bool,
    /// Lone surrogates or raw control characters were replaced.
    pub(super) repaired: bool,
}

/// Why bytes are not one JSON value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// They end inside the value.
    Incomplete,
    /// Nested deeper than the limit.
    TooDeep,
    /// Of more parts than memory is spent on.
    TooHeavy,
    /// Wrong otherwise; for a person, without content.
    Bad(String),
}

/// Bytes behind a bracket in which its next neighbour is looked for.
const LOOK_AHEAD: usize = 64;

/// Whether text begins as a list or an object does: a bracket and what may follow it. Many text logs begin their lines with
/// `[`. None if there are too few bytes to tell.
pub(super) fn begins(bytes: &[u8]) -> Option<bool> {
    let next = bytes.iter().skip(1).take(LOOK_AHEAD).find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
    match (bytes.first()?, next) {
        (b'{', Some(b'"' | b'}' | b'\n')) => Some(true),
        (b'[', Some(b'{' | b'[' | b'"' | b']' | b'\n')) => Some(true),
        (b'{' | b'[', None) if bytes.len() > LOOK_AHEAD => Some(true),
        (b'{' | b'[', None) => None,
        _ => Some(false),
    }
}

/// Reads exactly one value.
pub(super) fn parse(bytes: &[u8], max_depth: usize) -> Result<Parsed, Fault> {
    parse_by(bytes, max_depth, |text| serde_json::from_str(text))
}

/// Reads exactly one value, and counts the keys that an object has once more: the last counts.
pub(super) fn parse_noting_duplicates(bytes: &[u8], max_depth: usize) -> Result<(Parsed, u64), Fault> {
    let duplicates = Cell::new(0);
    let parsed = parse_by(bytes, max_depth, |text| {
        duplicates.set(0);
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = Noting(&duplicates).deserialize(&mut reader)?;
        reader.end().map(|()| value)
    })?;
    Ok((parsed, duplicates.get()))
}

fn parse_by(bytes: &[u8], max_depth: usize, read: impl Fn(&str) -> serde_json::Result<Value>) -> Result<Parsed, Fault> {
    let text = String::from_utf8_lossy(bytes);
    let replaced_bytes = matches!(text, Cow::Owned(_));
    if tree::is_too_heavy(&text) {
        return Err(Fault::TooHeavy);
    }
    let (value, repaired) = match read(&text) {
        Ok(value) => (value, false),
        Err(error) if error.classify() == Category::Eof => return Err(Fault::Incomplete),
        Err(error) => {
            let plain = without_hex_escapes(&text);
            let mended = repair(plain.as_deref().unwrap_or(&text)).or(plain);
            match mended.map(|mended| read(&mended)) {
                Some(Ok(value)) => (value, true),
                _ => return Err(fault(&error)),
            }
        }
    };
    if is_deeper(&value, max_depth) { Err(Fault::TooDeep) } else { Ok(Parsed { value, replaced_bytes, repaired }) }
}

/// Builds a value as serde_json does, and counts keys that come again.
#[derive(Clone, Copy)]
struct Noting<'a>(&'a Cell<u64>);

impl<'de> DeserializeSeed<'de> for Noting<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Noting<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::from(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if map.insert(key, members.next_value_seed(self)?).is_some() {
                self.0.set(self.0.get() + 1);
            }
        }
        Ok(Value::Object(map))
    }
}

fn fault(error: &serde_json::Error) -> Fault {
    let message = error.to_string();
    // serde_json gives no category of its own for its depth limit.
    if message.starts_with("recursion limit") { Fault::TooDeep } else { Fault::Bad(message) }
}

/// Whether containers nest deeper than `limit`. The parser has bounded the recursion already.
fn is_deeper(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(list) => limit == 0 || list.iter().any(|v| is_deeper(v, limit - 1)),
        Value::Object(map) => limit == 0 || map.values().any(|v| is_deeper(v, limit - 1)),
        _ => false,
    }
}

/// Writes lone surrogates as U+FFFD and raw control characters as blanks; none if there is nothing to mend.
fn repair(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut mended = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (length, replacement): (usize, Option<&[u8]>) = match byte {
            b'\\' => match escaped_unit(bytes, at) {
                Some(0xd800..=0xdbff) if matches!(escaped_unit(bytes, at + 6), Some(0xdc00..=0xdfff)) => (12, None),
                Some(0xd800..=0xdfff) => (6, Some(b"\\ufffd")),
                _ => (2, None),
            },
            0..0x20 => (1, Some(b" ")),
            _ => (1, None),
        };
        if let Some(replacement) = replacement {
            mended.extend_from_slice(&bytes[copied..at]);
            mended.extend_from_slice(replacement);
            copied = at + length;
        }
        at += length;
    }
    if copied == 0 {
        return None;
    }
    mended.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    String::from_utf8(mended).ok()
}

/// Writes `\xNN` as the bytes that it stands for: nginx escapes so what it writes into strings that its operator began with a
/// quote. None if there is no such escape.
fn without_hex_escapes(text: &str) -> Option<String> {
    let mut rest = text.as_bytes();
    memchr::memmem::find(rest, b"\\x")?;
    let mut plain = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        match (byte, hex_byte(after)) {
            (b'\\', Some(code @ (0..0x20 | b'"' | b'\\'))) => {
                plain.extend_from_slice(format!("\\u{code:04x}").as_bytes());
                rest = after.get(3..).unwrap_or_default();
            }
            (b'\\', Some(code)) => {
                plain.push(code);
                rest = after.get(3..).unwrap_or_default();
            }
            (b'\\', None) => {
                // The character behind a backslash begins no escape.
                plain.push(byte);
                plain.extend(after.first());
                rest = after.get(1..).unwrap_or_default();
            }
            _ => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    Some(String::from_utf8_lossy(&plain).into_owned())
}

/// The byte of `xNN`.
fn hex_byte(text: &[u8]) -> Option<u8> {
    let digits = text.get(..3)?.strip_prefix(b"x").filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The UTF-16 unit of the `\uXXXX` escape at `at`.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &[u8]) -> Value {
        parse(text, 100).unwrap().value
    }

    #[test]
    fn lone_surrogates_become_the_replacement_character_and_pairs_stay() {
        assert_eq!(
            value(br#"["\ud800", "\udc00x", "a\ud83d\ude00", "\\ud800"]"#),
            json!(["\u{fffd}", "\u{fffd}x", "a😀", "\\ud800"])
        );
    }

    #[test]
    fn hex_escapes_stand_for_bytes() {
        let line = br#"{"a":"{\x22b\x22:\x22\x5C\x22c\x5C\x22 \xC3\xA9 \x0A\x22}","d":"\\x22"}"#;
        assert_eq!(value(line), json!({"a": "{\"b\":\"\\\"c\\\" é \n\"}", "d": "\\x22"}));
        assert!(matches!(parse(br#"{"a":"\x2"}"#, 100).unwrap_err(), Fault::Bad(_)));
    }

    #[test]
    fn raw_control_characters_in_strings_become_blanks() {
        assert_eq!(value(b"{\"a\":\"x\ty\x1bz\"}"), json!({"a": "x y z"}));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced_and_reported() {
        let parsed = parse(b"{\"a\":\"x\xffy\"}", 100).unwrap();
        assert_eq!((parsed.value, parsed.replaced_bytes), (json!({"a": "x\u{fffd}y"}), true));
    }

    #[test]
    fn of_duplicate_keys_the_last_counts() {
        assert_eq!(value(br#"{"a":1,"a":2}"#), json!({"a": 2}));
    }

    #[test]
    fn duplicate_keys_are_counted_at_any_depth_and_nothing_else_changes() {
        let text =
            br#"{"a":[1,-2,0.5,true,null,"x",{"b":1,"b":{"c":1,"c":2}}],"a2":{},"a":[{"b":1,"b":2}],"d":"\u0061"}"#;
        let (parsed, duplicates) = parse_noting_duplicates(text, 100).unwrap();
        assert_eq!(parsed.value, value(text));
        assert_eq!((duplicates, parsed.repaired), (4, false));
        let (parsed, duplicates) = parse_noting_duplicates(br#"{"a":1,"a":"\ud800"}"#, 100).unwrap();
        assert_eq!((parsed.value, duplicates, parsed.repaired), (json!({"a": "\u{fffd}"}), 1, true));
        assert!(matches!(parse_noting_duplicates(b"{} {}", 100).unwrap_err(), Fault::Bad(_)));
    }

    #[test]
    fn depth_is_limited_exactly_and_far_beyond_the_parsers_own_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(100).as_bytes(), 100).is_ok());
        for depth in [101, 127, 128, 100_000] {
            assert_eq!(parse(nested(depth).as_bytes(), 100).unwrap_err(), Fault::TooDeep, "{depth}");
        }
    }

    #[test]
    fn an_unfinished_value_is_told_from_a_wrong_one() {
        assert_eq!(parse(br#"{"a":"#, 100).unwrap_err(), Fault::Incomplete);
        assert!(matches!(parse(br#"{"a" 1}"#, 100).unwrap_err(), Fault::Bad(_)));
    }
}
