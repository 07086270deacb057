//! Calls and deliveries, each counted once.
//!
//! In: what each observer saw of them. Out: the series that each belongs to. Of several observers the one speaks that knows
//! most; of those the one that saw it fail; of those the one nearest to the caller.

use std::collections::{BTreeSet, HashMap};

use super::counters::{Counters, SeriesKey, Sighting};
use super::ids::{Id, id};
use crate::tables::Remembered;

/// What one observer saw of a call.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    /// The fact.
    pub(super) fact: Id,
    /// The greatest speaks for the call: what is known of it, whether it failed, how near the observer was.
    pub(super) rank: [u8; 3],
    pub(super) series: SeriesKey,
    pub(super) seen: Option<Sighting>,
}

#[derive(Debug, Clone)]
pub(super) struct Once {
    calls: HashMap<Id, Call>,
    /// The call of each fact.
    facts: HashMap<Id, Id>,
    /// Calls that left by age and stay counted.
    settled: Remembered,
    touched: BTreeSet<Id>,
    /// Of those touched the ones that facts left that are known no more.
    lost: BTreeSet<Id>,
}

#[derive(Debug, Clone, Default)]
struct Call {
    sights: Vec<Sight>,
    counted: Option<(SeriesKey, Option<Sighting>)>,
    /// It was counted before it left and came back.
    is_settled: bool,
}

/// The call of a fact; the fact itself where nothing names the call.
pub(super) fn call_of(call_id: &str, fact_id: &str) -> Id {
    if call_id.is_empty() { id(&["fact", fact_id]) } else { id(&["call", call_id]) }
}

impl Once {
    pub(super) fn new(most_settled: usize) -> Self {
        Self {
            calls: HashMap::new(),
            facts: HashMap::new(),
            settled: Remembered::new(most_settled),
            touched: BTreeSet::new(),
            lost: BTreeSet::new(),
        }
    }

    /// An observer saw a call, or is now known to have seen this one.
    pub(super) fn see(&mut self, call: Id, sight: Sight) {
        if let Some(before) = self.facts.insert(sight.fact, call) {
            self.leave(before, sight.fact);
        }
        let settled = &self.settled;
        let known = self.calls.entry(call);
        let known = known.or_insert_with(|| Call { is_settled: settled.contains(half(call)), ..Call::default() });
        known.sights.push(sight);
        self.touched.insert(call);
    }

    /// A fact is known no more.
    pub(super) fn remove(&mut self, fact: Id) {
        if let Some(call) = self.facts.remove(&fact) {
            self.leave(call, fact);
            self.lost.insert(call);
        }
    }

    fn leave(&mut self, call: Id, fact: Id) {
        if let Some(call) = self.calls.get_mut(&call) {
            call.sights.retain(|sight| sight.fact != fact);
        }
        self.touched.insert(call);
    }

    /// Counts what changed since the last time.
    pub(super) fn settle(&mut self, counters: &mut Counters) {
        let lost = std::mem::take(&mut self.lost);
        for id in std::mem::take(&mut self.touched) {
            let Some(call) = self.calls.get_mut(&id) else { continue };
            if call.sights.is_empty() {
                let gone = self.calls.remove(&id);
                if lost.contains(&id) {
                    self.settled.remember(half(id));
                } else if let Some((series, seen)) = gone.and_then(|call| call.counted) {
                    counters.uncount(&series, seen.as_ref());
                }
                continue;
            }
            if call.is_settled {
                continue;
            }
            let speaks = call.sights.iter().max_by_key(|sight| (sight.rank, sight.fact));
            let now = speaks.map(|sight| (sight.series.clone(), sight.seen.clone()));
            if now == call.counted {
                continue;
            }
            if let Some((series, seen)) = &call.counted {
                counters.uncount(series, seen.as_ref());
            }
            if let Some((series, seen)) = &now {
                counters.count(series, seen.as_ref());
            }
            call.counted = now;
        }
    }
}

/// A hash short enough to be kept for what left.
pub(super) fn half(id: Id) -> u64 {
    (id & u128::from(u64::MAX)) as u64
}
