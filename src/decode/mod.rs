//! Bytes to records: formats are recognised by content, never by file name, and framings nest.
//!
//! In: a byte stream and its name. Out: [`record::Record`]s and [`record::Reject`]s. Knows HTTP, HAR and OTLP; never A2A.
// PLACEHOLDER until the stage is merged.

pub mod record;

use std::io::Read;
use std::sync::Arc;

use record::{Origin, Position, Reject, RejectReason, Sink};

/// Bounds.
#[derive(Debug, Default)]
pub struct Limits {}

/// Decodes a stream.
pub fn decode(source: &Arc<str>, mut reader: impl Read, _limits: &Limits, sink: &mut dyn Sink) {
    let mut text = Vec::new();
    _ = reader.read_to_end(&mut text);
    if !text.is_empty() {
        let origin = Origin { source: source.clone(), position: Position::Line(1) };
        sink.reject(Reject { origin, reason: RejectReason::UnknownText, detail: "no format known here".into() });
    }
}
