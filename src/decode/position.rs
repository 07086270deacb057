//! Places within a source.
//!
//! In: what framing counted. Out: [`Position`], and its text in facts. Knows no source.

use serde::{Deserialize, Serialize};

/// A place within a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Position {
    /// One-based line, of the first byte of the record.
    Line(u64),
    /// Zero-based byte offset, for binary sources.
    Byte(u64),
    /// Entry of a HAR.
    Entry {
        /// Zero-based, as in `log.entries[12]`.
        index: u64,
        /// Where it begins.
        begins: Beginning,
    },
}

/// Where an entry begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Beginning {
    /// One-based line.
    Line(u64),
    /// Zero-based byte offset.
    Byte(u64),
}

impl Position {
    /// The entry of a HAR that begins here.
    pub(super) fn entry(self, index: u64) -> Self {
        let begins = match self {
            Self::Line(line) => Beginning::Line(line),
            Self::Byte(byte) => Beginning::Byte(byte),
            Self::Entry { begins, .. } => begins,
        };
        Self::Entry { index, begins }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "{line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Entry { index, begins: Beginning::Line(line) } => write!(f, "log.entries[{index}] at line {line}"),
            Self::Entry { index, begins: Beginning::Byte(byte) } => write!(f, "log.entries[{index}] at byte {byte}"),
        }
    }
}
