//! A call and its answer to rows.
//!
//! In: a call of any binding with its answer. Out: its row of `exchanges`, and the states, artifacts and cards that the
//! answer told.

use serde_json::Value;

use super::answer::{self, Answer};
use super::stream::LastSeen;
use super::{Seen, Understood};
use crate::instant::Instant;
use crate::normalize::card::{self, CardLook};
use crate::normalize::patterns::Patterns;
use crate::normalize::protocol::error::WireError;
use crate::normalize::protocol::operation::{Dialect, Operation};
use crate::normalize::protocol::outcome::Refusal;
use crate::normalize::protocol::payload::{self, Payload, Read};
use crate::normalize::protocol::push_config::PushConfig;
use crate::normalize::protocol::request::{self, Asked};
use crate::normalize::task::{self, Glimpse, Sighting};
use crate::tables::{ExchangeColumns, ExchangeRow, Facts};

/// A call, whatever its binding.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) binding: &'static str,
    pub(crate) operation: Option<Operation>,
    pub(crate) operation_raw: String,
    /// JSON-RPC method; empty for other bindings.
    pub(crate) method: &'a str,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) rpc_id: String,
    pub(crate) params: &'a Value,
    /// Task and registration that the path names.
    pub(crate) task_id: String,
    pub(crate) config_id: String,
    /// Url of the interface called.
    pub(crate) agent_url: String,
    /// The request alone shows that it is A2A.
    pub(crate) certain: bool,
}

/// What the answer told, for the call's own row.
#[derive(Default)]
struct Told {
    kind: &'static str,
    glimpse: Glimpse,
    push: Option<PushConfig>,
    error: Option<WireError>,
    /// The answer alone shows that it is A2A.
    is_a2a: bool,
    unknown_wrapper: bool,
    dialect: Option<Dialect>,
    stream_events: Option<i64>,
    stream_end: &'static str,
}

/// Adds the facts of a call. A call that neither request nor answer shows to be A2A yields its row back, for the caller to
/// keep if the same address is found to speak A2A.
pub(crate) fn facts(
    seen: &Seen<'_>,
    call: &Call<'_>,
    answer: &Answer<'_>,
    patterns: &Patterns,
    facts: &mut Facts,
) -> Understood {
    let asked = request::read(call.params, call.operation, call.dialect, patterns);
    let mut found = Facts::default();
    let told = Teller { seen, call, asked: &asked, patterns, facts: &mut found }.tell(answer);
    let own = row(seen, call, &asked, &told, answer, patterns);
    let row = ExchangeRow { common: call_common(seen, call, &asked, seen.started()), own };
    if !(call.certain || told.is_a2a) {
        return Understood::Unsure(Box::new(row));
    }
    facts.append(found);
    facts.push_exchange(row);
    Understood::A2a { unknown_wrapper: told.unknown_wrapper }
}

fn call_common(seen: &Seen<'_>, call: &Call<'_>, asked: &Asked, at: Instant) -> crate::tables::Common {
    let tenant =
        if asked.tenant.is_empty() { seen.place.query("tenant").unwrap_or_default() } else { asked.tenant.clone() };
    crate::tables::Common { tenant, ..seen.common(at, &call.agent_url) }
}

/// Turns an answer into rows, and remembers what the call's own row needs.
struct Teller<'a> {
    seen: &'a Seen<'a>,
    call: &'a Call<'a>,
    asked: &'a Asked,
    patterns: &'a Patterns,
    facts: &'a mut Facts,
}

