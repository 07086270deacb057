//! A look into the log of a store that another process may be writing.
//!
//! In: the bytes of a segment as they are now. Out: its facts, up to the first entry that is not whole. Locks nothing, cuts
//! nothing, and takes an end that is missing for one that is still being written.

use super::entry::Kept;
use super::error::ReadError;
use super::frame::{self, HEADER, MAGIC};
use super::segment::scan;
use crate::tables::Facts;

/// Whether bytes begin as a segment of a log does.
pub fn is_log(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// The facts in a segment of a log, identities not resolved. What is open, and no facts yet, is not among them.
///
/// # Errors
/// When a newer program wrote it.
pub fn read_log(bytes: &[u8]) -> Result<Facts, ReadError> {
    let mut facts = Facts::default();
    if bytes.len() < HEADER {
        return Ok(facts);
    }
    scan(bytes, frame::number(bytes), |kept, _| {
        if let Kept::Facts(batches) = kept {
            facts.append(Facts::from_batches(batches.iter().map(|(table, batch)| (table, batch)))?);
        }
        Ok(())
    })?;
    Ok(facts)
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
        entry::push(&mut bytes, &Entry::Facts(&facts("t2")), Instant(3)).unwrap();
        assert!(is_log(&bytes));
        for cut in 0..=bytes.len() {
            let read = read_log(&bytes[..cut]).unwrap();
            assert_eq!(read.len(), usize::from(cut >= one) + usize::from(cut == bytes.len()), "{cut}");
        }
        let tasks: Vec<_> = read_log(&bytes).unwrap().task_events.into_iter().map(|row| row.own.task_id).collect();
        assert_eq!(tasks, ["t1", "t2"]);
    }

    #[test]
    fn a_segment_of_a_newer_program_is_refused() {
        let mut newer = frame::header(7);
        newer[8] = 2;
        let crc = crc32fast::hash(&newer[..20]).to_le_bytes();
        newer[20..].copy_from_slice(&crc);
        assert!(matches!(read_log(&newer), Err(ReadError::NewerLog { found: 2, .. })));
    }
}
