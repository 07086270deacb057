//! What an answer, a stream event or a webhook body carries, told apart by shape.
//!
//! In: a JSON-RPC result, an HTTP+JSON body, the data of an event, a webhook body. Out: the object inside its wrapper
//! and what it is. Never trusts a method name for it: servers answer in other dialects than they are asked in.

use serde_json::Value;

use super::operation::Dialect;
use crate::normalize::json;

/// An object of the protocol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Payload<'a> {
    /// A whole task.
    Task(&'a Value),
    /// A change of state.
    Status(&'a Value),
    /// A piece of output.
    Artifact(&'a Value),
    /// A message without a task.
    Message(&'a Value),
    /// A list of tasks.
    Tasks(&'a [Value]),
    /// A webhook registration, or the first of a list of them.
    PushConfig(&'a Value),
    /// An agent card.
    Card(&'a Value),
    /// Null or nothing.
    Empty,
    /// Nothing known here.
    Unknown,
}

/// A payload and whether its wrapper is of no dialect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Read<'a> {
    pub(crate) payload: Payload<'a>,
    /// It was found inside a member that no version of the protocol has (`{"Task": ...}`).
    pub(crate) unknown_wrapper: bool,
}

/// The wrappers of A2A 1.0 and of 0.3's HTTP+JSON.
const WRAPPERS: [&str; 6] = ["task", "statusUpdate", "artifactUpdate", "message", "status_update", "artifact_update"];

/// Tells what a value is. `in_stream` decides what shape cannot: a 0.1 status event without `final` has the members of
/// a bare task, and 0.1 streams carry events only.
pub(crate) fn read(value: &Value, in_stream: bool) -> Read<'_> {
    let found = |payload| Read { payload, unknown_wrapper: false };
    if json::is_empty(value) {
        return found(Payload::Empty);
    }
    if let Some(wrapped) = unwrap(value) {
        return found(wrapped);
    }
    match bare(value, in_stream) {
        Payload::Unknown => match foreign_wrapper(value, in_stream) {
            Some(payload) => Read { payload, unknown_wrapper: true },
            None => found(Payload::Unknown),
        },
        payload => found(payload),
    }
}

/// Whether a value that nothing else marks as A2A's can hardly be anybody else's. Jobs and builds have an id and a state,
/// too, so a task or status without wrapper and `kind` must have another member of the protocol.
pub(crate) fn is_evident(value: &Value) -> bool {
    let Read { payload, unknown_wrapper } = read(value, false);
    let marked =
        WRAPPERS.iter().any(|name| value.get(name).is_some_and(Value::is_object)) || value.get("kind").is_some();
    let has = |object: &Value, names: &[&str]| names.iter().any(|name| object.get(name).is_some());
    match payload {
        _ if unknown_wrapper => false,
        Payload::Task(object) | Payload::Status(object) => {
            let known = ["contextId", "sessionId", "taskId", "artifacts", "history", "final", "eventType"];
            has(object, &["id", "taskId"]) && (marked || has(object, &known))
        }
        Payload::Artifact(object) => has(object, &["id", "taskId"]),
        Payload::Message(_) => marked,
        Payload::Tasks(tasks) => tasks.first().is_some_and(is_evident),
        _ => false,
    }
}

fn unwrap(value: &Value) -> Option<Payload<'_>> {
    WRAPPERS.iter().find_map(|name| {
        let inner = value.get(name).filter(|inner| inner.is_object())?;
        match *name {
            "task" if looks_like_task(inner) => Some(Payload::Task(inner)),
            "statusUpdate" | "status_update" => Some(Payload::Status(inner)),
            "artifactUpdate" | "artifact_update" => Some(Payload::Artifact(inner)),
            "message" if looks_like_message(inner) => Some(Payload::Message(inner)),
            _ => None,
        }
    })
}

fn bare(value: &Value, in_stream: bool) -> Payload<'_> {
    match json::text(value, &["kind"]) {
        "task" => return Payload::Task(value),
        "status-update" => return Payload::Status(value),
        "artifact-update" => return Payload::Artifact(value),
        "message" => return Payload::Message(value),
        _ => {}
    }
    if let Some(items) = json::list(value, &["tasks"]) {
        return Payload::Tasks(items);
    }
    if let Some(items) = value.as_array() {
        return of_list(items);
    }
    if value.get("artifact").is_some_and(Value::is_object) {
        return Payload::Artifact(value);
    }
    if has_status(value) {
        return if is_status_event(value, in_stream) { Payload::Status(value) } else { Payload::Task(value) };
    }
    if crate::normalize::card::is_card(value) {
        return Payload::Card(value);
    }
    if looks_like_message(value) {
        return Payload::Message(value);
    }
    push_config(value)
}

fn of_list(items: &[Value]) -> Payload<'_> {
    match items.first() {
        Some(first) if has_status(first) && first.get("id").is_some() => Payload::Tasks(items),
        Some(first) => push_config(first),
        None => Payload::Empty,
    }
}

fn push_config(value: &Value) -> Payload<'_> {
    if let Some(items) = json::list(value, &["configs"]) {
        return items.first().map_or(Payload::Empty, Payload::PushConfig);
    }
    let nested = json::object(value, &["pushNotificationConfig"]).is_some();
    let flat = value.get("url").is_some_and(Value::is_string)
        && ["taskId", "token", "authentication"].iter().any(|name| value.get(name).is_some());
    if nested || flat { Payload::PushConfig(value) } else { Payload::Unknown }
}

/// An object wrapped once in a member of another name, as some servers do.
fn foreign_wrapper(value: &Value, in_stream: bool) -> Option<Payload<'_>> {
    let members = value.as_object()?;
    members.values().filter(|inner| inner.is_object()).find_map(|inner| match bare(inner, in_stream) {
        Payload::Unknown | Payload::Card(_) | Payload::PushConfig(_) => None,
        payload => Some(payload),
    })
}

