//! Files that are read as they grow: whole lines at a time, through rotation and truncation.
//!
//! In: paths of files and folders, positions that were remembered. Out: [`Grown`]s: what was added to which file, cut after the last
//! whole line. Knows nothing of A2A, and forgets no position that was not told to be done: what was handed out and not taken
//! in is handed out again. So is what of it is not complete, with what was added since, for as long as its reader may wait.

mod piece;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use walkdir::WalkDir;

pub use piece::{Grown, Incomplete, Mark};
use piece::{HEAD, Identity, is_one_value, is_whole_value, tail};

/// Bytes that are handed out of one file at once, if lines are not longer.
const PIECE: u64 = 4 << 20;
/// Bytes that are handed out of all files at once, and one piece more: the others wait for the next time.
const AT_ONCE: usize = 16 << 20;
/// A document is handed out as a whole; one that is longer is not followed.
const LONGEST_DOCUMENT: u64 = 256 << 20;
/// A folder with more files than this is no folder of logs.
const MOST_FILES: usize = 10_000;
/// What is not complete is handed out again whenever something was added, if it is not longer; what is longer only when
/// as much was added, or after [`AGAIN_AFTER`]: reading it again and again must not cost more than reading it.
const SHORT: u64 = 64 << 10;
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Bytes of lines that are not complete; of more the first are not waited for.
const MOST_OPEN: u64 = 32 << 20;

/// Followed files.
#[derive(Debug)]
pub struct Follower {
    roots: Vec<PathBuf>,
    /// Longest line that is waited for.
    max_line: u64,
    /// How long the rest of what is not complete is waited for.
    patience: Duration,
    files: BTreeMap<Identity, Followed>,
    /// Marks of files that were not met yet.
    remembered: BTreeMap<Identity, Mark>,
    /// The file to begin with next time, so that each has its turn.
    turn: Option<Identity>,
    /// Files that could not be read, which is told once.
    refused: HashSet<Identity>,
}

#[derive(Debug)]
struct Followed {
    file: File,
    mark: Mark,
    /// Size at the last poll, to tell when a document is complete.
    size: u64,
    /// When the size was another last.
    grew: Stopwatch,
    /// Something was handed out and is not done.
    handed_out: bool,
    kind: Kind,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing was read yet.
    Unknown,
    Lines,
    /// One JSON value over many lines: complete when it grows no more.
    Document,
    /// Packed: what it holds was read before it was packed. Or a document that is too long.
    Refused,
}

impl Follower {
    /// Follows files and the files of folders, from where marks say that they were taken in.
    ///
    /// A line that is longer than `max_line` bytes is not waited for, nor is what was not completed after `patience`.
    pub fn new(roots: Vec<PathBuf>, marks: Vec<Mark>, max_line: u64, patience: Duration) -> Self {
        let remembered = marks.into_iter().map(|mark| (mark.identity, mark)).collect();
        Self {
            roots,
            max_line: max_line.max(1),
            patience,
            files: BTreeMap::new(),
            remembered,
            turn: None,
            refused: HashSet::new(),
        }
    }

    /// Looks for what was added. A file whose last piece is not done has none; one that cannot be read is told and passed
    /// over until it can.
    pub fn poll(&mut self) -> Vec<Grown> {
        let found = self.find();
        self.refused.retain(|identity| found.contains(identity));
        let (mut grown, mut bytes) = (Vec::new(), 0);
        let first = self.turn.take().unwrap_or_default();
        let turns: Vec<Identity> =
            self.files.range(first..).chain(self.files.range(..first)).map(|(identity, _)| *identity).collect();
        for identity in turns {
            if bytes >= AT_ONCE {
                self.turn = Some(identity);
                break;
            }
            let Some(followed) = self.files.get_mut(&identity).filter(|followed| !followed.handed_out) else {
                continue;
            };
            match followed.next(self.max_line, self.patience) {
                Ok(Some(piece)) => {
                    followed.handed_out = true;
                    bytes += piece.bytes.len();
                    self.refused.remove(&identity);
                    grown.push(piece);
                }
                // Renamed away and read to its end, or removed.
                Ok(None) if !found.contains(&identity) && followed.open.is_none() => {
                    self.files.remove(&identity);
                }
                Ok(None) => {}
                Err(error) => {
                    if self.refused.insert(identity) {
                        tracing::warn!(path = %followed.mark.path.display(), %error, "a followed file cannot be read");
                    }
                    self.files.remove(&identity);
                }
            }
        }
        grown
    }

