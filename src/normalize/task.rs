//! Tasks and status events to rows of `task_events`, with the artifacts they carry.
//!
//! In: a payload and where it was seen. Out: rows, and what the exchange's own row needs of them. A task's history and
//! metadata are no events. Never the status text: its class.

use serde_json::Value;

use super::artifact::{self, Owner};
use super::json;
use super::patterns::Patterns;
use super::protocol::payload::Payload;
use super::protocol::state;
use crate::instant::Instant;
use crate::tables::{Common, Facts, TaskEventColumns, TaskEventRow, bounded};

/// Where and how something about a task was seen.
pub(crate) struct Sighting<'a> {
    /// Common columns, with the time of the sighting.
    pub(crate) common: Common,
    /// `reply`, `stream`, `push`, `poll`.
    pub(crate) origin: &'static str,
    pub(crate) operation: &'a str,
    /// Skill asked for in the same exchange; a whole task without one is looked through for it.
    pub(crate) skill_id: &'a str,
    pub(crate) server_address: &'a str,
    /// Position within the stream.
    pub(crate) ordinal: Option<i64>,
    /// An absent list of artifacts means none; list calls leave it out unless asked.
    pub(crate) lists_artifacts: bool,
    pub(crate) patterns: &'a Patterns,
}

/// What was in a payload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Glimpse {
    pub(crate) task_id: String,
    pub(crate) context_id: String,
    /// Canonical state; empty when the payload tells none.
    pub(crate) state: &'static str,
}

/// Adds the rows of a payload.
pub(crate) fn rows(payload: Payload<'_>, seen: &Sighting<'_>, facts: &mut Facts) -> Glimpse {
    match payload {
        Payload::Task(task) => whole_task(task, seen, facts),
        Payload::Status(event) => {
            let glimpse = glimpse(event, &["taskId", "task_id", "id"]);
            status_row(event, &glimpse, None, seen, facts);
            glimpse
        }
        Payload::Artifact(event) => {
            let glimpse = Glimpse { state: "", ..glimpse(event, &["taskId", "task_id", "id"]) };
            let owner = Owner { task_id: &glimpse.task_id, context_id: &glimpse.context_id };
            artifact::event(event, &owner, seen, facts);
            glimpse
        }
        Payload::Tasks(tasks) => {
            for task in tasks {
                whole_task(task, seen, facts);
            }
            Glimpse::default()
        }
        Payload::Message(message) => Glimpse { state: "", ..glimpse(message, &["taskId"]) },
        Payload::PushConfig(_) | Payload::Card(_) | Payload::Empty | Payload::Unknown => Glimpse::default(),
    }
}

fn whole_task(task: &Value, seen: &Sighting<'_>, facts: &mut Facts) -> Glimpse {
    let asked = if seen.skill_id.is_empty() { skill_in_history(task, seen.patterns) } else { seen.skill_id.to_owned() };
    let seen = &Sighting { common: seen.common.clone(), skill_id: &asked, ..*seen };
    let glimpse = glimpse(task, &["id", "taskId"]);
    let listed = json::list(task, &["artifacts"]);
    let count = match listed {
        Some(artifacts) => i64::try_from(artifacts.len()).ok(),
        None => seen.lists_artifacts.then_some(0),
    };
    status_row(task, &glimpse, Some(count), seen, facts);
    let owner = Owner { task_id: &glimpse.task_id, context_id: &glimpse.context_id };
    artifact::snapshot(listed.map(Vec::as_slice).unwrap_or_default(), &owner, seen, facts);
    glimpse
}

/// The skill that the first message of the caller named, for tasks whose making was not seen.
fn skill_in_history(task: &Value, patterns: &Patterns) -> String {
    let messages = json::list(task, &["history"]).map(Vec::as_slice).unwrap_or_default();
    let is_callers = |message: &&Value| json::text(message, &["role"]).to_ascii_lowercase().ends_with("user");
    let named = messages.iter().filter(is_callers).map(|message| patterns.skill(&Value::Null, message).id);
    named.into_iter().find(|id| !id.is_empty()).unwrap_or_default()
}

