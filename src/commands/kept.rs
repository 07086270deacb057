//! Facts that were kept: Parquet files of a lake, or of `--export`, and the log of a `serve` that may be running.
//!
//! In: an opened input, or a folder of `serve`. Out: its facts, if it is of these, and where it is damaged, else the input as it
//! was; the inputs of the folder. Decodes no traffic.

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::decode::record::RejectReason;
use crate::findings::KEPT_LOG;
use crate::receive::{self, Input, ReceiveError};
use crate::store::{self, Peek, ReadError};
use crate::tables::Facts;

/// Largest file of facts that is read, in bytes: it is held in memory. Those of `serve` are smaller by far.
const MOST_BYTES: u64 = 2 << 30;

/// Bytes by which a format is told.
const HEAD: u64 = 8;

/// What paths name, folders of `serve` told apart.
pub(super) struct Places {
    /// Segments of logs, to be read before it is looked what is in the lakes: what leaves a log is in its lake by then.
    pub(super) logs: Vec<Segment>,
    /// Everything else.
    pub(super) others: Vec<PathBuf>,
    /// Folders of `serve` in which nothing is stored yet.
    pub(super) unfilled: Vec<PathBuf>,
}

/// A segment of a log.
pub(super) struct Segment {
    pub(super) input: Input,
    /// It may be written just now.
    pub(super) is_last: bool,
}

/// Takes folders of `serve` apart. Beside facts they hold what the program remembers for itself.
///
/// # Errors
/// When a folder cannot be read.
pub(super) fn places(paths: &[PathBuf]) -> Result<Places, ReceiveError> {
    let mut places = Places { logs: Vec::new(), others: Vec::new(), unfilled: Vec::new() };
    for path in paths {
        let (log, lake) = (path.join("wal"), path.join("lake"));
        if !log.join("lock").is_file() {
            places.others.push(path.clone());
            continue;
        }
        let mut of_log = receive::inputs(&[log])?;
        of_log.retain(|input| input.name.ends_with(".log"));
        let lake = Some(lake).filter(|lake| lake.is_dir());
        if of_log.is_empty() && lake.as_ref().is_none_or(|lake| has_no_file(lake)) {
            places.unfilled.push(path.clone());
        }
        let last = of_log.iter().filter_map(|input| number(&input.name)).max();
        let segment = |input: Input| Segment { is_last: number(&input.name) == last, input };
        places.logs.extend(of_log.into_iter().map(segment));
        places.others.extend(lake);
    }
    Ok(places)
}

/// Whether there is no file below a folder.
fn has_no_file(folder: &Path) -> bool {
    !walkdir::WalkDir::new(folder).into_iter().any(|entry| entry.is_ok_and(|entry| entry.file_type().is_file()))
}

/// The number of a segment, which names its file.
fn number(name: &str) -> Option<u64> {
    Path::new(name).file_stem()?.to_str()?.parse().ok()
}

/// The facts of a file.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) facts: Facts,
    /// Bytes in which nothing can be read.
    pub(super) damage: Vec<Range<usize>>,
}

/// An input of which the first bytes are known.
pub(super) struct Peeked<R> {
    head: Vec<u8>,
    /// The error that was met instead of more bytes.
    failed: Option<io::Error>,
    rest: R,
}

impl<R: Read> Peeked<R> {
    /// Looks at the first bytes.
    pub(super) fn new(mut rest: R) -> Self {
        let mut head = Vec::new();
        let failed = rest.by_ref().take(HEAD).read_to_end(&mut head).err();
        Self { head, failed, rest }
    }

    /// What it is, if it holds facts.
    pub(super) fn kind(&self) -> Option<&'static str> {
        let is_log = store::is_log(&self.head);
        if is_log { Some(KEPT_LOG) } else { store::is_parquet(&self.head).then_some("parquet") }
    }

    /// The facts in it, else why there are none; the end of a log that `is_last` may be missing.
    pub(super) fn facts(self, is_last: bool) -> Result<Kept, (RejectReason, String)> {
        let is_log = store::is_log(&self.head);
        let mut bytes = Vec::new();
        let read = self.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| (RejectReason::Unreadable, error.to_string()))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err((RejectReason::TooLarge, format!("a file of facts of more than {MOST_BYTES} bytes")));
        }
        let kept = if is_log {
            store::read_log(&bytes, is_last).map(|Peek { facts, damage }| Kept { facts, damage })
        } else {
            store::read_facts(bytes).map(|facts| Kept { facts, damage: Vec::new() })
        };
        kept.map_err(|error| match error {
            ReadError::NotFacts => (RejectReason::UnknownShape, error.to_string()),
            ReadError::Table(_) | ReadError::NewerLog { .. } => (RejectReason::BadField, error.to_string()),
            ReadError::Parquet(_) | ReadError::Arrow(_) | ReadError::Panicked => {
                (RejectReason::Unreadable, error.to_string())
            }
        })
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.head.is_empty() {
            let count = buffer.len().min(self.head.len());
            buffer[..count].copy_from_slice(&self.head[..count]);
            self.head.drain(..count);
            return Ok(count);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.rest.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_is_read_all_the_same_and_so_is_an_error() {
        let mut text = String::new();
        Peeked::new(&b"{\"a\": 1}"[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"a\": 1}");

        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let mut broken = Peeked::new((&b"ab"[..]).chain(Broken));
        let mut content = Vec::new();
        assert_eq!(broken.read_to_end(&mut content).unwrap_err().to_string(), "broken");
        assert_eq!(content, b"ab");
    }

    #[test]
    fn a_file_that_only_begins_as_parquet_is_unreadable() {
        let peeked = Peeked::new(&b"PAR1 and then something else PAR1"[..]);
        assert_eq!(peeked.kind(), Some("parquet"));
        assert_eq!(peeked.facts(true).unwrap_err().0, RejectReason::Unreadable);
        assert_eq!(Peeked::new(&b"PA"[..]).kind(), None);
    }
}
