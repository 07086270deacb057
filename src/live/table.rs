//! Rows that are kept, and found again by the values of some of their columns.
//!
//! In: batches of rows that came, places of rows that went. Out: rows by key. Judges nothing; knows no query.
//!
//! Rows lie in the chunks in which they came. A row that went is marked; its memory is given back when chunks are merged.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringViewArray, UInt32Array};
use arrow::buffer::Buffer;
use arrow::compute::{interleave_record_batch, take};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use super::cells::{self, Cell};

/// Chunks of few rows that are let lie before they are merged.
const CHUNKS: usize = 64;
/// Rows of a chunk that is not merged unless half of it went.
const FULL: usize = 8192;

/// Where a row lies: chunk and row. Never used again for another row.
pub(super) type Place = (u32, u32);

/// Kept rows of a table, a stored view or a rule.
#[derive(Debug)]
pub(super) struct Table {
    schema: SchemaRef,
    chunks: BTreeMap<u32, Chunk>,
    next: u32,
    indexes: Vec<Index>,
}

#[derive(Debug)]
struct Chunk {
    rows: RecordBatch,
    kept: Vec<bool>,
    count: usize,
}

/// Places by the values of some columns, those of rows that went included until they are met.
#[derive(Debug)]
struct Index {
    columns: Vec<usize>,
    places: HashMap<Cell, Places>,
}

/// Places of one key, of most keys one: there are as many of these as rows, in every index.
#[derive(Debug)]
enum Places {
    One(Place),
    Several(Vec<Place>),
}

impl Places {
    fn add(&mut self, place: Place) {
        match self {
            Self::One(first) => *self = Self::Several(vec![*first, place]),
            Self::Several(places) => places.push(place),
        }
    }

    fn all(&self) -> &[Place] {
        match self {
            Self::One(place) => std::slice::from_ref(place),
            Self::Several(places) => places,
        }
    }

    /// Keeps the places that fit, if there are any.
    fn retain(&mut self, fits: impl Fn(Place) -> bool) -> bool {
        match self {
            Self::One(place) => fits(*place),
            Self::Several(places) => {
                places.retain(|place| fits(*place));
                if let [one] = places[..] {
                    *self = Self::One(one);
                }
                !self.all().is_empty()
            }
        }
    }
}

/// An index of a [`Table`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct By(usize);

