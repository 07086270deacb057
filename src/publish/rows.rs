//! The rows of an answer: a table for people, JSON, CSV or Parquet for programs.
//!
//! In: a batch. Out: bytes. Asks nothing and orders nothing: rows come as the query gave them.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow::util::pretty::pretty_format_batches_with_options;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::errors::ParquetError;

use textwrap::core::display_width;

use super::words::{clean, clean_lines, count};

/// Form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Aligned columns.
    Table,
    /// Aligned columns if they fit so many characters, else each row by itself, a line a column.
    Fit(usize),
    /// One JSON object a line.
    Json,
    /// Comma separated, with a header line.
    Csv,
    /// A Parquet file.
    Parquet,
}

/// Why rows cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// A column has no such form.
    #[error("cannot write the answer")]
    Arrow(#[from] ArrowError),
    /// As Parquet.
    #[error("cannot write the answer as Parquet")]
    Parquet(#[from] ParquetError),
}

/// The rows in a form.
///
/// # Errors
/// When a column has no such form.
pub fn render(rows: &RecordBatch, form: Form) -> Result<Vec<u8>, RowsError> {
    Ok(match form {
        Form::Table => table(rows)?.into_bytes(),
        Form::Fit(width) => match table(rows)? {
            table if table.lines().all(|line| display_width(line) <= width) => table.into_bytes(),
            _ => records(rows)?.into_bytes(),
        },
        Form::Json => {
            let mut writer = arrow::json::LineDelimitedWriter::new(Vec::new());
            writer.write(&zoned(rows)?)?;
            writer.finish()?;
            writer.into_inner()
        }
        Form::Csv => {
            let mut bytes = Vec::new();
            arrow::csv::Writer::new(&mut bytes).write(&written_out(&zoned(rows)?)?)?;
            bytes
        }
        Form::Parquet => {
            let mut bytes = Vec::new();
            let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), None)?;
            writer.write(rows)?;
            writer.close()?;
            bytes
        }
    })
}

/// Times as those of UTC, which they are: text without a zone is anybody's.
fn zoned(rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = rows.schema_ref().fields().iter().zip(rows.columns()).map(|(field, column)| {
        let column = match column.data_type() {
            DataType::Timestamp(unit, None) => cast(column, &DataType::Timestamp(*unit, Some("+00:00".into())))?,
            _ => column.clone(),
        };
        Ok((field.name().clone(), column))
    });
    RecordBatch::try_from_iter(columns.collect::<Result<Vec<_>, ArrowError>>()?)
}

/// Lists as the text of a JSON array: CSV has no form of its own for them.
fn written_out(rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let is_flat = |column: &ArrayRef| !column.data_type().is_nested();
    let written = rows.schema_ref().fields().iter().zip(rows.columns()).map(|(field, column)| {
        let column = if is_flat(column) { column.clone() } else { Arc::new(as_json(column)?) };
        Ok((field.name().clone(), column))
    });
    RecordBatch::try_from_iter(written.collect::<Result<Vec<_>, ArrowError>>()?)
}

/// Each value as JSON; null where there is none.
fn as_json(column: &ArrayRef) -> Result<StringArray, ArrowError> {
    const NAME: &str = "v";
    let mut writer = arrow::json::LineDelimitedWriter::new(Vec::new());
    writer.write(&RecordBatch::try_from_iter([(NAME, column.clone())])?)?;
    writer.finish()?;
    let lines = String::from_utf8(writer.into_inner()).map_err(|error| ArrowError::ExternalError(error.into()))?;
    // `{"v":[...]}`, or `{}` for null.
    let value = |line: &str| Some(line.strip_prefix("{\"v\":")?.strip_suffix('}')?.to_owned());
    Ok(lines.lines().map(value).collect())
}

/// Aligned columns and the number of rows; what came from outside cannot act on the terminal.
fn table(rows: &RecordBatch) -> Result<String, ArrowError> {
    let drawn = pretty_format_batches_with_options(std::slice::from_ref(rows), &options())?;
    Ok(clean_lines(&format!("{drawn}\n{}\n", count(rows.num_rows(), "row"))).into_owned())
}

