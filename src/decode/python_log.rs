//! Python log lines. Placeholder of this branch.

use crate::decode::record::{Origin, Sink};
use crate::instant::Instant;

/// Placeholder.
pub fn decode(_line: &str, _at: Option<Instant>, _origin: &Origin, _sink: &mut dyn Sink) -> bool {
    false
}
