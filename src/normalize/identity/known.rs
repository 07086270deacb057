//! The facts known so far, and what more of them change in who is who.
//!
//! In: facts as their records gave them, in any order and any number of times. Out: the facts that came, went or are now of
//! another agent, client or call. A function of the set: after the same facts the same are known, however they came.

use std::collections::HashMap;

use super::IdentitySettings;
use crate::tables::{Common, Facts, FactsDelta};

/// Facts and their identities.
#[derive(Debug, Clone, Default)]
pub struct Known {
    settings: IdentitySettings,
    /// As their records gave them, each once.
    given: Facts,
    /// Common columns as they were last told, by `fact_id`.
    told: HashMap<String, Common>,
}

impl Known {
    /// No facts.
    pub fn new(settings: IdentitySettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes facts, identities not resolved, and tells what changed.
    pub fn add(&mut self, facts: Facts) -> FactsDelta {
        self.given.append(facts);
        self.given.make_set();
        // Any fact can join two agents, and so change who every other fact is about.
        let mut added = self.given.clone();
        super::resolve(&mut added, &self.settings);
        added.retain(|common| match self.told.get(&common.fact_id) {
            Some(told) if told == common => false,
            _ => {
                self.told.insert(common.fact_id.clone(), common.clone());
                true
            }
        });
        FactsDelta { added, ..FactsDelta::default() }
    }

    /// Number of facts.
    pub fn len(&self) -> usize {
        self.given.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }
}
