//! A corpus planned once and evaluated as a whole any number of times, over other facts each time.
//!
//! In: an engine, then fact batches. Out: what [`Engine::evaluate`] gives for them, without planning again. Evaluations follow
//! each other: a plan reads the rows of one at a time.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::error::ArrowError;

use super::evaluate::{Engine, EngineError, Evaluation};
use super::kept::{Kept, KeptPlans};
use super::outcome::Outcome;
use crate::tables::Facts;

/// An engine with its plans, each of one partition.
#[derive(Debug)]
pub struct Prepared {
    engine: Engine,
    plans: KeptPlans,
}

impl Engine {
    /// Plans the corpus for many evaluations.
    ///
    /// # Errors
    /// When the system gives no threads or the tables cannot be set up.
    pub fn prepare(&self) -> Result<Prepared, EngineError> {
        Ok(Prepared { engine: self.clone(), plans: self.keep_plans()? })
    }
}

impl Prepared {
    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Evaluates the corpus over batches of facts, one or more a table.
    ///
    /// # Errors
    /// When batches of a table do not fit together; a query's failure is in the result.
    pub async fn evaluate(&mut self, batches: Vec<(&'static str, RecordBatch)>) -> Result<Evaluation, EngineError> {
        let facts = tables(&batches).map_err(|error| EngineError::Tables(Box::new(error.into())))?;
        let mut outcome = Outcome::default();
        let queries = self.plans.queries();
        let levels: BTreeSet<usize> = queries.iter().map(|kept| kept.level).collect();
        for level in levels {
            let mut jobs = Vec::new();
            for (position, kept) in queries.iter().enumerate().filter(|(_, kept)| kept.level == level) {
                match inputs(kept, &facts, &outcome) {
                    Ok(inputs) => jobs.push((position, inputs)),
                    Err(message) => outcome.keep(kept.name.clone(), Err(message)),
                }
            }
            for (position, result) in self.plans.run(jobs).await {
                if let Some(kept) = queries.get(position) {
                    outcome.keep(kept.name.clone(), result);
                }
            }
        }
        Ok(outcome.judged(&self.engine, batches))
    }
}

/// The rows of each table of facts.
fn tables(batches: &[(&'static str, RecordBatch)]) -> Result<BTreeMap<&'static str, RecordBatch>, ArrowError> {
    let rows = |(name, schema)| {
        let of_table = batches.iter().filter(|(table, _)| *table == name).map(|(_, batch)| batch);
        Ok((name, concat_batches(&schema, of_table)?))
    };
    Facts::schemas().into_iter().map(rows).collect()
}

/// The rows that a query reads, or which of its inputs failed.
fn inputs(
    kept: &Kept,
    facts: &BTreeMap<&'static str, RecordBatch>,
    outcome: &Outcome,
) -> Result<Vec<RecordBatch>, String> {
    let rows = |input: &String| facts.get(input.as_str()).or_else(|| outcome.results.get(input)).cloned();
    let of = |input: &String| rows(input).ok_or_else(|| format!("`{input}`, which it reads, failed"));
    kept.readings.iter().map(|reading| of(&reading.input)).collect()
}
