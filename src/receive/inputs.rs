//! Named inputs: from paths, folders and patterns to streams.
//!
//! In: paths as the user wrote them. Out: [`Input`]s in that order, each file once. Never opens a file before it is
//! asked for, and never judges a file by its name. What is found and cannot be read is an input, too: it says so when it
//! is opened, and costs none of its neighbours.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use glob::{MatchOptions, Pattern};
use walkdir::{DirEntry, WalkDir};

use super::inflate::inflate;

/// The name of standard input.
const STDIN: &str = "-";

/// Bytes that one input may inflate to, unless the caller says otherwise. Memory does not depend on it: it bounds time.
const DEFAULT_MAX_INFLATED_BYTES: u64 = 64 << 30;

/// Why an input cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Nothing is there.
    #[error("{path}: no such file or folder")]
    Missing {
        /// The path as named.
        path: String,
    },
    /// A pattern that no file fits.
    #[error("{pattern}: no file fits this pattern")]
    NoMatch {
        /// The pattern as named.
        pattern: String,
    },
    /// A pattern that is none.
    #[error("{pattern}: not a pattern")]
    BadPattern {
        /// The pattern as named.
        pattern: String,
        /// What is wrong with it.
        source: glob::PatternError,
    },
    /// The operating system refuses.
    #[error("{path}: cannot be read")]
    Unreadable {
        /// The path as named or found.
        path: String,
        /// Its reason.
        source: io::Error,
    },
}

/// One stream of bytes with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Path as named or found below a named folder; `-` for standard input.
    pub name: Arc<str>,
    /// Size on disk in bytes, where there is one: for progress, not for reading.
    pub bytes_on_disk: Option<u64>,
    /// None is standard input.
    path: Option<PathBuf>,
}

impl Input {
    /// Whether it is still there: files of a program that runs go when their time has come.
    pub fn is_there(&self) -> bool {
        self.path.as_ref().is_none_or(|path| path.exists())
    }

    /// Opens the stream, decompressed, with the default limit on inflated bytes.
    pub fn open(&self) -> Result<Box<dyn Read + Send>, ReceiveError> {
        self.open_limited(DEFAULT_MAX_INFLATED_BYTES)
    }

    /// Opens the stream, decompressed; reading fails with [`super::InflateFault::TooLarge`] once compressed content
    /// has grown to more than `max_inflated_bytes`.
    pub fn open_limited(&self, max_inflated_bytes: u64) -> Result<Box<dyn Read + Send>, ReceiveError> {
        let raw: Box<dyn Read + Send> = match &self.path {
            None => Box::new(io::stdin()),
            Some(path) => Box::new(File::open(path).map_err(|source| self.unreadable(source))?),
        };
        inflate(raw, max_inflated_bytes).map_err(|source| self.unreadable(source))
    }

    fn unreadable(&self, source: io::Error) -> ReceiveError {
        ReceiveError::Unreadable { path: self.name.to_string(), source }
    }
}

/// Finds the inputs that `paths` name: files as they are, folders walked in sorted order without hidden entries, glob
/// patterns that the shell left alone, `-` for standard input. A file named twice is one input. Pipes and devices are
/// read when they are named, not when they are found: nobody meant to wait for them.
pub fn inputs<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Input>, ReceiveError> {
    let mut found = Found::default();
    for path in paths.iter().map(AsRef::as_ref) {
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
        if path.as_os_str() == OsStr::new(STDIN) {
            found.stdin();
        } else if path.is_dir() {
            found.folder(path);
        } else if path.exists() {
            found.file(path);
        } else if let Some(pattern) = pattern {
            found.pattern(pattern)?;
        } else {
            return Err(ReceiveError::Missing { path: path.to_string_lossy().into_owned() });
        }
    }
    Ok(found.inputs)
}

/// What was found so far.
#[derive(Default)]
struct Found {
    inputs: Vec<Input>,
    /// Canonical paths, so that one file reached twice is read once.
    seen: HashSet<PathBuf>,
}

impl Found {
    fn stdin(&mut self) {
        if self.seen.insert(PathBuf::from(STDIN)) {
            self.inputs.push(Input { name: Arc::from(STDIN), bytes_on_disk: None, path: None });
        }
    }

