//! A JSON-RPC request without a carrier that waits for its answer.
//!
//! In: the request, then its response or the events of its stream. Out: the exchange that they were, and what memory it takes.
//! Never waits by itself: how many may, and for how long, is for those who keep it.

use crate::decode::exchange::empty;
use crate::decode::record::{Body, Chunk, Document, Exchange, Reject, RejectReason};
use crate::normalize::exchange::{self, Understood};
use crate::normalize::json;
use crate::normalize::patterns::Patterns;
use crate::normalize::protocol::operation::Operation;
use crate::tables::Facts;

/// A request, and what came of its answer.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) exchange: Exchange,
    pub(super) streams: bool,
    pub(super) key: String,
    /// Something came since it was last asked what it is.
    pub(super) stirred: bool,
    /// Bytes of its request.
    pub(super) weight: usize,
    /// Bytes of its events, and which of all requests and events its last was.
    pub(super) held: usize,
    pub(super) last: u64,
}

impl OpenCall {
    pub(super) fn of(document: Document, nth: u64) -> Self {
        let operation = Operation::from_name(json::text(&document.value, &["method"]));
        let origin = &document.origin;
        Self {
            streams: operation.is_some_and(Operation::streams),
            weight: size_of::<Self>() + json::weight(&document.value),
            key: format!("{}:{}/{}", origin.source, origin.position, json::id(document.value.get("id"))),
            exchange: exchange_of(document),
            stirred: true,
            held: 0,
            last: nth,
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.weight + self.held
    }

    /// What there is to say when it is not waited for any longer; of a stream that has begun, nothing is lost.
    pub(super) fn given_up(&self) -> Option<Reject> {
        let detail = "a request without its answer, one of too many that wait: its answer is read by itself".to_owned();
        let reject = Reject { origin: self.exchange.origin.clone(), reason: RejectReason::TooLarge, detail };
        self.exchange.chunks.is_empty().then_some(reject)
    }

    pub(super) fn answered(mut self, response: Document) -> Self {
        self.exchange.ended_at = response.at;
        self.exchange.response_body = Body::Json(response.value);
        self.exchange.truncated = false;
        self
    }

    /// Events come as documents of their own; the call is put together as the stream it was. The bytes that this takes; none
    /// where the stream would be longer than it may be.
    pub(super) fn add_event(&mut self, event: &Document, nth: u64, most: usize) -> Option<usize> {
        let name = if event.sse_event.is_empty() { String::new() } else { format!("event: {}\n", event.sse_event) };
        let chunk = Chunk { at: event.at, text: format!("{name}data: {}\n\n", event.value) };
        let held = chunk.text.len() + size_of::<Chunk>();
        if self.held + held > most {
            return None;
        }
        self.stirred = true;
        self.exchange.ended_at = event.at.or(self.exchange.ended_at);
        self.exchange.chunks.push(chunk);
        self.held += held;
        self.last = nth;
        Some(held)
    }

    pub(super) fn facts(&self, patterns: &Patterns, facts: &mut Facts) -> Understood {
        exchange::facts(&self.exchange, patterns, facts)
    }
}

/// The exchange that a request without a carrier was part of. What is not recorded of it counts as cut off, not as silence.
fn exchange_of(document: Document) -> Exchange {
    Exchange {
        started_at: document.at,
        method: "POST".to_owned(),
        request_body: Body::Json(document.value),
        truncated: true,
        ..empty(&document.origin)
    }
}
