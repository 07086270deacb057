//! The captures on the shelf: files of tests/captures by short name, and their lines.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use walkdir::WalkDir;

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

/// Every file of the captures, as a path below their folder.
pub fn files() -> &'static [String] {
    static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let root = captures();
        let mut files: Vec<String> = WalkDir::new(&root)
            .into_iter()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_file())
            .filter_map(|entry| Some(entry.path().strip_prefix(&root).ok()?.to_string_lossy().into_owned()))
            .collect();
        files.sort();
        files
    });
    &FILES
}

/// Finds a capture: a path below tests/captures, a file name, or a run, which means its exchanges.
///
/// # Errors
/// When there is none, or more than one.
pub fn find(name: &str) -> Told<&'static str> {
    let exchanges = format!("{name}.exchanges.ndjson");
    let fits = |file: &&String| {
        let last = file.rsplit('/').next().unwrap_or(file);
        *file == name || last == name || last == exchanges
    };
    match files().iter().filter(fits).collect::<Vec<_>>().as_slice() {
        [one] => Ok(one),
        [] => Err(format!("no capture `{name}` in tests/captures")),
        many => Err(format!("`{name}` is any of {many:?}")),
    }
}

/// Reads a capture whole.
///
/// # Errors
/// When it cannot be read.
pub fn bytes(file: &str) -> Told<Vec<u8>> {
    std::fs::read(captures().join(file)).map_err(|e| format!("{file}: {e}"))
}

/// The lines of a capture; the entries of a HAR, each on one line.
///
/// # Errors
/// When it is no text.
pub fn lines(file: &str) -> Told<Vec<String>> {
    let text = String::from_utf8(bytes(file)?).map_err(|_| format!("{file} is binary: it has no lines"))?;
    if !file.ends_with(".har") {
        return Ok(text.lines().map(str::to_owned).collect());
    }
    let har: serde_json::Value = serde_json::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
    let entries =
        har.pointer("/log/entries").and_then(serde_json::Value::as_array).ok_or_else(|| format!("{file} is no HAR"))?;
    Ok(entries.iter().map(ToString::to_string).collect())
}
