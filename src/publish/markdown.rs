//! The verdict as Markdown, for a pull request or the channel of an incident.
//!
//! In: a report. Out: GitHub's Markdown: the verdict, a table of incidents, what to do about each, the rest folded. Text
//! from outside stands in it as text: it makes no link, image, mention or heading.

use std::fmt::Write;

use super::words::{
    NO_CLIENT, amount, by_whom, clean, count, counts, date_time, day, place, short_hash, time_on, window,
};
use crate::findings::incident::tasks_touched;
use crate::findings::{Finding, Incident, Report, Severity, Verdict};

/// Findings of one incident that are shown in full.
const SHOWN: usize = 10;

/// The page.
pub fn render(report: &Report) -> String {
    let mut page = String::new();
    verdict(&mut page, report);
    let bad: Vec<&Incident> = report.incidents.iter().filter(|incident| incident.severity > Severity::Info).collect();
    if !bad.is_empty() {
        line(&mut page, "| | agent | since | tasks | clients | findings |\n|---|---|---|---|---|---|");
        bad.iter().for_each(|incident| row(&mut page, incident, report));
        page.push('\n');
    }
    for incident in bad {
        show(&mut page, incident, report);
    }
    notes(&mut page, report);
    if report.intake.names_no_client {
        line(&mut page, &format!("{}; `a2a-drift coverage` says how to name them.\n", text(NO_CLIENT)));
    }
    blind(&mut page, report);
    page
}

/// Writing to a String cannot fail.
fn line(page: &mut String, text: &str) {
    _ = writeln!(page, "{text}");
}

fn verdict(page: &mut String, report: &Report) {
    let word = match report.verdict() {
        Verdict::Clean => "No drift",
        Verdict::Drift => "Drift",
        Verdict::Incomplete => "Incomplete",
        Verdict::Unjudged => "Not judged",
    };
    let numbers = [Severity::Critical, Severity::Warning, Severity::Info].map(|s| (report.count(s), s.as_str()));
    let found: Vec<String> =
        numbers.iter().filter(|(number, _)| *number > 0).map(|(number, word)| format!("{number} {word}")).collect();
    let found = if found.is_empty() { "nothing found".to_owned() } else { found.join(", ") };
    let is_narrow = report.verdict() == Verdict::Clean && report.blind().next().is_some();
    let whose = if is_narrow { format!(" {}", text(&by_whom(report))) } else { String::new() };
    line(page, &format!("## a2a-drift: {word}{whose}\n"));
    let (read, blind) = (amount(&report.intake), report.blind().count());
    let rejected = match usize::try_from(report.intake.rejected()).unwrap_or(usize::MAX) {
        0 => String::new(),
        rejected => format!("; {} not understood", count(rejected, "piece")),
    };
    line(
        page,
        &format!(
            "{found}{}; {} of {} could judge {}{rejected}.\n",
            window(report).map(|window| format!(" ({window})")).unwrap_or_default(),
            report.coverage.len() - blind,
            count(report.coverage.len(), "rule"),
            read,
        ),
    );
    for failure in &report.failures {
        line(page, &format!("- **{}** could not run: {}", text(&failure.rule), text(&failure.message)));
    }
}

fn row(page: &mut String, incident: &Incident, report: &Report) {
    let rules: std::collections::BTreeSet<&str> =
        incident.findings.iter().filter_map(|at| report.findings.get(*at)).map(|f| f.rule.as_str()).collect();
    let rules: Vec<String> = rules.into_iter().map(|rule| format!("`{rule}`")).collect();
    line(
        page,
        &format!(
            "| {} | {} | {} | {} | {} | {} |",
            incident.severity.as_str(),
            agent(&incident.agent),
            date_time(incident.since),
            tasks_touched(incident.findings.iter().filter_map(|at| report.findings.get(*at))),
            incident.clients.len(),
            rules.join(", "),
        ),
    );
}

fn agent(name: &str) -> String {
    if name.is_empty() { "(no agent)".to_owned() } else { text(name) }
}

