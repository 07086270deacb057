use textwrap::core::display_width;

use super::*;
use crate::findings::samples::finding;
use crate::publish::samples::{at, bad_rollout, nothing_found, one_rule_failed};

fn plain(report: &Report, width: usize, detail: Detail) -> String {
    anstream::adapter::strip_str(&render(report, width, detail)).to_string()
}

#[test]
fn a_bad_rollout_on_80_columns() {
    insta::assert_snapshot!(plain(&bad_rollout(), 80, Detail::Normal));
}

#[test]
fn a_bad_rollout_on_160_columns() {
    insta::assert_snapshot!(plain(&bad_rollout(), 160, Detail::Normal));
}

#[test]
fn nothing_found_is_said_with_the_number_of_rules_and_with_what_was_read() {
    insta::assert_snapshot!(plain(&nothing_found(), 80, Detail::Normal));
}

#[test]
fn failed_rules_come_before_anything_else_is_believed() {
    let text = plain(&one_rule_failed(), 80, Detail::Brief);
    assert!(text.starts_with("INCOMPLETE  nothing found\n"), "{text}");
    assert!(text.contains("  orphaned: took longer than 30 s\n"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_page() {
    for width in [60, 80, 100, 160] {
        for detail in [Detail::Brief, Detail::Normal, Detail::Full] {
            for line in plain(&bad_rollout(), width, detail).lines() {
                assert!(display_width(line) <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn the_worst_incident_comes_first_and_information_after_the_incidents() {
    let text = plain(&bad_rollout(), 100, Detail::Normal);
    let place = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle} is not in\n{text}"));
    assert!(place("CRITICAL unknown_skill") < place("WARNING skills_changed_same_version"));
    assert!(place("WARNING skills_changed_same_version") < place("For information"));
    assert!(place("For information") < place("Blind"));
    assert!(place("Blind") < place("Not understood"));
}

#[test]
fn many_findings_of_one_rule_are_folded_unless_everything_is_wanted() {
    let report = bad_rollout();
    let folded = plain(&report, 100, Detail::Normal);
    assert!(folded.contains("CRITICAL unknown_skill  5 times"), "{folded}");
    assert!(
        folded.contains("and 2 more tasks (--verbose shows them): 3f2504e0-4f89-11d3-9a0c-0305e82c3303,"),
        "{folded}"
    );
    assert_eq!(folded.matches("      refusal ").count(), 3 + 3);
    let full = plain(&report, 100, Detail::Full);
    assert!(!full.contains("--verbose"), "{full}");
    assert_eq!(full.matches("      refusal ").count(), 5 + 9);
}

#[test]
fn what_was_just_said_of_the_finding_above_is_not_repeated() {
    let text = plain(&bad_rollout(), 160, Detail::Full);
    assert_eq!(text.matches("client-cache, likely").count(), 1, "{text}");
    assert_eq!(text.matches("Make orchestrator fetch the card again").count(), 1, "{text}");
}

#[test]
fn a_long_row_of_evidence_shows_its_first_and_last_pieces() {
    let text = plain(&bad_rollout(), 160, Detail::Normal);
    assert!(text.contains("(6 more)"), "{text}");
    assert!(text.contains("day.har.gz at byte 32768"), "{text}");
    assert!(!text.contains("day.har.gz at byte 8192"), "{text}");
}

#[test]
fn names_from_outside_cannot_control_the_terminal() {
    let hostile = finding("split_brain", "agent\u{1b}[2J", "task\u{1b}]0;x\u{7}", Severity::Critical, at(0));
    let report = Report { ..Report::new(vec![hostile], &[]) };
    let text = plain(&report, 80, Detail::Full);
    assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
    assert!(text.contains("agent\\u{1b}[2J"), "{text}");
}

#[test]
fn severities_are_coloured() {
    let text = render(&bad_rollout(), 80, Detail::Normal);
    assert!(text.contains(&format!("{RED}CRITICAL unknown_skill{RED:#}")), "{text:?}");
}
