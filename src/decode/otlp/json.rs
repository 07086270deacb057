//! OTLP/JSON of any emitter to span and log records.
//!
//! In: a parsed JSON value. Out: records and rejects. An own decoder, because derived ones refuse what the specification
//! allows (integers as numbers, missing members) and what tools write (enum names, base64 ids, the names of older
//! versions). Never loses a record for its neighbour's fault, and never recurses without bound.

use std::sync::Arc;

use serde_json::Value;

use super::assemble::{LogParts, SPAN_ID, Shared, SpanParts, TRACE_ID};
use super::lenient::{Members, any_value};
use super::reject;
use crate::decode::record::{Attributes, Origin, RejectReason, Sink, SpanEvent};

/// Nesting beyond which nothing is read; what JSON text can hold at most by serde_json's own limit.
const MAX_DEPTH: usize = 128;

/// Names of the list of resources with spans.
pub(super) const RESOURCE_SPANS: [&str; 2] = ["resourceSpans", "resource_spans"];
/// Names of the list of resources with log records.
pub(super) const RESOURCE_LOGS: [&str; 2] = ["resourceLogs", "resource_logs"];
/// Names of the list of resources with metrics.
pub(super) const RESOURCE_METRICS: [&str; 2] = ["resourceMetrics", "resource_metrics"];
/// Names of the list of scopes with spans; the later ones were used until OTLP 0.15, the last by Tempo.
pub(super) const SCOPE_SPANS: [&str; 5] =
    ["scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans", "ilSpans"];
/// Names of the list of scopes with log records.
pub(super) const SCOPE_LOGS: [&str; 4] =
    ["scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs"];
/// Names of the list of log records of a scope.
pub(super) const LOG_RECORDS: [&str; 3] = ["logRecords", "log_records", "logs"];
/// Names of the scope.
const SCOPE: [&str; 3] = ["scope", "instrumentationLibrary", "instrumentation_library"];

/// The format's name if the value is an OTLP request, an answer of Tempo's or Jaeger's API that holds one, or one resource
/// with its spans or records, as Java's `OtlpJsonLoggingSpanExporter` prints them.
pub fn is_otlp(value: &Value) -> Option<&'static str> {
    let has_list =
        |value: &Value, names: &[&str]| names.iter().any(|name| value.get(name).is_some_and(Value::is_array));
    if has_list(value, &RESOURCE_SPANS) {
        return Some("otlp-json-traces");
    }
    if has_list(value, &RESOURCE_LOGS) {
        return Some("otlp-json-logs");
    }
    if has_list(value, &RESOURCE_METRICS) {
        return Some("otlp-json-metrics");
    }
    let in_trace = |trace: &Value| has_list(trace, &RESOURCE_SPANS) || is_tempo_batches(trace);
    if value.get("trace").is_some_and(in_trace) || is_tempo_batches(value) {
        return Some("tempo-json");
    }
    if value.get("result").is_some_and(|result| has_list(result, &RESOURCE_SPANS)) || has_list(value, &SCOPE_SPANS) {
        return Some("otlp-json-traces");
    }
    has_list(value, &SCOPE_LOGS).then_some("otlp-json-logs")
}

/// True for Tempo's first API: `batches` is too common a word to be enough.
fn is_tempo_batches(value: &Value) -> bool {
    let Some(batches) = value.get("batches").and_then(Value::as_array) else { return false };
    batches.iter().any(|batch| SCOPE_SPANS.iter().any(|name| batch.get(name).is_some_and(Value::is_array)))
}

/// Decodes what [`is_otlp`] recognised.
pub fn decode(value: Value, origin: &Origin, sink: &mut dyn Sink) {
    if is_deeper_than(&value, MAX_DEPTH) {
        reject(sink, origin, RejectReason::TooDeep, "OTLP request");
        return dismantle(value);
    }
    let has = |names: &[&str]| names.iter().any(|name| value.get(name).is_some_and(Value::is_array));
    match (has(&SCOPE_SPANS), has(&SCOPE_LOGS)) {
        (true, _) => return resources(vec![value], Signal::Spans, origin, sink),
        (_, true) => return resources(vec![value], Signal::Logs, origin, sink),
        _ => {}
    }
    let Some(mut request) = Members::of(value) else { return };
    for wrapper in ["trace", "result"] {
        if let Some(mut inner) = request.take(&[wrapper]).and_then(Members::of) {
            resources(inner.list(&RESOURCE_SPANS), Signal::Spans, origin, sink);
            resources(inner.list(&["batches"]), Signal::Spans, origin, sink);
        }
    }
    resources(request.list(&RESOURCE_SPANS), Signal::Spans, origin, sink);
    resources(request.list(&["batches"]), Signal::Spans, origin, sink);
    resources(request.list(&RESOURCE_LOGS), Signal::Logs, origin, sink);
}

/// What a request is about.
#[derive(Clone, Copy)]
enum Signal {
    Spans,
    Logs,
}

