//! Errors of all bindings and dialects.
//!
//! In: a JSON-RPC error, the body of a refused HTTP+JSON call, a gRPC status. Out: code, canonical reason, and the text to
//! classify. The text is dropped with the value.

use serde_json::Value;

use super::operation::Dialect;
use crate::normalize::json;

/// An error as on the wire.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WireError {
    /// JSON-RPC code.
    pub(crate) code: Option<i64>,
    /// `TASK_NOT_FOUND` and the like; empty when nothing tells it.
    pub(crate) reason: String,
    /// Only to be classified.
    pub(crate) text: String,
    /// It names a reason of A2A, so it is not of any other JSON-RPC or HTTP server. A code or status proves nothing:
    /// others use the same numbers.
    pub(crate) is_a2a: bool,
    /// What in the request the server does not know.
    pub(crate) refused: Refused,
}

/// What a server says it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Refused {
    /// Nothing of the vocabulary.
    #[default]
    Nothing,
    /// The method; with the methods it named instead, if it did.
    Method(Vec<String>),
    /// The spelling of a role or state, which differs by dialect.
    Spelling,
}

/// Reasons of A2A 1.0, with the codes that mean the same in every dialect.
const A2A_REASONS: [(&str, Option<i64>); 9] = [
    ("TASK_NOT_FOUND", Some(-32001)),
    ("TASK_NOT_CANCELABLE", Some(-32002)),
    ("PUSH_NOTIFICATION_NOT_SUPPORTED", Some(-32003)),
    ("UNSUPPORTED_OPERATION", Some(-32004)),
    ("CONTENT_TYPE_NOT_SUPPORTED", Some(-32005)),
    ("INVALID_AGENT_RESPONSE", None),
    ("EXTENDED_AGENT_CARD_NOT_CONFIGURED", None),
    ("EXTENSION_SUPPORT_REQUIRED", None),
    ("VERSION_NOT_SUPPORTED", None),
];

/// The canonical reason of a JSON-RPC code. -32006 to -32011 mean one thing in 0.1 and another later; a code that the
/// request's dialect does not have was answered by a 1.0 server.
fn reason_of_code(code: i64, dialect: Option<Dialect>) -> &'static str {
    if let Some((reason, _)) = A2A_REASONS.iter().find(|(_, same)| *same == Some(code)) {
        return reason;
    }
    match (code, dialect) {
        (-32700, _) => "PARSE_ERROR",
        (-32600, _) => "INVALID_REQUEST",
        (-32601, _) => "METHOD_NOT_FOUND",
        (-32602, _) => "INVALID_PARAMS",
        (-32603, _) => "INTERNAL_ERROR",
        (-32010, _) => "RATE_LIMIT_EXCEEDED",
        (-32011, _) => "RESOURCE_UNAVAILABLE",
        (-32006, Some(Dialect::V01)) => "STREAMING_NOT_SUPPORTED",
        (-32007, Some(Dialect::V01)) => "AUTHENTICATION_REQUIRED",
        (-32008, Some(Dialect::V01)) => "AUTHORIZATION_FAILED",
        (-32009, Some(Dialect::V01)) => "INVALID_TASK_STATE",
        (-32006, Some(_)) => "INVALID_AGENT_RESPONSE",
        (-32007, Some(_)) => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        (-32008, Some(_)) => "EXTENSION_SUPPORT_REQUIRED",
        (-32009, Some(_)) => "VERSION_NOT_SUPPORTED",
        _ => "",
    }
}

impl WireError {
    /// A JSON-RPC error object.
    pub(crate) fn of_rpc(error: &Value, dialect: Option<Dialect>) -> Self {
        let code = json::integer(error.get("code"));
        let data = error.get("data").or_else(|| error.get("details")).unwrap_or(&Value::Null);
        let stated = stated_reason(data);
        let text = [json::text(error, &["message"]), text_of(data)].join(" ").trim().to_owned();
        let is_a2a = is_a2a_reason(&stated) || is_a2a_domain(data);
        let reason = match stated.as_str() {
            "" => code.map_or("", |code| reason_of_code(code, dialect)).to_owned(),
            _ => stated,
        };
        let refused = refused(code, &reason, data, &text);
        Self { code, reason, text, is_a2a, refused }
    }

