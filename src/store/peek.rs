//! A look into the log of a store that another process may be writing.
//!
//! In: the bytes of a segment as they are now. Out: its facts, and where it is damaged. Locks nothing, cuts nothing, and takes
//! an end that is missing for one that is still being written, where that may be.

use std::ops::Range;

use super::entry::Kept;
use super::error::ReadError;
use super::frame::{self, HEADER, MAGIC};
use super::segment::scan;
use crate::tables::Facts;

/// Whether bytes begin as a segment of a log does.
pub fn is_log(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// What a segment of a log holds.
#[derive(Debug, Default)]
pub struct Peek {
    /// Its facts, identities not resolved. What is open, and no facts yet, is not among them.
    pub facts: Facts,
    /// Bytes of it in which nothing can be read: what was written there is lost.
    pub damage: Vec<Range<usize>>,
}

/// Looks into a segment of a log; the end of one that `is_last` may be missing.
///
/// # Errors
/// When a newer program wrote it.
pub fn read_log(bytes: &[u8], is_last: bool) -> Result<Peek, ReadError> {
    let mut peek = Peek::default();
    if bytes.len() < HEADER {
        peek.damage.extend((!is_last && !bytes.is_empty()).then_some(0..bytes.len()));
        return Ok(peek);
    }
    let scanned = scan(bytes, frame::number(bytes), |kept, _| {
        if let Kept::Facts(batches) = kept {
            peek.facts.append(Facts::from_batches(batches.iter().map(|(table, batch)| (table, batch)))?);
        }
        Ok(())
    })?;
    peek.damage = scanned.lost;
    let is_unfinished = |lost: &Range<usize>| is_last && lost.end == bytes.len() && lost.start >= HEADER;
    peek.damage.retain(|lost| !is_unfinished(lost));
    Ok(peek)
}

#[cfg(test)]
mod tests {
    use super::super::entry::{self, Entry};
    use super::*;
    use crate::instant::Instant;
    use crate::tables::TaskEventRow;

    fn facts(task: &str) -> Facts {
        let mut row = TaskEventRow::default();
        row.common.fact_id = task.to_owned();
        row.own.task_id = task.to_owned();
        let mut facts = Facts::default();
        facts.push_task_event(row);
        facts
    }

    #[test]
    fn what_is_whole_is_read_whatever_follows_it() {
        let mut bytes = frame::header(12);
        entry::push(&mut bytes, &Entry::Facts(&facts("t1")), Instant(1)).unwrap();
        let one = bytes.len();
        entry::push(&mut bytes, &Entry::Piece { id: b"p", bytes: b"open" }, Instant(2)).unwrap();
        let two = bytes.len();
        entry::push(&mut bytes, &Entry::Facts(&facts("t2")), Instant(3)).unwrap();
        assert!(is_log(&bytes));
        let begins = [0, HEADER, one, two, bytes.len()];
        for cut in 0..=bytes.len() {
            let Peek { facts, damage } = read_log(&bytes[..cut], true).unwrap();
            assert_eq!(facts.len(), usize::from(cut >= one) + usize::from(cut == bytes.len()), "{cut}");
            assert!(damage.is_empty(), "it may be written just now: {cut}");
            let begin = begins.iter().rfind(|begin| **begin <= cut).unwrap();
            let lost = (*begin < cut).then_some(*begin..cut);
            assert_eq!(read_log(&bytes[..cut], false).unwrap().damage, Vec::from_iter(lost), "{cut}");
        }
        let facts = read_log(&bytes, true).unwrap().facts;
        let tasks: Vec<_> = facts.task_events.into_iter().map(|row| row.own.task_id).collect();
        assert_eq!(tasks, ["t1", "t2"]);
    }

    #[test]
    fn damage_before_something_whole_is_told_and_costs_no_more_than_its_entry() {
        let mut bytes = frame::header(12);
        entry::push(&mut bytes, &Entry::Facts(&facts("t1")), Instant(1)).unwrap();
        let one = bytes.len();
        entry::push(&mut bytes, &Entry::Facts(&facts("t2")), Instant(2)).unwrap();
        bytes[one - 9] ^= 1;
        let Peek { facts, damage } = read_log(&bytes, true).unwrap();
        let tasks: Vec<_> = facts.task_events.into_iter().map(|row| row.own.task_id).collect();
        assert_eq!(tasks, ["t2"]);
        assert!(matches!(&damage[..], [lost] if *lost == (HEADER..one)), "{damage:?}");
    }

    #[test]
    fn a_segment_of_a_newer_program_is_refused() {
        let mut newer = frame::header(7);
        newer[8] = 2;
        let crc = crc32fast::hash(&newer[..20]).to_le_bytes();
        newer[20..].copy_from_slice(&crc);
        assert!(matches!(read_log(&newer, true), Err(ReadError::NewerLog { found: 2, .. })));
    }
}
