//! Exemplars beside the metrics: the registry's own types have no place for them.
//!
//! In: what was counted, with its traces. Out: the exemplars of a series, found by its name and labels.

use std::collections::HashMap;

use prometheus::proto::LabelPair;

use crate::measures::{Exemplar, Family, Value};
use crate::publish::words::clean_lines;

/// Exemplars by series.
#[derive(Debug, Clone, Default)]
pub(super) struct Exemplars {
    by_series: HashMap<String, Vec<Exemplar>>,
}

impl Exemplars {
    /// The exemplars that families hold.
    pub(super) fn of_families(families: &[Family]) -> Self {
        let mut exemplars = Self::default();
        for family in families {
            for series in &family.series {
                // As the collector shows them.
                let labels = family.labels.iter().zip(&series.labels);
                let labels: Vec<_> = labels.map(|(name, value)| (*name, clean_lines(value))).collect();
                let labels = labels.iter().map(|(name, value)| (*name, value.as_ref()));
                exemplars.extend(key(family.name, labels), held(&series.value).cloned());
            }
        }
        exemplars
    }

    /// Adds exemplars of a series without labels.
    pub(super) fn add(&mut self, name: &str, more: impl IntoIterator<Item = Exemplar>) {
        self.extend(key(name, []), more);
    }

    fn extend(&mut self, key: String, more: impl IntoIterator<Item = Exemplar>) {
        let mut more = more.into_iter().peekable();
        if more.peek().is_some() {
            self.by_series.entry(key).or_default().extend(more);
        }
    }

    /// The exemplars of a series.
    pub(super) fn of(&self, name: &str, labels: &[LabelPair]) -> &[Exemplar] {
        let labels = labels.iter().map(|label| (label.name(), label.value()));
        self.by_series.get(&key(name, labels)).map_or(&[], Vec::as_slice)
    }
}

/// The exemplars that a value holds.
fn held(value: &Value) -> impl Iterator<Item = &Exemplar> {
    let (count, buckets) = match value {
        Value::Count { exemplar, .. } => (exemplar.as_ref(), [].as_slice()),
        Value::Level(_) => (None, [].as_slice()),
        Value::Sizes { buckets, .. } => (None, buckets.as_slice()),
    };
    count.into_iter().chain(buckets.iter().filter_map(|bucket| bucket.exemplar.as_ref()))
}

/// A series' name and labels as one text, whatever they hold.
fn key<'a>(name: &str, labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut key = name.to_owned();
    for (label, value) in labels {
        key.push_str(&format!("\n{label}={}:{value}", value.len()));
    }
    key
}

/// The newest exemplar of each bucket of a histogram.
#[derive(Debug, Clone)]
pub(super) struct ByBucket {
    bounds: &'static [f64],
    newest: Vec<Option<Exemplar>>,
}

impl ByBucket {
    /// None yet; the bounds are those of the histogram, ascending.
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, newest: vec![None; bounds.len() + 1] }
    }

    /// Puts an exemplar in the place of the last of its bucket.
    pub(super) fn replace(&mut self, exemplar: Exemplar) {
        let bucket = self.bounds.partition_point(|bound| *bound < exemplar.value);
        if let Some(place) = self.newest.get_mut(bucket) {
            *place = Some(exemplar);
        }
    }

    /// All that there are.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Exemplar> {
        self.newest.iter().flatten()
    }
}
