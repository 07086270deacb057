//! What the headers say, as labelled lines that every form of page shows.
//!
//! In: a rule or view. Out: labels and values. Knows no form.

use super::super::corpus::{Rule, View};
use super::super::params::Params;
use super::super::query::Query;
use crate::findings::Severity;

/// A labelled line.
pub(super) struct About {
    pub(super) label: &'static str,
    pub(super) values: Values,
}

/// What stands behind a label.
pub(super) enum Values {
    /// Words for people.
    Words(String),
    /// Names and values as they are written in files.
    Code(Vec<String>),
    /// Tables, views and rules.
    Queries(Vec<String>),
}

/// What a rule's header says, but for title and next step.
pub(super) fn rule(rule: &Rule) -> Vec<About> {
    let header = &rule.header;
    let severity = match header.severity {
        Severity::Info => Severity::Info.as_str().to_owned(),
        most => format!("{} at most", most.as_str()),
    };
    let mut lines = vec![
        words("severity", severity),
        words("says", header.summary.as_str().to_owned()),
        code("one finding per", header.entity.clone()),
        words("suspect", format!("{}, unless the finding says otherwise", header.suspect.as_str())),
        code("blind without", header.needs.iter().map(|need| need.text.clone()).collect()),
    ];
    lines.push(words("ends", ends(rule).to_owned()));
    lines.extend(thresholds(&header.params));
    lines.extend(conventions(&header.params, &rule.query));
    lines.push(About { label: "reads", values: Values::Queries(rule.query.reads.clone()) });
    lines.push(words("status", format!("{} since {}", header.status.as_str(), header.since)));
    lines
}

/// When a service that runs takes a finding for over.
pub(super) fn ends(rule: &Rule) -> &'static str {
    if rule.header.lasts { "when the facts say that it is over" } else { "an hour after its last evidence" }
}

/// What a view's header says, but for the title.
pub(super) fn view(view: &View) -> Vec<About> {
    let mut lines = vec![match &view.header.by {
        Some(by) => code("stored by", by.clone()),
        None => words("stored", "no: it becomes part of what reads it".to_owned()),
    }];
    lines.extend(thresholds(&view.header.params));
    lines.extend(conventions(&view.header.params, &view.query));
    lines.push(About { label: "reads", values: Values::Queries(view.query.reads.clone()) });
    lines
}

/// What to do next, as a sentence without its full stop; a rule whose rows each say it has no words for it here.
pub(super) fn next(rule: &Rule) -> &str {
    let next = rule.header.next.as_str();
    let is_of_row = rule.header.next.columns().eq([next.trim_matches(['{', '}'])]);
    if is_of_row { "what the finding says" } else { next.trim_end_matches('.') }
}

fn thresholds(params: &Params) -> Option<About> {
    let values: Vec<String> = params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    (!values.is_empty()).then(|| code("thresholds", values))
}

/// Thresholds that judge nothing, each with how it stands in a query: somebody's rule may call something else so.
const CONVENTIONS: [(&str, &str, &str); 3] = [
    (
        "named",
        "<= $named",
        "how many a finding names, or has as evidence, before it only counts the rest; changes no verdict",
    ),
    (
        "shown",
        "<= $shown",
        "how many facts of a kind a finding has as evidence; it counts all of them; changes no verdict",
    ),
    ("block", "$block * 1.0", "how many rows are looked through at once, for speed; changes no verdict"),
];

/// What those of a query do.
fn conventions(params: &Params, query: &Query) -> impl Iterator<Item = About> {
    let is_used = |name: &str, use_of_it: &str| params.contains_key(name) && query.text.contains(use_of_it);
    let used = CONVENTIONS.into_iter().filter(move |(name, use_of_it, _)| is_used(name, use_of_it));
    used.map(|(name, _, does)| words(name, does.to_owned()))
}

fn words(label: &'static str, words: String) -> About {
    About { label, values: Values::Words(words) }
}

fn code(label: &'static str, values: Vec<String>) -> About {
    About { label, values: Values::Code(values) }
}
