//! Own events written as NDJSON lines to log records.
//!
//! In: a JSON object with `event` and `time` (rules.md, Our own event names). Out: a log record with the other keys as
//! attributes, or the exchange that an `a2a.exchange` event carries. Never interprets a key beyond time and trace.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::otlp::deliver_log;
use super::record::{Attributes, LogRecord, Origin, Sink};
use crate::instant::Instant;

/// Start of every own event's name; lines with other events are not ours.
const NAME_PREFIX: &str = "a2a.";
/// Nesting beyond which an object is kept as a value instead of being flattened.
const MAX_DEPTH: usize = 16;

/// Decodes an own event line. False, and nothing delivered, if it is none.
pub fn decode(value: &Value, origin: &Origin, sink: &mut dyn Sink) -> bool {
    let Some(members) = value.as_object() else { return false };
    let Some(name) = text(members, &["event"]).filter(|name| name.starts_with(NAME_PREFIX)) else { return false };
    let mut attributes = Vec::new();
    for (key, member) in members.iter().filter(|(key, _)| !CARRIER_KEYS.contains(&key.as_str())) {
        flatten(key, member, MAX_DEPTH, &mut attributes);
    }
    let log = LogRecord {
        origin: origin.clone(),
        at: TIME_KEYS.iter().find_map(|key| members.get(*key)).and_then(instant),
        event_name: name.to_owned(),
        severity: text(members, &["severity"]).unwrap_or_default().to_owned(),
        body: members.get("body").cloned().unwrap_or_default(),
        scope: String::new(),
        attributes: Attributes(attributes),
        resource: Arc::default(),
        trace_id: text(members, &TRACE_KEYS).and_then(|id| digits(id, 32)).unwrap_or_default(),
        span_id: text(members, &SPAN_KEYS).and_then(|id| digits(id, 16)).unwrap_or_default(),
    };
    deliver_log(log, sink);
    true
}

/// Names of the event time.
const TIME_KEYS: [&str; 2] = ["time", "timestamp"];
/// Names of the trace id.
const TRACE_KEYS: [&str; 2] = ["trace_id", "traceId"];
/// Names of the span id.
const SPAN_KEYS: [&str; 2] = ["span_id", "spanId"];
/// Keys that belong to the record itself and are no attributes.
const CARRIER_KEYS: [&str; 9] =
    ["event", "time", "timestamp", "severity", "body", "trace_id", "traceId", "span_id", "spanId"];

/// First text member by any of its names.
fn text<'v>(members: &'v Map<String, Value>, names: &[&str]) -> Option<&'v str> {
    names.iter().find_map(|name| members.get(*name)).and_then(Value::as_str)
}

/// Hex digits of an id in lower case; none if they are not `count` digits, or all zero.
fn digits(id: &str, count: usize) -> Option<String> {
    let is_id = id.len() == count && id.bytes().all(|b| b.is_ascii_hexdigit()) && id.bytes().any(|b| b != b'0');
    is_id.then(|| id.to_ascii_lowercase())
}

/// Joins the keys of nested objects with dots, as attributes are named.
fn flatten(key: &str, value: &Value, levels: usize, attributes: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if levels > 0 => {
            for (inner, value) in members {
                flatten(&format!("{key}.{inner}"), value, levels - 1, attributes);
            }
        }
        other => attributes.push((key.to_owned(), other.clone())),
    }
}

/// A time as RFC 3339, or as an epoch number of any unit, which may stand in a string.
fn instant(value: &Value) -> Option<Instant> {
    match value {
        Value::Number(number) => {
            number.as_i64().and_then(exact_nanos).or_else(|| number.as_f64().and_then(Instant::from_epoch_number))
        }
        Value::String(text) => match text.trim().parse::<i64>() {
            Ok(whole) => exact_nanos(whole).or_else(|| Instant::from_epoch_number(whole as f64)),
            Err(_) => {
                Instant::parse_rfc3339(text).or_else(|| text.trim().parse().ok().and_then(Instant::from_epoch_number))
            }
        },
        _ => None,
    }
}

/// An integer that can only be nanoseconds, which as a float would lose its last digits.
fn exact_nanos(number: i64) -> Option<Instant> {
    (number >= 10_000_000_000_000_000).then_some(Instant(number))
}
