//! Amazon CloudWatch Logs: answers of `filter-log-events` and `get-log-events`, what subscriptions send, and rows of
//! Insights. Lines of exports to S3 are for `timed`.
//!
//! In: `{"events": [{"timestamp": <ms>, "message": ""}]}`, `{"messageType": "DATA_MESSAGE", "logGroup", "logStream",
//! "logEvents": [..]}`, `{"results": [[{"field": "@message", "value": ""}]]}` (CloudWatch Logs API reference and user guide).
//! Out: the messages.

use serde_json::{Map, Value};

use super::{GoesOn, Payload, Wrapped, list, take_text, text};
use crate::decode::exchange::instant;
use crate::decode::frame::Said;
use crate::decode::record::Attributes;
use crate::decode::times;
use crate::instant::Instant;

/// Whether an object is an answer, or what a subscription sends.
pub(super) fn is_document(map: &Map<String, Value>) -> bool {
    let of_events = |list: &Vec<Value>| list.iter().all(is_event);
    let is_answer = || {
        let is_empty_answer =
            ["searchedLogStreams", "nextForwardToken", "nextToken"].iter().any(|k| map.contains_key(*k));
        list(map, "events").is_some_and(|list| of_events(list) && (!list.is_empty() || is_empty_answer))
    };
    let is_insights = || list(map, "results").is_some_and(|rows| !rows.is_empty() && rows.iter().all(is_row));
    list(map, "logEvents").is_some_and(of_events) || is_answer() || is_insights()
}

/// Opens it.
pub(super) fn open_document(mut map: Map<String, Value>) -> Vec<Wrapped> {
    let mut take = |name: &str| match map.remove(name) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    };
    let (rows, mut events) = (take("results"), take("logEvents"));
    events.extend(take("events"));
    let head = Value::Object(map);
    let event = |event| match event {
        Value::Object(event) => open_event(event, &head),
        _ => Vec::new(),
    };
    rows.into_iter().flat_map(open_row).chain(events.into_iter().flat_map(event)).collect()
}

/// Whether a value is an event.
pub(super) fn is_event(value: &Value) -> bool {
    value.get("message").is_some_and(Value::is_string) && value.get("timestamp").is_some_and(Value::is_number)
}

/// Opens an event; the group and stream may be said of all of them before.
pub(super) fn open_event(mut event: Map<String, Value>, head: &Value) -> Vec<Wrapped> {
    if head.get("messageType").and_then(Value::as_str) == Some("CONTROL_MESSAGE") {
        return Vec::new();
    }
    let message = take_text(&mut event, "message").unwrap_or_default();
    let of_head = |name: &str| head.get(name).and_then(Value::as_str).unwrap_or_default();
    let stream = [text(&event, "logStreamName"), of_head("logStream")].into_iter().find(|name| !name.is_empty());
    let group = [text(&event, "logGroupName"), of_head("logGroup")].into_iter().find(|name| !name.is_empty());
    let time = event.get("timestamp");
    let mut wrapped = wrapped(time.and_then(millis), message, group, stream, of_head("owner"));
    wrapped.said.has_bad_time = wrapped.said.at.is_none() && times::is_given(time);
    vec![wrapped]
}

/// Milliseconds since the epoch.
fn millis(value: &Value) -> Option<Instant> {
    Instant::from_nanos(value.as_i64()?.checked_mul(1_000_000)?)
}

/// Whether a value is a row of Insights.
pub(super) fn is_row(value: &Value) -> bool {
    let is_field = |field: &Value| field.get("field").is_some_and(Value::is_string) && field.get("value").is_some();
    value.as_array().is_some_and(|fields| !fields.is_empty() && fields.iter().all(is_field))
}

/// Opens a row.
pub(super) fn open_row(row: Value) -> Vec<Wrapped> {
    let Value::Array(fields) = row else { return Vec::new() };
    let member = |field: Value| match field {
        Value::Object(mut field) => Some((take_text(&mut field, "field")?, field.remove("value")?)),
        _ => None,
    };
    open_members(fields.into_iter().filter_map(member).collect())
}

/// Whether an object is an event or a row by itself, as they come out of `jq` and of the console's download.
pub(super) fn is_single(map: &Map<String, Value>) -> bool {
    let is_of_stream =
        map.contains_key("eventId") || map.contains_key("logStreamName") || map.contains_key("ingestionTime");
    let is_event =
        map.get("message").is_some_and(Value::is_string) && map.get("timestamp").is_some_and(Value::is_number);
    (is_of_stream && is_event) || (map.get("@message").is_some() && map.contains_key("@timestamp"))
}

/// Opens it.
pub(super) fn open_single(map: Map<String, Value>) -> Vec<Wrapped> {
    if map.contains_key("@message") { open_members(map) } else { open_event(map, &Value::Null) }
}

/// A row as an object: what was asked for, of which only the message is what was logged.
fn open_members(mut row: Map<String, Value>) -> Vec<Wrapped> {
    let at = row.get("@timestamp").and_then(|time| instant(time).or_else(|| millis(time)));
    let payload = row.remove("@message");
    let log = text(&row, "@log");
    // `@log` is the account and the group.
    let (owner, group) = log.split_once(':').unwrap_or(("", log));
    let some = |name: &'static str| Some(text(&row, name)).filter(|text| !text.is_empty());
    let stream = some("@logStream");
    let group = Some(group).filter(|group| !group.is_empty());
    match payload {
        Some(Value::String(message)) => vec![wrapped(at, message, group, stream, owner)],
        Some(value @ Value::Object(_)) => {
            let Wrapped { said, .. } = wrapped(at, String::new(), group, stream, owner);
            vec![Wrapped { said, payload: Payload::Value(value) }]
        }
        _ => Vec::new(),
    }
}

fn wrapped(at: Option<Instant>, message: String, group: Option<&str>, stream: Option<&str>, owner: &str) -> Wrapped {
    let mut labels = Vec::new();
    for (name, value) in [("aws.log.group.names", group), ("aws.log.stream.names", stream)] {
        labels.extend(value.map(|value| (name.to_owned(), Value::from(vec![value]))));
    }
    if !owner.is_empty() {
        labels.push(("cloud.account.id".to_owned(), Value::from(owner)));
    }
    let said = Said { at, labels: Attributes(labels), ..Said::default() };
    Wrapped { said, payload: Payload::Text(message, GoesOn::No) }
}