impl Table {
    /// A table without rows.
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self { schema, chunks: BTreeMap::new(), next: 0, indexes: Vec::new() }
    }

    /// The columns of its rows.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// An index by columns; the one there is, if there is one. To be called before rows come.
    pub(super) fn index(&mut self, columns: Vec<usize>) -> By {
        let known = self.indexes.iter().position(|index| index.columns == columns);
        By(known.unwrap_or_else(|| {
            self.indexes.push(Index { columns, places: HashMap::new() });
            self.indexes.len() - 1
        }))
    }

    /// An index by the names of columns; none when a name is of no column.
    pub(super) fn index_by<S: AsRef<str>>(&mut self, names: &[S]) -> Option<By> {
        let columns: Result<Vec<usize>, _> = names.iter().map(|name| self.schema.index_of(name.as_ref())).collect();
        Some(self.index(columns.ok()?))
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.chunks.clear();
        self.indexes.iter_mut().for_each(|index| index.places.clear());
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.chunks.values().map(|chunk| chunk.count).sum()
    }

    /// Keeps rows.
    ///
    /// # Errors
    /// When they cannot be merged with others, for want of room in their columns.
    pub(super) fn add(&mut self, rows: &RecordBatch) -> Result<(), ArrowError> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        self.push(compact(rows)?);
        self.merge()
    }

    fn push(&mut self, rows: RecordBatch) {
        let number = self.next;
        self.next += 1;
        for index in &mut self.indexes {
            for (row, key) in (0..).zip(cells::of_rows(&rows, &index.columns)) {
                let place = (number, row);
                index.places.entry(key).and_modify(|places| places.add(place)).or_insert(Places::One(place));
            }
        }
        let count = rows.num_rows();
        self.chunks.insert(number, Chunk { rows, kept: vec![true; count], count });
    }

    /// Gives up rows; those that are no longer there are none.
    pub(super) fn remove(&mut self, places: &[Place]) {
        for (number, row) in places {
            let Some(chunk) = self.chunks.get_mut(number) else { continue };
            if let Some(kept) = chunk.kept.get_mut(*row as usize).filter(|kept| **kept) {
                *kept = false;
                chunk.count -= 1;
            }
        }
        self.chunks.retain(|_, chunk| chunk.count > 0);
    }

    /// Small chunks and those half gone become one.
    fn merge(&mut self) -> Result<(), ArrowError> {
        let is_poor = |chunk: &Chunk| chunk.count < FULL || chunk.count * 2 < chunk.kept.len();
        let poor: Vec<u32> =
            self.chunks.iter().filter(|(_, chunk)| is_poor(chunk)).map(|(number, _)| *number).collect();
        if poor.len() <= CHUNKS {
            return Ok(());
        }
        let places: Vec<Place> = poor.iter().flat_map(|number| self.places_in(*number)).collect();
        let rows = self.rows(&places)?;
        for number in poor {
            self.chunks.remove(&number);
        }
        for index in &mut self.indexes {
            let chunks = &self.chunks;
            index.places.retain(|_, places| places.retain(|place| is_kept(chunks, place)));
        }
        self.push(compact(&rows)?);
        Ok(())
    }

    fn places_in(&self, number: u32) -> Vec<Place> {
        let kept = self.chunks.get(&number).map(|chunk| chunk.kept.as_slice()).unwrap_or_default();
        (0..).zip(kept).filter(|(_, kept)| **kept).map(|(row, _)| (number, row)).collect()
    }

    /// Places of all rows.
    pub(super) fn all(&self) -> Vec<Place> {
        self.chunks.keys().flat_map(|number| self.places_in(*number)).collect()
    }

    /// Places of the rows with a key.
    pub(super) fn find(&self, by: By, key: Cell) -> impl Iterator<Item = Place> {
        let places = self.indexes.get(by.0).and_then(|index| index.places.get(&key));
        places.into_iter().flat_map(Places::all).copied().filter(|place| is_kept(&self.chunks, *place))
    }

    /// Places of the rows with any of some keys, in order, each once.
    pub(super) fn find_all(&self, by: By, keys: &HashSet<Cell>) -> Vec<Place> {
        let mut places: Vec<Place> = keys.iter().flat_map(|key| self.find(by, *key)).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The rows at some places.
    ///
    /// # Errors
    /// When their columns have no room for them.
    pub(super) fn rows(&self, places: &[Place]) -> Result<RecordBatch, ArrowError> {
        let mut numbers: Vec<u32> = places.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let chunks: Vec<&RecordBatch> =
            numbers.iter().filter_map(|number| self.chunks.get(number)).map(|chunk| &chunk.rows).collect();
        match &chunks[..] {
            [] => Ok(RecordBatch::new_empty(self.schema.clone())),
            [one] if places.len() == one.num_rows() && is_in_order(places) => Ok((*one).clone()),
            chunks => {
                let at = |number: &u32| numbers.binary_search(number).unwrap_or_default();
                let rows: Vec<(usize, usize)> =
                    places.iter().map(|(number, row)| (at(number), *row as usize)).collect();
                interleave_record_batch(chunks, &rows)
            }
        }
    }
}

/// How many times the memory of its own a row may hold of others'.
const HELD: usize = 4;

/// The same rows, of which no column of texts holds much more than its own: texts lie in blocks of many kilobytes, and a row that
/// is kept keeps the blocks of all that it was read, selected or merged with. What holds most of its blocks shares them with
/// the tables that it came from.
fn compact(rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let own = |column: &ArrayRef| match column.as_string_view_opt() {
        Some(texts) if holds_too_much(texts) => {
            let all = UInt32Array::from_iter_values(0..u32::try_from(texts.len()).unwrap_or(u32::MAX));
            Ok(Arc::new(take(texts, &all, None)?.as_string_view().gc()) as ArrayRef)
        }
        _ => Ok(Arc::clone(column)),
    };
    let columns: Result<Vec<ArrayRef>, ArrowError> = rows.columns().iter().map(own).collect();
    let count = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(rows.schema(), columns?, &count)
}

fn holds_too_much(texts: &StringViewArray) -> bool {
    let held: usize = texts.data_buffers().iter().map(Buffer::capacity).sum();
    let used = texts.total_buffer_bytes_used() + size_of_val::<[u128]>(texts.views());
    held + texts.views().inner().capacity() > HELD * used
}

