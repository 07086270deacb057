//! A call and its answer to rows.
//!
//! In: a call of any binding with its answer. Out: its row of `exchanges`, and the states, artifacts and cards that the
//! answer told.

use serde_json::Value;

use super::answer::{self, Answer};
use super::stream::{LastSeen, StreamEvent};
use super::{Seen, Understood, row};
use crate::instant::Instant;
use crate::normalize::card::{self, CardLook};
use crate::normalize::patterns::Patterns;
use crate::normalize::protocol::error::WireError;
use crate::normalize::protocol::operation::{Dialect, Operation};
use crate::normalize::protocol::payload::{self, Payload, Read};
use crate::normalize::protocol::push_config::PushConfig;
use crate::normalize::protocol::request::{self, Asked};
use crate::normalize::task::{self, Glimpse, Sighting};
use crate::tables::{Common, ExchangeRow, Facts};

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
pub(crate) struct Told {
    pub(crate) kind: &'static str,
    pub(crate) glimpse: Glimpse,
    pub(crate) push: Option<PushConfig>,
    pub(crate) error: Option<WireError>,
    /// The answer alone shows that it is A2A.
    pub(crate) is_a2a: bool,
    pub(crate) unknown_wrapper: bool,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) stream_events: Option<i64>,
    pub(crate) stream_end: &'static str,
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
    let mut teller = Teller { seen, call, asked: &asked, patterns, facts: &mut found };
    let told = teller.tell(answer);
    if call.operation == Some(Operation::GetExtendedAgentCard) && call.binding == "http+json" && told.kind != "card" {
        teller.card_look(None, call_common(seen, call, &asked, seen.ended()));
    }
    let own = row::columns(seen, call, &asked, &told, answer, patterns);
    let row = ExchangeRow { common: call_common(seen, call, &asked, seen.started()), own };
    if !(call.certain || told.is_a2a) {
        return Understood::Unsure(Box::new(row));
    }
    facts.append(found);
    facts.push_exchange(row);
    Understood::A2a { unknown_wrapper: told.unknown_wrapper }
}

fn call_common(seen: &Seen<'_>, call: &Call<'_>, asked: &Asked, at: Instant) -> Common {
    let tenant =
        if asked.tenant.is_empty() { seen.place.query("tenant").unwrap_or_default() } else { asked.tenant.clone() };
    Common { tenant, ..seen.common(at, &call.agent_url) }
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
        let is_a2a = !unknown_wrapper && !matches!(payload, Payload::Empty | Payload::Unknown);
        let dialect = payload::dialect_of(payload);
        Told { kind, glimpse, push, is_a2a, unknown_wrapper, dialect, ..Told::default() }
    }

    fn stream(&mut self, events: &[StreamEvent]) -> Told {
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

    /// A look at the extended card. Over HTTP it has an address of its own, so a refused or unchanged one is a look, too.
    fn card_look(&mut self, body: Option<&Value>, common: Common) {
        let exchange = self.seen.exchange;
        let over_http = self.call.binding != "jsonrpc";
        let look = CardLook {
            common,
            url: &self.seen.place.url,
            origin: "call",
            http_status: exchange.status,
            headers: &exchange.response_headers,
            extended: true,
            body,
            raw: exchange.response_body.as_text().map(str::as_bytes).filter(|_| over_http && body.is_some()),
        };
        card::facts(&look, self.facts);
    }

    fn payload(&mut self, payload: Payload<'_>, origin: &'static str, ordinal: Option<i64>, at: Instant) -> Glimpse {
        let common = call_common(self.seen, self.call, self.asked, at);
        if let Payload::Card(card) = payload {
            self.card_look(Some(card), common);
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