fn glimpse(object: &Value, id_names: &[&str]) -> Glimpse {
    let task_id = id_names.iter().map(|name| json::id(object.get(name))).find(|id| !id.is_empty()).unwrap_or_default();
    let context_id = bounded(json::text(object, &["contextId", "context_id", "sessionId"])).into_owned();
    let state = raw_state(object).map(state::canonical).unwrap_or_default();
    Glimpse { task_id, context_id, state }
}

/// The state as on the wire; protobuf's JSON leaves out the unspecified one.
fn raw_state(object: &Value) -> Option<&str> {
    match object.get("status")? {
        Value::String(word) => Some(word),
        Value::Object(status) => Some(status.get("state").and_then(Value::as_str).unwrap_or_default()),
        _ => None,
    }
}

/// A row for a status. `artifact_count` is some for whole tasks.
fn status_row(
    object: &Value,
    glimpse: &Glimpse,
    artifact_count: Option<Option<i64>>,
    seen: &Sighting<'_>,
    facts: &mut Facts,
) {
    let Some(raw) = raw_state(object).filter(|_| !glimpse.task_id.is_empty()) else { return };
    let status = object.get("status").unwrap_or(&Value::Null);
    let own = TaskEventColumns {
        task_id: glimpse.task_id.clone(),
        context_id: glimpse.context_id.clone(),
        skill_id: seen.skill_id.to_owned(),
        state: glimpse.state.to_owned(),
        state_raw: short_word(raw).to_owned(),
        reason_class: seen.patterns.class(&message_text(status)).to_owned(),
        status_at: status_at(status).or_else(|| Instant::parse_rfc3339(json::text(object, &["timestamp"]))),
        origin: seen.origin.to_owned(),
        snapshot: Some(artifact_count.is_some()),
        ordinal: seen.ordinal,
        generation: json::integer(object.get("generation")),
        is_final: json::flag(object, &["final"]),
        artifact_count: artifact_count.flatten(),
        operation: seen.operation.to_owned(),
        server_address: seen.server_address.to_owned(),
    };
    facts.push_task_event(TaskEventRow { common: seen.common.clone(), own });
}

/// `status.timestamp`.
pub(crate) fn status_at(status: &Value) -> Option<Instant> {
    Instant::parse_rfc3339(json::text(status, &["timestamp"]))
}

/// A state is a word; what is longer is a text, and texts are not kept.
fn short_word(raw: &str) -> &str {
    if raw.len() <= 64 && !raw.contains(char::is_whitespace) { raw } else { "" }
}

