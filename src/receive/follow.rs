//! Files that are read as they grow: whole lines at a time, through rotation and truncation.
//!
//! In: paths of files and folders, positions that were remembered. Out: [`Grown`]s: what was added to which file, cut after the last
//! whole line. Knows nothing of A2A, and forgets no position that was not told to be done: what was handed out and not taken
//! in is handed out again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

/// Bytes that are handed out of one file at once, if lines are not longer.
const PIECE: u64 = 4 << 20;
/// Bytes of a file's beginning by which it is known again.
const HEAD: usize = 256;
/// A folder with more files than this is no folder of logs.
const MOST_FILES: usize = 10_000;

/// What tells a file from every other of its machine, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Identity {
    device: u64,
    inode: u64,
}

/// How far a file was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    identity: Identity,
    path: PathBuf,
    /// Bytes taken in.
    offset: u64,
    /// Lines taken in.
    lines: u64,
    /// Length and hash of the beginning: another beginning is another file, in the place of the old.
    head: (u64, u32),
    /// The same of the end of what was taken in: a document is written anew in its place when something is added to it.
    #[serde(default)]
    tail: (u64, u32),
}

/// What was added to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grown {
    /// The file's name when it was found.
    pub path: PathBuf,
    /// Whole lines; of a document that is no lines, all of it.
    pub bytes: Vec<u8>,
    /// Lines of the file before these.
    pub lines_before: u64,
    mark: Mark,
}

/// Followed files.
#[derive(Debug)]
pub struct Follower {
    roots: Vec<PathBuf>,
    /// Longest line that is waited for.
    max_line: u64,
    files: BTreeMap<Identity, Followed>,
    /// Marks of files that were not met yet.
    remembered: BTreeMap<Identity, Mark>,
}

#[derive(Debug)]
struct Followed {
    file: File,
    mark: Mark,
    /// Size at the last poll, to tell when a document is complete.
    size: u64,
    /// Something was handed out and is not done.
    handed_out: bool,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing was read yet.
    Unknown,
    Lines,
    /// One JSON value over many lines: complete when it grows no more.
    Document,
    /// Packed: what it holds was read before it was packed.
    Packed,
}

impl Follower {
    /// Follows files and the files of folders, from where marks say that they were taken in.
    pub fn new(roots: Vec<PathBuf>, marks: Vec<Mark>, max_line: u64) -> Self {
        let remembered = marks.into_iter().map(|mark| (mark.identity, mark)).collect();
        Self { roots, max_line: max_line.max(1), files: BTreeMap::new(), remembered }
    }

    /// Looks for what was added. A file whose last piece is not done has none; one that cannot be read is told and passed
    /// over until it can.
    pub fn poll(&mut self) -> Vec<Grown> {
        let found = self.find();
        let mut grown = Vec::new();
        let mut gone = Vec::new();
        for (identity, followed) in &mut self.files {
            if followed.handed_out {
                continue;
            }
            match followed.next(self.max_line) {
                Ok(Some(piece)) => {
                    followed.handed_out = true;
                    grown.push(piece);
                }
                // Renamed away and read to its end, or removed.
                Ok(None) if !found.contains(identity) => gone.push(*identity),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(path = %followed.mark.path.display(), %error, "a followed file cannot be read");
                    gone.push(*identity);
                }
            }
        }
        for identity in gone {
            self.files.remove(&identity);
        }
        grown
    }

    /// Takes note that a piece was taken in and will not be needed again.
    pub fn done(&mut self, piece: &Grown) {
        if let Some(followed) = self.files.get_mut(&piece.mark.identity) {
            followed.mark = piece.mark.clone();
            followed.handed_out = false;
        }
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
    fn find(&mut self) -> Vec<Identity> {
        let mut found = Vec::new();
        let visible =
            |entry: &walkdir::DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
        for root in self.roots.clone() {
            let walk = WalkDir::new(&root).follow_links(true).sort_by_file_name().into_iter().filter_entry(visible);
            let files = walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_file()).take(MOST_FILES);
            for entry in files {
                let Ok(data) = fs::metadata(entry.path()) else { continue };
                let identity = Identity { device: data.dev(), inode: data.ino() };
                found.push(identity);
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
                tracing::warn!(path = %path.display(), %error, "a followed file cannot be opened");
                return;
            }
        };
        let fresh = Mark { identity, path: path.to_owned(), offset: 0, lines: 0, head: (0, 0), tail: (0, 0) };
        let mark = self.remembered.remove(&identity).map_or(fresh, |mark| Mark { path: path.to_owned(), ..mark });
        self.files.insert(identity, Followed { file, mark, size: 0, handed_out: false, kind: Kind::Unknown });
    }
}

