//! Facts that were kept: Parquet files of a lake, or of `--export`.
//!
//! In: an opened input. Out: its facts, if it is a Parquet file, else the input as it was. Decodes no traffic.

use std::io::{self, Read};

use crate::decode::record::RejectReason;
use crate::store::{self, ReadError};
use crate::tables::Facts;

/// Largest Parquet file that is read, in bytes: it is held in memory. Those of a lake are smaller by far.
const MOST_BYTES: u64 = 2 << 30;

/// Bytes by which a format is told.
const HEAD: u64 = 4;

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

    /// Whether it is a Parquet file.
    pub(super) fn is_parquet(&self) -> bool {
        store::is_parquet(&self.head)
    }

    /// The facts of a Parquet file, else why there are none.
    pub(super) fn facts(self) -> Result<Facts, (RejectReason, String)> {
        let mut bytes = Vec::new();
        let read = self.take(MOST_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| (RejectReason::Unreadable, error.to_string()))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err((RejectReason::TooLarge, format!("a Parquet file of more than {MOST_BYTES} bytes")));
        }
        store::read_facts(bytes).map_err(|error| match error {
            ReadError::NotFacts => (RejectReason::UnknownShape, error.to_string()),
            ReadError::Table(_) => (RejectReason::BadField, error.to_string()),
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
        assert!(peeked.is_parquet());
        assert_eq!(peeked.facts().unwrap_err().0, RejectReason::Unreadable);
        assert!(!Peeked::new(&b"PA"[..]).is_parquet());
    }
}
