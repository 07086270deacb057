//! Ids of what left the tables, remembered compactly.
//!
//! In: 64-bit hashes of ids. Out: whether one was remembered. Bounded: the oldest is forgotten first.

use std::collections::{HashMap, VecDeque};

/// A bounded set of hashes.
#[derive(Debug, Clone)]
pub struct Remembered {
    most: usize,
    /// When each hash was last remembered, counted from the first.
    turns: HashMap<u64, u64>,
    order: VecDeque<(u64, u64)>,
    next: u64,
}

impl Remembered {
    /// Remembers nothing yet, and at most so many.
    pub fn new(most: usize) -> Self {
        Self { most, turns: HashMap::new(), order: VecDeque::new(), next: 0 }
    }

    /// Remembers a hash.
    pub fn remember(&mut self, hash: u64) {
        self.next += 1;
        self.turns.insert(hash, self.next);
        self.order.push_back((hash, self.next));
        while self.turns.len() > self.most || self.order.len() > self.most.saturating_mul(2) {
            let Some((oldest, turn)) = self.order.pop_front() else { break };
            // One that was forgotten or remembered again since has a later place, or none.
            if self.turns.get(&oldest) == Some(&turn) {
                self.turns.remove(&oldest);
            }
        }
    }

    /// Whether a hash is remembered.
    pub fn contains(&self, hash: u64) -> bool {
        self.turns.contains_key(&hash)
    }

    /// Forgets a hash; whether it was remembered.
    pub fn forget(&mut self, hash: u64) -> bool {
        self.turns.remove(&hash).is_some()
    }

    /// Number of hashes remembered.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first_and_what_is_remembered_again_is_new() {
        let mut remembered = Remembered::new(2);
        [1, 2, 1, 3].into_iter().for_each(|hash| remembered.remember(hash));
        assert_eq!([1, 2, 3].map(|hash| remembered.contains(hash)), [true, false, true]);
        assert_eq!((remembered.forget(1), remembered.forget(1), remembered.len()), (true, false, 1));
    }

    #[test]
    fn memory_is_bounded_however_often_the_same_is_remembered_and_forgotten() {
        let mut remembered = Remembered::new(3);
        for turn in 0..1000 {
            remembered.remember(turn % 2);
            remembered.forget(turn % 2);
        }
        assert!(remembered.is_empty() && remembered.order.len() <= 6);
    }
}
