//! Bodies of calls that spans and gateway records hold in attributes.
//!
//! In: a span or record with a request body. Out: the exchange that was taped in it. Texts that are no JSON (Java's
//! `toString`) are none.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::decode::record::{Body, Exchange, Headers, Observer, Span};
use crate::normalize::aliases::{Carrier, Key};
use crate::normalize::card;

use super::Context;
use super::node::{Node, Side};

/// The call taped in a span's attributes.
pub(super) fn of_span(span: &Span, node: &Node, context: &Context<'_>) -> Option<Box<Exchange>> {
    let carrier = Carrier {
        attributes: &span.attributes,
        body: None,
        resource: &span.resource,
        scope: &span.scope,
        evidence: true,
    };
    of_carrier(node, &carrier, context).map(Box::new)
}

/// The call taped in attributes.
pub(super) fn of_carrier(node: &Node, carrier: &Carrier<'_>, context: &Context<'_>) -> Option<Exchange> {
    let body = |key| context.aliases.find(key, carrier, json_body);
    let http = node.http().cloned().unwrap_or_default();
    // A look at a card sends nothing, and what comes back is the card.
    let is_look = http.method == "GET" && card::is_card_path(&http.path);
    // A gateway's line of the HTTP+JSON binding may have no word of A2A's but its path; to read or delete, nothing is sent.
    let is_rest = node.side == Side::Gateway && http.path_call(context.aliases).is_some();
    let response_body = body(Key::ResponseBody);
    let nothing = || ((is_look || is_rest) && response_body.is_some()).then_some(Body::Absent);
    let request_body = body(Key::RequestBody).or_else(nothing)?;
    let said = node.statement.as_deref();
    // The POST of an agent to a model holds JSON as well. Only what calls itself A2A is taken.
    let is_call =
        node.webhook || said.is_some() || request_body.to_json().is_some_and(|json| json.get("jsonrpc").is_some());
    if !is_call && !is_look && !is_rest {
        return None;
    }
    let response_body = response_body.unwrap_or_default();
    let text = |pick: fn(&super::statement::Statement) -> &String| said.map(pick).cloned().unwrap_or_default();
    let version = Some(text(|said| &said.protocol_version)).filter(|version| !version.is_empty());
    Some(Exchange {
        origin: node.seen.origin.clone(),
        started_at: Some(node.seen.at),
        ended_at: node.ended,
        leg: String::new(),
        client: if node.side == Side::Client { node.seen.service.clone() } else { http.client_address.clone() },
        server: http.peer.clone(),
        observer: Some(match node.side {
            Side::Client => Observer::Client,
            Side::Gateway => Observer::Gateway,
            Side::Server | Side::Inside => Observer::Server,
        }),
        observer_name: node.seen.service.clone(),
        agent: String::new(),
        trace_id: node.seen.trace_id.clone(),
        span_id: if node.side == Side::Client { node.seen.span_id.clone() } else { node.parent.clone() },
        method: if http.method.is_empty() { "POST".to_owned() } else { http.method },
        url: if http.url.is_empty() && !node.server.is_empty() { format!("//{}", node.server) } else { http.url },
        request_headers: Headers(version.map(|version| ("a2a-version".to_owned(), version)).into_iter().collect()),
        truncated: response_body.as_text().is_some_and(|text| serde_json::from_str::<IgnoredAny>(text).is_err()),
        request_body,
        status: http.status.and_then(|status| u16::try_from(status).ok()).or(Some(200)),
        response_headers: http.headers,
        response_body,
        chunks: Vec::new(),
        client_disconnected: false,
        line_keys: Vec::new(),
    })
}

/// A body that is JSON, or an event stream.
fn json_body(value: &Value) -> Option<Body> {
    match value {
        Value::Object(_) => Some(Body::Json(value.clone())),
        Value::String(text) if text.trim_start().starts_with(['{', '[']) || text.starts_with("data:") => {
            Some(Body::Text(text.clone()))
        }
        _ => None,
    }
}
