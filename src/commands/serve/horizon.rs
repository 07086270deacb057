//! Up to when the judge knows all that arrived.
//!
//! In: what the intake has still to tell. Out: an instant. Who judges as of later takes what is on its way for what never
//! came: a rule that waits for something would fire because the service is behind.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::instant::Instant;

/// The instant before which all that arrived was told.
#[derive(Debug)]
pub(super) struct Horizon(AtomicI64);

impl Default for Horizon {
    /// Until the intake runs there is nothing to tell.
    fn default() -> Self {
        Self(AtomicI64::new(i64::MAX))
    }
}

impl Horizon {
    /// All was told that arrived up to an instant, but for what arrived from these on.
    pub(super) fn set(&self, taken: Instant, untold: impl IntoIterator<Item = Option<Instant>>) {
        let oldest = untold.into_iter().flatten().fold(taken, Instant::min);
        self.0.store(oldest.0, Ordering::Release);
    }

    /// The instant, not after `now`. To be read before what was told is heard.
    pub(super) fn get(&self, now: Instant) -> Instant {
        now.min(Instant(self.0.load(Ordering::Acquire)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_where_the_oldest_of_what_is_not_told_arrived() {
        let horizon = Horizon::default();
        assert_eq!(horizon.get(Instant(100)), Instant(100));
        horizon.set(Instant(90), [None, None]);
        assert_eq!((horizon.get(Instant(100)), horizon.get(Instant(80))), (Instant(90), Instant(80)));
        horizon.set(Instant(90), [Some(Instant(95)), Some(Instant(70))]);
        assert_eq!(horizon.get(Instant(100)), Instant(70));
    }
}
