//! Log records: own events, records with the attributes of own events, gateways' access logs, sentences of SDKs.
//!
//! In: a [`LogRecord`]. Out: facts that it says by itself, and notes on calls that spans or exchanges may show as well.
//! Keeps no text.

use serde_json::Value;

use crate::decode::record::{Attributes, Exchange, Headers, LogRecord, Observer};
use crate::decode::{python_repr, tree};
use crate::normalize::aliases::{Carrier, Gives, Key, Said};
use crate::normalize::card::{self, CardLook};
use crate::normalize::place::bare_url;
use crate::tables::{Common, Facts, TaskEventColumns, TaskEventRow};

use super::delivery::Note;
use super::failure::Failure;
use super::node::Node;
use super::row::{Seen, first, service_ref};
use super::sentence::{CallNote, ErrorNote, HttpNote, ResolvedNote};
use super::statement::Statement;
use super::{Context, Telemetry, body, own_event};

/// Nesting of a body that is looked into.
const MAX_DEPTH: usize = 6;
/// Members of a body that are looked at.
const MAX_MEMBERS: usize = 512;
/// Calls in one record of a gateway.
const MAX_CALLS: usize = 256;

/// Reads a record.
pub(super) fn read(
    record: &LogRecord,
    context: &Context<'_>,
    telemetry: &mut Telemetry,
    facts: &mut Facts,
) -> Vec<Exchange> {
    let parsed = parsed_body(&record.body);
    let mut exchanges = Vec::new();
    for flat in bodies(parsed.as_ref().unwrap_or(&record.body), context) {
        let mut carrier = Carrier {
            attributes: &record.attributes,
            body: Some(&flat),
            resource: &record.resource,
            scope: &record.scope,
            evidence: false,
        };
        carrier.evidence = record.event_name.starts_with("a2a.") || context.aliases.is_evidence(&carrier);
        let Some(mut seen) = Seen::of_log(record, &carrier, context) else { continue };
        if seen.trace_id.is_empty() {
            seen.trace_id = context.aliases.text(Key::TraceId, &carrier).unwrap_or_default();
            seen.span_id = context.aliases.text(Key::SpanId, &carrier).unwrap_or_default();
        }
        let reader = Reader { record, carrier, seen, context };
        if !own_event::read(&reader, telemetry, facts) {
            exchanges.extend(reader.read(telemetry, facts));
        }
    }
    exchanges
}

/// JSON that a logger wrote as a text.
fn parsed_body(body: &Value) -> Option<Value> {
    let text = body.as_str().filter(|text| text.trim_start().starts_with('{'))?;
    tree::read(text).ok()
}

/// The body as attributes with dotted names; once for each call, where it lists several.
fn bodies(body: &Value, context: &Context<'_>) -> Vec<Attributes> {
    let mut shared = Vec::new();
    flatten("", body, MAX_DEPTH, &mut shared);
    let lists = context.aliases.records().iter().filter_map(|path| {
        let list = path.split('.').try_fold(body, |value, name| value.get(name))?.as_array()?;
        Some((path, list))
    });
    let each: Vec<Attributes> = lists
        .flat_map(|(path, list)| list.iter().take(MAX_CALLS).map(move |call| (path, call)))
        .map(|(path, call)| {
            let mut all = shared.clone();
            flatten(path, call, MAX_DEPTH, &mut all);
            Attributes(all)
        })
        .collect();
    if each.is_empty() { vec![Attributes(shared)] } else { each }
}

fn flatten(name: &str, value: &Value, levels: usize, attributes: &mut Vec<(String, Value)>) {
    let Some(members) = value.as_object().filter(|_| levels > 0) else {
        if !name.is_empty() && attributes.len() < MAX_MEMBERS {
            attributes.push((name.to_owned(), value.clone()));
        }
        return;
    };
    for (inner, value) in members {
        let name = if name.is_empty() { inner.clone() } else { format!("{name}.{inner}") };
        // A payload is one value, whose members are no attributes of the record.
        let levels = if name.ends_with(".request") || name.ends_with(".response") { 0 } else { levels - 1 };
        flatten(&name, value, levels, attributes);
    }
}

/// A record being read.
pub(super) struct Reader<'a> {
    pub(super) record: &'a LogRecord,
    pub(super) carrier: Carrier<'a>,
    pub(super) seen: Seen,
    pub(super) context: &'a Context<'a>,
}

