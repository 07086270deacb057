//! What a call asks for, in whatever dialect.
//!
//! In: the parameters of a JSON-RPC call or the body of an HTTP+JSON one. Out: ids, modes, skill, webhook registration and
//! a hash of the message. Never message text.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::operation::{Dialect, Operation};
use super::push_config::{self, PushConfig};
use super::skill::Skill;
use crate::normalize::patterns::Patterns;
use crate::normalize::{json, media_type};

/// A request, understood.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) task_id: String,
    pub(crate) context_id: String,
    pub(crate) message_id: String,
    pub(crate) reference_task_ids: Option<Vec<String>>,
    pub(crate) accepted_output_modes: Option<Vec<String>>,
    pub(crate) return_immediately: Option<bool>,
    pub(crate) skill: Skill,
    pub(crate) content_hash: String,
    pub(crate) push: Option<PushConfig>,
    /// Registration that a config call names.
    pub(crate) config_id: String,
    pub(crate) tenant: String,
    /// A list call asked for artifacts.
    pub(crate) wants_artifacts: bool,
}

/// Reads the parameters of a call. The method may be of no dialect; then only what names itself is read.
pub(crate) fn read(
    params: &Value,
    operation: Option<Operation>,
    dialect: Option<Dialect>,
    patterns: &Patterns,
) -> Asked {
    let message = json::object(params, &["message"]).unwrap_or(&Value::Null);
    let configuration = json::object(params, &["configuration"]).unwrap_or(&Value::Null);
    let skill = patterns.skill(params, message);
    let modes =
        json::texts(configuration, &["acceptedOutputModes"]).or_else(|| json::texts(params, &["acceptedOutputModes"]));
    let configures = operation.is_some_and(Operation::configures_push);
    let context = json::text(message, &["contextId", "sessionId"]);
    Asked {
        task_id: task_id(params, message, operation, dialect),
        context_id: if context.is_empty() { json::text(params, &["contextId", "sessionId"]) } else { context }
            .to_owned(),
        message_id: json::text(message, &["messageId"]).to_owned(),
        reference_task_ids: json::texts(message, &["referenceTaskIds"]),
        accepted_output_modes: modes.map(|modes| modes.iter().map(|mode| media_type::canonical(mode)).collect()),
        return_immediately: return_immediately(configuration),
        content_hash: content_hash(params, message, &skill),
        skill,
        push: if configures { PushConfig::read(params) } else { PushConfig::beside_message(params) },
        config_id: if configures { config_id(params, dialect) } else { String::new() },
        tenant: json::text(params, &["tenant"]).to_owned(),
        wants_artifacts: json::flag(params, &["includeArtifacts"]).unwrap_or(false),
    }
}

/// The task that the caller names. 0.1 callers name the task they create, in `params.id`; from 0.2 on a message names the
/// task it goes on with.
fn task_id(params: &Value, message: &Value, operation: Option<Operation>, dialect: Option<Dialect>) -> String {
    let Some(operation) = operation else { return String::new() };
    if operation.sends() {
        let id = if dialect == Some(Dialect::V01) { json::id(params.get("id")) } else { String::new() };
        return if id.is_empty() { json::id(message.get("taskId")) } else { id };
    }
    let named = ["name", "parent"].iter().map(|name| push_config::task_id_of_name(json::text(params, &[name])));
    let by_name = named.into_iter().find(|id| !id.is_empty()).unwrap_or_default();
    // `id` is the registration in 1.0's config calls and the task everywhere else.
    let id_is_config = operation.configures_push() && dialect == Some(Dialect::V10);
    let by_id = if id_is_config { String::new() } else { json::id(params.get("id")) };
    let by_task_id = json::id(params.get("taskId"));
    let order = if operation.configures_push() { [by_task_id, by_name, by_id] } else { [by_id, by_name, by_task_id] };
    order.into_iter().find(|id| !id.is_empty()).unwrap_or_default()
}

fn config_id(params: &Value, dialect: Option<Dialect>) -> String {
    let by_member = json::text(params, &["pushNotificationConfigId"]);
    if !by_member.is_empty() {
        return by_member.to_owned();
    }
    let by_name = push_config::config_id_of_name(json::text(params, &["name"]));
    if !by_name.is_empty() || dialect != Some(Dialect::V10) { by_name } else { json::text(params, &["id"]).to_owned() }
}

fn return_immediately(configuration: &Value) -> Option<bool> {
    json::flag(configuration, &["returnImmediately"])
        .or_else(|| json::flag(configuration, &["blocking"]).map(|blocking| !blocking))
}

/// SHA-256 of what is asked, so that the same message sent again can be recognised without keeping it.
fn content_hash(params: &Value, message: &Value, skill: &Skill) -> String {
    let Some(parts) = json::list(message, &["parts", "content"]) else { return String::new() };
    let mut canonical = String::new();
    let content = json!({
        "parts": parts,
        "metadata": message.get("metadata"),
        "request": params.get("metadata"),
        "skill": skill.id,
    });
    json::write_canonical(&content, &mut canonical);
    hex::encode(Sha256::digest(canonical.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(params: Value, operation: Operation, dialect: Dialect) -> Asked {
        read(&params, Some(operation), Some(dialect), &Patterns::embedded())
    }

    #[test]
    fn the_task_is_found_where_each_dialect_names_it() {
        use Dialect::{V01, V03, V10};
        use Operation::*;
        for (params, operation, dialect) in [
            (json!({"id": "T", "message": {"role": "user"}}), SendMessage, V01),
            (json!({"message": {"taskId": "T"}}), SendMessage, V03),
            (json!({"message": {"taskId": "T"}}), SendStreamingMessage, V10),
            (json!({"id": "T"}), GetTask, V10),
            (json!({"name": "tasks/T"}), CancelTask, V03),
            (json!({"id": "T", "pushNotificationConfigId": "C"}), GetTaskPushNotificationConfig, V03),
            (json!({"taskId": "T", "id": "C"}), GetTaskPushNotificationConfig, V10),
            (json!({"parent": "tasks/T", "config": {}}), CreateTaskPushNotificationConfig, V03),
        ] {
            assert_eq!(asked(params.clone(), operation, dialect).task_id, "T", "{params}");
        }
        // From 0.2 on `params.id` of a send is no task.
        assert_eq!(asked(json!({"id": "x", "message": {}}), SendMessage, V10).task_id, "");
    }

    #[test]
    fn blocking_and_return_immediately_are_one_question() {
        for (configuration, expected) in [
            (json!({"blocking": false}), Some(true)),
            (json!({"blocking": true}), Some(false)),
            (json!({"returnImmediately": true}), Some(true)),
            (json!({}), None),
        ] {
            let params = json!({"message": {}, "configuration": configuration});
            assert_eq!(asked(params, Operation::SendMessage, Dialect::V10).return_immediately, expected);
        }
    }

    #[test]
    fn the_content_hash_ignores_ids_and_sees_words_and_skill() {
        let hash = |params: Value| asked(params, Operation::SendMessage, Dialect::V10).content_hash;
        let one = hash(json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "a"}]}}));
        let again =
            hash(json!({"message": {"messageId": "2", "taskId": "t", "parts": [{"text": "a"}], "metadata": {}}}));
        let other = hash(json!({"message": {"messageId": "1", "parts": [{"text": "b"}]}}));
        let skill = hash(json!({"skillId": "s", "message": {"messageId": "1", "parts": [{"text": "a"}]}}));
        assert_eq!(one, again);
        assert_ne!(one, other);
        assert_ne!(one, skill);
        assert_eq!(hash(json!({"id": "t"})), "");
    }
}
