//! The rows of an answer: a table for people, JSON, CSV or Parquet for programs.
//!
//! In: a batch. Out: bytes. Asks nothing and orders nothing: rows come as the query gave them.

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::util::display::FormatOptions;
use arrow::util::pretty::pretty_format_batches_with_options;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::errors::ParquetError;

use super::words::clean_lines;

/// Form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Aligned columns.
    Table,
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
/// When a column has no such form: a list has none in CSV.
pub fn render(rows: &RecordBatch, form: Form) -> Result<Vec<u8>, RowsError> {
    Ok(match form {
        Form::Table => table(rows)?.into_bytes(),
        Form::Json => {
            let mut writer = arrow::json::LineDelimitedWriter::new(Vec::new());
            writer.write(rows)?;
            writer.finish()?;
            writer.into_inner()
        }
        Form::Csv => {
            let mut bytes = Vec::new();
            arrow::csv::Writer::new(&mut bytes).write(rows)?;
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

/// Aligned columns and the number of rows; what came from outside cannot act on the terminal.
fn table(rows: &RecordBatch) -> Result<String, ArrowError> {
    let options = FormatOptions::default().with_null("-").with_timestamp_format(Some("%Y-%m-%dT%H:%M:%S%.3fZ"));
    let drawn = pretty_format_batches_with_options(std::slice::from_ref(rows), &options)?;
    let count = rows.num_rows();
    Ok(clean_lines(&format!("{drawn}\n{count} {}\n", if count == 1 { "row" } else { "rows" })).into_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray, TimestampNanosecondArray};
    use arrow::datatypes::{DataType, Field, Schema, TimeUnit};

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
    fn json_is_an_object_a_line_and_csv_has_a_header() {
        let lines: Vec<serde_json::Value> =
            text(Form::Json).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!((lines.len(), &lines[1]["tasks"]), (2, &3.into()));
        assert!(text(Form::Csv).starts_with("agent,tasks,at\n"));
    }

    #[test]
    fn parquet_is_parquet() {
        assert!(render(&rows(), Form::Parquet).unwrap().starts_with(b"PAR1"));
    }
}
