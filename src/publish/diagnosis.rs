//! Why there is no verdict, and what to do about it.
//!
//! In: a report without a verdict. Out: text for standard error. Never claims that anything is healthy.

use super::words::{bounds, clean, count, first_few, place};
use crate::findings::{Intake, RejectCount, Report, RuleCoverage, SourceIntake, Unjudged};

/// Sources listed one by one.
const LISTED: usize = 20;

/// The diagnosis; none when the run has a verdict.
pub fn render(report: &Report) -> Option<String> {
    let lines = match report.unjudged()? {
        Unjudged::NoFacts => no_facts(&report.intake),
        Unjudged::NoTimes => no_times(&report.intake),
        Unjudged::EmptyWindow => empty_window(report),
        Unjudged::AllBlind => all_blind(report),
        Unjudged::RulesFailed => rules_failed(report),
        Unjudged::NeededBlind => needed_blind(report),
        Unjudged::Unread => unread(&report.intake),
    };
    Some(lines.join("\n") + "\n")
}

fn no_facts(intake: &Intake) -> Vec<String> {
    if let Some(waiting) = waiting(intake) {
        return vec![format!("could not judge: {waiting}")];
    }
    let mut lines = vec!["could not judge: nothing of A2A was understood".to_owned()];
    lines.extend(sources(intake));
    lines.extend(rejects(intake));
    lines.push(advice(intake).to_owned());
    if !intake.emitters().is_empty() {
        lines.push(
            "`a2a-drift coverage` with the same paths names the settings of what wrote them that would show more"
                .to_owned(),
        );
    }
    lines
}

fn no_times(intake: &Intake) -> Vec<String> {
    let mut lines = vec!["could not judge: no record says when it was".to_owned()];
    lines.extend(sources(intake));
    lines.extend(rejects(intake));
    lines.push(
        "what to do: let whatever writes the records give them times, as RFC 3339 with a zone or as a number since the epoch; \
         the README names the key of each format"
            .to_owned(),
    );
    lines
}

/// That nothing has come yet, and what to do, where all that was asked for is folders of `serve`.
pub fn waiting(intake: &Intake) -> Option<String> {
    if !intake.is_waiting() {
        return None;
    }
    let mut lines = vec!["nothing has been received yet".to_owned()];
    let empty =
        |folder: &String| format!("  {}: a folder of `a2a-drift serve` in which nothing is stored yet", clean(folder));
    lines.extend(intake.unfilled.iter().map(empty));
    let open = |source: &&SourceIntake| !source.is_empty();
    let open = intake
        .sources
        .iter()
        .filter(open)
        .map(|source| format!("  {}: the log of `a2a-drift serve`, without any fact yet", clean(&source.name)));
    lines.extend(open.take(LISTED));
    lines.push(WAITING.to_owned());
    Some(lines.join("\n"))
}

const WAITING: &str = "what to do: send traffic or telemetry to the addresses that `serve` names when it starts (the README, \
                       The service, has an example), and ask again. Spans and log records count when nothing of their trace \
                       has come for a minute (`settle`); `/metrics` counts what came and what was refused";

fn sources(intake: &Intake) -> Vec<String> {
    let mut lines: Vec<String> = intake.sources.iter().take(LISTED).map(source).collect();
    if let Some(more) = intake.sources.len().checked_sub(LISTED).filter(|more| *more > 0) {
        lines.push(format!("  and {} more", count(more, "source")));
    }
    lines
}

fn source(source: &SourceIntake) -> String {
    let formats = match source.formats.as_slice() {
        [] if source.is_empty() => return format!("  {}: empty", clean(&source.name)),
        [] => "format not recognised".to_owned(),
        formats => format!("read as {}", first_few(formats.iter().copied(), LISTED)),
    };
    let records = match source.logs {
        0 => count(source.records, "record"),
        logs if logs == source.records => format!("{}, none about A2A", count(logs, "log line")),
        logs => {
            format!("{} of which {} about something else", count(source.records, "record"), count(logs, "log line"))
        }
    };
    format!("  {}: {formats}; {records}, {}", clean(&source.name), count(source.rejects, "reject"))
}

