//! The faults that this program is for, in a day of ordinary traffic, found by the log of the gateway alone.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::day::{Day, HOST, MINUTE, SUMMARY, Speech, Told, healthy, told};
use super::hooks::{ACCESS_LOGS, WEBHOOKS, analyzed, deliveries, storm};
use super::support::judge::{self, Files};
use super::write::{self, Call, Form};

/// Rule, task and skill of what is found.
fn found(day: &Day, form: Form) -> BTreeSet<(String, String, String)> {
    let files = Files::from([("gateway.log".to_owned(), write::lines(&day.calls, form))]);
    let verdict = judge::judge(&files, None).unwrap();
    let of = |finding: &a2a_drift::findings::Finding| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (finding.rule.clone(), text(&finding.task_id), text(&finding.skill_id))
    };
    verdict.findings.iter().map(of).collect()
}

fn one(rule: &str, task: &str, skill: &str) -> BTreeSet<(String, String, String)> {
    [(rule.to_owned(), task.to_owned(), skill.to_owned())].into()
}

const WITH_BODIES: [Form; 2] = [write::agentgateway_bodies, write::kong_payloads];

#[test]
fn two_ends_of_one_task_in_turn_are_found() {
    for speech in [Speech::Rpc03, Speech::Rpc1] {
        let mut day = healthy(speech);
        let task = day.id();
        day.send(&SUMMARY, 0, false, &told(&task, "working"));
        for state in ["completed", "failed", "completed", "failed"] {
            day.now += MINUTE;
            day.poll(&SUMMARY, 0, &told(&task, state));
        }
        for form in WITH_BODIES {
            let rules: BTreeSet<String> = found(&day, form).into_iter().map(|(rule, _, _)| rule).collect();
            assert!(rules.contains("split_brain"), "{speech:?} {rules:?}");
            assert!(found(&day, form).iter().all(|(_, of, _)| *of == task), "{speech:?}");
        }
    }
}

#[test]
fn a_task_that_failed_for_an_unknown_skill_is_found() {
    for speech in [Speech::Rpc03, Speech::Rpc1] {
        let mut day = healthy(speech);
        let task = day.id();
        day.send(&SUMMARY, 0, false, &Told { says: "Unknown skill: summarize", ..told(&task, "failed") });
        for form in WITH_BODIES {
            let told = found(&day, form);
            let unknown: BTreeSet<_> = told.iter().filter(|(rule, _, _)| rule == "unknown_skill").cloned().collect();
            assert_eq!(unknown, one("unknown_skill", &task, "summarize"), "{speech:?} {told:?}");
        }
    }
}

#[test]
fn a_storm_of_refusals_is_found_by_the_log_of_a_proxy_that_is_said_to_stand_before_webhooks() {
    for (name, form) in ACCESS_LOGS {
        let (findings, blind) = analyzed(&write::lines(&storm(), form), WEBHOOKS);
        let [storm] = findings.as_slice() else { panic!("{name}: {findings:?}") };
        assert_eq!((&storm["rule"], &storm["severity"]), (&json!("unauthorized_storm"), &json!("critical")), "{name}");
        assert_eq!(storm["entity"]["url"], format!("http://{HOST}/inbox/a2a"), "{name}");
        assert_eq!(storm["count"], 22, "{name}");
        assert!(!blind.contains("unauthorized_storm"), "{name}");
    }
}

#[test]
fn without_a_word_of_it_posts_to_a_webhook_are_no_deliveries_and_the_rule_is_blind() {
    for (name, form) in ACCESS_LOGS {
        let mut calls = healthy(Speech::Rest1).calls;
        calls.extend(storm());
        let (findings, blind) = analyzed(&write::lines(&calls, form), "");
        assert_eq!(findings, [] as [Value; 0], "{name}");
        assert!(blind.contains("unauthorized_storm"), "{name}");
    }
}

#[test]
fn a_webhook_that_takes_its_deliveries_is_quiet_with_a_refusal_now_and_then() {
    let statuses: Vec<u16> = (0..40).map(|nth| if nth % 10 == 9 { 401 } else { 200 }).collect();
    for (name, form) in ACCESS_LOGS {
        let (findings, _) = analyzed(&write::lines(&deliveries(&statuses), form), WEBHOOKS);
        assert_eq!(findings, [] as [Value; 0], "{name}");
    }
}

#[test]
fn a_log_that_names_no_host_tells_webhooks_apart_by_their_paths() {
    let combined = |call: &Call| write::apache(call)?.split_once(' ').map(|(_, rest)| rest.to_owned());
    let (findings, _) = analyzed(&write::lines(&storm(), combined), WEBHOOKS);
    let [storm] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((&storm["rule"], &storm["entity"]["url"]), (&json!("unauthorized_storm"), &json!("/inbox/a2a")));
}

#[test]
fn a_proxy_before_webhooks_that_logs_bodies_names_the_tasks() {
    // Three tasks within ten minutes are a storm.
    for form in [write::nginx_json, write::agentgateway_bodies] {
        let (findings, _) = analyzed(&write::lines(&deliveries(&[200, 401, 401, 401]), form), WEBHOOKS);
        let [storm] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!((&storm["rule"], &storm["severity"]), (&json!("unauthorized_storm"), &json!("critical")));
        assert_eq!(storm["details"]["tasks"], 3);
    }
}
