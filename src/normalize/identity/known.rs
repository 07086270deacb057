//! The facts known so far, and what more or fewer of them change in who is who.
//!
//! In: facts as their records gave them, in any order and any number of times, and facts to forget. Out: the facts that came,
//! went or are now of another agent, client or call. A function of the set: after the same facts the same are known, however
//! they came.

use std::collections::{BTreeSet, HashMap};

use super::IdentitySettings;
use super::relation::{Key, Slot};
use super::web::Web;
use crate::tables::{Common, Fact, Facts, FactsDelta};

/// Facts and their identities.
#[derive(Debug, Clone, Default)]
pub struct Known {
    settings: IdentitySettings,
    web: Web,
    /// Where each fact is, by `fact_id`.
    slots: HashMap<Key, Slot>,
}

impl Known {
    /// No facts.
    pub fn new(settings: IdentitySettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes facts, identities not resolved, and tells what changed.
    pub fn add(&mut self, facts: Facts) -> FactsDelta {
        for fact in facts.into_rows() {
            self.take(fact);
        }
        FactsDelta { added: self.changed(), ..FactsDelta::default() }
    }

    /// Forgets facts by `fact_id`, and tells what changed. What is not known is passed over.
    pub fn remove<'a>(&mut self, fact_ids: impl IntoIterator<Item = &'a str>) -> FactsDelta {
        let mut removed = BTreeSet::new();
        for id in fact_ids {
            let key = self.web.keys.of(&[id]);
            if let Some(slot) = self.slots.remove(&key) {
                self.web.remove(slot);
                removed.insert(id.to_owned());
            }
        }
        FactsDelta { added: self.changed(), removed }
    }

    /// Number of facts.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether nothing at all is left of the facts that were known.
    #[cfg(test)]
    pub(super) fn is_forgotten(&self) -> bool {
        self.web.is_empty()
    }

    /// Takes a fact; of one that is known already the one that stands further ahead in its source.
    fn take(&mut self, fact: Fact) {
        let id = self.web.keys.of(&[&fact.common().fact_id]);
        if let Some(&slot) = self.slots.get(&id) {
            let is_ahead = self.web.get(slot).is_none_or(|known| place(fact.common()) < place(known.fact.common()));
            if !is_ahead {
                return;
            }
            self.web.remove(slot);
        }
        let slot = self.web.insert(fact);
        self.slots.insert(id, slot);
    }

    /// The facts whose identity is another than was told.
    fn changed(&mut self) -> Facts {
        let mut facts = Facts::default();
        for slot in self.web.resolve(&self.settings) {
            if let Some(entry) = self.web.get(slot) {
                facts.put(entry.fact.clone());
            }
        }
        facts.make_set();
        facts
    }
}

/// Which of two readings of one fact is kept.
fn place(common: &Common) -> (&str, &str) {
    (&common.source, &common.position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::Instant;
    use crate::tables::{ExchangeColumns, ExchangeRow};

    fn call(at: i64, client: &str, trace: &str, position: &str) -> ExchangeRow {
        ExchangeRow {
            common: Common {
                observed_at: Instant(at),
                observer: "client".to_owned(),
                client_ref: client.to_owned(),
                agent_ref: "http://a.example/".to_owned(),
                trace_id: trace.to_owned(),
                source: "capture".to_owned(),
                position: position.to_owned(),
                ..Common::default()
            },
            own: ExchangeColumns::default(),
        }
    }

    fn add(known: &mut Known, rows: impl IntoIterator<Item = ExchangeRow>) -> Vec<(i64, String)> {
        let mut facts = Facts::default();
        rows.into_iter().for_each(|row| facts.push_exchange(row));
        let delta = known.add(facts);
        assert!(delta.removed.is_empty());
        delta.added.exchanges.into_iter().map(|row| (row.common.observed_at.0, row.common.client)).collect()
    }

    #[test]
    fn a_name_that_comes_late_changes_the_facts_that_it_names_and_no_others() {
        let mut known = Known::new(IdentitySettings::default());
        let told = add(&mut known, [call(1, "10.0.0.7", "t1", "1"), call(2, "10.0.0.8", "t2", "2")]);
        assert_eq!(told, [(1, "10.0.0.7".to_owned()), (2, "10.0.0.8".to_owned())]);
        let told = add(&mut known, [call(3, "planner", "t1", "3")]);
        assert_eq!(told, [(1, "planner".to_owned()), (3, "planner".to_owned())]);
        assert_eq!(known.len(), 3);
    }

    #[test]
    fn a_fact_read_again_is_told_again_only_if_it_stood_further_ahead() {
        let mut known = Known::new(IdentitySettings::default());
        add(&mut known, [call(1, "c", "", "5")]);
        assert_eq!(add(&mut known, [call(1, "c", "", "7")]), []);
        assert_eq!(add(&mut known, [call(1, "c", "", "3")]).len(), 1);
        assert_eq!(known.len(), 1);
    }
}
