//! Which of the known facts go, and which that went are asked for again.
//!
//! In: the instants before which facts are old. Out: what changed by their leaving. Reads no clock.

use std::collections::BTreeSet;

use super::Known;
use super::looks::{self, Retention};
use super::relation::{Key, Keys, NO_KEY, Slot};
use crate::instant::Instant;
use crate::tables::{Common, Fact, FactsDelta};

/// Tasks that are remembered after their facts went, at 50 bytes each.
pub(super) const MOST_EVICTED: usize = 1 << 20;

/// What left by age.
#[derive(Debug, Clone, Default)]
pub struct Evicted {
    /// What changed by that: facts that went, and those that are of another agent, client or call without them.
    pub delta: FactsDelta,
    /// Tasks of which facts went.
    pub tasks: usize,
    /// Looks at cards, key sets and policies of which facts went.
    pub looks: usize,
}

impl Known {
    /// Lets go what is old.
    ///
    /// A fact leaves with its unit, when all facts of that are older than `before`: the unit of a fact with a task is the task at
    /// its agent, else its trace, else the fact alone. Looks at cards, key sets and policies have no unit: of equal looks by
    /// the same party one after the other only the first and the last stay, from `cards_before` on; of what is older the last
    /// look of all alone.
    pub fn evict(&mut self, before: Instant, cards_before: Instant) -> Evicted {
        let web = &self.web;
        let mut gone = self.units.past(before, |slot| web.get(slot).map(|entry| entry.fact.common().observed_at));
        let of_looks = self.looks.iter().filter_map(|slot| Some((*slot, web.get(*slot)?)));
        let retention = Retention { looks: before, changes: cards_before.min(before) };
        let superfluous = looks::superfluous(of_looks, &web.keys, retention);
        let records: BTreeSet<Key> = superfluous.iter().filter_map(|slot| Some(web.get(*slot)?.keys.record)).collect();
        gone.extend(superfluous);
        let mut tasks = BTreeSet::new();
        let mut ids = Vec::with_capacity(gone.len());
        for entry in gone.iter().filter_map(|slot| web.get(*slot)) {
            ids.push(entry.fact.common().fact_id.clone());
            if entry.keys.task != NO_KEY {
                tasks.insert(half(entry.keys.task));
            }
        }
        tasks.iter().for_each(|task| self.evicted.remember(*task));
        let delta = self.remove(ids.iter().map(String::as_str));
        Evicted { delta, tasks: tasks.len(), looks: records.len() }
    }

    /// Remembers tasks whose facts are elsewhere, as if they had been evicted: after a restart, those of the lake.
    pub fn remember_evicted<'a>(&mut self, tasks: impl IntoIterator<Item = &'a str>) {
        for task in tasks.into_iter().filter(|task| !task.is_empty()) {
            self.evicted.remember(half(self.web.keys.some(task)));
        }
    }

    /// The task of a fact, if facts of it were evicted; asked for once, as the caller is to bring them back.
    pub(super) fn late(&mut self, fact: &Fact) -> Option<String> {
        let task = fact.task_id().filter(|task| !task.is_empty() && !self.evicted.is_empty())?;
        self.evicted.forget(half(self.web.keys.some(task))).then(|| task.to_owned())
    }

    /// Puts a fact whose agent is known into its unit.
    pub(super) fn settle_unit(&mut self, slot: Slot) {
        let Some(entry) = self.web.get(slot) else { return };
        let (unit, before) = (unit(&entry.fact, &self.web.keys), entry.keys.unit);
        if unit == before {
            return;
        }
        let at = entry.fact.common().observed_at;
        self.units.leave(before, slot, at);
        self.units.join(unit, slot, at);
        if let Some(entry) = self.web.get_mut(slot) {
            entry.keys.unit = unit;
        }
    }
}

fn unit(fact: &Fact, keys: &Keys) -> Key {
    let Common { agent, trace_id, fact_id, .. } = fact.common();
    match fact.task_id() {
        _ if looks::is_look(fact) => NO_KEY,
        Some(task) if !task.is_empty() => keys.of(&["task", agent, task]),
        _ if !trace_id.is_empty() => keys.of(&["trace", trace_id]),
        _ => keys.of(&["fact", fact_id]),
    }
}

/// A hash short enough to be kept for tasks that went.
fn half(key: Key) -> u64 {
    (key & u128::from(u64::MAX)) as u64
}
