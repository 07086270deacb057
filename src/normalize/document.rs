//! JSON documents without a carrier: JSON-RPC lines of a log, webhook bodies, data of event streams, card files.
//!
//! In: documents with the time of their framing. Out: facts. A JSON-RPC request and its response in one source are taken for
//! a call; a response alone still tells its task's state. Who spoke to whom is not known, so the agent stays open.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::card::{self, CardLook};
use super::exchange::{self, Understood, answer, rpc};
use super::json;
use super::jwks;
use super::patterns::Patterns;
use super::protocol::operation::Operation;
use super::protocol::payload::{self, Payload};
use super::task::{self, Sighting};
use crate::decode::record::{Body, Chunk, Document, Exchange, Headers, Observer};
use crate::instant::Instant;
use crate::tables::{Common, ExchangeRow, Facts};

/// Requests that wait for their responses, by source and id.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    open: HashMap<(Arc<str>, String), VecDeque<OpenCall>>,
    /// Requests that were read before a restart, and whose bodies are no longer there.
    lost: HashSet<(Arc<str>, String)>,
    /// Requests that wait no more, by key, since they were last asked for.
    closed: Vec<String>,
    /// Answers to lost requests.
    torn: u64,
}

#[derive(Debug)]
struct OpenCall {
    exchange: Exchange,
    streams: bool,
    key: String,
    /// Something came since it was last asked what it is.
    stirred: bool,
}

/// A request that waits for its response, or a stream that may go on: its facts as they stand. Bodies stay in memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Waiting {
    /// What tells it from others.
    pub(crate) key: String,
    source: String,
    id: String,
    /// What it would be if nothing more came.
    pub(crate) facts: Facts,
    /// Its row, if it may not be A2A.
    pub(crate) unsure: Option<Box<ExchangeRow>>,
}

impl Documents {
    /// Takes a document.
    pub(crate) fn take(&mut self, document: Document, patterns: &Patterns, facts: &mut Facts) -> Understood {
        match &document.value {
            Value::Array(items) if items.iter().any(|item| rpc::is_request(item) || answer::is_rpc_response(item)) => {
                let each = items.iter().map(|item| Document { value: item.clone(), ..document.clone() });
                let mut last = Understood::NotA2a;
                for item in each.collect::<Vec<_>>() {
                    last = self.one(item, patterns, facts);
                }
                last
            }
            _ => self.one(document, patterns, facts),
        }
    }

    fn one(&mut self, document: Document, patterns: &Patterns, facts: &mut Facts) -> Understood {
        let is_request = rpc::is_request(&document.value);
        if !is_request && !answer::is_rpc_response(&document.value) {
            return bare(&document, patterns, facts);
        }
        let key = (document.origin.source.clone(), json::id(document.value.get("id")));
        if is_request {
            // A new request with an id in use ends the stream that used it.
            let done = self.close_streams(&key, patterns, facts);
            self.lost.remove(&key);
            self.open.entry(key).or_default().push_back(OpenCall::of(document));
            return done;
        }
        match self.open.get_mut(&key).and_then(|calls| calls.front_mut()) {
            Some(call) if call.streams && !(call.exchange.chunks.is_empty() && is_refusal(&document)) => {
                call.add_event(&document);
                Understood::A2a { unknown_wrapper: false }
            }
            Some(_) => {
                let call = self.open.get_mut(&key).and_then(VecDeque::pop_front);
                let Some(call) = call else { return Understood::NotA2a };
                self.closed.push(call.key.clone());
                call.answered(document).facts(patterns, facts)
            }
            None => {
                self.torn += u64::from(self.lost.remove(&key));
                bare(&document, patterns, facts)
            }
        }
    }

    fn close_streams(&mut self, key: &(Arc<str>, String), patterns: &Patterns, facts: &mut Facts) -> Understood {
        let none = Understood::A2a { unknown_wrapper: false };
        let Some(calls) = self.open.get_mut(key) else { return none };
        match calls.front() {
            Some(call) if call.streams => {
                let Some(call) = calls.pop_front() else { return none };
                self.closed.push(call.key.clone());
                call.facts(patterns, facts)
            }
            _ => none,
        }
    }

