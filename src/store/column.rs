//! Columns of batches of facts that the store looks at without reading rows.
//!
//! In: a batch of one table. Out: event times and tasks, row by row; none of a batch that has no such column.

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::TimestampNanosecondType;

/// The column of event times.
pub(super) const OBSERVED: &str = "observed_at";
/// The column by which the facts of a task are found.
pub(super) const TASK: &str = "task_id";

/// When the facts were observed, in nanoseconds.
pub(super) fn observed(batch: &RecordBatch) -> &[i64] {
    instants(batch.column_by_name(OBSERVED))
}

/// Nanoseconds of a column of instants; nothing of any other.
pub(super) fn instants(column: Option<&ArrayRef>) -> &[i64] {
    let column = column.and_then(|column| column.as_primitive_opt::<TimestampNanosecondType>());
    column.map_or(&[], |instants| instants.values())
}

/// The tasks that the facts name, which may be `''`.
pub(super) fn tasks(batch: &RecordBatch) -> impl Iterator<Item = &str> {
    let tasks = batch.column_by_name(TASK).and_then(|column| column.as_string_view_opt());
    tasks.into_iter().flatten().map(Option::unwrap_or_default)
}

/// The rows whose event time fits; all where there are no event times, which whoever reads them will find out.
pub(super) fn at(batch: &RecordBatch, fits: impl Fn(i64) -> bool) -> RecordBatch {
    let mask: BooleanArray = observed(batch).iter().map(|at| Some(fits(*at))).collect();
    filter_record_batch(batch, &mask).unwrap_or_else(|_| batch.clone())
}
