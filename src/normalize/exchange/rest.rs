//! Calls over HTTP+JSON.
//!
//! In: an exchange whose path ends as A2A's paths do. Out: the call and its answer. Goes by the end of the path alone: what
//! stands before it (a tenant, a mount point) is the agent's business.

use serde_json::Value;

use super::Seen;
use super::answer::Answer;
use super::call::Call;
use crate::normalize::json;
use crate::normalize::protocol::operation::{Dialect, Operation};
use crate::normalize::protocol::payload::{self, Payload};

/// What the end of a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) operation: Operation,
    pub(crate) task_id: String,
    pub(crate) config_id: String,
    /// Segments of the path that belong to the operation.
    segments: usize,
    /// The segment before them is `v1`, as 0.3 has it.
    v1: bool,
    /// The dialect, where the path alone tells it.
    dialect: Option<Dialect>,
}

/// The route of a path, or none if it is not of A2A. Matches what could be A2A: `GET .../tasks/7` may be anybody's.
pub(crate) fn route(method: &str, segments: &[String]) -> Option<Route> {
    use Operation::*;
    let end =
        |from_end: usize| segments.len().checked_sub(from_end).and_then(|at| segments.get(at)).map(String::as_str);
    let last = end(1)?;
    let plain = |operation, segments| Some((operation, "", "", segments));
    let found = match (method, end(4), end(3), end(2), last) {
        ("POST", .., "message:send") => plain(SendMessage, 1),
        ("POST", .., "message:stream") => plain(SendStreamingMessage, 1),
        ("GET", .., "extendedAgentCard") => plain(GetExtendedAgentCard, 1),
        ("GET", .., Some("v1"), "card") => plain(GetExtendedAgentCard, 1),
        ("GET", .., Some("agent"), "authenticatedExtendedCard") => plain(GetExtendedAgentCard, 2),
        ("POST", _, Some("tasks"), Some(task), "pushNotificationConfigs") => {
            Some((CreateTaskPushNotificationConfig, task, "", 3))
        }
        ("GET", _, Some("tasks"), Some(task), "pushNotificationConfigs") => {
            Some((ListTaskPushNotificationConfigs, task, "", 3))
        }
        ("GET", Some("tasks"), Some(task), Some("pushNotificationConfigs"), config) => {
            Some((GetTaskPushNotificationConfig, task, config, 4))
        }
        ("DELETE", Some("tasks"), Some(task), Some("pushNotificationConfigs"), config) => {
            Some((DeleteTaskPushNotificationConfig, task, config, 4))
        }
        ("GET", .., "tasks") => plain(ListTasks, 1),
        (.., Some("tasks"), last) => task_route(method, last),
        _ => None,
    };
    let (operation, task_id, config_id, count) = found?;
    let v1 = end(count + 1) == Some("v1");
    let dialect = match last {
        "authenticatedExtendedCard" | "card" => Some(Dialect::V03),
        "extendedAgentCard" => Some(Dialect::V10),
        _ => None,
    };
    Some(Route {
        operation,
        task_id: task_id.to_owned(),
        config_id: config_id.to_owned(),
        segments: count,
        v1,
        dialect,
    })
}

fn task_route<'a>(method: &str, last: &'a str) -> Option<(Operation, &'a str, &'a str, usize)> {
    let (task, verb) = last.rsplit_once(':').unwrap_or((last, ""));
    match (method, verb) {
        ("POST", "cancel") => Some((Operation::CancelTask, task, "", 2)),
        ("GET" | "POST", "subscribe" | "resubscribe") => Some((Operation::SubscribeToTask, task, "", 2)),
        ("GET", _) => Some((Operation::GetTask, last, "", 2)),
        _ => None,
    }
}

/// The call of an exchange on a route, with its answer.
pub(crate) fn call<'a>(seen: &'a Seen<'_>, route: Route) -> (Call<'a>, Answer<'a>) {
    let dialect = dialect(seen, &route);
    let own = route.segments + usize::from(route.v1 && dialect == Dialect::V03);
    let message = json::object(&seen.request, &["message"]);
    let certain = seen.is_marked_a2a()
        || ["/extendedAgentCard", "/agent/authenticatedExtendedCard"].iter().any(|end| seen.place.path.ends_with(end))
        || message.is_some_and(|message| json::list(message, &["parts", "content"]).is_some())
        || json::text(&seen.request, &["name", "parent"]).starts_with("tasks/");
    let call = Call {
        binding: "http+json",
        operation: Some(route.operation),
        operation_raw: format!("{} {}", seen.exchange.method, seen.place.path),
        method: "",
        dialect: Some(dialect),
        rpc_id: String::new(),
        params: &seen.request,
        task_id: route.task_id,
        config_id: route.config_id,
        agent_url: seen.place.base(own),
        certain,
    };
    let answer = Answer::of(seen, Some(dialect));
    (call, answer)
}