    /// Requests and streams about which something came since this was last asked.
    pub(crate) fn stirred(&mut self, patterns: &Patterns) -> Vec<Waiting> {
        // Nothing waits under most ids that were ever used.
        self.open.retain(|_, calls| !calls.is_empty());
        let mut stirred = Vec::new();
        for ((source, id), calls) in &mut self.open {
            for call in calls.iter_mut() {
                if !std::mem::take(&mut call.stirred) {
                    continue;
                }
                let mut facts = Facts::default();
                let unsure = match call.facts(patterns, &mut facts) {
                    Understood::Unsure(row) => Some(row),
                    Understood::A2a { .. } | Understood::NotA2a => None,
                };
                let (key, source, id) = (call.key.clone(), source.to_string(), id.clone());
                stirred.push(Waiting { key, source, id, facts, unsure });
            }
        }
        stirred
    }

    /// Keys of the requests that wait no more, since this was last asked.
    pub(crate) fn closed(&mut self) -> Vec<String> {
        std::mem::take(&mut self.closed)
    }

    /// Takes note of a request that was read before a restart.
    pub(crate) fn lost(&mut self, waiting: &Waiting) {
        let key = (Arc::from(waiting.source.as_str()), waiting.id.clone());
        if !self.open.contains_key(&key) {
            self.lost.insert(key);
        }
    }

    /// Answers whose requests were lost.
    pub(crate) fn torn(&self) -> u64 {
        self.torn
    }

    /// Gives up waiting for one.
    pub(crate) fn give_up(&mut self, waiting: &Waiting) {
        let key = (Arc::from(waiting.source.as_str()), waiting.id.clone());
        self.lost.remove(&key);
        if let Some(calls) = self.open.get_mut(&key) {
            calls.retain(|call| call.key != waiting.key);
            if calls.is_empty() {
                self.open.remove(&key);
            }
        }
    }

    /// Gives up waiting.
    pub(crate) fn finish(self, patterns: &Patterns, facts: &mut Facts) -> Vec<Understood> {
        self.open.into_values().flatten().map(|call| call.facts(patterns, facts)).collect()
    }
}

/// A plain error in place of a stream.
fn is_refusal(document: &Document) -> bool {
    document.sse_event.is_empty() && document.value.get("error").is_some_and(Value::is_object)
}

impl OpenCall {
    fn of(document: Document) -> Self {
        let operation = Operation::from_name(json::text(&document.value, &["method"]));
        let origin = &document.origin;
        Self {
            streams: operation.is_some_and(Operation::streams),
            key: format!("{}:{}/{}", origin.source, origin.position, json::id(document.value.get("id"))),
            exchange: exchange_of(document),
            stirred: true,
        }
    }

    fn answered(mut self, response: Document) -> Self {
        self.exchange.ended_at = response.at;
        self.exchange.response_body = Body::Json(response.value);
        self.exchange.truncated = false;
        self
    }

    /// Events come as documents of their own; the call is put together as the stream it was.
    fn add_event(&mut self, event: &Document) {
        self.stirred = true;
        self.exchange.ended_at = event.at.or(self.exchange.ended_at);
        let name = if event.sse_event.is_empty() { String::new() } else { format!("event: {}\n", event.sse_event) };
        self.exchange.chunks.push(Chunk { at: event.at, text: format!("{name}data: {}\n\n", event.value) });
    }

    fn facts(&self, patterns: &Patterns, facts: &mut Facts) -> Understood {
        exchange::facts(&self.exchange, patterns, facts)
    }
}

