//! One finding on the page.
//!
//! In: a finding. Out: lines: what, when and how many, whose fault, the evidence of each side, what to do next.

use std::collections::BTreeSet;

use chrono::NaiveDate;

use super::{DIM, Detail, View};
use crate::findings::incident::{clients_of, tasks_touched};
use crate::findings::{Evidence, Finding};
use crate::page::Page;
use crate::publish::words::{clean, counts, date_time, place, time_on};

/// Pieces of evidence in one role that are shown before the middle is left out.
const SHOWN_PER_ROLE: usize = 3;
/// Width of the column of labels; roles are column names, and some are long.
const LABELS: std::ops::RangeInclusive<usize> = 7..=16;

/// Everything that a person needs to act on; of a finding that follows one of the same rule, not what would be said twice.
pub(super) fn full(page: &mut Page, finding: &Finding, above: Option<&Finding>, day: NaiveDate, view: View<'_>) {
    let roles = finding.evidence.iter().map(|fact| fact.role.chars().count());
    let labels = roles.max().unwrap_or_default().clamp(*LABELS.start(), *LABELS.end());

    page.paragraph(4, &clean(&finding.summary));
    page.labelled(6, labels, DIM, "when", &when(finding, day));
    if above.map(suspect) != Some(suspect(finding)) {
        page.labelled(6, labels, DIM, "suspect", &suspect(finding));
    }
    evidence(page, finding, labels, day, view);
    if !finding.next_step.is_empty() && above.is_none_or(|above| above.next_step != finding.next_step) {
        page.labelled(6, labels, DIM, "next", &clean(&finding.next_step));
    }
    if view.detail == Detail::Full {
        in_addition(page, finding, labels);
    }
}

/// What only a person who asks for everything wants to see.
fn in_addition(page: &mut Page, finding: &Finding, labels: usize) {
    let details: Vec<String> = finding
        .details
        .iter()
        .map(|(column, value)| format!("{}={}", clean(column), clean(&value.to_string())))
        .collect();
    if !details.is_empty() {
        page.labelled(6, labels, DIM, "details", &details.join(" "));
    }
    page.labelled(6, labels, DIM, "id", &clean(&finding.id));
}

/// One line of context.
pub(super) fn in_brief(page: &mut Page, finding: &Finding, view: View<'_>) {
    let at = finding.evidence.first().map(|fact| format!(", {}", place_of(fact, view))).unwrap_or_default();
    page.text(4, &format!("{} ({}{at})", clean(&finding.summary), date_time(finding.first_seen)));
}

fn suspect(finding: &Finding) -> String {
    format!("{}, {}: {}", clean(&finding.suspect), finding.confidence.as_str(), clean(&finding.because))
}

fn when(finding: &Finding, day: NaiveDate) -> String {
    let mut when = format!("since {}", time_on(day, finding.first_seen));
    if finding.last_seen > finding.first_seen {
        when.push_str(&format!(", last {}", time_on(day, finding.last_seen)));
    }
    let clients: BTreeSet<&str> = clients_of(finding).collect();
    let touched = counts(&[(tasks_touched(std::iter::once(finding)), "task"), (clients.len(), "client")]);
    if !touched.is_empty() {
        when.push_str(&format!("; {touched}"));
    }
    if finding.count > 1 {
        when.push_str(&format!("; counted {} times", finding.count));
    }
    when
}

/// The facts, role by role in the rule's order, in each role the first and the last ones.
fn evidence(page: &mut Page, finding: &Finding, labels: usize, day: NaiveDate, view: View<'_>) {
    for alike in finding.evidence.chunk_by(|a, b| a.role == b.role) {
        let fold = view.detail != Detail::Full && alike.len() > SHOWN_PER_ROLE + 1;
        let (head, last) = if fold { (&alike[..SHOWN_PER_ROLE - 1], alike.last()) } else { (alike, None) };
        for fact in head {
            page.labelled(6, labels, DIM, &clean(&fact.role), &statement(fact, day, view));
        }
        if let Some(last) = last {
            page.labelled(6, labels, DIM, "", &format!("({} more)", alike.len() - SHOWN_PER_ROLE));
            page.labelled(6, labels, DIM, &clean(&last.role), &statement(last, day, view));
        }
    }
}

/// `completed (poll) — server, 06:15:40.120Z, day.ndjson:31`.
fn statement(fact: &Evidence, day: NaiveDate, view: View<'_>) -> String {
    let who = match (fact.observer.as_str(), fact.client.as_str()) {
        ("client", client) if !client.is_empty() => format!("client {}", clean(client)),
        (observer, _) => clean(observer).into_owned(),
    };
    let place = place_of(fact, view);
    format!("{} — {who}, {}, {place}", clean(&fact.says), time_on(day, fact.observed_at))
}

/// File and line, else the trace; both where everything is wanted.
fn place_of(fact: &Evidence, view: View<'_>) -> String {
    let place = place(view.folder, &fact.source, &fact.position);
    let span = if fact.span_id.is_empty() { String::new() } else { format!(" span {}", clean(&fact.span_id)) };
    let trace = format!("trace {}{span}", clean(&fact.trace_id));
    match (fact.source.is_empty(), fact.trace_id.is_empty()) {
        (true, _) => trace,
        (false, false) if view.detail == Detail::Full => format!("{place}, {trace}"),
        (false, _) => place,
    }
}
