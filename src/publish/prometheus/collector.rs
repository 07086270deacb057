//! Metrics that are counted elsewhere, for the registry.
//!
//! In: families as plain data, replaced as a whole. Out: the registry's own types. What is not in the newest families is not
//! exposed any more: series of agents that vanished end by themselves, and no scrape sees half of a look.

use std::sync::Arc;

use arc_swap::ArcSwap;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{self, LabelPair, Metric, MetricFamily, MetricType};

use crate::measures::{Family, Histogram, Kind, Series, Value};

/// Families that are replaced as a whole.
pub(super) type Shared = Arc<ArcSwap<Vec<Family>>>;

/// Shows the newest families to a registry.
pub(super) struct FamilyCollector {
    families: Shared,
    declared: Vec<Desc>,
}

impl FamilyCollector {
    /// A collector of families of which these names, with their help, are known now: the registry sees to it that nothing
    /// else goes by them.
    ///
    /// # Errors
    /// When a name cannot be one, or has no help.
    pub(super) fn new<'a>(
        families: Shared,
        declared: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, prometheus::Error> {
        let desc = |(name, help): (&str, &str)| Desc::new(name.into(), help.into(), vec![], Default::default());
        Ok(Self { families, declared: declared.into_iter().map(desc).collect::<Result<_, _>>()? })
    }
}

impl Collector for FamilyCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.declared.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.families.load().iter().map(family_of).collect()
    }
}

fn family_of(family: &Family) -> MetricFamily {
    let mut shown = MetricFamily::default();
    shown.set_name(family.name.to_owned());
    shown.set_help(family.help.to_owned());
    shown.set_field_type(match family.kind {
        Kind::Counter => MetricType::COUNTER,
        Kind::Gauge => MetricType::GAUGE,
        Kind::Histogram => MetricType::HISTOGRAM,
    });
    shown.set_metric(family.series.iter().filter_map(|series| metric_of(family.kind, series)).collect());
    shown
}

/// A series; none when its value is not of the family's kind.
fn metric_of(kind: Kind, series: &Series) -> Option<Metric> {
    let mut metric = Metric::from_label(series.labels.iter().map(|(name, value)| label(name, value)).collect());
    match (kind, &series.value) {
        (Kind::Counter, Value::Number(number)) => {
            let mut counter = proto::Counter::default();
            counter.set_value(*number);
            metric.set_counter(counter);
        }
        (Kind::Gauge, Value::Number(number)) => {
            let mut gauge = proto::Gauge::default();
            gauge.set_value(*number);
            metric.set_gauge(gauge);
        }
        (Kind::Histogram, Value::Histogram(histogram)) => metric.set_histogram(histogram_of(histogram)),
        _ => return None,
    }
    Some(metric)
}

fn label(name: &str, value: &str) -> LabelPair {
    let mut label = LabelPair::default();
    label.set_name(name.to_owned());
    label.set_value(value.to_owned());
    label
}

fn histogram_of(histogram: &Histogram) -> proto::Histogram {
    let mut shown = proto::Histogram::default();
    shown.set_sample_count(histogram.count);
    shown.set_sample_sum(histogram.sum);
    let buckets = histogram.buckets.iter().map(|(bound, count)| {
        let mut bucket = proto::Bucket::default();
        bucket.set_upper_bound(*bound);
        bucket.set_cumulative_count(*count);
        bucket
    });
    shown.set_bucket(buckets.collect());
    shown
}
