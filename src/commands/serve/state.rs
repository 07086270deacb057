//! Small files that are remembered over a restart, replaced whole.
//!
//! In: a value and a path. Out: a JSON file that is either the old or the new one. A file that cannot be read is as none.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a value in the place of the last.
///
/// # Errors
/// When the disk refuses.
pub(super) fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = File::create(&fresh)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    file.sync_data()?;
    fs::rename(&fresh, path)?;
    // The name is the folder's: without this a crash may bring back the old file.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// The value that was written last.
pub(super) fn read<T: DeserializeOwned + Default>(path: &Path) -> T {
    let read = || -> io::Result<T> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
    read().unwrap_or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            tracing::warn!(path = %path.display(), %error, "what was remembered cannot be read");
        }
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_broken_is_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks.json");
        assert_eq!(read::<Vec<u8>>(&path), Vec::<u8>::new());
        write(&path, &vec![1_u8, 2]).unwrap();
        assert_eq!(read::<Vec<u8>>(&path), [1, 2]);
        fs::write(&path, "[1").unwrap();
        assert_eq!(read::<Vec<u8>>(&path), Vec::<u8>::new());
    }
}