impl Followed {
    /// The next piece, if there is one.
    fn next(&mut self, max_line: u64) -> io::Result<Option<Grown>> {
        let size = self.file.metadata()?.len();
        let rests = std::mem::replace(&mut self.size, size) == size;
        if size < self.mark.offset || !self.is_same_beginning()? {
            tracing::info!(path = %self.mark.path.display(), "a followed file began anew");
            self.restart();
            self.kind = Kind::Unknown;
        }
        if size == self.mark.offset {
            return Ok(None);
        }
        if self.kind == Kind::Unknown {
            self.kind = self.recognise()?;
        }
        match self.kind {
            Kind::Packed => Ok(None),
            Kind::Document if !rests => Ok(None),
            Kind::Document => {
                if !self.is_same_end()? {
                    self.restart();
                }
                self.piece(size, max_line.max(size))
            }
            Kind::Unknown | Kind::Lines => self.piece(PIECE, max_line),
        }
    }

    /// Reads up to `most` bytes, or to the end of the first line if that is longer, and cuts after the last whole line.
    fn piece(&mut self, most: u64, max_line: u64) -> io::Result<Option<Grown>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.mark.offset))?;
        let mut reader = (&self.file).take(most);
        reader.read_to_end(&mut bytes)?;
        while !bytes.contains(&b'\n') && (bytes.len() as u64) < max_line {
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
        Ok(Some(Grown { path: self.mark.path.clone(), bytes, lines_before: self.mark.lines, mark }))
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
    }

    /// Length and hash of the first bytes.
    fn head(&mut self, most: u64) -> io::Result<(u64, u32)> {
        let mut bytes = Vec::with_capacity(HEAD);
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(most).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64, crc32fast::hash(&bytes)))
    }

    /// What sort of file it is, by its first bytes.
    fn recognise(&mut self) -> io::Result<Kind> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(PIECE).read_to_end(&mut bytes)?;
        if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            tracing::info!(path = %self.mark.path.display(), "a packed file is not followed");
            return Ok(Kind::Packed);
        }
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(Kind::Unknown) };
        let first = bytes.get(..end).unwrap_or_default().trim_ascii();
        let is_json = |line: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
        let opens = first.starts_with(b"{") || first.starts_with(b"[");
        Ok(if opens && !is_json(first) { Kind::Document } else { Kind::Lines })
    }
}

/// Length and hash of the last bytes.
fn tail(bytes: &[u8]) -> (u64, u32) {
    let end = bytes.get(bytes.len().saturating_sub(HEAD)..).unwrap_or_default();
    if end.is_empty() { (0, 0) } else { (end.len() as u64, crc32fast::hash(end)) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

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
            Follower::new(vec![self.folder.path().to_owned()], marks, 1 << 20)
        }
    }

    /// What a poll hands out, taken in at once.
    fn taken(follower: &mut Follower) -> Vec<(u64, String)> {
        let grown = follower.poll();
        grown.iter().for_each(|piece| follower.done(piece));
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
        taken(&mut follower);
        assert_eq!(taken(&mut follower), [(5, "{\n}\n".to_owned())]);
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
        let mut follower = Follower::new(vec![log.path("a.log")], vec![], 64);
        assert_eq!(taken(&mut follower), [(0, "x".repeat(100))]);
    }
}
