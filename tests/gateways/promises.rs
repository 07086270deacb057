//! What `coverage` promises of a setting, and what the same traffic lets rules see once it is set.
//!
//! Both sides are runs of the program: over lines without the setting, and over lines of the same calls with it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::day::{Speech, healthy};
use super::emitters::coverage;
use super::fixture;
use super::write::{self, Call, Form};

fn words(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Rules of which the entry has something.
fn rules(coverage: &Value, has: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    let rules = coverage["rules"].as_array().unwrap().iter().filter(|rule| has(rule));
    rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect()
}

fn seeing(coverage: &Value) -> BTreeSet<String> {
    rules(coverage, |rule| rule["state"] != "blind")
}

/// Blind rules that lack only what did not happen.
fn waiting(coverage: &Value) -> BTreeSet<String> {
    rules(coverage, |rule| {
        let missing = rule["missing"].as_array().unwrap();
        rule["state"] == "blind" && missing.iter().all(|missing| missing["not_seen"].is_string())
    })
}

/// The first step is the setting of what is in use, and it brings what is promised: no rule less, but for those that wait for
/// traffic, and no rule more, but for those of which it is said that they may.
#[track_caller]
fn holds(without: &[u8], with: &[u8], set: &str) -> BTreeSet<String> {
    let (before, after) = (coverage(without), coverage(with));
    let step = &before["turn_on"][0];
    assert!(step["setting"].as_str().unwrap().contains(set), "{step}");
    let (promised, maybe) = (words(&step["wakes"]), words(&step["perhaps"]));
    let brought: BTreeSet<String> = seeing(&after).difference(&seeing(&before)).cloned().collect();
    let broken: Vec<&String> = promised.difference(&brought).filter(|rule| !waiting(&after).contains(*rule)).collect();
    assert_eq!(broken, [] as [&str; 0], "promised, and not brought");
    let unsaid: Vec<&String> = brought.difference(&promised).filter(|rule| !maybe.contains(*rule)).collect();
    assert_eq!(unsaid, [] as [&str; 0], "brought, and not promised");
    // It is not asked for again.
    let again = after["turn_on"]
        .as_array()
        .unwrap()
        .iter()
        .any(|step| step["setting"].as_str().is_some_and(|s| s.contains(set)));
    assert!(!again, "{}", after["turn_on"]);
    promised
}

fn day(speech: Speech, form: Form) -> Vec<u8> {
    write::lines(&healthy(speech).calls, form)
}

#[test]
fn bodies_in_agentgateways_log_bring_what_is_promised() {
    let with = day(Speech::Rpc1, write::agentgateway_bodies);
    for form in [write::agentgateway_json, write::agentgateway_text] {
        assert!(holds(&day(Speech::Rpc1, form), &with, "http.response.body: response.body").len() > 20);
    }
}

#[test]
fn payloads_in_kongs_log_bring_what_is_promised() {
    let set = "log_payloads: true";
    holds(&day(Speech::Rpc1, write::kong_statistics), &day(Speech::Rpc1, write::kong_payloads), set);
    let [without, with] = ["statistics", "payloads"].map(|name| fixture(&format!("formats/kong/{name}.ndjson")));
    // Of 37 rules 8 see without payloads; with them all but 6, which need what clients conclude and what webhooks get. 3 of the
    // others see because callers name skills, which is not promised.
    assert_eq!(holds(&without, &with, set).len(), 37 - 8 - 6 - 3);
}

/// nginx with a format that does not name the body.
fn without_member(call: &Call) -> Option<String> {
    let mut line: Value = serde_json::from_str(&write::nginx_json(call)?).unwrap();
    line.as_object_mut().unwrap().remove("request_body").unwrap();
    Some(line.to_string())
}

#[test]
fn request_bodies_in_nginxs_log_bring_what_is_promised() {
    let with = day(Speech::Rest1, write::nginx_json);
    holds(&day(Speech::Rest1, without_member), &with, "\"request_body\":\"$request_body\"");
    // The member is there, and what it names was written into files.
    holds(&day(Speech::Rest1, write::nginx_without_bodies), &with, "client_body_buffer_size");
    holds(&day(Speech::Rest1, write::apache), &with, "log_format a2a escape=json");
}

/// Spans of HTTP instrumentation alone, with the headers that it was set to capture or without.
fn http_spans(with_headers: bool) -> Vec<u8> {
    let lines = String::from_utf8(fixture("captures/a2a-python-1.3.0/headers.traces.otlp.jsonl")).unwrap();
    let kept = |line: &str| {
        let mut export: Value = serde_json::from_str(line).unwrap();
        for resource in export["resourceSpans"].as_array_mut().unwrap() {
            let scopes = resource["scopeSpans"].as_array_mut().unwrap();
            scopes.retain(|scope| {
                scope["scope"]["name"].as_str().is_some_and(|name| name.starts_with("opentelemetry.instrumentation."))
            });
            for span in scopes.iter_mut().flat_map(|scope| scope["spans"].as_array_mut().unwrap()) {
                let attributes = span["attributes"].as_array_mut().unwrap();
                attributes.retain(|attribute| with_headers || !attribute["key"].as_str().unwrap().contains(".header."));
            }
        }
        export.to_string() + "\n"
    };
    lines.lines().map(kept).collect::<String>().into_bytes()
}

#[test]
fn captured_headers_bring_outcomes_where_http_refuses_and_that_is_said() {
    let promised = holds(&http_spans(false), &http_spans(true), "CAPTURE_HEADERS");
    let after = coverage(http_spans(true));
    assert!(promised.contains("auth_audience_drift") && promised.is_subset(&waiting(&after)), "{promised:?}");
    let missing = rules(&after, |rule| rule["missing"][0]["not_seen"] == "a call that HTTP refused");
    assert!(missing.contains("auth_audience_drift"), "{missing:?}");
}

#[test]
fn a_card_that_nobody_fetched_and_a_webhook_that_nobody_registered_are_not_settings() {
    let mut calls = healthy(Speech::Rpc1).calls;
    calls.retain(|call| call.method == "POST" && !call.sent.to_string().contains("ushNotificationConfig"));
    let coverage = coverage(write::lines(&calls, write::kong_payloads));
    let of = |rule: &str| {
        let rules = coverage["rules"].as_array().unwrap();
        rules.iter().find(|entry| entry["rule"] == rule).unwrap()["missing"][0].clone()
    };
    assert_eq!(of("split_view")["not_seen"], "a fetch of an agent card");
    let webhook = of("scheme_mismatch");
    assert_eq!(
        (&webhook["field"], &webhook["not_seen"]),
        (&"exchanges.push_url".into(), &"a call that registers a webhook".into())
    );
    let advice = webhook["advice"].as_str().unwrap();
    let unseen = "Not seen in this traffic: a call that registers a webhook. Nothing to turn on: Kong";
    assert!(advice.starts_with(unseen), "{advice}");
    // What is left is what no setting of Kong brings: what clients conclude, and what webhooks get.
    let emitters: BTreeSet<&str> =
        coverage["turn_on"].as_array().unwrap().iter().map(|step| step["emitter"].as_str().unwrap_or("")).collect();
    assert!(!emitters.contains("a recording proxy") && !emitters.contains("Kong AI A2A Proxy"), "{emitters:?}");
}
