//! One query with what it keeps: its keys to evaluate, and the rows that replace those of before.
//!
//! In: a planned query, tables, changes. Out: inputs for a run; after it, what changed in the query's own table. Never
//! runs a query itself.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::error::ArrowError;

use super::cells::{self, Cell};
use super::cut;
use super::dirty::Dirty;
use super::inputs::{Input, Layout};
use super::reached::{self, Change, Rows};
use super::table::{By, Place, Table};
use crate::rules::{Kept, Mask};

/// A stored view or a rule.
#[derive(Debug)]
pub(super) struct Step {
    /// Number of its own table.
    pub(super) table: usize,
    /// Its columns of `by` in that table; none when it lacks one, so that it is always evaluated whole.
    by: Option<Vec<usize>>,
    /// Index of its table by all of them.
    pub(super) key: Option<By>,
    inputs: Option<Vec<Input>>,
    /// For each mask under which keys can be dirty, the index of its table by those columns.
    old: BTreeMap<Mask, By>,
    /// Keys still to evaluate: all of them before the first run, those of a run that failed.
    owed: Dirty,
}

impl Step {
    /// A query over tables that know each other by number.
    pub(super) fn new(kept: &Kept, table: usize, numbers: &BTreeMap<String, usize>, tables: &mut [Table]) -> Self {
        let mut layout = Layout { by: &kept.by, readings: &kept.readings, numbers, tables };
        let (masks, inputs) = (layout.masks(), layout.inputs());
        let column = |name: &String, tables: &[Table]| tables.get(table)?.schema().index_of(name).ok();
        let by: Option<Vec<usize>> = kept.by.iter().map(|name| column(name, tables)).collect();
        let by = by.filter(|by| !by.is_empty());
        let (mut old, mut key) = (BTreeMap::new(), None);
        if let (Some(by), Some(own)) = (&by, tables.get_mut(table)) {
            key = Some(own.index(by.clone()));
            for mask in masks {
                let columns = mask.positions().filter_map(|position| by.get(position)).copied().collect();
                old.insert(mask, own.index(columns));
            }
        }
        let mut step = Self { table, by, key, inputs, old, owed: Dirty::default() };
        step.clear();
        step
    }

    /// Forgets what was evaluated.
    pub(super) fn clear(&mut self) {
        self.owed = Dirty::default();
        self.owed.add_all();
    }

    /// Takes note of the keys that changes concern.
    ///
    /// # Errors
    /// When rows cannot be gathered; then all keys are concerned.
    pub(super) fn see(&mut self, rows: Rows<'_>) -> Result<(), ArrowError> {
        let dirty = match &self.inputs {
            Some(inputs) => reached::dirty(inputs, rows),
            None => Ok(Dirty::default()),
        };
        match dirty {
            Ok(dirty) if dirty.is_empty() => Ok(()),
            Ok(dirty) if self.by.is_some() => {
                self.owed.extend(dirty);
                Ok(())
            }
            dirty => {
                self.owed.add_all();
                dirty.map(|_| ())
            }
        }
    }

    /// Keys of rows of its own table.
    pub(super) fn keys(&self, rows: &RecordBatch) -> Vec<Cell> {
        self.by.as_ref().map(|by| cells::of_rows(rows, by)).unwrap_or_default()
    }

    /// Whether there is something to evaluate.
    pub(super) fn is_due(&self) -> bool {
        !self.owed.is_empty()
    }

    /// The rows of each input that the keys to evaluate need.
    ///
    /// # Errors
    /// When rows cannot be gathered.
    pub(super) fn cut(&self, tables: &[Table]) -> Result<Vec<RecordBatch>, ArrowError> {
        self.inputs.as_ref().map_or(Ok(Vec::new()), |inputs| cut::cut(inputs, &self.owed, tables))
    }

    /// Puts the rows of a run in the place of those that its keys had before; what changed by that, if anything did.
    ///
    /// # Errors
    /// When rows cannot be gathered or kept.
    pub(super) fn replace(&mut self, result: &RecordBatch, tables: &mut [Table]) -> Result<Option<Change>, ArrowError> {
        let Some(table) = tables.get_mut(self.table) else { return Ok(None) };
        let result = self.of_dirty_keys(result)?;
        let places = self.places(table);
        let before = table.rows(&places)?;
        let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
        let (gone, came) = difference(&cells::of_rows(&before, &columns), &cells::of_rows(&result, &columns));
        let change = Change { gone: filtered(&before, &gone)?, came: filtered(&result, &came)? };
        let gone: Vec<Place> =
            places.into_iter().zip(&gone).filter(|(_, gone)| **gone).map(|(place, _)| place).collect();
        table.remove(&gone);
        table.add(&change.came)?;
        self.owed = Dirty::default();
        Ok((change.gone.num_rows() + change.came.num_rows() > 0).then_some(change))
    }

    /// Rows of keys that were not to be evaluated come of inputs that were cut for others: they are not the whole truth.
    fn of_dirty_keys(&self, result: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let Some(by) = self.by.as_ref().filter(|_| !self.owed.is_all()) else { return Ok(result.clone()) };
        let columns: Vec<Vec<Cell>> = by.iter().map(|column| cells::of_column(result.column(*column))).collect();
        let mut key = Vec::with_capacity(columns.len());
        let is_dirty = |row: usize| {
            key.clear();
            key.extend(columns.iter().map(|column| column[row]));
            self.owed.holds(&key)
        };
        filtered(result, &(0..result.num_rows()).map(is_dirty).collect::<Vec<bool>>())
    }

    /// Places of the rows that the dirty keys have.
    fn places(&self, table: &Table) -> Vec<Place> {
        let mut places = HashSet::new();
        for mask in self.owed.masks() {
            match self.old.get(&mask) {
                Some(index) => places.extend(table.find_all(*index, &self.owed.values(mask, mask))),
                None => return table.all(),
            }
        }
        let mut places: Vec<Place> = places.into_iter().collect();
        places.sort_unstable();
        places
    }
}

/// Which of the rows before are gone and which of those after are new, equal rows counted.
fn difference(before: &[Cell], after: &[Cell]) -> (Vec<bool>, Vec<bool>) {
    let mut count: HashMap<Cell, usize> = HashMap::new();
    before.iter().for_each(|row| *count.entry(*row).or_default() += 1);
    let mut take = |row: &Cell| match count.get_mut(row) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let came = after.iter().map(&mut take).collect();
    let gone = before.iter().map(|row| !take(row)).collect();
    (gone, came)
}

fn filtered(batch: &RecordBatch, keep: &[bool]) -> Result<RecordBatch, ArrowError> {
    if keep.iter().all(|keep| *keep) {
        return Ok(batch.clone());
    }
    filter_record_batch(batch, &BooleanArray::from(keep.to_vec()))
}
