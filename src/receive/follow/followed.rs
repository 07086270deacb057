//! One followed file: what was added to it.
//!
//! In: the file as it is now, how far it was taken in. Out: [`Grown`]s, one at a time. Finds no files, and never moves its mark
//! before it was told that a piece is done.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use super::kind::{Kind, is_whole_value};
use super::piece::{Grown, HEAD, Incomplete, Mark, tail};

/// Bytes that are handed out of one file at once, if lines are not longer.
pub(super) const PIECE: u64 = 4 << 20;
/// A document is handed out as a whole; one that is longer is not followed.
pub(super) const LONGEST_DOCUMENT: u64 = 256 << 20;
/// What is not complete is handed out again whenever something was added, if it is not longer; what is longer only when
/// as much was added, or after [`AGAIN_AFTER`]: reading it again and again must not cost more than reading it.
pub(super) const SHORT: u64 = 64 << 10;
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Bytes of lines that are not complete; of more the first are not waited for.
const MOST_OPEN: u64 = 32 << 20;

/// A followed file.
#[derive(Debug)]
pub(super) struct Followed {
    file: File,
    pub(super) mark: Mark,
    /// Size at the last poll, to tell when a document is complete.
    size: u64,
    /// When the size was another last.
    grew: Stopwatch,
    /// Something was handed out and is not done.
    pub(super) handed_out: bool,
    pub(super) kind: Kind,
    /// How large it was, whether it rested and was quiet, when it was last read and nothing was whole.
    in_vain: Option<(u64, bool, bool)>,
    /// What lies behind the mark and was handed out before.
    open: Option<Open>,
}

/// Lines that were handed out and are not complete.
#[derive(Debug)]
struct Open {
    /// Where they end, in bytes and lines of the file.
    end: (u64, u64),
    /// Where they ended when they were handed out first, in lines, and when that was.
    first: (u64, Stopwatch),
    /// When it was last looked whether there is more.
    looked: Stopwatch,
    known: Arc<HashSet<u64>>,
}

impl Followed {
    /// A file that is read from a mark on.
    pub(super) fn new(file: File, mark: Mark) -> Self {
        let (grew, kind) = (Stopwatch::now(), Kind::Unknown);
        Self { file, mark, size: 0, grew, handed_out: false, kind, in_vain: None, open: None }
    }

    /// Whether something of it was handed out that is not complete.
    pub(super) fn is_waiting(&self) -> bool {
        self.open.is_some()
    }

    /// Takes note that a piece was taken in, but for what is not complete.
    pub(super) fn done(&mut self, piece: &Grown, incomplete: Option<Incomplete>) {
        self.handed_out = false;
        let before = (self.mark.offset, self.open.take());
        // What has had its time goes, whatever its reader says: else it would come again for ever.
        let is_over = |from: u64| from <= 1 && piece.waits_from > 1;
        let Some(Incomplete { from, known }) = incomplete.filter(|rest| !is_over(rest.from)) else {
            self.mark = piece.mark.clone();
            return;
        };
        self.mark = piece.mark_before(from, &self.mark);
        let now = Stopwatch::now();
        let first = match before {
            (offset, Some(open)) if offset == self.mark.offset => open.first,
            _ => (piece.mark.lines, now),
        };
        let end = (piece.mark.offset, piece.mark.lines);
        self.open = Some(Open { end, first, looked: now, known: Arc::new(known) });
    }

    /// The next piece, if there is one.
    pub(super) fn next(&mut self, max_line: u64, patience: Duration) -> io::Result<Option<Grown>> {
        let size = self.file.metadata()?.len();
        let rests = std::mem::replace(&mut self.size, size) == size;
        if !rests {
            self.grew = Stopwatch::now();
        }
        let is_quiet = rests && self.grew.elapsed() >= patience;
        if size < self.open.as_ref().map_or(self.mark.offset, |open| open.end.0) || !self.is_same_beginning()? {
            tracing::info!(path = %self.mark.path.display(), "a followed file began anew");
            self.restart();
            self.kind = Kind::Unknown;
        }
        // A long line without an end would be read again with every look at it.
        let looks = (size, rests, is_quiet);
        if size == self.mark.offset || (self.open.is_none() && self.in_vain == Some(looks)) {
            return Ok(None);
        }
        if self.kind == Kind::Unknown {
            self.kind = self.recognise(is_quiet)?;
        }
        if self.kind == Kind::Document && !rests {
            // A log of values over several lines begins like a document, and grows without end.
            self.kind = self.recognise(false)?;
        }
        if matches!(self.kind, Kind::Packed | Kind::TooLong) || (self.kind == Kind::Document && !rests) {
            return Ok(None);
        }
        if self.kind == Kind::Document && !self.is_same_end()? {
            self.restart();
        }
        if self.kind == Kind::Document && size > LONGEST_DOCUMENT {
            let path = self.mark.path.display();
            tracing::warn!(%path, bytes = size, "a document so long is not followed: `a2a-drift analyze` reads it");
            self.kind = Kind::TooLong;
            return Ok(None);
        }
        let Some(waits_from) = self.waits_from(size, patience) else { return Ok(None) };
        let open = self.open.as_ref().map_or(0, |open| open.end.0 - self.mark.offset);
        let piece = match self.kind {
            Kind::Document => self.piece(open, size, max_line.max(size), is_quiet)?,
            _ => self.piece(open, PIECE.max(open), max_line, is_quiet)?,
        };
        self.in_vain = piece.is_none().then_some(looks);
        Ok(piece.map(|piece| Grown { waits_from, ..piece }).filter(|piece| {
            // Part of a line was added.
            waits_from > 1 || piece.bytes.len() as u64 > open
        }))
    }

