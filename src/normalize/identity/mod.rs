//! Who is who, over the whole set of facts: agents, clients, calls.
//!
//! In: facts with what their records said (`agent_ref`, `client_ref`, trace, span and task ids). Out: the same facts with `agent`, `client` and
//! `call_id` filled. A function of the set: order, batches and repetition change nothing. Never reads message content.

mod agents;
mod called;
mod calls;
mod clients;
mod directory;
mod entry;
mod known;
mod looks;
mod met;
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
pub use met::{Met, met};
pub use retention::Evicted;

use crate::tables::Facts;
use site::Site;

/// What a user knows better than the traffic shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdentitySettings {
    /// `host[:port][/base]`, card name or service name -> name of the agent.
    pub agents: BTreeMap<String, String>,
    /// Address without port, or name -> name of the client.
    pub clients: BTreeMap<String, String>,
}

/// The spelling under which a place is looked up, of a url or address as people paste them; none of what can be no place.
pub fn as_place(reference: &str) -> Option<String> {
    let is_spelled = reference.contains(char::is_whitespace);
    Site::parse(reference).filter(|_| !is_spelled).map(|site| site.card_base().to_string())
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
