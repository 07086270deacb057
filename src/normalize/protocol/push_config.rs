//! Webhook registrations of all dialects.
//!
//! In: the parameters of a call or a registration as answered. Out: url, schemes, id and whether there is a token. Never
//! the token or the credentials.

use serde_json::Value;

use crate::normalize::hook_url::hook_url;
use crate::normalize::{credential, json, place};

/// What is kept of a webhook registration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PushConfig {
    /// Webhook url without query.
    pub(crate) url: String,
    /// Authentication schemes in the order given, lower case.
    pub(crate) schemes: Vec<String>,
    /// Whether a notification token is set.
    pub(crate) token: bool,
    /// Id of the registration; empty when not given.
    pub(crate) id: String,
}

/// Members that hold a registration beside a message: 1.0, 0.3, 0.3 over HTTP+JSON and 0.1.
const INLINE: [&str; 3] = ["taskPushNotificationConfig", "pushNotificationConfig", "pushNotification"];

impl PushConfig {
    /// The registration that comes with a message.
    pub(crate) fn beside_message(params: &Value) -> Option<Self> {
        let in_configuration = params.get("configuration").and_then(|found| json::object(found, &INLINE));
        Self::read(in_configuration.or_else(|| json::object(params, &INLINE))?)
    }

    /// A registration as the parameters of a call or as an answer: flat (1.0), in `pushNotificationConfig` (0.x), and
    /// with that in `config` (0.3 over HTTP+JSON).
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let outer = json::object(value, &["config"]).unwrap_or(value);
        let nested = json::object(outer, &["pushNotificationConfig", "push_notification_config"]);
        let config = nested.unwrap_or(outer);
        let url = hook_url(&place::bare_url(json::text(config, &["url"])));
        if url.is_empty() {
            return None;
        }
        let named = config_id_of_name(json::text(outer, &["name"]));
        let id = match json::text(config, &["id"]) {
            "" => named,
            id => id.to_owned(),
        };
        Some(Self { url, schemes: schemes(config), token: !json::text(config, &["token"]).is_empty(), id })
    }
}

/// More than anybody lists; what comes after is of no use to a sender.
const MAX_SCHEMES: usize = 16;

/// 0.x lists them, 1.0 names one.
fn schemes(config: &Value) -> Vec<String> {
    let Some(authentication) = config.get("authentication") else { return Vec::new() };
    let listed = json::list(authentication, &["schemes"]).map(Vec::as_slice).unwrap_or_default();
    let named = listed.iter().filter_map(Value::as_str).chain([json::text(authentication, &["scheme"])]);
    named.filter(|scheme| !scheme.is_empty()).take(MAX_SCHEMES).map(credential::scheme_word).collect()
}

/// The task of a resource name `tasks/T` or `tasks/T/pushNotificationConfigs/C`.
pub(crate) fn task_id_of_name(name: &str) -> String {
    let mut pieces = name.split('/').skip_while(|piece| *piece != "tasks").skip(1);
    pieces.next().unwrap_or_default().to_owned()
}

/// The registration of such a name; SDK 0.3.26 writes `None` for one that has no id yet.
pub(crate) fn config_id_of_name(name: &str) -> String {
    let mut pieces = name.split('/').skip_while(|piece| *piece != "pushNotificationConfigs").skip(1);
    pieces.next().filter(|id| *id != "None").unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(scheme: &str, id: &str) -> Option<PushConfig> {
        let schemes = scheme.split_whitespace().map(str::to_owned).collect();
        Some(PushConfig { url: "http://h/hook".to_owned(), schemes, token: true, id: id.to_owned() })
    }

    #[test]
    fn the_registration_beside_a_message_is_found_in_every_dialect() {
        let url = "http://h/hook?key=secret";
        let old = json!({"url": url, "token": "t", "authentication": {"schemes": ["Bearer"], "credentials": "c"}});
        let new = json!({"url": url, "token": "t", "id": "c1", "authentication": {"scheme": "Bearer"}});
        for (params, id) in [
            (json!({"pushNotification": old}), ""),
            (json!({"configuration": {"pushNotificationConfig": old}}), ""),
            (json!({"configuration": {"pushNotification": old}}), ""),
            (json!({"configuration": {"taskPushNotificationConfig": new}}), "c1"),
        ] {
            assert_eq!(PushConfig::beside_message(&params), config("bearer", id), "{params}");
        }
        assert_eq!(PushConfig::beside_message(&json!({"message": {}})), None);
    }

    #[test]
    fn all_schemes_of_a_registration_are_kept_in_their_order() {
        for (authentication, schemes) in [
            (json!({"schemes": ["Basic", "Bearer"]}), "basic bearer"),
            (json!({"schemes": [], "credentials": "c"}), ""),
            (json!({"schemes": [1, ""]}), ""),
            (json!({"scheme": "JWT"}), "jwt"),
            (json!("Bearer"), ""),
        ] {
            let value = json!({"url": "http://h/hook", "token": "t", "authentication": authentication});
            assert_eq!(PushConfig::read(&value), config(schemes, ""), "{value}");
        }
    }

    #[test]
    fn registrations_are_read_flat_nested_and_by_name() {
        let inner = json!({"url": "http://h/hook", "token": "t"});
        for (value, id) in [
            (json!({"id": "c", "taskId": "t", "url": "http://h/hook", "token": "t"}), "c"),
            (json!({"taskId": "t", "pushNotificationConfig": {"url": "http://h/hook", "token": "t", "id": "c"}}), "c"),
            (json!({"id": "task", "pushNotificationConfig": inner}), ""),
            (json!({"name": "tasks/t/pushNotificationConfigs/c", "pushNotificationConfig": inner}), "c"),
            (
                json!({"parent": "tasks/t", "config": {"name": "tasks/t/pushNotificationConfigs/None", "pushNotificationConfig": inner}}),
                "",
            ),
        ] {
            assert_eq!(PushConfig::read(&value), config("", id), "{value}");
        }
    }

    #[test]
    fn resource_names_give_task_and_registration() {
        assert_eq!(task_id_of_name("tasks/T/pushNotificationConfigs/C"), "T");
        assert_eq!(task_id_of_name("tenants/x/tasks/T"), "T");
        assert_eq!(task_id_of_name("T"), "");
        assert_eq!(config_id_of_name("tasks/T/pushNotificationConfigs/"), "");
    }
}
