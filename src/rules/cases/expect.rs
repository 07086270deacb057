//! What was found against what had to be found.
//!
//! In: expectations and findings. Out: nothing, or a report for a person: missing, unexpected, different, with evidence.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::findings::{Evidence, Finding};
use crate::instant::Instant;

use super::Told;
use super::assemble::Capture;
use super::case::Expect;
use crate::rules::problem::{listed as names_in, near};

/// Compares a case's expectations with the findings.
///
/// # Errors
/// The report.
pub fn compare(expected: &[Expect], capture: &Capture, findings: &[Finding]) -> Told<()> {
    let mut open: Vec<&Finding> = findings.iter().collect();
    let mut report = String::new();
    // The most specific first, so that a loose expectation does not take another's finding.
    let mut order: Vec<&Expect> = expected.iter().collect();
    order.sort_by_key(|expect| std::cmp::Reverse(expect.entity.len()));
    for expect in order {
        let entity = entity(expect, capture)?;
        let about = |finding: &&Finding| finding.rule == expect.rule && holds(&entity, &finding.entity);
        let candidates: Vec<usize> = (0..open.len()).filter(|at| about(&open[*at])).collect();
        let differences = |at: &usize| differences(expect, capture, open[*at]);
        let Some(best) = candidates.iter().min_by_key(|at| differences(at).len()).copied() else {
            let _ = writeln!(report, "missing    {} {} of {}", expect.severity, expect.rule, listed(&entity));
            continue;
        };
        for difference in differences(&best) {
            let _ = writeln!(report, "different  {}: {difference}\n{}", expect.rule, describe(open[best]));
        }
        open.remove(best);
    }
    for finding in open {
        let _ = writeln!(report, "unexpected {} {}\n{}", finding.severity.as_str(), finding.rule, describe(finding));
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

/// Whether every name of an expectation stands for something in the capture.
///
/// # Errors
/// When one does not.
pub fn names(expect: &Expect, capture: &Capture) -> Told<()> {
    entity(expect, capture)?;
    for at in [&expect.due_at, &expect.until_at].into_iter().flatten() {
        super::times::instant(at)?;
    }
    expect.evidence.iter().try_for_each(|name| capture.line(name).map(drop))
}

/// Whether a finding's entity has the values asked for.
pub fn holds(asked: &BTreeMap<String, String>, entity: &BTreeMap<String, String>) -> bool {
    asked.iter().all(|(column, value)| entity.get(column) == Some(value))
}

/// An entity in words.
fn listed(entity: &BTreeMap<String, String>) -> String {
    let values: Vec<String> = entity.iter().map(|(column, value)| format!("{column} {value}")).collect();
    if values.is_empty() { "anything".to_owned() } else { values.join(", ") }
}

/// A finding and its evidence, for a report.
pub fn describe(finding: &Finding) -> String {
    let mut text = format!(
        "           {} {} {}: {}\n           of {}, suspect {} because {}\n",
        finding.severity.as_str(),
        finding.confidence.as_str(),
        finding.rule,
        finding.summary,
        listed(&finding.entity),
        finding.suspect,
        finding.because
    );
    for evidence in &finding.evidence {
        let Evidence { role, source, position, says, table, observer, observed_at, .. } = evidence;
        let at = observed_at.to_rfc3339();
        let _ = writeln!(text, "             {source}:{position} {role}: {says} ({table}, seen by {observer}, {at})");
    }
    text
}

fn entity(expect: &Expect, capture: &Capture) -> Told<BTreeMap<String, String>> {
    expect.entity.iter().map(|(column, value)| Ok((column.clone(), capture.resolve(value)?))).collect()
}

fn differences(expect: &Expect, capture: &Capture, finding: &Finding) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, wanted: Option<String>, have: String| {
        if wanted.as_ref().is_some_and(|wanted| *wanted != have) {
            found.push(format!("{what} is {have}, must be {}", wanted.unwrap_or_default()));
        }
    };
    let at = |text: &Option<String>| text.as_deref().and_then(Instant::parse_rfc3339).map(Instant::to_rfc3339);
    check("severity", Some(expect.severity.clone()), finding.severity.as_str().to_owned());
    check("confidence", expect.confidence.clone(), finding.confidence.as_str().to_owned());
    check("suspect", expect.suspect.clone(), finding.suspect.clone());
    check("summary", expect.summary.clone(), finding.summary.clone());
    check("because", expect.because.clone(), finding.because.clone());
    check("count", expect.count.map(|count| count.to_string()), finding.count.to_string());
    check("due_at", at(&expect.due_at), finding.due_at.to_rfc3339());
    check("until_at", at(&expect.until_at), finding.until_at.map_or("never".to_owned(), Instant::to_rfc3339));
    let over = |text: &Option<String>| if text.as_deref() == Some("never") { text.clone() } else { at(text) };
    check("over_at", over(&expect.over_at), finding.over_at.map_or("never".to_owned(), Instant::to_rfc3339));
    for (column, value) in &expect.details {
        let have = match finding.details.get(column) {
            Some(have) => have.to_string(),
            None => {
                let near = near(column, finding.details.keys().map(String::as_str));
                format!("not there{near}: there are {}", names_in(finding.details.keys()))
            }
        };
        check(&format!("details.{column}"), Some(value.to_string()), have);
    }
    for name in &expect.evidence {
        match capture.line(name) {
            Ok(line) => {
                let is_it = |e: &&Evidence| e.position == line.position.to_string() && e.source.ends_with(&line.file);
                if finding.evidence.iter().find(is_it).is_none() {
                    found.push(format!("line {name} ({}:{}) is not among the evidence", line.file, line.position));
                }
            }
            Err(why) => found.push(why),
        }
    }
    found
}
