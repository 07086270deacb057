//! Findings as metrics.
//!
//! In: groups of open findings, counts of opened ones, coverage. Out: families. Caps nothing: groups come capped.

use std::collections::BTreeMap;

use super::definitions::{ACTIVE_FINDINGS, ACTIVE_SINCE, Definition, FINDINGS, RULE_BLIND};
use super::service::seconds;
use crate::findings::active::Labels;
use crate::findings::track::Class;
use crate::findings::{Active, RuleCoverage};
use crate::measures::{Exemplar, Family, Series, Value};

/// Findings that fire, by rule, category, severity, suspect and agent: how many, and since when.
pub(super) fn active(groups: &[Active]) -> [Family; 2] {
    let gauges = |definition: &Definition, value: &dyn Fn(&Active) -> f64| {
        let series = groups.iter().map(|group| {
            let Labels { rule, category, severity, suspect, agent } = &group.labels;
            series([rule, category, severity.as_str(), suspect, agent], Value::Level(value(group)))
        });
        family(definition, series.collect())
    };
    [gauges(&ACTIVE_FINDINGS, &|group| group.count as f64), gauges(&ACTIVE_SINCE, &|group| seconds(group.first_seen))]
}

/// Findings that began to fire, by rule, category and severity, with the newest trace of each.
pub(super) fn opened(counts: &BTreeMap<Class, u64>, traces: &BTreeMap<Class, Exemplar>) -> Family {
    let series = counts.iter().map(|(class, count)| {
        let labels = [class.rule.as_str(), &class.category, class.severity.as_str()];
        series(labels, Value::Count { count: *count, exemplar: traces.get(class).cloned() })
    });
    family(&FINDINGS, series.collect())
}

/// Which rules cannot fire.
pub(super) fn blind(coverage: &[RuleCoverage]) -> Family {
    let series = coverage.iter().map(|rule| {
        let is_blind = !rule.missing.is_empty();
        series([rule.rule.as_str()], Value::Level(f64::from(u8::from(is_blind))))
    });
    family(&RULE_BLIND, series.collect())
}

fn family(definition: &Definition, series: Vec<Series>) -> Family {
    Family { name: definition.name, help: definition.help, kind: definition.kind, labels: definition.labels, series }
}

fn series<'a>(labels: impl IntoIterator<Item = &'a str>, value: Value) -> Series {
    Series { labels: labels.into_iter().map(str::to_owned).collect(), value }
}
