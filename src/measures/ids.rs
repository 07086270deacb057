//! Texts as numbers and shared words, so that a fact costs little while it is known.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::sync::Arc;

/// A fact, call or task; 128 bits of hash.
pub(super) type Id = u128;

/// A label value.
pub(super) type Word = Arc<str>;

/// Number of some texts in order; the same in every process.
pub(super) fn id(parts: &[&str]) -> Id {
    let half = |start: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(start);
        for part in parts {
            hasher.write_usize(part.len());
            hasher.write(part.as_bytes());
        }
        u128::from(hasher.finish())
    };
    (half(0) << 64) | half(1)
}

/// Each text once. Only closed lists and names of agents are kept here.
#[derive(Debug, Clone, Default)]
pub(super) struct Words(HashSet<Word>);

impl Words {
    pub(super) fn get(&mut self, text: &str) -> Word {
        if let Some(word) = self.0.get(text) {
            return word.clone();
        }
        let word: Word = text.into();
        self.0.insert(word.clone());
        word
    }

    /// Forgets words that nothing uses any more.
    pub(super) fn sweep(&mut self) {
        self.0.retain(|word| Arc::strong_count(word) > 1);
    }
}
