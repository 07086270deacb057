//! Fact tables: each Arrow schema declared once, rows to batches and back.
//!
//! In: rows from `normalize`. Out: Arrow batches for `rules` and `store`, and rows of batches that were kept. Judges nothing.

mod cells;
mod column;
mod declare;
mod facts;
mod schema;
mod stamp;

pub use column::{bound, bounded};
pub use declare::Table;
pub use facts::{Fact, Facts, FactsDelta};
pub use schema::*;
pub use stamp::{SCHEMA_VERSION, TableError, readable, stamp, stamped, stamped_schema, table_of};