fn show(page: &mut String, incident: &Incident, report: &Report) {
    let card = incident.generation.as_ref().map(|generation| {
        format!(" (card {}, contract `{}`)", text(&generation.version), short_hash(&generation.contract_sha256))
    });
    line(page, &format!("### {}{}\n", agent(&incident.agent), card.unwrap_or_default()));
    let findings: Vec<&Finding> = incident.findings.iter().filter_map(|at| report.findings.get(*at)).collect();
    for found in findings.iter().take(SHOWN) {
        finding(page, found);
    }
    if findings.len() > SHOWN {
        line(page, &format!("- and {} more\n", findings.len() - SHOWN));
    }
}

fn finding(page: &mut String, finding: &Finding) {
    let today = day(finding.first_seen);
    line(page, &format!("- **{}** `{}`: {}", finding.severity.as_str(), finding.rule, text(&finding.summary)));
    line(
        page,
        &format!(
            "  - suspect: {} ({}): {}",
            text(&finding.suspect),
            finding.confidence.as_str(),
            text(&finding.because)
        ),
    );
    for fact in &finding.evidence {
        let at = place("", &fact.source, &fact.position);
        let traced =
            if fact.trace_id.is_empty() { String::new() } else { format!(", trace `{}`", code(&fact.trace_id)) };
        let (role, says, when) = (text(&fact.role), text(&fact.says), time_on(today, fact.observed_at));
        line(page, &format!("  - {role}: {says}, {when}, `{}`{traced}", code(&at)));
    }
    line(page, &format!("  - **next**: {}\n", text(&finding.next_step)));
}

fn notes(page: &mut String, report: &Report) {
    let notes: Vec<&Finding> = report.findings.iter().filter(|finding| finding.severity == Severity::Info).collect();
    if notes.is_empty() {
        return;
    }
    line(page, &format!("<details><summary>{}</summary>\n", counts(&[(notes.len(), "note")])));
    for note in notes {
        line(page, &format!("- `{}`: {}", note.rule, text(&note.summary)));
    }
    line(page, "\n</details>\n");
}

fn blind(page: &mut String, report: &Report) {
    let blind: Vec<_> = report.blind().collect();
    if blind.is_empty() {
        return;
    }
    line(page, &format!("<details><summary>{} blind here</summary>\n", count(blind.len(), "rule")));
    for rule in blind {
        line(page, &format!("- `{}` lacks `{}`", rule.rule, rule.missing.join("`, `")));
    }
    line(page, "\n</details>");
}

/// Text from outside, with what Markdown would act on escaped.
pub(super) fn text(outside: &str) -> String {
    let mut safe = String::with_capacity(outside.len());
    for c in clean(outside).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // A mention would call people.
            '@' => safe.push_str("&#64;"),
            '#' => safe.push_str("&#35;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Text from outside within backticks.
pub(super) fn code(outside: &str) -> String {
    clean(outside).replace('`', "'").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::samples::{bad_rollout, nothing_found};

    #[test]
    fn the_page_says_verdict_incidents_and_next_steps() {
        insta::assert_snapshot!(render(&bad_rollout()));
    }

    #[test]
    fn nothing_found_is_said() {
        let page = render(&nothing_found());
        assert!(page.starts_with("## a2a-drift: No drift by 4 of 7 rules; 3 are blind\n\nnothing found; "), "{page}");
    }

    #[test]
    fn that_no_client_is_named_is_said() {
        let said = "No client is named in this input: callers cannot be told apart, ";
        let mut report = nothing_found();
        assert!(!render(&report).contains(said));
        report.intake.names_no_client = true;
        assert!(render(&report).contains(&format!("\n\n{said}")), "{}", render(&report));
    }

    #[test]
    fn text_from_outside_stays_text() {
        assert_eq!(
            text("[x](http://e) @all <img> **b** `c` | #1"),
            "\\[x\\](http://e) &#64;all &lt;img&gt; \\*\\*b\\*\\* \\`c\\` \\| &#35;1"
        );
        assert_eq!(code("a`b"), "a'b");
    }
}