fn rejects(intake: &Intake) -> Vec<String> {
    let one = |reject: &RejectCount| {
        let at = place("", &reject.source, &reject.position);
        format!("  {} {}, first {at}: {}", reject.count, reject.reason, clean(&reject.detail))
    };
    let mut lines: Vec<String> = intake.rejects.iter().map(one).collect();
    if !lines.is_empty() {
        lines.insert(0, "not understood:".to_owned());
    }
    lines
}

fn advice(intake: &Intake) -> &'static str {
    if intake.sources.is_empty() {
        "what to do: the paths name no file; check them, and quote globs that the shell must not expand"
    } else if intake.sources.iter().all(SourceIntake::is_empty) {
        "what to do: there is nothing in it; look at what should have written it"
    } else if intake.sources.iter().all(|source| source.formats.is_empty()) {
        "what to do: give HTTP exchanges as NDJSON or HAR, OTLP traces or logs (JSON or protobuf), JSON logs, or agent cards; \
         gzip and zstd are unpacked"
    } else if intake.records() == 0 {
        "what to do: the format is known, but no record was whole; look at the first place of each reason above"
    } else {
        "what to do: the records were read, but none is an A2A call, task, card or push delivery; record the agents' traffic with \
         its bodies, or turn on the A2A attributes of their telemetry. If yours have names of their own, add them under \
         [vocabulary] in the configuration"
    }
}

fn unread(intake: &Intake) -> Vec<String> {
    let mut lines = vec!["not all was judged: there is input that could not be read".to_owned()];
    lines.extend(intake.unread.iter().take(LISTED).map(|what| format!("  {}", clean(what))));
    lines.push("what to do: make it readable, or leave it out".to_owned());
    lines
}

fn empty_window(report: &Report) -> Vec<String> {
    let bounds = bounds(report).unwrap_or_default();
    vec![
        format!("could not judge: no records in this window {bounds}"),
        "what to do: look at --since and --until; without them everything is shown".to_owned(),
    ]
}

fn needed_blind(report: &Report) -> Vec<String> {
    let mut lines = vec!["could not judge: a rule that --need names is blind on this input".to_owned()];
    lines.extend(lacks(report.needed_blind()));
    lines.push(SEE_MORE.to_owned());
    lines
}

fn all_blind(report: &Report) -> Vec<String> {
    if report.coverage.is_empty() {
        return vec!["could not judge: there are no rules".to_owned()];
    }
    let mut lines = vec!["could not judge: every rule that was asked for lacks a field in this input".to_owned()];
    lines.extend(lacks(report.blind()));
    lines.push(SEE_MORE.to_owned());
    lines
}

const SEE_MORE: &str = "what to do: add a source that has these fields, or turn them on where you have it: `a2a-drift coverage` \
                        with the same paths says how";

/// What blind rules need, rule by rule.
fn lacks<'a>(blind: impl Iterator<Item = &'a RuleCoverage>) -> Vec<String> {
    let needs = |rule: &RuleCoverage| {
        format!("  {} needs {}", clean(&rule.rule), first_few(rule.missing.iter().map(String::as_str), LISTED))
    };
    let mut lines: Vec<String> = blind.map(needs).collect();
    let more = lines.len().saturating_sub(LISTED);
    if more > 0 {
        lines.truncate(LISTED);
        lines.push(format!("  and {}", count(more, "more rule")));
    }
    lines
}

