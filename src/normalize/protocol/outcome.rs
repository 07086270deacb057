//! How a call ended, as one of nine words.
//!
//! In: an error, its class, the HTTP status and the method asked for. Out: the word of the `outcome` column. A failed task
//! is no failed call: its state is told in `task_events`.

use super::error::{Refused, WireError};
use super::operation::{self, Operation};

/// What a refusal is judged by.
pub(crate) struct Refusal<'a> {
    pub(crate) error: &'a WireError,
    /// Class of its text.
    pub(crate) class: &'a str,
    pub(crate) http_status: Option<u16>,
    /// JSON-RPC method as on the wire; empty for other bindings.
    pub(crate) method: &'a str,
    /// What was asked for, if it is of A2A.
    pub(crate) operation: Option<Operation>,
    /// The error came as JSON.
    pub(crate) readable: bool,
}

impl Refusal<'_> {
    /// The word for this refusal: by its reason, then by status, by what was refused, by its words, by its code.
    pub(crate) fn outcome(&self) -> &'static str {
        self.by_reason()
            .or_else(|| self.by_status_of_caller())
            .or_else(|| self.by_vocabulary())
            .or_else(|| self.by_class())
            .or_else(|| self.by_code())
            .unwrap_or_else(|| self.by_status())
    }

    fn by_reason(&self) -> Option<&'static str> {
        Some(match self.error.reason.as_str() {
            "TASK_NOT_FOUND" => "not-found",
            "TASK_NOT_CANCELABLE" | "INVALID_TASK_STATE" | "ABORTED" => "invalid",
            "EXTENDED_AGENT_CARD_NOT_CONFIGURED" | "EXTENSION_SUPPORT_REQUIRED" => "invalid",
            "UNSUPPORTED_OPERATION" if self.class == "terminal-task" => "invalid",
            "UNSUPPORTED_OPERATION" | "PUSH_NOTIFICATION_NOT_SUPPORTED" => "capability",
            "CONTENT_TYPE_NOT_SUPPORTED" | "STREAMING_NOT_SUPPORTED" => "capability",
            "VERSION_NOT_SUPPORTED" => "version",
            "AUTHENTICATION_REQUIRED" | "AUTHORIZATION_FAILED" => "auth",
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => "auth",
            "RATE_LIMIT_EXCEEDED" | "RESOURCE_EXHAUSTED" => "rate-limited",
            "INVALID_AGENT_RESPONSE" | "RESOURCE_UNAVAILABLE" => "agent-error",
            "UNAVAILABLE" | "DEADLINE_EXCEEDED" | "CANCELLED" => "transport",
            // gRPC's word for a service or method of another vocabulary.
            "UNIMPLEMENTED" if !self.readable => "version",
            _ => return None,
        })
    }

    /// Statuses that say what happened whatever the body says.
    fn by_status_of_caller(&self) -> Option<&'static str> {
        match self.http_status {
            Some(401 | 403) => Some("auth"),
            Some(429) => Some("rate-limited"),
            _ => None,
        }
    }

    /// A method of A2A that this server does not know, or a word spelled as another dialect spells it. A server that
    /// names other methods of the same dialect speaks it, and lacks only this one.
    fn by_vocabulary(&self) -> Option<&'static str> {
        match &self.error.refused {
            Refused::Nothing => None,
            Refused::Spelling => Some("version"),
            Refused::Method(_) if self.operation.is_none() => Some("invalid"),
            Refused::Method(instead) => {
                let asked = operation::by_rpc_method(self.method).and_then(|(_, dialect)| dialect);
                let spoken = |name: &String| operation::by_rpc_method(name).and_then(|(_, dialect)| dialect);
                let same = asked.is_some() && instead.iter().any(|name| spoken(name) == asked);
                Some(if same { "invalid" } else { "version" })
            }
        }
    }

    fn by_class(&self) -> Option<&'static str> {
        match self.class {
            "unknown-skill" | "unsupported-mode" => Some("capability"),
            "auth" | "policy-changed" => Some("auth"),
            "not-found" => Some("not-found"),
            "terminal-task" => Some("invalid"),
            _ => None,
        }
    }

    fn by_code(&self) -> Option<&'static str> {
        match self.error.code? {
            -32700 | -32600 | -32601 | -32602 => Some("invalid"),
            _ => Some("agent-error"),
        }
    }

    /// A refusal that does not speak A2A: by a gateway, or by a server that has nothing at this path.
    fn by_status(&self) -> &'static str {
        let reads_task = self.operation.is_some_and(|operation| !operation.sends());
        match self.http_status {
            Some(408 | 499) => "transport",
            Some(404 | 410) if reads_task || self.readable => "not-found",
            Some(404 | 405 | 410) => "transport",
            Some(415 | 501) => "capability",
            Some(502..=504) => "transport",
            Some(500..) => "agent-error",
            Some(400..) => "invalid",
            Some(300..=399) => "transport",
            _ => match self.error.reason.as_str() {
                "INTERNAL" | "UNKNOWN" | "DATA_LOSS" => "agent-error",
                "NOT_FOUND" => "not-found",
                "UNIMPLEMENTED" => "capability",
                "" => "agent-error",
                _ => "invalid",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::normalize::patterns::Patterns;
    use crate::normalize::protocol::operation::Dialect;

    fn rpc(method: &str, error: Value) -> &'static str {
        let found = operation::by_rpc_method(method);
        let error = WireError::of_rpc(&error, found.and_then(|(_, dialect)| dialect));
        let patterns = Patterns::embedded();
        let class = patterns.class(&error.text);
        let operation = found.map(|(operation, _)| operation);
        Refusal { error: &error, class, http_status: Some(200), method, operation, readable: true }.outcome()
    }

    fn http(status: u16, body: Value, plain: &str, dialect: Dialect, operation: Operation) -> &'static str {
        let error = WireError::of_http(Some(status), &body, plain, Some(dialect));
        let patterns = Patterns::embedded();
        let class = patterns.class(&error.text);
        let readable = body.is_object();
        Refusal { error: &error, class, http_status: Some(status), method: "", operation: Some(operation), readable }
            .outcome()
    }

    #[test]
    fn json_rpc_errors_are_classed_by_dialect_and_words() {
        for (method, code, text, expected) in [
            ("GetTask", -32001, "Task not found", "not-found"),
            ("CancelTask", -32002, "Task cannot be canceled", "invalid"),
            ("SendMessage", -32003, "Push Notification is not supported", "capability"),
            ("SendMessage", -32004, "Task x is in terminal state: TASK_STATE_COMPLETED", "invalid"),
            ("SubscribeToTask", -32004, "This operation is not supported", "capability"),
            ("SendMessage", -32005, "Incompatible content types", "capability"),
            ("tasks/send", -32007, "x", "auth"),
            ("SendMessage", -32009, "x", "version"),
            ("tasks/send", -32009, "x", "invalid"),
            ("tasks/send", -32010, "slow down", "rate-limited"),
            ("message/send", -32602, "Task x is in terminal state: completed", "invalid"),
            ("message/send", -32602, "unknown skill: s", "capability"),
            ("message/send", -32602, "Validation failed", "invalid"),
            ("message/send", -32603, "model backend unavailable", "agent-error"),
            ("message/send", -32603, "Permission denied", "auth"),
            ("message/send", -32700, "Expecting property name", "invalid"),
            ("tasks/frobnicate", -32601, "Method not found", "invalid"),
            ("tasks/send", -32601, "Method not found", "version"),
            ("SendMessage", -32601, "Method not found", "version"),
            ("message/send", -32099, "x", "agent-error"),
        ] {
            assert_eq!(rpc(method, json!({"code": code, "message": text})), expected, "{method} {code} {text}");
        }
    }

    #[test]
    fn a_server_that_names_methods_of_the_same_dialect_speaks_it() {
        let dump = json!([{"loc": ["SendMessageRequest", "method"], "ctx": {"expected": "'message/send'"}}]);
        let refused = json!({"code": -32600, "message": "Request payload validation error", "data": dump});
        assert_eq!(rpc("SendMessage", refused.clone()), "version");
        assert_eq!(rpc("tasks/send", refused.clone()), "version");
        assert_eq!(rpc("agent/getAuthenticatedExtendedCard", refused.clone()), "invalid");
        assert_eq!(rpc("tasks/frobnicate", refused), "invalid");
    }

    #[test]
    fn http_errors_are_classed_by_reason_words_and_status() {
        use Operation::{GetTask, SendMessage};
        for (status, body, plain, dialect, operation, expected) in [
            (404, json!({"message": "Task not found"}), "", Dialect::V03, GetTask, "not-found"),
            (409, json!({"message": "Task cannot be canceled"}), "", Dialect::V03, GetTask, "invalid"),
            (
                422,
                json!({"message": "Task x is in terminal state: completed"}),
                "",
                Dialect::V03,
                SendMessage,
                "invalid",
            ),
            (422, json!({"message": "unknown skill"}), "", Dialect::V03, SendMessage, "capability"),
            (415, json!({"message": "x"}), "", Dialect::V03, SendMessage, "capability"),
            (501, json!({"message": "x"}), "", Dialect::V03, SendMessage, "capability"),
            (502, json!({"message": "x"}), "", Dialect::V03, SendMessage, "agent-error"),
            (500, json!({"message": "unknown exception"}), "", Dialect::V03, SendMessage, "agent-error"),
            (502, Value::Null, "Bad Gateway", Dialect::V10, SendMessage, "transport"),
            (503, Value::Null, "", Dialect::V10, SendMessage, "transport"),
            (401, json!({"error": "x"}), "", Dialect::V10, SendMessage, "auth"),
            (429, Value::Null, "", Dialect::V10, SendMessage, "rate-limited"),
            (404, Value::Null, "Not Found", Dialect::V10, SendMessage, "transport"),
            (404, Value::Null, "", Dialect::V10, GetTask, "not-found"),
            (
                400,
                json!({"error": {"message": "invalid value ROLE_USER for enum"}}),
                "",
                Dialect::V03,
                SendMessage,
                "version",
            ),
        ] {
            assert_eq!(http(status, body.clone(), plain, dialect, operation), expected, "{status} {body} {plain}");
        }
    }
}