impl Teller<'_> {
    fn tell(&mut self, answer: &Answer<'_>) -> Told {
        match answer {
            Answer::None | Answer::Unread => Told { kind: "none", ..Told::default() },
            Answer::Error(error) => {
                Told { kind: "error", is_a2a: error.is_a2a, error: Some(error.clone()), ..Told::default() }
            }
            Answer::Result(result) => self.result(result),
            Answer::Stream(events) => self.stream(events),
        }
    }

    fn result(&mut self, result: &Value) -> Told {
        let Read { payload, unknown_wrapper } = payload::read(result, false);
        let polls = self.call.operation.is_some_and(Operation::polls);
        let glimpse = self.payload(payload, if polls { "poll" } else { "reply" }, None, self.seen.ended());
        let kind = match payload {
            Payload::Task(_) => "task",
            Payload::Message(_) => "message",
            Payload::Tasks(_) => "tasks",
            Payload::PushConfig(_) => "push-config",
            Payload::Card(_) => "card",
            Payload::Status(_) | Payload::Artifact(_) => "events",
            Payload::Empty => "empty",
            Payload::Unknown => "",
        };
        let push = match payload {
            Payload::PushConfig(config) => PushConfig::read(config),
            _ => None,
        };
        let is_a2a = !matches!(payload, Payload::Empty | Payload::Unknown);
        let dialect = payload::dialect_of(payload);
        Told { kind, glimpse, push, is_a2a, unknown_wrapper, dialect, ..Told::default() }
    }

    fn stream(&mut self, events: &[super::stream::StreamEvent]) -> Told {
        let mut told = Told { kind: "events", stream_events: i64::try_from(events.len()).ok(), ..Told::default() };
        let mut last = LastSeen::default();
        for (ordinal, event) in events.iter().enumerate() {
            let result = match answer::inside(&event.value, self.call.dialect) {
                Some(Ok(result)) if !event.is_error => result,
                Some(Err(error)) => {
                    told.is_a2a |= error.is_a2a;
                    told.error = Some(error);
                    last.error = true;
                    continue;
                }
                _ if event.is_error => {
                    told.error = Some(WireError::of_http(None, &event.value, "", self.call.dialect));
                    last.error = true;
                    continue;
                }
                _ => continue,
            };
            let Read { payload, unknown_wrapper } = payload::read(result, true);
            let at = event.at.unwrap_or_else(|| self.seen.ended());
            let glimpse = self.payload(payload, "stream", i64::try_from(ordinal).ok(), at);
            told.unknown_wrapper |= unknown_wrapper;
            told.is_a2a |= !matches!(payload, Payload::Empty | Payload::Unknown);
            told.dialect = told.dialect.or_else(|| payload::dialect_of(payload));
            last.message = matches!(payload, Payload::Message(_));
            if !glimpse.state.is_empty() {
                last.state = glimpse.state;
            }
            merge(&mut told.glimpse, glimpse);
        }
        told.stream_end = last.end(self.seen.exchange);
        told
    }

    fn payload(&mut self, payload: Payload<'_>, origin: &'static str, ordinal: Option<i64>, at: Instant) -> Glimpse {
        let common = call_common(self.seen, self.call, self.asked, at);
        if let Payload::Card(card) = payload {
            let look = CardLook {
                common,
                url: &self.seen.place.url,
                origin: "call",
                http_status: self.seen.exchange.status,
                headers: &self.seen.exchange.response_headers,
                extended: true,
                body: Some(card),
                raw: None,
            };
            card::facts(&look, self.facts);
            return Glimpse::default();
        }
        let lists = self.call.operation == Some(Operation::ListTasks);
        let wanted = self.asked.wants_artifacts || self.seen.place.query("includeArtifacts").as_deref() == Some("true");
        let sighting = Sighting {
            common,
            origin,
            operation: self.call.operation.map(Operation::as_str).unwrap_or_default(),
            skill_id: &self.asked.skill.id,
            server_address: &self.seen.exchange.server,
            ordinal,
            lists_artifacts: !lists || wanted,
            patterns: self.patterns,
        };
        task::rows(payload, &sighting, self.facts)
    }
}

/// Keeps the first task and context of a stream and the last state.
fn merge(into: &mut Glimpse, next: Glimpse) {
    if into.task_id.is_empty() {
        into.task_id = next.task_id;
    }
    if into.context_id.is_empty() {
        into.context_id = next.context_id;
    }
    if !next.state.is_empty() {
        into.state = next.state;
    }
}

fn row(
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
    own.push_scheme.clone_from(&config.scheme);
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
