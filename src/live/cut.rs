//! The rows of a query's inputs that its dirty keys need.
//!
//! In: inputs, tables, dirty keys. Out: a batch of rows for each input, more of them rather than fewer. Changes nothing.

use std::collections::HashSet;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use super::cells::{self, Cell};
use super::dirty::Dirty;
use super::inputs::{Finds, Input, Marks};
use super::table::{Place, Table};

/// The rows of each input that the dirty keys need.
///
/// # Errors
/// When rows cannot be gathered.
pub(super) fn cut(inputs: &[Input], dirty: &Dirty, tables: &[Table]) -> Result<Vec<RecordBatch>, ArrowError> {
    let mut cut: Vec<Option<RecordBatch>> = vec![None; inputs.len()];
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    // A carrier has more of `by` than what is cut by its rows.
    order.sort_by_key(|input| std::cmp::Reverse(inputs[*input].carried.len()));
    for position in order {
        let input = &inputs[position];
        let Some(table) = tables.get(input.table) else { continue };
        let places = match &input.finds {
            Finds::Marked(marks) if !dirty.is_all() && marks.cut.is_some() => by_carriers(marks, table, &cut),
            _ => by_keys(input, dirty, table),
        };
        cut[position] = Some(table.rows(&places)?);
    }
    Ok(cut.into_iter().flatten().collect())
}

/// Rows that agree with any row of the carriers that was cut.
fn by_carriers(marks: &Marks, table: &Table, cut: &[Option<RecordBatch>]) -> Vec<Place> {
    let carriers = marks.carriers.iter().filter_map(|carrier| Some((cut.get(carrier.input)?.as_ref()?, carrier)));
    let keys: HashSet<Cell> = carriers.flat_map(|(rows, carrier)| cells::of_rows(rows, &carrier.on)).collect();
    marks.cut.map(|index| table.find_all(index, &keys)).unwrap_or_default()
}

/// Rows that agree with a dirty key on the columns of `by` that they have.
fn by_keys(input: &Input, dirty: &Dirty, table: &Table) -> Vec<Place> {
    let mut places = HashSet::new();
    for mask in dirty.masks() {
        match input.cuts.get(&mask) {
            Some(index) => places.extend(table.find_all(*index, &dirty.values(mask, input.carried))),
            None => return table.all(),
        }
    }
    let mut places: Vec<Place> = places.into_iter().collect();
    places.sort_unstable();
    places
}