    /// The body of a refused HTTP call: `{"error": {..}}` of 1.0, problem details, `{"message": ..}` of SDK 0.3.26, or any
    /// other.
    pub(crate) fn of_http(status: Option<u16>, body: &Value, plain: &str, dialect: Option<Dialect>) -> Self {
        let error = json::object(body, &["error"]);
        let code = error.and_then(|error| json::integer(error.get("code")));
        if let (Some(error), Some(..=-32000)) = (error, code) {
            return Self::of_rpc(error, dialect);
        }
        let object = error.unwrap_or(body);
        let details = object.get("details").or_else(|| object.get("data")).unwrap_or(&Value::Null);
        let words = ["message", "title", "detail", "error", "error_description", "reason"];
        let text = words.iter().map(|name| json::text(object, &[name])).collect::<Vec<_>>().join(" ").trim().to_owned();
        let text = if text.is_empty() { plain.to_owned() } else { text };
        let mut reason = stated_reason(details);
        if reason.is_empty() {
            reason = reason_of_problem_type(json::text(body, &["type"]));
        }
        let is_a2a = is_a2a_reason(&reason) || is_a2a_domain(details);
        if reason.is_empty() {
            reason = upper_snake(json::text(object, &["status"])).to_owned();
        }
        let only_message =
            body.as_object().is_some_and(|members| members.len() == 1 && members.contains_key("message"));
        if reason.is_empty() && only_message && dialect == Some(Dialect::V03) {
            reason = reason_of_old_status(status).to_owned();
        }
        let refused = refused(None, &reason, details, &text);
        Self { code: None, reason, text, is_a2a, refused }
    }

    /// A gRPC status; details are the bytes of `grpc-status-details-bin`, in which an ErrorInfo shows as plain text.
    pub(crate) fn of_grpc(status: i64, message: &str, details: &[u8]) -> Self {
        let inside = String::from_utf8_lossy(details);
        let known = A2A_REASONS.iter().find(|(reason, _)| inside.contains(reason)).map(|(reason, _)| *reason);
        let reason = known.unwrap_or_else(|| name_of_grpc_status(status)).to_owned();
        Self { code: None, reason, text: message.to_owned(), is_a2a: known.is_some(), refused: Refused::Nothing }
    }
}

fn is_a2a_reason(reason: &str) -> bool {
    A2A_REASONS.iter().any(|(name, _)| *name == reason)
}

fn is_a2a_domain(details: &Value) -> bool {
    let of_a2a = |item: &Value| json::text(item, &["domain"]).starts_with("a2a");
    of_a2a(details) || details.as_array().is_some_and(|items| items.iter().any(of_a2a))
}

/// Reason of a google.rpc.ErrorInfo, alone or in a list. Only a constant is taken, never a sentence.
fn stated_reason(details: &Value) -> String {
    let of_item = |item: &Value| upper_snake(json::text(item, &["reason"])).to_owned();
    match details {
        Value::Array(items) => items.iter().map(of_item).find(|reason| !reason.is_empty()).unwrap_or_default(),
        item => of_item(item),
    }
}

/// The text itself if it is a constant such as `TASK_NOT_FOUND`, else nothing.
fn upper_snake(text: &str) -> &str {
    let constant = text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if constant { text } else { "" }
}

/// The last segment of a problem's type, if it is a reason of A2A: `https://a2a-protocol.org/errors/task-not-found`.
fn reason_of_problem_type(problem: &str) -> String {
    let last = problem.rsplit(['/', ':', '#']).next().unwrap_or_default();
    let constant = last.to_ascii_uppercase().replace('-', "_");
    let constant = constant.strip_suffix("_ERROR").unwrap_or(&constant);
    if is_a2a_reason(constant) { constant.to_owned() } else { String::new() }
}

/// SDK 0.3.26 tells its errors over HTTP+JSON by status alone.
fn reason_of_old_status(status: Option<u16>) -> &'static str {
    match status {
        Some(404) => "TASK_NOT_FOUND",
        Some(409) => "TASK_NOT_CANCELABLE",
        Some(415) => "CONTENT_TYPE_NOT_SUPPORTED",
        Some(501) => "UNSUPPORTED_OPERATION",
        Some(502) => "INVALID_AGENT_RESPONSE",
        Some(400) => "INVALID_REQUEST",
        Some(422) => "INVALID_PARAMS",
        Some(500) => "INTERNAL_ERROR",
        _ => "",
    }
}

