//! The page for a person on call: the verdict first, then incidents worst first, then what could not be seen or read.
//!
//! In: a report and the width of the page. Out: text with ANSI colours. Every text from outside goes through `clean`.

mod finding;

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Color, Style};

use self::finding::{full, in_brief};
use super::words::{
    NO_CLIENT, amount, by_whom, clean, count, counts, date_time, day, first_few, folder_of_all, moment, place,
    short_hash, window,
};
use crate::findings::incident::tasks_touched;
use crate::findings::{AcceptedCount, Finding, Incident, Report, Severity, Unjudged, Verdict};
use crate::page::Page;

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The verdict and the incidents.
    Brief,
    /// Also coverage and rejects, with many findings of one rule folded.
    #[default]
    Normal,
    /// Everything, with nothing folded.
    Full,
}

/// How a report is looked at.
#[derive(Debug, Clone, Copy)]
struct View<'a> {
    detail: Detail,
    /// The folder that all sources are in: said once, and left out of every place.
    folder: &'a str,
}

/// Findings of one rule in one incident that are shown in full before the rest is only listed.
const SHOWN_PER_RULE: usize = 3;
/// Names listed before the rest is only counted.
const LISTED: usize = 8;

/// Sets of missing fields that are told one by one.
const EXPLAINED: usize = 6;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Red)));
const YELLOW: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
const CYAN: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Cyan)));
const GREEN: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Green)));

/// The page.
pub fn render(report: &Report, width: usize, detail: Detail) -> String {
    let folder = folder_of_all(report.intake.sources.iter().map(|source| source.name.as_str()));
    let view = View { detail, folder };
    let mut page = Page::new(width);
    verdict(&mut page, report, view);
    for incident in report.incidents.iter().filter(|incident| incident.severity > Severity::Info) {
        page.gap();
        show_incident(&mut page, report, incident, view);
    }
    information(&mut page, report, view);
    failures(&mut page, report);
    if detail != Detail::Brief {
        if report.intake.names_no_client {
            page.gap();
            page.item(0, BOLD, "Clients", &format!("{NO_CLIENT}; `a2a-drift coverage` says how to name them"));
        }
        blind(&mut page, report, detail);
        rejects(&mut page, report, view);
    }
    page.finish()
}

fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Critical => RED,
        Severity::Warning => YELLOW,
        Severity::Info => CYAN,
    }
}

fn verdict(page: &mut Page, report: &Report, view: View<'_>) {
    let (word, style) = match report.verdict() {
        Verdict::Unjudged => ("NO VERDICT", RED),
        Verdict::Incomplete => ("INCOMPLETE", RED),
        Verdict::Drift => ("DRIFT", report.worst().map_or(RED, severity_style)),
        Verdict::Clean => ("CLEAN", GREEN),
    };
    let found: Vec<String> = [Severity::Critical, Severity::Warning, Severity::Info]
        .into_iter()
        .map(|severity| (report.count(severity), severity))
        .filter(|(number, _)| *number > 0)
        .map(|(number, severity)| format!("{number} {}", severity.as_str()))
        .collect();
    let found = match report.incidents.iter().map(|incident| incident.since).min() {
        Some(since) => {
            let touched = counts(&[
                (report.agents().len(), "agent"),
                (tasks_touched(report.findings.iter()), "task"),
                (report.clients().len(), "client"),
            ]);
            let touched = if touched.is_empty() { touched } else { format!("; {touched}") };
            format!("{}{touched}; since {}", found.join(", "), date_time(since))
        }
        None => "nothing found".to_owned(),
    };
    let found = match report.unjudged() {
        Some(Unjudged::EmptyWindow) => "no records in this window".to_owned(),
        _ => found,
    };
    let is_narrow = report.verdict() == Verdict::Clean && report.blind().next().is_some();
    if is_narrow {
        page.item(0, style, word, &by_whom(report));
        page.text(0, BY_COVERAGE);
        page.item(0, DIM, "", &format!("{found}; {}", basis(report, view, "")));
    } else {
        page.item(0, style, word, &found);
        let judging = report.judging().count();
        let judged = format!("{judging} of {} could judge; ", count(report.coverage.len(), "rule"));
        page.item(0, DIM, "", &basis(report, view, &judged));
    }
}

