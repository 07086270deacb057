//! What the store asks of a disk.
//!
//! In: paths and bytes. Out: what the operating system says. Every operation of the store on files goes through [`Disk`], so
//! that tests can fail, cut short or forget any of them. Knows no format.

use std::fmt::Debug;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Name within the folder.
    pub name: String,
    /// Size in bytes; 0 for a folder.
    pub bytes: u64,
    /// Whether it is a file, and not a folder or something stranger; a link is what it leads to.
    pub is_file: bool,
}

/// Something that was opened under a name.
pub trait Named: Send + Debug {
    /// Whether it is still what is under that name: an open file lives on when its name is gone, or is another file's.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
}

/// A file open for appending.
pub trait DiskFile: Named + Write {
    /// All that is in it, whatever became of its name.
    fn content(&mut self) -> io::Result<Vec<u8>>;
    /// Returns when all that was written is durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file; what is written next follows there.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;
}

/// A disk. Names come and go durably only with [`Disk::sync_folder`].
pub trait Disk: Send + Sync + Debug {
    /// Makes a folder and those above it, durably.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;
    /// What is in a folder, in no order; nothing where there is no folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<Listed>>;
    /// A whole file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// A new file; fails if there is one of this name.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// An existing file, to go on at its end.
    fn append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file over another.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file, or a folder that is empty.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Returns when the names in a folder are durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Takes a lock that ends with the value or the process; [`io::ErrorKind::WouldBlock`] when another process has it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Named>>;
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalDisk;

impl Named for File {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        match fs::metadata(path) {
            Ok(there) => Ok(is_same(&self.metadata()?, &there)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Other systems keep the names of open files.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

impl DiskFile for File {
    fn content(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.rewind()?;
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }
}

impl Disk for LocalDisk {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        let missing: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|part| !part.as_os_str().is_empty() && !part.is_dir())
            .map(Path::to_owned)
            .collect();
        for part in missing.iter().rev() {
            match fs::create_dir(part) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => self.sync_folder(parent(part))?,
            }
        }
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Listed>> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut listed = Vec::new();
        for entry in entries {
            let entry = entry?;
            let data = match fs::metadata(entry.path()) {
                // It went meanwhile, or is a link to nowhere.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                data => data?,
            };
            let bytes = if data.is_file() { data.len() } else { 0 };
            let name = entry.file_name().to_string_lossy().into_owned();
            listed.push(Listed { name, bytes, is_file: data.is_file() });
        }
        Ok(listed)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().read(true).append(true).create_new(true).open(path)?))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().read(true).append(true).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        // Windows opens no folders, and keeps names by itself.
        if cfg!(windows) { Ok(()) } else { File::open(folder)?.sync_all() }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Named>> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(file)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Writes a file so that under its name there is the whole of it or what was there before.
pub(super) fn write_whole(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Hidden, so that nobody who reads the folder takes it for a file of it.
    let unfinished = path.with_file_name(format!(".{name}{UNFINISHED}"));
    match disk.remove(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = disk.create(&unfinished)?;
    let written = file.write_all(bytes).and_then(|()| file.sync());
    drop(file);
    if let Err(error) = written.and_then(|()| disk.rename(&unfinished, path)) {
        // Space is what is missing, most likely.
        _ = disk.remove(&unfinished);
        return Err(error);
    }
    disk.sync_folder(parent(path))
}

/// How the name ends of a file that is being written.
pub(super) const UNFINISHED: &str = ".tmp";

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_had_once_and_ends_with_its_value() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = LocalDisk.lock(&path).unwrap();
        assert_eq!(LocalDisk.lock(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(lock);
        LocalDisk.lock(&path).unwrap();
    }

    #[test]
    fn a_file_goes_on_where_it_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/b");
        LocalDisk.make_folder(&folder).unwrap();
        let path = folder.join("file");
        let mut file = LocalDisk.create(&path).unwrap();
        file.write_all(b"12345").unwrap();
        file.truncate(2).unwrap();
        file.write_all(b"67").unwrap();
        file.sync().unwrap();
        assert_eq!(LocalDisk.read(&path).unwrap(), b"1267");
        assert!(LocalDisk.create(&path).is_err());
        assert_eq!(LocalDisk.list(&folder).unwrap(), [Listed { name: "file".to_owned(), bytes: 4, is_file: true }]);
        assert_eq!(LocalDisk.list(&dir.path().join("none")).unwrap(), []);
    }

    #[test]
    fn an_open_file_is_not_at_its_name_when_that_is_gone_or_leads_to_another_and_can_be_read_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = LocalDisk.create(&path).unwrap();
        file.write_all(b"12345").unwrap();
        assert!(file.is_at(&path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!file.is_at(&path).unwrap());
        fs::write(&path, b"12345").unwrap();
        assert!(!file.is_at(&path).unwrap());
        assert!(!file.is_at(&path.join("below")).unwrap());
        assert_eq!(file.content().unwrap(), b"12345");
        file.write_all(b"6").unwrap();
        assert_eq!(file.content().unwrap(), b"123456");
    }
}
