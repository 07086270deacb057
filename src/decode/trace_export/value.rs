//! Ids, times and kinds in the spellings of trace stores.
//!
//! In: JSON values. Out: what OTLP calls the same; none, or a bad id, for what means nothing. Never fails.

use serde_json::{Map, Value};

use crate::decode::otlp::assemble::Id;
use crate::decode::record::Attributes;
use crate::decode::{python_repr, tree};
use crate::instant::Instant;

/// Longest text that is looked at for a list.
const LIST_BYTES: usize = 64 << 10;

/// An id of `width` bytes in hexadecimal digits of any case, bare or behind `0x`. Stores of 64-bit ids, and those that
/// leave leading zeros out, write fewer digits: such an id is filled up from the left, as gateways to OTLP do.
pub(super) fn hex_id(value: Option<&Value>, width: usize) -> Id {
    let text = match value {
        None | Some(Value::Null) => return Id::Absent,
        Some(Value::String(text)) => text.trim(),
        Some(_) => return Id::Bad,
    };
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.bytes().all(|digit| digit == b'0') {
        Id::Absent
    } else if digits.len() > 2 * width || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Id::Bad
    } else {
        Id::Known(format!("{:0>1$}", digits.to_ascii_lowercase(), 2 * width))
    }
}

/// True for a text of hexadecimal digits that may be an id of `width` bytes.
pub(super) fn is_hex_id(value: Option<&Value>, width: usize) -> bool {
    matches!(hex_id(value, width), Id::Known(_))
}

/// Microseconds, as a number or a text of one.
pub(super) fn micros(value: Option<&Value>) -> Option<i64> {
    match value? {
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A float's whole part, where it has one that is precise.
fn whole(float: f64) -> Option<i64> {
    // 2^53: beyond it floats skip numbers.
    const PRECISE: f64 = 9_007_199_254_740_992.0;
    (float.abs() <= PRECISE).then_some(float as i64)
}

/// The instant so many microseconds after the epoch; zero means not given.
pub(super) fn at_micros(micros: i64) -> Option<Instant> {
    Some(micros).filter(|micros| *micros > 0)?.checked_mul(1000).and_then(Instant::from_nanos)
}

/// Begin and end of a span that is given by its begin and duration in microseconds.
pub(super) fn extent(start: Option<&Value>, duration: Option<&Value>) -> (Option<Instant>, Option<Instant>) {
    let Some(start) = micros(start) else { return (None, None) };
    let end = micros(duration).and_then(|duration| start.checked_add(duration));
    (at_micros(start), end.and_then(at_micros))
}

/// OTLP's number of a kind's name: `server`, `SERVER`, `SpanKind.SERVER`; zero when unknown.
pub(super) fn kind(name: &str) -> i64 {
    let word = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match word.as_str() {
        "internal" => 1,
        "server" => 2,
        "client" => 3,
        "producer" => 4,
        "consumer" => 5,
        _ => 0,
    }
}

/// OTLP's number of a status' name; zero when unknown.
pub(super) fn status(name: &str) -> i64 {
    match name.trim().to_ascii_uppercase().as_str() {
        "OK" | "1" => 1,
        "ERROR" | "2" => 2,
        _ => 0,
    }
}

/// A tag's text as an attribute: formats that know no lists write them as JSON (OpenTelemetry specification, mapping to
/// non-OTLP formats), or as the emitter's language prints them (Python's exporter to Jaeger).
pub(super) fn attribute(text: String) -> Value {
    let list = match text.as_bytes() {
        _ if text.len() > LIST_BYTES => None,
        [b'[', .., b']'] => tree::read(&text).ok(),
        [b'(', b'\'' | b'"', .., b')'] => python_repr::to_json(&text),
        _ => None,
    };
    list.filter(Value::is_array).unwrap_or(Value::String(text))
}

/// The members of an object as attributes.
pub(super) fn attributes(value: Option<Value>) -> Attributes {
    match value {
        Some(Value::Object(map)) => Attributes(map.into_iter().filter(|(key, _)| !key.is_empty()).collect()),
        _ => Attributes::default(),
    }
}

/// A text member; empty when missing.
pub(super) fn text(map: &Map<String, Value>, key: &str) -> String {
    map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_without_their_leading_zeros_are_filled_up_and_others_are_bad() {
        assert_eq!(hex_id(Some(&json!("1F")), 8), Id::Known("000000000000001f".to_owned()));
        assert_eq!(hex_id(Some(&json!("0x0102030405060708")), 8), Id::Known("0102030405060708".to_owned()));
        for none in [json!(null), json!(""), json!("0"), json!("0000000000000000")] {
            assert_eq!(hex_id(Some(&none), 8), Id::Absent, "{none}");
        }
        for bad in [json!(7), json!("xyz"), json!("01020304050607080"), json!("-1"), json!("AQIDBAUGBwg=")] {
            assert_eq!(hex_id(Some(&bad), 8), Id::Bad, "{bad}");
        }
    }

    #[test]
    fn times_that_are_none_give_none() {
        assert_eq!(
            extent(Some(&json!(1_485_467_191_639_875_u64)), Some(&json!(5))),
            (Some(Instant(1_485_467_191_639_875_000)), Some(Instant(1_485_467_191_639_880_000)))
        );
        assert_eq!(extent(Some(&json!("7")), None), (Some(Instant(7000)), None));
        for none in [json!(0), json!(-3), json!(i64::MAX), json!(1e300), json!("soon"), json!([1])] {
            assert_eq!(extent(Some(&none), Some(&json!(i64::MAX))).0, None, "{none}");
        }
    }

    #[test]
    fn only_a_text_that_is_a_list_becomes_one() {
        assert_eq!(attribute(r#"["a","b"]"#.to_owned()), json!(["a", "b"]));
        assert_eq!(attribute("('a',)".to_owned()), json!(["a"]));
        for text in ["('a', b)", "(1)", "[not a list]", "[1", "plain", "{\"a\":1}", ""] {
            assert_eq!(attribute(text.to_owned()), json!(text));
        }
    }
}
