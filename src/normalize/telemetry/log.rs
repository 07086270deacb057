//! Log records: own events, records with the attributes of own events, gateways' access logs, sentences of SDKs.
//!
//! In: a [`LogRecord`]. Out: facts that it says by itself, and notes on calls that spans or exchanges may show as well.
//! Keeps no text.

use serde_json::Value;

use crate::decode::record::{Attributes, Exchange, Headers, LogRecord, Observer};
use crate::decode::{access_log, python_repr, tree};
use crate::normalize::aliases::{Aliases, Carrier, Gives, Key, Said};
use crate::normalize::card::{self, CardLook};
use crate::normalize::hook_url::hook_url;
use crate::normalize::place::bare_url;
use crate::tables::{Common, Facts, TaskEventColumns, TaskEventRow};

use super::delivery::Note;
use super::failure::Failure;
use super::row::{Seen, first, service_ref};
use super::sentence::{CallNote, ErrorNote, HttpNote, ResolvedNote};
use super::statement::Statement;
use super::{Context, Telemetry, access, event, own_event};

/// Nesting of a body that is looked into.
const MAX_DEPTH: usize = 6;
/// Members of a body that are looked at.
const MAX_MEMBERS: usize = 512;
/// Longest name, in bytes, that stands before those of an object's members: they all repeat it.
const LONGEST_NAME: usize = 256;
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
    let body = parsed.as_ref().unwrap_or(&record.body);
    let is_access = record.event_name == access_log::EVENT;
    let said = sentence(record, body).and_then(|text| context.aliases.sentence(&record.scope, text));
    // Most lines of most logs are about something else, and cost no more than this.
    if !is_access && said.is_none() && !is_about_a2a(record, body, context.aliases) {
        return Vec::new();
    }
    let mut exchanges = Vec::new();
    each_body(body, context, |flat| {
        let mut carrier = Carrier {
            attributes: &record.attributes,
            body: Some(flat),
            resource: &record.resource,
            scope: &record.scope,
            evidence: false,
        };
        // A sentence that tells of a call is evidence of its own.
        let says_call = said.as_ref().is_some_and(|said| said.gives == Gives::Call);
        carrier.evidence = says_call || record.event_name.starts_with("a2a.") || context.aliases.is_evidence(&carrier);
        let Some(mut seen) = Seen::of_log(record, &carrier, context) else { return };
        if seen.trace_id.is_empty() {
            seen.trace_id = context.aliases.text(Key::TraceId, &carrier).unwrap_or_default();
            seen.span_id = context.aliases.text(Key::SpanId, &carrier).unwrap_or_default();
        }
        let reader = Reader { record, body, carrier, seen, context };
        if is_access {
            exchanges.extend(access::read(&reader, telemetry));
        } else if !event::read(&reader, telemetry, facts) && !own_event::read(&reader, telemetry, facts) {
            exchanges.extend(reader.read(said.as_ref(), telemetry, facts));
        }
    });
    exchanges
}

/// JSON that a logger wrote as a text.
fn parsed_body(body: &Value) -> Option<Value> {
    let text = body.as_str().filter(|text| text.trim_start().starts_with('{'))?;
    tree::read(text).ok()
}

/// The sentence of a record: its body, or what a logger of objects calls the message.
fn sentence<'r>(record: &'r LogRecord, body: &'r Value) -> Option<&'r str> {
    let named = || body.get("message").or_else(|| record.attributes.get("message"))?.as_str();
    body.as_str().or_else(named)
}

/// Whether anything about a record says that it is about A2A, without taking it apart.
fn is_about_a2a(record: &LogRecord, body: &Value, aliases: &Aliases) -> bool {
    let carrier = Carrier {
        attributes: &record.attributes,
        body: None,
        resource: &record.resource,
        scope: &record.scope,
        evidence: false,
    };
    let typed = || body.get("type").and_then(Value::as_str).is_some_and(|kind| aliases.is_event_type(kind));
    record.event_name.starts_with("a2a.")
        || aliases.is_evidence(&carrier)
        || typed()
        || names_a2a(body, aliases, &mut String::new(), MAX_DEPTH)
}

fn names_a2a(value: &Value, aliases: &Aliases, name: &mut String, levels: usize) -> bool {
    let Some(members) = value.as_object().filter(|_| levels > 0) else { return false };
    members.iter().take(MAX_MEMBERS).any(|(key, value)| {
        let length = name.len();
        if length > 0 {
            name.push('.');
        }
        name.push_str(key);
        let names = aliases.is_evidence_name(name)
            || matches!((name.as_str(), value.as_str()), ("rpc.service" | "rpc.method", Some(service)) if aliases.is_service_name(service))
            || names_a2a(value, aliases, name, levels - 1);
        name.truncate(length);
        names
    })
}

/// Reads the body as attributes with dotted names; once for each call, where it lists several. What they share is not
/// copied for each: it may be long.
fn each_body(body: &Value, context: &Context<'_>, mut read: impl FnMut(&Attributes)) {
    let mut flat = Attributes::default();
    flatten("", body, MAX_DEPTH, &mut flat.0);
    let shared = flat.0.len();
    let lists = context.aliases.records().iter().filter_map(|path| {
        let list = path.split('.').try_fold(body, |value, name| value.get(name))?.as_array()?;
        Some((path, list))
    });
    let mut calls = lists.flat_map(|(path, list)| list.iter().take(MAX_CALLS).map(move |call| (path, call))).peekable();
    if calls.peek().is_none() {
        return read(&flat);
    }
    for (path, call) in calls {
        flat.0.truncate(shared);
        flatten(path, call, MAX_DEPTH, &mut flat.0);
        read(&flat);
    }
}

fn flatten(name: &str, value: &Value, levels: usize, attributes: &mut Vec<(String, Value)>) {
    if attributes.len() >= MAX_MEMBERS {
        return;
    }
    let Some(members) = value.as_object().filter(|_| levels > 0 && name.len() <= LONGEST_NAME) else {
        if !name.is_empty() {
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
    /// The body, read if it was JSON in a text.
    pub(super) body: &'a Value,
    pub(super) carrier: Carrier<'a>,
    pub(super) seen: Seen,
    pub(super) context: &'a Context<'a>,
}

impl Reader<'_> {
    /// A key of the record; empty when it has none.
    pub(super) fn text(&self, key: Key) -> String {
        self.context.aliases.text(key, &self.carrier).unwrap_or_default()
    }

    /// An attribute, or a member of the body by its dotted name.
    pub(super) fn attribute(&self, name: &str) -> Option<&Value> {
        let Carrier { attributes, body, .. } = self.carrier;
        attributes.get(name).or_else(|| body?.get(name))
    }

    fn read(&self, said: Option<&Said<'_>>, telemetry: &mut Telemetry, facts: &mut Facts) -> Option<Exchange> {
        let statement = Statement::read(self.context.aliases, &self.carrier);
        if statement.is_some_and(|said| said.is_call() && said.gateway) {
            return access::read(self, telemetry);
        }
        if let Some(said) = said {
            self.sentence(said, telemetry, facts);
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
                let note = self.delivery(said, hook_url(&url()), said.gives == Gives::PushFailed);
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