fn rules_failed(report: &Report) -> Vec<String> {
    let failed = count(report.failures.len(), "rule");
    let mut lines = vec![format!("could not judge: {failed} failed, and their silence says nothing")];
    lines.extend(report.failures.iter().map(|f| format!("  {}: {}", clean(&f.rule), clean(&f.message))));
    lines.push("what to do: with rules of yours (--queries, --add-queries), run `a2a-drift rules check` and `rules test` on them; else please report this".to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intake(formats: Vec<&'static str>, records: u64) -> Intake {
        Intake {
            sources: vec![SourceIntake {
                name: "day.log".into(),
                formats,
                records,
                rejects: 3,
                ..SourceIntake::default()
            }],
            rejects: vec![RejectCount {
                reason: "unknown-text",
                count: 3,
                source: "day.log".into(),
                position: "1".into(),
                detail: "no JSON in the line".into(),
            }],
            facts: 0,
            names_no_client: false,
            is_untimed: false,
            unread: Vec::new(),
            unfilled: Vec::new(),
        }
    }

    #[test]
    fn input_without_facts_is_described_by_source_and_by_reason_with_the_first_place() {
        let report = Report { intake: intake(vec![], 0), ..Report::default() };
        let text = render(&report).unwrap();
        assert_eq!(
            text.lines().take(4).collect::<Vec<_>>(),
            [
                "could not judge: nothing of A2A was understood",
                "  day.log: format not recognised; 0 records, 3 rejects",
                "not understood:",
                "  3 unknown-text, first day.log:1: no JSON in the line",
            ]
        );
        assert!(text.contains("what to do: give HTTP exchanges"), "{text}");
    }

    #[test]
    fn the_advice_fits_how_far_reading_came() {
        let advice = |intake: Intake| render(&Report { intake, ..Report::default() }).unwrap();
        assert!(advice(Intake::default()).contains("the paths name no file"));
        assert!(advice(intake(vec!["har"], 0)).contains("no record was whole"));
        assert!(advice(intake(vec!["otlp-json"], 4)).contains("none is an A2A call"));
    }

    #[test]
    fn a_source_with_nothing_in_it_is_empty_and_of_no_unknown_format() {
        let source = SourceIntake { name: "day.log".into(), ..SourceIntake::default() };
        let intake = Intake { sources: vec![source], ..Intake::default() };
        let text = render(&Report { intake, ..Report::default() }).unwrap();
        assert!(text.contains("\n  day.log: empty\nwhat to do: there is nothing in it"), "{text}");
    }

    #[test]
    fn a_folder_of_serve_to_which_nothing_has_come_is_told_so() {
        let unfilled = Intake { unfilled: vec!["data".into()], ..Intake::default() };
        let text = render(&Report { intake: unfilled.clone(), ..Report::default() }).unwrap();
        assert!(text.starts_with("could not judge: nothing has been received yet\n  data: a folder of "), "{text}");
        assert!(text.contains("\nwhat to do: send traffic or telemetry to "), "{text}");

        // Pieces of what is not complete are in the log, and no fact.
        let mut log = intake(vec![crate::findings::KEPT_LOG], 0);
        (log.sources[0].rejects, log.rejects) = (0, Vec::new());
        assert!(render(&Report { intake: log, ..Report::default() }).unwrap().contains("\n  day.log: the log of "));

        // Beside other input that was not understood, that counts.
        let mixed = Intake { unfilled: unfilled.unfilled, ..intake(vec![], 0) };
        assert!(
            render(&Report { intake: mixed, ..Report::default() }).unwrap().contains("nothing of A2A was understood")
        );
    }

    #[test]
    fn a_window_without_records_is_said_with_its_bounds() {
        let report = Report { window_is_empty: true, since: Some(crate::instant::Instant(0)), ..Report::default() };
        let text = render(&report).unwrap();
        assert!(text.starts_with("could not judge: no records in this window since 1970-01-01 00:00:00Z\n"), "{text}");
    }

    #[test]
    fn rules_that_cannot_see_are_named_with_what_they_need() {
        let blind = RuleCoverage { rule: "split_brain".into(), missing: vec!["task_events.state@client".into()] };
        let report =
            Report { coverage: vec![blind], intake: Intake { facts: 5, ..Intake::default() }, ..Report::default() };
        assert!(render(&report).unwrap().contains("  split_brain needs task_events.state@client\n"));
    }

    #[test]
    fn a_run_with_a_verdict_has_no_diagnosis() {
        let sees = RuleCoverage { rule: "split_brain".into(), missing: vec![] };
        let report =
            Report { coverage: vec![sees], intake: Intake { facts: 5, ..Intake::default() }, ..Report::default() };
        assert_eq!(render(&report), None);
    }
}
