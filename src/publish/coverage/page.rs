//! The page of coverage for people: what to turn on, what was read, which rules see.
//!
//! In: coverage, the width of the page. Out: text with ANSI colours.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Color, Style};

use super::{HOW, basis, brings, source, verdict};
use crate::findings::coverage::{Coverage, Gain, Missing, Sight, State};
use crate::page::Page;
use crate::publish::words::{NO_CLIENT, clean, count, first_few, folder_of_all};

/// Sources, and agents of one rule, that are shown one by one.
const LISTED: usize = 20;
/// Agents that a rule does not see, named before the rest is counted.
const NAMED: usize = 3;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Green)));
const YELLOW: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
const RED: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Red)));

/// The page; `brief` leaves out the rules one by one.
pub fn render(coverage: &Coverage, width: usize, brief: bool) -> String {
    let mut page = Page::new(width);
    let style = match coverage.rules.iter().map(|rule| rule.state).max() {
        Some(State::Able) => GREEN,
        Some(State::Partly) => YELLOW,
        Some(State::Blind) | None => RED,
    };
    page.item(0, style, "COVERAGE", &verdict(coverage));
    page.item(0, DIM, "", &clean(&basis(coverage)));
    if coverage.intake.facts == 0 {
        // What was read gives nothing: that comes first, and of what could be done only how to begin.
        sources(&mut page, coverage);
        begin(&mut page, coverage);
        return page.finish();
    }
    gains(&mut page, coverage);
    unseen(&mut page, coverage);
    if let Some(how) = &coverage.clients {
        page.gap();
        page.item(0, YELLOW, "Clients", &format!("{NO_CLIENT}. {}", clean(how)));
    }
    sources(&mut page, coverage);
    if !brief {
        able(&mut page, coverage);
        partly(&mut page, coverage);
        blind(&mut page, coverage);
    }
    never(&mut page, coverage);
    page.finish()
}

fn sources(page: &mut Page, coverage: &Coverage) {
    let folder = folder_of_all(coverage.intake.sources.iter().map(|source| source.name.as_str()));
    let below = if folder.is_empty() { String::new() } else { format!("below {}", clean(folder)) };
    page.gap();
    page.item(0, BOLD, "Sources", &below);
    for at in 0..coverage.intake.sources.len().min(LISTED) {
        let name = &coverage.intake.sources[at].name;
        let name = if name == "-" { "stdin".into() } else { clean(name.strip_prefix(folder).unwrap_or(name)) };
        page.text(2, &format!("{name}: {}", source(coverage, at)));
    }
    if let Some(more) = coverage.intake.sources.len().checked_sub(LISTED).filter(|more| *more > 0) {
        page.text(2, &format!("and {}", count(more, "more source")));
    }
}

fn able(page: &mut Page, coverage: &Coverage) {
    let rules: Vec<&str> = coverage.of(State::Able).map(|rule| rule.rule.as_str()).collect();
    if !rules.is_empty() {
        page.gap();
        page.item(0, GREEN, "Able", &count(rules.len(), "rule"));
        page.paragraph(2, &first_few(rules, usize::MAX));
    }
}

fn partly(page: &mut Page, coverage: &Coverage) {
    let rules: Vec<&Sight> = coverage.of(State::Partly).collect();
    if rules.is_empty() {
        return;
    }
    page.gap();
    page.item(
        0,
        YELLOW,
        "Partly",
        &format!("{}: not of every agent, or not by every field", count(rules.len(), "rule")),
    );
    let labels = widest(&rules);
    let agents = coverage.agents.len();
    for rule in rules {
        let mut says = Vec::new();
        if !rule.unseen.is_empty() {
            let seen = agents.saturating_sub(rule.unseen.len());
            let mut fields: Vec<&str> = rule.unseen.iter().flat_map(|u| &u.missing).map(String::as_str).collect();
            fields.sort_unstable();
            fields.dedup();
            let names = first_few(rule.unseen.iter().map(|unseen| unseen.agent.as_str()), NAMED);
            let nameless = if rule.nameless { ", and facts that name none" } else { "" };
            let agents = count(agents, "agent");
            says.push(format!("sees {seen} of {agents}{nameless}; without {} for {names}", fields.join(", ")));
        }
        let fields: Vec<&str> = rule.missing.iter().map(|missing| missing.need.as_str()).collect();
        if !fields.is_empty() {
            says.push(format!("not by {}", fields.join(", ")));
        }
        page.labelled(2, labels, DIM, &clean(&rule.rule), &says.join("; "));
    }
}