/// Where to read on when a clean verdict is one of few rules.
const BY_COVERAGE: &str =
    "`a2a-drift coverage` with the same paths says what the blind rules lack, and what to turn on";

/// The same where they are listed.
const BLIND_BY_COVERAGE: &str =
    "`a2a-drift coverage` with the same paths says what they lack, and what to turn on; `--verbose` lists it here";

/// What the verdict rests on; how many rules could judge is `judged`.
fn basis(report: &Report, view: View<'_>, judged: &str) -> String {
    let intake = &report.intake;
    let records = amount(intake);
    let sources = count(intake.sources.len(), "source");
    let below = if view.folder.is_empty() { String::new() } else { format!(" below {}", clean(view.folder)) };
    let as_of = report.as_of.map_or_else(|| "each agent's last fact".to_owned(), moment);
    let AcceptedCount { baseline, suppressed } = report.accepted;
    let accepted = counts(&[(baseline, "baseline finding"), (suppressed, "suppressed finding")]);
    let accepted = if accepted.is_empty() { accepted } else { format!("; not shown: {accepted}") };
    let window = window(report).map(|window| format!("; {window}")).unwrap_or_default();
    let rejected = match usize::try_from(intake.rejected()).unwrap_or(usize::MAX) {
        0 => String::new(),
        rejected => format!(", {} not understood", count(rejected, "piece")),
    };
    let of = |reason: &str| -> u64 {
        intake.rejects.iter().filter(|reject| reject.reason == reason).map(|reject| reject.count).sum()
    };
    let missing: Vec<String> = [("truncated", "cut off: there was more"), ("unreadable", "unreadable")]
        .into_iter()
        .map(|(reason, words)| (of(reason), words))
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{number} {words}"))
        .collect();
    let missing = if missing.is_empty() { String::new() } else { format!(" ({})", missing.join(", ")) };
    format!("{records} from {sources}{below}{rejected}{missing}; {judged}as of {as_of}{window}{accepted}")
}

fn show_incident(page: &mut Page, report: &Report, incident: &Incident, view: View<'_>) {
    let agent = if incident.agent.is_empty() { "no agent named".into() } else { clean(&incident.agent) };
    let mut about = match &incident.generation {
        Some(generation) => {
            let version = if generation.version.is_empty() { "without version" } else { &generation.version };
            format!("card {}, contract {}; ", clean(version), short_hash(&clean(&generation.contract_sha256)))
        }
        // What several agents share has no card.
        None if incident.agent.is_empty() => String::new(),
        None => "no card seen by then; ".to_owned(),
    };
    about.push_str(&format!("since {}", date_time(incident.since)));
    let findings = incident.findings.iter().map(|&place| &report.findings[place]);
    let touched = counts(&[(tasks_touched(findings.clone()), "task"), (incident.clients.len(), "client")]);
    if !touched.is_empty() {
        about.push_str(&format!("; {touched}"));
    }
    page.item(0, BOLD, &agent, &about);

    for alike in by_rule(findings.filter(|finding| finding.severity > Severity::Info)) {
        show_alike(page, &alike, incident, view);
    }
}

/// Findings of one rule and severity, in the order in which they come.
fn by_rule<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Vec<&'a Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        match groups.last_mut() {
            Some(group) if group[0].rule == finding.rule && group[0].severity == finding.severity => {
                group.push(finding);
            }
            _ => groups.push(vec![finding]),
        }
    }
    groups
}

fn show_alike(page: &mut Page, alike: &[&Finding], incident: &Incident, view: View<'_>) {
    let first = alike[0];
    let number = if alike.len() > 1 { format!("{} times", alike.len()) } else { String::new() };
    let word = first.severity.as_str().to_uppercase();
    page.gap();
    page.item(2, severity_style(first.severity), &format!("{word} {}", clean(&first.rule)), &number);
    let shown = if view.detail == Detail::Full { alike.len() } else { SHOWN_PER_RULE };
    for (number, finding) in alike.iter().take(shown).enumerate() {
        if number > 0 {
            page.gap();
        }
        full(page, finding, number.checked_sub(1).map(|before| alike[before]), day(incident.since), view);
    }
    folded(page, alike.get(shown..).unwrap_or_default());
}

