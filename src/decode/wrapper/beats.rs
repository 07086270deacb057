//! Filebeat's events, and what Elasticsearch gives back of them.
//!
//! In: an object with `@timestamp` and `message` beside what Filebeat adds (`agent`, `input`, `log.file`, `kubernetes`,
//! `container`; ECS), with the line's members under `json` where it parsed them itself, or hits with the object under `_source` (Elasticsearch, search API). Out: the line.

use serde_json::{Map, Value};

use super::shipper;
use super::{Payload, Wrapped, list};

/// Whether an object is an event of Filebeat.
pub(super) fn is(map: &Map<String, Value>) -> bool {
    let has = |key: &str| map.get(key).is_some_and(Value::is_object);
    let is_read = || map.get("log").is_some_and(|log| log.get("offset").is_some() || log.get("file").is_some());
    map.contains_key("@timestamp")
        && (map.contains_key("message") || has("json"))
        && (has("agent") || has("input") || is_read() || has("kubernetes") || has("container"))
}

/// Opens an event.
pub(super) fn open(map: Map<String, Value>) -> Vec<Wrapped> {
    shipper::open(map)
}

/// Whether an object is a hit, as `elasticdump` and `scan` write them one a line.
pub(super) fn is_hit(map: &Map<String, Value>) -> bool {
    map.get("_source").is_some_and(Value::is_object) && (map.contains_key("_index") || map.contains_key("_id"))
}

/// Whether an object is a hit, or an answer with hits.
pub(super) fn is_hits(map: &Map<String, Value>) -> bool {
    let is_list = |hits: &Vec<Value>| !hits.is_empty() && hits.iter().all(|hit| hit.as_object().is_some_and(is_hit));
    is_hit(map) || map.get("hits").and_then(Value::as_object).and_then(|hits| list(hits, "hits")).is_some_and(is_list)
}

/// Opens hits.
pub(super) fn open_hits(mut map: Map<String, Value>) -> Vec<Wrapped> {
    if is_hit(&map) {
        return open_hit(map);
    }
    let hits = map.get_mut("hits").and_then(|hits| hits.get_mut("hits")).map(Value::take);
    let open = |hit| match hit {
        Value::Object(hit) => open_hit(hit),
        _ => Vec::new(),
    };
    match hits {
        Some(Value::Array(hits)) => hits.into_iter().flat_map(open).collect(),
        _ => Vec::new(),
    }
}

/// Opens a hit.
pub(super) fn open_hit(mut hit: Map<String, Value>) -> Vec<Wrapped> {
    let payload = Payload::Value(hit.remove("_source").unwrap_or_default());
    vec![Wrapped { payload, ..Wrapped::default() }]
}
