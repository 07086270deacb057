//! Files that are read as they grow: whole lines at a time, through rotation and truncation.
//!
//! In: paths of files and folders, positions that were remembered. Out: [`Grown`]s: what was added to which file, cut after the last
//! whole line. Knows nothing of A2A, and forgets no position that was not told to be done: what was handed out and not taken
//! in is handed out again. So is what of it is not complete, with what was added since, for as long as its reader may wait.

mod followed;
mod kind;
mod piece;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use walkdir::WalkDir;

use followed::Followed;
use piece::Identity;
pub use piece::{Grown, Incomplete, Mark};

/// Bytes that are handed out of all files at once, and one piece more: the others wait for the next time.
const AT_ONCE: usize = 16 << 20;
/// A folder with more files than this is no folder of logs.
const MOST_FILES: usize = 10_000;

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
                Ok(None) if !found.contains(&identity) && !followed.is_waiting() => {
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
        if let Some(followed) = self.files.get_mut(&piece.mark.identity) {
            followed.done(piece, incomplete);
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
        self.files.insert(identity, Followed::new(file, mark));
    }
}

#[cfg(test)]
mod tests;
