//! The store as its user sees it: log and lake of one folder.
//!
//! In: entries to keep, and instants that say what is settled and what is too old. Out: durable facts, and what was done.
//! One process has it open at a time; others may read the lake meanwhile.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::column;
use super::disk::{Disk, LocalDisk};
use super::entry::Entry;
use super::error::{ReadError, StoreError};
use super::lake::{Hour, Lake, TIMELESS};
use super::log::{Log, LogSettings};
use super::parquet;
use super::recover::{Damage, Recovered};
use super::segment::Segment;
use crate::instant::Instant;
use crate::tables::Facts;

/// How a store is kept.
#[derive(Debug, Clone, Default)]
pub struct StoreSettings {
    /// The log.
    pub log: LogSettings,
    /// What goes when.
    pub retention: Retention,
}

/// What goes when; nothing does by default.
#[derive(Debug, Clone, Default)]
pub struct Retention {
    /// Facts of the lake whose hour ended longer ago go.
    pub max_age: Option<Duration>,
    /// While log and lake are larger, the oldest hour of the lake goes.
    pub max_bytes: Option<u64>,
}

/// Log and lake of one folder.
#[derive(Debug)]
pub struct Store {
    log: Log,
    lake: Lake,
    retention: Retention,
}

/// What [`Store::close`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closed {
    /// Segments that left the log.
    pub segments: usize,
    /// Rows that came into the lake.
    pub rows: u64,
    /// Pieces that moved on to a newer segment.
    pub pieces: usize,
    /// What could be read when it was written and cannot any more.
    pub damage: Vec<Damage>,
}

/// What [`Store::retain`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Hours.
    pub hours: usize,
    /// Files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Segments of the log.
    pub log_segments: usize,
    /// Their bytes.
    pub log_bytes: u64,
    /// Rows in them; a fact that was committed twice counts twice.
    pub log_facts: u64,
    /// Pieces that are not done.
    pub open_pieces: usize,
    /// Files of the lake.
    pub lake_files: usize,
    /// Their bytes.
    pub lake_bytes: u64,
}

impl Store {
    /// Opens the store in a folder, which is made if need be, and tells what its log holds.
    ///
    /// # Errors
    /// When another process has it open, when a newer program wrote it, or when the disk refuses.
    pub fn open(folder: &Path, settings: StoreSettings) -> Result<(Self, Recovered), StoreError> {
        Self::open_on(Arc::new(LocalDisk), folder, settings)
    }

