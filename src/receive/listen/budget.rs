//! Memory that bodies may take, all connections together.
//!
//! In: byte counts. Out: permission, given back when it is dropped. Never waits: two bodies that wait for each other's
//! memory would wait for ever, and a sender that is told to come again keeps the body in its own memory meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that may be in flight.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    taken: AtomicUsize,
}

/// Memory that bodies take, for whoever watches it.
#[derive(Debug, Clone)]
pub struct Memory(pub(super) Arc<Budget>);

impl Memory {
    /// Bytes taken now.
    pub fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Bytes from which on requests are told to come later.
    pub fn limit(&self) -> usize {
        self.0.limit
    }
}

impl Budget {
    /// A budget of `limit` bytes.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, taken: AtomicUsize::new(0) })
    }

    /// Whether `bytes` more would fit now.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.taken.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit
    }

    /// Nothing yet, to grow.
    pub(super) fn open(self: &Arc<Self>) -> Held {
        Held { budget: Arc::clone(self), bytes: 0 }
    }
}

/// A part of the budget, given back when dropped.
#[derive(Debug)]
pub(super) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Held {
    /// Takes `bytes` more, or nothing if they do not fit.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let fits = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= self.budget.limit);
        let is_taken = self.budget.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        if is_taken {
            self.bytes += bytes;
        }
        is_taken
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_given_and_what_is_dropped_comes_back() {
        let budget = Budget::new(10);
        let mut first = budget.open();
        assert!(first.grow(6) && first.grow(4));
        let mut second = budget.open();
        assert!(!second.grow(1) && !second.grow(usize::MAX) && !budget.has_room(1));
        drop(first);
        assert!(second.grow(10) && !budget.has_room(usize::MAX));
    }
}
