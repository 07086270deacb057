//! Whose lines they are: a line is of one emitter, whether it holds bodies or not.

use std::process::Command;

use serde_json::{Value, json};

use super::fixture;

/// What `coverage` says of one file with these lines.
pub(crate) fn coverage(lines: impl AsRef<[u8]>) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    std::fs::write(&file, lines).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_a2a-drift"))
        .args(["coverage", "--format", "json"])
        .arg(&file)
        .output()
        .unwrap();
    serde_json::from_slice(&run.stdout).unwrap()
}

fn titles(coverage: &Value) -> Vec<&str> {
    coverage["emitters"].as_array().unwrap().iter().map(|emitter| emitter["title"].as_str().unwrap()).collect()
}

fn settings(coverage: &Value) -> Vec<&str> {
    let settings: Vec<&str> =
        coverage["turn_on"].as_array().unwrap().iter().filter_map(|advice| advice["setting"].as_str()).collect();
    assert!(!settings.is_empty());
    settings
}

#[test]
fn lines_of_nginx_are_nginxs_with_bodies_and_without() {
    for path in ["nginx/json.log", "nginx/escaped.log"] {
        let text = String::from_utf8(fixture(&format!("formats/{path}"))).unwrap();
        let posts: Vec<&str> = text.lines().filter(|line| line.contains("POST")).collect();
        for lines in [text.as_str(), &posts.join("\n")] {
            let coverage = coverage(lines);
            assert_eq!(titles(&coverage), ["nginx (or Apache) access log"], "{path}");
            let formats = coverage["sources"][0]["formats"].as_array().unwrap();
            assert!(formats.contains(&"access-log".into()), "{formats:?}");
            assert!(!formats.contains(&"home-made-exchange".into()), "{formats:?}");
            // The body is there already, as is all else that would tell calls.
            let told = settings(&coverage);
            assert!(!told.iter().any(|setting| setting.starts_with("\"request_body\"")), "{told:?}");
            assert!(!told.iter().any(|setting| setting.contains("leg: webhook")), "{told:?}");
        }
    }
}

#[test]
fn lines_of_envoy_that_hold_a_body_are_envoys() {
    let line = json!({
        "start_time": "2026-11-30T06:14:02.504Z", "method": "POST", "path": "/a2a", "authority": "h:1", "response_code": 200,
        "response_flags": "-", "duration": 11, "request_body": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"message/send\",\"params\":{}}",
    });
    assert_eq!(titles(&coverage(line.to_string())), ["Envoy or Istio access log"]);
}

#[test]
fn lines_of_a_recorder_are_nobody_elses_even_if_they_spell_a_duration_as_nginx_does() {
    let line = json!({
        "timestamp": "2026-11-30T06:14:02.504Z", "method": "POST", "url": "http://h:1/a2a", "status": 200, "request_time": 0.011,
        "request_body": {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}},
        "response_body": {"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}},
    });
    let coverage = coverage(line.to_string());
    assert_eq!(titles(&coverage), ["exchange lines of a proxy of yours"]);
    assert_eq!(coverage["sources"][0]["formats"], json!(["home-made-exchange"]));
}

fn seeing(coverage: &Value) -> Vec<&str> {
    let rules = coverage["rules"].as_array().unwrap().iter().filter(|rule| rule["state"] != "blind");
    rules.map(|rule| rule["rule"].as_str().unwrap()).collect()
}

#[test]
fn calls_of_json_rpc_without_bodies_let_no_rule_see() {
    let line =
        |rest: &str| format!("10.0.0.7 - - [30/Nov/2026:06:15:00 +0000] {rest} 90 \"-\" \"python-httpx/0.28.1\"\n");
    let card = line("\"GET /.well-known/agent-card.json HTTP/1.1\" 200");
    let (taken, refused) = (line("\"POST /a2a HTTP/1.1\" 200"), line("\"POST /a2a HTTP/1.1\" 401"));
    let coverage = coverage(card + &taken + &refused);
    assert_eq!(seeing(&coverage), [] as [&str; 0]);
}

#[test]
fn where_kong_cut_payloads_it_is_to_cut_less() {
    let told = |name: &str| {
        let coverage = coverage(fixture(&format!("formats/kong/{name}.ndjson")));
        let first = coverage["turn_on"][0]["setting"].as_str().unwrap().to_owned();
        (first.contains("max_payload_size"), coverage)
    };
    let (is_told, cut) = told("truncated");
    let unseen = cut["rules"].as_array().unwrap().iter().flat_map(|rule| rule["missing"].as_array().unwrap());
    assert!(is_told && unseen.into_iter().all(|missing| missing["not_seen"].is_null()), "{cut}");
    // Whole payloads, and none at all, are not cut.
    assert!(!told("payloads").0 && !told("statistics").0);
}
