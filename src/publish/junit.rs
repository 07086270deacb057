//! The rules as a JUnit report, for build servers: a rule is a test, and its findings are why it failed.
//!
//! In: a report, and from which severity on a finding is a failure. Out: XML. A blind rule is skipped, not passed; a rule that could not
//! run is an error.

use std::fmt::Write;

use quick_junit::{NonSuccessKind, Report as JunitReport, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::words::{clean, place};
use crate::findings::{Finding, Report};

/// The report. `fails` tells whether a finding makes its rule's test fail; others are written to its output.
///
/// # Errors
/// When it cannot be written as XML, which would be a defect here.
pub fn render(report: &Report, fails: impl Fn(&Finding) -> bool) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("a2a-drift");
    for rule in &report.coverage {
        let found: Vec<&Finding> = report.findings.iter().filter(|finding| finding.rule == rule.rule).collect();
        let (failing, noted): (Vec<&Finding>, Vec<&Finding>) = found.into_iter().partition(|finding| fails(finding));
        let failed = report.failures.iter().find(|failure| failure.rule == rule.rule);
        let status = if let Some(failure) = failed {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(clean(&failure.message).as_ref());
            status
        } else if let Some(worst) = failing.first() {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(worst.severity.as_str());
            status.set_message(match failing.len() {
                1 => clean(&worst.summary).into_owned(),
                more => format!("{more} findings; the worst: {}", clean(&worst.summary)),
            });
            status.set_description(described(&failing));
            status
        } else if rule.missing.is_empty() {
            TestCaseStatus::success()
        } else {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("blind: nothing here fills {}", rule.missing.join(", ")));
            status
        };
        let mut case = TestCase::new(rule.rule.as_str(), status);
        case.set_classname("a2a-drift");
        if !noted.is_empty() {
            case.set_system_out(described(&noted));
        }
        suite.add_test_case(case);
    }
    let mut all = JunitReport::new("a2a-drift");
    all.add_test_suite(suite);
    let mut text = all.to_string()?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Findings in words, with where their evidence is.
fn described(findings: &[&Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        // Writing to a String cannot fail.
        _ = writeln!(text, "{}: {}", finding.severity.as_str(), clean(&finding.summary));
        _ = writeln!(text, "  suspect: {}: {}", clean(&finding.suspect), clean(&finding.because));
        for fact in &finding.evidence {
            let at = place("", &fact.source, &fact.position);
            _ = writeln!(text, "  {}: {} ({})", clean(&fact.role), clean(&fact.says), clean(&at));
        }
        _ = writeln!(text, "  next: {}", clean(&finding.next_step));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;
    use crate::publish::samples::{bad_rollout, one_rule_failed};

    #[test]
    fn a_rule_is_a_test_that_its_findings_fail_and_a_blind_one_is_skipped() {
        let text = render(&bad_rollout(), |finding| finding.severity >= Severity::Warning).unwrap();
        let rules = bad_rollout().coverage.len();
        assert_eq!(text.matches("<testcase ").count(), rules);
        assert!(text.contains("5 findings; the worst: "), "{text}");
        assert!(text.contains("<skipped message=\"blind: nothing here fills task_events.state@client\"/>"), "{text}");
    }

    #[test]
    fn what_is_below_the_bound_is_no_failure() {
        let text = render(&bad_rollout(), |_| false).unwrap();
        assert!(!text.contains("<failure"), "{text}");
        assert!(text.contains("<system-out>"), "{text}");
    }

    #[test]
    fn a_rule_that_could_not_run_is_an_error() {
        let mut report = one_rule_failed();
        report.coverage[0].rule = "orphaned".to_owned();
        assert!(render(&report, |_| true).unwrap().contains("<error message=\"took longer than 30 s\"/>"));
    }
}
