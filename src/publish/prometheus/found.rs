//! Findings as metrics.
//!
//! In: groups of open findings, counts of opened ones, coverage. Out: families. Caps nothing: groups come capped.

use std::collections::BTreeMap;

use super::definitions::{ACTIVE_FINDINGS, Definition, FINDINGS, RULE_BLIND};
use crate::findings::track::Class;
use crate::findings::{Active, RuleCoverage};
use crate::measures::{Exemplar, Family, Series, Value};

/// Findings that fire, by rule, category, severity and agent.
pub(super) fn active(groups: &[Active]) -> Family {
    let series = groups.iter().map(|group| {
        let labels = &group.labels;
        let severity = labels.severity.as_str();
        series(&ACTIVE_FINDINGS, [&labels.rule, &labels.category, severity, &labels.agent], group.count)
    });
    family(&ACTIVE_FINDINGS, series.collect())
}

/// Findings that began to fire, by rule, category and severity, with the newest trace of each.
pub(super) fn opened(counts: &BTreeMap<Class, u64>, traces: &BTreeMap<Class, Exemplar>) -> Family {
    let series = counts.iter().map(|(class, count)| {
        let labels = [class.rule.as_str(), &class.category, class.severity.as_str()];
        Series { exemplar: traces.get(class).cloned(), ..series(&FINDINGS, labels, *count) }
    });
    family(&FINDINGS, series.collect())
}

/// Which rules cannot fire.
pub(super) fn blind(coverage: &[RuleCoverage]) -> Family {
    let series = coverage.iter().map(|rule| {
        let is_blind = !rule.missing.is_empty();
        series(&RULE_BLIND, [rule.rule.as_str()], u64::from(is_blind))
    });
    family(&RULE_BLIND, series.collect())
}

fn family(definition: &Definition, series: Vec<Series>) -> Family {
    Family { name: definition.name, help: definition.help, kind: definition.kind, series }
}

fn series<'a>(definition: &Definition, values: impl IntoIterator<Item = &'a str>, count: u64) -> Series {
    Series {
        labels: definition.labels.iter().copied().zip(values.into_iter().map(str::to_owned)).collect(),
        value: Value::Number(count as f64),
        exemplar: None,
    }
}
