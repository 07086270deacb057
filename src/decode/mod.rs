//! Bytes to records: formats are recognised by content, never by file name, and framings nest.
//!
//! In: a byte stream and its name. Out: [`record::Record`]s and [`record::Reject`]s. Knows HTTP, HAR and OTLP; never A2A.

pub mod exchange;
pub mod otlp;
pub mod own_event;
pub mod python_log;
pub mod python_repr;
pub mod record;
