//! What the attributes of a span or log record say about a call and its task, whoever emitted them.
//!
//! In: attributes seen through the table of names. Out: a [`Statement`]. Never decides who is right.

use serde::{Deserialize, Serialize};

use crate::decode::record::Observer;
use crate::normalize::aliases::{Aliases, Carrier, Key};
use crate::normalize::credential::principal_of;
use crate::normalize::hook_url::hook_url;
use crate::normalize::place::{agent_url, bare_url};
use crate::normalize::protocol::operation::{self, Dialect, Operation};

/// What was said. Empty texts are unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Statement {
    pub(super) operation_raw: String,
    pub(super) rpc_id: String,
    pub(super) message_id: String,
    pub(super) task_id: String,
    pub(super) context_id: String,
    pub(super) reference_task_ids: Option<Vec<String>>,
    pub(super) protocol_version: String,
    pub(super) binding: String,
    pub(super) streaming: Option<bool>,
    pub(super) stream_events: Option<i64>,
    pub(super) tenant: String,
    pub(super) principal: String,
    pub(super) skill_id: String,
    pub(super) push_url: String,
    pub(super) push_config_id: String,
    pub(super) state_raw: String,
    pub(super) agent_url: String,
    pub(super) agent_name: String,
    pub(super) client: String,
    pub(super) observer: Option<Observer>,
    pub(super) observer_name: String,
    pub(super) local: bool,
    pub(super) gateway: bool,
}

impl Statement {
    /// Reads attributes; none if nothing in them is about A2A.
    pub(super) fn read(aliases: &Aliases, carrier: &Carrier<'_>) -> Option<Self> {
        if !carrier.evidence {
            return None;
        }
        let statement = Self::read_all(aliases, carrier);
        (statement.is_call() || !statement.task_id.is_empty() || !statement.protocol_version.is_empty())
            .then_some(statement)
    }

    /// Reads all that attributes say, however little it is.
    pub(super) fn read_all(aliases: &Aliases, carrier: &Carrier<'_>) -> Self {
        let text = |key| aliases.text(key, carrier).unwrap_or_default();
        let observer = aliases.find(Key::Observer, carrier, |value| Observer::parse(value.as_str()?));
        Self {
            operation_raw: unquoted(text(Key::Operation)),
            rpc_id: text(Key::RpcId),
            message_id: text(Key::MessageId),
            task_id: unquoted(text(Key::TaskId)),
            context_id: unquoted(text(Key::ContextId)),
            reference_task_ids: aliases.texts(Key::ReferenceTaskIds, carrier),
            protocol_version: text(Key::ProtocolVersion),
            binding: binding(&text(Key::Binding)),
            streaming: aliases.flag(Key::Streaming, carrier),
            stream_events: aliases.number(Key::StreamEvents, carrier).filter(|count| *count >= 0),
            tenant: text(Key::Tenant),
            principal: aliases.text(Key::Principal, carrier).map(|subject| principal_of(&subject)).unwrap_or_default(),
            skill_id: text(Key::SkillId),
            push_url: hook_url(&bare_url(&text(Key::PushUrl))),
            push_config_id: text(Key::PushConfigId),
            state_raw: state(aliases, carrier),
            agent_url: agent_url(&text(Key::AgentUrl)),
            agent_name: text(Key::AgentName),
            client: text(Key::Client),
            observer,
            observer_name: text(Key::ObserverName),
            local: aliases.flag(Key::Local, carrier).unwrap_or(false) || says_client(aliases, carrier),
            gateway: aliases.is_gateway(carrier),
        }
    }

    /// Whether it is about a call, rather than a task alone.
    pub(super) fn is_call(&self) -> bool {
        !self.operation_raw.is_empty()
    }

    /// The operation, if it is one of A2A.
    pub(super) fn operation(&self) -> Option<Operation> {
        Operation::from_name(&self.operation_raw)
    }

    /// The vocabulary spoken. A name that the agent refused stands as it was on the wire and speaks for itself;
    /// conventions name the others canonically, so the version goes before the name.
    pub(super) fn dialect(&self, refused: bool) -> Option<Dialect> {
        let by_version = match self.protocol_version.as_str() {
            version if version.starts_with("0.1") => Some(Dialect::V01),
            version if version.starts_with("0.2") || version.starts_with("0.3") => Some(Dialect::V03),
            version if version.starts_with("1.") => Some(Dialect::V10),
            _ => None,
        };
        let by_name = operation::by_rpc_method(&self.operation_raw).and_then(|(_, dialect)| dialect);
        if refused { by_name.or(by_version) } else { by_version.or(by_name) }
    }

    /// Takes what another statement about the same call knows and this one does not.
    pub(super) fn fill(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.operation_raw, &other.operation_raw),
            (&mut self.rpc_id, &other.rpc_id),
            (&mut self.message_id, &other.message_id),
            (&mut self.task_id, &other.task_id),
            (&mut self.context_id, &other.context_id),
            (&mut self.protocol_version, &other.protocol_version),
            (&mut self.binding, &other.binding),
            (&mut self.tenant, &other.tenant),
            (&mut self.principal, &other.principal),
            (&mut self.skill_id, &other.skill_id),
            (&mut self.push_url, &other.push_url),
            (&mut self.push_config_id, &other.push_config_id),
            (&mut self.state_raw, &other.state_raw),
            (&mut self.agent_url, &other.agent_url),
            (&mut self.agent_name, &other.agent_name),
            (&mut self.client, &other.client),
            (&mut self.observer_name, &other.observer_name),
        ] {
            if mine.is_empty() {
                mine.clone_from(theirs);
            }
        }
        self.reference_task_ids = self.reference_task_ids.take().or_else(|| other.reference_task_ids.clone());
        self.streaming = self.streaming.or(other.streaming);
        self.stream_events = self.stream_events.or(other.stream_events);
        self.observer = self.observer.or(other.observer);
        self.local |= other.local;
        self.gateway |= other.gateway;
    }
}

/// Binding by the word of an RPC system; gateways write the binding itself.
fn binding(word: &str) -> String {
    match word.to_ascii_lowercase().as_str() {
        "jsonrpc" | "json-rpc" => "jsonrpc",
        "rest" | "http" | "http+json" => "http+json",
        "grpc" => "grpc",
        _ => "",
    }
    .to_owned()
}

/// Only of an event about a task do the words `state` and `status` name the task's.
fn state(aliases: &Aliases, carrier: &Carrier<'_>) -> String {
    let typed = || aliases.is_typed(carrier).then(|| aliases.text(Key::EventState, carrier)).flatten();
    aliases.text(Key::TaskState, carrier).or_else(typed).unwrap_or_default()
}

/// A state of which the client is the source is its own verdict, not what a server answered.
fn says_client(aliases: &Aliases, carrier: &Carrier<'_>) -> bool {
    aliases.text(Key::StateSource, carrier).is_some_and(|word| Observer::parse(&word) == Some(Observer::Client))
}

/// Rust's debug format puts ids in quotes.
fn unquoted(text: String) -> String {
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.to_owned(),
        None => text,
    }
}