/// Each row by itself, a line a column.
fn records(rows: &RecordBatch) -> Result<String, ArrowError> {
    let (schema, options) = (rows.schema(), options());
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let widest = names.iter().map(|name| display_width(name)).max().unwrap_or_default();
    let columns: Vec<ArrayFormatter<'_>> =
        rows.columns().iter().map(|column| ArrayFormatter::try_new(column, &options)).collect::<Result<_, _>>()?;
    let mut text = String::new();
    for row in 0..rows.num_rows() {
        text.push_str(&format!("-- {}\n", row + 1));
        for (name, column) in names.iter().zip(&columns) {
            text.push_str(&format!("  {name:<widest$}  {}\n", clean(&column.value(row).try_to_string()?)));
        }
    }
    Ok(format!("{}{}\n", clean_lines(&text), count(rows.num_rows(), "row")))
}

fn options() -> FormatOptions<'static> {
    FormatOptions::default().with_null("-").with_timestamp_format(Some("%Y-%m-%dT%H:%M:%S%.3fZ"))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListBuilder, StringArray, StringBuilder, TimestampNanosecondArray};
    use arrow::datatypes::{Field, Schema, TimeUnit};

    use super::*;

    fn rows() -> RecordBatch {
        let schema = Schema::new(vec![
            Field::new("agent", DataType::Utf8, true),
            Field::new("tasks", DataType::Int64, true),
            Field::new("at", DataType::Timestamp(TimeUnit::Nanosecond, None), true),
        ]);
        let agents = StringArray::from(vec![Some("a\u{1b}[31m"), None]);
        let at = TimestampNanosecondArray::from(vec![Some(1_796_019_334_786_336_000), None]);
        let columns: Vec<arrow::array::ArrayRef> =
            vec![Arc::new(agents), Arc::new(Int64Array::from(vec![2, 3])), Arc::new(at)];
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    }

    fn text(form: Form) -> String {
        String::from_utf8(render(&rows(), form).unwrap()).unwrap()
    }

    #[test]
    fn a_table_is_aligned_counts_its_rows_and_leaves_the_terminal_alone() {
        let table = text(Form::Table);
        assert!(!table.contains('\u{1b}'), "{table}");
        assert!(table.contains("| 2026-11-30T06:15:34.786Z |"), "{table}");
        assert!(table.ends_with("2 rows\n"), "{table}");
    }

    #[test]
    fn what_is_wider_than_the_page_is_shown_row_by_row() {
        assert_eq!(text(Form::Fit(200)), text(Form::Table));
        let records = text(Form::Fit(30));
        assert!(
            records.starts_with("-- 1\n  agent  a\\u{1b}[31m\n  tasks  2\n  at     2026-11-30T06:15:34.786Z\n-- 2\n"),
            "{records}"
        );
        assert!(records.ends_with("  at     -\n2 rows\n"), "{records}");
    }

    #[test]
    fn json_is_an_object_a_line_and_csv_has_a_header() {
        let lines: Vec<serde_json::Value> =
            text(Form::Json).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!((lines.len(), &lines[1]["tasks"]), (2, &3.into()));
        assert!(text(Form::Csv).starts_with("agent,tasks,at\n"));
    }

    #[test]
    fn times_for_programs_say_that_they_are_of_utc() {
        let json = "{\"agent\":\"a\\u001b[31m\",\"tasks\":2,\"at\":\"2026-11-30T06:15:34.786336Z\"}\n{\"tasks\":3}\n";
        assert_eq!(text(Form::Json), json);
        assert_eq!(text(Form::Csv).lines().nth(1), Some("a\u{1b}[31m,2,2026-11-30T06:15:34.786336Z"));
    }

    #[test]
    fn a_list_in_csv_is_a_json_array() {
        let mut lists = ListBuilder::new(StringBuilder::new());
        lists.append_value([Some("a"), None, Some("b,\"c")]);
        lists.append_null();
        let rows = RecordBatch::try_from_iter([("modes", Arc::new(lists.finish()) as ArrayRef)]).unwrap();
        let csv = String::from_utf8(render(&rows, Form::Csv).unwrap()).unwrap();
        assert_eq!(csv, "modes\n\"[\"\"a\"\",null,\"\"b,\\\"\"c\"\"]\"\n\"\"\n");
    }

    #[test]
    fn parquet_is_parquet() {
        assert!(render(&rows(), Form::Parquet).unwrap().starts_with(b"PAR1"));
    }
}
