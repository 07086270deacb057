//! Metrics at one instant, as plain data.
//!
//! In: what the fleet was counted to be. Out: what `publish` renders. Counts nothing itself and knows no format.

use crate::instant::Instant;

/// A metric: all series of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Name as it is exposed in text: a counter's ends in `_total`, what is always 1 ends in `_info`, and a unit
    /// (`_seconds`, `_bytes`) comes last or before `_total`.
    pub name: &'static str,
    /// What a value means, in a sentence; never empty.
    pub help: &'static str,
    /// How values behave.
    pub kind: Kind,
    /// One for each set of labels that there is; no set twice.
    pub series: Vec<Series>,
}

/// How the values of a metric behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the program runs.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Observations counted by size.
    Histogram,
}

/// The value of a metric for one set of labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Names and values, with the same names in the same order in all series of a family.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Value,
    /// An example of what was counted; shown for counters and histograms only.
    pub exemplar: Option<Exemplar>,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a counter or a gauge.
    Number(f64),
    /// Of a histogram.
    Histogram(Histogram),
}

/// Observations counted by size.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// Upper bounds, ascending and without infinity, each with the number of observations at or below it.
    pub buckets: Vec<(f64, u64)>,
    /// Sum of all observations.
    pub sum: f64,
    /// Number of all observations.
    pub count: u64,
}

/// A trace in which something that was counted can be looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Exemplar {
    /// Trace id; one that is empty is not shown.
    pub trace_id: String,
    /// What it added: 1 to a counter of events, the observation to a histogram.
    pub value: f64,
    /// When.
    pub at: Instant,
}
