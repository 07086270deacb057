//! What the log holds after a restart.
//!
//! In: the folder of the log. Out: its facts, its pieces that are not done, and an account of what could not be read. Of a
//! damaged segment the part before the damage is taken and the rest is kept aside; later segments are read all the same.
//! Running it again, also after it was cut short, finds the same.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use super::disk::{Disk, write_whole};
use super::entry::{Kept, Piece};
use super::error::{At, StoreError, unreadable};
use super::frame::{self, HEADER};
use super::log::path;
use super::segment::{Segment, scan};
use crate::instant::Instant;
use crate::tables::{Facts, TableError};

/// What was there.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Facts that are not in the lake yet (or just went there), each once.
    pub facts: Facts,
    /// Pieces that were not done, in the order they came.
    pub pieces: Vec<Piece>,
    /// What could not be read.
    pub damage: Vec<Damage>,
    /// Segments read.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// A part of the log that is not what was written. It is kept in `wal/<segment>-<offset>.damaged`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Segment.
    pub segment: u64,
    /// Where in it.
    pub offset: u64,
    /// How much.
    pub bytes: u64,
    /// Whether it is the end of the last segment: where a crash cuts what was being written, and nobody acknowledged.
    pub is_tail: bool,
}

/// What was found, for the log and for its user.
pub(super) struct Found {
    pub(super) recovered: Recovered,
    pub(super) segments: VecDeque<Segment>,
    pub(super) pieces: HashMap<Vec<u8>, u64>,
    /// One more than the greatest number of a segment.
    pub(super) next: u64,
}

/// Pieces that are not done, in the order they came.
#[derive(Default)]
struct Pieces {
    came: u64,
    /// Id -> order, segment, content.
    open: HashMap<Vec<u8>, (u64, u64, Vec<u8>)>,
}

impl Pieces {
    fn take(&mut self, segment: u64, piece: Piece) {
        self.came += 1;
        self.open.insert(piece.id, (self.came, segment, piece.bytes));
    }
}

/// Reads the log.
pub(super) fn recover(disk: &dyn Disk, folder: &Path) -> Result<Found, StoreError> {
    let names = disk.list(folder).at("list", folder)?;
    let number = |name: &str| name.split_once(['.', '-'])?.0.parse::<u64>().ok();
    let next = names.iter().filter_map(|entry| number(&entry.name)).max().map_or(1, |last| last.saturating_add(1));
    let mut numbers: Vec<u64> =
        names.iter().filter_map(|entry| entry.name.strip_suffix(".log")?.parse().ok()).collect();
    numbers.sort_unstable();
    let last = numbers.last().copied();

    let mut recovered = Recovered::default();
    let mut segments = VecDeque::new();
    let mut pieces = Pieces::default();
    for number in numbers {
        let path = path(folder, number);
        let bytes = disk.read(&path).at("read", &path)?;
        let mut segment = Segment::new(number);
        segment.bytes =
            scan(&bytes, number, |kept, at| take(kept, at, &mut segment, &mut recovered.facts, &mut pieces))
                .map_err(unreadable(&path))?;
        recovered.segments += 1;
        recovered.bytes += segment.bytes;
        if !is_begun(&bytes, number) && segment.bytes < bytes.len() as u64 {
            let lost = bytes.len() as u64 - segment.bytes;
            let damage = Damage { segment: number, offset: segment.bytes, bytes: lost, is_tail: Some(number) == last };
            set_aside(disk, folder, &damage)?;
            recovered.damage.push(damage);
        }
        if segment.bytes > HEADER as u64 {
            // A process that was killed may have left bytes that no disk has yet: what is told here must not go.
            disk.append(&path).and_then(|mut file| file.sync()).at("sync", &path)?;
            segments.push_back(segment);
        } else {
            disk.remove(&path).at("remove", &path)?;
        }
    }
    disk.sync_folder(folder).at("sync", folder)?;
    recovered.facts.make_set();
    let open = pieces.open.iter().map(|(id, (_, segment, _))| (id.clone(), *segment)).collect();
    let mut left: Vec<_> = pieces.open.into_iter().collect();
    left.sort_by_key(|(_, (order, _, _))| *order);
    recovered.pieces = left.into_iter().map(|(id, (_, _, bytes))| Piece { id, bytes }).collect();
    Ok(Found { recovered, segments, pieces: open, next })
}

/// Whether a crash left no more than the beginning of a header: nothing is lost.
fn is_begun(bytes: &[u8], number: u64) -> bool {
    bytes.len() < HEADER && frame::header(number).starts_with(bytes)
}

fn take(
    kept: Kept,
    at: Instant,
    segment: &mut Segment,
    facts: &mut Facts,
    pieces: &mut Pieces,
) -> Result<(), TableError> {
    match kept {
        Kept::Facts(batches) => {
            let read = Facts::from_batches(batches.iter().map(|(table, batch)| (table, batch)))?;
            segment.hold(&read);
            facts.append(read);
        }
        Kept::Piece(piece) => pieces.take(segment.number, piece),
        Kept::Done(ids) => ids.iter().for_each(|id| _ = pieces.open.remove(id)),
    }
    segment.wrote(at);
    Ok(())
}

/// Moves the damaged end of a segment into a file of its own.
pub(super) fn set_aside(disk: &dyn Disk, folder: &Path, damage: &Damage) -> Result<(), StoreError> {
    let Damage { segment, offset, .. } = *damage;
    let path = path(folder, segment);
    let bytes = disk.read(&path).at("read", &path)?;
    let end = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
    if end.is_empty() {
        return Ok(());
    }
    let aside = folder.join(format!("{segment:012}-{offset}.damaged"));
    write_whole(disk, &aside, end).at("write", &aside)?;
    let mut file = disk.append(&path).at("open", &path)?;
    file.truncate(offset).and_then(|()| file.sync()).at("cut", &path)
}
