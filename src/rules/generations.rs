//! Generations of agents' cards, for the grouping of findings.
//!
//! In: rows of the stored view `card_generations`. Out: [`Generation`]s. Empty when the corpus has no such view.

use arrow::array::RecordBatch;

use super::cell::Cell;
use crate::findings::Generation;

/// The view that has them.
pub(crate) const VIEW: &str = "card_generations";

/// Reads the view's rows; one without a beginning is none.
pub(crate) fn read(batch: &RecordBatch) -> Vec<Generation> {
    let text = |column: &str, row: usize| Cell::named(batch, column, row).to_string();
    (0..batch.num_rows())
        .filter_map(|row| {
            Some(Generation {
                agent: text("agent", row),
                version: text("version", row),
                contract_sha256: text("contract_sha256", row),
                valid_from: Cell::named(batch, "valid_from", row).as_time()?,
                valid_to: Cell::named(batch, "valid_to", row).as_time(),
            })
        })
        .collect()
}
