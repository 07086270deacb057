//! The fleet in numbers: counters, gauges and histograms made of facts.
//!
//! In: facts. Out: a [`Family`] for each metric, as plain data. Knows no format in which they are published.

pub mod cards;
mod snapshot;

pub use snapshot::{Exemplar, Family, Histogram, Kind, Series, Value};
