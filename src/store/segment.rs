//! A segment of the log: what is known of it without reading it, and how it is read.
//!
//! In: entries as they are written, or the bytes of a segment. Out: a summary, and the entries up to the first that is not
//! whole. Touches no disk.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::entry::{self, Entry, Kept};
use super::error::{ReadError, StoreError};
use super::frame::{self, HEADER, Head};
use crate::instant::Instant;
use crate::tables::{Facts, TableError};

/// What is known of a segment.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    pub(super) number: u64,
    /// Bytes that are durable, or were when they were read.
    pub(super) bytes: u64,
    /// Rows of all tables.
    pub(super) facts: u64,
    /// When its first and last entry were written; `None` without entries.
    pub(super) written: Option<(Instant, Instant)>,
    /// Latest event time of its facts.
    last_observed: Option<Instant>,
    /// Hashes of the tasks that its facts name.
    tasks: HashSet<u64>,
}

impl Segment {
    pub(super) fn new(number: u64) -> Self {
        Self { number, ..Self::default() }
    }

    /// Adds what was written.
    pub(super) fn absorb(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.facts += more.facts;
        self.last_observed = self.last_observed.max(more.last_observed);
        self.tasks.extend(more.tasks);
        self.written = match (self.written, more.written) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }

    /// Notes that an entry was written.
    pub(super) fn wrote(&mut self, at: Instant) {
        self.absorb(Self { written: Some((at, at)), ..Self::default() });
    }

    /// Notes facts.
    pub(super) fn hold(&mut self, facts: &Facts) {
        self.facts += facts.len() as u64;
        self.last_observed = self.last_observed.max(facts.commons().map(|common| common.observed_at).max());
        self.tasks.extend(facts.of_tasks().filter(|(task, _)| !task.is_empty()).map(|(task, _)| hash(task)));
    }

    /// Whether all of it is older: by the time of its facts, or, where a clock is ahead, by when it was written.
    pub(super) fn is_before(&self, until: Instant) -> bool {
        let written = self.written.map_or(until, |(_, last)| last);
        self.last_observed.unwrap_or(written).min(written) < until
    }

    /// Whether it may hold facts of a task.
    pub(super) fn may_know(&self, task: &str) -> bool {
        self.tasks.contains(&hash(task))
    }
}

fn hash(task: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    task.hash(&mut hasher);
    hasher.finish()
}

/// Hands on the entries of a segment up to the first that is not whole, and tells how many bytes they are.
///
/// # Errors
/// When a newer program wrote it: then nothing is wrong with it.
pub(super) fn scan(
    bytes: &[u8],
    number: u64,
    mut each: impl FnMut(Kept, Instant) -> Result<(), TableError>,
) -> Result<u64, ReadError> {
    match frame::head(bytes, number) {
        Head::Sound => {}
        Head::Broken => return Ok(0),
        Head::Newer(found) => {
            return Err(ReadError::NewerLog { found, known: frame::FORMAT });
        }
    }
    let mut good = HEADER;
    for frame in frame::frames(bytes) {
        let Some(kept) = entry::read(frame.kind, frame.payload) else { break };
        match each(kept, frame.at) {
            Ok(()) => good = frame.end(),
            Err(error @ TableError::Newer { .. }) => return Err(error.into()),
            Err(_) => break,
        }
    }
    Ok(good as u64)
}

/// Entries on their way into a segment.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Their frames.
    pub(super) bytes: Vec<u8>,
    /// What the segment is to know of them.
    pub(super) summary: Segment,
    /// Pieces that came (`true`) and that are done, in order.
    pub(super) pieces: Vec<(bool, Vec<u8>)>,
}

impl Waiting {
    /// Adds an entry.
    pub(super) fn push(&mut self, entry: &Entry<'_>, now: Instant) -> Result<(), StoreError> {
        let before = self.bytes.len();
        entry::push(&mut self.bytes, entry, now)?;
        self.summary.bytes += (self.bytes.len() - before) as u64;
        self.summary.wrote(now);
        match entry {
            Entry::Facts(facts) => self.summary.hold(facts),
            Entry::Piece { id, .. } => self.pieces.push((true, id.to_vec())),
            Entry::Done(ids) => self.pieces.extend(ids.iter().map(|id| (false, id.clone()))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TaskEventRow;

    fn facts(at: i64, task: &str) -> Facts {
        let mut row = TaskEventRow::default();
        row.common.observed_at = Instant(at);
        row.own.task_id = task.to_owned();
        let mut facts = Facts::default();
        facts.push_task_event(row);
        facts
    }

    #[test]
    fn a_segment_is_old_when_its_facts_are_or_when_it_was_written_before_though_a_clock_is_ahead() {
        let mut waiting = Waiting::default();
        waiting.push(&Entry::Facts(&facts(50, "t1")), Instant(100)).unwrap();
        assert_eq!((waiting.summary.is_before(Instant(50)), waiting.summary.is_before(Instant(51))), (false, true));
        waiting.push(&Entry::Facts(&facts(1_000_000, "t2")), Instant(110)).unwrap();
        assert_eq!((waiting.summary.is_before(Instant(110)), waiting.summary.is_before(Instant(111))), (false, true));
        assert_eq!(["t1", "t2", "t3"].map(|task| waiting.summary.may_know(task)), [true, true, false]);
    }
}