/// A status is an object; 0.1's free-form webhook bodies have also the bare word.
fn has_status(value: &Value) -> bool {
    match value.get("status") {
        Some(Value::Object(status)) => status.contains_key("state"),
        Some(Value::String(_)) => value.get("taskId").is_some() && value.get("eventType").is_some(),
        _ => false,
    }
}

fn is_status_event(value: &Value, in_stream: bool) -> bool {
    let of_whole_task = ["sessionId", "contextId", "artifacts", "history"].iter().any(|name| value.get(name).is_some());
    let of_event = ["taskId", "final", "eventType"].iter().any(|name| value.get(name).is_some());
    of_event || (in_stream && !of_whole_task)
}

fn looks_like_task(value: &Value) -> bool {
    value.get("id").is_some() || value.get("status").is_some()
}

fn looks_like_message(value: &Value) -> bool {
    json::list(value, &["parts", "content"]).is_some()
        && (value.get("role").is_some() || value.get("messageId").is_some())
}

/// The dialect that an answer's shape shows, where a method shared by two does not tell it.
pub(crate) fn dialect_of(payload: Payload<'_>) -> Option<Dialect> {
    let (Payload::Task(object) | Payload::Status(object) | Payload::Artifact(object) | Payload::Message(object)) =
        payload
    else {
        return None;
    };
    if object.get("kind").is_some() {
        return Some(Dialect::V03);
    }
    let state = object.get("status").map(|status| json::text(status, &["state"])).unwrap_or_default();
    if state.starts_with("TASK_STATE_") {
        return None;
    }
    let old = object.get("sessionId").is_some() || (object.get("contextId").is_none() && !state.is_empty());
    old.then_some(Dialect::V01)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(value: &Value, in_stream: bool) -> (&'static str, bool) {
        let read = read(value, in_stream);
        let name = match read.payload {
            Payload::Task(_) => "task",
            Payload::Status(_) => "status",
            Payload::Artifact(_) => "artifact",
            Payload::Message(_) => "message",
            Payload::Tasks(_) => "tasks",
            Payload::PushConfig(_) => "push-config",
            Payload::Card(_) => "card",
            Payload::Empty => "empty",
            Payload::Unknown => "unknown",
        };
        (name, read.unknown_wrapper)
    }

    #[test]
    fn the_same_task_is_found_in_every_dialect() {
        for value in [
            json!({"id": "t", "sessionId": "s", "status": {"state": "working"}}),
            json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}),
            json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}),
            json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}),
        ] {
            assert_eq!(kind(&value, false), ("task", false), "{value}");
        }
    }

    #[test]
    fn status_events_are_told_from_tasks() {
        for value in [
            json!({"id": "t", "status": {"state": "working"}, "final": false}),
            json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": "working"}}),
            json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}}),
            json!({"eventType": "status", "taskId": "t", "status": "completed"}),
        ] {
            assert_eq!(kind(&value, true), ("status", false), "{value}");
        }
        let without_final = json!({"id": "t", "status": {"state": "working"}});
        assert_eq!(kind(&without_final, true), ("status", false));
        assert_eq!(kind(&without_final, false), ("task", false));
    }

    #[test]
    fn an_unknown_wrapper_survives_and_is_marked() {
        let value = json!({"Task": {"id": "t", "contextId": "c", "status": {"state": "completed"}}});
        assert_eq!(kind(&value, false), ("task", true));
        assert_eq!(kind(&json!({"anything": {"else": 1}}), false), ("unknown", false));
    }

    #[test]
    fn jobs_of_other_systems_are_no_evidence() {
        for value in [
            json!({"id": 7, "status": {"state": "failed"}}),
            json!({"job": {"id": "7", "contextId": "c", "status": {"state": "failed"}}}),
            json!({"status": "completed"}),
            json!({"role": "user", "content": [{"text": "x"}]}),
            json!({"tasks": [{"title": "milk"}]}),
        ] {
            assert!(!is_evident(&value), "{value}");
        }
        for value in [
            json!({"id": "t", "sessionId": "s", "status": {"state": "failed"}}),
            json!({"id": "t", "status": {"state": "working"}, "final": false}),
            json!({"task": {"id": "t", "status": {"state": "TASK_STATE_FAILED"}}}),
            json!({"kind": "task", "id": "t", "status": {"state": "failed"}}),
        ] {
            assert!(is_evident(&value), "{value}");
        }
    }

    #[test]
    fn configs_lists_and_nothing_are_told_apart() {
        assert_eq!(kind(&json!({"configs": [{"id": "c", "url": "http://h", "taskId": "t"}]}), false).0, "push-config");
        assert_eq!(
            kind(&json!({"taskId": "t", "pushNotificationConfig": {"url": "http://h"}}), false).0,
            "push-config"
        );
        assert_eq!(kind(&json!({"id": "c", "taskId": "t", "url": "http://h"}), false).0, "push-config");
        assert_eq!(kind(&json!({"tasks": []}), false).0, "tasks");
        assert_eq!(kind(&json!({}), false).0, "empty");
        assert_eq!(kind(&Value::Null, false).0, "empty");
    }

    #[test]
    fn the_shape_of_an_answer_tells_01_from_03() {
        let old = json!({"id": "t", "sessionId": "s", "status": {"state": "working"}});
        let new = json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}});
        assert_eq!(dialect_of(read(&old, false).payload), Some(Dialect::V01));
        assert_eq!(dialect_of(read(&new, false).payload), Some(Dialect::V03));
    }
}
