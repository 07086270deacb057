//! A log whose folder was removed, moved away or replaced while it was open.
//!
//! In: the open files of the log, and the folder as it is now. Out: the log in its folder again, with all that it holds: an
//! open file can be read though it has no name any more. What another process has begun there meanwhile is never touched.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::{Held, Log, Segment, StoreError, number, path};
use crate::store::disk::{Disk, Named, write_whole};
use crate::store::error::At;

/// Name of the file by whose lock one process has the folder.
const LOCK: &str = "lock";

/// Takes the folder for this process.
pub(super) fn lock(disk: &dyn Disk, folder: &Path) -> Result<Box<dyn Named>, StoreError> {
    let path = folder.join(LOCK);
    disk.lock(&path).map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => StoreError::Locked { path: path.clone() },
        _ => StoreError::Disk { doing: "lock", path: path.clone(), source },
    })
}

impl Log {
    /// Fails when the folder is no longer this log's, or the segment that is written to no longer a file in it: nothing that
    /// is written is there after a restart.
    pub(super) fn look(&mut self) -> Result<(), StoreError> {
        if let Some(Held { segment, file: Some(file) }) = &self.active {
            let path = path(&self.folder, segment.number);
            if !file.is_at(&path).at("look at", &path)? {
                self.is_lost = true;
                return Err(StoreError::Gone { path });
            }
        }
        let path = self.folder.join(LOCK);
        if !self.lock.is_at(&path).at("look at", &path)? {
            self.is_lost = true;
            return Err(StoreError::Gone { path });
        }
        Ok(())
    }

    /// Whether a commit found that what is open is not what lies in the folder.
    pub(in crate::store) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether what is open is what lies in the folder.
    pub(in crate::store) fn is_there(&mut self) -> Result<bool, StoreError> {
        if self.is_lost {
            return Ok(false);
        }
        match self.look() {
            Err(StoreError::Gone { .. }) => Ok(false),
            looked => looked.map(|()| true),
        }
    }

    /// Takes the folder again, which is made if need be.
    pub(in crate::store) fn take_again(&mut self) -> Result<(), StoreError> {
        self.disk.make_folder(&self.folder).at("make the folder", &self.folder)?;
        let path = self.folder.join(LOCK);
        if !self.lock.is_at(&path).at("look at", &path)? {
            self.lock = lock(self.disk.as_ref(), &self.folder)?;
        }
        Ok(())
    }

    /// Writes the segments that are not in the folder any more into it. To be called again when it fails.
    pub(in crate::store) fn write_again(&mut self) -> Result<(), StoreError> {
        self.seal();
        let own: BTreeSet<u64> = self.segments().map(|segment| segment.number).collect();
        let there = self.disk.list(&self.folder).at("list", &self.folder)?;
        if let Some(foreign) = there.iter().find(|entry| number(&entry.name).is_some_and(|n| !own.contains(&n))) {
            return Err(StoreError::Taken { path: self.folder.join(&foreign.name) });
        }
        let is_there = |segment: &Segment| there.iter().any(|entry| number(&entry.name) == Some(segment.number));
        for Held { segment, file } in &mut self.sealed {
            let Some(open) = file else { continue };
            let path = path(&self.folder, segment.number);
            if open.is_at(&path).at("look at", &path)? {
                continue;
            }
            let mut bytes = open.content().at("read", &path)?;
            bytes.truncate(usize::try_from(segment.bytes).unwrap_or(usize::MAX));
            if !is_there(segment) {
                write_whole(self.disk.as_ref(), &path, &bytes).at("write", &path)?;
            } else if self.disk.read(&path).at("read", &path)? != bytes {
                return Err(StoreError::Taken { path });
            }
            *file = Some(self.disk.append(&path).at("open", &path)?);
        }
        self.forget(is_there);
        self.disk.sync_folder(&self.folder).at("sync", &self.folder)?;
        self.is_lost = false;
        Ok(())
    }

    /// Forgets segments that were removed and whose files are not open: nobody can read them any more.
    fn forget(&mut self, is_there: impl Fn(&Segment) -> bool) {
        self.sealed.retain(|Held { segment, file }| {
            let stays = file.is_some() || is_there(segment);
            if !stays {
                let path = path(&self.folder, segment.number);
                tracing::error!(path = %path.display(), facts = segment.facts, "a file of the log was removed and is lost");
            }
            stays
        });
        let left: BTreeSet<u64> = self.segments().map(|segment| segment.number).collect();
        self.pieces.retain(|_, number| left.contains(number));
    }
}
