//! A fact that is known, with what its identity was made of.
//!
//! In: a row as its record gave it. Out: the keys that it shares with others, and what it said under them last.

use super::agents::call_key;
use super::calls::{is_taped, request_key};
use super::clients::{is_name, may_take_a_name};
use super::directory::Name;
use super::relation::{Key, Keys, NO_KEY};
use crate::tables::Fact;

/// A fact and its part in the relations.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// The row; `agent`, `client` and `call_id` as they were last told.
    pub(super) fact: Fact,
    /// `call_id` as its record gave it.
    pub(super) given_call: String,
    pub(super) keys: EntryKeys,
    /// The agent that the record itself names.
    pub(super) place: Option<Name>,
    /// Agents that its name seems to mean: by its call or trace, and by its task.
    pub(super) means: [Option<Name>; 2],
    /// The agent without looking at what its task was given.
    pub(super) found: Option<Name>,
    /// Whether its tap saw several requests under its span.
    pub(super) is_several: bool,
    /// The call that an exchange is, before its record is looked at.
    pub(super) own_call: Option<Name>,
    /// The name that its call or trace gives its caller.
    pub(super) caller: Option<Name>,
}

/// Keys that a fact shares with others.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryKeys {
    /// The reference to the agent.
    pub(super) reference: Key,
    /// The exact key under which another observer may have seen the same call.
    pub(super) call: Key,
    pub(super) trace: Key,
    /// The task, of a table that names tasks.
    pub(super) task: Key,
    /// The span of an exchange's call.
    pub(super) span: Key,
    /// The same as one tap sees it.
    pub(super) tap: Key,
    pub(super) record: Key,
    /// The caller as given.
    pub(super) address: Key,
    /// The call as resolved.
    pub(super) resolved: Key,
    /// The trace as far as it concerns the agent.
    pub(super) trace_of_agent: Key,
    /// What it stays or goes with.
    pub(super) unit: Key,
}

impl Entry {
    /// A fact of which nothing is resolved.
    pub(super) fn new(mut fact: Fact, keys: &Keys) -> Self {
        let common = fact.common_mut();
        common.agent.clear();
        common.client.clear();
        let call = keys.some(&call_key(common));
        let given_call = std::mem::take(&mut common.call_id);
        let common = fact.common();
        let mut own = EntryKeys {
            reference: keys.some(&common.agent_ref),
            call,
            trace: keys.some(&common.trace_id),
            task: fact.task_id().map_or(NO_KEY, |task| keys.some(task)),
            record: keys.some(&common.record_id),
            address: if may_take_a_name(common) { keys.some(&common.client_ref) } else { NO_KEY },
            ..EntryKeys::default()
        };
        let seen = seen_call(&fact, &given_call);
        if matches!(fact, Fact::Exchange(_)) && seen.starts_with("span:") {
            own.span = keys.of(&[&seen]);
            own.tap = keys.of(&[&seen, &common.observer, &common.observer_name]);
        }
        Self {
            fact,
            given_call,
            keys: own,
            place: None,
            means: [None, None],
            found: None,
            is_several: false,
            own_call: None,
            caller: None,
        }
    }

    /// The row as its record gave it.
    pub(super) fn given(&self) -> Fact {
        let mut fact = self.fact.clone();
        fact.common_mut().call_id.clone_from(&self.given_call);
        fact
    }

    /// The call by the record alone; `''` if it does not say.
    pub(super) fn seen_call(&self) -> String {
        seen_call(&self.fact, &self.given_call)
    }

    /// What an exchange says under its tap: its request.
    pub(super) fn request(&self) -> Option<String> {
        match &self.fact {
            Fact::Exchange(row) if self.keys.tap != NO_KEY => Some(request_key(row)),
            _ => None,
        }
    }

    /// The name that the caller gave itself.
    pub(super) fn given_name(&self) -> Option<&str> {
        let common = self.fact.common();
        (may_take_a_name(common) && is_name(&common.client_ref)).then_some(&common.client_ref)
    }

    /// Whether it takes the name that another fact gives its caller.
    pub(super) fn wants_name(&self) -> bool {
        let common = self.fact.common();
        may_take_a_name(common) && !is_name(&common.client_ref)
    }
}

fn seen_call(fact: &Fact, given: &str) -> String {
    let common = fact.common();
    if given.is_empty() && !common.span_id.is_empty() && is_taped(common) {
        format!("span:{}", common.span_id)
    } else {
        given.to_owned()
    }
}