/// Names of gRPC's statuses, in the order of their numbers.
const GRPC_STATUSES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

fn name_of_grpc_status(status: i64) -> &'static str {
    usize::try_from(status).ok().and_then(|index| GRPC_STATUSES.get(index)).copied().unwrap_or_default()
}

/// The status that a word names, as it is spelled in the specification or in Go (`NotFound`, `Canceled`); empty for any
/// other text, which may be a secret.
pub(crate) fn grpc_status_of_word(word: &str) -> &'static str {
    const LONGEST: usize = 32;
    if word.len() > LONGEST {
        return "";
    }
    let plain = |text: &str| text.replace('_', "").to_ascii_uppercase();
    let word = plain(word);
    let word = if word == "CANCELED" { "CANCELLED" } else { &word };
    GRPC_STATUSES.iter().find(|name| plain(name) == word).copied().unwrap_or_default()
}

/// What a server adds in words outside the message. A validator's dump is left out: it quotes the request.
fn text_of(data: &Value) -> &str {
    match data {
        Value::String(text) => text,
        item => json::text(item, &["detail", "message", "error", "description"]),
    }
}

fn refused(code: Option<i64>, reason: &str, data: &Value, text: &str) -> Refused {
    if code == Some(-32601) || reason == "METHOD_NOT_FOUND" {
        return Refused::Method(Vec::new());
    }
    if !matches!(reason, "INVALID_REQUEST" | "INVALID_PARAMS" | "INVALID_ARGUMENT" | "") {
        return Refused::Nothing;
    }
    if let Some(expected) = methods_of_dump(data) {
        return Refused::Method(expected);
    }
    if spelling_refused(data, text) { Refused::Spelling } else { Refused::Nothing }
}