fn blind(page: &mut Page, coverage: &Coverage) {
    let rules: Vec<&Sight> = coverage.of(State::Blind).collect();
    if rules.is_empty() {
        return;
    }
    page.gap();
    page.item(0, RED, "Blind", &format!("{}, for want of these fields", count(rules.len(), "rule")));
    let labels = widest(&rules);
    for rule in rules {
        let field = |missing: &Missing| match missing.unseen {
            Some(_) => format!("{} (not seen)", missing.need),
            None => missing.need.clone(),
        };
        let fields: Vec<String> = rule.missing.iter().filter(|missing| !missing.has_other).map(field).collect();
        page.labelled(2, labels, DIM, &clean(&rule.rule), &fields.join(", "));
    }
}

fn widest(rules: &[&Sight]) -> usize {
    rules.iter().map(|rule| rule.rule.len()).max().unwrap_or_default()
}

/// How to begin where nothing is known yet.
fn begin(page: &mut Page, coverage: &Coverage) {
    if let Some(first) = coverage.gains.first() {
        page.gap();
        page.item(0, BOLD, "To begin with", &format!("{}, {}", clean(&first.emitter), brings(coverage, 0, first)));
        show(page, &Gain { wakes: vec![], perhaps: vec![], helps: vec![], ..first.clone() }, 2);
    }
}

/// The steps.
fn gains(page: &mut Page, coverage: &Coverage) {
    if coverage.gains.is_empty() {
        return;
    }
    page.gap();
    page.item(0, BOLD, "What to turn on", HOW);
    for (at, gain) in coverage.gains.iter().enumerate() {
        page.gap();
        let whose = if gain.emitter.is_empty() { "what your programs send" } else { &gain.emitter };
        page.item(2, BOLD, &format!("{}. {}", at + 1, clean(whose)), &brings(coverage, at, gain));
        show(page, gain, 5);
    }
}

/// What did not happen, though it would have been written.
fn unseen(page: &mut Page, coverage: &Coverage) {
    let waiting = coverage.unseen();
    if waiting.is_empty() {
        return;
    }
    page.gap();
    page.item(
        0,
        BOLD,
        "Not seen in this traffic",
        "what writes now is set to show it: nothing to turn on, but a longer look",
    );
    for (what, rules) in waiting {
        page.text(2, &format!("{}: {}", clean(what), first_few(rules, usize::MAX)));
    }
}

fn show(page: &mut Page, gain: &Gain, indent: usize) {
    let list = |names: &[String]| first_few(names.iter().map(String::as_str), usize::MAX);
    let perhaps = match gain.perhaps.as_slice() {
        [] => String::new(),
        rules => format!("{}, where the traffic says {}", list(rules), list(&gain.if_said)),
    };
    let lines = [
        ("set", clean(&gain.set).into_owned()),
        (if gain.set.is_empty() { "do" } else { "note" }, clean(&gain.note).into_owned()),
        ("wakes", list(&gain.wakes)),
        ("maybe", perhaps),
        ("helps", list(&gain.helps)),
        ("source", clean(&gain.source).into_owned()),
    ];
    for (label, text) in lines.into_iter().filter(|(_, text)| !text.is_empty()) {
        page.labelled(indent, "source".len(), DIM, label, &text);
    }
}

/// What emitters in use will not say, each reason once.
fn never(page: &mut Page, coverage: &Coverage) {
    let mut fields_by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for missing in coverage.of(State::Blind).flat_map(|rule| &rule.missing) {
        for reason in &missing.never {
            let fields = fields_by_reason.entry(reason).or_default();
            if !fields.contains(&missing.need.as_str()) {
                fields.push(&missing.need);
            }
        }
    }
    if fields_by_reason.is_empty() {
        return;
    }
    page.gap();
    page.item(0, BOLD, "Not to be had", "from what writes now, however it is set");
    for (reason, fields) in fields_by_reason {
        page.text(2, &format!("{}. Not: {}", clean(reason), first_few(fields, LISTED)));
    }
}
