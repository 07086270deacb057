//! HTTP exchanges to facts.
//!
//! In: one exchange, of any tap. Out: calls, task states, artifacts, webhook posts, looks at cards and key sets; or that it is
//! none of A2A's. Recognises by content: path ends, body shapes and method names, never a configured address.
//!
//! Times: a call is observed when it started, what an answer tells when the answer was complete, an event of a stream when
//! it arrived if that was recorded, a webhook post when it started.

pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod grpc;
pub(crate) mod push;
pub(crate) mod rest;
pub(crate) mod row;
pub(crate) mod rpc;
pub(crate) mod sse;
pub(crate) mod stream;

#[cfg(test)]
mod traps;

use std::cell::OnceCell;

use serde_json::Value;
use sha2::{Digest, Sha256};

use self::stream::StreamEvent;
use super::card::{self, CardLook};
use super::credential::{self, Credential};
use super::jwks;
use super::patterns::Patterns;
use super::place::{self, Place};
use crate::decode::record::{Body, Exchange, Headers, Observer};
use crate::instant::Instant;
use crate::tables::{Common, ExchangeRow, Facts};

/// What became of an exchange.
#[derive(Debug)]
pub enum Understood {
    /// Its facts were added.
    A2a {
        /// The answer stood in a member that no version of the protocol has.
        unknown_wrapper: bool,
    },
    /// A call that could be A2A or not: an unknown JSON-RPC method, `GET /tasks/7`. Worth keeping if the same address is
    /// seen to speak A2A.
    Unsure(Box<ExchangeRow>),
    /// Nothing of A2A: a health probe, an icon.
    NotA2a,
}

/// Adds the facts of an exchange.
pub fn facts(exchange: &Exchange, patterns: &Patterns, facts: &mut Facts) -> Understood {
    let seen = Seen::new(exchange);
    let added = Understood::A2a { unknown_wrapper: false };
    let segments = seen.place.segments();
    let route = rest::route(&exchange.method, &segments);
    let reads = matches!(exchange.method.as_str(), "GET" | "HEAD");
    let posts = matches!(exchange.method.as_str(), "POST" | "PUT");
    if reads && route.is_none() && card::is_card_path(&seen.place.path) {
        card_look(&seen, facts);
        return added;
    }
    if posts && exchange.leg == "webhook" {
        push::facts(&seen, patterns, facts);
        return added;
    }
    if let Some((call, answer)) = grpc::call(&seen, &segments) {
        return call::facts(&seen, &call, &answer, patterns, facts);
    }
    let calls = rpc::calls(&seen);
    if !calls.is_empty() {
        let each = calls.iter().map(|(call, answer)| call::facts(&seen, call, answer, patterns, facts));
        return each.reduce(more_certain).unwrap_or(Understood::NotA2a);
    }
    if let Some(route) = route {
        let (call, answer) = rest::call(&seen, route);
        return call::facts(&seen, &call, &answer, patterns, facts);
    }
    if posts && push::is_body(&seen.request) {
        push::facts(&seen, patterns, facts);
        return added;
    }
    if reads && jwks::is_jwks(&seen.response) {
        jwks::facts(seen.common(seen.ended(), &seen.place.url), &seen.place.url, &seen.response, facts);
        return added;
    }
    if reads && card::is_card(&seen.response) {
        card_look(&seen, facts);
        return added;
    }
    Understood::NotA2a
}

/// Of a batch, what is known of any call is known of the exchange; rows not sure are given up if another is sure.
fn more_certain(one: Understood, other: Understood) -> Understood {
    match (one, other) {
        (Understood::A2a { unknown_wrapper: a }, Understood::A2a { unknown_wrapper: b }) => {
            Understood::A2a { unknown_wrapper: a || b }
        }
        (sure @ Understood::A2a { .. }, _) | (_, sure @ Understood::A2a { .. }) => sure,
        (unsure @ Understood::Unsure(_), _) => unsure,
        (_, other) => other,
    }
}

/// A look at a card: any status, and 304 without a body.
fn card_look(seen: &Seen<'_>, facts: &mut Facts) {
    let exchange = seen.exchange;
    let look = CardLook {
        common: seen.common(seen.ended(), &seen.place.url),
        url: &seen.place.url,
        origin: "fetch",
        http_status: exchange.status,
        headers: &exchange.response_headers,
        extended: false,
        body: card::is_card(&seen.response).then_some(&seen.response),
        raw: exchange.response_body.as_text().map(str::as_bytes),
    };
    card::facts(&look, facts);
}

