//! Zipkin's second JSON format.
//!
//! In: one span of a list. Out: a span. Lost against OTLP: nanoseconds, links, the types of all values (numbers become
//! text), what is the resource's and what the span's; of OpenTelemetry's exporters the events' attributes stay, of others
//! an event is a sentence. Zipkin's own server writes names of spans and services in lower case.
//!
//! Source: Zipkin API (`zipkin2-api.yaml`); OpenTelemetry specification, "OpenTelemetry to Zipkin Transformation".

use std::sync::Arc;

use serde_json::{Map, Value};

use super::tags::Tags;
use super::value::{at_micros, attribute, attributes, extent, hex_id, is_hex_id, kind, micros, text};
use crate::decode::otlp::assemble::{Id, SPAN_ID, Shared, SpanParts, TRACE_ID};
use crate::decode::record::{Attributes, Origin, Sink, SpanEvent};
use crate::decode::{times, tree};

/// Resource attributes of OpenTelemetry, which its exporters write among a span's tags.
const OF_RESOURCE: [&str; 6] = ["service.", "telemetry.", "k8s.", "host.", "process.", "container."];

/// Set in the id of the span that a server reports under the id of its caller's.
const SERVERS_HALF: u8 = 0x80;

/// Names with values.
type Pairs = Vec<(String, Value)>;

/// True for a span: both ids, and a member that only these spans have.
pub(super) fn is_span(map: &Map<String, Value>) -> bool {
    let has = |key: &str, is: fn(&Value) -> bool| map.get(key).is_some_and(is);
    is_hex_id(map.get("traceId"), TRACE_ID)
        && is_hex_id(map.get("id"), SPAN_ID)
        && (has("localEndpoint", Value::is_object)
            || has("annotations", Value::is_array)
            || has("tags", Value::is_object)
            || has("timestamp", Value::is_number) && has("duration", Value::is_number))
}

/// Decodes what [`is_span`] recognised.
pub(super) fn decode(mut map: Map<String, Value>, origin: &Origin, sink: &mut dyn Sink) {
    let (of_resource, of_span) = tags(map.remove("tags"));
    let mut told = Tags::of(of_span);
    endpoint(map.get("remoteEndpoint"), &mut told.attributes);
    let scope = std::mem::take(&mut told.scope);
    let shared = Shared { resource: resource(map.get("localEndpoint"), of_resource), scope };
    let (started_at, ended_at) = extent(map.get("timestamp"), map.get("duration"));
    let (span_id, parent_span_id) = ids(&map);
    let parts = SpanParts {
        trace_id: hex_id(map.get("traceId"), TRACE_ID),
        span_id,
        parent_span_id,
        name: text(&map, "name"),
        started_at,
        ended_at,
        has_bad_time: started_at.is_none() && times::is_given(map.get("timestamp")),
        kind: kind(&text(&map, "kind")),
        events: events(map.remove("annotations")),
        ..told.into_parts()
    };
    parts.deliver(&shared, origin, sink);
}

/// Id and parent. A server that shares its caller's span reports under the same id; for OTLP these are two spans, the
/// second a child of the first.
fn ids(map: &Map<String, Value>) -> (Id, Id) {
    let id = hex_id(map.get("id"), SPAN_ID);
    if map.get("shared").and_then(Value::as_bool) != Some(true) {
        return (id, hex_id(map.get("parentId"), SPAN_ID));
    }
    let servers = match &id {
        Id::Known(digits) => hex::decode(digits).ok().and_then(|mut bytes| {
            *bytes.first_mut()? ^= SERVERS_HALF;
            Some(Id::Known(hex::encode(bytes)))
        }),
        _ => None,
    };
    (servers.unwrap_or(Id::Bad), id)
}

/// Tags, apart from those that tell of the resource.
fn tags(tags: Option<Value>) -> (Pairs, Pairs) {
    let Some(Value::Object(tags)) = tags else { return (Vec::new(), Vec::new()) };
    let value = |value| match value {
        Value::String(text) => attribute(text),
        value => value,
    };
    tags.into_iter()
        .map(|(key, tag)| (key, value(tag)))
        .partition(|(key, _)| OF_RESOURCE.iter().any(|prefix| key.starts_with(prefix)))
}

/// The resource: tags that tell of it, else the reporting endpoint's name.
fn resource(local: Option<&Value>, mut tags: Pairs) -> Arc<Attributes> {
    let service = local.and_then(|local| local.get("serviceName")).and_then(Value::as_str).unwrap_or_default();
    if !service.is_empty() && !tags.iter().any(|(key, _)| key == "service.name") {
        tags.insert(0, ("service.name".to_owned(), Value::from(service)));
    }
    Arc::new(Attributes(tags))
}

/// The other side, where the span's own tags do not name it.
fn endpoint(remote: Option<&Value>, attributes: &mut Attributes) {
    let member = |key: &str| remote.and_then(|remote| remote.get(key)).cloned();
    let told = [
        ("peer.service", member("serviceName")),
        ("network.peer.address", member("ipv4").or_else(|| member("ipv6"))),
        ("network.peer.port", member("port")),
    ];
    for (key, value) in told {
        if let Some(value) = value.filter(|_| attributes.get(key).is_none()) {
            attributes.0.push((key.to_owned(), value));
        }
    }
}

/// Annotations as events.
fn events(annotations: Option<Value>) -> Vec<SpanEvent> {
    let Some(Value::Array(annotations)) = annotations else { return Vec::new() };
    let event = |annotation: &Value| {
        let value = annotation.get("value")?.as_str()?;
        let (name, attributes) = named(value).unwrap_or_else(|| (value.to_owned(), Attributes::default()));
        Some(SpanEvent { at: micros(annotation.get("timestamp")).and_then(at_micros), name, attributes })
    };
    annotations.iter().filter_map(event).collect()
}

/// `"name": {attributes}`, with or without braces around: how OpenTelemetry's exporters write an event.
fn named(value: &str) -> Option<(String, Attributes)> {
    let object = match value.as_bytes() {
        [b'{', .., b'}'] => tree::read(value),
        [b'"', .., b'}'] => tree::read(&format!("{{{value}}}")),
        _ => return None,
    };
    let Ok(Value::Object(members)) = object else { return None };
    let mut members = members.into_iter();
    match (members.next(), members.next()) {
        (Some((name, of_event @ Value::Object(_))), None) => Some((name, attributes(Some(of_event)))),
        _ => None,
    }
}
