//! How many things belong to each series now.

use std::collections::BTreeMap;

use super::agents::AgentId;
use super::ids::Word;
use crate::instant::Instant;

/// A family of counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Counted {
    Exchanges,
    TaskStates,
    Deliveries,
}

/// A series before labels are given: family, agent, and up to two labels more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SeriesKey {
    pub(super) family: Counted,
    pub(super) agent: AgentId,
    pub(super) words: [Word; 2],
}

/// A thing that was seen, to be looked up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sighting {
    pub(super) at: Instant,
    pub(super) trace_id: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Count {
    pub(super) now: u64,
    /// The last that had a trace.
    pub(super) last: Option<Sighting>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Counters(BTreeMap<SeriesKey, Count>);

impl Counters {
    /// One more in a series.
    pub(super) fn count(&mut self, key: &SeriesKey, seen: Option<&Sighting>) {
        if !self.0.contains_key(key) {
            self.0.insert(key.clone(), Count::default());
        }
        if let Some(count) = self.0.get_mut(key) {
            count.now += 1;
            see(&mut count.last, seen);
        }
    }

    /// A thing turned out to belong to another series.
    pub(super) fn uncount(&mut self, key: &SeriesKey, seen: Option<&Sighting>) {
        let Some(count) = self.0.get_mut(key) else { return };
        count.now = count.now.saturating_sub(1);
        unsee(&mut count.last, seen);
        if count.now == 0 {
            self.0.remove(key);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&SeriesKey, &Count)> {
        self.0.iter()
    }

    /// Forgets the series of an agent; what was in them.
    pub(super) fn forget(&mut self, agent: AgentId) -> Vec<(SeriesKey, u64)> {
        let gone: Vec<_> = self.0.extract_if(.., |key, _| key.agent == agent).collect();
        gone.into_iter().map(|(key, count)| (key, count.now)).collect()
    }
}

/// Keeps the later one.
pub(super) fn see(last: &mut Option<Sighting>, seen: Option<&Sighting>) {
    if let Some(seen) = seen.filter(|seen| last.as_ref().is_none_or(|last| last < seen)) {
        *last = Some(seen.clone());
    }
}

/// Does not show what is no longer there.
pub(super) fn unsee(last: &mut Option<Sighting>, seen: Option<&Sighting>) {
    if last.as_ref() == seen {
        *last = None;
    }
}
