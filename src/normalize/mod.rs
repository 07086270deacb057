//! Records of all carriers and dialects to facts of one model.
//!
//! In: [`crate::decode::record`]. Out: [`crate::tables::Facts`]. Secrets and message text end here: a hash, a key id, a scheme,
//! a class or a length goes on. Judges nothing: it says what was seen.

pub mod identity;
// PLACEHOLDER below until the stage is merged.

use crate::decode::record::Record;
use crate::tables::Facts;

/// Records to facts.
#[derive(Debug, Default)]
pub struct Normalizer {}

/// What came of it.
#[derive(Debug, Default)]
pub struct Normalized {
    /// Facts.
    pub facts: Facts,
}

impl Normalizer {
    /// Takes a record.
    pub fn record(&mut self, _record: Record) {}
    /// Ends.
    pub fn finish(self) -> Normalized {
        Normalized::default()
    }
}
