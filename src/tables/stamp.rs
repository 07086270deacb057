//! What a file of facts says of itself: of which table it is, and by which version of the schemas it was written.
//!
//! In: schemas. Out: the same with two metadata keys, and the table of a schema that was read. Columns that are added leave
//! the version as it is; it changes when a column comes to mean something else.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};

use super::facts::Facts;

/// Version of the schemas.
pub const SCHEMA_VERSION: u32 = 1;

const VERSION_KEY: &str = "a2a_drift.schema_version";
const TABLE_KEY: &str = "a2a_drift.table";

/// Why a batch is not rows of a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A column is there, but not as it is declared.
    #[error("{table}: column {column} is {found}, not {wanted}")]
    Type {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// Its type in the batch.
        found: DataType,
        /// Its type as declared.
        wanted: DataType,
    },
    /// A column without which there are no facts.
    #[error("{table}: there is no column {column}")]
    Missing {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
    },
    /// Written by a program whose columns mean something else.
    #[error("written with version {found} of the schemas; this program reads up to {SCHEMA_VERSION}")]
    Newer {
        /// The version, as written.
        found: String,
    },
}

/// The schema with its table and version in its metadata.
pub fn stamped_schema(table: &str, schema: &Schema) -> SchemaRef {
    let mut metadata = schema.metadata().clone();
    metadata.insert(VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string());
    metadata.insert(TABLE_KEY.to_owned(), table.to_owned());
    Arc::new(schema.clone().with_metadata(metadata))
}

/// The metadata of a stamped schema, for formats that keep it beside the columns.
pub fn stamp(table: &str) -> [(String, String); 2] {
    [(VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string()), (TABLE_KEY.to_owned(), table.to_owned())]
}

/// The table of facts that a schema is of: as it says itself, else the one whose columns it has.
pub fn table_of(schema: &Schema) -> Option<&'static str> {
    let named = schema.metadata().get(TABLE_KEY);
    let columns = |schema: &Schema| -> BTreeSet<String> { schema.fields().iter().map(|f| f.name().clone()).collect() };
    let fits = |name: &str, own: &Schema| named.map_or_else(|| columns(own) == columns(schema), |named| named == name);
    Facts::schemas().into_iter().find(|(name, own)| fits(name, own)).map(|(name, _)| name)
}

/// Whether a batch of this schema can be read by this program.
///
/// # Errors
/// When a newer one wrote it.
pub fn readable(schema: &Schema) -> Result<(), TableError> {
    match schema.metadata().get(VERSION_KEY) {
        Some(found) if found.parse::<u32>().map_or(true, |version| version > SCHEMA_VERSION) => {
            Err(TableError::Newer { found: found.clone() })
        }
        _ => Ok(()),
    }
}

/// A batch whose schema says what it is.
pub fn stamped(table: &str, batch: &RecordBatch) -> RecordBatch {
    batch.clone().with_schema(stamped_schema(table, batch.schema_ref())).unwrap_or_else(|_| batch.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamped_schema_says_its_table_and_an_unstamped_one_shows_it_by_its_columns() {
        for (name, schema) in Facts::schemas() {
            assert_eq!(table_of(&schema), Some(name));
            assert_eq!(table_of(&stamped_schema(name, &schema.project(&[0, 3]).unwrap())), Some(name));
            assert_eq!(table_of(&stamped_schema("a_view", &schema)), None);
            assert_eq!(table_of(&schema.project(&[0, 3]).unwrap()), None);
        }
    }

    #[test]
    fn what_a_newer_program_wrote_is_refused() {
        let (name, schema) = Facts::schemas().remove(0);
        let mut metadata = stamped_schema(name, &schema).metadata().clone();
        for version in ["2", "next"] {
            metadata.insert(VERSION_KEY.to_owned(), version.to_owned());
            let batch = RecordBatch::new_empty(Arc::new(schema.as_ref().clone().with_metadata(metadata.clone())));
            let error = Facts::default().take(name, &batch).unwrap_err();
            assert!(matches!(error, TableError::Newer { found } if found == version));
        }
        assert!(Facts::default().take(name, &stamped(name, &RecordBatch::new_empty(schema))).unwrap());
    }
}
