//! What is told of the fleet beside findings: counts, states, cards.
//!
//! In: facts. Out: plain data, metrics as a [`Family`] each. Judges nothing, and knows no format in which it is published.

pub mod cards;
mod snapshot;

pub use snapshot::{Exemplar, Family, Histogram, Kind, Series, Value};
