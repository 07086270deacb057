//! Google Cloud Logging: log entries of the API, of `gcloud logging read --format=json` and of sinks.
//!
//! In: a `LogEntry` (Cloud Logging API reference): `logName`, `insertId`, `resource`, one of `textPayload`, `jsonPayload` and
//! `protoPayload`, or `httpRequest` alone. Out: the payload, with the trace that the entry names.

use serde_json::{Map, Value};

use super::labels::Labels;
use super::shipper::payload_of;
use super::{GoesOn, Payload, Wrapped, list, take_text, text};
use crate::decode::frame::Said;
use crate::decode::headers::hex_id;
use crate::decode::times;
use crate::instant::Instant;

/// Members that may be what was logged.
const PAYLOADS: [&str; 4] = ["textPayload", "jsonPayload", "protoPayload", "httpRequest"];

/// Labels of monitored resources: the attribute, and their names.
const RESOURCE: [(&str, &str); 8] = [
    ("k8s.namespace.name", "namespace_name"),
    ("k8s.pod.name", "pod_name"),
    ("k8s.container.name", "container_name"),
    ("k8s.cluster.name", "cluster_name"),
    ("cloud.account.id", "project_id"),
    ("cloud.region", "location"),
    // Cloud Run: a service is one program, whichever revision runs.
    ("service.name", "service_name"),
    ("service.name", "function_name"),
];

/// Labels of the pod, as GKE writes them into the entry's.
const POD_SERVICE: [&str; 4] =
    ["k8s-pod/app_kubernetes_io/name", "k8s-pod/app.kubernetes.io/name", "k8s-pod/k8s-app", "k8s-pod/app"];

/// Whether an object is an entry.
pub(super) fn is(map: &Map<String, Value>) -> bool {
    let is_log = map.get("logName").is_some_and(|name| name.as_str().is_some_and(|name| name.contains("/logs/")));
    (is_log || map.contains_key("insertId")) && PAYLOADS.iter().any(|name| map.contains_key(*name))
}

/// Whether an object is an answer of `entries.list`.
pub(super) fn is_list(map: &Map<String, Value>) -> bool {
    let is_entry = |value: &Value| value.as_object().is_some_and(is);
    list(map, "entries").is_some_and(|entries| !entries.is_empty() && entries.iter().all(is_entry))
}

/// Opens an answer.
pub(super) fn open_list(mut map: Map<String, Value>) -> Vec<Wrapped> {
    let Some(Value::Array(entries)) = map.remove("entries") else { return Vec::new() };
    let open = |entry| match entry {
        Value::Object(entry) => open(entry),
        _ => Vec::new(),
    };
    entries.into_iter().flat_map(open).collect()
}

/// Opens an entry.
pub(super) fn open(mut map: Map<String, Value>) -> Vec<Wrapped> {
    let request = map.remove("httpRequest").filter(Value::is_object);
    let said = said(&map);
    let payload = if let Some(text) = take_text(&mut map, "textPayload") {
        Some(Payload::Text(text, GoesOn::No))
    } else {
        ["jsonPayload", "protoPayload"].iter().find_map(|name| map.remove(*name)).map(|payload| match payload {
            Value::Object(payload) => payload_of(with_severity(payload, &map)),
            payload => Payload::Value(payload),
        })
    };
    match (payload, request) {
        (Some(payload), None) => vec![Wrapped { said, payload }],
        (payload, Some(request)) => {
            // What a load balancer says in words adds nothing to the request.
            let logged = payload.filter(|payload| !is_balancer(payload));
            let time = map.get("timestamp").cloned().unwrap_or_default();
            let access = Value::Object(Map::from_iter([
                ("httpRequest".to_owned(), request),
                ("timestamp".to_owned(), time),
                ("severity".to_owned(), map.get("severity").cloned().unwrap_or_default()),
            ]));
            let both = logged.into_iter().chain([Payload::Value(access)]);
            both.map(|payload| Wrapped { said: said.clone(), payload }).collect()
        }
        (None, None) => Vec::new(),
    }
}

fn said(map: &Map<String, Value>) -> Said {
    let mut labels = Labels::default();
    if let Some(resource) = map.get("resource").and_then(|resource| resource.get("labels")?.as_object()) {
        RESOURCE.iter().for_each(|(name, spelling)| labels.text(name, resource.get(*spelling)));
    }
    if let Some(of_entry) = map.get("labels").and_then(Value::as_object).filter(|_| !labels.is_sidecar()) {
        labels.service(of_entry, &POD_SERVICE);
    }
    let at = ["timestamp", "receiveTimestamp"].iter().find_map(|name| Instant::parse_rfc3339(text(map, name)));
    let has_bad_time = at.is_none() && times::is_given(map.get("timestamp"));
    // `projects/P/traces/T`.
    let trace = text(map, "trace").rsplit('/').next().unwrap_or_default();
    Said {
        at,
        has_bad_time,
        labels: labels.done(),
        trace_id: hex_id::<32>(trace).unwrap_or_default(),
        span_id: hex_id::<16>(text(map, "spanId")).unwrap_or_default(),
        stream: text(map, "logName").to_owned(),
    }
}

/// The payload with the entry's severity: the agents take it out of the line that was logged.
fn with_severity(mut payload: Map<String, Value>, entry: &Map<String, Value>) -> Map<String, Value> {
    if let Some(severity) = entry.get("severity").filter(|_| !payload.contains_key("severity") && payload.len() > 1) {
        payload.insert("severity".to_owned(), severity.clone());
    }
    payload
}

fn is_balancer(payload: &Payload) -> bool {
    matches!(payload, Payload::Value(value) if value.get("@type").is_some())
}
