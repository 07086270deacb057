//! The lake: facts by table and hour in Parquet files, for this program and any other.
//!
//! In: what a segment of the log holds. Out: `lake/<table>/date=YYYY-MM-DD/hour=HH/part-<segment>.parquet`, by `observed_at`
//! in UTC; each fact once. Writing a segment twice, also after it was cut short, ends in the same files. Reads no clock.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, NaiveDate, Timelike};

use super::disk::{Disk, UNFINISHED, write_whole};
use super::entry::Batches;
use super::error::{At, ReadError, StoreError};
use super::parquet;
use super::sort::{Row, Sorted};
use crate::instant::Instant;
use crate::tables::TableError;

const HOUR_NANOS: i64 = 3_600 * 1_000_000_000;
const HOUR_SECONDS: i64 = 3_600;

/// An hour of event time, counted from the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hour(i64);

/// The time of what has none.
pub(super) const TIMELESS: Instant = Instant(0);

impl Hour {
    pub(super) fn of(at: Instant) -> Self {
        Self(at.0.div_euclid(HOUR_NANOS))
    }

    /// Whether it holds what has no time: what a card's body says is true of the body, whenever that was seen.
    pub(super) fn is_timeless(self) -> bool {
        self == Self::of(TIMELESS)
    }

    /// Its end.
    pub(super) fn end(self) -> Instant {
        Instant(self.0.saturating_add(1).saturating_mul(HOUR_NANOS))
    }

    fn folder(self) -> String {
        let start = DateTime::from_timestamp(self.0.saturating_mul(HOUR_SECONDS), 0).unwrap_or_default();
        format!("date={}/hour={:02}", start.format("%Y-%m-%d"), start.hour())
    }

    fn parse(date: &str, hour: &str) -> Option<Self> {
        let date: NaiveDate = date.strip_prefix("date=")?.parse().ok()?;
        let start = date.and_hms_opt(hour.strip_prefix("hour=")?.parse().ok()?, 0, 0)?;
        Some(Self(start.and_utc().timestamp().div_euclid(HOUR_SECONDS)))
    }
}

/// A file of the lake.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    pub(super) table: String,
    /// Segment of the log that it came from.
    number: u64,
}

impl Part {
    fn name(&self) -> String {
        format!("part-{:012}.parquet", self.number)
    }

    fn is_named(&self, name: &str) -> bool {
        self.number < u64::MAX && self.name() == name
    }
}

/// Tells of something that is not of a lake.
fn stray(path: &Path) {
    tracing::warn!(path = %path.display(), "this is nothing of the lake, and is passed over");
}

/// The files that there are.
#[derive(Debug)]
pub(super) struct Lake {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// With their bytes.
    parts: BTreeMap<Hour, BTreeMap<Part, u64>>,
    /// Files of which it was told that they cannot be read.
    unreadable: Mutex<HashSet<PathBuf>>,
}

impl Lake {
    /// Looks at what is there, and removes what was never finished. What is not of a lake is passed over.
    pub(super) fn open(disk: Arc<dyn Disk>, folder: &Path) -> Result<Self, StoreError> {
        let unreadable = Mutex::default();
        let mut lake = Self { disk, folder: folder.to_owned(), parts: BTreeMap::new(), unreadable };
        for (table, table_folder) in lake.folders(folder)? {
            for (date, date_folder) in lake.folders(&table_folder)? {
                for (hour, hour_folder) in lake.folders(&date_folder)? {
                    match Hour::parse(&date, &hour).filter(|at| at.folder() == format!("{date}/{hour}")) {
                        Some(at) => lake.find(&table, at, &hour_folder)?,
                        None => stray(&hour_folder),
                    }
                }
            }
        }
        Ok(lake)
    }

    /// Looks again, after somebody removed or replaced the folder.
    ///
    /// # Errors
    /// Also when another process has put files there: those that are neither known nor of one of these segments.
    pub(super) fn open_again(&self, segments: impl Iterator<Item = u64>) -> Result<Self, StoreError> {
        let own: HashSet<u64> = segments.collect();
        let lake = Self::open(Arc::clone(&self.disk), &self.folder)?;
        for (hour, parts) in &lake.parts {
            let known = self.parts.get(hour);
            let is_known = |part: &&Part| known.is_some_and(|known| known.contains_key(part));
            if let Some(foreign) = parts.keys().find(|part| !is_known(part) && !own.contains(&part.number)) {
                return Err(StoreError::Taken { path: self.path(*hour, foreign) });
            }
        }
        Ok(lake)
    }

    /// The folders in a folder, by name.
    fn folders(&self, folder: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
        let entries = self.disk.list(folder).at("list", folder)?;
        entries.iter().filter(|entry| entry.is_file).for_each(|entry| stray(&folder.join(&entry.name)));
        let folders = entries.into_iter().filter(|entry| !entry.is_file);
        Ok(folders.map(|entry| (entry.name.clone(), folder.join(entry.name))).collect())
    }

    fn find(&mut self, table: &str, hour: Hour, folder: &Path) -> Result<(), StoreError> {
        for entry in self.disk.list(folder).at("list", folder)? {
            let path = folder.join(&entry.name);
            let number = entry.name.strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet")?.parse().ok());
            let part = number.map(|number| Part { table: table.to_owned(), number });
            if entry.is_file && entry.name.starts_with('.') && entry.name.ends_with(UNFINISHED) {
                self.disk.remove(&path).at("remove", &path)?;
            } else if let Some(part) = part.filter(|part| entry.is_file && part.is_named(&entry.name)) {
                self.parts.entry(hour).or_default().insert(part, entry.bytes);
            } else {
                stray(&path);
            }
        }
        Ok(())
    }

