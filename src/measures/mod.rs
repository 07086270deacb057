//! What is told of the fleet beside findings: what was called, which states tasks went through, what is open, how long tasks
//! took; and which cards agents showed ([`cards`]).
//!
//! In: what became of the facts, in any batches. Out: a [`Snapshot`]: a [`Family`] for each metric, as plain data. Judges nothing, reads no
//! clock, knows no exposition format.
//!
//! What is counted. A call, a delivery, and a state of a task count once, however many observers saw them and however often
//! they are delivered, in the series that they belong to by all that is known of them; a task's duration likewise. So the
//! numbers follow from the set of facts, not from how it came.
//!
//! Counters never go down. What leaves by age stays counted, and is not counted again when it comes back. What turns
//! out to belong elsewhere moves to its own series; the series that it leaves, if it was shown already, stands still
//! until there is as much in it as was shown. Gauges follow what is known now.

mod agents;
pub mod cards;
mod counters;
mod durations;
mod ids;
mod kept;
mod looks;
mod once;
mod shown;
mod snapshot;
mod tasks;

pub use kept::{MOST_AGENTS, Measures};
pub use snapshot::{Bucket, Exemplar, Family, Kind, OTHER, Series, Snapshot, UNKNOWN, Value};

#[cfg(test)]
mod tests;