fn is_kept(chunks: &BTreeMap<u32, Chunk>, (number, row): Place) -> bool {
    chunks.get(&number).is_some_and(|chunk| chunk.kept.get(row as usize).copied().unwrap_or_default())
}

fn is_in_order(places: &[Place]) -> bool {
    (0..).zip(places).all(|(at, (_, row))| at == *row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(rows: &[(&str, &str)]) -> RecordBatch {
        let column = |values: Vec<&str>| Arc::new(StringViewArray::from(values)) as ArrayRef;
        let (a, b) = rows.iter().copied().unzip();
        RecordBatch::try_from_iter([("a", column(a)), ("b", column(b))]).unwrap()
    }

    fn read(table: &Table, places: &[Place]) -> Vec<(String, String)> {
        let rows = table.rows(places).unwrap();
        let text = |column: usize, row: usize| rows.column(column).as_string_view().value(row).to_owned();
        (0..rows.num_rows()).map(|row| (text(0, row), text(1, row))).collect()
    }

    fn found(table: &Table, by: By, a: &str) -> Vec<String> {
        let places: Vec<Place> = table.find(by, cells::of_text(a)).collect();
        let mut found: Vec<String> = read(table, &places).into_iter().map(|(_, b)| b).collect();
        found.sort();
        found
    }

    #[test]
    fn rows_are_found_by_key_and_no_longer_when_they_went() {
        let mut table = Table::new(batch(&[]).schema());
        let by = table.index_by(&["a"]).unwrap();
        assert_eq!(table.index_by(&["c"]), None);
        table.add(&batch(&[("x", "1"), ("y", "2"), ("x", "3")])).unwrap();
        table.add(&batch(&[("x", "4")])).unwrap();
        assert_eq!(found(&table, by, "x"), ["1", "3", "4"]);
        let first: Vec<Place> = table.find(by, cells::of_text("x")).take(1).collect();
        table.remove(&first);
        table.remove(&first);
        assert_eq!((found(&table, by, "x"), table.len()), (vec!["3".to_owned(), "4".to_owned()], 3));
        let keys = HashSet::from([cells::of_text("x"), cells::of_text("y"), cells::of_text("z")]);
        assert_eq!(table.find_all(by, &keys).len(), 3);
        table.clear();
        assert_eq!((table.len(), found(&table, by, "x").len()), (0, 0));
    }

    #[test]
    fn a_row_takes_the_memory_of_its_own_texts_and_of_no_others() {
        const TEXT: &str = "a text that is longer than what a view holds by itself";
        let mut table = Table::new(batch(&[]).schema());
        let many: Vec<String> = (0..10_000).map(|n| format!("{TEXT} {n}")).collect();
        let rows: Vec<(&str, &str)> = many.iter().map(|text| (text.as_str(), "1")).collect();
        let all = batch(&rows);
        for n in 0..3 * CHUNKS {
            table.add(&all.slice(n, 1)).unwrap();
        }
        let bytes: usize = table.chunks.values().map(|chunk| chunk.rows.get_array_memory_size()).sum();
        assert!(bytes / table.len() < 400, "{} bytes a row", bytes / table.len());
    }

    #[test]
    fn many_small_chunks_become_one_and_every_row_stays_where_it_is_found() {
        let mut table = Table::new(batch(&[]).schema());
        let by = table.index_by(&["a"]).unwrap();
        for n in 0..3 * CHUNKS {
            let (a, b) = ((n % 3).to_string(), n.to_string());
            table.add(&batch(&[(&a, &b)])).unwrap();
            if n % 5 == 0 {
                let all = table.all();
                table.remove(&all[all.len() - 1..]);
            }
        }
        assert!(table.chunks.len() <= CHUNKS);
        for a in 0..3 {
            let mut expected: Vec<String> =
                (0..3 * CHUNKS).filter(|n| n % 3 == a && n % 5 != 0).map(|n| n.to_string()).collect();
            expected.sort();
            assert_eq!(found(&table, by, &a.to_string()), expected);
        }
        let indexed: usize =
            table.indexes.iter().flat_map(|index| index.places.values()).map(|places| places.all().len()).sum();
        assert!(indexed <= table.len() + CHUNKS, "places of rows that went are forgotten");
    }
}
