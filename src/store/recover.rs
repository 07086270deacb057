//! What the log holds after a restart.
//!
//! In: the folder of the log. Out: what its segments hold, its pieces that are not done, and an account of what could not be
//! read. Of a damaged segment all that is whole is taken and the rest is kept aside.
//! Running it again, also after it was cut short, finds the same.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::Path;

use super::disk::{Disk, write_whole};
use super::entry::{Kept, Piece};
use super::error::{At, StoreError, unreadable};
use super::frame::{self, HEADER};
use super::log::{Held, let_go, number, path};
use super::segment::{Scanned, Segment, scan};
use crate::instant::Instant;
use crate::tables::{Facts, TableError};

/// What was there.
#[derive(Debug, Default)]
pub struct Recovered {
    /// Facts in the log, which are not in the lake yet or just went there; one that was committed twice counts twice.
    pub facts: u64,
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
    /// Whether it is the end of the last segment, with nothing whole behind it: there a crash cuts what was being written, and
    /// nobody acknowledged. Elsewhere something was lost that had been written.
    pub is_tail: bool,
}

impl Damage {
    /// The file that it was in, within the folder.
    pub fn file(&self) -> String {
        path(Path::new("wal"), self.segment).display().to_string()
    }

    /// Damage that is no cut end.
    pub(super) fn of(segment: u64, lost: &Range<usize>) -> Self {
        Self { segment, offset: lost.start as u64, bytes: lost.len() as u64, is_tail: false }
    }
}

/// What was found, for the log and for its user.
pub(super) struct Found {
    pub(super) recovered: Recovered,
    pub(super) segments: VecDeque<Held>,
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
    let (numbers, next) = numbers(disk, folder)?;
    let last = numbers.last().copied();
    let mut recovered = Recovered::default();
    let mut segments = VecDeque::new();
    let mut pieces = Pieces::default();
    for number in numbers {
        let path = path(folder, number);
        let bytes = disk.read(&path).at("read", &path)?;
        let mut segment = Segment::new(number);
        let scanned =
            scan(&bytes, number, |kept, at| take(kept, at, &mut segment, &mut pieces)).map_err(unreadable(&path))?;
        segment.bytes = scanned.bytes();
        recovered.segments += 1;
        recovered.bytes += segment.bytes;
        recovered.facts += segment.facts;
        if !is_begun(&bytes, number) {
            for lost in &scanned.lost {
                let is_tail = Some(number) == last && lost.end == bytes.len() && lost.start >= HEADER;
                let damage = Damage { is_tail, ..Damage::of(number, lost) };
                set_aside(disk, folder, &bytes, &damage)?;
                recovered.damage.push(damage);
            }
            mend(disk, &path, number, &bytes, &scanned)?;
        }
        if scanned.good.is_empty() {
            disk.remove(&path).at("remove", &path)?;
        } else {
            let mut file = disk.append(&path).at("open", &path)?;
            // A process that was killed may have left bytes that no disk has yet: what is told here must not go.
            file.sync().at("sync", &path)?;
            segments.push_back(Held { segment, file: Some(file) });
            let_go(&mut segments);
        }
    }
    disk.sync_folder(folder).at("sync", folder)?;
    let open = pieces.open.iter().map(|(id, (_, segment, _))| (id.clone(), *segment)).collect();
    let mut left: Vec<_> = pieces.open.into_iter().collect();
    left.sort_by_key(|(_, (order, _, _))| *order);
    recovered.pieces = left.into_iter().map(|(id, (_, _, bytes))| Piece { id, bytes }).collect();
    Ok(Found { recovered, segments, pieces: open, next })
}

/// The numbers of the segments in a folder, in order, and that of the next. What else lies there is left alone.
fn numbers(disk: &dyn Disk, folder: &Path) -> Result<(Vec<u64>, u64), StoreError> {
    let mut numbers = Vec::new();
    let mut next = 1;
    for entry in disk.list(folder).at("list", folder)? {
        // Names of what was kept aside begin as that of its segment.
        let begins = entry.name.split_once(['.', '-']).map_or("", |(begins, _)| begins);
        let of_segment = number(&format!("{begins}.log"));
        next = next.max(of_segment.map_or(0, |number| number.saturating_add(1)));
        match number(&entry.name) {
            Some(number) if entry.is_file => numbers.push(number),
            _ if entry.name.ends_with(".log") => {
                let path = folder.join(&entry.name);
                tracing::warn!(path = %path.display(), "this is no file of the log, and is passed over");
            }
            _ => {}
        }
    }
    numbers.sort_unstable();
    Ok((numbers, next))
}

/// Leaves in a segment what is whole: cuts its end, or writes it anew.
fn mend(disk: &dyn Disk, path: &Path, number: u64, bytes: &[u8], scanned: &Scanned) -> Result<(), StoreError> {
    if scanned.lost.is_empty() || scanned.good.is_empty() {
        return Ok(());
    }
    if scanned.good.len() == 1 && scanned.lost.iter().all(|lost| lost.end == bytes.len()) {
        let mut file = disk.append(path).at("open", path)?;
        return file.truncate(scanned.bytes()).and_then(|()| file.sync()).at("cut", path);
    }
    let good = scanned.good.iter().filter_map(|good| bytes.get(good.clone()));
    let mended = std::iter::once(frame::header(number).as_slice()).chain(good).collect::<Vec<_>>().concat();
    write_whole(disk, path, &mended).at("write", path)
}

/// Whether a crash left no more than the beginning of a header: nothing is lost.
fn is_begun(bytes: &[u8], number: u64) -> bool {
    bytes.len() < HEADER && frame::header(number).starts_with(bytes)
}

fn take(kept: Kept, at: Instant, segment: &mut Segment, pieces: &mut Pieces) -> Result<(), TableError> {
    match kept {
        Kept::Facts(batches) => {
            // That they are facts, their columns tell; to read all rows would take minutes of a large log.
            let empty: Vec<_> = batches.iter().map(|(table, batch)| (table, batch.slice(0, 0))).collect();
            Facts::from_batches(empty.iter().map(|(table, batch)| (*table, batch)))?;
            batches.iter().for_each(|(_, batch)| segment.hold_batch(batch));
        }
        Kept::Piece(piece) => pieces.take(segment.number, piece),
        Kept::Done(ids) => ids.iter().for_each(|id| _ = pieces.open.remove(id)),
    }
    segment.wrote(at);
    Ok(())
}

/// Copies a damaged part of a segment into a file of its own.
pub(super) fn set_aside(disk: &dyn Disk, folder: &Path, bytes: &[u8], damage: &Damage) -> Result<(), StoreError> {
    let Damage { segment, offset, bytes: length, .. } = *damage;
    let (start, end) = (usize::try_from(offset), usize::try_from(offset.saturating_add(length)));
    let (Ok(start), Ok(end)) = (start, end) else { return Ok(()) };
    let part = bytes.get(start..end.min(bytes.len())).unwrap_or_default();
    let aside = folder.join(format!("{segment:012}-{offset}.damaged"));
    write_whole(disk, &aside, part).at("write", &aside)
}