    /// As [`Store::open`], on a disk of the caller's.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_on(
        disk: Arc<dyn Disk>,
        folder: &Path,
        settings: StoreSettings,
    ) -> Result<(Self, Recovered), StoreError> {
        // The lock is the log's, and the lake is cleaned: in this order.
        let (mut log, recovered) = Log::open(disk.clone(), &folder.join("wal"), settings.log)?;
        let lake = Lake::open(disk, &folder.join("lake"))?;
        log.number_from(lake.next());
        Ok((Self { log, lake, retention: settings.retention }, recovered))
    }

    /// Adds an entry to the next commit. Facts must be final, their identities not resolved.
    ///
    /// # Errors
    /// When the entry is too large. Nothing is written yet.
    pub fn append(&mut self, entry: &Entry<'_>, now: Instant) -> Result<(), StoreError> {
        self.log.append(entry, now)
    }

    /// Makes all that was appended durable, in one write.
    ///
    /// # Errors
    /// When the disk refuses. Then none of it counts as stored and all of it is forgotten: who sent it must be asked to send
    /// it again. The next commit may succeed.
    pub fn commit(&mut self, now: Instant) -> Result<(), StoreError> {
        if self.log.is_lost()
            && let Err(error) = self.keep()
        {
            self.log.discard();
            return Err(error);
        }
        self.log.commit(now)
    }

    /// Looks whether the folder is still the one that was opened. Where it was removed or replaced, takes it again and writes
    /// what the log holds into it; what lay in the lake is gone. Returns whether it had to.
    ///
    /// # Errors
    /// When another process has it, or the disk refuses. Nothing can be stored then; the next call tries again.
    pub fn keep(&mut self) -> Result<bool, StoreError> {
        if self.log.is_there()? {
            return Ok(false);
        }
        self.log.take_again()?;
        let lake = self.lake.open_again(self.log.segments().map(|segment| segment.number))?;
        self.log.write_again()?;
        self.lake = lake;
        Ok(true)
    }

    /// Forgets what was appended since the last commit.
    pub fn discard(&mut self) {
        self.log.discard();
    }

    /// Moves segments whose facts are all of before `until` from the log into the lake, oldest first; one that is younger
    /// holds up those after it. Beyond its size the log gives up young segments as well.
    ///
    /// # Errors
    /// When the disk refuses. What is not moved stays in the log, and the next call goes on.
    pub fn close(&mut self, until: Instant, now: Instant) -> Result<Closed, StoreError> {
        self.close_some(until, now, usize::MAX)
    }

    /// As [`Store::close`], so many segments at most: who has others to serve does it bit by bit.
    ///
    /// # Errors
    /// As [`Store::close`].
    pub fn close_some(&mut self, until: Instant, now: Instant, most: usize) -> Result<Closed, StoreError> {
        self.keep()?;
        let mut closed = Closed::default();
        // Pieces that move on may fill segments of their own: those are for the next call.
        let last = self.log.segments().map(|segment| segment.number).max();
        while closed.segments < most
            && let Some(segment) = self.log.oldest_before(until, now).filter(|segment| Some(segment.number) <= last)
        {
            let content = self.log.read(&segment)?;
            closed.rows += self.lake.write(segment.number, &content.batches)?;
            for damage in content.damage {
                self.log.set_aside(&damage)?;
                closed.damage.push(damage);
            }
            self.log.commit_apart(&content.pieces, now)?;
            closed.pieces += content.pieces.len();
            self.log.remove_oldest()?;
            closed.segments += 1;
        }
        Ok(closed)
    }

    /// Removes what is too old or too much, the oldest hour of the lake first. What has no time stays.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn retain(&mut self, now: Instant) -> Result<Dropped, StoreError> {
        self.keep()?;
        let mut dropped = Dropped::default();
        loop {
            let Some(oldest) = self.lake.hours().find(|hour| !hour.is_timeless()) else { break };
            let age = u128::try_from(now.0.saturating_sub(oldest.end().0)).unwrap_or(0);
            let is_old = self.retention.max_age.is_some_and(|most| age > most.as_nanos());
            let is_too_much = self.retention.max_bytes.is_some_and(|most| self.log.bytes() + self.lake.bytes() > most);
            if !is_old && !is_too_much {
                break;
            }
            let (files, bytes) = self.lake.remove(oldest)?;
            dropped.hours += 1;
            dropped.files += files;
            dropped.bytes += bytes;
        }
        Ok(dropped)
    }

    /// All facts observed in a range of time, and those that have none, from lake and log, each once, identities not
    /// resolved.
    ///
    /// # Errors
    /// When the disk refuses, or a newer program wrote a file. Files of the lake that are broken or no facts are passed over.
    pub fn load(&self, range: Range<Instant>) -> Result<Facts, StoreError> {
        self.gather(&range, |_| true, |_| true, |_, bytes| parquet::read_facts(bytes))
    }

    /// As [`Store::load`], of some tables only.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn load_tables(&self, tables: &[&str], range: Range<Instant>) -> Result<Facts, StoreError> {
        self.gather(&range, |table| tables.contains(&table), |_| true, |_, bytes| parquet::read_facts(bytes))
    }

    /// The facts that name one of some tasks, as [`Store::load`] gives them.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn load_tasks(&self, tasks: HashSet<String>, range: Range<Instant>) -> Result<Facts, StoreError> {
        let tasks = Arc::new(tasks);
        let may_know = |segment: &Segment| tasks.iter().any(|task| segment.may_know(task));
        let mut facts =
            self.gather(&range, names_tasks, may_know, |table, bytes| parquet::read_tasks(table, bytes, &tasks))?;
        facts.retain_tasks(|task| tasks.contains(task));
        Ok(facts)
    }

    /// The tasks of which there are facts from before an instant. Those of the hour that it is in may all be told.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn tasks_before(&self, until: Instant) -> Result<HashSet<String>, StoreError> {
        let mut tasks = HashSet::new();
        let hours = |hour: Hour| !hour.is_timeless() && hour <= Hour::of(until);
        self.lake.select(hours, names_tasks, |_, path, bytes| {
            let named = self.lake.readable(path, parquet::task_ids(bytes))?.unwrap_or_default();
            for task in named.iter().flatten().flatten().filter(|task| !task.is_empty()) {
                if !tasks.contains(task) {
                    tasks.insert(task.to_owned());
                }
            }
            Ok(())
        })?;
        for segment in self.log.segments() {
            for (_, batches) in self.log.read(segment)?.batches.iter().filter(|(table, _)| names_tasks(table)) {
                for batch in batches {
                    let old = column::observed(batch).iter().zip(column::tasks(batch));
                    let old = old.filter(|(at, task)| Instant(**at) < until && !task.is_empty());
                    tasks.extend(old.map(|(_, task)| task.to_owned()));
                }
            }
        }
        Ok(tasks)
    }

    /// The latest instant in a range from which on there are `most` facts or more, or the start of the range where it holds
    /// fewer; facts without a time do not count. A fact that stands in log and lake counts twice.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub fn newest(&self, range: &Range<Instant>, most: usize) -> Result<Instant, StoreError> {
        let mut newest = Newest::new(range, most);
        for segment in self.log.segments() {
            for (_, batch) in
                self.log.read(segment)?.batches.iter().flat_map(|(table, all)| all.iter().map(move |b| (table, b)))
            {
                newest.add(column::observed(batch));
            }
        }
        let hours: Vec<Hour> = self.lake.hours().filter(|hour| !hour.is_timeless()).collect();
        for hour in hours.into_iter().rev().take_while(|hour| hour.end() > range.start) {
            if newest.start() >= hour.end() {
                break;
            }
            self.lake.select(
                |other| other == hour,
                |_| true,
                |_, path, bytes| {
                    for column in self.lake.readable(path, parquet::observed(bytes))?.unwrap_or_default() {
                        newest.add(column::instants(Some(&column)));
                    }
                    Ok(())
                },
            )?;
        }
        Ok(newest.start())
    }

    fn gather(
        &self,
        range: &Range<Instant>,
        tables: impl Fn(&str) -> bool,
        segments: impl Fn(&Segment) -> bool,
        read: impl Fn(&str, Vec<u8>) -> Result<Facts, ReadError>,
    ) -> Result<Facts, StoreError> {
        let mut facts = Facts::default();
        let mut add = |mut more: Facts| {
            more.retain(|common| range.contains(&common.observed_at) || common.observed_at == TIMELESS);
            facts.append(more);
        };
        let hours = |hour: Hour| hour.is_timeless() || (Hour::of(range.start) <= hour && hour <= Hour::of(range.end));
        self.lake.select(hours, &tables, |table, path, bytes| {
            if let Some(more) = self.lake.readable(path, read(table, bytes))? {
                add(more);
            }
            Ok(())
        })?;
        for segment in self.log.segments().filter(|segment| segments(segment)) {
            for (table, batches) in self.log.read(segment)?.batches.iter().filter(|(table, _)| tables(table)) {
                for batch in batches {
                    let is_wanted = |at| range.contains(&Instant(at)) || Instant(at) == TIMELESS;
                    let facts = Facts::from_batches([(table, &column::at(batch, is_wanted))]);
                    add(facts.map_err(|error| self.log.unfit(segment, error))?);
                }
            }
        }
        facts.make_set();
        Ok(facts)
    }

    /// How much there is.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            log_segments: self.log.segments().count(),
            log_bytes: self.log.bytes(),
            log_facts: self.log.segments().map(|segment| segment.facts).sum(),
            open_pieces: self.log.open_pieces(),
            lake_files: self.lake.files(),
            lake_bytes: self.lake.bytes(),
        }
    }
}

/// The newest instants of a range, so many at most.
struct Newest<'a> {
    range: &'a Range<Instant>,
    most: usize,
    /// The oldest of them is on top.
    instants: BinaryHeap<Reverse<i64>>,
}

impl<'a> Newest<'a> {
    fn new(range: &'a Range<Instant>, most: usize) -> Self {
        Self { range, most: most.max(1), instants: BinaryHeap::new() }
    }

    fn add(&mut self, instants: &[i64]) {
        for at in instants.iter().filter(|at| self.range.contains(&Instant(**at)) && Instant(**at) != TIMELESS) {
            self.instants.push(Reverse(*at));
            if self.instants.len() > self.most {
                self.instants.pop();
            }
        }
    }

    /// From when on they are all there.
    fn start(&self) -> Instant {
        match self.instants.peek() {
            Some(Reverse(oldest)) if self.instants.len() >= self.most => Instant(*oldest),
            _ => self.range.start,
        }
    }
}

fn names_tasks(table: &str) -> bool {
    Facts::schemas().iter().any(|(name, schema)| *name == table && schema.index_of("task_id").is_ok())
}
