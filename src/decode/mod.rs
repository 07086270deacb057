//! Bytes to records: formats are recognised by content, never by file name, and framings nest.
//!
//! In: a byte stream and its name. Out: [`record::Record`]s and [`record::Reject`]s. Knows HTTP, HAR and OTLP; never A2A.
// PLACEHOLDER until the stage is merged.

pub mod exchange;
pub mod otlp;
pub mod own_event;
pub mod python_log;
pub mod python_repr;
pub mod record;

use std::io::Read;
use std::sync::Arc;

use record::{Origin, Position, Reject, RejectReason, Sink};

/// Bounds.
#[derive(Debug)]
pub struct Limits {
    /// Longest line, and longest element of a document, in bytes. It bounds memory.
    pub max_record_bytes: usize,
    /// Deepest nesting of a JSON value.
    pub max_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_record_bytes: 64 << 20, max_depth: 100 }
    }
}

/// Key map.
pub mod key_map {
    /// Key map.
    #[derive(Debug, Clone)]
    pub struct KeyMap;

    impl KeyMap {
        /// Built in.
        pub fn built_in() -> &'static Self {
            &Self
        }
        /// Adds a path.
        pub fn prefer(&mut self, _field: &str, _path: &str) -> bool {
            false
        }
        /// Names.
        pub fn field_names() -> impl Iterator<Item = &'static str> {
            ["url"].into_iter()
        }
    }
}

/// Decodes a stream.
pub fn decode_with(
    source: &Arc<str>,
    mut reader: Box<dyn Read + '_>,
    _limits: &Limits,
    _keys: &key_map::KeyMap,
    sink: &mut dyn Sink,
) {
    let mut text = Vec::new();
    _ = reader.read_to_end(&mut text);
    if !text.is_empty() {
        let origin = Origin { source: source.clone(), position: Position::Line(1) };
        sink.reject(Reject { origin, reason: RejectReason::UnknownText, detail: "no format known here".into() });
    }
}
