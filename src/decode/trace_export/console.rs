//! Spans as OpenTelemetry's SDKs print them, one object each.
//!
//! In: an object of Python's `ConsoleSpanExporter` or `ReadableSpan.to_json`, of Go's `stdouttrace`, or of JavaScript's
//! `ConsoleSpanExporter` (put into JSON by `inspected`). Out: a span. Lost against OTLP: of Python's the scope and what is
//! below a microsecond, of JavaScript's what nests deeper than its printer goes, and all of it where a log carrier frames its
//! lines. The SDKs of Java and .NET print text that is not read: [`advice`] tells what to set instead.
//!
//! Source: `opentelemetry.sdk.trace.ReadableSpan.to_json` 1.45 (Python); `exporters/stdout/stdouttrace` and
//! `sdk/trace/tracetest.SpanStub` 1.1 (Go); `sdk-trace-base` `ConsoleSpanExporter` 2.12 (JavaScript).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::value::{at_micros, attributes, extent, hex_id, is_hex_id, kind, status, text};
use crate::decode::otlp::assemble::{SPAN_ID, Shared, SpanParts, TRACE_ID};
use crate::decode::record::{Attributes, Origin, Sink, SpanEvent};
use crate::decode::times;
use crate::instant::Instant;

/// True for a span of one of the SDKs.
pub(super) fn is_span(map: &Map<String, Value>) -> bool {
    is_python(map) || is_go(map) || is_javascript(map)
}

fn is_python(map: &Map<String, Value>) -> bool {
    let context = map.get("context");
    map.contains_key("name") && has_ids(context, "trace_id", "span_id") && map.contains_key("start_time")
}

fn is_go(map: &Map<String, Value>) -> bool {
    map.contains_key("Name") && has_ids(map.get("SpanContext"), "TraceID", "SpanID")
}

fn is_javascript(map: &Map<String, Value>) -> bool {
    let has_resource = map.get("resource").is_some_and(|resource| resource.get("attributes").is_some());
    has_resource
        && is_hex_id(map.get("traceId"), TRACE_ID)
        && is_hex_id(map.get("id"), SPAN_ID)
        && map.get("kind").is_some_and(Value::is_number)
}

fn has_ids(context: Option<&Value>, trace: &str, span: &str) -> bool {
    context.is_some_and(|context| is_hex_id(context.get(trace), TRACE_ID) && is_hex_id(context.get(span), SPAN_ID))
}

/// Decodes what [`is_span`] recognised.
pub(super) fn decode(map: Map<String, Value>, origin: &Origin, sink: &mut dyn Sink) {
    let (parts, shared) = if is_python(&map) {
        python(map)
    } else if is_go(&map) {
        go(map)
    } else {
        javascript(map)
    };
    parts.deliver(&shared, origin, sink);
}

/// Python. Versions before 1.15 print the resource's attributes bare.
fn python(mut map: Map<String, Value>) -> (SpanParts, Shared) {
    let resource = match map.remove("resource") {
        Some(Value::Object(mut resource)) => match resource.remove("attributes") {
            Some(inner @ Value::Object(_)) => attributes(Some(inner)),
            _ => attributes(Some(Value::Object(resource))),
        },
        _ => Attributes::default(),
    };
    let context = map.remove("context").unwrap_or_default();
    let (status_code, status_message) = told_status(map.get("status"), "status_code", "description");
    let parts = SpanParts {
        trace_id: hex_id(context.get("trace_id"), TRACE_ID),
        span_id: hex_id(context.get("span_id"), SPAN_ID),
        parent_span_id: hex_id(map.get("parent_id"), SPAN_ID),
        name: text(&map, "name"),
        kind: kind(&text(&map, "kind")),
        started_at: time(map.get("start_time")),
        ended_at: time(map.get("end_time")),
        has_bad_time: is_any_bad(&map, ["start_time", "end_time"]),
        status_code,
        status_message,
        attributes: attributes(map.remove("attributes")),
        events: events(map.remove("events"), ["timestamp", "name", "attributes"], time, attributes),
    };
    (parts, Shared { resource: Arc::new(resource), scope: String::new() })
}

/// Go. Kinds are OTLP's numbers.
fn go(mut map: Map<String, Value>) -> (SpanParts, Shared) {
    let scope = scope(&map, ["InstrumentationScope", "InstrumentationLibrary"], "Name");
    let resource = go_attributes(map.remove("Resource"));
    let context = map.remove("SpanContext").unwrap_or_default();
    let (status_code, status_message) = told_status(map.get("Status"), "Code", "Description");
    let parts = SpanParts {
        trace_id: hex_id(context.get("TraceID"), TRACE_ID),
        span_id: hex_id(context.get("SpanID"), SPAN_ID),
        parent_span_id: hex_id(map.get("Parent").and_then(|parent| parent.get("SpanID")), SPAN_ID),
        name: text(&map, "Name"),
        kind: map.get("SpanKind").and_then(Value::as_i64).unwrap_or_default(),
        started_at: time(map.get("StartTime")),
        ended_at: time(map.get("EndTime")),
        has_bad_time: is_any_bad(&map, ["StartTime", "EndTime"]),
        status_code,
        status_message,
        attributes: go_attributes(map.remove("Attributes")),
        events: events(map.remove("Events"), ["Time", "Name", "Attributes"], time, go_attributes),
    };
    (parts, Shared { resource: Arc::new(resource), scope })
}