    fn file(&mut self, path: &Path) {
        // A pipe under /dev/fd has no canonical path, and is still readable.
        let identity = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if self.seen.insert(identity) {
            let bytes_on_disk = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|data| data.len());
            let name = Arc::from(path.to_string_lossy());
            self.inputs.push(Input { name, bytes_on_disk, path: Some(path.to_path_buf()) });
        }
    }

    fn folder(&mut self, folder: &Path) {
        let visible = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
        let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
        for entry in walk.into_iter().filter_entry(visible) {
            match entry {
                Ok(entry) if entry.file_type().is_file() => self.file(entry.path()),
                Ok(_) => {}
                Err(error) if is_loop_or_nothing(&error) => {}
                Err(error) => self.file(error.path().unwrap_or(folder)),
            }
        }
    }

    /// Walks below the part without signs: unlike the pattern's own search, that does not go round in links for ever.
    fn pattern(&mut self, pattern: &str) -> Result<(), ReceiveError> {
        const OPTIONS: MatchOptions =
            MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
        let fits =
            Pattern::new(pattern).map_err(|source| ReceiveError::BadPattern { pattern: pattern.to_owned(), source })?;
        let is_plain = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        let base: PathBuf = Path::new(pattern).components().take_while(is_plain).collect();
        let below = Path::new(pattern).components().count() - base.components().count();
        let deepest = if pattern.contains("**") { usize::MAX } else { below };
        let here = base.as_os_str().is_empty();
        let walk = WalkDir::new(if here { Path::new(".") } else { &base });
        let mut any = false;
        for entry in walk.follow_links(true).sort_by_file_name().max_depth(deepest) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if is_loop_or_nothing(&error) => continue,
                Err(error) => {
                    any = true;
                    self.file(error.path().unwrap_or(&base));
                    continue;
                }
            };
            let path = if here { entry.path().strip_prefix(".").unwrap_or(entry.path()) } else { entry.path() };
            if !fits.matches_path_with(path, OPTIONS) {
                continue;
            }
            any = true;
            if entry.file_type().is_dir() {
                self.folder(path);
            } else if entry.file_type().is_file() {
                self.file(path);
            }
        }
        if any { Ok(()) } else { Err(ReceiveError::NoMatch { pattern: pattern.to_owned() }) }
    }
}

/// A link to a folder above, whose files are met anyway, or to nothing, which is no input.
fn is_loop_or_nothing(error: &walkdir::Error) -> bool {
    error.loop_ancestor().is_some() || error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in ["b.ndjson", "a.ndjson", "sub/c.har", ".hidden", ".git/config"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        folder
    }

    fn names(folder: &tempfile::TempDir, inputs: &[Input]) -> Vec<String> {
        let prefix = format!("{}/", folder.path().display());
        inputs.iter().map(|input| input.name.replacen(&prefix, "", 1)).collect()
    }

    fn text(path: PathBuf) -> String {
        path.to_string_lossy().into_owned()
    }

    #[test]
    fn a_folder_gives_its_visible_files_in_sorted_order() {
        let folder = tree();
        let found = inputs(&[text(folder.path().to_path_buf())]).unwrap();
        assert_eq!(names(&folder, &found), ["a.ndjson", "b.ndjson", "sub/c.har"]);
        let mut content = String::new();
        found[2].open().unwrap().read_to_string(&mut content).unwrap();
        assert_eq!((content.as_str(), found[2].bytes_on_disk), ("sub/c.har", Some(9)));
    }

    #[test]
    fn a_file_reached_twice_is_read_once_and_keeps_its_first_place() {
        let folder = tree();
        let again = text(folder.path().join("sub/../b.ndjson"));
        let found = inputs(&[text(folder.path().join("b.ndjson")), text(folder.path().to_path_buf()), again]).unwrap();
        assert_eq!(names(&folder, &found), ["b.ndjson", "a.ndjson", "sub/c.har"]);
    }

    #[test]
    fn a_pattern_that_the_shell_left_alone_is_expanded() {
        let folder = tree();
        let found = inputs(&[text(folder.path().join("*.ndjson"))]).unwrap();
        assert_eq!(names(&folder, &found), ["a.ndjson", "b.ndjson"]);
        let error = inputs(&[text(folder.path().join("*.nothing"))]).unwrap_err();
        assert!(matches!(error, ReceiveError::NoMatch { .. }));
    }

    #[test]
    fn a_path_that_is_not_there_is_named_in_the_error() {
        let error = inputs(&["/no/such/capture.har".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "/no/such/capture.har: no such file or folder");
    }

    #[test]
    fn a_minus_is_standard_input_once() {
        let found = inputs(&["-".to_owned(), "-".to_owned()]).unwrap();
        assert_eq!(found.iter().map(|input| &*input.name).collect::<Vec<_>>(), ["-"]);
    }

    #[test]
    fn a_pattern_over_all_levels_is_not_led_round_by_links() {
        let folder = tree();
        std::os::unix::fs::symlink("..", folder.path().join("sub/up")).unwrap();
        std::os::unix::fs::symlink(".", folder.path().join("self")).unwrap();
        let found = inputs(&[text(folder.path().join("**/*.ndjson"))]).unwrap();
        assert_eq!(names(&folder, &found), ["a.ndjson", "b.ndjson"]);
        let found = inputs(&[text(folder.path().join("s?b/*.h[a]r"))]).unwrap();
        assert_eq!(names(&folder, &found), ["sub/c.har"]);
        let error = inputs(&[text(folder.path().join("*/*/*/*.har"))]).unwrap_err();
        assert!(matches!(error, ReceiveError::NoMatch { .. }));
    }

    #[cfg(unix)]
    #[test]
    fn links_that_loop_or_dangle_are_passed_over() {
        let folder = tree();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("sub/loop")).unwrap();
        std::os::unix::fs::symlink("/no/such/file", folder.path().join("sub/dangling")).unwrap();
        let found = inputs(&[text(folder.path().to_path_buf())]).unwrap();
        assert_eq!(found.len(), 3);
    }
}
