//! The evaluation by keys: the findings of the whole set of facts, at the cost of what is new.
//!
//! In: the corpus, planned once; facts that came, changed or went, in any batches and order. Out: the findings that the batch
//! evaluation gives for the same facts. Reads no clock, runs no SQL of its own, and holds no judgement.
//!
//! A tick goes through the stored views and rules in the order of dependency. For each it finds the keys that the changes of
//! its inputs may concern (`reached`), cuts its inputs to the rows that these keys need (`cut`), runs it, and replaces
//! the rows of these keys by the result (`step`). What changed by that is what the queries after it see; where nothing
//! changed, the tick ends.

mod cells;
mod cut;
mod dirty;
mod inputs;
mod keyed;
mod opened;
mod reached;
mod step;
mod table;

pub use keyed::{Keyed, LiveError, Tick};

#[cfg(test)]
mod tests;
