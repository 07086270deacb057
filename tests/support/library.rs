//! The captures on the shelf: files of tests/captures by short name, and their lines.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use a2a_drift::rules::cases::case::Case;
use a2a_drift::rules::cases::run::below;
use a2a_drift::rules::cases::shelf::Shelf;

use super::Told;

/// Folder of the tests.
pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Folder of the captures.
pub fn captures() -> PathBuf {
    tests().join("captures")
}

/// Folder of the cases.
pub fn cases() -> PathBuf {
    tests().join("rules")
}

/// The captures.
pub fn shelf() -> &'static Shelf {
    static SHELF: LazyLock<Shelf> = LazyLock::new(|| Shelf::over([captures()]));
    &SHELF
}

/// Every file of the captures, as a path below their folder.
pub fn files() -> &'static [String] {
    static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut files: Vec<String> = shelf().names().map(str::to_owned).collect();
        files.sort();
        files
    });
    &FILES
}

/// Every case below tests/rules, in order of path. What cannot be read is told with its place.
pub fn all_cases() -> Vec<Told<Case>> {
    below(&cases()).into_iter().map(|case| case.map_err(|problem| problem.to_string())).collect()
}

/// Finds a capture: a path below tests/captures, a file name, or a run, which means its exchanges.
///
/// # Errors
/// When there is none, or more than one.
pub fn find(name: &str) -> Told<&'static str> {
    shelf().find(name)
}

/// Reads a capture whole.
///
/// # Errors
/// When it cannot be read.
pub fn bytes(file: &str) -> Told<Vec<u8>> {
    shelf().bytes(file)
}

/// The lines of a capture; the entries of a HAR, each on one line.
///
/// # Errors
/// When it is no text.
pub fn lines(file: &str) -> Told<Vec<String>> {
    shelf().lines(file)
}