/// All text of a status's message, to be classified.
fn message_text(status: &Value) -> String {
    let message = match status.get("message") {
        Some(Value::String(text)) => return text.clone(),
        Some(message) => message,
        None => return String::new(),
    };
    let parts = json::list(message, &["parts", "content"]).map(Vec::as_slice).unwrap_or_default();
    parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::normalize::protocol::payload;

    fn seen(value: &Value, lists_artifacts: bool) -> (Facts, Glimpse) {
        let patterns = Patterns::embedded();
        let sighting = Sighting {
            common: Common::default(),
            origin: "reply",
            operation: "GetTask",
            skill_id: "s",
            server_address: "",
            ordinal: None,
            lists_artifacts,
            patterns: &patterns,
        };
        let mut facts = Facts::default();
        let glimpse = rows(payload::read(value, false).payload, &sighting, &mut facts);
        (facts, glimpse)
    }

    #[test]
    fn a_task_of_any_dialect_gives_one_row_and_its_history_none() {
        for value in [
            json!({"id": "t", "sessionId": "c", "status": {"state": "failed", "message": {"role": "agent", "parts": [{"type": "text", "text": "unknown skill"}]}, "timestamp": "2026-11-30T06:15:31.933Z"}}),
            json!({"kind": "task", "id": "t", "contextId": "c", "history": [{"parts": []}], "status": {"state": "failed", "message": {"parts": [{"kind": "text", "text": "unknown"}, {"kind": "text", "text": "skill"}]}, "timestamp": "2026-11-30T06:15:31.933+00:00"}}),
            json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_FAILED", "message": {"content": [{"text": "unknown skill"}]}, "timestamp": "2026-11-30T06:15:31.933Z"}}}),
        ] {
            let (facts, glimpse) = seen(&value, true);
            assert_eq!((glimpse.task_id.as_str(), glimpse.context_id.as_str(), glimpse.state), ("t", "c", "failed"));
            let [row] = facts.task_events.as_slice() else { panic!("{value}") };
            assert_eq!(row.own.reason_class, "unknown-skill");
            assert_eq!(row.own.status_at, Some(Instant(1_796_019_331_933_000_000)));
            assert_eq!((row.own.snapshot, row.own.artifact_count), (Some(true), Some(0)));
        }
    }

    #[test]
    fn artifacts_that_a_list_leaves_out_are_not_counted_as_none() {
        let tasks = json!({"tasks": [{"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}]});
        assert_eq!(seen(&tasks, false).0.task_events[0].own.artifact_count, None);
        assert_eq!(seen(&tasks, true).0.task_events[0].own.artifact_count, Some(0));
    }

    #[test]
    fn generation_is_read_as_number_and_as_text() {
        for generation in [json!(7), json!("7")] {
            let task = json!({"id": "t", "contextId": "c", "generation": generation, "status": {"state": "TASK_STATE_WORKING"}});
            assert_eq!(seen(&task, true).0.task_events[0].own.generation, Some(7));
        }
    }

    #[test]
    fn a_whole_task_names_the_skill_that_its_first_message_asked_for() {
        let patterns = Patterns::embedded();
        let user = |skill: &str| json!({"role": "ROLE_USER", "metadata": {"skillId": skill}, "parts": []});
        let agent = json!({"role": "ROLE_AGENT", "metadata": {"skillId": "agents-own"}, "parts": []});
        for (history, asked, expected) in [
            (json!([agent, user("first"), user("second")]), "", "first"),
            (json!([user("first")]), "named", "named"),
            (json!([agent]), "", ""),
            (json!("none"), "", ""),
        ] {
            let task = json!({"task": {"id": "t", "history": history, "status": {"state": "TASK_STATE_SUBMITTED"}}});
            let sighting = Sighting {
                common: Common::default(),
                origin: "push",
                operation: "",
                skill_id: asked,
                server_address: "",
                ordinal: None,
                lists_artifacts: true,
                patterns: &patterns,
            };
            let mut facts = Facts::default();
            rows(payload::read(&task, false).payload, &sighting, &mut facts);
            assert_eq!(facts.task_events[0].own.skill_id, expected, "{task}");
        }
    }

    #[test]
    fn a_free_form_status_word_is_a_state() {
        let (facts, _) = seen(
            &json!({"eventType": "done", "taskId": "t", "status": "completed", "timestamp": "2026-11-30T06:15:31Z"}),
            true,
        );
        let row = &facts.task_events[0].own;
        assert_eq!((row.state.as_str(), row.snapshot, row.status_at.is_some()), ("completed", Some(false), true));
    }

    #[test]
    fn an_artifact_without_parts_is_one_row() {
        let task = json!({"id": "t", "contextId": "c", "status": {"state": "completed"}, "artifacts": [{"artifactId": "a", "parts": []}, {"index": 3, "parts": [{"type": "text", "text": "x"}]}]});
        let (facts, _) = seen(&task, true);
        let rows: Vec<_> =
            facts.artifact_parts.iter().map(|row| (row.own.artifact_id.as_str(), row.own.part_index)).collect();
        assert_eq!(rows, [("a", None), ("3", Some(0))]);
        assert_eq!(facts.task_events[0].own.artifact_count, Some(2));
    }
}
