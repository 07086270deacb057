//! Tables to Parquet files, for other engines to read.
//!
//! In: batches by table. Out: `<table>.parquet` in a folder. Changes nothing in them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::errors::ParquetError;

/// Why tables could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A folder or file could not be made.
    #[error("cannot write {path}")]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A batch could not be written as Parquet.
    #[error("cannot write {path} as Parquet")]
    Parquet {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: ParquetError,
    },
}

/// Writes one file a table: of facts, or the rows of a stored view. Batches of one name go to one file.
///
/// # Errors
/// When the folder or a file cannot be written.
pub fn export<S: AsRef<str>>(tables: &[(S, RecordBatch)], dir: &Path) -> Result<(), ExportError> {
    fs::create_dir_all(dir).map_err(|source| ExportError::Write { path: dir.to_owned(), source })?;
    for (index, (name, first)) in tables.iter().enumerate() {
        let name = name.as_ref();
        if tables[..index].iter().any(|(before, _)| before.as_ref() == name) {
            continue;
        }
        let path = dir.join(format!("{name}.parquet"));
        let file = File::create(&path).map_err(|source| ExportError::Write { path: path.clone(), source })?;
        let write = || {
            let mut writer = ArrowWriter::try_new(file, first.schema(), None)?;
            for (_, batch) in tables[index..].iter().filter(|(other, _)| other.as_ref() == name) {
                writer.write(batch)?;
            }
            writer.close()
        };
        write().map_err(|source| ExportError::Parquet { path: path.clone(), source })?;
    }
    Ok(())
}
