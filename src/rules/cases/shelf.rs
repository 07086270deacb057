//! The captures on the shelf: files of some folders by short name, and their lines.
//!
//! In: folders. Out: names, bytes, lines. Reads a file when it is asked for.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::Told;

/// Files below some folders, those of the first folder first.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    /// Path below the folder, and the file.
    files: Vec<(String, PathBuf)>,
}

impl Shelf {
    /// The files below folders; one that is not there has none.
    pub fn over<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Self {
        let mut files = Vec::new();
        for folder in folders {
            let folder = folder.as_ref();
            let found = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
            files.extend(found.filter(|entry| entry.file_type().is_file()).filter_map(|entry| {
                let below = entry.path().strip_prefix(folder).ok()?.to_string_lossy().into_owned();
                Some((below, entry.path().to_owned()))
            }));
        }
        Self { files }
    }

    /// Names of all files: their paths below the folder that they are in.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// Finds a capture: a path below a folder, a file name, or a run, which means its exchanges.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, name: &str) -> Told<&str> {
        if let Some((exact, _)) = self.files.iter().find(|(file, _)| file == name) {
            return Ok(exact);
        }
        let exchanges = format!("{name}.exchanges.ndjson");
        let fits = |file: &&str| {
            let last = file.rsplit('/').next().unwrap_or(file);
            last == name || last == exchanges
        };
        match self.names().filter(fits).collect::<Vec<_>>().as_slice() {
            [one] => Ok(one),
            [] => Err(format!("no capture `{name}` among the captures")),
            many => Err(format!("`{name}` is any of {many:?}")),
        }
    }

    /// Reads a capture whole.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be read.
    pub fn bytes(&self, name: &str) -> Told<Vec<u8>> {
        let file = self.files.iter().find(|(file, _)| file == name).ok_or_else(|| format!("no capture `{name}`"))?;
        std::fs::read(&file.1).map_err(|error| format!("{name}: {error}"))
    }

    /// The lines of a capture; the entries of a HAR, each on one line.
    ///
    /// # Errors
    /// When it is no text.
    pub fn lines(&self, name: &str) -> Told<Vec<String>> {
        let text = String::from_utf8(self.bytes(name)?).map_err(|_| format!("{name} is binary: it has no lines"))?;
        if !name.ends_with(".har") {
            return Ok(text.lines().map(str::to_owned).collect());
        }
        let har: serde_json::Value = serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
        let entries = har.pointer("/log/entries").and_then(serde_json::Value::as_array);
        let entries = entries.ok_or_else(|| format!("{name} is no HAR"))?;
        Ok(entries.iter().map(ToString::to_string).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_found_by_path_by_name_and_by_run() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a/x.exchanges.ndjson", "a/y.har", "b/y.har", "y.har"] {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "{\"log\": {\"entries\": [{\"a\": 1}, {}]}}").unwrap();
        }
        let shelf = Shelf::over([folder.path(), &folder.path().join("none")]);
        assert_eq!(shelf.find("x"), Ok("a/x.exchanges.ndjson"));
        assert_eq!(shelf.find("y.har"), Ok("y.har"));
        assert_eq!(shelf.find("b/y.har"), Ok("b/y.har"));
        assert!(shelf.find("z").unwrap_err().contains("no capture `z`"));
        assert_eq!(shelf.lines("y.har"), Ok(vec!["{\"a\":1}".to_owned(), "{}".to_owned()]));
    }
}
