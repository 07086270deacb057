//! Arrow columns to cells, whoever wrote them.
//!
//! In: a column of a batch. Out: its cells, or that it is of another type. Text, lists and numbers are taken in every width
//! that other writers choose. Never fails on a value: what no clock shows or no column of ours can hold is unknown.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, TimeUnit};
use std::sync::Arc;

use super::column::ColumnKind;
use super::stamp::TableError;
use crate::instant::Instant;

/// The cells of a column by name; none when there is no such column.
pub(super) fn read<K: ColumnKind>(
    batch: &RecordBatch,
    table: &'static str,
    column: &'static str,
) -> Result<Vec<K::Cell>, TableError> {
    let array = batch.column_by_name(column).filter(|array| *array.data_type() != DataType::Null);
    match array {
        Some(array) => K::cells(array).ok_or_else(|| TableError::Type {
            table,
            column,
            found: array.data_type().clone(),
            wanted: K::data_type(),
        }),
        // Every fact has its time: without it a file is of something else. The bucket follows from it.
        None if column == "observed_at" => Err(TableError::Missing { table, column }),
        None => Ok(Vec::new()),
    }
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

pub(super) fn texts(array: &ArrayRef) -> Option<Vec<Option<String>>> {
    let array = is_text(array.data_type()).then(|| cast(array, &DataType::Utf8View).ok())??;
    Some(array.as_string_view().iter().map(|text| text.map(str::to_owned)).collect())
}

pub(super) fn lists(array: &ArrayRef) -> Option<Vec<Option<Vec<String>>>> {
    let (DataType::List(item) | DataType::LargeList(item)) = array.data_type() else { return None };
    let wanted = DataType::List(Arc::new(Field::new_list_field(DataType::Utf8View, true)));
    let array = is_text(item.data_type()).then(|| cast(array, &wanted).ok())??;
    let list = |items: ArrayRef| items.as_string_view().iter().flatten().map(str::to_owned).collect();
    Some(array.as_list::<i32>().iter().map(|items| items.map(list)).collect())
}

pub(super) fn integers(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
    let array = array.data_type().is_integer().then(|| cast(array, &DataType::Int64).ok())??;
    Some(array.as_primitive::<Int64Type>().iter().collect())
}

pub(super) fn flags(array: &ArrayRef) -> Option<Vec<Option<bool>>> {
    Some(array.as_boolean_opt()?.iter().collect())
}

/// Times in UTC; one without a zone is taken so.
pub(super) fn instants(array: &ArrayRef) -> Option<Vec<Option<Instant>>> {
    let DataType::Timestamp(unit, _) = array.data_type() else { return None };
    let nanos = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    let count = cast(array, &DataType::Int64).ok()?;
    let instant = |count: i64| count.checked_mul(nanos).and_then(Instant::from_nanos);
    Some(count.as_primitive::<Int64Type>().iter().map(|count| count.and_then(instant)).collect())
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        DictionaryArray, Int32Array, LargeListArray, StringArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    };
    use arrow::datatypes::{Int8Type, Schema};

    use super::*;
    use crate::tables::{CardRow, Facts, Table};

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        let fields: Vec<_> = columns.iter().map(|(name, a)| Field::new(*name, a.data_type().clone(), true)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, a)| a).collect()).unwrap()
    }

    fn times() -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(vec![Some(5), None]).with_timezone("+02:00"))
    }

    #[test]
    fn an_older_file_lacks_columns_and_a_newer_one_has_more() {
        let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        let rows = CardRow::rows(&batch(vec![("observed_at", times()), ("name", names.clone()), ("new", names)]));
        let rows = rows.unwrap();
        assert_eq!((rows[0].common.observed_at, rows[1].common.observed_at), (Instant(5_000), Instant(0)));
        assert_eq!((rows[0].own.name.as_str(), rows[1].own.name.as_str()), ("a", ""));
        assert_eq!((&rows[0].own.endpoints, rows[0].own.streaming), (&None, None));
        assert_eq!(rows[0].common.fact_id.len(), 32, "a row without identity is sealed");
    }

    #[test]
    fn text_lists_and_numbers_are_read_in_any_width() {
        let words: DictionaryArray<Int8Type> = vec![Some("v"), None].into_iter().collect();
        let lists = LargeListArray::from_iter_primitive::<Int8Type, _, _>([Some(vec![Some(1)]), None]);
        let texts = cast(&lists, &DataType::LargeList(Arc::new(Field::new_list_field(DataType::Utf8, true)))).unwrap();
        let columns = vec![
            ("observed_at", times()),
            ("version", Arc::new(words) as ArrayRef),
            ("endpoints", texts),
            ("http_status", Arc::new(Int32Array::from(vec![Some(200), None]))),
        ];
        let rows = CardRow::rows(&batch(columns)).unwrap();
        assert_eq!((rows[0].own.version.as_str(), rows[1].own.version.as_str()), ("v", ""));
        assert_eq!((&rows[0].own.endpoints, &rows[1].own.endpoints), (&Some(vec!["1".to_owned()]), &None));
        assert_eq!((rows[0].own.http_status, rows[1].own.http_status), (Some(200), None));
    }

    #[test]
    fn a_column_of_another_type_is_named() {
        let wrong: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let error = CardRow::rows(&batch(vec![("observed_at", times()), ("url", wrong.clone())])).unwrap_err();
        assert_eq!(error.to_string(), "cards: column url is Int32, not Utf8View");
        let error = Facts::from_batches([("cards", &batch(vec![("http_status", wrong)]))]).unwrap_err();
        assert_eq!(error.to_string(), "cards: there is no column observed_at");
    }

    #[test]
    fn times_that_no_clock_shows_are_unknown() {
        let wild: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![i64::MAX, i64::MIN]));
        let rows = CardRow::rows(&batch(vec![("observed_at", wild.clone()), ("received_at", wild)])).unwrap();
        assert_eq!((rows[0].common.observed_at, rows[1].common.received_at), (Instant(0), None));
    }
}
