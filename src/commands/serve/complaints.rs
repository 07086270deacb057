//! What was not understood, for the log: the first place of each reason, and not one line for each.
//!
//! In: what was rejected of which file or receiver. Out: warnings, one for a source and reason within [`PAUSE`]. Counts
//! nothing for the metrics, and shows nothing of what was sent.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant as Stopwatch};

use crate::publish::clean;

/// What was told of a source is not told again for so long.
const PAUSE: Duration = Duration::from_secs(3600);
/// Sources and reasons that are told of within that time; more of them say nothing new.
const MOST: usize = 1024;

/// What was rejected of a body for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    /// How many pieces.
    pub(super) pieces: u64,
    /// Place of the first; empty if it is the body as a whole.
    pub(super) position: String,
    /// What was wrong with it, without any of its content.
    pub(super) detail: String,
}

/// What was told when.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    told: HashMap<(String, &'static str), (Stopwatch, u64)>,
}

impl Complaints {
    /// Tells of what was rejected, unless it was told of just before.
    pub(super) fn tell(&mut self, source: &str, reason: &'static str, rejected: &Rejected) {
        let Some(before) = self.is_due(source, reason, rejected.pieces, Stopwatch::now()) else { return };
        let place = place(source, &rejected.position);
        tracing::warn!(
            place = %clean(&place), reason, pieces = rejected.pieces, untold = (before > 0).then_some(before), detail = %clean(&rejected.detail),
            "not understood"
        );
    }

    /// How many pieces were not told of since the last time, if it is time to tell again.
    fn is_due(&mut self, source: &str, reason: &'static str, pieces: u64, now: Stopwatch) -> Option<u64> {
        let is_over = |at: Stopwatch| now.duration_since(at) >= PAUSE;
        if self.told.len() >= MOST {
            self.told.retain(|_, (at, _)| !is_over(*at));
        }
        let is_full = self.told.len() >= MOST;
        match self.told.entry((source.to_owned(), reason)) {
            Entry::Occupied(mut told) if is_over(told.get().0) => Some(told.insert((now, 0)).1),
            Entry::Occupied(mut told) => {
                told.get_mut().1 += pieces;
                None
            }
            Entry::Vacant(_) if is_full => None,
            Entry::Vacant(free) => {
                free.insert((now, 0));
                Some(0)
            }
        }
    }
}

/// A place that editors and people understand; of a body as a whole, who received it.
fn place(source: &str, position: &str) -> String {
    match position {
        "" => source.to_owned(),
        line if line.bytes().all(|byte| byte.is_ascii_digit()) => format!("{source}:{line}"),
        other => format!("{source} at {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_and_reason_is_told_once_and_after_an_hour_with_what_was_left_out() {
        let mut complaints = Complaints::default();
        let now = Stopwatch::now();
        assert_eq!(complaints.is_due("a.log", "bad-json", 3, now), Some(0));
        assert_eq!(complaints.is_due("a.log", "bad-json", 4, now), None);
        assert_eq!(complaints.is_due("a.log", "bad-json", 5, now), None);
        assert_eq!(complaints.is_due("a.log", "too-deep", 1, now), Some(0));
        assert_eq!(complaints.is_due("b.log", "bad-json", 1, now), Some(0));
        assert_eq!(complaints.is_due("a.log", "bad-json", 1, now + PAUSE), Some(9));
        assert_eq!(complaints.is_due("a.log", "bad-json", 1, now + PAUSE), None);
    }

    #[test]
    fn ever_new_sources_fill_neither_the_log_nor_memory() {
        let mut complaints = Complaints::default();
        let now = Stopwatch::now();
        let told = (0..5 * MOST).filter(|n| complaints.is_due(&format!("{n}.log"), "bad-json", 1, now).is_some());
        assert_eq!((told.count(), complaints.told.len()), (MOST, MOST));
        assert_eq!(complaints.is_due("new.log", "bad-json", 1, now + PAUSE), Some(0));
    }
}
