//! Who is who, over the whole set of facts: agents, clients, calls.
//!
//! In: facts with what their records said (`agent_ref`, `client_ref`, trace, span and task ids). Out: the same facts with `agent`, `client` and
//! `call_id` filled. A function of the set: order, batches and repetition change nothing. Never reads message content.

mod agents;
mod calls;
mod clients;
mod directory;
mod entry;
mod known;
mod looks;
mod places;
mod references;
mod relation;
mod retention;
mod routes;
mod site;
mod ties;
mod units;
mod web;

use std::collections::BTreeMap;

pub use known::{Added, Known};
pub use retention::Evicted;

use crate::tables::Facts;

/// What a user knows better than the traffic shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentitySettings {
    /// `host[:port][/base]`, card name or service name -> name of the agent.
    pub agents: BTreeMap<String, String>,
    /// Address without port, or name -> name of the client.
    pub clients: BTreeMap<String, String>,
}

/// Fills `agent`, `client` and `call_id` of every fact.
pub fn resolve(facts: &mut Facts, settings: &IdentitySettings) {
    agents::resolve(facts, &settings.agents);
    calls::resolve(facts);
    clients::resolve(facts, &settings.clients);
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trials;
