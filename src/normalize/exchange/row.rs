//! The row that a call has in `exchanges`.
//!
//! In: a call, what it asked for and what the answer told. Out: the columns. Never message or error text.

use super::Seen;
use super::answer::Answer;
use super::call::{Call, Told};
use crate::decode::record::Body;
use crate::normalize::patterns::Patterns;
use crate::normalize::protocol::error::WireError;
use crate::normalize::protocol::operation::{Dialect, Operation};
use crate::normalize::protocol::outcome::Refusal;
use crate::normalize::protocol::request::Asked;
use crate::tables::ExchangeColumns;

/// Columns of the row of a call.
pub(crate) fn columns(
    seen: &Seen<'_>,
    call: &Call<'_>,
    asked: &Asked,
    told: &Told,
    answer: &Answer<'_>,
    patterns: &Patterns,
) -> ExchangeColumns {
    let first = |a: &str, b: &str| if a.is_empty() { b.to_owned() } else { a.to_owned() };
    let request_task_id = first(&asked.task_id, &call.task_id);
    let dialect = call.dialect.or(told.dialect);
    let class = told.error.as_ref().map(|error| class_of(error, patterns)).unwrap_or_default();
    let mut own = ExchangeColumns {
        ended_at: seen.exchange.ended_at,
        operation: call.operation.map(Operation::as_str).unwrap_or_default().to_owned(),
        operation_raw: call.operation_raw.clone(),
        binding: call.binding.to_owned(),
        dialect: dialect.map(Dialect::as_str).unwrap_or_default().to_owned(),
        declared_version: seen.declared_version(),
        rpc_id: call.rpc_id.clone(),
        task_id: first(&told.glimpse.task_id, &request_task_id),
        request_task_id,
        context_id: first(&told.glimpse.context_id, &asked.context_id),
        request_context_id: asked.context_id.clone(),
        message_id: asked.message_id.clone(),
        reference_task_ids: asked.reference_task_ids.clone(),
        skill_id: asked.skill.id.clone(),
        skill_from: asked.skill.from.clone(),
        accepted_output_modes: asked.accepted_output_modes.clone(),
        http_status: seen.exchange.status.map(i64::from),
        error_code: told.error.as_ref().and_then(|error| error.code),
        error_reason: told.error.as_ref().map(|error| error.reason.clone()).unwrap_or_default(),
        outcome: outcome(seen, call, told, answer, class).to_owned(),
        error_text_class: class.to_owned(),
        reply_kind: told.kind.to_owned(),
        reply_state: told.glimpse.state.to_owned(),
        streaming: (*answer != Answer::None).then_some(told.stream_events.is_some()),
        stream_events: told.stream_events,
        stream_end: told.stream_end.to_owned(),
        return_immediately: return_immediately(call, asked),
        client_left: Some(seen.exchange.client_disconnected),
        content_hash: asked.content_hash.clone(),
        server_address: seen.exchange.server.clone(),
        ..ExchangeColumns::default()
    };
    push_columns(&mut own, call, asked, told);
    own
}

/// The registration in the request, else the one answered to a config call. The server gives an id to one that has none.
fn push_columns(own: &mut ExchangeColumns, call: &Call<'_>, asked: &Asked, told: &Told) {
    let named = if asked.config_id.is_empty() { &call.config_id } else { &asked.config_id };
    own.push_config_id.clone_from(named);
    let answered = told.push.as_ref().map(|config| config.id.clone()).unwrap_or_default();
    let Some(config) = asked.push.as_ref().or(told.push.as_ref()) else { return };
    own.push_url.clone_from(&config.url);
    own.push_scheme = config.schemes.first().cloned().unwrap_or_default();
    own.push_schemes = Some(config.schemes.clone());
    own.push_token = Some(config.token);
    let ids = [config.id.clone(), named.clone(), answered];
    own.push_config_id = ids.into_iter().find(|id| !id.is_empty()).unwrap_or_default();
}

/// 0.3's HTTP+JSON leaves out a `blocking` that is false; JSON-RPC callers that leave it out mean nothing by it.
fn return_immediately(call: &Call<'_>, asked: &Asked) -> Option<bool> {
    let omitted = call.binding != "jsonrpc"
        && call.dialect == Some(Dialect::V03)
        && call.operation == Some(Operation::SendMessage)
        && call.params.get("configuration").is_some();
    asked.return_immediately.or(omitted.then_some(true))
}

/// Class of an error's text; a reason of the server's own making may tell what the text does not.
fn class_of<'p>(error: &WireError, patterns: &'p Patterns) -> &'p str {
    match patterns.class(&error.text) {
        "" | "other" if !error.is_a2a && !error.reason.is_empty() => match patterns.class(&error.reason) {
            "other" => patterns.class(&error.text),
            class => class,
        },
        class => class,
    }
}

fn outcome<'a>(seen: &Seen<'_>, call: &Call<'_>, told: &'a Told, answer: &Answer<'_>, class: &'a str) -> &'static str {
    let Some(error) = &told.error else {
        // A recorder that keeps no responses is no evidence of silence.
        let silent = *answer == Answer::None && !seen.exchange.truncated;
        return match answer {
            Answer::None if silent => "transport",
            Answer::None => "",
            // JSON-RPC refuses with HTTP 200 as well: what a recorder never keeps may have been anything.
            Answer::Unread if seen.exchange.truncated && seen.exchange.response_body == Body::Absent => "",
            _ => "ok",
        };
    };
    let refusal = Refusal {
        error,
        class,
        http_status: seen.exchange.status,
        method: call.method,
        operation: call.operation,
        readable: !seen.response.is_null(),
    };
    refusal.outcome()
}
