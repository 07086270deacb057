//! The facts of a segment, by hour.
//!
//! In: batches of one table in the order of the log, possibly of several versions of its schema. Out: per hour one batch in
//! the order of time, each fact once.

use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::TimestampNanosecondType;
use arrow::error::ArrowError;

use super::error::{ReadError, StoreError};
use super::lake::Hour;
use crate::instant::Instant;
use crate::tables::Facts;

/// Batches of one table as it is declared today.
pub(super) struct Sorted {
    batches: Vec<RecordBatch>,
}

/// A fact in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row<'a> {
    at: i64,
    pub(super) id: &'a str,
    batch: usize,
    row: usize,
}

impl Sorted {
    /// Brings batches to the schema of today; `None` if there is no such table.
    pub(super) fn of(table: &str, batches: &[RecordBatch], path: &Path) -> Result<Option<Self>, StoreError> {
        let Some((_, schema)) = Facts::schemas().into_iter().find(|(name, _)| *name == table) else { return Ok(None) };
        let mut conformed = Vec::with_capacity(batches.len());
        for batch in batches {
            if batch.schema_ref().fields() == schema.fields() {
                conformed.push(RecordBatch::try_new(schema.clone(), batch.columns().to_vec())?);
                continue;
            }
            let facts = Facts::from_batches([(table, batch)])
                .map_err(|error| StoreError::Unreadable { path: path.to_owned(), source: ReadError::Table(error) })?;
            conformed.extend(facts.batches()?.into_iter().filter(|(name, _)| *name == table).map(|(_, batch)| batch));
        }
        Ok(Some(Self { batches: conformed }))
    }

    /// The facts by hour, each once, in the order of time.
    pub(super) fn hours(&self) -> Vec<(Hour, Vec<Row<'_>>)> {
        let mut rows: Vec<Row<'_>> = self.batches.iter().enumerate().flat_map(|(n, batch)| rows(n, batch)).collect();
        rows.sort_unstable();
        rows.dedup_by(|next, kept| (next.at, next.id) == (kept.at, kept.id));
        let by_hour = rows.chunk_by(|a, b| hour(a) == hour(b));
        by_hour.filter_map(|rows| Some((hour(rows.first()?), rows.to_vec()))).collect()
    }

    /// A batch of chosen facts.
    pub(super) fn batch(&self, rows: &[Row<'_>]) -> Result<RecordBatch, ArrowError> {
        let indices: Vec<(usize, usize)> = rows.iter().map(|row| (row.batch, row.row)).collect();
        interleave_record_batch(&self.batches.iter().collect::<Vec<_>>(), &indices)
    }
}

fn hour(row: &Row<'_>) -> Hour {
    Hour::of(Instant(row.at))
}

fn rows(batch_index: usize, batch: &RecordBatch) -> impl Iterator<Item = Row<'_>> {
    let columns = batch.column_by_name("observed_at").zip(batch.column_by_name("fact_id"));
    let columns = columns
        .and_then(|(at, id)| Some((at.as_primitive_opt::<TimestampNanosecondType>()?, id.as_string_view_opt()?)));
    columns.into_iter().flat_map(move |(at, id)| {
        (0..at.len()).map(move |row| Row { at: at.value(row), id: id.value(row), batch: batch_index, row })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::CardRow;

    #[test]
    fn facts_of_any_version_are_sorted_into_hours_each_once() {
        let batch = |hours: &[i64]| {
            let mut facts = Facts::default();
            for hour in hours {
                let mut row = CardRow::default();
                row.common.observed_at = Instant(hour * 3_600 * 1_000_000_000);
                facts.push_card(row);
            }
            facts.batches().unwrap().into_iter().find(|(name, _)| *name == "cards").unwrap().1
        };
        let mut older = batch(&[5, 9]);
        older.remove_column(older.schema_ref().index_of("dialect").unwrap());
        let sorted = Sorted::of("cards", &[batch(&[7, 5]), older], Path::new("")).unwrap().unwrap();
        let hours = sorted.hours();
        let counts: Vec<_> =
            hours.iter().map(|(hour, rows)| (hour.end().0 / 3_600_000_000_000 - 1, rows.len())).collect();
        assert_eq!(counts, [(5, 1), (7, 1), (9, 1)]);
        assert_eq!(sorted.batch(&hours[2].1).unwrap().num_rows(), 1);
        assert!(Sorted::of("no_table", &[batch(&[1])], Path::new("")).unwrap().is_none());
    }
}
