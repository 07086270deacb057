//! The write-ahead log: numbered segments, the last of which is written to.
//!
//! In: entries, many to a commit. Out: durable bytes, and after a restart the same entries. A commit is one write and one
//! fsync and lies in one segment. A commit that fails leaves what was durable as it is, ends the segment, and is forgotten:
//! its entries are not stored, and nobody may acknowledge them.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::disk::{Disk, DiskFile};
use super::entry::{Batches, Entry, Kept, Piece};
use super::error::{At, ReadError, StoreError, unreadable};
use super::frame::{self, HEADER};
use super::recover::{self, Damage, Recovered};
use super::segment::{Segment, Waiting, scan};
use crate::instant::Instant;
use crate::tables::TableError;

/// How the log is kept.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// A segment of this many bytes is written no further.
    pub segment_bytes: u64,
    /// Nor is one whose first entry is older.
    pub segment_age: Duration,
    /// Beyond this many bytes segments go to the lake, though they are young.
    pub max_bytes: u64,
    /// A segment written to so recently waits for its pieces to be done: else they are written once more.
    pub patience: Duration,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            segment_bytes: 16 << 20,
            segment_age: Duration::from_mins(10),
            max_bytes: 2 << 30,
            patience: Duration::ZERO,
        }
    }
}

/// The log.
#[derive(Debug)]
pub(super) struct Log {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    settings: LogSettings,
    /// Written no more, oldest first.
    sealed: VecDeque<Segment>,
    active: Option<Active>,
    /// Number of the next segment. No number is used twice: files of the lake are named by it.
    next: u64,
    waiting: Waiting,
    /// Pieces that are not done, and the segment that has them.
    pieces: HashMap<Vec<u8>, u64>,
    /// Ends with the log.
    _lock: Box<dyn Any + Send>,
}

/// The segment that is written to.
#[derive(Debug)]
struct Active {
    segment: Segment,
    file: Box<dyn DiskFile>,
}

/// What a segment holds.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) batches: Batches,
    pub(super) pieces: Vec<Piece>,
    /// What of it can no longer be read, though it once could.
    pub(super) damage: Option<Damage>,
}