/// Decodes a list of resources with their scopes.
fn resources(list: Vec<Value>, signal: Signal, origin: &Origin, sink: &mut dyn Sink) {
    for entry in list {
        let Some(mut entry) = Members::of(entry) else {
            reject(sink, origin, RejectReason::BadField, "an entry of an OTLP request is no object");
            continue;
        };
        let resource = Arc::new(entry.object(&["resource"]).attributes());
        let scopes = match signal {
            Signal::Spans => entry.list(&SCOPE_SPANS),
            Signal::Logs => entry.list(&SCOPE_LOGS),
        };
        for scope in scopes.into_iter().filter_map(Members::of) {
            items(scope, Arc::clone(&resource), signal, origin, sink);
        }
    }
}

/// Decodes the spans or log records of a scope.
fn items(mut group: Members, resource: Arc<Attributes>, signal: Signal, origin: &Origin, sink: &mut dyn Sink) {
    let shared = Shared { resource, scope: group.object(&SCOPE).text(&["name"]) };
    let list = match signal {
        Signal::Spans => group.list(&["spans"]),
        Signal::Logs => group.list(&LOG_RECORDS),
    };
    for item in list {
        match (Members::of(item), signal) {
            (Some(item), Signal::Spans) => span(item).deliver(&shared, origin, sink),
            (Some(item), Signal::Logs) => log(item).deliver(&shared, origin, sink),
            (None, _) => reject(sink, origin, RejectReason::BadField, "a span or log record is no object"),
        }
    }
}

/// The parts of a span.
fn span(mut item: Members) -> SpanParts {
    let mut status = item.object(&["status"]);
    SpanParts {
        trace_id: item.id(&["traceId", "trace_id"], TRACE_ID),
        span_id: item.id(&["spanId", "span_id"], SPAN_ID),
        parent_span_id: item.id(&["parentSpanId", "parent_span_id"], SPAN_ID),
        name: item.text(&["name"]),
        kind: item.enumeration(&["kind"], "SPAN_KIND_", &SPAN_KINDS),
        started_at: item.nanos(&["startTimeUnixNano", "start_time_unix_nano"]),
        ended_at: item.nanos(&["endTimeUnixNano", "end_time_unix_nano"]),
        has_bad_time: item.has_bad_time(),
        status_code: status.enumeration(&["code"], "STATUS_CODE_", &STATUS_CODES),
        status_message: status.text(&["message"]),
        attributes: item.attributes(),
        events: item.list(&["events"]).into_iter().filter_map(Members::of).map(event).collect(),
    }
}

/// Names of span kinds in the order of their numbers.
const SPAN_KINDS: [&str; 6] = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
/// Names of status codes in the order of their numbers.
const STATUS_CODES: [&str; 3] = ["UNSET", "OK", "ERROR"];
/// Names of severities in the order of their numbers.
const SEVERITIES: [&str; 25] = [
    "UNSPECIFIED",
    "TRACE",
    "TRACE2",
    "TRACE3",
    "TRACE4",
    "DEBUG",
    "DEBUG2",
    "DEBUG3",
    "DEBUG4",
    "INFO",
    "INFO2",
    "INFO3",
    "INFO4",
    "WARN",
    "WARN2",
    "WARN3",
    "WARN4",
    "ERROR",
    "ERROR2",
    "ERROR3",
    "ERROR4",
    "FATAL",
    "FATAL2",
    "FATAL3",
    "FATAL4",
];

/// An event of a span.
fn event(mut item: Members) -> SpanEvent {
    SpanEvent {
        at: item.nanos(&["timeUnixNano", "time_unix_nano"]),
        name: item.text(&["name"]),
        attributes: item.attributes(),
    }
}

/// The parts of a log record.
fn log(mut item: Members) -> LogParts {
    LogParts {
        at: item.nanos(&["timeUnixNano", "time_unix_nano"]),
        observed_at: item.nanos(&["observedTimeUnixNano", "observed_time_unix_nano"]),
        has_bad_time: item.has_bad_time(),
        severity_number: item.enumeration(&["severityNumber", "severity_number"], "SEVERITY_NUMBER_", &SEVERITIES),
        severity_text: item.text(&["severityText", "severity_text"]),
        event_name: item.text(&["eventName", "event_name"]),
        body: item.take(&["body"]).map_or(Value::Null, any_value),
        attributes: item.attributes(),
        trace_id: item.id(&["traceId", "trace_id"], TRACE_ID),
        span_id: item.id(&["spanId", "span_id"], SPAN_ID),
    }
}

/// True if lists and objects nest deeper than `left` levels. Looks no deeper than that, so it cannot overflow the stack.
fn is_deeper_than(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(list) => left == 0 || list.iter().any(|inner| is_deeper_than(inner, left - 1)),
        Value::Object(map) => left == 0 || map.values().any(|inner| is_deeper_than(inner, left - 1)),
        _ => false,
    }
}

/// Drops a value of any depth level by level: its own destructor recurses and would overflow the stack.
fn dismantle(value: Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(list) => pending.extend(list),
            Value::Object(map) => pending.extend(map.into_iter().map(|(_, inner)| inner)),
            _ => {}
        }
    }
}