/// An exchange with its bodies read.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) exchange: &'a Exchange,
    pub(crate) place: Place,
    /// Request body; null when there is none or it is no JSON.
    pub(crate) request: Value,
    /// Response body; null when there is none or it is no JSON.
    pub(crate) response: Value,
    /// Events, if the response is an event stream.
    pub(crate) events: Option<Vec<StreamEvent>>,
    common: OnceCell<Common>,
}

impl<'a> Seen<'a> {
    fn new(exchange: &'a Exchange) -> Self {
        let events = stream::read(exchange);
        Self {
            place: Place::read(&exchange.url, exchange.request_headers.get("host"), &exchange.server),
            request: exchange.request_body.to_json().unwrap_or(Value::Null),
            response: match events {
                Some(_) => Value::Null,
                None => exchange.response_body.to_json().unwrap_or(Value::Null),
            },
            events,
            exchange,
            common: OnceCell::new(),
        }
    }

    /// Whether a response was seen. Records made from spans or bare JSON-RPC have no status.
    pub(crate) fn was_answered(&self) -> bool {
        self.exchange.status.is_some()
            || self.exchange.response_body != Body::Absent
            || !self.exchange.chunks.is_empty()
    }

    /// A header or content type that only A2A has.
    pub(crate) fn is_marked_a2a(&self) -> bool {
        let request = &self.exchange.request_headers;
        let typed = |headers: &Headers| {
            headers.get("content-type").is_some_and(|value| value.to_ascii_lowercase().contains("application/a2a"))
        };
        ["a2a-version", "a2a-extensions", "x-a2a-extensions"].iter().any(|name| request.get(name).is_some())
            || typed(request)
            || typed(&self.exchange.response_headers)
    }

    /// Version that the caller declares; empty when it does not.
    pub(crate) fn declared_version(&self) -> String {
        let header = self.exchange.request_headers.get("a2a-version").map(str::to_owned);
        credential::version_word(&header.or_else(|| self.place.query("A2A-Version")).unwrap_or_default())
    }

    /// When the call started, as well as it is known.
    pub(crate) fn started(&self) -> Instant {
        let first_piece = || self.exchange.chunks.iter().find_map(|chunk| chunk.at);
        self.exchange.started_at.or_else(first_piece).or(self.exchange.ended_at).unwrap_or_default()
    }

    /// When the answer was complete, as well as it is known.
    pub(crate) fn ended(&self) -> Instant {
        self.exchange.ended_at.unwrap_or_else(|| self.started())
    }

    /// Common columns of a fact observed at a time. What is resolved over the whole set stays empty.
    pub(crate) fn common(&self, at: Instant, agent_url: &str) -> Common {
        let agent = &self.exchange.agent;
        let agent_ref = if agent.is_empty() { agent_url } else { agent }.to_owned();
        Common { observed_at: at, agent_ref, ..self.common.get_or_init(|| common(self.exchange)).clone() }
    }
}

/// What all facts of an exchange share.
fn common(exchange: &Exchange) -> Common {
    Common {
        record_id: record_id(exchange),
        observer: exchange.observer.unwrap_or(Observer::Client).as_str().to_owned(),
        observer_name: exchange.observer_name.clone(),
        client_ref: place::without_port(&exchange.client).to_owned(),
        principal: Credential::read(exchange.request_headers.get("authorization")).principal,
        trace_id: exchange.trace_id.clone(),
        span_id: exchange.span_id.clone(),
        source: exchange.origin.source.to_string(),
        position: exchange.origin.position.to_string(),
        ..Common::default()
    }
}

/// Hash of what makes an exchange itself, wherever it was read.
fn record_id(exchange: &Exchange) -> String {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(&exchange.started_at.unwrap_or_default().0.to_le_bytes());
    add(exchange.method.as_bytes());
    add(exchange.url.as_bytes());
    add(exchange.span_id.as_bytes());
    add(&exchange.status.unwrap_or_default().to_le_bytes());
    for body in [&exchange.request_body, &exchange.response_body] {
        match body {
            Body::Absent => add(b""),
            Body::Text(text) => add(text.as_bytes()),
            Body::Bytes(bytes) => add(bytes),
            Body::Json(value) => add(value.to_string().as_bytes()),
        }
    }
    for chunk in &exchange.chunks {
        add(chunk.text.as_bytes());
    }
    hex::encode(&hash.finalize()[..16])
}