impl Log {
    /// Takes the folder for this process and reads what is there.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        folder: &Path,
        settings: LogSettings,
    ) -> Result<(Self, Recovered), StoreError> {
        disk.make_folder(folder).at("make the folder", folder)?;
        let path = folder.join("lock");
        let lock = disk.lock(&path).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => StoreError::Locked { path: path.clone() },
            _ => StoreError::Disk { doing: "lock", path: path.clone(), source },
        })?;
        let found = recover::recover(disk.as_ref(), folder)?;
        let log = Self {
            disk,
            folder: folder.to_owned(),
            settings,
            sealed: found.segments,
            active: None,
            next: found.next,
            waiting: Waiting::default(),
            pieces: found.pieces,
            _lock: lock,
        };
        Ok((log, found.recovered))
    }

    /// New segments get numbers from here on, if theirs would be smaller.
    pub(super) fn number_from(&mut self, first: u64) {
        self.next = self.next.max(first);
    }

    /// Adds an entry to the next commit.
    pub(super) fn append(&mut self, entry: &Entry<'_>, now: Instant) -> Result<(), StoreError> {
        self.waiting.push(entry, now)
    }

    /// Makes durable what was appended.
    pub(super) fn commit(&mut self, now: Instant) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.bytes.is_empty() {
            return Ok(());
        }
        self.rotate(waiting.bytes.len() as u64, now);
        if let Err(error) = self.write(&waiting.bytes) {
            self.abandon();
            return Err(error);
        }
        if let Some(active) = &mut self.active {
            active.segment.absorb(waiting.summary);
            for (came, id) in waiting.pieces {
                if came {
                    self.pieces.insert(id, active.segment.number);
                } else {
                    self.pieces.remove(&id);
                }
            }
        }
        Ok(())
    }

    /// Forgets what was appended since the last commit.
    pub(super) fn discard(&mut self) {
        self.waiting = Waiting::default();
    }

    /// Commits entries of the store's own, whatever its user has appended.
    pub(super) fn commit_apart(&mut self, pieces: &[Piece], now: Instant) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut self.waiting);
        let appended =
            pieces.iter().try_for_each(|piece| self.append(&Entry::Piece { id: &piece.id, bytes: &piece.bytes }, now));
        let committed = appended.and_then(|()| self.commit(now));
        self.waiting = waiting;
        committed
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if let Some(Active { segment, file }) = &mut self.active {
            let path = path(&self.folder, segment.number);
            file.write_all(bytes).at("write", &path)?;
            return file.sync().at("sync", &path);
        }
        let number = self.next;
        self.next = number.saturating_add(1);
        let path = path(&self.folder, number);
        let file = self.disk.create(&path).at("create", &path)?;
        let Active { segment, file } = self.active.insert(Active { segment: Segment::new(number), file });
        file.write_all(&[&frame::header(number), bytes].concat()).at("write", &path)?;
        file.sync().at("sync", &path)?;
        self.disk.sync_folder(&self.folder).at("sync", &self.folder)?;
        segment.bytes = HEADER as u64;
        Ok(())
    }

    /// Ends a segment of which it is no longer known what the disk has after its durable part.
    fn abandon(&mut self) {
        let Some(Active { segment, mut file }) = self.active.take() else { return };
        if segment.bytes == 0 {
            drop(file);
            _ = self.disk.remove(&path(&self.folder, segment.number));
            return;
        }
        // If this fails too, a restart finds entries that nobody acknowledged: they are sent again and are the same facts.
        _ = file.truncate(segment.bytes).and_then(|()| file.sync());
        self.sealed.push_back(segment);
    }

    /// Ends the active segment when it is full or old enough.
    fn rotate(&mut self, more: u64, now: Instant) {
        let Some(Active { segment, .. }) = &self.active else { return };
        let is_full = segment.bytes + more > self.settings.segment_bytes;
        let age = segment.written.map_or(0, |(first, _)| now.0.saturating_sub(first.0));
        if is_full || u128::try_from(age).is_ok_and(|age| age >= self.settings.segment_age.as_nanos()) {
            self.seal();
        }
    }

    fn seal(&mut self) {
        self.sealed.extend(self.active.take().map(|active| active.segment));
    }

    /// The oldest segment, if it is to go: all before `until`, or one of too many.
    pub(super) fn oldest_before(&mut self, until: Instant, now: Instant) -> Option<Segment> {
        self.rotate(0, now);
        let is_idle = |active: &Active| active.segment.written.is_some_and(|(_, last)| last < until);
        if self.active.as_ref().is_some_and(is_idle) {
            self.seal();
        }
        let oldest = self.sealed.front()?;
        let is_old = oldest.is_before(until) && !self.waits(oldest, now);
        (is_old || self.bytes() > self.settings.max_bytes).then(|| oldest.clone())
    }

    /// Whether a segment holds pieces that are about to be done.
    fn waits(&self, segment: &Segment, now: Instant) -> bool {
        let age = segment.written.map_or(i64::MAX, |(_, last)| now.0.saturating_sub(last.0));
        let is_young = u128::try_from(age).is_ok_and(|age| age < self.settings.patience.as_nanos());
        is_young && self.pieces.values().any(|number| *number == segment.number)
    }

    /// What a segment holds.
    pub(super) fn read(&self, segment: &Segment) -> Result<Content, StoreError> {
        let path = path(&self.folder, segment.number);
        let mut bytes = self.disk.read(&path).at("read", &path)?;
        bytes.truncate(usize::try_from(segment.bytes).unwrap_or(usize::MAX));
        let mut content = Content::default();
        let good = scan(&bytes, segment.number, |kept, _| {
            match kept {
                Kept::Facts(batches) => {
                    for (table, batch) in batches {
                        content.batches.entry(table).or_default().push(batch);
                    }
                }
                Kept::Piece(piece) => content.pieces.push(piece),
                Kept::Done(_) => {}
            }
            Ok(())
        })
        .map_err(unreadable(&path))?;
        if good < segment.bytes {
            let lost = segment.bytes - good;
            content.damage = Some(Damage { segment: segment.number, offset: good, bytes: lost, is_tail: false });
        }
        content.pieces.retain(|piece| self.pieces.get(&piece.id) == Some(&segment.number));
        Ok(content)
    }

    /// Keeps aside what of a segment could not be read.
    pub(super) fn set_aside(&self, damage: &Damage) -> Result<(), StoreError> {
        recover::set_aside(self.disk.as_ref(), &self.folder, damage)
    }

    /// Removes the oldest segment, durably: none may go before one that is older.
    pub(super) fn remove_oldest(&mut self) -> Result<(), StoreError> {
        let Some(oldest) = self.sealed.front() else { return Ok(()) };
        let path = path(&self.folder, oldest.number);
        match self.disk.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).at("remove", &path),
            _ => self.disk.sync_folder(&self.folder).at("sync", &self.folder)?,
        }
        self.sealed.pop_front();
        Ok(())
    }

    /// All segments, oldest first.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.sealed.iter().chain(self.active.as_ref().map(|active| &active.segment))
    }

    /// Says of which segment a batch does not fit.
    pub(super) fn unfit(&self, segment: &Segment, error: TableError) -> StoreError {
        StoreError::Unreadable { path: path(&self.folder, segment.number), source: ReadError::Table(error) }
    }

    /// Bytes of all segments.
    pub(super) fn bytes(&self) -> u64 {
        self.segments().map(|segment| segment.bytes).sum()
    }

    /// Number of pieces that are not done.
    pub(super) fn open_pieces(&self) -> usize {
        self.pieces.len()
    }
}

/// Where a segment lies.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:012}.log"))
}
