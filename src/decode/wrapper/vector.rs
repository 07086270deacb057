//! Vector: events of its sources as a JSON encoder writes them.
//!
//! In: an object with `source_type` (Vector reference, sources `kubernetes_logs`, `docker_logs`, `file`, `stdin`,
//! `journald`). Out: the line, which stands under `message`.

use serde_json::{Map, Value};

use super::Wrapped;
use super::shipper;

/// Whether an object is an event of it.
pub(super) fn is(map: &Map<String, Value>) -> bool {
    map.get("source_type").is_some_and(Value::is_string)
        && (map.contains_key("message") || map.get("kubernetes").is_some_and(Value::is_object))
}

/// Opens it.
pub(super) fn open(map: Map<String, Value>) -> Vec<Wrapped> {
    shipper::open(map)
}
