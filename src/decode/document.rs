//! JSON documents that travel without a carrier, told by their keys.
//!
//! In: an object. Out: the name of its format, or none. Reads no further: what the document says is for `normalize`.

use serde_json::{Map, Value};

/// Values of `kind` in A2A 0.2 and 0.3.
const KINDS: [&str; 4] = ["task", "message", "status-update", "artifact-update"];

/// Tells the format of a document: JSON-RPC, push body or stream event, agent card, key set.
pub(super) fn format(map: &Map<String, Value>) -> Option<&'static str> {
    if map.contains_key("jsonrpc") {
        Some("json-rpc")
    } else if is_card(map) {
        Some("agent-card")
    } else if is_task_body(map) {
        Some("task-body")
    } else if is_key_set(map) {
        Some("key-set")
    } else {
        None
    }
}

/// A task, message or event: flat with `kind` (0.2, 0.3), wrapped by its name (1.0), or a bare task.
fn is_task_body(map: &Map<String, Value>) -> bool {
    let has_kind = map.get("kind").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind));
    let wrapped =
        ["task", "statusUpdate", "artifactUpdate"].iter().any(|key| map.get(*key).is_some_and(Value::is_object));
    let is_task = map.contains_key("id") && map.get("status").is_some_and(|status| status.get("state").is_some());
    has_kind || wrapped || is_task || is_message(map.get("message"))
}

fn is_card(map: &Map<String, Value>) -> bool {
    let has = |key: &str| map.contains_key(key);
    map.get("skills").is_some_and(Value::is_array) && (has("supportedInterfaces") || has("url") || has("capabilities"))
}

/// A message object; logs hold sentences under the same key.
fn is_message(message: Option<&Value>) -> bool {
    message.is_some_and(|m| ["parts", "messageId", "content"].into_iter().any(|key| m.get(key).is_some()))
}

/// RFC 7517.
fn is_key_set(map: &Map<String, Value>) -> bool {
    let keys = map.get("keys").and_then(Value::as_array);
    keys.is_some_and(|keys| !keys.is_empty() && keys.iter().all(|key| key.get("kty").is_some()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_told_by_their_keys_and_look_alikes_are_not() {
        for (value, expected) in [
            (json!({"jsonrpc": "2.0", "method": "message/send"}), Some("json-rpc")),
            (json!({"kind": "status-update", "taskId": "t"}), Some("task-body")),
            (json!({"statusUpdate": {"taskId": "t"}}), Some("task-body")),
            (json!({"message": {"messageId": "m", "parts": []}}), Some("task-body")),
            (json!({"id": "t", "status": {"state": "completed"}}), Some("task-body")),
            (json!({"name": "a", "skills": [], "supportedInterfaces": []}), Some("agent-card")),
            (json!({"name": "a", "skills": [], "url": "http://a"}), Some("agent-card")),
            (json!({"keys": [{"kty": "OKP"}]}), Some("key-set")),
            (json!({"kind": "Deployment"}), None),
            (json!({"task": "t-1", "state": "COMPLETED"}), None),
            (json!({"message": "a sentence", "level": "info"}), None),
            (json!({"skills": ["a"]}), None),
            (json!({"id": 1, "status": "ok"}), None),
        ] {
            assert_eq!(format(value.as_object().unwrap()), expected, "{value}");
        }
    }
}
