//! What an exporter writes: families of series at one moment.
//!
//! In: nothing; plain types. Out: names, labels and values as the design of the published metrics has them.

use crate::instant::Instant;

/// Label of agents beyond the cap.
pub const OTHER: &str = "__other__";
/// Label of what no agent, operation or outcome is known of.
pub const UNKNOWN: &str = "unknown";

/// All families at one moment, in a fixed order; a family without series is there too.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// The families.
    pub families: Vec<Family>,
}

/// What a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Never goes down. The name has its `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

/// Series of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Name, with unit and suffix.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Names of the labels.
    pub labels: &'static [&'static str],
    /// Series in the order of their labels.
    pub series: Vec<Series>,
}

/// A series.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Values of the labels, in the order of their names.
    pub labels: Vec<String>,
    /// Its value.
    pub value: Value,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a counter.
    Count {
        /// How many.
        count: u64,
        /// The last of them that had a trace.
        exemplar: Option<Exemplar>,
    },
    /// Of a gauge.
    Level(f64),
    /// Of a histogram.
    Sizes {
        /// By upper bound, ascending; the last is infinite, and its count is that of all.
        buckets: Vec<Bucket>,
        /// Sum of all sizes.
        sum: f64,
    },
}

/// Observations up to a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// Upper bound, included.
    pub up_to: f64,
    /// Observations up to it, those of smaller buckets included.
    pub count: u64,
    /// The last one of this bucket alone that had a trace.
    pub exemplar: Option<Exemplar>,
}

/// One observation of a series that can be looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct Exemplar {
    /// Its trace.
    pub trace_id: String,
    /// Its size; 1 for a counter.
    pub value: f64,
    /// When it was seen.
    pub at: Instant,
}
