//! Typed events, as CrewAI writes them: what a client did and was told, one event at a time.
//!
//! In: a record whose attribute `type` names an event of A2A. Out: looks at cards, calls, states, artifacts, deliveries, as
//! `[events]` of the table of names says. Keeps no text.

use serde_json::{Map, Value};

use crate::decode::python_repr;
use crate::decode::record::{Headers, Observer};
use crate::normalize::aliases::Key;
use crate::normalize::card::{self, CardLook};
use crate::normalize::media_type;
use crate::normalize::protocol::operation::Operation;
use crate::normalize::protocol::state;
use crate::tables::{
    ArtifactPartColumns, ArtifactPartRow, Common, ExchangeColumns, ExchangeRow, Facts, TaskEventColumns, TaskEventRow,
};

use super::Telemetry;
use super::delivery::Note;
use super::failure::{Circumstances, Failure};
use super::log::Reader;
use super::row::first;
use super::statement::Statement;

/// States that events of a server name in their type.
const TASK: &str = "task-";

/// Reads an event; false if it is none. Of a type that gives nothing nothing else is read: its words say other things.
pub(super) fn read(reader: &Reader<'_>, telemetry: &mut Telemetry, facts: &mut Facts) -> bool {
    let aliases = reader.context.aliases;
    let kind = reader.attribute("type").and_then(Value::as_str).filter(|kind| aliases.is_event_type(kind));
    let Some(kind) = kind else { return false };
    let Some(gives) = aliases.event(kind) else { return true };
    let event = Event::new(reader);
    match gives {
        "card" => event.card(Some(200), facts),
        "card-failed" => event.card(Some(event.status().unwrap_or(0)), facts),
        "failed" if event.is_of_card() => event.card(Some(event.status().unwrap_or(0)), facts),
        "failed" => event.call(Operation::SendMessage, event.failure(), facts),
        "call" => event.call(Operation::SendMessage, None, facts),
        "push-config" => event.call(Operation::CreateTaskPushNotificationConfig, None, facts),
        "push-sent" => telemetry.notes.deliveries.push(event.delivery()),
        "state" => event.state(&event.said.state_raw.clone(), Observer::Client, "log", facts),
        "artifact" => event.artifact(facts),
        _ => event.state(gives.strip_prefix(TASK).unwrap_or_default(), Observer::Server, "log", facts),
    }
    true
}

struct Event<'a> {
    reader: &'a Reader<'a>,
    said: Statement,
}

impl<'a> Event<'a> {
    fn new(reader: &'a Reader<'a>) -> Self {
        let mut said = Statement::read_all(reader.context.aliases, &reader.carrier);
        // CrewAI writes the id of its own task over that of the protocol's.
        let own = reader.attribute("fingerprint_metadata.task_id").and_then(Value::as_str);
        if own.is_some_and(|own| own == said.task_id) {
            said.task_id.clear();
        }
        Self { reader, said }
    }

    fn common(&self, observer: Observer) -> Common {
        let (said, reader) = (&self.said, self.reader);
        let mut common = reader.seen.of_record(observer);
        let name = if said.agent_name.is_empty() { String::new() } else { format!("name:{}", said.agent_name) };
        if observer == Observer::Client {
            common.agent_ref = first([said.agent_url.clone(), name]);
            common.client_ref.clone_from(&said.client);
        }
        common
    }

    fn status(&self) -> Option<u16> {
        let status = self.reader.context.aliases.number(Key::HttpStatus, &self.reader.carrier)?;
        u16::try_from(status).ok()
    }

    fn failure(&self) -> Option<Failure> {
        let mut failure = Failure::of_attributes(&self.reader.carrier, self.reader.context).unwrap_or_default();
        failure.failed = true;
        failure.timed_out |= self.status().is_none();
        Some(failure)
    }

    fn is_of_card(&self) -> bool {
        let operation = self.reader.attribute("operation").and_then(Value::as_str);
        operation.is_some_and(|operation| operation.contains("card"))
    }

    fn card(&self, http_status: Option<u16>, facts: &mut Facts) {
        let found = |name: &str| self.reader.attribute(name).and_then(Value::as_bool);
        let body = self.reader.body.get("agent_card").filter(|card| card.is_object()).map(without_literals);
        if found("cached") == Some(true) || self.said.agent_url.is_empty() {
            return;
        }
        let look = CardLook {
            common: self.common(Observer::Client),
            url: &self.said.agent_url,
            origin: "log",
            http_status: http_status.filter(|_| body.is_none()),
            headers: &Headers::default(),
            extended: card::is_extended_card_path(&self.said.agent_url),
            body: body.as_ref(),
            raw: None,
        };
        card::facts(&look, facts);
    }

