//! Grafana Loki: answers of its query API, bodies of its push API, lines of `logcli -o jsonl`, and Grafana's download.
//!
//! In: `{"data": {"result": [{"stream": {}, "values": [["<ns>", "<line>", {}]]}]}}`, `{"streams": [..]}` with the same, or
//! `{"labels": {}, "line": "", "timestamp": ""}` (Loki HTTP API reference; grafana/loki, pkg/logcli/output). Out: the lines.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::labels::{Labels, POD_SERVICE};
use super::{GoesOn, Payload, Wrapped, list, take_text};
use crate::decode::exchange::instant;
use crate::decode::frame::Said;
use crate::decode::headers::hex_id;
use crate::decode::times;
use crate::instant::Instant;

/// What labels of streams mean, as Promtail, Alloy and OTLP name them.
const KNOWN: [(&str, &[&str]); 7] = [
    ("k8s.namespace.name", &["namespace", "k8s_namespace_name"]),
    ("k8s.pod.name", &["pod", "k8s_pod_name"]),
    ("k8s.container.name", &["container", "k8s_container_name"]),
    ("k8s.node.name", &["node_name", "node", "k8s_node_name"]),
    ("k8s.cluster.name", &["cluster", "k8s_cluster_name"]),
    ("container.name", &["container_name"]),
    ("log.file.path", &["filename"]),
];

/// Labels from which Loki makes up a `service_name` that name a place and no program.
const PLACES: [&str; 5] = ["container", "container_name", "k8s_container_name", "job", "k8s_job_name"];

/// Whether an object is an answer or a push body.
pub(super) fn is_document(map: &Map<String, Value>) -> bool {
    let is_streams = |list: &Vec<Value>| !list.is_empty() && list.iter().all(is_stream);
    result(map).is_some_and(is_streams) || list(map, "streams").is_some_and(is_streams)
}

fn result(map: &Map<String, Value>) -> Option<&Vec<Value>> {
    list(map.get("data")?.as_object()?, "result")
}

/// Opens it.
pub(super) fn open_document(mut map: Map<String, Value>) -> Vec<Wrapped> {
    let streams = match map.remove("streams") {
        Some(streams) => Some(streams),
        None => map.get_mut("data").and_then(|data| data.get_mut("result")).map(Value::take),
    };
    match streams {
        Some(Value::Array(streams)) => streams.into_iter().flat_map(open_stream).collect(),
        _ => Vec::new(),
    }
}

/// Whether a value is a stream with its lines.
pub(super) fn is_stream(value: &Value) -> bool {
    value.get("stream").is_some_and(Value::is_object) && value.get("values").is_some_and(Value::is_array)
}

/// Opens a stream.
pub(super) fn open_stream(mut stream: Value) -> Vec<Wrapped> {
    let values = stream.get_mut("values").map(Value::take);
    let stream = Stream::of(&stream);
    match values {
        Some(Value::Array(values)) => values.into_iter().filter_map(|value| open_value(value, &stream)).collect(),
        _ => Vec::new(),
    }
}

/// Whether a value is a line with its time.
pub(super) fn is_value(value: &Value) -> bool {
    value.as_array().is_some_and(|parts| parts.len() >= 2 && parts[0].is_string() && parts[1].is_string())
}

/// Opens a line.
pub(super) fn open_value(value: Value, stream: &Stream) -> Option<Wrapped> {
    let Value::Array(parts) = value else { return None };
    let mut parts = parts.into_iter();
    let (time, line, metadata) = (parts.next()?, parts.next()?, parts.next().unwrap_or_default());
    let Value::String(line) = line else { return None };
    let mut wrapped = stream.wrapped(nanos(&time), line, metadata.as_object());
    wrapped.said.has_bad_time = wrapped.said.at.is_none() && times::is_given(Some(&time));
    Some(wrapped)
}

