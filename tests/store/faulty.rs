//! A disk in memory that fails as disks do.
//!
//! In: operations of the store. Out: what a disk would answer, until the operation at which it is told to fail. After a loss
//! of power, data that was not synced is there in part, with rubbish behind it, or not at all, and names that were not synced
//! are the old or the new ones, each for itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use a2a_drift::store::{Disk, DiskFile, Listed, Named};

/// What happens at an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails and changes nothing; what was to be synced never will be.
    Error,
    /// A write is done in part and fails; other operations fail.
    Short,
    /// As `Short`, and so do all writes for some while after.
    Full,
    /// It is done or not, or in part, and nothing answers any more.
    Crash,
}

/// Operations for which a full disk stays full.
const FULL_FOR: u64 = 25;

#[derive(Debug, Default, Clone)]
struct Inode {
    durable: Vec<u8>,
    current: Vec<u8>,
    /// A failed sync: the system has thrown away what was to be written, and later syncs do not know of it.
    poisoned: bool,
}

#[derive(Debug, Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    folders: BTreeSet<PathBuf>,
    operations: u64,
    fault: Option<(u64, Fault)>,
    crashed: bool,
    /// Who has the lock; counted up by each who takes it.
    locked: Option<u64>,
    locks: u64,
    random: u64,
}

/// The disk; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct FaultyDisk(Arc<Mutex<State>>);

/// Numbers that look random and are the same in every run.
pub fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*random ^ (*random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// What an operation is to do.
#[derive(PartialEq)]
enum Turn {
    Do,
    Half(io::ErrorKind),
    Fail(io::ErrorKind),
}

impl State {
    fn turn(&mut self, is_write: bool) -> Turn {
        if self.crashed {
            return Turn::Fail(io::ErrorKind::BrokenPipe);
        }
        self.operations += 1;
        let Some((at, fault)) = self.fault else { return Turn::Do };
        let is_now = self.operations == at;
        match fault {
            Fault::Error if is_now => Turn::Fail(io::ErrorKind::Other),
            Fault::Short if is_now && is_write => Turn::Half(io::ErrorKind::Other),
            Fault::Short if is_now => Turn::Fail(io::ErrorKind::Other),
            Fault::Full if is_write && (at..at + FULL_FOR).contains(&self.operations) => {
                Turn::Half(io::ErrorKind::StorageFull)
            }
            Fault::Crash if is_now => {
                self.crashed = true;
                match next(&mut self.random) % 3 {
                    0 => Turn::Fail(io::ErrorKind::BrokenPipe),
                    1 if is_write => Turn::Half(io::ErrorKind::BrokenPipe),
                    _ => Turn::Do,
                }
            }
            _ => Turn::Do,
        }
    }
}

impl FaultyDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// A disk that fails at an operation, counted from 1.
    pub fn failing(at: u64, fault: Fault) -> Self {
        let disk = Self::default();
        disk.state().fault = Some((at, fault));
        disk.state().random = at;
        disk
    }

    /// From now on it fails, at an operation counted from here.
    pub fn fail(&self, at: u64, fault: Fault) {
        let mut state = self.state();
        state.fault = Some((state.operations + at, fault));
        state.random = at;
    }

    /// A disk with files.
    pub fn with(files: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) -> Self {
        let disk = Self::default();
        for (path, bytes) in files {
            let mut state = disk.state();
            let inode = state.inodes.len();
            state.inodes.push(Inode { durable: bytes.clone(), current: bytes, poisoned: false });
            state.names.insert(path.clone(), inode);
            state.durable_names.insert(path.clone(), inode);
            state.folders.extend(path.ancestors().skip(1).map(Path::to_owned));
        }
        disk
    }

    /// All files as a process sees them.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state();
        state.names.iter().map(|(path, inode)| (path.clone(), state.inodes[*inode].current.clone())).collect()
    }

    /// Somebody removes everything; what is open stays open.
    pub fn remove_all(&self) {
        let mut state = self.state();
        state.names.clear();
        state.durable_names.clear();
        state.folders.clear();
        state.locked = None;
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Whether nothing answers any more.
    pub fn crashed(&self) -> bool {
        self.state().crashed
    }

    /// The process is gone, the system is not: all that was written is there.
    pub fn restart(&self) {
        let mut state = self.state();
        state.crashed = false;
        state.fault = None;
    }

    /// The power was gone.
    pub fn lose_power(&self) {
        self.restart();
        let mut state = self.state();
        let mut random = state.random;
        let paths: BTreeSet<PathBuf> = state.names.keys().chain(state.durable_names.keys()).cloned().collect();
        let mut names = BTreeMap::new();
        for path in paths {
            let of = if next(&mut random).is_multiple_of(2) { &state.names } else { &state.durable_names };
            names.extend(of.get(&path).map(|inode| (path, *inode)));
        }
        for inode in &mut state.inodes {
            inode.lose(&mut random);
        }
        state.names.clone_from(&names);
        state.durable_names = names;
        state.random = random;
    }
}

