//! OpenMetrics 1.0 as text.
//!
//! In: gathered metrics and the exemplars kept beside them. Out: the exposition, up to its `# EOF`. Changes no value and
//! decides on no metric: names, units and types follow from the names of the text format.

use std::borrow::Cow;
use std::fmt::Write;

use prometheus::proto::{Histogram, LabelPair, Metric, MetricFamily, MetricType};

use super::exemplars::Exemplars;
use crate::measures::Exemplar;

/// Units that a name may end in.
const UNITS: [&str; 3] = ["seconds", "bytes", "ratio"];
/// Characters of all names and values of an exemplar's labels together (OpenMetrics 1.0, "Exemplars").
const MOST_OF_EXEMPLAR: usize = 128;
/// The one label of an exemplar.
const TRACE_ID: &str = "trace_id";

/// All metrics as one exposition.
pub(super) fn encode(families: &[MetricFamily], exemplars: &Exemplars) -> String {
    let mut text = String::new();
    for family in families {
        Writer { text: &mut text, family, name: name_of(family), exemplars }.family();
    }
    text.push_str("# EOF\n");
    text
}

/// The name without the suffix that its type gives to its samples.
fn name_of(family: &MetricFamily) -> &str {
    let suffix = match type_of(family) {
        "counter" => "_total",
        "info" => "_info",
        _ => "",
    };
    family.name().strip_suffix(suffix).unwrap_or(family.name())
}

fn type_of(family: &MetricFamily) -> &'static str {
    match family.get_field_type() {
        MetricType::COUNTER => "counter",
        MetricType::GAUGE if family.name().ends_with("_info") => "info",
        MetricType::GAUGE => "gauge",
        MetricType::HISTOGRAM => "histogram",
        MetricType::SUMMARY | MetricType::UNTYPED => "unknown",
    }
}

/// Writes one family. Writing to a String cannot fail.
struct Writer<'a> {
    text: &'a mut String,
    family: &'a MetricFamily,
    name: &'a str,
    exemplars: &'a Exemplars,
}

impl Writer<'_> {
    fn family(mut self) {
        let (name, kind) = (self.name, type_of(self.family));
        _ = writeln!(self.text, "# TYPE {name} {kind}");
        let unit = UNITS.into_iter().find(|unit| name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_')));
        if let Some(unit) = unit {
            _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        _ = writeln!(self.text, "# HELP {name} {}", escaped(self.family.help()));
        for metric in self.family.get_metric() {
            match self.family.get_field_type() {
                MetricType::COUNTER => self.counter(metric),
                MetricType::GAUGE if kind == "info" => self.sample("_info", metric, None, "1"),
                MetricType::GAUGE => self.sample("", metric, None, &number(metric.get_gauge().get_value())),
                MetricType::HISTOGRAM => self.histogram(metric, metric.get_histogram()),
                MetricType::SUMMARY | MetricType::UNTYPED => {}
            }
        }
    }

    fn counter(&mut self, metric: &Metric) {
        let value = metric.get_counter().get_value();
        // A counter is not negative and is a number.
        if value >= 0.0 {
            self.sample("_total", metric, None, &number(value));
            let exemplar = self.exemplars.of(self.family.name(), metric.get_label()).last();
            self.exemplar(exemplar);
        }
    }

    fn histogram(&mut self, metric: &Metric, histogram: &Histogram) {
        let exemplars = self.exemplars.of(self.family.name(), metric.get_label());
        let finite = histogram.get_bucket().iter().map(|bucket| (bucket.upper_bound(), bucket.cumulative_count()));
        let finite = finite.filter(|(bound, _)| bound.is_finite());
        let mut below = f64::NEG_INFINITY;
        for (bound, count) in finite.chain([(f64::INFINITY, histogram.get_sample_count())]) {
            self.sample("_bucket", metric, Some(&canonical(bound)), &count.to_string());
            let of_bucket = exemplars.iter().filter(|e| below < e.value && e.value <= bound && count > 0);
            self.exemplar(of_bucket.max_by_key(|e| e.at));
            below = bound;
        }
        self.sample("_count", metric, None, &histogram.get_sample_count().to_string());
        self.sample("_sum", metric, None, &number(histogram.get_sample_sum()));
    }

    fn sample(&mut self, suffix: &str, metric: &Metric, le: Option<&str>, value: &str) {
        let labels: Vec<String> = metric
            .get_label()
            .iter()
            .map(|label: &LabelPair| format!("{}=\"{}\"", label.name(), escaped(label.value())))
            .chain(le.map(|bound| format!("le=\"{bound}\"")))
            .collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.name);
    }

    /// Adds an exemplar to the sample that was written last.
    fn exemplar(&mut self, exemplar: Option<&Exemplar>) {
        let shown = exemplar.filter(|exemplar| {
            let length = TRACE_ID.len() + exemplar.trace_id.chars().count();
            !exemplar.trace_id.is_empty() && length <= MOST_OF_EXEMPLAR && exemplar.value.is_finite()
        });
        let Some(Exemplar { trace_id, value, at }) = shown else { return };
        if self.text.ends_with('\n') {
            self.text.pop();
        }
        let (seconds, rest) = (at.0.div_euclid(1_000_000_000), at.0.rem_euclid(1_000_000_000));
        let trace_id = escaped(trace_id);
        _ = writeln!(
            self.text,
            " # {{{TRACE_ID}=\"{trace_id}\"}} {} {seconds}.{:03}",
            number(*value),
            rest / 1_000_000
        );
    }
}

/// Text between quotes, and help.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '\n', '"']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\""))
}

/// A value.
fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

/// An upper bound as every exposer writes it, since it is part of the series' identity (OpenMetrics 1.0, "Considerations:
/// Canonical Numbers"): with a point, and with an exponent from a million on and below a ten-thousandth.
fn canonical(bound: f64) -> String {
    let size = bound.abs();
    if bound.is_finite() && size != 0.0 && !(1e-4..1e6).contains(&size) {
        let text = format!("{bound:e}");
        let Some((digits, exponent)) = text.split_once('e') else { return text };
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let text = number(bound);
    if bound.is_finite() && !text.contains('.') { format!("{text}.0") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_as_the_specification_lists_them() {
        let listed = ["0.01", "0.1", "1.0", "10.0", "100.0", "1000.0", "10000.0", "100000.0", "1e+06", "1e+10", "+Inf"];
        let bounds = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 1e4, 1e5, 1e6, 1e10, f64::INFINITY];
        assert_eq!(bounds.map(canonical), listed);
        assert_eq!([0.0, 1e-5, 0.001, 2.5, 1.5e7].map(canonical), ["0.0", "1e-05", "0.001", "2.5", "1.5e+07"]);
    }

    #[test]
    fn backslash_line_break_and_quote_are_escaped_once() {
        assert_eq!(escaped("a\\n\n\"b\""), "a\\\\n\\n\\\"b\\\"");
        assert!(matches!(escaped("host:8080/ä"), Cow::Borrowed(_)));
    }
}
