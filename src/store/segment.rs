//! A segment of the log: what is known of it without reading it, and how it is read.
//!
//! In: entries as they are written, or the bytes of a segment. Out: a summary, and the entries that are whole, those behind
//! damage too. Touches no disk.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use arrow::array::RecordBatch;

use super::column;
use super::entry::{self, Entry, Kept};
use super::error::{ReadError, StoreError};
use super::frame::{self, HEADER, Head};
use super::resync::Resync;
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

    /// Notes the facts of a batch, of which only the columns that matter are read.
    pub(super) fn hold_batch(&mut self, batch: &RecordBatch) {
        self.facts += batch.num_rows() as u64;
        self.last_observed = self.last_observed.max(column::observed(batch).iter().max().map(|at| Instant(*at)));
        self.tasks.extend(column::tasks(batch).filter(|task| !task.is_empty()).map(hash));
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

/// How the bytes of a segment fall into what can be read and what cannot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Frames of entries that were handed on, those side by side as one.
    pub(super) good: Vec<Range<usize>>,
    /// What is no header or entry.
    pub(super) lost: Vec<Range<usize>>,
}

impl Scanned {
    /// Bytes of a segment that has the good ones only.
    pub(super) fn bytes(&self) -> u64 {
        (HEADER + self.good.iter().map(Range::len).sum::<usize>()) as u64
    }
}

/// Adds a range, to the last where it follows on that.
fn push_range(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

/// Hands on the entries of a segment, passing over damage. Which pieces are done is not believed behind damage: it may have
/// held what they became.
///
/// # Errors
/// When a newer program wrote it: then nothing is wrong with it.
pub(super) fn scan(
    bytes: &[u8],
    number: u64,
    mut each: impl FnMut(Kept, Instant) -> Result<(), TableError>,
) -> Result<Scanned, ReadError> {
    let mut scanned = Scanned::default();
    let mut resync = Resync::new(bytes);
    let mut at = HEADER.min(bytes.len());
    match frame::head(bytes, number) {
        Head::Sound => {}
        Head::Broken => push_range(&mut scanned.lost, 0..at),
        Head::Newer(found) => return Err(ReadError::NewerLog { found, known: frame::FORMAT }),
    }
    while at < bytes.len() {
        let Some(frame) = frame::frame(bytes, at) else {
            let next = resync.after(at);
            push_range(&mut scanned.lost, at..next);
            at = next;
            continue;
        };
        let is_lost = match entry::read(frame.kind, frame.payload) {
            None => true,
            Some(Kept::Done(_)) if !scanned.lost.is_empty() => {
                at = frame.end();
                continue;
            }
            Some(kept) => match each(kept, frame.at) {
                Ok(()) => false,
                Err(error @ TableError::Newer { .. }) => return Err(error.into()),
                Err(_) => true,
            },
        };
        push_range(if is_lost { &mut scanned.lost } else { &mut scanned.good }, at..frame.end());
        at = frame.end();
    }
    Ok(scanned)
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
    use super::super::entry::Piece;
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
    /// A segment of entries, and where each begins and the last ends.
    fn segment(entries: &[Entry<'_>]) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = frame::header(7);
        let mut begins = vec![bytes.len()];
        for entry in entries {
            entry::push(&mut bytes, entry, Instant(1)).unwrap();
            begins.push(bytes.len());
        }
        (bytes, begins)
    }

    /// Names of the pieces that are told, of what is done in brackets; and what is lost.
    fn told(bytes: &[u8]) -> (Vec<String>, Vec<Range<usize>>) {
        let mut told = Vec::new();
        let text = |id: &[u8]| String::from_utf8(id.to_vec()).unwrap();
        let scanned = scan(bytes, 7, |kept, _| {
            match kept {
                Kept::Piece(Piece { id, .. }) => told.push(text(&id)),
                Kept::Done(ids) => told.push(format!("[{}]", text(&ids[0]))),
                Kept::Facts(_) => {}
            }
            Ok(())
        })
        .unwrap();
        (told, scanned.lost)
    }

    #[test]
    fn damage_of_any_byte_costs_its_entry_and_none_behind_it() {
        let entries = [b"a", b"b", b"c"].map(|id| Entry::Piece { id, bytes: b"content of some length" });
        let (sound, begins) = segment(&entries);
        assert_eq!(told(&sound), (vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], vec![]));
        for at in 0..sound.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = sound.clone();
                bytes[at] ^= flip;
                let hit = begins.iter().rposition(|begin| *begin <= at);
                let expected = ["a", "b", "c"].into_iter().enumerate().filter(|(n, _)| Some(*n) != hit);
                let expected: Vec<String> = expected.map(|(_, id)| id.to_owned()).collect();
                let lost = hit.map_or(0..HEADER, |hit| begins[hit]..begins[hit + 1]);
                assert_eq!(told(&bytes), (expected, vec![lost]), "{at} {flip}");
            }
        }
    }

    #[test]
    fn damage_over_several_entries_in_several_places_costs_these() {
        let ids: Vec<[u8; 1]> = (b'a'..=b'j').map(|id| [id]).collect();
        let entries: Vec<Entry<'_>> = ids.iter().map(|id| Entry::Piece { id, bytes: b"some content" }).collect();
        let (mut bytes, begins) = segment(&entries);
        // From the middle of b to the middle of d, and the header of g.
        bytes[begins[1] + 20..begins[3] + 20].fill(0);
        bytes[begins[6]..begins[6] + 17].fill(0xff);
        let (told, lost) = told(&bytes);
        assert_eq!(told.concat(), "aefhij");
        assert_eq!(lost, [begins[1]..begins[4], begins[6]..begins[7]]);
    }

    #[test]
    fn what_is_done_is_not_believed_behind_damage() {
        let (done, other) = (vec![b"a".to_vec()], vec![b"b".to_vec()]);
        let (mut bytes, begins) = segment(&[
            Entry::Piece { id: b"a", bytes: b"" },
            Entry::Done(&other),
            Entry::Piece { id: b"became", bytes: b"what it became" },
            Entry::Done(&done),
            Entry::Piece { id: b"c", bytes: b"" },
        ]);
        assert_eq!(told(&bytes).0, ["a", "[b]", "became", "[a]", "c"]);
        bytes[begins[2] + 20] ^= 1;
        assert_eq!(told(&bytes).0, ["a", "[b]", "c"]);
    }
}
