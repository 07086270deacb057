//! Tables to Parquet files, for other engines to read.
//!
//! In: batches by table. Out: `<table>.parquet` in a folder, which says of which table it is. Changes nothing in them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::errors::ParquetError;

use crate::tables::{stamped, stamped_schema};

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
            let mut writer = ArrowWriter::try_new(file, stamped_schema(name, first.schema_ref()), None)?;
            for (_, batch) in tables[index..].iter().filter(|(other, _)| other.as_ref() == name) {
                writer.write(&stamped(name, batch))?;
            }
            writer.close()
        };
        write().map_err(|source| ExportError::Parquet { path: path.clone(), source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{CardRow, Facts};
    use datafusion::parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

    #[test]
    fn each_table_is_read_back_as_it_was_written() {
        let mut facts = Facts::default();
        for version in ["1", "2"] {
            let mut card = CardRow::default();
            card.own.version = version.to_owned();
            card.own.endpoints = Some(vec!["http://a/".to_owned(), "http://b/".to_owned()]);
            facts.push_card(card);
        }
        let dir = tempfile::tempdir().unwrap();
        let mut tables = facts.batches().unwrap();
        let (_, cards) = tables.iter().find(|(name, _)| *name == "cards").unwrap().clone();
        let halves = [cards.slice(0, 1), cards.slice(1, 1)].map(|half| ("cards", half));
        tables.retain(|(name, _)| *name != "cards");
        tables.extend(halves);
        export(&tables, &dir.path().join("new")).unwrap();
        for (name, schema) in Facts::schemas() {
            let file = File::open(dir.path().join(format!("new/{name}.parquet"))).unwrap();
            let written = ParquetRecordBatchReaderBuilder::try_new(file.try_clone().unwrap()).unwrap();
            assert_eq!(written.schema().metadata(), stamped_schema(name, &schema).metadata());
            let batches: Vec<_> = ParquetRecordBatchReader::try_new(file, 100).unwrap().map(Result::unwrap).collect();
            match name {
                "cards" => assert_eq!(batches, std::slice::from_ref(&cards)),
                _ => assert!(batches.is_empty(), "{name} {schema}"),
            }
        }
    }
}