/// SDK 0.2.16 tries a request against every method it knows and dumps what each one disliked. The method is unknown if
/// all of them disliked the method.
fn methods_of_dump(data: &Value) -> Option<Vec<String>> {
    let (mut tried, mut disliked, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for item in data.as_array()? {
        let Some(location) = json::list(item, &["loc"]) else { continue };
        let Some(request) = location.first().and_then(Value::as_str) else { continue };
        tried.push(request);
        if location.get(1).and_then(Value::as_str) == Some("method") {
            disliked.push(request);
            let named = item.get("ctx").map(|ctx| json::text(ctx, &["expected"])).unwrap_or_default();
            expected.push(named.trim_matches('\'').to_owned());
        }
    }
    let all = !disliked.is_empty() && tried.iter().all(|request| disliked.contains(request));
    all.then_some(expected)
}

/// Roles and states are lower-case words up to 0.3 and constants in 1.0; a server of one refuses those of the other.
fn spelling_refused(data: &Value, text: &str) -> bool {
    let foreign = |word: &str| ["ROLE_USER", "ROLE_AGENT", "TASK_STATE_"].iter().any(|known| word.contains(known));
    let in_dump = data.as_array().is_some_and(|items| {
        items.iter().any(|item| json::text(item, &["type"]) == "enum" && foreign(json::text(item, &["input"])))
    });
    let lower = text.to_ascii_lowercase();
    let names_enum =
        ["enum", "invalid", "unknown variant", "unexpected", "not a valid"].iter().any(|w| lower.contains(w));
    let old_word = lower.contains("a2a.v1.role") || lower.contains("enum type") && lower.contains("role");
    in_dump || (names_enum && (foreign(text) && !lower.contains("terminal") || old_word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_code_means_another_thing_in_another_dialect() {
        let reason = |code: i64, dialect| WireError::of_rpc(&json!({"code": code, "message": "x"}), dialect).reason;
        assert_eq!(reason(-32007, Some(Dialect::V01)), "AUTHENTICATION_REQUIRED");
        assert_eq!(reason(-32007, Some(Dialect::V10)), "EXTENDED_AGENT_CARD_NOT_CONFIGURED");
        assert_eq!(reason(-32009, Some(Dialect::V01)), "INVALID_TASK_STATE");
        assert_eq!(reason(-32009, Some(Dialect::V10)), "VERSION_NOT_SUPPORTED");
        assert_eq!(reason(-32009, None), "");
        assert_eq!(reason(-32001, None), "TASK_NOT_FOUND");
    }

    #[test]
    fn a_stated_reason_goes_before_the_code() {
        let info = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "VERSION_NOT_SUPPORTED", "domain": "a2a-protocol.org"}]);
        let error = WireError::of_rpc(&json!({"code": -32600, "message": "x", "data": info}), None);
        assert_eq!((error.reason.as_str(), error.is_a2a), ("VERSION_NOT_SUPPORTED", true));
        let prose =
            WireError::of_rpc(&json!({"code": -32602, "message": "x", "data": {"reason": "my secret words"}}), None);
        assert_eq!(prose.reason, "INVALID_PARAMS");
    }

    #[test]
    fn http_errors_are_read_by_type_before_status() {
        let of = |status, body: Value, dialect| WireError::of_http(Some(status), &body, "", Some(dialect));
        let problem =
            json!({"type": "https://a2a-protocol.org/errors/content-type-not-supported", "title": "t", "status": 404});
        assert_eq!(of(404, problem, Dialect::V10).reason, "CONTENT_TYPE_NOT_SUPPORTED");
        let google = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "Task not found", "details": [{"reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"}]}});
        assert_eq!(of(404, google, Dialect::V10).reason, "TASK_NOT_FOUND");
        assert_eq!(of(409, json!({"message": "x"}), Dialect::V03).reason, "TASK_NOT_CANCELABLE");
        assert_eq!(of(409, json!({"message": "x"}), Dialect::V10).reason, "");
        assert_eq!(
            of(500, json!({"error": {"code": 500, "status": "INTERNAL", "message": "x"}}), Dialect::V10).reason,
            "INTERNAL"
        );
        assert_eq!(WireError::of_http(Some(502), &Value::Null, "Bad Gateway", None).text, "Bad Gateway");
    }

    #[test]
    fn a_dump_refuses_the_method_only_if_every_request_did() {
        let dislikes = |request: &str, expected: &str| json!({"type": "literal_error", "loc": [request, "method"], "ctx": {"expected": expected}});
        let missing = json!({"type": "missing", "loc": ["GetTaskRequest", "params", "id"]});
        let unknown = json!([
            dislikes("SendMessageRequest", "'message/send'"),
            dislikes("GetTaskRequest", "'tasks/get'"),
            missing.clone()
        ]);
        let known = json!([dislikes("SendMessageRequest", "'message/send'"), missing]);
        let of = |data: Value| {
            WireError::of_rpc(
                &json!({"code": -32600, "message": "Request payload validation error", "data": data}),
                None,
            )
            .refused
        };
        assert_eq!(of(unknown), Refused::Method(vec!["message/send".to_owned(), "tasks/get".to_owned()]));
        assert_eq!(of(known), Refused::Nothing);
    }

    #[test]
    fn a_refused_spelling_is_recognised() {
        let of = |text: &str| WireError::of_rpc(&json!({"code": -32602, "message": text}), None).refused;
        assert_eq!(of("Invalid enum value user for enum type lf.a2a.v1.Role"), Refused::Spelling);
        assert_eq!(of("unknown variant `ROLE_USER`, expected `user` or `agent`"), Refused::Spelling);
        assert_eq!(of("Task x is in terminal state: TASK_STATE_COMPLETED"), Refused::Nothing);
        assert_eq!(of("Validation failed"), Refused::Nothing);
    }

    #[test]
    fn a_word_is_a_status_of_grpc_or_nothing() {
        for (word, name) in [
            ("UNAVAILABLE", "UNAVAILABLE"),
            ("not_found", "NOT_FOUND"),
            ("DeadlineExceeded", "DEADLINE_EXCEEDED"),
            ("Canceled", "CANCELLED"),
            ("Bearer s3cr3t", ""),
            ("SECRET", ""),
            ("", ""),
        ] {
            assert_eq!(grpc_status_of_word(word), name, "{word}");
        }
    }

    #[test]
    fn grpc_details_show_the_reason() {
        let error = WireError::of_grpc(9, "x", b"\x08\x09\x12..TASK_NOT_CANCELABLE..a2a-protocol.org");
        assert_eq!(error.reason, "TASK_NOT_CANCELABLE");
        assert_eq!(WireError::of_grpc(16, "x", b"").reason, "UNAUTHENTICATED");
        assert_eq!(WireError::of_grpc(99, "x", b"").reason, "");
    }
}
