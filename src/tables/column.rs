//! Kinds of columns: what a cell is in Rust, in Arrow, and in the identity of a fact.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Int64Array, ListBuilder, StringBuilder, StringViewArray, TimestampNanosecondArray,
};
use arrow::datatypes::{DataType, Field, TimeUnit};
use sha2::{Digest, Sha256};

use super::cells;
use crate::instant::Instant;

/// A kind of column. Implemented by marker types that the table declarations name.
pub trait ColumnKind {
    /// A cell in a row struct.
    type Cell;
    /// Whether the Arrow column may hold nulls.
    const NULLABLE: bool;
    /// The Arrow type.
    fn data_type() -> DataType;
    /// A column from the cells of all rows.
    fn array<'a>(cells: impl Iterator<Item = &'a Self::Cell>) -> ArrayRef
    where
        Self::Cell: 'a;
    /// The cells of a column that was read; `None` when it is of another type. What is null or impossible is unknown.
    fn cells(array: &ArrayRef) -> Option<Vec<Self::Cell>>;
    /// Shortens text that is too long to be a name of anything.
    fn bound(_: &mut Self::Cell) {}
    /// Adds a cell to the hash that identifies a fact; unambiguous, whatever the cell holds.
    fn hash(cell: &Self::Cell, into: &mut Sha256);
}

/// Text that is never null: `''` where a value is unknown, so that joins and groupings need no null handling.
pub struct Key;
/// An instant that is always known.
pub struct Moment;
/// An instant that may be null.
pub struct Time;
/// A 64-bit integer that may be null.
pub struct Int;
/// A truth value; null when not said.
pub struct Flag;
/// A list of text; null when not said, empty when said to be empty.
pub struct Texts;

/// Longest text of a cell in bytes. Ids, urls and names are shorter; what is longer would be kept once a fact.
const MOST_TEXT: usize = 1024;
/// Bytes of a longer text that are kept beside its hash.
const KEPT_TEXT: usize = 64;

/// A text as it is, or if it is longer than any id or url, its beginning and a hash of all of it; and without control
/// characters, which move cursors and end lines wherever it is shown. Equal texts stay equal.
#[must_use]
pub fn bounded(text: &str) -> Cow<'_, str> {
    let shorter = shorter(text);
    if shorter.chars().any(char::is_control) {
        return Cow::Owned(shorter.replace(char::is_control, "\u{fffd}"));
    }
    shorter
}

fn shorter(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_TEXT {
        return Cow::Borrowed(text);
    }
    let hash = hex::encode(&Sha256::digest(text.as_bytes())[..16]);
    Cow::Owned(format!("{}...sha256:{hash}", &text[..text.floor_char_boundary(KEPT_TEXT)]))
}

/// Makes a text [`bounded`].
pub fn bound(text: &mut String) {
    if let Cow::Owned(shorter) = bounded(text) {
        *text = shorter;
    }
}

fn hash_text(text: &str, into: &mut Sha256) {
    into.update((text.len() as u64).to_le_bytes());
    into.update(text.as_bytes());
}

fn hash_presence(present: bool, into: &mut Sha256) {
    into.update([u8::from(present)]);
}

impl ColumnKind for Key {
    type Cell = String;
    const NULLABLE: bool = false;
    fn data_type() -> DataType {
        DataType::Utf8View
    }
    fn array<'a>(cells: impl Iterator<Item = &'a String>) -> ArrayRef {
        Arc::new(StringViewArray::from_iter_values(cells))
    }
    fn cells(array: &ArrayRef) -> Option<Vec<String>> {
        Some(cells::texts(array)?.into_iter().map(Option::unwrap_or_default).collect())
    }
    fn bound(cell: &mut String) {
        bound(cell);
    }
    fn hash(cell: &String, into: &mut Sha256) {
        hash_text(cell, into);
    }
}