/// The exchange that a request without a carrier was part of. What is not recorded of it counts as cut off, not as silence.
fn exchange_of(document: Document) -> Exchange {
    Exchange {
        origin: document.origin,
        started_at: document.at,
        ended_at: None,
        leg: String::new(),
        client: String::new(),
        server: String::new(),
        observer: None,
        observer_name: String::new(),
        agent: String::new(),
        trace_id: String::new(),
        span_id: String::new(),
        method: "POST".to_owned(),
        url: String::new(),
        request_headers: Headers::default(),
        request_body: Body::Json(document.value),
        status: None,
        response_headers: Headers::default(),
        response_body: Body::Absent,
        chunks: Vec::new(),
        client_disconnected: false,
        truncated: true,
    }
}

/// A document that is no call: an answer or event without its request, a webhook body, a card, a key set.
fn bare(document: &Document, patterns: &Patterns, facts: &mut Facts) -> Understood {
    let marked = answer::is_rpc_response(&document.value) || !document.sse_event.is_empty();
    // An error without its request says nothing about any task.
    let Some(Ok(value)) = answer::inside(&document.value, None) else { return Understood::NotA2a };
    let common = common(document);
    if jwks::is_jwks(value) {
        jwks::facts(common, "", value, facts);
        return Understood::A2a { unknown_wrapper: false };
    }
    let read = payload::read(value, !document.sse_event.is_empty());
    match read.payload {
        Payload::Empty | Payload::Unknown | Payload::PushConfig(_) => return Understood::NotA2a,
        Payload::Card(body) => {
            let headers = Headers::default();
            let look = CardLook {
                common,
                url: "",
                origin: "file",
                http_status: None,
                headers: &headers,
                extended: false,
                body: Some(body),
                raw: None,
            };
            card::facts(&look, facts);
        }
        _ if !marked && !payload::is_evident(value) => return Understood::NotA2a,
        payload => {
            let whole = matches!(payload, Payload::Task(_) | Payload::Tasks(_) | Payload::Message(_));
            let origin = if whole && document.sse_event.is_empty() { "reply" } else { "stream" };
            let lists_artifacts = !matches!(payload, Payload::Tasks(_));
            let sighting = Sighting {
                common,
                origin,
                operation: "",
                skill_id: "",
                server_address: "",
                ordinal: None,
                lists_artifacts,
                patterns,
            };
            task::rows(payload, &sighting, facts);
        }
    }
    Understood::A2a { unknown_wrapper: read.unknown_wrapper }
}

fn common(document: &Document) -> Common {
    Common {
        record_id: record_id(document),
        observed_at: document.at.unwrap_or_default(),
        observer: Observer::Client.as_str().to_owned(),
        source: document.origin.source.to_string(),
        position: document.origin.position.to_string(),
        ..Common::default()
    }
}

/// Hash of what makes a document itself, wherever it was read.
fn record_id(document: &Document) -> String {
    let mut hash = Sha256::new();
    hash.update(document.at.unwrap_or_default().0.to_le_bytes());
    hash.update(document.value.to_string().as_bytes());
    hex::encode(&hash.finalize()[..16])
}