    /// Takes note that a piece was taken in and will not be needed again, but for what is not complete.
    pub fn done(&mut self, piece: &Grown, incomplete: Option<Incomplete>) {
        let Some(followed) = self.files.get_mut(&piece.mark.identity) else { return };
        followed.handed_out = false;
        let before = (followed.mark.offset, followed.open.take());
        // What has had its time goes, whatever its reader says: else it would come again for ever.
        let is_over = |from: u64| from <= 1 && piece.waits_from > 1;
        let Some(Incomplete { from, known }) = incomplete.filter(|rest| !is_over(rest.from)) else {
            followed.mark = piece.mark.clone();
            return;
        };
        followed.mark = piece.mark_before(from, &followed.mark);
        let now = Stopwatch::now();
        let first = match before {
            (offset, Some(open)) if offset == followed.mark.offset => open.first,
            _ => (piece.mark.lines, now),
        };
        let end = (piece.mark.offset, piece.mark.lines);
        followed.open = Some(Open { end, first, looked: now, known: Arc::new(known) });
    }

    /// Takes note that a piece was not taken in: it is handed out again.
    pub fn again(&mut self, piece: &Grown) {
        if let Some(followed) = self.files.get_mut(&piece.mark.identity) {
            followed.handed_out = false;
        }
    }

    /// What to remember over a restart.
    pub fn marks(&self) -> Vec<Mark> {
        let unmet = self.remembered.values().filter(|mark| !self.files.contains_key(&mark.identity));
        self.files.values().map(|followed| &followed.mark).chain(unmet).cloned().collect()
    }

    /// Opens files that are new, and tells which are there.
    fn find(&mut self) -> HashSet<Identity> {
        let mut found = HashSet::new();
        let visible =
            |entry: &walkdir::DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
        for root in self.roots.clone() {
            let walk = WalkDir::new(&root).follow_links(true).sort_by_file_name().into_iter().filter_entry(visible);
            let files = walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_file()).take(MOST_FILES);
            for entry in files {
                let Ok(data) = fs::metadata(entry.path()) else { continue };
                let identity = Identity { device: data.dev(), inode: data.ino() };
                found.insert(identity);
                if !self.files.contains_key(&identity) {
                    self.open(identity, entry.path());
                }
            }
        }
        found
    }

    fn open(&mut self, identity: Identity, path: &Path) {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) => {
                if self.refused.insert(identity) {
                    tracing::warn!(path = %path.display(), %error, "a followed file cannot be opened");
                }
                return;
            }
        };
        let fresh = Mark { identity, path: path.to_owned(), offset: 0, lines: 0, head: (0, 0), tail: (0, 0) };
        let mark = self.remembered.remove(&identity).map_or(fresh, |mark| Mark { path: path.to_owned(), ..mark });
        self.files.insert(
            identity,
            Followed {
                file,
                mark,
                size: 0,
                grew: Stopwatch::now(),
                handed_out: false,
                kind: Kind::Unknown,
                in_vain: None,
                open: None,
            },
        );
    }
}

