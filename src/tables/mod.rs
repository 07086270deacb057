//! Fact tables: each Arrow schema declared once, rows to batches.
//!
//! In: rows from `normalize`. Out: Arrow batches for `rules`. Judges nothing.

mod column;
mod declare;
mod facts;
mod remembered;
mod schema;

pub use column::{bound, bounded};
pub use declare::Table;
pub use facts::{Fact, Facts, FactsDelta};
pub use remembered::Remembered;
pub use schema::*;