/// The time that a document itself tells: of the status in it.
pub(crate) fn time_inside(value: &Value) -> Option<Instant> {
    let inner = answer::inside(value, None)?.ok()?;
    match payload::read(inner, true).payload {
        Payload::Task(object) | Payload::Status(object) => task::status_at(object.get("status")?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decode::record::{Origin, Position, Record};
    use crate::normalize::{Normalized, Normalizer, NormalizerSettings};

    fn normalized(values: &[(Option<i64>, Value)]) -> Normalized {
        let mut normalizer = Normalizer::new(NormalizerSettings::default());
        for (line, (at, value)) in (1..).zip(values) {
            let origin = Origin { source: "log".into(), position: Position::Line(line) };
            let document = Document { origin, at: at.map(Instant), sse_event: String::new(), value: value.clone() };
            normalizer.record(Record::Document(Box::new(document)));
        }
        normalizer.finish()
    }

    fn send(id: u8, method: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"message": {"messageId": "m", "parts": [{"text": "x"}]}}})
    }

    fn answer(id: u8, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    }

    fn task(state: &str) -> Value {
        json!({"id": "t", "contextId": "c", "status": {"state": state, "timestamp": "2026-11-30T06:15:31Z"}})
    }

    #[test]
    fn a_request_and_its_response_are_a_call() {
        let reply = answer(1, json!({"task": task("TASK_STATE_COMPLETED")}));
        let facts = normalized(&[(Some(10), send(1, "SendMessage")), (Some(20), reply)]).facts;
        let call = &facts.exchanges[0];
        assert_eq!(
            (call.own.operation.as_str(), call.own.reply_state.as_str(), call.own.outcome.as_str()),
            ("SendMessage", "completed", "ok")
        );
        assert_eq!((call.common.observed_at.0, call.own.ended_at, call.own.http_status), (10, Some(Instant(20)), None));
        assert_eq!((call.common.agent_ref.as_str(), facts.task_events[0].common.observed_at.0), ("", 20));
    }

    #[test]
    fn a_response_alone_tells_its_task_and_a_request_alone_no_failure() {
        let facts = normalized(&[(Some(20), answer(7, task("TASK_STATE_WORKING")))]).facts;
        assert_eq!((facts.exchanges.len(), facts.task_events[0].own.origin.as_str()), (0, "reply"));
        let facts = normalized(&[(Some(10), send(1, "SendMessage"))]).facts;
        assert_eq!((facts.exchanges[0].own.outcome.as_str(), facts.exchanges[0].own.reply_kind.as_str()), ("", "none"));
    }

    #[test]
    fn events_with_one_id_are_one_stream() {
        let update = |state: &str| {
            answer(1, json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}}))
        };
        let facts = normalized(&[
            (Some(10), send(1, "SendStreamingMessage")),
            (Some(20), update("TASK_STATE_WORKING")),
            (Some(30), update("TASK_STATE_COMPLETED")),
            (Some(40), send(1, "SendMessage")),
            (Some(50), answer(1, json!({"task": task("TASK_STATE_FAILED")}))),
        ])
        .facts;
        let stream = facts.exchanges.iter().find(|row| row.own.streaming == Some(true)).unwrap();
        assert_eq!((stream.own.stream_events, stream.own.stream_end.as_str()), (Some(2), "terminal"));
        let seen: Vec<_> = facts
            .task_events
            .iter()
            .map(|row| (row.common.observed_at.0, row.own.origin.as_str(), row.own.ordinal))
            .collect();
        assert_eq!(seen, [(20, "stream", Some(0)), (30, "stream", Some(1)), (50, "reply", None)]);
    }

    #[test]
    fn a_stream_refused_at_once_is_no_stream() {
        let refused = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "Task not found"}});
        let facts = normalized(&[(Some(10), send(1, "message/stream")), (Some(20), refused)]).facts;
        let own = &facts.exchanges[0].own;
        assert_eq!((own.streaming, own.outcome.as_str(), own.reply_kind.as_str()), (Some(false), "not-found", "error"));
    }

    #[test]
    fn webhook_bodies_cards_and_other_json_are_told_apart() {
        let card = json!({"name": "A", "url": "http://h", "version": "1", "capabilities": {}, "skills": []});
        let Normalized { facts, counts } = normalized(&[
            (
                None,
                json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-11-30T06:15:31Z"}}}),
            ),
            (None, json!({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": []}}})),
            (None, card),
            (None, json!({"level": "info", "message": "started"})),
        ]);
        assert_eq!((counts.documents, counts.not_a2a, facts.cards.len()), (4, 1, 1));
        assert_eq!(facts.cards[0].own.origin, "file");
        assert_eq!((facts.task_events.len(), facts.artifact_parts.len()), (1, 1));
        // The status tells its time; what follows without one takes the last time of its source.
        let at = Instant(1_796_019_331_000_000_000);
        assert_eq!((facts.task_events[0].common.observed_at, facts.artifact_parts[0].common.observed_at), (at, at));
    }

    #[test]
    fn without_any_time_a_document_is_of_the_epoch() {
        let facts =
            normalized(&[(None, json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}))])
                .facts;
        assert_eq!(facts.task_events[0].common.observed_at, Instant(0));
    }
}
