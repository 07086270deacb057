//! From what changed in a query's inputs to the keys that have to be evaluated again.
//!
//! In: inputs, tables as they are now, what changed in them. Out: dirty keys, too many rather than too few. Changes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow::array::{Array, RecordBatch, TimestampNanosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use arrow::error::ArrowError;

use super::cells::{self, Cell};
use super::dirty::Dirty;
use super::inputs::{Carrier, Finds, Input, Looks, Marks};
use super::table::{Place, Table};
use crate::rules::Mask;

/// What changed in a table: rows that went and rows that came. A row that changed is in both.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// As they were.
    pub(super) gone: RecordBatch,
    /// As they are.
    pub(super) came: RecordBatch,
}

impl Change {
    fn batches(&self) -> [&RecordBatch; 2] {
        [&self.gone, &self.came]
    }
}

/// What changed, by the number of the table.
pub(super) type Changes = BTreeMap<usize, Change>;

/// A span of time, the end exclusive; an open end is none.
type Span = (Option<i64>, Option<i64>);

/// What there is to look in.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    /// All tables, as they are now.
    pub(super) tables: &'a [Table],
    /// What of that is new, and what is no longer there.
    pub(super) changes: &'a Changes,
}

/// Keys that the changes of a query's inputs concern.
///
/// # Errors
/// When rows cannot be gathered.
pub(super) fn dirty(inputs: &[Input], rows: Rows<'_>) -> Result<Dirty, ArrowError> {
    let mut dirty = Dirty::default();
    for input in inputs {
        let Some(change) = rows.changes.get(&input.table) else { continue };
        match &input.finds {
            Finds::Agreeing => {
                for batch in change.batches() {
                    add_keys(&mut dirty, input.carried, &input.by, batch);
                }
            }
            Finds::WithLooks(Some(looks)) => {
                if !rows.come_with_looks(change, looks) {
                    dirty.add_all();
                }
            }
            Finds::WithLooks(None) => dirty.add_all(),
            Finds::Marked(marks) => rows.add_marked(&mut dirty, inputs, change, marks)?,
        }
    }
    Ok(dirty)
}

/// Adds the keys of rows, by those of the columns of `by` that they have.
fn add_keys(dirty: &mut Dirty, mask: Mask, by: &[usize], batch: &RecordBatch) {
    if batch.num_rows() == 0 {
        return;
    }
    let columns: Vec<Vec<Cell>> = by.iter().map(|column| cells::of_column(batch.column(*column))).collect();
    for row in 0..batch.num_rows() {
        dirty.add(mask, columns.iter().map(|column| column[row]).collect());
    }
}

impl Rows<'_> {
    /// Whether all bodies of which something changed were not looked at before, or are no longer. Then every row that
    /// names one of them changed too, and finds the keys that it concerns.
    fn come_with_looks(self, change: &Change, looks: &Looks) -> bool {
        let Some(table) = self.tables.get(looks.table) else { return false };
        let count = |batch: &RecordBatch| {
            let mut counts: HashMap<Cell, usize> = HashMap::new();
            cells::of_column(batch.column(looks.looked_at))
                .into_iter()
                .for_each(|body| *counts.entry(body).or_default() += 1);
            counts
        };
        let (gone, came) = match self.changes.get(&looks.table) {
            Some(change) => (count(&change.gone), count(&change.came)),
            None => Default::default(),
        };
        let of = |counts: &HashMap<Cell, usize>, body| counts.get(body).copied().unwrap_or_default();
        let bodies = change.batches().into_iter().flat_map(|batch| cells::of_column(batch.column(looks.body)));
        bodies.collect::<HashSet<Cell>>().iter().all(|body| {
            let now = table.find(looks.index, *body).count();
            let before = (now + of(&gone, body)).saturating_sub(of(&came, body));
            (before == 0) != (now == 0)
        })
    }

    /// Adds the keys of the carriers' rows that agree with a changed row and lie in its span.
    fn add_marked(self, dirty: &mut Dirty, inputs: &[Input], change: &Change, marks: &Marks) -> Result<(), ArrowError> {
        let mut spans: HashMap<Cell, HashSet<Span>> = HashMap::new();
        for batch in change.batches() {
            for (key, span) in cells::of_rows(batch, &marks.on).into_iter().zip(spans_of(batch, marks.during)) {
                spans.entry(key).or_default().insert(span);
            }
        }
        for carrier in &marks.carriers {
            let Some(input) = inputs.get(carrier.input) else { continue };
            let Some(table) = self.tables.get(input.table) else { continue };
            let keys: HashSet<Cell> = spans.keys().copied().collect();
            let places: Vec<Place> = table.find_all(carrier.index, &keys);
            add_carried(dirty, input, carrier, &spans, &table.rows(&places)?);
            if let Some(change) = self.changes.get(&input.table) {
                add_carried(dirty, input, carrier, &spans, &change.gone);
            }
        }
        Ok(())
    }
}

/// Adds the keys of those rows of a carrier that agree with a changed row.
fn add_carried(
    dirty: &mut Dirty,
    input: &Input,
    carrier: &Carrier,
    spans: &HashMap<Cell, HashSet<Span>>,
    batch: &RecordBatch,
) {
    let times = carrier.time.map(|time| times(batch, time));
    let agreeing = cells::of_rows(batch, &carrier.on);
    let is_concerned = |(row, key): (usize, &Cell)| {
        let at = times.as_ref().and_then(|times| times[row]);
        let holds =
            |(from, to): &Span| at.is_none_or(|at| from.is_none_or(|from| from <= at) && to.is_none_or(|to| at < to));
        spans.get(key).is_some_and(|spans| spans.iter().any(holds))
    };
    let concerned: Vec<bool> = agreeing.iter().enumerate().map(is_concerned).collect();
    let columns: Vec<Vec<Cell>> = input.by.iter().map(|column| cells::of_column(batch.column(*column))).collect();
    for row in (0..batch.num_rows()).filter(|row| concerned[*row]) {
        dirty.add(input.carried, columns.iter().map(|column| column[row]).collect());
    }
}

fn spans_of(batch: &RecordBatch, during: Option<[usize; 2]>) -> Vec<Span> {
    match during {
        Some([from, to]) => times(batch, from).into_iter().zip(times(batch, to)).collect(),
        None => vec![(None, None); batch.num_rows()],
    }
}

/// Nanoseconds of a column of times; none where there is no time.
fn times(batch: &RecordBatch, column: usize) -> Vec<Option<i64>> {
    let column = batch.column(column);
    let times = cast(column, &DataType::Timestamp(TimeUnit::Nanosecond, None));
    let times =
        times.ok().and_then(|times| Some(times.as_any().downcast_ref::<TimestampNanosecondArray>()?.iter().collect()));
    times.unwrap_or_else(|| vec![None; column.len()])
}
