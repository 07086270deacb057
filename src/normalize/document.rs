//! JSON documents without a carrier: JSON-RPC lines of a log, webhook bodies, data of event streams, card files.
//!
//! In: documents with the time of their framing. Out: facts. A JSON-RPC request and its response in one source are taken for
//! a call; a response alone still tells its task's state. Who spoke to whom is not known, so the agent stays open. What is kept
//! of requests that wait and of streams that may go on is bounded: the longest streams are cut, and the oldest of both are read
//! as they stand.

mod open_call;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::card::{self, CardLook};
use super::exchange::{Understood, answer, rpc};
use super::json;
use super::jwks;
use super::patterns::Patterns;
use super::protocol::payload::{self, Payload};
use super::task::{self, Sighting};
use crate::decode::record::{Document, Headers, Observer, Reject, RejectReason};
use crate::instant::Instant;
use crate::tables::{Common, ExchangeRow, Facts};
use open_call::OpenCall;

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
    /// Bytes of requests that wait, and of events of all streams.
    held: usize,
    /// Requests and events so far.
    events: u64,
    /// Events that were cut off and requests that were given up, since they were last asked for.
    rejects: Vec<Reject>,
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
    /// Takes a document; of each stream `most` bytes of events are kept.
    pub(crate) fn take(
        &mut self,
        document: Document,
        most: usize,
        patterns: &Patterns,
        facts: &mut Facts,
    ) -> Understood {
        match &document.value {
            Value::Array(items) if items.iter().any(|item| rpc::is_request(item) || answer::is_rpc_response(item)) => {
                let each = items.iter().map(|item| Document { value: item.clone(), ..document.clone() });
                let mut last = Understood::NotA2a;
                for item in each.collect::<Vec<_>>() {
                    last = self.one(item, most, patterns, facts);
                }
                last
            }
            _ => self.one(document, most, patterns, facts),
        }
    }

    fn one(&mut self, document: Document, most: usize, patterns: &Patterns, facts: &mut Facts) -> Understood {
        let is_request = rpc::is_request(&document.value);
        if !is_request && !answer::is_rpc_response(&document.value) {
            return bare(&document, patterns, facts);
        }
        let key = (document.origin.source.clone(), json::id(document.value.get("id")));
        if is_request {
            // A new request with an id in use ends the stream that used it.
            let done = self.close_streams(&key, patterns, facts);
            self.lost.remove(&key);
            self.events += 1;
            let call = OpenCall::of(document, self.events);
            self.held += call.weight;
            self.open.entry(key).or_default().push_back(call);
            return done;
        }
        match self.open.get_mut(&key).and_then(|calls| calls.front_mut()) {
            Some(call) if call.streams && !(call.exchange.chunks.is_empty() && is_refusal(&document)) => {
                self.events += 1;
                let Some(held) = call.add_event(&document, self.events, most) else {
                    let detail =
                        "an event of a stream that is longer than the record limit: read without it".to_owned();
                    let origin = document.origin.clone();
                    self.rejects.push(Reject { origin, reason: RejectReason::TooLarge, detail });
                    return bare(&document, patterns, facts);
                };
                self.held += held;
                Understood::A2a { unknown_wrapper: false }
            }
            Some(_) => {
                let Some(call) = self.take_first(&key) else { return Understood::NotA2a };
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
        let streams = self.open.get(key).and_then(VecDeque::front).is_some_and(|call| call.streams);
        match streams.then(|| self.take_first(key)).flatten() {
            Some(call) => call.facts(patterns, facts),
            None => none,
        }
    }

    /// Takes the oldest under an id out of what waits.
    fn take_first(&mut self, key: &(Arc<str>, String)) -> Option<OpenCall> {
        let calls = self.open.get_mut(key)?;
        let call = calls.pop_front()?;
        if calls.is_empty() {
            self.open.remove(key);
        }
        self.closed.push(call.key.clone());
        self.held = self.held.saturating_sub(call.bytes());
        Some(call)
    }

    /// Reads what waits or may go on as it stands, that first of which nothing came for the longest, when all together is longer
    /// than one stream may be: until it is half as long, so that it is seldom looked. A stream is taken for ended, and a request
    /// is given up.
    pub(crate) fn close_surplus(&mut self, most: usize, patterns: &Patterns, facts: &mut Facts) -> Vec<Understood> {
        if self.held <= most {
            return Vec::new();
        }
        let calls = self.open.values().flatten();
        let mut calls: Vec<(u64, usize)> = calls.map(|call| (call.last, call.bytes())).collect();
        calls.sort_unstable();
        // The last goes on.
        calls.pop();
        let mut until = 0;
        for (last, held) in calls {
            if self.held <= most / 2 {
                break;
            }
            self.held = self.held.saturating_sub(held);
            until = last;
        }
        let mut done = Vec::new();
        let (closed, rejects) = (&mut self.closed, &mut self.rejects);
        self.open.retain(|_, calls| {
            calls.retain(|call| {
                let goes_on = call.last > until;
                if !goes_on {
                    closed.push(call.key.clone());
                    rejects.extend(call.given_up());
                    done.push(call.facts(patterns, facts));
                }
                goes_on
            });
            !calls.is_empty()
        });
        done
    }

    /// What was cut off since this was last asked.
    pub(crate) fn rejects(&mut self) -> Vec<Reject> {
        std::mem::take(&mut self.rejects)
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
            for given_up in calls.iter().filter(|call| call.key == waiting.key) {
                self.held = self.held.saturating_sub(given_up.bytes());
            }
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
        take(&mut normalizer, values);
        normalizer.finish()
    }

    fn take(normalizer: &mut Normalizer, values: &[(Option<i64>, Value)]) {
        for (line, (at, value)) in (1..).zip(values) {
            let origin = Origin { source: "log".into(), position: Position::Line(line) };
            let document = Document { origin, at: at.map(Instant), sse_event: String::new(), value: value.clone() };
            normalizer.record(Record::Document(Box::new(document)));
        }
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

    /// An event of a stream about a task, so many bytes long.
    fn padded(id: usize, task: &str, state: &str, bytes: usize) -> Value {
        let padding = "x".repeat(bytes);
        let status =
            json!({"state": state, "message": {"role": "ROLE_AGENT", "messageId": "n", "parts": [{"text": padding}]}});
        json!({"jsonrpc": "2.0", "id": id, "result": {"statusUpdate": {"taskId": task, "contextId": "c", "status": status}}})
    }

    fn bounded(most: usize) -> Normalizer {
        Normalizer::new(NormalizerSettings { max_stream_bytes: most, ..NormalizerSettings::default() })
    }

    #[test]
    fn a_stream_is_cut_at_the_limit_and_what_is_cut_is_counted_and_read_by_itself() {
        let mut normalizer = bounded(10_000);
        let mut values = vec![(Some(1), send(1, "SendStreamingMessage"))];
        values.extend((2..8).map(|at| (Some(at), padded(1, "t", "TASK_STATE_WORKING", 3000))));
        values.push((Some(8), padded(1, "t", "TASK_STATE_COMPLETED", 3000)));
        take(&mut normalizer, &values);
        let rejects = normalizer.rejects();
        let told: Vec<_> = rejects.iter().map(|cut| (cut.reason, cut.origin.position)).collect();
        // The first three have room.
        assert_eq!(told, [5, 6, 7, 8].map(|line| (RejectReason::TooLarge, Position::Line(line))));
        assert!(normalizer.rejects().is_empty(), "told once");
        let facts = normalizer.finish().facts;
        assert_eq!((facts.exchanges.len(), facts.exchanges[0].own.stream_events), (1, Some(3)));
        assert_ne!(facts.exchanges[0].own.stream_end, "eof", "how it ended was not kept");
        let last = facts.task_events.iter().max_by_key(|row| row.common.observed_at).unwrap();
        assert_eq!((last.common.observed_at.0, last.own.state.as_str()), (8, "completed"));
    }

    #[test]
    fn streams_without_an_end_are_ended_from_the_oldest_on_and_nothing_of_them_is_lost() {
        let most = 10_000;
        let mut normalizer = bounded(most);
        for id in 0..100 {
            let mut request = send(0, "SendStreamingMessage");
            request["id"] = json!(id);
            let event = |state| padded(id, &format!("t{id}"), state, 1000);
            let values = [request, event("TASK_STATE_WORKING"), event("TASK_STATE_INPUT_REQUIRED")];
            take(&mut normalizer, &values.map(|value| (Some(10), value)));
            assert!(normalizer.documents.held <= most, "{}", normalizer.documents.held);
        }
        let kept: usize = normalizer.documents.open.values().flatten().map(OpenCall::bytes).sum();
        assert_eq!(normalizer.documents.held, kept);
        assert!(normalizer.rejects().is_empty());
        let facts = normalizer.finish().facts;
        assert_eq!((facts.exchanges.len(), facts.task_events.len()), (100, 200));
        assert!(facts.exchanges.iter().all(|row| row.own.stream_events == Some(2)));
    }

    #[test]
    fn requests_that_nobody_answers_are_given_up_from_the_oldest_on_and_counted() {
        let (most, count) = (100_000, 1000);
        let mut normalizer = bounded(most);
        let request = |id: u16| {
            let message =
                json!({"messageId": format!("m{id}"), "role": "ROLE_USER", "parts": [{"text": "x".repeat(500)}]});
            json!({"jsonrpc": "2.0", "id": id, "method": "SendMessage", "params": {"message": message}})
        };
        let reply = |id: u16| json!({"jsonrpc": "2.0", "id": id, "result": {"task": task("TASK_STATE_COMPLETED")}});
        for id in 0..count {
            take(&mut normalizer, &[(Some(10), request(id))]);
            assert!(normalizer.documents.held <= most, "{}", normalizer.documents.held);
        }
        let waiting: usize = normalizer.documents.open.values().map(VecDeque::len).sum();
        assert!((10..100).contains(&waiting), "{waiting}");
        let given_up = normalizer.rejects();
        assert_eq!(given_up.len(), usize::from(count) - waiting);
        assert!(given_up.iter().all(|reject| reject.reason == RejectReason::TooLarge));
        // The last still finds its answer; that to the first is read by itself. Nothing is held for either.
        take(&mut normalizer, &[(Some(20), reply(count - 1)), (Some(20), reply(0))]);
        assert_eq!(normalizer.documents.open.len(), waiting - 1, "what is answered leaves nothing behind");
        let facts = normalizer.finish().facts;
        assert_eq!(facts.exchanges.len(), usize::from(count), "given up or not, each was a call");
        let answered: Vec<_> = facts.exchanges.iter().filter(|row| row.own.reply_state == "completed").collect();
        assert_eq!(answered.len(), 1);
        assert_eq!(answered[0].own.message_id, format!("m{}", count - 1));
        assert_eq!(facts.task_events.len(), 2);
    }

    #[test]
    fn requests_that_are_answered_are_never_too_many() {
        let mut normalizer = bounded(10_000);
        for _ in 0..1000 {
            take(
                &mut normalizer,
                &[(Some(10), send(1, "SendMessage")), (Some(20), answer(1, task("TASK_STATE_WORKING")))],
            );
        }
        assert_eq!((normalizer.documents.held, normalizer.documents.open.len(), normalizer.rejects().len()), (0, 0, 0));
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