impl ColumnKind for Moment {
    type Cell = Instant;
    const NULLABLE: bool = false;
    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Nanosecond, None)
    }
    fn array<'a>(cells: impl Iterator<Item = &'a Instant>) -> ArrayRef {
        Arc::new(TimestampNanosecondArray::from_iter_values(cells.map(|t| t.0)))
    }
    fn cells(array: &ArrayRef) -> Option<Vec<Instant>> {
        Some(cells::instants(array)?.into_iter().map(Option::unwrap_or_default).collect())
    }
    fn hash(cell: &Instant, into: &mut Sha256) {
        into.update(cell.0.to_le_bytes());
    }
}

impl ColumnKind for Time {
    type Cell = Option<Instant>;
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::Timestamp(TimeUnit::Nanosecond, None)
    }
    fn array<'a>(cells: impl Iterator<Item = &'a Option<Instant>>) -> ArrayRef {
        Arc::new(TimestampNanosecondArray::from_iter(cells.map(|t| t.map(|t| t.0))))
    }
    fn cells(array: &ArrayRef) -> Option<Vec<Option<Instant>>> {
        cells::instants(array)
    }
    fn hash(cell: &Option<Instant>, into: &mut Sha256) {
        hash_presence(cell.is_some(), into);
        into.update(cell.unwrap_or_default().0.to_le_bytes());
    }
}

impl ColumnKind for Int {
    type Cell = Option<i64>;
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::Int64
    }
    fn array<'a>(cells: impl Iterator<Item = &'a Option<i64>>) -> ArrayRef {
        Arc::new(Int64Array::from_iter(cells.copied()))
    }
    fn cells(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
        cells::integers(array)
    }
    fn hash(cell: &Option<i64>, into: &mut Sha256) {
        hash_presence(cell.is_some(), into);
        into.update(cell.unwrap_or_default().to_le_bytes());
    }
}

impl ColumnKind for Flag {
    type Cell = Option<bool>;
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::Boolean
    }
    fn array<'a>(cells: impl Iterator<Item = &'a Option<bool>>) -> ArrayRef {
        Arc::new(BooleanArray::from_iter(cells.copied()))
    }
    fn cells(array: &ArrayRef) -> Option<Vec<Option<bool>>> {
        cells::flags(array)
    }
    fn hash(cell: &Option<bool>, into: &mut Sha256) {
        into.update([match cell {
            None => 2,
            Some(false) => 0,
            Some(true) => 1,
        }]);
    }
}

impl ColumnKind for Texts {
    type Cell = Option<Vec<String>>;
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))
    }
    fn array<'a>(cells: impl Iterator<Item = &'a Option<Vec<String>>>) -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for cell in cells {
            match cell {
                Some(items) => {
                    for item in items {
                        builder.values().append_value(item);
                    }
                    builder.append(true);
                }
                None => builder.append(false),
            }
        }
        Arc::new(builder.finish())
    }
    fn cells(array: &ArrayRef) -> Option<Vec<Option<Vec<String>>>> {
        cells::lists(array)
    }
    fn bound(cell: &mut Option<Vec<String>>) {
        cell.iter_mut().flatten().for_each(bound);
    }
    fn hash(cell: &Option<Vec<String>>, into: &mut Sha256) {
        hash_presence(cell.is_some(), into);
        let items = cell.as_deref().unwrap_or_default();
        into.update((items.len() as u64).to_le_bytes());
        for item in items {
            hash_text(item, into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_too_long_for_a_name_is_its_beginning_and_a_hash_and_equal_texts_stay_equal() {
        assert!(matches!(bounded(&"a".repeat(MOST_TEXT)), Cow::Borrowed(_)));
        let [one, same, other] = [1, 1, 2].map(|n| bounded(&format!("{}{n}", "ä".repeat(MOST_TEXT))).into_owned());
        assert_eq!((one.len() < 128, one == same, one == other), (true, true, false));
        assert!(one.starts_with("ää"));
    }

    #[test]
    fn no_control_character_is_in_a_text_that_is_shown() {
        assert_eq!(bounded("a\nb\u{1b}[2Jc\u{9b}d\u{7f}"), "a\u{fffd}b\u{fffd}[2Jc\u{fffd}d\u{fffd}");
    }
}
