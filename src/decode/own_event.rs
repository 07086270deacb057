//! Own events. Placeholder of this branch.

use serde_json::Value;

use crate::decode::record::{Origin, Sink};

/// Placeholder.
pub fn decode(_value: &Value, _origin: &Origin, _sink: &mut dyn Sink) -> bool {
    false
}
