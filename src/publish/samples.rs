//! A report for the tests of `publish`: one bad rollout as an on-call engineer would meet it.

use serde_json::json;

use crate::findings::samples::{evidence, finding, generation};
use crate::findings::{
    Confidence, Finding, Intake, RejectCount, Report, RuleCoverage, RuleFailure, Severity, SourceIntake,
};
use crate::instant::Instant;

const AGENT: &str = "summaries.example.net:8443/a2a";

/// Seconds after 2026-11-30T06:15:30Z.
pub(super) fn at(seconds: i64) -> Instant {
    Instant((1_796_019_330 + seconds) * 1_000_000_000)
}

/// Five tasks refused for a skill that the client's copy of the card still lists, under a card changed in place; a storm
/// of refused webhook calls at another agent; two notes.
pub(super) fn bad_rollout() -> Report {
    let mut findings: Vec<Finding> = (0..5).map(refused).collect();
    findings.extend([changed_in_place(), storm(), note("t-91"), note("t-92")]);
    let generations = [
        generation(AGENT, "1.0.0", at(-3600), Some(at(0))),
        generation(AGENT, "1.0.0", at(0), None),
        generation("billing.example.net", "3.2", at(-7200), None),
    ];
    let missing = |fields: &[&str]| fields.iter().map(|field| (*field).to_owned()).collect();
    let coverage = |rule: &str, fields| RuleCoverage { rule: rule.into(), missing: missing(fields) };
    Report {
        coverage: vec![
            coverage("failed_by_card", &["task_events.state@client"]),
            coverage("replica_split", &[]),
            coverage("signing_key_rotated", &["push_deliveries.kid", "signing_keys.kid"]),
            coverage("skills_changed_same_version", &[]),
            coverage("split_brain", &["task_events.state@client"]),
            coverage("unauthorized_storm", &[]),
            coverage("unknown_skill", &[]),
        ],
        failures: Vec::new(),
        intake: Intake {
            sources: vec![
                SourceIntake {
                    name: "captures/gateway.ndjson".into(),
                    formats: vec!["exchange-ndjson"],
                    records: 311,
                    logs: 0,
                    kept: 0,
                    rejects: 2,
                    emitters: vec!["exchange-lines".into()],
                    shown: vec![],
                },
                SourceIntake {
                    name: "captures/day.har.gz".into(),
                    formats: vec!["gzip", "har"],
                    records: 40,
                    logs: 0,
                    kept: 0,
                    rejects: 0,
                    emitters: vec!["har".into()],
                    shown: vec![],
                },
            ],
            rejects: vec![RejectCount {
                reason: "bad-json",
                count: 2,
                source: "captures/gateway.ndjson".into(),
                position: "112".into(),
                detail: "the line ends inside a string".into(),
            }],
            facts: 1204,
            names_no_client: false,
            is_untimed: false,
            unread: Vec::new(),
            unfilled: Vec::new(),
        },
        as_of: None,
        ..Report::new(findings, &generations)
    }
}

/// A report with one rule that failed and nothing found.
pub(super) fn one_rule_failed() -> Report {
    Report {
        failures: vec![RuleFailure { rule: "orphaned".into(), message: "took longer than 30 s".into() }],
        ..nothing_found()
    }
}

/// A healthy fleet.
pub(super) fn nothing_found() -> Report {
    let Report { coverage, intake, .. } = bad_rollout();
    Report { coverage, intake, as_of: Some(at(600)), ..Report::default() }
}

fn refused(number: i64) -> Finding {
    let task = format!("3f2504e0-4f89-11d3-9a0c-0305e82c330{number}");
    let mut card = evidence("card_held", "card 1.0.0 lists summarize-v2", at(-1800), "");
    card.client = "orchestrator".into();
    card.source = "captures/gateway.ndjson".into();
    card.position = "4".into();
    let mut refusal = evidence("refusal", "failed (reply), unknown-skill", at(10 + number), &task);
    refusal.observer = "server".into();
    refusal.client = "orchestrator".into();
    refusal.source = "captures/gateway.ndjson".into();
    refusal.position = (200 + number).to_string();
    refusal.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736".into();
    refusal.span_id = "00f067aa0ba902b7".into();
    Finding {
        id: format!("0d1e{number}"),
        category: "negotiation".into(),
        confidence: Confidence::Likely,
        suspect: "client-cache".into(),
        because: "the card that orchestrator holds is older than the last change of the skills".into(),
        client: Some("orchestrator".into()),
        skill_id: Some("summarize-v2".into()),
        summary: format!("{task} on {AGENT} failed: the agent does not know skill summarize-v2, which the card that orchestrator holds lists"),
        next_step: "Make orchestrator fetch the card again, then send the task anew; see whether the agent's owner withdrew the skill on purpose.".into(),
        evidence: vec![card, refusal],
        details: [("reason_class".to_owned(), json!("unknown-skill"))].into(),
        ..finding("unknown_skill", AGENT, &task, Severity::Critical, at(10 + number))
    }
}

fn changed_in_place() -> Finding {
    Finding {
        category: "card".into(),
        suspect: "card-publisher".into(),
        because: "both cards carry version 1.0.0".into(),
        task_id: None,
        last_seen: at(0),
        summary: format!("The skills of {AGENT} changed from summarize-v2 to translate-v1 and the version did not"),
        next_step: "Ask the publisher for a new version.".into(),
        evidence: vec![
            evidence("before", "card 1.0.0: summarize-v2", at(-1800), ""),
            evidence("after", "card 1.0.0: translate-v1", at(0), ""),
        ],
        ..finding("skills_changed_same_version", AGENT, "", Severity::Warning, at(0))
    }
}

fn storm() -> Finding {
    let refusals = (0..9).map(|n| {
        let mut fact = evidence("refusal", "401 Bearer", at(20 + n), "t-1");
        fact.observer = "receiver".into();
        fact.client = String::new();
        fact.source = "captures/day.har.gz".into();
        fact.position = format!("byte {}", 4096 * n);
        fact
    });
    Finding {
        category: "push".into(),
        suspect: "webhook-receiver".into(),
        because: "it refuses every delivery from 06:15:50Z on and took them before".into(),
        task_id: None,
        url: Some("https://hooks.example.com/a2a".into()),
        last_seen: at(28),
        count: 9,
        summary: "https://hooks.example.com/a2a refuses the deliveries of billing.example.net: 9 of 9 with 401".into(),
        next_step: "Compare the credential in the push config with what the receiver accepts.".into(),
        evidence: refusals.collect(),
        ..finding("unauthorized_storm", "billing.example.net", "", Severity::Critical, at(20))
    }
}

fn note(task: &str) -> Finding {
    Finding {
        confidence: Confidence::Possible,
        summary: format!("{task} outlived the card under which it was made"),
        ..finding("spans_generations", AGENT, task, Severity::Info, at(40))
    }
}
