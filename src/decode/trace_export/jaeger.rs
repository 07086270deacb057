//! Jaeger's JSON: answers of its API and what its interface saves, one trace of them, spans as its storage holds them.
//!
//! In: `{"data":[trace,..]}`, a trace, or a span with its process. Out: spans. Lost against OTLP: nanoseconds, links, the
//! type of what is in lists, and which of several exports of a service a span came with. Jaeger's newer API (`/api/v3`)
//! answers in OTLP, which `otlp` reads.
//!
//! Source: Jaeger `internal/uimodel` (its model of the interface's JSON); OpenTelemetry specification, "OpenTelemetry to
//! Jaeger Transformation".

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::reject;
use super::tags::Tags;
use super::value::{at_micros, attribute, extent, hex_id, is_hex_id, micros, text};
use crate::decode::otlp::assemble::{Id, SPAN_ID, Shared, SpanParts, TRACE_ID};
use crate::decode::record::{Attributes, Origin, RejectReason, Sink, SpanEvent};
use crate::decode::times;

/// True for an answer with traces, a trace, or a span with its process.
pub(super) fn is_export(map: &Map<String, Value>) -> bool {
    let is_answer = || {
        let data = map.get("data").and_then(Value::as_array);
        data.is_some_and(|traces| traces.iter().any(|trace| trace.as_object().is_some_and(is_trace)))
    };
    is_trace(map) || is_stored_span(map) || is_answer()
}

fn is_trace(map: &Map<String, Value>) -> bool {
    let spans = map.get("spans").and_then(Value::as_array);
    spans.is_some() && map.contains_key("traceID") && map.get("processes").is_some_and(Value::is_object)
        || spans.is_some_and(|spans| spans.iter().any(|span| span.as_object().is_some_and(is_stored_span)))
}

/// Spans of a trace name their process, spans of a store hold it.
fn is_stored_span(map: &Map<String, Value>) -> bool {
    is_hex_id(map.get("traceID"), TRACE_ID)
        && is_hex_id(map.get("spanID"), SPAN_ID)
        && map.contains_key("operationName")
        && map.get("process").is_some_and(Value::is_object)
}

/// Decodes what [`is_export`] recognised.
pub(super) fn decode(mut map: Map<String, Value>, origin: &Origin, sink: &mut dyn Sink) {
    if is_stored_span(&map) {
        return span(map, &HashMap::new(), origin, sink);
    }
    let Some(Value::Array(traces)) = map.remove("data") else { return trace(map, origin, sink) };
    for each in traces {
        match each {
            Value::Object(map) => trace(map, origin, sink),
            _ => reject(sink, origin, RejectReason::BadField, "a trace is no object"),
        }
    }
}

fn trace(mut map: Map<String, Value>, origin: &Origin, sink: &mut dyn Sink) {
    let processes = match map.remove("processes") {
        Some(Value::Object(processes)) => processes,
        _ => Map::new(),
    };
    let processes = processes.into_iter().map(|(id, process)| (id, Arc::new(resource(process)))).collect();
    let Some(Value::Array(spans)) = map.remove("spans") else {
        return reject(sink, origin, RejectReason::MissingField, "spans of a trace");
    };
    for each in spans {
        match each {
            Value::Object(map) => span(map, &processes, origin, sink),
            _ => reject(sink, origin, RejectReason::BadField, "a span of a trace is no object"),
        }
    }
}

/// A process as the resource that it stands for.
fn resource(process: Value) -> Attributes {
    let Value::Object(mut process) = process else { return Attributes::default() };
    let service = text(&process, "serviceName");
    let named = (!service.is_empty()).then(|| ("service.name".to_owned(), Value::from(service)));
    Attributes(named.into_iter().chain(tags(process.remove("tags"))).collect())
}

fn span(
    mut map: Map<String, Value>,
    processes: &HashMap<String, Arc<Attributes>>,
    origin: &Origin,
    sink: &mut dyn Sink,
) {
    let resource = match map.remove("process") {
        Some(process @ Value::Object(_)) => Arc::new(resource(process)),
        _ => processes.get(&text(&map, "processID")).cloned().unwrap_or_default(),
    };
    let mut told = Tags::of(tags(map.remove("tags")));
    let shared = Shared { resource, scope: std::mem::take(&mut told.scope) };
    let (started_at, ended_at) = extent(map.get("startTime"), map.get("duration"));
    let parts = SpanParts {
        trace_id: hex_id(map.get("traceID"), TRACE_ID),
        span_id: hex_id(map.get("spanID"), SPAN_ID),
        parent_span_id: parent(&map),
        name: text(&map, "operationName"),
        started_at,
        ended_at,
        has_bad_time: started_at.is_none() && times::is_given(map.get("startTime")),
        events: events(map.remove("logs")),
        ..told.into_parts()
    };
    parts.deliver(&shared, origin, sink);
}

/// The first span of the same trace that this one is a child of. What it follows from is a link.
fn parent(map: &Map<String, Value>) -> Id {
    let trace = map.get("traceID");
    let references = map.get("references").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_parent = |reference: &&Value| {
        reference.get("refType").and_then(Value::as_str) == Some("CHILD_OF")
            && hex_id(reference.get("traceID"), TRACE_ID) == hex_id(trace, TRACE_ID)
    };
    match references.iter().find(is_parent) {
        Some(reference) => hex_id(reference.get("spanID"), SPAN_ID),
        None => hex_id(map.get("parentSpanID"), SPAN_ID),
    }
}

/// Logs as events: the field `event` is the name, else `message`, as the exporters of some SDKs had it.
fn events(logs: Option<Value>) -> Vec<SpanEvent> {
    let Some(Value::Array(logs)) = logs else { return Vec::new() };
    let event = |log: Value| {
        let Value::Object(mut log) = log else { return None };
        let mut fields = tags(log.remove("fields"));
        let place = ["event", "message"]
            .iter()
            .find_map(|name| fields.iter().position(|(key, value)| key == name && value.is_string()));
        let name = place.map(|place| fields.remove(place).1);
        let name = name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
        let at = micros(log.get("timestamp")).and_then(at_micros);
        Some(SpanEvent { at, name, attributes: Attributes(fields) })
    };
    logs.into_iter().filter_map(event).collect()
}

/// Typed tags; stores may hold them as plain members.
fn tags(list: Option<Value>) -> Vec<(String, Value)> {
    match list {
        Some(Value::Array(list)) => list.into_iter().filter_map(tag).collect(),
        Some(Value::Object(map)) => map.into_iter().map(|(key, value)| (key, plain(value))).collect(),
        _ => Vec::new(),
    }
}

fn tag(tag: Value) -> Option<(String, Value)> {
    let Value::Object(mut tag) = tag else { return None };
    let key = text(&tag, "key");
    let kind = text(&tag, "type");
    let value = match (kind.as_str(), tag.remove("value")?) {
        // Integers that JavaScript cannot hold are written as text, and stores write all values so.
        ("int64", Value::String(digits)) => digits.parse::<i64>().map_or(Value::from(digits), Value::from),
        ("float64", Value::String(digits)) => digits.parse::<f64>().map_or(Value::from(digits), Value::from),
        ("bool", Value::String(word)) => word.parse::<bool>().map_or(Value::from(word), Value::from),
        ("binary", value) => value,
        (_, value) => plain(value),
    };
    (!key.is_empty()).then_some((key, value))
}

fn plain(value: Value) -> Value {
    match value {
        Value::String(text) => attribute(text),
        value => value,
    }
}
