//! What stays or goes together: the facts of a task of an agent, of a trace, or one fact.
//!
//! In: facts as they join and leave their units. Out: the units whose last fact is older than an instant. The cost of finding
//! them follows the units that are found and those that lost facts.

use std::collections::{BTreeSet, HashMap};

use super::relation::{Key, NO_KEY, Reading, Relation, Slot};
use crate::instant::Instant;

/// Units by the time of their newest fact.
#[derive(Debug, Clone)]
pub(super) struct Units {
    newest: HashMap<Key, Instant>,
    order: BTreeSet<(Instant, Key)>,
    members: Relation,
    /// Units that lost a fact that may have been the newest.
    shrunk: BTreeSet<Key>,
}

impl Default for Units {
    fn default() -> Self {
        let members = Relation::new(Reading::Only);
        Self { newest: HashMap::new(), order: BTreeSet::new(), members, shrunk: BTreeSet::new() }
    }
}

impl Units {
    /// A fact of this time belongs to a unit.
    pub(super) fn join(&mut self, unit: Key, slot: Slot, at: Instant) {
        if unit == NO_KEY {
            return;
        }
        self.members.join(unit, slot);
        let newest = self.newest.get(&unit).copied();
        if newest.is_none_or(|newest| newest < at) {
            self.set(unit, newest, Some(at));
        }
    }

    /// A fact of this time belongs to a unit no more.
    pub(super) fn leave(&mut self, unit: Key, slot: Slot, at: Instant) {
        self.members.leave(unit, slot);
        let newest = self.newest.get(&unit).copied();
        if self.members.members(unit).next().is_none() {
            self.set(unit, newest, None);
            self.shrunk.remove(&unit);
        } else if newest == Some(at) {
            self.shrunk.insert(unit);
        }
    }

    /// Facts of the units of which none is as young as `before`.
    pub(super) fn past(&mut self, before: Instant, time_of: impl Fn(Slot) -> Option<Instant>) -> Vec<Slot> {
        for unit in std::mem::take(&mut self.shrunk) {
            let newest = self.members.members(unit).filter_map(&time_of).max();
            self.set(unit, self.newest.get(&unit).copied(), newest);
        }
        let past = self.order.iter().take_while(|(newest, _)| *newest < before);
        past.flat_map(|(_, unit)| self.members.members(*unit)).collect()
    }

    fn set(&mut self, unit: Key, before: Option<Instant>, now: Option<Instant>) {
        if let Some(before) = before {
            self.order.remove(&(before, unit));
        }
        match now {
            Some(now) => {
                self.order.insert((now, unit));
                self.newest.insert(unit, now);
            }
            None => drop(self.newest.remove(&unit)),
        }
    }
}

#[cfg(test)]
impl Units {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.newest.is_empty() && self.order.is_empty() && self.members.is_empty() && self.shrunk.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_past_when_its_newest_fact_is() {
        let mut units = Units::default();
        let times = [10, 30, 20].map(Instant);
        for (slot, at) in (0..).zip(times) {
            units.join(1, slot, at);
        }
        units.join(2, 3, Instant(15));
        let time_of = |slot: Slot| times.get(slot as usize).copied();
        assert_eq!(units.past(Instant(30), time_of), [3]);
        units.leave(1, 1, Instant(30));
        let mut past = units.past(Instant(30), time_of);
        past.sort_unstable();
        assert_eq!(past, [0, 2, 3]);
        [(1, 0), (1, 2), (2, 3)].into_iter().for_each(|(unit, slot)| units.leave(unit, slot, Instant(0)));
        assert!(units.is_empty());
    }
}
