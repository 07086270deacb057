//! An ordinary day through every gateway that is read: no rule fires, and coverage says which could.
//!
//! Which rules could is reasoned from what each log holds by its documentation (README.md of its folder) and what the rules need
//! (`needs` in their headers).

use std::collections::BTreeSet;

use super::day::{Speech, healthy};
use super::support::judge::{self, Files, engine};
use super::write::{self, Form};

/// What tells how calls were answered is enough for these.
const BY_OUTCOME: [&str; 2] = ["retry_without_refetch", "stale_card_retry"];
/// With errors of answers: without them a gateway's refusal cannot be told from the agent's own.
const BY_ERROR: [&str; 1] = ["auth_audience_drift"];
/// With what was called.
const BY_OPERATION: [&str; 1] = ["version_mismatch"];
/// With tasks and their states.
const BY_STATE: [&str; 4] = ["illegal_transition", "lost_after_rotation", "orphaned", "split_brain"];
/// What no gateway before agents sees: what clients conclude, what webhooks get, keys that nobody fetched.
const ELSEWHERE: [&str; 6] = [
    "failed_by_card",
    "scheme_mismatch",
    "signing_key_rotated",
    "terminal_undelivered",
    "truncated_set",
    "unauthorized_storm",
];

/// Judges the day of an agent that speaks so, written down so: nothing is found. Gives the rules that could judge.
#[track_caller]
fn able(speech: Speech, form: Form) -> BTreeSet<String> {
    let files = Files::from([("gateway.log".to_owned(), write::lines(&healthy(speech).calls, form))]);
    let verdict = judge::judge(&files, None).unwrap();
    let told: Vec<_> =
        verdict.findings.iter().map(|finding| format!("{}: {}", finding.rule, finding.summary)).collect();
    assert_eq!(told, [] as [&str; 0], "{speech:?}");
    let blind: BTreeSet<&String> = verdict.blind.keys().collect();
    let rules = engine().unwrap().corpus().rules.iter().map(|rule| rule.id.clone());
    rules.filter(|rule| !blind.contains(rule)).collect()
}

fn rules(sets: &[&[&str]]) -> BTreeSet<String> {
    sets.iter().flat_map(|set| set.iter().map(|rule| (*rule).to_owned())).collect()
}

/// All but those that no gateway before agents serves.
fn all_but_elsewhere() -> BTreeSet<String> {
    let all = engine().unwrap().corpus().rules.iter().map(|rule| rule.id.clone());
    all.filter(|rule| !ELSEWHERE.contains(&rule.as_str())).collect()
}

#[test]
fn agentgateway_is_quiet_in_both_of_its_formats_and_tells_methods_and_outcomes() {
    for form in [write::agentgateway_json, write::agentgateway_text] {
        for speech in [Speech::Rpc03, Speech::Rpc1] {
            assert_eq!(able(speech, form), rules(&[&BY_OUTCOME, &BY_ERROR, &BY_OPERATION]), "{speech:?}");
        }
    }
}

#[test]
fn agentgateway_with_bodies_is_quiet_though_all_can_judge() {
    for speech in [Speech::Rpc03, Speech::Rpc1] {
        assert_eq!(able(speech, write::agentgateway_bodies), all_but_elsewhere(), "{speech:?}");
    }
}

#[test]
fn kong_is_quiet_without_payloads_and_tells_tasks_and_states() {
    for speech in [Speech::Rpc03, Speech::Rpc1] {
        let seeing = rules(&[&BY_OUTCOME, &BY_ERROR, &BY_OPERATION, &BY_STATE]);
        assert_eq!(able(speech, write::kong_statistics), seeing, "{speech:?}");
    }
}

#[test]
fn kong_is_quiet_with_payloads_though_all_can_judge() {
    for speech in [Speech::Rpc03, Speech::Rpc1] {
        assert_eq!(able(speech, write::kong_payloads), all_but_elsewhere(), "{speech:?}");
    }
}

#[test]
fn aisix_is_quiet_and_tells_tasks_and_states() {
    for speech in [Speech::Rpc03, Speech::Rpc1] {
        assert_eq!(able(speech, write::aisix), rules(&[&BY_OUTCOME, &BY_OPERATION, &BY_STATE]), "{speech:?}");
    }
}

#[test]
fn envoy_and_istio_are_quiet_and_tell_what_paths_and_status_tell() {
    for form in [write::envoy_json, write::envoy_text, write::istio_text] {
        assert_eq!(able(Speech::Rest1, form), rules(&[&BY_OUTCOME, &BY_OPERATION]));
    }
}

#[test]
fn nginx_is_quiet_and_tells_requests() {
    // The body of a request names message, task and skill; that of no answer is there.
    for speech in [Speech::Rpc03, Speech::Rpc1, Speech::Rest1] {
        // That a task had ended, which a reuse of its id needs, only answers tell.
        let by_request = ["duplicate_submission"];
        assert_eq!(able(speech, write::nginx_json), rules(&[&BY_OUTCOME, &BY_OPERATION, &by_request]), "{speech:?}");
    }
    assert_eq!(able(Speech::Rest1, write::nginx_without_bodies), rules(&[&BY_OUTCOME, &BY_OPERATION]));
}

#[test]
fn apache_is_quiet_and_tells_what_paths_and_status_tell() {
    assert_eq!(able(Speech::Rest1, write::apache), rules(&[&BY_OUTCOME, &BY_OPERATION]));
}

#[test]
fn the_same_day_as_it_was_taped_is_quiet() {
    for speech in [Speech::Rpc03, Speech::Rpc1, Speech::Rest1] {
        assert_eq!(able(speech, write::exchange), all_but_elsewhere(), "{speech:?}");
    }
}
