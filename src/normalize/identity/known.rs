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
