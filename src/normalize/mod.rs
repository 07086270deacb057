//! Records of all carriers and dialects to facts of one model.
//!
//! In: [`crate::decode::record`]. Out: [`crate::tables::Facts`]. Secrets and message text end here: a hash, a key id, a scheme,
//! a class or a length goes on. Judges nothing: it says what was seen.
// PLACEHOLDER until the stage is merged.

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

/// Identities.
pub mod identity {
    use crate::tables::Facts;

    /// Settings.
    #[derive(Debug, Default)]
    pub struct IdentitySettings {
        /// Reference -> agent.
        pub agents: std::collections::BTreeMap<String, String>,
        /// Reference -> client.
        pub clients: std::collections::BTreeMap<String, String>,
    }

    /// Resolves.
    pub fn resolve(_facts: &mut Facts, _settings: &IdentitySettings) {}
}
