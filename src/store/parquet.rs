//! Facts as Parquet, and back.
//!
//! In: a batch of one table, or the bytes of a file, ours or anybody's. Out: bytes, or facts. What is broken is an error,
//! whatever is broken in it.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, StringViewArray};
use arrow::datatypes::DataType;
use bytes::Bytes;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowFilter,
};
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::schema::types::ColumnPath;

use super::column::{OBSERVED, TASK};
use super::error::ReadError;
use crate::tables::{Facts, readable, stamp, table_of};

/// What every Parquet file begins with.
const MAGIC: &[u8] = b"PAR1";

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 8192;

/// Whether bytes begin as a Parquet file does.
pub fn is_parquet(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// A file of one table.
pub(super) fn write(table: &str, batch: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let task = ColumnPath::from(TASK);
    let metadata = stamp(table).map(|(key, value)| KeyValue::new(key, value));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_key_value_metadata(Some(metadata.to_vec()))
        .set_column_bloom_filter_enabled(task.clone(), true)
        .set_column_bloom_filter_max_ndv(task, batch.num_rows() as u64)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    writer.write(batch)?;
    writer.into_inner()
}

/// The facts of a Parquet file of a table of facts, whoever wrote it.
///
/// # Errors
/// When the file is broken, of another kind, or of a newer version.
pub fn read_facts(bytes: Vec<u8>) -> Result<Facts, ReadError> {
    guarded(|| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes))?;
        let table = table_of(builder.schema()).ok_or(ReadError::NotFacts)?;
        readable(builder.schema())?;
        let mut facts = Facts::default();
        for batch in builder.with_batch_size(BATCH_ROWS).build()? {
            facts.take(table, &batch?)?;
        }
        Ok(facts)
    })
}

/// The facts of some tasks in a file.
pub(super) fn read_tasks(table: &str, bytes: Vec<u8>, tasks: &Arc<HashSet<String>>) -> Result<Facts, ReadError> {
    guarded(|| {
        let mut facts = Facts::default();
        let mut builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes))?;
        readable(builder.schema())?;
        let Some((_, field)) = builder.schema().column_with_name(TASK) else { return Ok(facts) };
        let is_text = *field.data_type() == DataType::Utf8View;
        let groups = row_groups(&mut builder, tasks)?;
        if groups.is_empty() {
            return Ok(facts);
        }
        builder = builder.with_row_groups(groups).with_batch_size(BATCH_ROWS);
        if is_text {
            let wanted = Arc::clone(tasks);
            let mask = ProjectionMask::columns(builder.parquet_schema(), [TASK]);
            let is_wanted = ArrowPredicateFn::new(mask, move |batch| {
                let named = batch.column(0).as_string_view().iter();
                Ok(named.map(|task| Some(task.is_some_and(|task| wanted.contains(task)))).collect::<BooleanArray>())
            });
            builder = builder.with_row_filter(RowFilter::new(vec![Box::new(is_wanted)]));
        }
        for batch in builder.build()? {
            facts.take(table, &batch?)?;
        }
        facts.retain_tasks(|task| tasks.contains(task));
        Ok(facts)
    })
}

/// The row groups that may hold any of some tasks.
fn row_groups(
    builder: &mut ParquetRecordBatchReaderBuilder<Bytes>,
    tasks: &HashSet<String>,
) -> Result<Vec<usize>, ParquetError> {
    let mut groups = Vec::new();
    let column = builder.parquet_schema().columns().iter().position(|column| column.path().string() == TASK);
    for group in 0..builder.metadata().num_row_groups() {
        let filter =
            column.map(|column| builder.get_row_group_column_bloom_filter(group, column)).transpose()?.flatten();
        if filter.is_none_or(|filter| tasks.iter().any(|task| filter.check(&task.as_str()))) {
            groups.push(group);
        }
    }
    Ok(groups)
}

/// The tasks that the facts in a file name.
pub(super) fn task_ids(bytes: Vec<u8>) -> Result<Vec<StringViewArray>, ReadError> {
    guarded(|| texts(bytes, TASK))
}

/// When the facts in a file were observed.
pub(super) fn observed(bytes: Vec<u8>) -> Result<Vec<ArrayRef>, ReadError> {
    guarded(|| column(bytes, OBSERVED))
}

/// The identities of the facts in a file.
pub(super) fn ids(bytes: Vec<u8>) -> Result<Vec<StringViewArray>, ReadError> {
    guarded(|| texts(bytes, "fact_id"))
}

/// One column of text, in pieces.
fn texts(bytes: Vec<u8>, name: &str) -> Result<Vec<StringViewArray>, ReadError> {
    let text = |piece: ArrayRef| piece.as_string_view_opt().cloned().ok_or(ReadError::NotFacts);
    column(bytes, name)?.into_iter().map(text).collect()
}

/// One column, in pieces.
fn column(bytes: Vec<u8>, name: &str) -> Result<Vec<ArrayRef>, ReadError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes))?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), [name]);
    let reader: ParquetRecordBatchReader = builder.with_projection(mask).build()?;
    let first = |batch: RecordBatch| batch.columns().first().cloned().ok_or(ReadError::NotFacts);
    reader.map(|batch| first(batch?)).collect()
}

/// The reader of Parquet trusts lengths in places. One broken file must not end the program.
fn guarded<T>(read: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(ReadError::Panicked))
}
