//! Webhook posts: an agent telling a receiver about a task.
//!
//! In: an exchange whose request is a webhook body of any dialect. Out: a row of `push_deliveries`, and what the body
//! tells as rows of `task_events` and `artifact_parts`. Never the token or the credentials.

use serde_json::Value;

use super::Seen;
use super::answer;
use crate::decode::record::Observer;
use crate::instant::Instant;
use crate::normalize::credential::Credential;
use crate::normalize::hook_url::hook_url;
use crate::normalize::json;
use crate::normalize::patterns::Patterns;
use crate::normalize::place;
use crate::normalize::protocol::payload::{self, Payload};
use crate::normalize::task::{self, Sighting};
use crate::tables::{Common, Facts, PushDeliveryColumns, PushDeliveryRow};

/// Whether a body without other marks is a webhook's: a wrapper of 1.0, a whole task of 0.x, a status of 0.1. A user's
/// message is a send to a path of its own.
pub(crate) fn is_body(value: &Value) -> bool {
    match payload::read(value, false).payload {
        Payload::Task(_) | Payload::Status(_) | Payload::Artifact(_) => payload::is_evident(value),
        Payload::Message(message) => {
            payload::is_evident(value) && json::text(message, &["role"]).to_ascii_lowercase().ends_with("agent")
        }
        _ => false,
    }
}

/// Adds the facts of a webhook post.
pub(crate) fn facts(seen: &Seen<'_>, patterns: &Patterns, facts: &mut Facts) {
    let common = common(seen);
    // Some senders wrap the body as an answer of JSON-RPC.
    let body = match answer::inside(&seen.request, None) {
        Some(Ok(inner)) => inner,
        _ => &seen.request,
    };
    let payload = payload::read(body, false).payload;
    let sighting = Sighting {
        common: common.clone(),
        origin: "push",
        operation: "",
        skill_id: "",
        server_address: "",
        ordinal: None,
        lists_artifacts: true,
        patterns,
    };
    let glimpse = task::rows(payload, &sighting, facts);
    let credential = Credential::read(seen.exchange.request_headers.get("authorization"));
    let own = PushDeliveryColumns {
        task_id: glimpse.task_id,
        url: hook_url(&seen.place.url),
        config_id: String::new(),
        http_status: seen.exchange.status.map(i64::from),
        failure_class: failure_class(seen.exchange.status).to_owned(),
        signature: signature(seen, &credential).to_owned(),
        scheme: credential.scheme,
        kid: credential.kid,
        token_present: Some(has_token(seen)),
        state: glimpse.state.to_owned(),
        payload: payload_word(payload).to_owned(),
    };
    facts.push_push_delivery(PushDeliveryRow { common, own });
}

/// The receiver stands for the client here: the sender is the agent, which is found by task or trace. The credentials are
/// the agent's, so they name no principal.
fn common(seen: &Seen<'_>) -> Common {
    let at = seen.exchange.started_at.or(seen.exchange.ended_at).unwrap_or(Instant(0));
    let receiver = if seen.exchange.server.is_empty() { host_of(&seen.place.url) } else { &seen.exchange.server };
    // On the client's side of a webhook stands the receiver; a HAR says `client` of everything in it.
    let observer = seen.exchange.observer.filter(|observer| *observer != Observer::Client);
    Common {
        observer: observer.unwrap_or(Observer::Receiver).as_str().to_owned(),
        client_ref: place::without_port(receiver).to_owned(),
        principal: String::new(),
        ..seen.common(at, "")
    }
}

fn host_of(url: &str) -> &str {
    url.split_once("//").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default()
}

fn failure_class(status: Option<u16>) -> &'static str {
    match status {
        None | Some(502..=504) => "transport",
        Some(401 | 403) => "auth",
        Some(200..=299) => "",
        Some(500..) => "server-error",
        Some(_) => "client-error",
    }
}

/// Nobody here checks a signature; a receiver that refuses one says so.
fn signature(seen: &Seen<'_>, credential: &Credential) -> &'static str {
    if !credential.is_jwt {
        return "absent";
    }
    if !matches!(seen.exchange.status, Some(400 | 401 | 403)) {
        return "unknown";
    }
    let challenge = seen.exchange.response_headers.get("www-authenticate").unwrap_or_default();
    let told =
        format!("{challenge} {}", seen.exchange.response_body.as_text().unwrap_or_default()).to_ascii_lowercase();
    let refused = ["signature", "signing key", "unknown kid", "unknown key"].iter().any(|words| told.contains(words));
    if refused { "invalid" } else { "unknown" }
}

/// Python, JS and Java write the first name, Go and Rust the second.
fn has_token(seen: &Seen<'_>) -> bool {
    ["x-a2a-notification-token", "a2a-notification-token"]
        .iter()
        .any(|name| seen.exchange.request_headers.get(name).is_some_and(|token| !token.is_empty()))
}

fn payload_word(payload: Payload<'_>) -> &'static str {
    match payload {
        Payload::Task(_) => "task",
        Payload::Status(_) => "status",
        Payload::Artifact(_) => "artifact",
        Payload::Message(_) => "message",
        _ => "",
    }
}