impl Inode {
    fn lose(&mut self, random: &mut u64) {
        let shared = self.durable.iter().zip(&self.current).take_while(|(a, b)| a == b).count();
        let left = match next(random) % 4 {
            0 => self.durable.clone(),
            1 => self.current.clone(),
            how => {
                // Names of blocks may be durable before what is in them.
                let extra = self.current.len().saturating_sub(shared) as u64;
                let kept = shared + (next(random) % (extra + 1)) as usize;
                let mut part = self.current[..kept].to_vec();
                part.resize(if how == 2 { kept } else { self.current.len() }, 0);
                part
            }
        };
        // Nothing may take away what is durable and still wanted.
        *self = Self { durable: left.clone(), current: left, poisoned: false };
    }
}

#[derive(Debug)]
struct Open {
    disk: FaultyDisk,
    inode: usize,
}

impl Write for Open {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        match state.turn(true) {
            Turn::Fail(kind) => Err(kind.into()),
            Turn::Half(kind) => {
                let part = (next(&mut state.random) % (bytes.len() as u64 + 1)) as usize;
                state.inodes[self.inode].current.extend(&bytes[..part]);
                Err(kind.into())
            }
            Turn::Do => {
                state.inodes[self.inode].current.extend(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Named for Open {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.disk.change(|state| Ok(state.names.get(path) == Some(&self.inode)))
    }
}

impl DiskFile for Open {
    fn content(&mut self) -> io::Result<Vec<u8>> {
        self.disk.change(|state| Ok(state.inodes[self.inode].current.clone()))
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        let turn = state.turn(false);
        let crashed = state.crashed;
        let inode = &mut state.inodes[self.inode];
        match turn {
            Turn::Do if inode.poisoned => Ok(()),
            Turn::Do => {
                inode.durable.clone_from(&inode.current);
                Ok(())
            }
            Turn::Fail(kind) | Turn::Half(kind) => {
                inode.poisoned = !crashed;
                Err(kind.into())
            }
        }
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.disk.change(|state| {
            state.inodes[self.inode].current.truncate(bytes as usize);
            Ok(())
        })
    }
}

impl FaultyDisk {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state();
        match state.turn(false) {
            Turn::Do => change(&mut state),
            Turn::Fail(kind) | Turn::Half(kind) => Err(kind.into()),
        }
    }

    fn open(&self, inode: usize) -> Box<dyn DiskFile> {
        Box::new(Open { disk: self.clone(), inode })
    }
}

fn found<T>(value: Option<T>) -> io::Result<T> {
    value.ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl Disk for FaultyDisk {
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        self.change(|state| {
            state.folders.extend(folder.ancestors().map(Path::to_owned));
            Ok(())
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Listed>> {
        self.change(|state| {
            let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
            let files = state.names.iter().filter(|(path, _)| path.parent() == Some(folder));
            let files = files.map(|(path, inode)| (name(path), state.inodes[*inode].current.len() as u64, true));
            let folders = state.folders.iter().filter(|path| path.parent() == Some(folder));
            let all = files.chain(folders.map(|path| (name(path), 0, false)));
            Ok(all.map(|(name, bytes, is_file)| Listed { name, bytes, is_file }).collect())
        })
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.change(|state| Ok(state.inodes[*found(state.names.get(path))?].current.clone()))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let inode = self.change(|state| {
            assert!(state.folders.contains(path.parent().unwrap()), "{path:?} in no folder");
            if state.names.contains_key(path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            state.inodes.push(Inode::default());
            state.names.insert(path.to_owned(), state.inodes.len() - 1);
            Ok(state.inodes.len() - 1)
        })?;
        Ok(self.open(inode))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let inode = self.change(|state| found(state.names.get(path).copied()))?;
        Ok(self.open(inode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|state| {
            let inode = found(state.names.remove(from))?;
            state.names.insert(to.to_owned(), inode);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(|state| {
            if state.folders.contains(path) {
                let is_empty = !state.names.keys().any(|name| name.starts_with(path))
                    && !state.folders.iter().any(|name| name != path && name.starts_with(path));
                if !is_empty {
                    return Err(io::ErrorKind::DirectoryNotEmpty.into());
                }
                state.folders.remove(path);
                return Ok(());
            }
            found(state.names.remove(path)).map(drop)
        })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.change(|state| {
            state.durable_names.retain(|path, _| path.parent() != Some(folder));
            let inside = state.names.iter().filter(|(path, _)| path.parent() == Some(folder));
            let inside: Vec<_> = inside.map(|(path, inode)| (path.clone(), *inode)).collect();
            state.durable_names.extend(inside);
            Ok(())
        })
    }

    fn lock(&self, _: &Path) -> io::Result<Box<dyn Named>> {
        let number = self.change(|state| {
            if state.locked.is_some() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            state.locks += 1;
            state.locked = Some(state.locks);
            Ok(state.locks)
        })?;
        Ok(Box::new(Lock(self.clone(), number)))
    }
}

/// The lock of a folder, until it is dropped or the folder is removed.
#[derive(Debug)]
struct Lock(FaultyDisk, u64);

impl Named for Lock {
    fn is_at(&self, _: &Path) -> io::Result<bool> {
        self.0.change(|state| Ok(state.locked == Some(self.1)))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if state.locked == Some(self.1) {
            state.locked = None;
        }
    }
}