    /// What was read of a file; `None` when it is broken or no facts, which is told once.
    ///
    /// # Errors
    /// When a newer program wrote it: then nothing is wrong with it.
    pub(super) fn readable<T>(&self, path: &Path, read: Result<T, ReadError>) -> Result<Option<T>, StoreError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(source @ ReadError::Table(TableError::Newer { .. })) => {
                Err(StoreError::Unreadable { path: path.to_owned(), source })
            }
            Err(error) => {
                let mut told = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
                if told.insert(path.to_owned()) {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(path = %path.display(), error, "a file of the lake cannot be read and is passed over");
                }
                Ok(None)
            }
        }
    }

    fn path(&self, hour: Hour, part: &Part) -> PathBuf {
        self.folder.join(&part.table).join(hour.folder()).join(part.name())
    }

    /// One more than the greatest number of a segment that any file came from.
    pub(super) fn next(&self) -> u64 {
        self.parts.values().flat_map(BTreeMap::keys).map(|part| part.number).max().map_or(0, |n| n.saturating_add(1))
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.parts.values().flat_map(BTreeMap::values).sum()
    }

    /// Number of files.
    pub(super) fn files(&self) -> usize {
        self.parts.values().map(BTreeMap::len).sum()
    }

    /// The hours that have files, oldest first.
    pub(super) fn hours(&self) -> impl Iterator<Item = Hour> {
        self.parts.keys().copied()
    }

    /// Writes what a segment holds, durably, without the facts that other segments have brought already. Returns the
    /// number of rows.
    pub(super) fn write(&mut self, number: u64, batches: &Batches) -> Result<u64, StoreError> {
        let mut rows = 0;
        for (table, batches) in batches {
            let Some(sorted) = Sorted::of(table, batches, &self.folder)? else { continue };
            for (hour, mut facts) in sorted.hours() {
                let part = Part { table: table.clone(), number };
                self.leave_out_known(hour, &part, &mut facts)?;
                if facts.is_empty() {
                    continue;
                }
                let bytes = parquet::write(table, &sorted.batch(&facts)?)?;
                let path = self.path(hour, &part);
                let folder = path.parent().unwrap_or(&self.folder);
                self.disk.make_folder(folder).at("make the folder", folder)?;
                write_whole(self.disk.as_ref(), &path, &bytes).at("write", &path)?;
                self.parts.entry(hour).or_default().insert(part, bytes.len() as u64);
                rows += facts.len() as u64;
            }
        }
        Ok(rows)
    }

    /// A record that was sent again may stand in two segments.
    fn leave_out_known(&self, hour: Hour, part: &Part, facts: &mut Vec<Row<'_>>) -> Result<(), StoreError> {
        let same_table = |other: &&Part| other.table == part.table && other.number != part.number;
        let others: Vec<&Part> =
            self.parts.get(&hour).into_iter().flat_map(BTreeMap::keys).filter(same_table).collect();
        if others.is_empty() {
            return Ok(());
        }
        let mut new: HashSet<&str> = facts.iter().map(|row| row.id).collect();
        for other in others {
            let path = self.path(hour, other);
            let Some(bytes) = self.read(&path)? else { continue };
            // It may be mended or removed by hand; what is new must not wait for it.
            let known = self.readable(&path, parquet::ids(bytes))?.unwrap_or_default();
            known.iter().flatten().flatten().for_each(|id| _ = new.remove(id));
        }
        facts.retain(|row| new.contains(row.id));
        Ok(())
    }

    /// A file; `None` where someone removed it.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        match self.disk.read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).at("read", path),
        }
    }

    /// The files of tables that are wanted with facts of hours that are.
    pub(super) fn select(
        &self,
        hours: impl Fn(Hour) -> bool,
        tables: impl Fn(&str) -> bool,
        mut each: impl FnMut(&str, &Path, Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for (hour, parts) in self.parts.iter().filter(|(hour, _)| hours(**hour)) {
            for part in parts.keys().filter(|part| tables(&part.table)) {
                let path = self.path(*hour, part);
                if let Some(bytes) = self.read(&path)? {
                    each(&part.table, &path, bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Removes an hour. Returns the number of files and their bytes.
    pub(super) fn remove(&mut self, hour: Hour) -> Result<(usize, u64), StoreError> {
        let parts = self.parts.get(&hour).cloned().unwrap_or_default();
        for part in parts.keys() {
            let path = self.path(hour, part);
            match self.disk.remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).at("remove", &path),
                _ => {}
            }
            // The folders of an hour and of a day go with the last file in them.
            for folder in path.ancestors().skip(1).take(2) {
                _ = self.disk.remove(folder);
            }
        }
        self.parts.remove(&hour);
        Ok((parts.len(), parts.values().sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_a_folder_and_back() {
        let at = Instant::parse_rfc3339("2026-11-30T06:15:34.786336Z").unwrap();
        let hour = Hour::of(at);
        assert_eq!(hour.folder(), "date=2026-11-30/hour=06");
        assert_eq!(Hour::parse("date=2026-11-30", "hour=06"), Some(hour));
        assert_eq!(hour.end(), Instant::parse_rfc3339("2026-11-30T07:00:00Z").unwrap());
        assert_eq!(Hour::of(Instant(0)).folder(), "date=1970-01-01/hour=00");
        for (date, hour) in [("date=x", "hour=06"), ("2026-11-30", "hour=06"), ("date=2026-11-30", "hour=24")] {
            assert_eq!(Hour::parse(date, hour), None);
        }
    }
}