    fn call(&self, operation: Operation, failure: Option<Failure>, facts: &mut Facts) {
        let said = &self.said;
        let status = self.status().map(i64::from);
        let told = |pick: fn(&Failure) -> &String| failure.as_ref().map(pick).cloned().unwrap_or_default();
        let circumstances = Circumstances { status, method: "", operation: Some(operation), dialect: None };
        let own = ExchangeColumns {
            operation: operation.as_str().to_owned(),
            declared_version: said.protocol_version.clone(),
            task_id: said.task_id.clone(),
            context_id: said.context_id.clone(),
            message_id: said.message_id.clone(),
            reference_task_ids: said.reference_task_ids.clone(),
            skill_id: said.skill_id.clone(),
            skill_from: if said.skill_id.is_empty() { String::new() } else { "attribute".to_owned() },
            http_status: status,
            error_reason: told(|failure| &failure.reason),
            error_text_class: told(|failure| &failure.class),
            outcome: failure.as_ref().map(|failure| failure.outcome(&circumstances)).unwrap_or_default().to_owned(),
            reply_kind: if failure.is_some() { "none".to_owned() } else { String::new() },
            push_url: said.push_url.clone(),
            ..ExchangeColumns::default()
        };
        facts.push_exchange(ExchangeRow { common: self.common(Observer::Client), own });
    }

    fn state(&self, word: &str, observer: Observer, origin: &str, facts: &mut Facts) {
        let said = &self.said;
        if said.task_id.is_empty() || word.is_empty() {
            return;
        }
        let reason_class = self.failure().map(|failure| failure.class).unwrap_or_default();
        let own = TaskEventColumns {
            task_id: said.task_id.clone(),
            context_id: said.context_id.clone(),
            skill_id: said.skill_id.clone(),
            state: state::canonical(word).to_owned(),
            state_raw: word.to_owned(),
            reason_class,
            origin: origin.to_owned(),
            ..TaskEventColumns::default()
        };
        facts.push_task_event(TaskEventRow { common: self.common(observer), own });
    }

    fn artifact(&self, facts: &mut Facts) {
        let reader = self.reader;
        let text = |name: &str| reader.attribute(name).and_then(Value::as_str).unwrap_or_default();
        let flag = |name: &str| reader.attribute(name).and_then(Value::as_bool);
        // The kind of a part stands where its type belongs, if it has none.
        let (media_type, kind) = match text("mime_type") {
            typed if typed.contains('/') => (media_type::canonical(typed), ""),
            kind => (String::new(), kind),
        };
        let own = ArtifactPartColumns {
            task_id: self.said.task_id.clone(),
            context_id: self.said.context_id.clone(),
            skill_id: self.said.skill_id.clone(),
            artifact_id: reader.text(Key::ArtifactId),
            part_kind: if matches!(kind, "text" | "data") { kind.to_owned() } else { String::new() },
            media_type_from: if media_type.is_empty() { "absent" } else { "declared" }.to_owned(),
            media_type,
            append: flag("append"),
            last_chunk: flag("last_chunk"),
            size: reader.attribute("size_bytes").and_then(Value::as_i64).filter(|size| *size >= 0),
            origin: "log".to_owned(),
            snapshot: Some(false),
            action: "received".to_owned(),
            ..ArtifactPartColumns::default()
        };
        if !own.task_id.is_empty() && !own.artifact_id.is_empty() {
            facts.push_artifact_part(ArtifactPartRow { common: self.common(Observer::Client), own });
        }
    }

    fn delivery(&self) -> Note {
        let failed = self.reader.attribute("success").and_then(Value::as_bool) == Some(false);
        let failure = self.failure().unwrap_or_default();
        Note {
            seen: self.reader.seen.clone(),
            observer: Observer::Server,
            task_id: self.said.task_id.clone(),
            url: self.said.push_url.clone(),
            config_id: String::new(),
            status: self.status().map(i64::from).or(failure.status).filter(|_| failed),
            failed,
            scheme: String::new(),
            kid: String::new(),
            signature: String::new(),
            state: if self.said.state_raw.is_empty() { "" } else { state::canonical(&self.said.state_raw) }.to_owned(),
            agent_ref: String::new(),
        }
    }
}

/// A card in which CrewAI wrote the members of skills as Python literals.
fn without_literals(card: &Value) -> Value {
    let mut card = card.clone();
    let skills = card.get_mut("skills").and_then(Value::as_array_mut);
    for skill in skills.into_iter().flatten().filter_map(Value::as_object_mut).filter(|skill| is_literal(skill)) {
        for value in skill.values_mut() {
            if let Some(read) = value.as_str().and_then(python_repr::to_json) {
                *value = read;
            }
        }
    }
    card
}

fn is_literal(skill: &Map<String, Value>) -> bool {
    skill.get("id").and_then(Value::as_str).is_some_and(|id| id.len() > 2 && id.starts_with('\'') && id.ends_with('\''))
}
