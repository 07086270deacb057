//! Coverage as Markdown, for a ticket: what to turn on is a list to tick off.
//!
//! In: coverage. Out: GitHub's Markdown. Text from outside stands in it as text.

use super::{basis, source, verdict};
use crate::findings::coverage::{Coverage, Gain};
use crate::publish::markdown::{code, text};
use crate::publish::words::count;

/// The page.
pub fn render(coverage: &Coverage) -> String {
    let mut page = format!("## a2a-drift coverage\n\n{}; {}.\n", verdict(coverage), text(&basis(coverage)));
    if !coverage.gains.is_empty() {
        page.push_str("\n### To turn on, in this order\n\n");
        page.extend(coverage.gains.iter().map(gain));
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

fn gain(gain: &Gain) -> String {
    let what = match gain.set.is_empty() {
        true => text(&gain.note),
        false => format!("**{}**: `{}` {}", text(&gain.emitter), code(&gain.set), text(&gain.note)),
    };
    let names = |rules: &[String]| rules.iter().map(|rule| format!("`{}`", code(rule))).collect::<Vec<_>>().join(", ");
    let mut entry = format!("- [ ] {what}\n");
    if !gain.wakes.is_empty() {
        entry.push_str(&format!("  - wakes {}: {}\n", count(gain.wakes.len(), "rule"), names(&gain.wakes)));
    }
    if !gain.helps.is_empty() {
        entry.push_str(&format!("  - helps {}\n", names(&gain.helps)));
    }
    if !gain.source.is_empty() {
        entry.push_str(&format!("  - source: {}\n", text(&gain.source)));
    }
    entry
}