impl Followed {
    /// The next piece, if there is one.
    fn next(&mut self, max_line: u64, patience: Duration) -> io::Result<Option<Grown>> {
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
        if matches!(self.kind, Kind::Refused) || (self.kind == Kind::Document && !rests) {
            return Ok(None);
        }
        if self.kind == Kind::Document && !self.is_same_end()? {
            self.restart();
        }
        if self.kind == Kind::Document && size > LONGEST_DOCUMENT {
            let path = self.mark.path.display();
            tracing::warn!(%path, bytes = size, "a document so long is not followed: `a2a-drift analyze` reads it");
            self.kind = Kind::Refused;
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

    /// What sort of file it is, by its first bytes; one without an end of line only once it is quiet.
    fn recognise(&mut self, is_quiet: bool) -> io::Result<Kind> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(PIECE).read_to_end(&mut bytes)?;
        if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            let path = self.mark.path.display();
            tracing::warn!(%path, "a packed file is not followed: `a2a-drift analyze` reads it");
            return Ok(Kind::Refused);
        }
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            let is_cut = bytes.len() as u64 == PIECE;
            let is_document = is_quiet && (is_whole_value(&bytes) || (is_cut && is_one_value(&bytes)));
            return Ok(if is_document { Kind::Document } else { Kind::Unknown });
        };
        let first = bytes.get(..end).unwrap_or_default().trim_ascii();
        let is_json = |line: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
        let opens = first.starts_with(b"{") || first.starts_with(b"[");
        Ok(if opens && !is_json(first) && is_one_value(&bytes) { Kind::Document } else { Kind::Lines })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(3600);

    struct Log {
        folder: tempfile::TempDir,
    }

    impl Log {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn add(&self, name: &str, text: &str) {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(self.path(name)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        fn follower(&self, marks: Vec<Mark>) -> Follower {
            Follower::new(vec![self.folder.path().to_owned()], marks, 1 << 20, PATIENCE)
        }
    }

    /// What a poll hands out, taken in at once.
    fn taken(follower: &mut Follower) -> Vec<(u64, String)> {
        let grown = follower.poll();
        grown.iter().for_each(|piece| follower.done(piece, None));
        grown.into_iter().map(|piece| (piece.lines_before, String::from_utf8(piece.bytes).unwrap())).collect()
    }

    #[test]
    fn lines_are_handed_out_once_they_are_whole_with_their_place_in_the_file() {
        let log = Log::new();
        log.add("a.log", "1\n2\n3");
        let mut follower = log.follower(vec![]);
        assert_eq!(taken(&mut follower), [(0, "1\n2\n".to_owned())]);
        assert_eq!(taken(&mut follower), []);
        log.add("a.log", "3\n4\n");
        assert_eq!(taken(&mut follower), [(2, "33\n4\n".to_owned())]);
    }

    #[test]
    fn many_long_files_are_handed_out_a_few_at_a_time_and_each_has_its_turn() {
        let log = Log::new();
        let line = "x".repeat(1023) + "\n";
        for name in 0..12 {
            log.add(&format!("{name}.log"), &line.repeat(5 << 10));
        }
        let mut follower = log.follower(vec![]);
        let mut lines = BTreeMap::new();
        loop {
            let grown = follower.poll();
            let bytes: usize = grown.iter().map(|piece| piece.bytes.len()).sum();
            assert!(bytes <= AT_ONCE + PIECE as usize, "{bytes}");
            for piece in &grown {
                *lines.entry(piece.path.clone()).or_insert(0) += piece.bytes.len() / line.len();
                follower.done(piece, None);
            }
            if grown.is_empty() {
                break;
            }
            // Those that are busy do not keep the others waiting.
            for name in 0..6 {
                let path = log.path(&format!("{name}.log"));
                if lines.values().sum::<usize>() < 60 << 10 && lines.contains_key(&path) {
                    log.add(&format!("{name}.log"), &line.repeat(4 << 10));
                }
            }
        }
        assert_eq!(lines.len(), 12);
        assert!(lines.values().all(|lines| *lines >= 5 << 10), "{lines:?}");
    }