impl Reader<'_> {
    /// A key of the record; empty when it has none.
    pub(super) fn text(&self, key: Key) -> String {
        self.context.aliases.text(key, &self.carrier).unwrap_or_default()
    }

    fn read(&self, telemetry: &mut Telemetry, facts: &mut Facts) -> Option<Exchange> {
        let aliases = self.context.aliases;
        let statement = Statement::read(aliases, &self.carrier);
        if let Some(statement) = statement.filter(|said| said.is_call() && said.gateway) {
            let node = Node::of_access_log(self.seen.clone(), statement, &self.carrier, self.context);
            let taped = body::of_carrier(&node, &self.carrier, self.context);
            if taped.is_none() {
                telemetry.nodes.push(node);
            }
            return taped;
        }
        let sentence = self.record.body.as_str().or_else(|| self.carrier.body?.get("message")?.as_str());
        if let Some(said) = sentence.and_then(|text| aliases.sentence(&self.record.scope, text)) {
            self.sentence(&said, telemetry, facts);
        }
        None
    }

    fn sentence(&self, said: &Said<'_>, telemetry: &mut Telemetry, facts: &mut Facts) {
        let notes = &mut telemetry.notes;
        let url = || bare_url(&first([said.group("url").unwrap_or_default().to_owned(), self.text(Key::Url)]));
        match said.gives {
            Gives::Card => {
                notes.resolved.push(ResolvedNote { seen: self.seen.clone(), url: url() });
                self.card(&url(), said.group("card").and_then(python_repr::to_json), None, facts);
            }
            Gives::CardFailed => {
                let status = self.failure(said).status.and_then(|status| u16::try_from(status).ok());
                // A look that failed without a status is one without a body and without success.
                self.card(&url(), None, Some(status.unwrap_or(0)), facts);
            }
            Gives::PushSent | Gives::PushFailed => {
                let note = self.delivery(said, url(), said.gives == Gives::PushFailed);
                // That something somewhere was not delivered is about no delivery.
                let names = [&note.task_id, &note.url, &note.seen.trace_id];
                if names.iter().any(|name| !name.is_empty()) {
                    notes.deliveries.push(note);
                }
            }
            Gives::PushRejected => notes.receipts.push(Note {
                observer: Observer::Receiver,
                kid: said.group("kid").unwrap_or_default().to_owned(),
                signature: "invalid".to_owned(),
                ..self.delivery(said, String::new(), true)
            }),
            Gives::RequestError | Gives::VersionMismatch => notes.errors.push(self.error(said)),
            Gives::TaskFailed => self.task_failed(said, facts),
            Gives::Call => notes.calls.extend(self.call(said)),
            Gives::HttpCall => notes.http.push(HttpNote {
                seen: self.seen.clone(),
                method: said.group("method").unwrap_or_default().to_owned(),
                url: url(),
                status: said.group("status").and_then(|digits| digits.parse().ok()),
            }),
        }
    }

    /// The record, known to be about A2A by its sentence.
    fn carrier_said(&self) -> Carrier<'_> {
        Carrier { evidence: true, ..self.carrier }
    }

    /// How something failed, by the sentence, the exception logged with it and other attributes.
    fn failure(&self, said: &Said<'_>) -> Failure {
        let mut failure = Failure::of_attributes(&self.carrier_said(), self.context).unwrap_or_default();
        failure.add_text(said.group("error").unwrap_or_default(), self.context);
        failure.code = failure.code.or_else(|| said.group("code")?.parse().ok());
        failure.status = failure.status.or_else(|| said.group("status")?.parse().ok());
        if failure.reason.is_empty() {
            let reason = said.group("exception").and_then(|name| self.context.aliases.reason(name));
            reason.unwrap_or_default().clone_into(&mut failure.reason);
        }
        failure
    }

    fn delivery(&self, said: &Said<'_>, url: String, failed: bool) -> Note {
        let failure = self.failure(said);
        Note {
            seen: self.seen.clone(),
            observer: Observer::Server,
            task_id: first([said.group("task_id").unwrap_or_default().to_owned(), self.text(Key::TaskId)]),
            url,
            config_id: String::new(),
            status: failure.status.filter(|_| failed),
            failed,
            scheme: String::new(),
            kid: String::new(),
            signature: String::new(),
            state: String::new(),
            agent_ref: String::new(),
        }
    }

    fn error(&self, said: &Said<'_>) -> ErrorNote {
        let mut failure = self.failure(said);
        let version = said.group("version").unwrap_or_default();
        if said.gives == Gives::VersionMismatch {
            "VERSION_NOT_SUPPORTED".clone_into(&mut failure.reason);
        }
        ErrorNote {
            seen: self.seen.clone(),
            rpc_id: said.group("rpc_id").filter(|id| *id != "None").unwrap_or_default().to_owned(),
            // A version that was not sent is read as 0.3, and cannot be told from one that was.
            version: if version == "0.3" { String::new() } else { version.to_owned() },
            failure,
        }
    }

    fn call(&self, said: &Said<'_>) -> Option<CallNote> {
        let failure = Some(self.failure(said)).filter(|failure| *failure != Failure::default());
        let (aliases, carrier) = (self.context.aliases, self.carrier_said());
        let statement = Statement::read(aliases, &carrier)?;
        let url = bare_url(&aliases.text(Key::Url, &carrier).unwrap_or_default());
        Some(CallNote { seen: self.seen.clone(), url, statement, failure })
    }

    fn card(&self, url: &str, body: Option<Value>, http_status: Option<u16>, facts: &mut Facts) {
        let mut common = self.seen.of_record(Observer::Client);
        url.clone_into(&mut common.agent_ref);
        common.client_ref.clone_from(&self.seen.service);
        let look = CardLook {
            common,
            url,
            origin: "log",
            http_status,
            headers: &Headers::default(),
            extended: card::is_extended_card_path(url),
            body: body.as_ref(),
            raw: None,
        };
        card::facts(&look, facts);
    }

    /// An agent that threw: its server stores the task as failed, whatever the caller was told.
    fn task_failed(&self, said: &Said<'_>, facts: &mut Facts) {
        let task_id = first([said.group("task_id").unwrap_or_default().to_owned(), self.text(Key::TaskId)]);
        if task_id.is_empty() {
            return;
        }
        let common = Common { agent_ref: service_ref(&self.seen.service), ..self.seen.of_record(Observer::Server) };
        facts.push_task_event(TaskEventRow {
            common,
            own: TaskEventColumns {
                task_id,
                context_id: self.text(Key::ContextId),
                state: "failed".to_owned(),
                reason_class: self.failure(said).class,
                origin: "log".to_owned(),
                ..TaskEventColumns::default()
            },
        });
    }
}