/// `[{"Key":..,"Value":{"Type":..,"Value":..}}]`
fn go_attributes(list: Option<Value>) -> Attributes {
    let Some(Value::Array(list)) = list else { return Attributes::default() };
    let pair = |mut item: Value| {
        let key = item.get("Key")?.as_str()?.to_owned();
        let value = item.get_mut("Value")?.get_mut("Value")?.take();
        (!key.is_empty()).then_some((key, value))
    };
    Attributes(list.into_iter().filter_map(pair).collect())
}

/// JavaScript. Kinds are counted from `INTERNAL`, one less than OTLP's; times of events are seconds and nanoseconds.
fn javascript(mut map: Map<String, Value>) -> (SpanParts, Shared) {
    let resource = map.get_mut("resource").and_then(|resource| resource.get_mut("attributes")).map(Value::take);
    let scope = scope(&map, ["instrumentationScope", "instrumentationLibrary"], "name");
    let parent = map.get("parentSpanContext").and_then(|context| context.get("spanId")).or_else(|| map.get("parentId"));
    let (started_at, ended_at) = extent(map.get("timestamp"), map.get("duration"));
    let (status_code, status_message) = told_status(map.get("status"), "code", "message");
    let parts = SpanParts {
        trace_id: hex_id(map.get("traceId"), TRACE_ID),
        span_id: hex_id(map.get("id"), SPAN_ID),
        parent_span_id: hex_id(parent, SPAN_ID),
        name: text(&map, "name"),
        kind: map.get("kind").and_then(Value::as_i64).and_then(|kind| kind.checked_add(1)).unwrap_or_default(),
        started_at,
        ended_at,
        has_bad_time: started_at.is_none() && times::is_given(map.get("timestamp")),
        status_code,
        status_message,
        attributes: attributes(map.remove("attributes")),
        events: events(map.remove("events"), ["time", "name", "attributes"], seconds_and_nanos, attributes),
    };
    (parts, Shared { resource: Arc::new(attributes(resource)), scope })
}

/// The scope, which goes by its present and its old name.
fn scope(map: &Map<String, Value>, names: [&str; 2], name: &str) -> String {
    let scope = names.into_iter().find_map(|name| map.get(name));
    scope.and_then(|scope| scope.get(name)).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn seconds_and_nanos(time: Option<&Value>) -> Option<Instant> {
    let [seconds, nanos] = time?.as_array()?.as_slice() else { return None };
    let start = at_micros(seconds.as_i64()?.checked_mul(1_000_000)?)?;
    start.0.checked_add(nanos.as_i64()?).and_then(Instant::from_nanos)
}

fn is_any_bad(map: &Map<String, Value>, times: [&str; 2]) -> bool {
    times.into_iter().any(|name| times::is_given(map.get(name)) && time(map.get(name)).is_none())
}

fn time(value: Option<&Value>) -> Option<Instant> {
    Instant::parse_rfc3339(value?.as_str()?)
}

/// Code and description of a status; the code is a name, or OTLP's number.
fn told_status(value: Option<&Value>, code: &str, description: &str) -> (i64, String) {
    let member = |key: &str| value.and_then(|status| status.get(key));
    let code = match member(code) {
        Some(Value::String(name)) => status(name),
        Some(number) => number.as_i64().unwrap_or_default(),
        None => 0,
    };
    (code, member(description).and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// Events, by the names of their members.
fn events(
    list: Option<Value>,
    [at, name, inside]: [&str; 3],
    time: impl Fn(Option<&Value>) -> Option<Instant>,
    attributes: impl Fn(Option<Value>) -> Attributes,
) -> Vec<SpanEvent> {
    let Some(Value::Array(list)) = list else { return Vec::new() };
    let event = |item| match item {
        Value::Object(mut event) => Some(SpanEvent {
            at: time(event.get(at)),
            name: text(&event, name),
            attributes: attributes(event.remove(inside)),
        }),
        _ => None,
    };
    list.into_iter().filter_map(event).collect()
}

const JAVA: &str = "spans as Java's logging exporter prints them, without times: set \
    OTEL_TRACES_EXPORTER=experimental-otlp/stdout, which prints OTLP/JSON, or otlp";

const DOTNET: &str = "spans as .NET's console exporter prints them: use AddOtlpExporter instead of AddConsoleExporter, and \
    the collector's file exporter";

const JAVASCRIPT: &str = "spans as JavaScript's console exporter prints them, line by line within another log: give the \
    process' own output (kubectl logs), or set OTEL_TRACES_EXPORTER=otlp";

/// What to do about a line of a printed span that is no object.
pub(in crate::decode) fn advice(line: &str) -> Option<&'static str> {
    if line.contains("[tracer: ") && line.contains("AttributesMap{") {
        Some(JAVA)
    } else if line.starts_with("Activity.TraceId:") {
        Some(DOTNET)
    } else if line
        .trim_start()
        .strip_prefix("traceId: '")
        .is_some_and(|id| id.trim_end_matches([',', '\'']).len() == 32)
    {
        Some(JAVASCRIPT)
    } else {
        None
    }
}
