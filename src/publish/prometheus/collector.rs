//! Metrics that are counted elsewhere, for the registry.
//!
//! In: families as plain data, replaced as a whole. Out: the registry's own types. What is not in the newest families is not
//! exposed any more: series of agents that vanished end by themselves, and no scrape sees half of a look.

use std::sync::Arc;

use arc_swap::ArcSwap;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{self, LabelPair, Metric, MetricFamily, MetricType};

use crate::measures::{Bucket, Family, Kind, Series, Value};
use crate::publish::words::clean_lines;

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
    shown.set_metric(family.series.iter().filter_map(|series| metric_of(family, series)).collect());
    shown
}

/// A series; none when its value is not of the family's kind.
fn metric_of(family: &Family, series: &Series) -> Option<Metric> {
    let labels = family.labels.iter().zip(&series.labels);
    let mut metric = Metric::from_label(labels.map(|(name, value)| label(name, value)).collect());
    match (family.kind, &series.value) {
        (Kind::Counter, Value::Count { count, .. }) => {
            let mut counter = proto::Counter::default();
            counter.set_value(*count as f64);
            metric.set_counter(counter);
        }
        (Kind::Gauge, Value::Level(level)) => {
            let mut gauge = proto::Gauge::default();
            gauge.set_value(*level);
            metric.set_gauge(gauge);
        }
        (Kind::Histogram, Value::Sizes { buckets, sum }) => metric.set_histogram(histogram_of(buckets, *sum)),
        _ => return None,
    }
    Some(metric)
}

/// A label. Its value may be a name that a peer chose, and people read metrics on terminals.
fn label(name: &str, value: &str) -> LabelPair {
    let mut label = LabelPair::default();
    label.set_name(name.to_owned());
    label.set_value(clean_lines(value).into_owned());
    label
}

fn histogram_of(buckets: &[Bucket], sum: f64) -> proto::Histogram {
    let mut shown = proto::Histogram::default();
    shown.set_sample_count(buckets.last().map_or(0, |all| all.count));
    shown.set_sample_sum(sum);
    // The encoders add the infinite one.
    let finite = buckets.iter().filter(|bucket| bucket.up_to.is_finite()).map(|bucket| {
        let mut shown = proto::Bucket::default();
        shown.set_upper_bound(bucket.up_to);
        shown.set_cumulative_count(bucket.count);
        shown
    });
    shown.set_bucket(finite.collect());
    shown
}
