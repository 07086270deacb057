//! `coverage`: what sources yield, what rules see, what to turn on.

use serde_json::Value;

use super::*;

const KONG: &str = "tests/captures/synthetic-conventions/kong-a2a.traces.otlp.jsonl";

fn json(args: &[&str]) -> (i32, Value) {
    let output = run(&[&["coverage", "--format", "json"], args].concat());
    (code(&output), serde_json::from_slice(&output.stdout).unwrap())
}

fn state<'a>(coverage: &'a Value, rule: &str) -> &'a Value {
    let rules = coverage["rules"].as_array().unwrap();
    rules.iter().find(|entry| entry["rule"] == rule).unwrap()
}

#[test]
fn sources_say_what_they_were_taken_for_and_what_they_yield() {
    let (code, coverage) = json(&[CAPTURE]);
    assert_eq!(code, 1);
    let source = &coverage["sources"][0];
    assert_eq!((&source["source"], &source["formats"][0]), (&CAPTURE.into(), &"exchange-ndjson".into()));
    // Hand count of the capture: 102 exchanges, of which 30 are webhook deliveries.
    assert_eq!((&source["records"], &source["facts"]["push_deliveries"]), (&102.into(), &30.into()));
    assert_eq!(coverage["agents"][0], "127.0.0.1:41001");
}

#[test]
fn a_blind_rule_is_told_the_setting_of_the_emitter_in_use() {
    let (_, coverage) = json(&[KONG, "--rule", "duplicate_submission"]);
    assert_eq!(coverage["emitters"][0]["title"], "Kong AI A2A Proxy");
    let rule = state(&coverage, "duplicate_submission");
    assert_eq!((&rule["state"], &rule["missing"][0]["field"]), (&"blind".into(), &"exchanges.content_hash".into()));
    let turn_on = &coverage["turn_on"][0];
    assert_eq!(turn_on["setting"], "plugins: ai-a2a-proxy: config.logging: {log_statistics: true, log_payloads: true}");
    assert!(turn_on["source"].as_str().unwrap().starts_with("https://developer.konghq.com/"), "{turn_on}");
    assert_eq!(turn_on["wakes"][0], "duplicate_submission");
}

#[test]
fn analyze_teaches_the_same() {
    let output = run(&["analyze", KONG, "--format", "json", "--rule", "duplicate_submission"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let advice = report["coverage"][0]["advice"][0].as_str().unwrap();
    assert!(advice.starts_with("Kong AI A2A Proxy: plugins: ai-a2a-proxy: config.logging: "), "{advice}");
}

#[test]
fn the_exit_code_says_whether_all_rules_that_were_asked_for_can_judge() {
    assert_eq!(json(&[CAPTURE, "--rule", "split_brain"]).0, 0);
    assert_eq!(json(&[CAPTURE, "--rule", "split_brain,failed_by_card"]).0, 1);
    let (code, coverage) = json(&["Cargo.toml"]);
    assert_eq!((code, &coverage["summary"]["facts"], &coverage["summary"]["able"]), (2, &0.into(), &0.into()));
    assert_eq!(self::code(&run(&["coverage", CAPTURE, "--rule", "split_brian"])), 2);
}

#[test]
fn a_window_counts_only_what_was_observed_in_it() {
    let (_, coverage) = json(&[CAPTURE, "--until", "2020-01-01T00:00:00Z"]);
    assert_eq!(coverage["summary"]["facts"], 0);
    let (_, all) = json(&[CAPTURE]);
    let (_, late) = json(&[CAPTURE, "--since", "1s"]);
    assert!(late["summary"]["facts"].as_u64() < all["summary"]["facts"].as_u64() && late["summary"]["facts"] != 0);
}

#[test]
fn its_schema_is_printed_without_any_input() {
    let output = run(&["coverage", "--print-schema"]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["properties"]["schema_version"]["const"], 1);
}