    /// From which line of the next piece on its reader may wait for more; none if nothing is to be handed out yet.
    fn waits_from(&mut self, size: u64, patience: Duration) -> Option<u64> {
        const ANYTHING: u64 = 1;
        let Some(open) = &mut self.open else { return Some(ANYTHING) };
        let length = open.end.0 - self.mark.offset;
        if length > MOST_OPEN || open.first.1.elapsed() >= patience {
            // What has come since may still be waited for.
            return Some((open.first.0 - self.mark.lines + 1).max(ANYTHING + 1));
        }
        let added = size - open.end.0;
        let is_time = length <= SHORT || added >= length || open.looked.elapsed() >= AGAIN_AFTER;
        if added == 0 || !is_time {
            return None;
        }
        open.looked = Stopwatch::now();
        Some(ANYTHING)
    }

    /// Reads up to `most` bytes behind those that were handed out before, or to the end of the first line there if that is
    /// longer, and cuts after the last whole line. One JSON value at the end of a file that is quiet needs no end of line:
    /// whoever wrote it may have nothing to add.
    fn piece(&mut self, open: u64, most: u64, max_line: u64, is_quiet: bool) -> io::Result<Option<Grown>> {
        let old = usize::try_from(open).unwrap_or(usize::MAX);
        let added = |bytes: &[u8]| bytes.len().saturating_sub(old) as u64;
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.mark.offset))?;
        let mut reader = (&self.file).take(open.saturating_add(most));
        reader.read_to_end(&mut bytes)?;
        while !bytes.get(old..).unwrap_or_default().contains(&b'\n') && added(&bytes) < max_line {
            let before = bytes.len();
            (&self.file).take(PIECE).read_to_end(&mut bytes)?;
            if bytes.len() == before {
                break;
            }
        }
        let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            // A document's last line needs no end; a line that is too long is handed out as it is, to be counted.
            None if self.kind == Kind::Document || bytes.len() as u64 >= max_line => bytes.len(),
            None if is_quiet && is_whole_value(&bytes) => bytes.len(),
            None => return Ok(None),
        };
        let whole = if self.kind == Kind::Document { bytes.len() } else { whole };
        bytes.truncate(whole);
        let mark = Mark {
            offset: self.mark.offset + bytes.len() as u64,
            lines: self.mark.lines + bytes.iter().filter(|byte| **byte == b'\n').count() as u64,
            head: self.head(HEAD as u64)?,
            tail: tail(&bytes),
            ..self.mark.clone()
        };
        let (path, lines_before) = (self.mark.path.clone(), self.mark.lines);
        let known = self.open.as_ref().map(|open| Arc::clone(&open.known)).unwrap_or_default();
        Ok(Some(Grown { path, bytes, lines_before, waits_from: 1, known, mark }))
    }

    /// Whether the file still begins as it did.
    fn is_same_beginning(&mut self) -> io::Result<bool> {
        let (length, _) = self.mark.head;
        Ok(length == 0 || self.head(length)? == self.mark.head)
    }

    /// Whether what was taken in still ends as it did.
    fn is_same_end(&mut self) -> io::Result<bool> {
        let (length, _) = self.mark.tail;
        let mut bytes = Vec::with_capacity(HEAD);
        self.file.seek(SeekFrom::Start(self.mark.offset.saturating_sub(length)))?;
        (&self.file).take(length).read_to_end(&mut bytes)?;
        Ok(tail(&bytes) == self.mark.tail)
    }

    /// Begins with the first byte again.
    fn restart(&mut self) {
        self.mark = Mark { offset: 0, lines: 0, head: (0, 0), tail: (0, 0), ..self.mark.clone() };
        (self.in_vain, self.open) = (None, None);
    }

    /// Length and hash of the first bytes.
    fn head(&mut self, most: u64) -> io::Result<(u64, u32)> {
        let mut bytes = Vec::with_capacity(HEAD);
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(most).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64, crc32fast::hash(&bytes)))
    }

    /// What sort of file it is; one without an end of line only once it is quiet.
    fn recognise(&mut self, is_quiet: bool) -> io::Result<Kind> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(PIECE).read_to_end(&mut bytes)?;
        let kind = Kind::of(&bytes, bytes.len() as u64 == PIECE, is_quiet);
        if kind == Kind::Packed {
            let path = self.mark.path.display();
            tracing::warn!(%path, "a packed file is not followed: `a2a-drift analyze` reads it");
        }
        Ok(kind)
    }
}
