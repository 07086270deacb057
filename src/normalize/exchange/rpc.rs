//! Calls over JSON-RPC.
//!
//! In: an exchange whose request, or at least its response, is JSON-RPC. Out: the calls in it, each with its answer: one, or
//! several for a batch. Tells A2A from other users of JSON-RPC, of which MCP has the most alike method names.

use serde_json::Value;

use super::Seen;
use super::answer::{self, Answer};
use super::call::Call;
use crate::normalize::credential;
use crate::normalize::json;
use crate::normalize::protocol::operation::{self, Dialect, Operation};

/// The calls of an exchange; none if it is no JSON-RPC or that of another protocol.
pub(crate) fn calls<'a>(seen: &'a Seen<'_>) -> Vec<(Call<'a>, Answer<'a>)> {
    let headers = &seen.exchange.request_headers;
    if headers.get("mcp-session-id").is_some() || headers.get("mcp-protocol-version").is_some() {
        return Vec::new();
    }
    match &seen.request {
        Value::Array(items) => items.iter().filter_map(|item| one_of_batch(seen, item)).collect(),
        request if is_request(request) => {
            let Some(call) = read(seen, request) else { return Vec::new() };
            let answer = Answer::of(seen, call.dialect);
            vec![(call, answer)]
        }
        Value::Null if answer::is_rpc_response(&seen.response) => vec![unreadable(seen)],
        _ => Vec::new(),
    }
}

/// Whether a value is a request of JSON-RPC. Some home-made callers leave out `jsonrpc`.
pub(crate) fn is_request(value: &Value) -> bool {
    let method = json::text(value, &["method"]);
    !method.is_empty() && (value.get("jsonrpc").is_some() || operation::by_rpc_method(method).is_some())
}

fn one_of_batch<'a>(seen: &'a Seen<'_>, request: &'a Value) -> Option<(Call<'a>, Answer<'a>)> {
    if !is_request(request) {
        return None;
    }
    let call = read(seen, request)?;
    let answer = match &seen.response {
        Value::Array(responses) => {
            let own = responses.iter().find(|response| json::id(response.get("id")) == call.rpc_id);
            match own.and_then(|response| answer::inside(response, call.dialect)) {
                Some(Ok(result)) => Answer::Result(result),
                Some(Err(error)) => Answer::Error(error),
                None => Answer::Unread,
            }
        }
        _ => Answer::of(seen, call.dialect),
    };
    Some((call, answer))
}

fn read<'a>(seen: &Seen<'_>, request: &'a Value) -> Option<Call<'a>> {
    let method = json::text(request, &["method"]);
    let params = request.get("params").unwrap_or(&Value::Null);
    let found = operation::by_rpc_method(method);
    if is_of_mcp(method) {
        return None;
    }
    let certain = match found {
        _ if seen.is_marked_a2a() => true,
        Some((operation, dialect)) if is_shared_name(operation, dialect) => {
            // MCP's tasks go by `taskId`.
            if params.get("taskId").is_some() && params.get("id").is_none() {
                return None;
            }
            params.get("id").is_some()
        }
        Some(_) => true,
        None => false,
    };
    Some(Call {
        binding: "jsonrpc",
        operation: found.map(|(operation, _)| operation),
        operation_raw: credential::one_word(method),
        method,
        dialect: found.and_then(|(_, dialect)| dialect),
        rpc_id: json::id(request.get("id")),
        params,
        task_id: String::new(),
        config_id: String::new(),
        agent_url: seen.place.url.clone(),
        certain,
    })
}

/// Method names that only MCP has, for logs that hold both protocols without their headers.
fn is_of_mcp(method: &str) -> bool {
    let area = method.split('/').next().unwrap_or_default();
    let areas =
        ["tools", "resources", "prompts", "notifications", "completion", "logging", "sampling", "roots", "elicitation"];
    areas.contains(&area) || matches!(method, "initialize" | "ping" | "tasks/result")
}

/// Method names that MCP has, too: `tasks/get`, `tasks/list`, `tasks/cancel`.
fn is_shared_name(operation: Operation, dialect: Option<Dialect>) -> bool {
    matches!(operation, Operation::GetTask | Operation::CancelTask | Operation::ListTasks)
        && dialect != Some(Dialect::V10)
}

/// A request that cannot be read, answered by JSON-RPC. Of a request that the recorder cut, the method is at its start.
fn unreadable<'a>(seen: &'a Seen<'_>) -> (Call<'a>, Answer<'a>) {
    let text = seen.exchange.request_body.as_text().unwrap_or_default();
    let method = if seen.exchange.truncated { method_in(text) } else { "" };
    let found = operation::by_rpc_method(method);
    let dialect = found.and_then(|(_, dialect)| dialect);
    let call = Call {
        binding: "jsonrpc",
        operation: found.map(|(operation, _)| operation),
        operation_raw: method.to_owned(),
        method,
        dialect,
        rpc_id: json::id(seen.response.get("id")),
        params: &Value::Null,
        task_id: String::new(),
        config_id: String::new(),
        agent_url: seen.place.url.clone(),
        certain: found.is_some() || seen.is_marked_a2a(),
    };
    (call, Answer::of(seen, dialect))
}

/// The method in a JSON-RPC request that ends too early.
fn method_in(text: &str) -> &str {
    let value = text.split_once("\"method\"").map(|(_, rest)| rest.trim_start()).unwrap_or_default();
    let quoted = value.strip_prefix(':').map(str::trim_start).and_then(|rest| rest.strip_prefix('"'));
    quoted.and_then(|rest| rest.split_once('"')).map(|(method, _)| method).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_method_of_a_cut_request_is_found() {
        assert_eq!(method_in(r#"{"jsonrpc":"2.0","method" : "SendMessage","params":{"mess"#), "SendMessage");
        assert_eq!(method_in(r#"{"jsonrpc":"2.0","method":"Send"#), "");
        assert_eq!(method_in("{nope"), "");
    }
}
