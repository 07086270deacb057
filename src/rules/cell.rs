//! One value of a result row, whatever Arrow type its column has.
//!
//! In: an Arrow array and a row number. Out: a value as text, JSON or instant. Never fails: a type of no use here is text.

use std::collections::BTreeSet;
use std::fmt;

use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, LargeStringArray, ListArray, RecordBatch, StringArray, StringViewArray,
    TimestampNanosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::Value;

use crate::instant::Instant;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Flag(bool),
    Int(i64),
    Number(f64),
    Text(String),
    Time(Instant),
    List(Vec<Cell>),
}

/// Items of a list that a sentence names before it says how many more there are.
const NAMED: usize = 5;

impl Cell {
    /// The value of a column in a row.
    pub(super) fn of(array: &ArrayRef, row: usize) -> Self {
        if row >= array.len() || array.is_null(row) {
            return Self::Null;
        }
        match array.data_type() {
            DataType::Boolean => Self::Flag(array.as_boolean().value(row)),
            DataType::Utf8 => text(array.as_any().downcast_ref::<StringArray>().map(|a| a.value(row))),
            DataType::Utf8View => text(array.as_any().downcast_ref::<StringViewArray>().map(|a| a.value(row))),
            DataType::LargeUtf8 => text(array.as_any().downcast_ref::<LargeStringArray>().map(|a| a.value(row))),
            DataType::List(_) => match array.as_any().downcast_ref::<ListArray>() {
                Some(list) => {
                    let items = list.value(row);
                    Self::List((0..items.len()).map(|item| Self::of(&items, item)).collect())
                }
                None => Self::Null,
            },
            data_type => Self::other(&array.slice(row, 1), data_type),
        }
    }

    /// A value of a rarer type, by way of the nearest common one.
    fn other(one: &ArrayRef, data_type: &DataType) -> Self {
        let by = |to: &DataType| cast(one, to).ok().filter(|a| a.is_valid(0));
        let cell = match data_type {
            t if t.is_integer() => by(&DataType::Int64)
                .and_then(|a| a.as_any().downcast_ref::<Int64Array>().map(|a| Self::Int(a.value(0)))),
            t if t.is_floating() || t.is_decimal() => by(&DataType::Float64)
                .map(|a| a.as_primitive::<arrow::datatypes::Float64Type>().value(0))
                .map(|v| if v.is_finite() { Self::Number(v) } else { Self::Null }),
            DataType::Timestamp(_, _) => by(&DataType::Timestamp(TimeUnit::Nanosecond, None)).and_then(|a| {
                a.as_any().downcast_ref::<TimestampNanosecondArray>().map(|a| Self::Time(Instant(a.value(0))))
            }),
            DataType::LargeList(inner) | DataType::ListView(inner) | DataType::FixedSizeList(inner, _) => {
                by(&DataType::List(inner.clone())).map(|a| Self::of(&a, 0))
            }
            DataType::Dictionary(_, inner) => by(inner).map(|a| Self::of(&a, 0)),
            _ => None,
        };
        cell.unwrap_or_else(|| {
            let shown = ArrayFormatter::try_new(one.as_ref(), &FormatOptions::default());
            shown.map_or(Self::Null, |formatter| Self::Text(formatter.value(0).to_string()))
        })
    }

    /// The value of a named column; null when there is none.
    pub(super) fn named(batch: &RecordBatch, column: &str, row: usize) -> Self {
        batch.column_by_name(column).map_or(Self::Null, |array| Self::of(array, row))
    }

    /// Whether the value in a row is [filled](Self::is_filled), without taking it out: this is asked of every fact.
    pub(super) fn is_filled_in(array: &ArrayRef, row: usize) -> bool {
        match array.as_any().downcast_ref::<StringViewArray>() {
            Some(texts) => texts.is_valid(row) && !texts.value(row).is_empty(),
            None => Self::of(array, row).is_filled(),
        }
    }

    /// Whether the value in a row reads as a text, without taking it out.
    pub(super) fn reads_in(array: &ArrayRef, row: usize, text: &str) -> bool {
        match array.as_any().downcast_ref::<StringViewArray>() {
            Some(texts) => texts.is_valid(row) && texts.value(row) == text,
            None => Self::of(array, row).to_string() == text,
        }
    }

    /// What a named column says in some rows, each text once.
    pub(super) fn texts(column: &str, batch: &RecordBatch, rows: impl Iterator<Item = usize>) -> BTreeSet<String> {
        let Some(column) = batch.column_by_name(column) else { return BTreeSet::new() };
        let mut last = None;
        let mut found = BTreeSet::new();
        for row in rows {
            // Rows that say the same come in runs.
            if let Self::Text(value) = Self::of(column, row)
                && last.as_ref() != Some(&value)
            {
                found.insert(value.clone());
                last = Some(value);
            }
        }
        found
    }

    /// Neither null nor `''`; a list that was said is not empty, even if it has no items.
    pub(super) fn is_filled(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Text(text) => !text.is_empty(),
            _ => true,
        }
    }

    /// Text that is not empty.
    pub(super) fn into_text(self) -> Option<String> {
        self.is_filled().then(|| self.to_string())
    }

    /// An instant.
    pub(super) fn as_time(&self) -> Option<Instant> {
        match self {
            Self::Time(instant) => Some(*instant),
            _ => None,
        }
    }

    /// JSON of the value; instants in RFC 3339.
    pub(super) fn into_json(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Flag(flag) => Value::Bool(flag),
            Self::Int(int) => Value::from(int),
            Self::Number(number) => Value::from(number),
            Self::Text(text) => Value::String(text),
            Self::Time(instant) => Value::String(instant.to_rfc3339()),
            Self::List(items) => Value::Array(items.into_iter().map(Self::into_json).collect()),
        }
    }

    /// The value within a sentence: long lists are cut.
    pub(super) fn phrase(&self) -> String {
        match self {
            Self::List(items) if items.len() > NAMED => {
                format!("{} and {} more", joined(&items[..NAMED]), items.len() - NAMED)
            }
            other => other.to_string(),
        }
    }
}

fn text(value: Option<&str>) -> Cell {
    value.map_or(Cell::Null, |value| Cell::Text(value.to_owned()))
}

fn joined(items: &[Cell]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Text of the value: `''` for null, RFC 3339 for instants, items of a list with commas between.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Int(int) => write!(f, "{int}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Time(instant) => f.write_str(&instant.to_rfc3339()),
            Self::List(items) => f.write_str(&joined(items)),
        }
    }
}