/// The vocabulary. A base path may end in `/v1` as 0.3's paths begin, so what the bodies and the version header tell goes
/// before the path.
fn dialect(seen: &Seen<'_>, route: &Route) -> Dialect {
    let message = json::object(&seen.request, &["message"]).unwrap_or(&Value::Null);
    let by_request = match message {
        message if message.get("content").is_some() => Some(Dialect::V03),
        message if message.get("parts").is_some() => Some(Dialect::V10),
        _ if json::text(&seen.request, &["name", "parent"]).starts_with("tasks/") => Some(Dialect::V03),
        _ => None,
    };
    route
        .dialect
        .or(by_request)
        .or_else(|| seen.declared_version().starts_with('1').then_some(Dialect::V10))
        .or_else(|| by_answer(seen))
        .unwrap_or(if route.v1 { Dialect::V03 } else { Dialect::V10 })
}

/// 0.3 writes `content` in messages and another spelling of one state; 1.0 has its own form of errors.
fn by_answer(seen: &Seen<'_>) -> Option<Dialect> {
    let first = seen.events.as_ref().and_then(|events| events.first()).map_or(&seen.response, |event| &event.value);
    if json::object(first, &["error"]).is_some_and(|error| error.get("details").is_some()) {
        return Some(Dialect::V10);
    }
    let (Payload::Task(task) | Payload::Status(task)) = payload::read(first, seen.events.is_some()).payload else {
        return None;
    };
    let status = task.get("status").unwrap_or(&Value::Null);
    if json::text(status, &["state"]) == "TASK_STATE_CANCELLED" {
        return Some(Dialect::V03);
    }
    let of_history = json::list(task, &["history"]).and_then(|history| history.first());
    let message = json::object(status, &["message"]).or(of_history)?;
    if message.get("content").is_some() {
        Some(Dialect::V03)
    } else {
        message.get("parts").is_some().then_some(Dialect::V10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(method: &str, path: &str) -> Option<(Operation, String, String, usize, bool)> {
        let segments: Vec<String> = path.split('/').filter(|s| !s.is_empty()).map(str::to_owned).collect();
        route(method, &segments).map(|r| (r.operation, r.task_id, r.config_id, r.segments, r.v1))
    }

    #[test]
    fn paths_are_matched_by_their_end() {
        use Operation::*;
        for (method, path, operation, task, config, segments, v1) in [
            ("POST", "/rest/message:send", SendMessage, "", "", 1, false),
            ("POST", "/rest/v1/message:stream", SendStreamingMessage, "", "", 1, true),
            ("GET", "/tenant-7/tasks/T", GetTask, "T", "", 2, false),
            ("GET", "/v1/tasks", ListTasks, "", "", 1, true),
            ("POST", "/v1/tasks/T:cancel", CancelTask, "T", "", 2, true),
            ("GET", "/tasks/T:subscribe", SubscribeToTask, "T", "", 2, false),
            ("POST", "/tasks/T:subscribe", SubscribeToTask, "T", "", 2, false),
            ("POST", "/tasks/T/pushNotificationConfigs", CreateTaskPushNotificationConfig, "T", "", 3, false),
            ("GET", "/tasks/T/pushNotificationConfigs", ListTaskPushNotificationConfigs, "T", "", 3, false),
            ("GET", "/v1/tasks/T/pushNotificationConfigs/C", GetTaskPushNotificationConfig, "T", "C", 4, true),
            ("DELETE", "/tasks/T/pushNotificationConfigs/C", DeleteTaskPushNotificationConfig, "T", "C", 4, false),
            ("GET", "/rest/extendedAgentCard", GetExtendedAgentCard, "", "", 1, false),
            ("GET", "/v1/card", GetExtendedAgentCard, "", "", 1, true),
            ("GET", "/agent/authenticatedExtendedCard", GetExtendedAgentCard, "", "", 2, false),
        ] {
            let expected = Some((operation, task.to_owned(), config.to_owned(), segments, v1));
            assert_eq!(routed(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn other_paths_are_not_of_a2a() {
        for (method, path) in [
            ("GET", "/"),
            ("GET", "/favicon.ico"),
            ("GET", "/message:send"),
            ("POST", "/tasks/T"),
            ("GET", "/rest/nope"),
            ("GET", "/card"),
        ] {
            assert_eq!(routed(method, path), None, "{method} {path}");
        }
    }
}
