//! Pieces of followed files, and how far they were taken in.
//!
//! In: bytes of whole lines. Out: the place in the file behind them, or behind those that are complete. Reads no file.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Bytes of a file's beginning by which it is known again.
pub(super) const HEAD: usize = 256;

/// What tells a file from every other of its machine, whatever it is called.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// How far a file was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub(super) identity: Identity,
    pub(super) path: PathBuf,
    /// Bytes taken in.
    pub(super) offset: u64,
    /// Lines taken in.
    pub(super) lines: u64,
    /// Length and hash of the beginning: another beginning is another file, in the place of the old.
    pub(super) head: (u64, u32),
    /// The same of the end of what was taken in: a document is written anew in its place when something is added to it.
    #[serde(default)]
    pub(super) tail: (u64, u32),
}

/// What was added to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grown {
    /// The file's name when it was found.
    pub path: PathBuf,
    /// Whole lines; of a document that is no lines, all of it.
    pub bytes: Vec<u8>,
    /// Lines of the file before these.
    pub lines_before: u64,
    /// The rest of what begins in this line of the piece (one-based) or later may be waited for.
    pub waits_from: u64,
    /// What the reader wanted to know when it reads these lines again.
    pub known: Arc<HashSet<u64>>,
    pub(super) mark: Mark,
}

/// What of a piece is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incomplete {
    /// Line of the piece (one-based) from which on it is wanted again, together with what follows.
    pub from: u64,
    /// What the reader wants to know then.
    pub known: HashSet<u64>,
}

impl Grown {
    /// How far a file was taken in of which this piece is not wanted again before a line of it; `last` says how far it was
    /// before.
    pub(super) fn mark_before(&self, line: u64, last: &Mark) -> Mark {
        let lines = line.saturating_sub(1);
        let at = match usize::try_from(lines) {
            Ok(0) => 0,
            Ok(lines) => memchr::memchr_iter(b'\n', &self.bytes).nth(lines - 1).map_or(self.bytes.len(), |at| at + 1),
            Err(_) => self.bytes.len(),
        };
        let (taken, kept) = self.bytes.split_at(at);
        Mark {
            offset: self.mark.offset - kept.len() as u64,
            lines: self.lines_before + memchr::memchr_iter(b'\n', taken).count() as u64,
            tail: if taken.is_empty() { last.tail } else { tail(taken) },
            ..self.mark.clone()
        }
    }
}

/// Length and hash of the last bytes.
pub(super) fn tail(bytes: &[u8]) -> (u64, u32) {
    let end = bytes.get(bytes.len().saturating_sub(HEAD)..).unwrap_or_default();
    if end.is_empty() { (0, 0) } else { (end.len() as u64, crc32fast::hash(end)) }
}
