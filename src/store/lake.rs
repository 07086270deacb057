//! The lake: facts by table and hour in Parquet files, for this program and any other.
//!
//! In: what a segment of the log holds. Out: `lake/<table>/date=YYYY-MM-DD/hour=HH/part-<segment>.parquet`, by `observed_at`
//! in UTC; each fact once. Writing a segment twice, also after it was cut short, ends in the same files. Reads no clock.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, Timelike};

use super::disk::{Disk, UNFINISHED, write_whole};
use super::entry::Batches;
use super::error::{At, StoreError};
use super::parquet;
use super::sort::{Row, Sorted};
use crate::instant::Instant;

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

/// The files that there are.
#[derive(Debug)]
pub(super) struct Lake {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// With their bytes.
    parts: BTreeMap<Hour, BTreeMap<Part, u64>>,
}

impl Lake {
    /// Looks at what is there, and removes what was never finished.
    pub(super) fn open(disk: Arc<dyn Disk>, folder: &Path) -> Result<Self, StoreError> {
        let mut lake = Self { disk, folder: folder.to_owned(), parts: BTreeMap::new() };
        for table in lake.names(folder)? {
            let table_folder = folder.join(&table);
            for date in lake.names(&table_folder)? {
                for hour in lake.names(&table_folder.join(&date))? {
                    if let Some(at) = Hour::parse(&date, &hour) {
                        lake.find(&table, at)?;
                    }
                }
            }
        }
        Ok(lake)
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, StoreError> {
        Ok(self.disk.list(folder).at("list", folder)?.into_iter().map(|entry| entry.name).collect())
    }

    fn find(&mut self, table: &str, hour: Hour) -> Result<(), StoreError> {
        let folder = self.folder.join(table).join(hour.folder());
        for entry in self.disk.list(&folder).at("list", &folder)? {
            if entry.name.starts_with('.') && entry.name.ends_with(UNFINISHED) {
                let path = folder.join(&entry.name);
                self.disk.remove(&path).at("remove", &path)?;
            }
            let number = entry.name.strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet")?.parse().ok());
            if let Some(number) = number {
                let part = Part { table: table.to_owned(), number };
                self.parts.entry(hour).or_default().insert(part, entry.bytes);
            }
        }
        Ok(())
    }

    fn path(&self, hour: Hour, part: &Part) -> PathBuf {
        self.folder.join(&part.table).join(hour.folder()).join(format!("part-{:012}.parquet", part.number))
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
            match parquet::ids(bytes) {
                Ok(known) => known.iter().flatten().flatten().for_each(|id| _ = new.remove(id)),
                // It may be mended or removed by hand; what is new must not wait for it.
                Err(error) => tracing::warn!(path = %path.display(), %error, "unreadable file in the lake"),
            }
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