    #[test]
    fn a_long_line_without_an_end_is_not_read_with_every_look_at_it() {
        let log = Log::new();
        log.add("a.log", &"x".repeat(32 << 20));
        let mut follower = Follower::new(vec![log.path("a.log")], vec![], 1 << 30, PATIENCE);
        let begun = Stopwatch::now();
        for _ in 0..200 {
            assert_eq!(follower.poll(), []);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        log.add("a.log", "\n");
        assert_eq!(taken(&mut follower).len(), 1);
    }

    #[test]
    fn a_document_of_great_length_is_refused() {
        let log = Log::new();
        log.add("a.json", &format!("[\n{}", " ".repeat(PIECE as usize)));
        let file = fs::OpenOptions::new().write(true).open(log.path("a.json")).unwrap();
        file.set_len(LONGEST_DOCUMENT + 1).unwrap();
        let mut follower = log.follower(vec![]);
        for _ in 0..3 {
            assert_eq!(follower.poll(), []);
        }
        let kinds: Vec<Kind> = follower.files.values().map(|followed| followed.kind).collect();
        assert_eq!(kinds, [Kind::Refused]);
    }

    #[test]
    fn what_was_not_taken_in_is_handed_out_again() {
        let log = Log::new();
        log.add("a.log", "1\n");
        let mut follower = log.follower(vec![]);
        let first = follower.poll();
        assert_eq!(follower.poll(), []);
        follower.again(&first[0]);
        assert_eq!(follower.poll(), first);
    }

    #[test]
    fn a_position_is_remembered_over_a_restart() {
        let log = Log::new();
        log.add("a.log", "1\n");
        let mut follower = log.follower(vec![]);
        taken(&mut follower);
        let marks: Vec<Mark> = serde_json::from_slice(&serde_json::to_vec(&follower.marks()).unwrap()).unwrap();
        log.add("a.log", "2\n");
        assert_eq!(taken(&mut log.follower(marks)), [(1, "2\n".to_owned())]);
    }

    #[test]
    fn a_renamed_file_is_read_to_its_end_and_the_new_one_from_its_beginning() {
        let log = Log::new();
        log.add("a.log", "1\n");
        let mut follower = log.follower(vec![]);
        taken(&mut follower);
        log.add("a.log", "2\n");
        fs::rename(log.path("a.log"), log.path("a.log.1")).unwrap();
        log.add("a.log", "3\n");
        let mut lines = taken(&mut follower);
        lines.sort();
        assert_eq!(lines, [(0, "3\n".to_owned()), (1, "2\n".to_owned())]);
        assert_eq!(taken(&mut follower), []);
    }

    #[test]
    fn a_removed_file_is_read_to_its_end() {
        let log = Log::new();
        log.add("a.log", "1\n");
        let mut follower = log.follower(vec![]);
        taken(&mut follower);
        log.add("a.log", "2\n");
        fs::remove_file(log.path("a.log")).unwrap();
        assert_eq!(taken(&mut follower), [(1, "2\n".to_owned())]);
        assert_eq!((taken(&mut follower), follower.files.len()), (vec![], 0));
    }

    #[test]
    fn a_truncated_file_is_read_anew_even_if_it_has_outgrown_the_old() {
        let log = Log::new();
        log.add("a.log", "first\n");
        let mut follower = log.follower(vec![]);
        taken(&mut follower);
        fs::write(log.path("a.log"), "2\n").unwrap();
        assert_eq!(taken(&mut follower), [(0, "2\n".to_owned())]);
        fs::write(log.path("a.log"), "another, longer one\n").unwrap();
        assert_eq!(taken(&mut follower), [(0, "another, longer one\n".to_owned())]);
    }

    #[test]
    fn a_document_is_handed_out_whole_when_it_grows_no_more() {
        let log = Log::new();
        log.add("a.har", "{\n  \"log\": {\n");
        let mut follower = log.follower(vec![]);
        assert_eq!(taken(&mut follower), []);
        log.add("a.har", "  }\n}");
        assert_eq!(taken(&mut follower), []);
        assert_eq!(taken(&mut follower), [(0, "{\n  \"log\": {\n  }\n}".to_owned())]);
    }

    #[test]
    fn a_document_of_one_line_without_an_end_is_handed_out_whole_when_it_was_quiet_for_long() {
        let log = Log::new();
        log.add("a.har", "{\"log\":{}}");
        let mut follower = log.follower(vec![]);
        assert_eq!((taken(&mut follower), taken(&mut follower)), (vec![], vec![]));
        follower.patience = Duration::ZERO;
        assert_eq!(taken(&mut follower), [(0, "{\"log\":{}}".to_owned())]);
        assert_eq!(taken(&mut follower), []);
        // Written anew with more in it.
        fs::write(log.path("a.har"), "{\"log\":{\"entries\":[]}}").unwrap();
        assert_eq!(taken(&mut follower), []);
        assert_eq!(taken(&mut follower), [(0, "{\"log\":{\"entries\":[]}}".to_owned())]);
    }

    #[test]
    fn the_last_line_of_a_quiet_file_needs_no_end_if_it_is_a_whole_value() {
        let log = Log::new();
        log.add("a.log", "{}\n{\"a\":");
        let mut follower = log.follower(vec![]);
        follower.patience = Duration::ZERO;
        assert_eq!(taken(&mut follower), [(0, "{}\n".to_owned())]);
        assert_eq!(
            (taken(&mut follower), taken(&mut follower)),
            (vec![], vec![]),
            "a writer's buffer may hold the rest"
        );
        log.add("a.log", "1}");
        assert_eq!(taken(&mut follower), [], "it grows");
        assert_eq!(taken(&mut follower), [(1, "{\"a\":1}".to_owned())]);
        log.add("a.log", "\n{}\n");
        assert_eq!(taken(&mut follower), [(1, "\n{}\n".to_owned())]);
    }

    #[test]
    fn a_document_that_is_written_anew_with_more_in_it_is_handed_out_whole_again_and_one_beside_it_alone() {
        let log = Log::new();
        let first = "{\n  \"entries\": [\n    1\n  ]\n}\n";
        log.add("a.har", first);
        let mut follower = log.follower(vec![]);
        taken(&mut follower);
        assert_eq!(taken(&mut follower), [(0, first.to_owned())]);
        let more = first.replace("1\n", "1, 2\n");
        fs::write(log.path("a.har"), &more).unwrap();
        taken(&mut follower);
        assert_eq!(taken(&mut follower), [(0, more)]);
        log.add("a.har", "{\n}\n");
        assert_eq!(taken(&mut follower), [(5, "{\n}\n".to_owned())]);
    }

    /// The one piece that a poll hands out.
    fn one(follower: &mut Follower) -> Grown {
        let mut grown = follower.poll();
        assert_eq!(grown.len(), 1);
        grown.remove(0)
    }

    fn incomplete(from: u64) -> Option<Incomplete> {
        Some(Incomplete { from, known: HashSet::from([7]) })
    }

    fn text(piece: &Grown) -> &str {
        std::str::from_utf8(&piece.bytes).unwrap()
    }

    #[test]
    fn what_is_not_complete_is_handed_out_again_with_what_was_added() {
        let log = Log::new();
        log.add("a.log", "1\n2\n3\n");
        let mut follower = log.follower(vec![]);
        let piece = one(&mut follower);
        follower.done(&piece, incomplete(2));
        assert_eq!(follower.poll(), [], "nothing was added");
        log.add("a.log", "4");
        assert_eq!(follower.poll(), [], "no whole line was added");
        log.add("a.log", "\n");
        let piece = one(&mut follower);
        assert_eq!((text(&piece), piece.lines_before, piece.waits_from), ("2\n3\n4\n", 1, 1));
        assert_eq!(*piece.known, HashSet::from([7]));
        follower.again(&piece);
        assert_eq!(one(&mut follower), piece);
        follower.done(&piece, incomplete(3));
        log.add("a.log", "5\n");
        let piece = one(&mut follower);
        assert_eq!((text(&piece), piece.lines_before), ("4\n5\n", 3));
        follower.done(&piece, None);
        log.add("a.log", "6\n");
        let piece = one(&mut follower);
        assert_eq!((text(&piece), piece.lines_before, piece.known.len()), ("6\n", 5, 0));
    }

    #[test]
    fn after_its_time_what_is_not_complete_is_handed_out_to_be_read_as_it_is_and_what_came_since_may_wait() {
        let log = Log::new();
        log.add("a.log", "1\n2\n");
        let mut follower = log.follower(vec![]);
        let piece = one(&mut follower);
        follower.done(&piece, incomplete(2));
        log.add("a.log", "3\n");
        let piece = one(&mut follower);
        follower.done(&piece, incomplete(1));
        follower.patience = Duration::ZERO;
        let piece = one(&mut follower);
        assert_eq!((text(&piece), piece.waits_from), ("2\n3\n", 2), "the third line came later");
        follower.done(&piece, incomplete(2));
        let piece = one(&mut follower);
        assert_eq!((text(&piece), piece.waits_from), ("3\n", 2));
        follower.done(&piece, incomplete(1));
        assert_eq!(follower.poll(), [], "it has had its time, whatever is said of it");
    }

    #[test]
    fn what_is_not_complete_is_read_again_after_a_restart() {
        let log = Log::new();
        log.add("a.log", "1\n2\n");
        let mut follower = log.follower(vec![]);
        let piece = one(&mut follower);
        follower.done(&piece, incomplete(2));
        let marks: Vec<Mark> = serde_json::from_slice(&serde_json::to_vec(&follower.marks()).unwrap()).unwrap();
        log.add("a.log", "3\n");
        assert_eq!(taken(&mut log.follower(marks)), [(1, "2\n3\n".to_owned())]);
    }

    #[test]
    fn a_removed_file_is_kept_as_long_as_something_of_it_is_waited_for() {
        let log = Log::new();
        log.add("a.log", "1\n");
        let mut follower = log.follower(vec![]);
        let piece = one(&mut follower);
        follower.done(&piece, incomplete(1));
        fs::remove_file(log.path("a.log")).unwrap();
        assert_eq!((follower.poll(), follower.files.len()), (vec![], 1));
        follower.patience = Duration::ZERO;
        assert_eq!(taken(&mut follower), [(0, "1\n".to_owned())]);
        assert_eq!((taken(&mut follower), follower.files.len()), (vec![], 0));
    }

    #[test]
    fn a_file_that_is_truncated_within_what_is_waited_for_is_read_anew() {
        let log = Log::new();
        log.add("a.log", "1\n2\n3\n");
        let mut follower = log.follower(vec![]);
        let piece = one(&mut follower);
        follower.done(&piece, incomplete(1));
        fs::write(log.path("a.log"), "1\n").unwrap();
        let piece = one(&mut follower);
        assert_eq!((text(&piece), piece.known.len()), ("1\n", 0));
    }

    #[test]
    fn reading_again_what_stays_incomplete_costs_no_more_than_reading_it() {
        let log = Log::new();
        let line = format!("{}\n", "x".repeat(1 << 10));
        log.add("a.log", &line);
        let mut follower = log.follower(vec![]);
        let (mut handed_out, lines) = (0, 2000);
        for _ in 0..lines {
            log.add("a.log", &line);
            for piece in follower.poll() {
                handed_out += piece.bytes.len();
                follower.done(&piece, incomplete(1));
            }
        }
        // Short ones each time; then when as much was added, or a second is over.
        let short = 2 * (SHORT as usize / line.len()) * SHORT as usize;
        assert!(handed_out < short + 12 * lines * line.len(), "{handed_out}");
    }

    #[test]
    fn a_log_of_values_over_several_lines_is_no_document() {
        let log = Log::new();
        log.add("a.log", "{\n  \"a\": 1\n}\n");
        let mut follower = log.follower(vec![]);
        assert_eq!(taken(&mut follower), []);
        log.add("a.log", "{\n");
        assert_eq!(taken(&mut follower), [(0, "{\n  \"a\": 1\n}\n{\n".to_owned())]);
        // Objects that Node printed are no JSON at all.
        log.add("b.log", "{\n  a: 1,\n");
        assert_eq!(taken(&mut follower), [(0, "{\n  a: 1,\n".to_owned())]);
    }

    #[test]
    fn packed_and_hidden_files_are_passed_over() {
        let log = Log::new();
        fs::write(log.path("a.log.gz"), [0x1f, 0x8b, 8, 0, b'\n']).unwrap();
        log.add(".position", "1\n");
        assert_eq!(taken(&mut log.follower(vec![])), []);
    }

    #[test]
    fn a_line_without_an_end_is_given_up_at_the_limit() {
        let log = Log::new();
        log.add("a.log", &"x".repeat(100));
        let mut follower = Follower::new(vec![log.path("a.log")], vec![], 64, PATIENCE);
        assert_eq!(taken(&mut follower), [(0, "x".repeat(100))]);
    }
}
