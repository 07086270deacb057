//! OTLP protobuf. Placeholder of this branch.

use crate::decode::record::{Origin, Sink};

/// Placeholder.
pub fn decode(_bytes: &[u8], _origin: &Origin, _sink: &mut dyn Sink) -> bool {
    false
}
