//! OTLP JSON. Placeholder of this branch.

use serde_json::Value;

use crate::decode::record::{Origin, Sink};

/// Placeholder.
pub fn decode(_value: Value, _origin: &Origin, _sink: &mut dyn Sink) {}

/// Placeholder.
pub fn is_otlp(_value: &Value) -> Option<&'static str> {
    None
}
