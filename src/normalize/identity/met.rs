//! Which of a user's references lead to something.
//!
//! In: facts and the names that a user gave. Out: the references among these that a fact bears out.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::IdentitySettings;
use super::directory::Reference;
use super::site::Site;
use crate::tables::Facts;

/// References that name something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Met {
    /// Of agents.
    pub agents: BTreeSet<String>,
    /// Of clients.
    pub clients: BTreeSet<String>,
}

/// The references of a user that facts have, whose identities are resolved or not.
pub fn met(facts: &Facts, settings: &IdentitySettings) -> Met {
    let agents: HashSet<&str> = facts.commons().map(|common| common.agent_ref.as_str()).collect();
    let interfaces = facts.card_endpoints.iter().map(|row| row.own.url.as_str());
    let cards = facts.cards.iter().map(|row| row.own.name.as_str());
    let mut seen = Seen::default();
    agents.into_iter().chain(interfaces).for_each(|text| seen.take(text));
    seen.names.extend(cards.map(str::to_owned));
    let clients: HashSet<&str> =
        facts.commons().flat_map(|common| [common.client_ref.as_str(), common.client.as_str()]).collect();
    let is_client = |key: &&String| {
        let name = &settings.clients[*key];
        clients.contains(key.as_str()) || clients.contains(name.as_str())
    };
    Met {
        agents: keys(&settings.agents).filter(|key| seen.has(key)).cloned().collect(),
        clients: keys(&settings.clients).filter(is_client).cloned().collect(),
    }
}

fn keys(names: &BTreeMap<String, String>) -> impl Iterator<Item = &String> {
    names.keys()
}

/// What facts refer to.
#[derive(Default)]
struct Seen {
    places: BTreeSet<Site>,
    names: BTreeSet<String>,
}

impl Seen {
    fn take(&mut self, text: &str) {
        match Reference::parse(text) {
            Reference::Missing => {}
            Reference::Service(name) | Reference::Card(name) | Reference::Other(name) => drop(self.names.insert(name)),
            Reference::Place(site, _) => drop(self.places.insert(site)),
        }
    }

    /// A host is met by all its places, a path by itself and what is below.
    fn has(&self, key: &str) -> bool {
        let at_or_below = |site: &Site| {
            self.places
                .range(Site::first(&site.authority)..)
                .take_while(|place| place.authority == site.authority)
                .any(|place| site.holds(place))
        };
        self.names.contains(key) || Site::parse(key).is_some_and(|site| at_or_below(&site))
    }
}
