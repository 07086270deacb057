//! Deliveries to a webhook behind a proxy, and what the program tells of the proxy's log.

#![allow(dead_code, reason = "suites that use it need a part each")]

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::{Value, json};

use super::day::{HOST, MORNING, SECOND};
use super::write::{self, Call, Form};

/// Posts to a webhook, half a minute apart.
pub fn deliveries(statuses: &[u16]) -> Vec<Call> {
    let post = |(nth, status): (usize, &u16)| {
        let task = format!("0000000{nth}-5e5b-425d-8feb-000000000000");
        let status_update = json!({"taskId": task, "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}});
        Call {
            at: MORNING + 123_456 + 30 * SECOND * i64::try_from(nth).unwrap(),
            millis: 4,
            client: "10.0.0.9:50012".to_owned(),
            method: "POST",
            host: HOST,
            path: "/inbox/a2a".to_owned(),
            upstream: "10.2.0.1:9000",
            status: *status,
            version: "",
            sent: json!({"statusUpdate": status_update}),
            got: vec![json!({})],
            streams: false,
            is_delivery: true,
        }
    };
    statuses.iter().enumerate().map(post).collect()
}

/// The rules about deliveries.
const RULES: &str = "retry_without_refetch,scheme_mismatch,signing_key_rotated,terminal_undelivered,unauthorized_storm";

/// What `analyze` tells of a gateway's log with a configuration: findings of rules about deliveries, and those that are blind.
pub fn analyzed(log: &[u8], config: &str) -> (Vec<Value>, BTreeSet<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (file, settings) = (folder.path().join("hooks.log"), folder.path().join("a2a-drift.toml"));
    std::fs::write(&file, log).unwrap();
    std::fs::write(&settings, config).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    run.args(["analyze", "--format", "json", "--rule", RULES, "--config"]).arg(&settings).arg(&file);
    let run = run.output().unwrap();
    let report: Value = serde_json::from_slice(&run.stdout).unwrap_or_default();
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let coverage = report["coverage"].as_array().cloned().unwrap_or_default();
    let blind = coverage.iter().filter(|rule| rule["missing"].as_array().is_some_and(|missing| !missing.is_empty()));
    let blind = blind.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect();
    (findings, blind)
}

/// Says that what a proxy logs is on the way to webhooks.
pub const WEBHOOKS: &str = "[[observers]]\nsource = \"*hooks*\"\nobserver = \"gateway\"\nleg = \"webhook\"\n";

/// Access logs, none of which holds the body of a delivery.
pub const ACCESS_LOGS: [(&str, Form); 7] = [
    ("envoy json", write::envoy_json),
    ("envoy", write::envoy_text),
    ("istio", write::istio_text),
    ("nginx", write::nginx_without_bodies),
    ("apache", write::apache),
    ("agentgateway", write::agentgateway_json),
    ("kong", write::kong_statistics),
];

/// Two deliveries that arrived, then refusals over more than ten minutes: by their number alone a storm, since the log of a
/// proxy does not name the tasks.
pub fn storm() -> Vec<Call> {
    deliveries(&[[200; 2].as_slice(), &[401; 22]].concat())
}
