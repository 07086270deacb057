//! The newest card of each agent, and since when it is what it is.
//!
//! In: looks at basic cards. Out: version and fingerprint of the newest, and the first look of the unbroken run that showed
//! the same.

use std::collections::{BTreeMap, HashMap};

use super::ids::{Id, Word};
use crate::instant::Instant;

/// Digits of a fingerprint that are shown: enough to tell the cards of one agent apart.
const SHOWN_DIGITS: usize = 12;

#[derive(Debug, Clone, Default)]
pub(super) struct Cards {
    agents: BTreeMap<Word, BTreeMap<(Instant, Id), Shape>>,
    /// Agent and time of each look.
    looks: HashMap<Id, (Word, Instant)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape {
    version: Word,
    fingerprint: Word,
}

/// What is shown of an agent's card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Newest {
    pub(super) version: Word,
    pub(super) fingerprint: Word,
    /// First look of the run that showed it.
    pub(super) since: Instant,
}

impl Cards {
    /// A look at a card, or one that is now known to be at the card of this agent.
    pub(super) fn look(&mut self, fact: Id, agent: Word, at: Instant, version: Word, fingerprint: Word) {
        self.remove(fact);
        self.looks.insert(fact, (agent.clone(), at));
        self.agents.entry(agent).or_default().insert((at, fact), Shape { version, fingerprint });
    }

    /// A fact is known no more.
    pub(super) fn remove(&mut self, fact: Id) {
        let Some((agent, at)) = self.looks.remove(&fact) else { return };
        if let Some(looks) = self.agents.get_mut(&agent) {
            looks.remove(&(at, fact));
            if looks.is_empty() {
                self.agents.remove(&agent);
            }
        }
    }

    /// The newest card of an agent.
    pub(super) fn newest(&self, agent: &Word) -> Option<Newest> {
        let looks = self.agents.get(agent)?;
        let (_, newest) = looks.last_key_value()?;
        let run = looks.iter().rev().take_while(|(_, shape)| *shape == newest);
        let since = run.last().map(|((at, _), _)| *at)?;
        Some(Newest { version: newest.version.clone(), fingerprint: newest.fingerprint.clone(), since })
    }

    /// Whether a card of an agent is known.
    pub(super) fn has(&self, agent: &Word) -> bool {
        self.agents.contains_key(agent)
    }
}

/// The beginning of a fingerprint.
pub(super) fn short(fingerprint: &str) -> &str {
    &fingerprint[..fingerprint.floor_char_boundary(SHOWN_DIGITS)]
}
