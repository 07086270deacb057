//! Fluent Bit and Fluentd: records as their JSON outputs write them.
//!
//! In: an object with the line under `log`, or under another key beside `kubernetes` (Fluent Bit, Kubernetes filter;
//! Fluentd's `kubernetes_metadata`), also what Docker's `fluentd` driver and FireLens add. Out: the line.

use serde_json::{Map, Value};

use super::Wrapped;
use super::shipper;

/// Whether an object is a record of them.
pub(super) fn is(map: &Map<String, Value>) -> bool {
    let has_line = || ["log", "message", "MESSAGE"].iter().any(|key| map.get(*key).is_some_and(Value::is_string));
    map.get("log").is_some_and(Value::is_string)
        || map.get("kubernetes").is_some_and(Value::is_object)
        || (map.contains_key("kubernetes.pod_name") && has_line())
}

/// Opens it.
pub(super) fn open(map: Map<String, Value>) -> Vec<Wrapped> {
    shipper::open(map)
}