/// What is left of findings alike, by the tasks that they are about, else by whatever tells them apart.
fn folded(page: &mut Page, rest: &[&Finding]) {
    if rest.is_empty() {
        return;
    }
    let all_have_tasks = rest.iter().all(|finding| finding.task_id.is_some());
    let noun = if all_have_tasks { "task" } else { "finding" };
    let names: Vec<String> = rest.iter().map(|finding| name_of(finding)).collect();
    page.gap();
    let list = first_few(names.iter().map(String::as_str), LISTED);
    page.text(4, &format!("and {} (--verbose shows them): {list}", count(rest.len(), &format!("more {noun}"))));
}

fn name_of(finding: &Finding) -> String {
    let of_entity = || {
        let values = finding.entity.iter().filter(|(column, value)| *column != "agent" && !value.is_empty());
        values.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ")
    };
    finding.task_id.clone().unwrap_or_else(of_entity)
}

fn information(page: &mut Page, report: &Report, view: View<'_>) {
    let findings = report.findings.iter().filter(|finding| finding.severity == Severity::Info);
    let groups = by_rule(findings);
    if groups.is_empty() {
        return;
    }
    page.gap();
    page.item(0, BOLD, "For information", "");
    for alike in groups {
        let number = if alike.len() > 1 { format!("{} times", alike.len()) } else { String::new() };
        page.item(2, CYAN, &clean(&alike[0].rule), &number);
        let shown = if view.detail == Detail::Full { alike.len() } else { SHOWN_PER_RULE };
        for finding in alike.iter().take(shown) {
            in_brief(page, finding, view);
        }
        if let Some(rest) = alike.len().checked_sub(shown).filter(|rest| *rest > 0) {
            page.text(4, &format!("and {rest} more"));
        }
    }
}

fn failures(page: &mut Page, report: &Report) {
    if report.failures.is_empty() {
        return;
    }
    page.gap();
    page.item(0, RED, "Rules that failed", "their silence says nothing");
    for failure in &report.failures {
        page.text(2, &format!("{}: {}", clean(&failure.rule), clean(&failure.message)));
    }
}

/// Rules without a field that they need. Few are told with what they lack and how it comes, of many that would bury what was
/// found.
fn blind(page: &mut Page, report: &Report, detail: Detail) {
    let mut rules_by_missing: BTreeMap<&[String], Vec<&str>> = BTreeMap::new();
    for rule in report.blind() {
        rules_by_missing.entry(&rule.missing).or_default().push(&rule.rule);
    }
    if rules_by_missing.is_empty() {
        return;
    }
    let (blind, rules) = (report.blind().count(), count(report.coverage.len(), "rule"));
    page.gap();
    page.item(0, BOLD, "Blind", &format!("{blind} of {rules}: a field is missing in this input"));
    if rules_by_missing.len() > EXPLAINED && detail != Detail::Full {
        page.text(2, &first_few(report.blind().map(|rule| rule.rule.as_str()), usize::MAX));
        page.text(2, BLIND_BY_COVERAGE);
        return;
    }
    for (missing, rules) in rules_by_missing {
        let missing = first_few(missing.iter().map(String::as_str), LISTED);
        page.text(2, &format!("without {missing}: {}", first_few(rules, usize::MAX)));
    }
    advice(page, report);
}

/// How to see more: each piece of advice once, with the fields that it is on.
fn advice(page: &mut Page, report: &Report) {
    let mut fields_by_advice: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (need, advice) in &report.advice {
        fields_by_advice.entry(advice).or_default().push(need);
    }
    let mut advice: Vec<(Vec<&str>, &str)> = fields_by_advice.into_iter().map(|(how, fields)| (fields, how)).collect();
    advice.sort();
    if !advice.is_empty() {
        page.item(0, BOLD, "To see more", "");
    }
    for (fields, how) in advice {
        page.text(2, &format!("{}: {how}", first_few(fields, LISTED)));
    }
}

fn rejects(page: &mut Page, report: &Report, view: View<'_>) {
    let intake = &report.intake;
    if intake.rejects.is_empty() {
        return;
    }
    page.gap();
    page.item(0, BOLD, "Not understood", &format!("{} of the input", count(intake.rejected(), "piece")));
    for reject in &intake.rejects {
        let at = place(view.folder, &reject.source, &reject.position);
        page.text(2, &format!("{} {}, first {at}: {}", reject.count, reject.reason, clean(&reject.detail)));
    }
}

#[cfg(test)]
mod tests;
