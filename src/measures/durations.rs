//! How long ended tasks took, by agent and terminal state.

use std::collections::BTreeMap;

use super::agents::AgentId;
use super::counters::{Sighting, see, unsee};
use super::ids::Word;

/// Upper bounds in seconds: from a tool call of 0.1 s to work that waits a day for a person.
pub(super) const BOUNDS: [f64; 16] =
    [0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21_600.0, 86_400.0];

/// A task that ended: its agent, its terminal state, and the nanoseconds that it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Duration {
    pub(super) agent: AgentId,
    pub(super) state: Word,
    pub(super) nanos: i64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Sizes {
    /// By bucket, each by itself; the last is beyond all bounds.
    pub(super) buckets: [Size; BOUNDS.len() + 1],
    /// Nanoseconds, so that the sum does not depend on the order.
    pub(super) sum: i128,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    pub(super) count: u64,
    /// The last that had a trace, and how long it took.
    pub(super) last: Option<Sighting>,
    pub(super) nanos: i64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Durations(BTreeMap<(AgentId, Word), Sizes>);

impl Durations {
    pub(super) fn count(&mut self, duration: &Duration, seen: Option<&Sighting>) {
        let sizes = self.0.entry((duration.agent, duration.state.clone())).or_default();
        sizes.sum += i128::from(duration.nanos);
        let size = &mut sizes.buckets[bucket(duration.nanos)];
        size.count += 1;
        see(&mut size.last, seen);
        if seen.is_some() && size.last.as_ref() == seen {
            size.nanos = duration.nanos;
        }
    }

    pub(super) fn uncount(&mut self, duration: &Duration, seen: Option<&Sighting>) {
        let Some(sizes) = self.0.get_mut(&(duration.agent, duration.state.clone())) else { return };
        sizes.sum -= i128::from(duration.nanos);
        let size = &mut sizes.buckets[bucket(duration.nanos)];
        size.count = size.count.saturating_sub(1);
        unsee(&mut size.last, seen);
        if sizes.buckets.iter().all(|size| size.count == 0) {
            self.0.remove(&(duration.agent, duration.state.clone()));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&(AgentId, Word), &Sizes)> {
        self.0.iter()
    }

    pub(super) fn forget(&mut self, agent: AgentId) -> Vec<(Word, Sizes)> {
        self.0.extract_if(.., |(known, _), _| *known == agent).map(|((_, state), sizes)| (state, sizes)).collect()
    }
}

fn bucket(nanos: i64) -> usize {
    let seconds = seconds(i128::from(nanos));
    BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len())
}

/// Nanoseconds as seconds.
pub(super) fn seconds(nanos: i128) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket_and_what_is_beyond_a_day_to_the_last() {
        let second = 1_000_000_000;
        let buckets = [0, 100_000_000, 100_000_001, 86_400 * second, 86_400 * second + 1].map(bucket);
        assert_eq!(buckets, [0, 0, 1, BOUNDS.len() - 1, BOUNDS.len()]);
    }
}
