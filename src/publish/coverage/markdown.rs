//! Coverage as Markdown, for a ticket: what to turn on is a list to tick off.
//!
//! In: coverage. Out: GitHub's Markdown. Text from outside stands in it as text.

use std::collections::BTreeSet;

use super::{HOW, basis, brings, source, verdict};
use crate::findings::coverage::{Coverage, Gain};
use crate::publish::markdown::{code, text};

/// The page.
pub fn render(coverage: &Coverage) -> String {
    let mut page = format!("## a2a-drift coverage\n\n{}; {}.\n", verdict(coverage), text(&basis(coverage)));
    if !coverage.gains.is_empty() {
        page.push_str(&format!("\n### To turn on\n\nThe {HOW}\n\n"));
        page.extend(coverage.gains.iter().enumerate().map(|(at, step)| gain(coverage, at, step)));
    }
    let waiting = coverage.unseen();
    if !waiting.is_empty() {
        page.push_str("\n### Not seen in this traffic, and nothing to turn on\n\n");
        let rules = |rules: &BTreeSet<&str>| rules.iter().map(|rule| format!("`{}`", code(rule))).collect::<Vec<_>>();
        page.extend(waiting.iter().map(|(what, by)| format!("- {}: {}\n", text(what), rules(by).join(", "))));
    }
    page.push_str("\n| rule | sees | lacks |\n|---|---|---|\n");
    for rule in &coverage.rules {
        let mut lacks: Vec<String> = rule.missing.iter().map(|missing| format!("`{}`", code(&missing.need))).collect();
        lacks.extend(rule.unseen.iter().map(|unseen| {
            format!(
                "{}: {}",
                text(&unseen.agent),
                unseen.missing.iter().map(|need| format!("`{}`", code(need))).collect::<Vec<_>>().join(", ")
            )
        }));
        page.push_str(&format!("| `{}` | {} | {} |\n", code(&rule.rule), rule.state.as_str(), lacks.join(", ")));
    }
    page.push_str("\n| source | holds |\n|---|---|\n");
    for (at, of) in coverage.intake.sources.iter().enumerate() {
        page.push_str(&format!("| `{}` | {} |\n", code(&of.name), text(&source(coverage, at))));
    }
    page
}

fn gain(coverage: &Coverage, at: usize, gain: &Gain) -> String {
    let what = match gain.set.is_empty() {
        true => text(&gain.note),
        false => format!("**{}**: `{}` {}", text(&gain.emitter), code(&gain.set), text(&gain.note)),
    };
    let names = |rules: &[String]| rules.iter().map(|rule| format!("`{}`", code(rule))).collect::<Vec<_>>().join(", ");
    let mut entry = format!("- [ ] {what}\n");
    if !gain.wakes.is_empty() {
        entry.push_str(&format!("  - {}: {}\n", brings(coverage, at, gain), names(&gain.wakes)));
    }
    if !gain.perhaps.is_empty() {
        entry.push_str(&format!(
            "  - maybe {}, where the traffic says {}\n",
            names(&gain.perhaps),
            names(&gain.if_said)
        ));
    }
    if !gain.helps.is_empty() {
        entry.push_str(&format!("  - helps {}\n", names(&gain.helps)));
    }
    if !gain.source.is_empty() {
        entry.push_str(&format!("  - source: {}\n", text(&gain.source)));
    }
    entry
}