/// Whether an object is a line with its labels.
pub(super) fn is_line(map: &Map<String, Value>) -> bool {
    let has_labels = ["labels", "fields"].iter().any(|name| map.get(*name).is_some_and(Value::is_object));
    // `--no-labels`.
    let is_bare = || map.len() == 2;
    map.get("line").is_some_and(Value::is_string) && map.contains_key("timestamp") && (has_labels || is_bare())
}

/// Opens it.
pub(super) fn open_line(mut map: Map<String, Value>) -> Vec<Wrapped> {
    let line = take_text(&mut map, "line").unwrap_or_default();
    let time = map.get("timestamp").and_then(|time| nanos(time).or_else(|| instant(time)));
    let labels = ["labels", "fields"].iter().find_map(|name| map.get(*name)?.as_object());
    let mut wrapped = Stream::of_labels(labels).wrapped(time, line, None);
    wrapped.said.has_bad_time = time.is_none() && times::is_given(map.get("timestamp"));
    vec![wrapped]
}

/// Nanoseconds in a string.
fn nanos(time: &Value) -> Option<Instant> {
    time.as_str()?.parse().ok().and_then(Instant::from_nanos)
}

/// What the labels of a stream say of each of its lines. They are read once: they may be longer than all lines together.
#[derive(Debug, Default)]
pub(in crate::decode) struct Stream {
    known: Labels,
    service: Labels,
    trace_id: String,
    span_id: String,
    /// What tells it from others: all of its labels.
    name: String,
}

impl Stream {
    /// Of an element of an answer, or of what of it stands before its lines.
    pub(super) fn of(stream: &Value) -> Self {
        Self::of_labels(stream.get("stream").and_then(Value::as_object))
    }

    fn of_labels(labels: Option<&Map<String, Value>>) -> Self {
        let Some(labels) = labels else { return Self::default() };
        let (mut known, mut service) = (Labels::default(), Labels::default());
        add_known(&mut known, labels);
        add_service(&mut service, labels);
        let id = |name: &str| labels.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut hasher = DefaultHasher::new();
        labels.iter().for_each(|(name, value)| (name, value.to_string()).hash(&mut hasher));
        let name = format!("{:016x}", hasher.finish());
        Self { known, service, trace_id: id("trace_id"), span_id: id("span_id"), name }
    }

    fn wrapped(&self, at: Option<Instant>, line: String, metadata: Option<&Map<String, Value>>) -> Wrapped {
        let mut known = self.known.clone();
        metadata.into_iter().for_each(|metadata| add_known(&mut known, metadata));
        if !known.is_sidecar() {
            known.add(&self.service);
        }
        let id = |name: &str, of_stream: &str| match metadata.and_then(|metadata| metadata.get(name)) {
            Some(id) => id.as_str().unwrap_or_default().to_owned(),
            None => of_stream.to_owned(),
        };
        let said = Said {
            at,
            has_bad_time: false,
            labels: known.done(),
            trace_id: hex_id::<32>(&id("trace_id", &self.trace_id)).unwrap_or_default(),
            span_id: hex_id::<16>(&id("span_id", &self.span_id)).unwrap_or_default(),
            stream: self.name.clone(),
        };
        Wrapped { said, payload: Payload::Text(line, GoesOn::No) }
    }
}

fn add_known(known: &mut Labels, labels: &Map<String, Value>) {
    for (name, spellings) in KNOWN {
        spellings.iter().for_each(|spelling| known.text(name, labels.get(*spelling)));
    }
}

/// The program's name: what the sender said, or Loki found out by a label that is one.
fn add_service(known: &mut Labels, labels: &Map<String, Value>) {
    let named = labels.get("service_name").filter(|name| {
        let is_known = name.as_str().is_some_and(|name| !name.starts_with("unknown_service"));
        is_known && !PLACES.iter().any(|place| labels.get(*place) == Some(*name))
    });
    known.text("service.name", named);
    known.service(labels, &POD_SERVICE);
    known.service(labels, &["service"]);
}
