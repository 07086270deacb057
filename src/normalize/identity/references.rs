//! References to agents, each read once, and what they mean now.
//!
//! In: references as they first come and last go, and what the directory regrouped. Out: the references that mean another
//! agent than before.

use std::collections::{BTreeSet, HashMap};

use super::directory::{Aliases, Directory, Name, Reference, Regrouped};
use super::relation::{Key, NO_KEY};

/// References that facts have.
#[derive(Debug, Clone, Default)]
pub(super) struct References {
    meanings: HashMap<Key, Meaning>,
    /// References that are places, by authority.
    by_authority: BTreeSet<(String, Key)>,
    /// References that are names.
    named: BTreeSet<Key>,
    /// References of which nothing is known yet.
    fresh: Vec<Key>,
}

/// What a reference means.
#[derive(Debug, Clone)]
pub(super) struct Meaning {
    pub(super) reference: Reference,
    /// The agent, if the reference alone says so.
    pub(super) agent: Option<Name>,
    /// The agent of a name, if nothing else says so.
    pub(super) by_name: Option<Name>,
}

impl References {
    /// What a reference means.
    pub(super) fn get(&self, key: Key) -> Option<&Meaning> {
        self.meanings.get(&key)
    }

    /// A fact with this reference came; the reference, if it is the first.
    pub(super) fn see(&mut self, key: Key, text: &str) -> Option<&Reference> {
        if key == NO_KEY || self.meanings.contains_key(&key) {
            return None;
        }
        let reference = Reference::parse(text);
        match &reference {
            Reference::Place(site, _) => drop(self.by_authority.insert((site.authority.clone(), key))),
            Reference::Service(_) | Reference::Card(_) => drop(self.named.insert(key)),
            Reference::Missing | Reference::Other(_) => {}
        }
        self.fresh.push(key);
        Some(&self.meanings.entry(key).or_insert(Meaning { reference, agent: None, by_name: None }).reference)
    }

    /// No fact has this reference any more; what it was.
    pub(super) fn forget(&mut self, key: Key) -> Option<Reference> {
        let meaning = self.meanings.remove(&key)?;
        if let Reference::Place(site, _) = &meaning.reference {
            self.by_authority.remove(&(site.authority.clone(), key));
        }
        self.named.remove(&key);
        Some(meaning.reference)
    }

    /// Reads again what may mean another agent; those that do.
    pub(super) fn refresh(&mut self, regrouped: &Regrouped, directory: &Directory, aliases: &Aliases) -> Vec<Key> {
        let mut stale: BTreeSet<Key> = std::mem::take(&mut self.fresh).into_iter().collect();
        for authority in &regrouped.authorities {
            let of_authority = self.by_authority.range((authority.clone(), NO_KEY)..);
            stale.extend(of_authority.take_while(|(known, _)| known == authority).map(|(_, key)| *key));
        }
        // A label may be another though the names on cards are the same.
        if regrouped.names || !regrouped.authorities.is_empty() {
            stale.extend(&self.named);
        }
        stale.retain(|key| {
            let Some(meaning) = self.meanings.get_mut(key) else { return false };
            let agent = directory.by_reference(&meaning.reference, aliases);
            let by_name = directory.by_name(&meaning.reference, aliases);
            let is_other = agent != meaning.agent || by_name != meaning.by_name;
            (meaning.agent, meaning.by_name) = (agent, by_name);
            is_other
        });
        stale.into_iter().collect()
    }
}

#[cfg(test)]
impl References {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.meanings.is_empty() && self.by_authority.is_empty() && self.named.is_empty() && self.fresh.is_empty()
    }
}
