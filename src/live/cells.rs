//! Values as numbers that are equal where the values are, whatever types they are kept in.
//!
//! In: Arrow columns. Out: 128 bits a value. Never null: a null is a value of its own.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::LazyLock;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringViewArray, TimestampNanosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// A value, hashed; or several, hashed together. Two that differ are the same with a chance of one in 2^128.
pub(super) type Cell = u128;

/// Keys of the hash: other ones in every process, so that nobody can choose values that are the same.
static KEYS: LazyLock<(RandomState, RandomState)> = LazyLock::new(|| (RandomState::new(), RandomState::new()));

fn hash(value: &impl Hash) -> Cell {
    let (high, low) = &*KEYS;
    u128::from(high.hash_one(value)) << 64 | u128::from(low.hash_one(value))
}

/// Several values as one; a single one stays what it is.
pub(super) fn together(cells: &[Cell]) -> Cell {
    match cells {
        [one] => *one,
        several => hash(&(Kind::List, several)),
    }
}

/// A text as a value.
pub(super) fn of_text(text: &str) -> Cell {
    hash(&(Kind::Text, text))
}

#[derive(Hash)]
enum Kind {
    Null,
    Text,
    Flag,
    Int,
    Time,
    List,
    Other,
}

/// The values of a column.
pub(super) fn of_column(column: &ArrayRef) -> Vec<Cell> {
    let nearest = match column.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Dictionary(_, inner) if matches!(**inner, DataType::Utf8 | DataType::LargeUtf8) => DataType::Utf8View,
        DataType::Timestamp(_, None) => DataType::Timestamp(TimeUnit::Nanosecond, None),
        other if other.is_integer() => DataType::Int64,
        other => other.clone(),
    };
    let column =
        if nearest == *column.data_type() { column.clone() } else { cast(column, &nearest).unwrap_or(column.clone()) };
    let null = hash(&Kind::Null);
    if let Some(texts) = column.as_any().downcast_ref::<StringViewArray>() {
        texts.iter().map(|text| text.map_or(null, of_text)).collect()
    } else if let Some(times) = column.as_any().downcast_ref::<TimestampNanosecondArray>() {
        times.iter().map(|time| time.map_or(null, |time| hash(&(Kind::Time, time)))).collect()
    } else if let Some(numbers) = column.as_any().downcast_ref::<Int64Array>() {
        numbers.iter().map(|number| number.map_or(null, |number| hash(&(Kind::Int, number)))).collect()
    } else if let Some(flags) = column.as_any().downcast_ref::<BooleanArray>() {
        flags.iter().map(|flag| flag.map_or(null, |flag| hash(&(Kind::Flag, flag)))).collect()
    } else if let Some(lists) = column.as_list_opt::<i32>() {
        let items =
            |row: usize| if lists.is_null(row) { null } else { hash(&(Kind::List, of_column(&lists.value(row)))) };
        (0..lists.len()).map(items).collect()
    } else {
        shown(&column, null)
    }
}

/// Values of rarer types, by how they are written.
fn shown(column: &ArrayRef, null: Cell) -> Vec<Cell> {
    let options = FormatOptions::default();
    let Ok(formatter) = ArrayFormatter::try_new(column.as_ref(), &options) else { return vec![null; column.len()] };
    let cell = |row| {
        if column.is_null(row) { null } else { hash(&(Kind::Other, formatter.value(row).to_string())) }
    };
    (0..column.len()).map(cell).collect()
}

/// The values of some columns of each row, together.
pub(super) fn of_rows(batch: &RecordBatch, columns: &[usize]) -> Vec<Cell> {
    let columns: Vec<Vec<Cell>> = columns.iter().map(|column| of_column(batch.column(*column))).collect();
    if let [one] = &columns[..] {
        return one.clone();
    }
    let mut row_cells = Vec::with_capacity(columns.len());
    (0..batch.num_rows())
        .map(|row| {
            row_cells.clear();
            row_cells.extend(columns.iter().map(|column| column[row]));
            together(&row_cells)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int32Array, ListArray, StringArray, TimestampSecondArray};
    use arrow::datatypes::{Int64Type, Schema};

    use super::*;

    fn cells(column: impl Array + 'static) -> Vec<Cell> {
        of_column(&(Arc::new(column) as ArrayRef))
    }

    #[test]
    fn equal_values_are_equal_in_whatever_type_they_are_kept() {
        assert_eq!(cells(StringArray::from(vec!["a", ""])), cells(StringViewArray::from(vec!["a", ""])));
        assert_eq!(cells(StringArray::from(vec!["a"])), [of_text("a")]);
        assert_eq!(cells(Int32Array::from(vec![7])), cells(Int64Array::from(vec![7])));
        assert_eq!(
            cells(TimestampSecondArray::from(vec![1])),
            cells(TimestampNanosecondArray::from(vec![1_000_000_000]))
        );
    }

    #[test]
    fn a_null_an_empty_text_a_zero_and_false_are_four_values() {
        let all = [
            cells(StringArray::from(vec![None::<&str>])),
            cells(StringArray::from(vec![""])),
            cells(Int64Array::from(vec![0])),
            cells(BooleanArray::from(vec![false])),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), 4);
        assert_eq!(all[0], cells(Int64Array::from(vec![None])));
    }

    #[test]
    fn lists_are_equal_by_their_items_and_their_order() {
        let lists = cells(ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            Some(vec![Some(2), Some(1)]),
            Some(vec![]),
            None,
            Some(vec![Some(1), Some(2)]),
        ]));
        assert_eq!(lists[0], lists[4]);
        let distinct: std::collections::BTreeSet<_> = lists.iter().collect();
        assert_eq!(distinct.len(), 4);
    }

    #[test]
    fn rows_are_equal_where_all_columns_are() {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("a", Arc::new(StringArray::from(vec!["x", "x", "xy", "x"]))),
            ("b", Arc::new(StringArray::from(vec!["yz", "z", "z", "yz"]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let both = of_rows(&batch, &[0, 1]);
        assert_eq!((both[0] == both[3], both[0] == both[2], both[0] == both[1]), (true, false, false));
        assert_eq!(of_rows(&batch, &[0])[0], of_text("x"));
        assert_eq!(of_rows(&RecordBatch::new_empty(Arc::new(Schema::empty())), &[]), []);
    }
}
