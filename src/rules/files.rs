//! The files of a corpus: those in the binary, those in a folder.
//!
//! In: a folder. Out: paths and bytes. Understands nothing of what is in them.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use walkdir::WalkDir;

use super::corpus::CorpusError;

static RULES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/queries/rules");
static VIEWS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/queries/views");

/// A file of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct File {
    /// For messages.
    pub(super) path: PathBuf,
    /// Within its folder.
    pub(super) within: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// The files in the binary.
pub(super) fn embedded() -> Vec<File> {
    let mut files = Vec::new();
    let mut dirs = vec![("rules", &RULES), ("views", &VIEWS)];
    while let Some((folder, dir)) = dirs.pop() {
        dirs.extend(dir.dirs().map(|dir| (folder, dir)));
        files.extend(dir.files().map(|file| built_in(folder, file)));
    }
    files
}

/// The views in the binary, by name.
pub(super) fn embedded_views() -> impl Iterator<Item = (String, File)> {
    let views = VIEWS.files().map(|file| built_in("views", file));
    views.filter_map(|file| Some((file.path.file_name()?.to_str()?.strip_suffix(".sql")?.to_owned(), file)))
}

fn built_in(folder: &str, file: &include_dir::File<'_>) -> File {
    let within = Path::new(folder).join(file.path());
    File { path: Path::new("queries").join(&within), within, bytes: file.contents().to_owned() }
}

/// The files in a folder.
///
/// # Errors
/// When one cannot be read, or there is none of a query.
pub(super) fn of(dir: &Path) -> Result<Vec<File>, CorpusError> {
    let mut files = Vec::new();
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        |source| CorpusError::Read { path, source }
    };
    for entry in WalkDir::new(dir).follow_links(true).sort_by_file_name() {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(dir).to_owned();
            let source = error.into_io_error().unwrap_or_else(|| std::io::Error::other("its links lead in a circle"));
            CorpusError::Read { path, source }
        })?;
        let path = entry.path();
        let within = path.strip_prefix(dir).unwrap_or(path).to_owned();
        // Captures may lie beside, and be large.
        if entry.file_type().is_file() && (within.starts_with("rules") || within.starts_with("views")) {
            let bytes = std::fs::read(path).map_err(unreadable(path))?;
            files.push(File { path: path.to_owned(), within, bytes });
        }
    }
    if files.is_empty() {
        let message = "there are no `rules/<category>/<id>.sql` and no `views/<name>.sql` in this folder";
        return Err(CorpusError::no_corpus(dir, message));
    }
    Ok(files)
}
