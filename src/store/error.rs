//! Why facts could not be stored or read.

use std::io;
use std::path::{Path, PathBuf};

use arrow::error::ArrowError;
use datafusion::parquet::errors::ParquetError;

use crate::tables::TableError;

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process works in this folder.
    #[error("{}: another process has this store open", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The disk refuses: it is full, or broken, or not ours.
    #[error("{}: cannot {doing}", path.display())]
    Disk {
        /// What was tried.
        doing: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A commit of more than a frame holds.
    #[error("{bytes} bytes are too many for one entry of the log")]
    TooLarge {
        /// Size of the entry.
        bytes: usize,
    },
    /// Facts that no batch can be made of: a defect.
    #[error("facts cannot be encoded")]
    Encode(#[from] ArrowError),
    /// Facts that no Parquet file can be made of: a defect.
    #[error("facts cannot be written as Parquet")]
    Parquet(#[from] ParquetError),
    /// A file of the lake that is not what it was written as, or a segment of the log that a newer program wrote.
    #[error("{}: not readable as facts", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
}

/// Why bytes are not facts.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Broken as Parquet.
    #[error("not a sound Parquet file")]
    Parquet(#[from] ParquetError),
    /// Broken below.
    #[error("not sound Arrow data")]
    Arrow(#[from] ArrowError),
    /// Columns that do not fit.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Sound, and of no table of facts.
    #[error("Parquet, but not of a table of facts")]
    NotFacts,
    /// A log written by a program that came after this one.
    #[error("log format {found}; this program reads up to {known}")]
    NewerLog {
        /// Its format.
        found: u32,
        /// The newest known.
        known: u32,
    },
    /// So broken that the reader gave up in the middle.
    #[error("so damaged that it cannot be read")]
    Panicked,
}

impl StoreError {
    /// Whether the same may succeed later, and with it what a sender sends again: all that is the disk's fault.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Disk { .. })
    }
}

/// Says with which file something was tried.
pub(super) trait At<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, StoreError>;
}

/// Says which file could not be read as facts.
pub(super) fn unreadable(path: &Path) -> impl FnOnce(ReadError) -> StoreError {
    move |source| StoreError::Unreadable { path: path.to_owned(), source }
}

impl<T> At<T> for io::Result<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Disk { doing, path: path.to_owned(), source })
    }
}
