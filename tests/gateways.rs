//! Gateways, JSON loggers and CrewAI: what their lines in `tests/formats/` give, under any name and in gzip, and that lines about
//! something else give nothing and say so.
//!
//! The expected numbers were counted in the fixtures with other tools (grep, Python); what each fixture is stands in the
//! README.md beside it.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

#[path = "gateways/day.rs"]
mod day;
#[path = "gateways/emitters.rs"]
mod emitters;
#[path = "gateways/faults.rs"]
mod faults;
#[path = "gateways/healthy.rs"]
mod healthy;
#[path = "gateways/hooks.rs"]
mod hooks;
#[path = "gateways/promises.rs"]
mod promises;
#[path = "gateways/rest.rs"]
mod rest;
#[path = "gateways/write.rs"]
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use a2a_drift::findings::Finding;
use a2a_drift::normalize::identity::{self, IdentitySettings};
use a2a_drift::rules::{self, AsOf};
use a2a_drift::tables::Facts;
use flate2::Compression;
use flate2::write::GzEncoder;
use support::judge::{self, Files};

const FIXTURES: [&str; 14] = [
    "agentgateway/access.json.log",
    "agentgateway/access.text.log",
    "kong/statistics.ndjson",
    "kong/payloads.ndjson",
    "kong/truncated.ndjson",
    "aisix/usage.ndjson",
    "envoy/istio.ndjson",
    "envoy/istio.log",
    "envoy/default.log",
    "nginx/json.log",
    "nginx/escaped.log",
    "nginx/vhost_combined.log",
    "crewai/events.ndjson",
    "crewai/to_json.ndjson",
];

fn fixture(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)).unwrap()
}

fn formats(paths: &[&str]) -> Files {
    paths.iter().map(|path| ((*path).to_owned(), fixture(&format!("formats/{path}")))).collect()
}

/// Facts of files of which every line was understood as something.
fn facts(files: &Files) -> Facts {
    let (facts, rejects) = judge::facts(files);
    assert_eq!(rejects, [] as [&str; 0], "{:?}", files.keys());
    facts
}

/// Findings, with some places given names.
fn findings(files: &Files, agents: &[(&str, &str)]) -> Vec<Finding> {
    let (mut facts, _) = judge::facts(files);
    let agents = agents.iter().map(|(place, name)| ((*place).to_owned(), (*name).to_owned())).collect();
    identity::resolve(&mut facts, &IdentitySettings { agents, ..IdentitySettings::default() });
    facts.make_set();
    let batches = facts.batches().unwrap();
    let as_of = AsOf::last_fact(&batches);
    let evaluation = judge::evaluate(batches).unwrap();
    assert!(evaluation.failures.is_empty(), "{:?}", evaluation.failures);
    rules::select(evaluation.findings, &as_of)
}

fn rules_of(findings: &[Finding]) -> BTreeSet<&str> {
    findings.iter().map(|finding| finding.rule.as_str()).collect()
}

fn tally<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    counts
}

fn operations(facts: &Facts) -> BTreeMap<&str, usize> {
    tally(facts.exchanges.iter().map(|row| row.own.operation.as_str()))
}

/// The calls of the run that the fixtures of gateways were made of: 63 POSTs by method, `tasks/send` being 0.1's `SendMessage`.
/// Two name no method, one a method that nobody knows.
const CALLS: [(&str, usize); 12] = [
    ("", 3),
    ("CancelTask", 4),
    ("CreateTaskPushNotificationConfig", 1),
    ("DeleteTaskPushNotificationConfig", 1),
    ("GetExtendedAgentCard", 1),
    ("GetTask", 9),
    ("GetTaskPushNotificationConfig", 1),
    ("ListTaskPushNotificationConfigs", 1),
    ("ListTasks", 1),
    ("SendMessage", 34),
    ("SendStreamingMessage", 5),
    ("SubscribeToTask", 2),
];

/// The agent's side of the run, as it was taped.
fn tape() -> Files {
    let bytes = fixture("captures/a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let text = String::from_utf8(bytes).unwrap();
    let is_call = |line: &&str| serde_json::from_str::<serde_json::Value>(line).unwrap()["leg"] == "agent";
    let lines: Vec<&str> = text.lines().filter(is_call).collect();
    Files::from([("tape".to_owned(), lines.join("\n").into_bytes())])
}

#[test]
fn agentgateway_tells_method_outcome_state_and_context_of_every_call_in_both_of_its_formats() {
    let [json, text] =
        ["agentgateway/access.json.log", "agentgateway/access.text.log"].map(|path| facts(&formats(&[path])));
    for facts in [&json, &text] {
        assert_eq!(operations(facts), BTreeMap::from(CALLS));
        // Of 20 errors one is told by its code -32001 six times, by -32602 thrice.
        let codes = facts.exchanges.iter().filter_map(|row| row.own.error_code);
        assert_eq!(codes.clone().count(), 20);
        assert_eq!((codes.clone().filter(|c| *c == -32001).count(), codes.filter(|c| *c == -32602).count()), (6, 3));
        let looks: Vec<_> = facts.cards.iter().map(|row| row.own.http_status).collect();
        assert_eq!(looks, [[Some(200); 6].as_slice(), &[Some(304)]].concat());
        for row in &facts.exchanges {
            assert_eq!(row.common.observer, "gateway");
            assert_eq!(row.common.agent_ref, "//127.0.0.1:3000/summary/a2a");
            assert_eq!(row.own.server_address, "127.0.0.1:41001");
        }
    }
    let seen = |facts: &Facts| -> BTreeSet<_> {
        let of = |row: &a2a_drift::tables::ExchangeRow| format!("{:?}", (&row.own, row.common.observed_at));
        facts.exchanges.iter().map(of).collect()
    };
    assert_eq!(seen(&json), seen(&text));
    // The line stands at the end of the call: 2026-11-30T06:15:34.856376Z, after 25 ms.
    assert!(json.exchanges.iter().any(|row| row.common.observed_at.to_rfc3339() == "2026-11-30T06:15:34.831376Z"));
    let id = |path: &str| findings(&formats(&[path]), &[]).into_iter().map(|f| f.id).collect::<Vec<_>>();
    assert_eq!(id("agentgateway/access.json.log"), id("agentgateway/access.text.log"));
    let told = findings(&formats(&["agentgateway/access.text.log"]), &[]);
    assert_eq!(rules_of(&told), ["version_mismatch"].into(), "a caller of 0.1 asked for tasks/send");
}

#[test]
fn agentgateway_with_bodies_and_headers_gives_what_a_tape_gives() {
    // The keys of examples/gateways/agentgateway.yaml.
    let line = serde_json::json!({
        "level": "info", "time": "2026-11-30T06:15:34.856376Z", "scope": "request", "endpoint": "127.0.0.1:41001", "src.addr": "127.0.0.1:5",
        "http.method": "POST", "http.host": "gw:3000", "http.path": "/summary/a2a", "http.status": 200, "protocol": "a2a",
        "a2a.method": "message/send", "a2a.response.outcome": "success", "a2a.task.state": "failed", "duration": "25ms",
        "http.request.header.traceparent": "00-b4a55c73950cc2728f5c83857ffbc7b1-d85277cb32219500-03", "http.request.header.a2a-version": "0.3",
        "http.request.body": r#"{"jsonrpc":"2.0","id":"1","method":"message/send","params":{"message":{"kind":"message","messageId":"m-1","role":"user","parts":[],"metadata":{"skillId":"translate"}}}}"#,
        "http.response.body": r#"{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"t-1","contextId":"c-1","status":{"state":"failed","message":{"kind":"message","messageId":"m-2","role":"agent","parts":[{"kind":"text","text":"Unknown skill: translate"}]}}}}"#,
    });
    let files = Files::from([("log".to_owned(), line.to_string().into_bytes())]);
    let facts = facts(&files);
    let [call] = facts.exchanges.as_slice() else { panic!("{:?}", facts.exchanges) };
    assert_eq!(
        (call.own.skill_id.as_str(), call.own.task_id.as_str(), call.own.message_id.as_str()),
        ("translate", "t-1", "m-1")
    );
    assert_eq!((call.common.span_id.as_str(), call.own.declared_version.as_str()), ("d85277cb32219500", "0.3"));
    assert_eq!(call.own.server_address, "127.0.0.1:41001");
    let told = findings(&files, &[]);
    assert!(rules_of(&told).contains("unknown_skill"), "{:?}", rules_of(&told));
}

#[test]
fn kong_tells_task_and_state_of_every_call_without_payloads() {
    let facts = facts(&formats(&["kong/statistics.ndjson"]));
    assert_eq!(operations(&facts), BTreeMap::from(CALLS));
    let states = tally(facts.task_events.iter().map(|row| row.own.state.as_str()));
    let expected = [
        ("auth-required", 1),
        ("canceled", 2),
        ("completed", 17),
        ("failed", 4),
        ("input-required", 2),
        ("rejected", 1),
        ("submitted", 8),
        ("working", 2),
    ];
    assert_eq!(states, BTreeMap::from(expected));
    let first = facts.exchanges.iter().min_by_key(|row| row.common.observed_at).unwrap();
    assert_eq!(first.common.observed_at.to_rfc3339(), "2026-11-30T06:15:34.830Z", "`started_at` is the start");
    // The caller's span stands in its traceparent.
    assert_eq!(first.common.call_id, "span:d85277cb32219500");
    assert_eq!(first.own.server_address, "127.0.0.1:41001");
    assert_eq!(first.own.declared_version, "1.0");
}

#[test]
fn kong_with_payloads_says_what_the_tape_says() {
    let kong = formats(&["kong/payloads.ndjson"]);
    let told = findings(&kong, &[("127.0.0.1:8000/summary", "summary")]);
    let taped = findings(&tape(), &[("127.0.0.1:41001", "summary")]);
    let ids = |findings: &[Finding]| -> BTreeSet<(String, String)> {
        findings.iter().map(|finding| (finding.rule.clone(), finding.id.clone())).collect()
    };
    assert!(told.len() > 10);
    assert_eq!(ids(&told), ids(&taped));
    assert!(
        ["unknown_skill", "stale_card_retry", "lost_after_rotation"].iter().all(|rule| rules_of(&told).contains(rule))
    );
}

#[test]
fn payloads_that_kong_cut_take_nothing_from_its_statistics() {
    let (cut, whole) = (facts(&formats(&["kong/truncated.ndjson"])), facts(&formats(&["kong/statistics.ndjson"])));
    assert_eq!(operations(&cut), operations(&whole));
    let states = |facts: &Facts| -> BTreeSet<_> {
        facts.task_events.iter().map(|row| (row.own.task_id.clone(), row.own.state.clone())).collect()
    };
    assert!(states(&whole).is_subset(&states(&cut)));
    // A request that was not cut names its skill.
    assert!(cut.exchanges.iter().any(|row| row.own.skill_id == "summarize-v2"));
}

#[test]
fn aisix_tells_task_and_state_of_every_call() {
    let facts = facts(&formats(&["aisix/usage.ndjson"]));
    let mut calls = BTreeMap::from(CALLS);
    // Nothing but the method says that these two are calls.
    calls.insert("", 1);
    assert_eq!(operations(&facts), calls);
    assert_eq!(facts.task_events.len(), 37);
    assert!(facts.exchanges.iter().all(|row| row.common.agent_ref == "name:Summary Agent"));
    assert!(facts.exchanges.iter().all(|row| row.common.observer == "gateway" && row.own.http_status == Some(200)));
}

#[test]
fn envoys_paths_tell_looks_and_calls_of_the_rest_binding_in_all_its_forms() {
    let all = ["envoy/istio.ndjson", "envoy/istio.log", "envoy/default.log"].map(|path| facts(&formats(&[path])));
    let calls = [
        ("CancelTask", 4),
        ("CreateTaskPushNotificationConfig", 1),
        ("DeleteTaskPushNotificationConfig", 1),
        ("GetExtendedAgentCard", 1),
        ("GetTask", 8),
        ("GetTaskPushNotificationConfig", 1),
        ("ListTaskPushNotificationConfigs", 1),
        ("ListTasks", 1),
        ("SendMessage", 32),
        ("SendStreamingMessage", 5),
        ("SubscribeToTask", 3),
    ];
    for facts in &all {
        assert_eq!(operations(facts), BTreeMap::from(calls));
        // Seven looks at the card, and the call of the extended one.
        assert_eq!(facts.cards.len(), 8);
        assert!(facts.exchanges.iter().all(|row| row.common.agent_ref == "http://127.0.0.1:8080/summary/rest"));
        assert!(facts.exchanges.iter().all(|row| row.own.server_address == "127.0.0.1:43001"));
        let unknown = facts.exchanges.iter().filter(|row| row.own.task_id == "no-such-task");
        assert!(unknown.clone().count() == 2 && unknown.clone().all(|row| row.own.outcome == "not-found"));
    }
}

#[test]
fn a_gateways_own_id_of_a_request_is_no_id_of_json_rpc() {
    for path in ["aisix/usage.ndjson", "envoy/istio.ndjson", "envoy/istio.log", "envoy/default.log"] {
        let facts = facts(&formats(&[path]));
        assert!(
            fixture(&format!("formats/{path}")).windows(4).any(|word| word == b"req-" || word == b"a279"),
            "{path}"
        );
        assert!(facts.exchanges.iter().all(|row| row.own.rpc_id.is_empty()), "{path}");
    }
}

#[test]
fn nginx_tells_calls_by_their_bodies_and_paths_with_either_escape() {
    for path in ["nginx/json.log", "nginx/escaped.log"] {
        let facts = facts(&formats(&[path]));
        let calls = [("CancelTask", 1), ("GetTask", 2), ("SendMessage", 2)];
        assert_eq!(operations(&facts), BTreeMap::from(calls), "{path}");
        let skills: BTreeSet<_> = facts.exchanges.iter().map(|row| row.own.skill_id.as_str()).collect();
        assert_eq!(skills, ["", "summarize", "translate"].into(), "{path}");
        assert!(facts.exchanges.iter().all(|row| row.common.observer == "gateway"), "{path}");
        // Of an answer that nobody recorded nothing is known.
        let sent = facts.exchanges.iter().filter(|row| row.own.operation == "SendMessage");
        assert!(sent.clone().all(|row| row.own.outcome.is_empty()), "{path}");
        assert_eq!(facts.cards.len(), 1, "{path}");
    }
    let mut facts = facts(&formats(&["nginx/json.log"]));
    // Both of its bindings, at two addresses behind the gateway.
    identity::resolve(&mut facts, &IdentitySettings::default());
    let agents: BTreeSet<_> = facts.exchanges.iter().map(|row| row.common.agent.as_str()).collect();
    assert_eq!(agents, ["127.0.0.1:43300/summary"].into());
    let first = facts.exchanges.iter().min_by_key(|row| row.common.observed_at).unwrap();
    // `msec` 1796054267.564 is the end, `request_time` 0.003.
    assert_eq!(
        first.common.observed_at.0 / 1_000_000 + i64::from(first.common.observed_at.0 % 1_000_000 > 500_000),
        1_796_054_267_561
    );
    assert_eq!((first.common.span_id.as_str(), first.own.declared_version.as_str()), ("0000000000000001", "0.3"));
}

#[test]
fn the_combined_format_tells_paths_and_with_a_host_agents() {
    for (path, agent) in
        [("nginx/combined.log", ""), ("nginx/vhost_combined.log", "http://127.0.0.1:43300/summary/rest/v1")]
    {
        let facts = facts(&formats(&[path]));
        assert_eq!(operations(&facts), BTreeMap::from([("CancelTask", 1), ("GetTask", 2)]), "{path}");
        assert!(facts.exchanges.iter().all(|row| row.common.agent_ref == agent), "{path}");
    }
}

/// What an agent and its caller said where a webhook is.
fn registered(url: &str) -> Vec<u8> {
    let line = serde_json::json!({
        "startedDateTime": "2026-11-30T15:57:46Z", "time_ms": 3, "client": "127.0.0.1:5", "server": "127.0.0.1:43301",
        "request": {"method": "POST", "url": "http://127.0.0.1:43301/", "body": {"jsonrpc": "2.0", "id": "1", "method": "message/send", "params": {
            "message": {"kind": "message", "messageId": "m", "role": "user", "parts": []}, "configuration": {"pushNotificationConfig": {"url": url}}}}},
        "response": {"status": 200, "body": {"jsonrpc": "2.0", "id": "1", "result": {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}}},
    });
    line.to_string().into_bytes()
}

#[test]
fn a_post_that_nginx_refused_is_a_delivery_where_someone_registered_its_url() {
    let mut files = formats(&["nginx/json.log"]);
    assert_eq!(facts(&files).push_deliveries.len(), 0);
    files.insert("tape".to_owned(), registered("http://127.0.0.1:43300/hooks/a2a"));
    let facts = facts(&files);
    let [delivery] = facts.push_deliveries.as_slice() else { panic!("{:?}", facts.push_deliveries) };
    assert_eq!((delivery.own.http_status, delivery.own.failure_class.as_str()), (Some(401), "auth"));
    assert_eq!(delivery.common.observer, "receiver");
}

#[test]
fn crewais_events_tell_looks_calls_states_and_artifacts_in_both_of_its_serializations() {
    for path in ["crewai/events.ndjson", "crewai/to_json.ndjson"] {
        let facts = facts(&formats(&[path]));
        let calls: BTreeSet<_> = facts.exchanges.iter().map(|row| row.own.skill_id.as_str()).collect();
        assert_eq!((facts.exchanges.len(), calls), (3, ["", "summarize", "translate"].into()), "{path}");
        let states = tally(facts.task_events.iter().map(|row| row.own.state.as_str()));
        assert_eq!(states, BTreeMap::from([("completed", 1), ("submitted", 1), ("working", 2)]), "{path}");
        assert!(facts.task_events.iter().all(|row| row.common.observer == "client"), "{path}");
        let [artifact] = facts.artifact_parts.as_slice() else { panic!("{path}") };
        assert_eq!((artifact.own.artifact_id.as_str(), artifact.own.size), ("summary", Some(9)), "{path}");
        let skills: BTreeSet<_> = facts.card_skills.iter().map(|row| row.own.skill_id.as_str()).collect();
        assert_eq!(skills, ["summarize"].into(), "{path}");
        let looks: Vec<_> = facts.cards.iter().map(|row| row.own.http_status).collect();
        assert_eq!(looks, [None, None, Some(0)], "{path}: nobody was at the last address");
        let told = findings(&formats(&[path]), &[]);
        assert_eq!(rules_of(&told), ["unadvertised_skill"].into(), "{path}");
    }
    let id = |path: &str| findings(&formats(&[path]), &[]).into_iter().map(|f| f.id).collect::<Vec<_>>();
    assert_eq!(id("crewai/events.ndjson"), id("crewai/to_json.ndjson"));
}

#[test]
fn crewais_own_task_is_not_the_protocols_and_its_deliveries_are_told() {
    let line = |value: serde_json::Value| value.to_string();
    let time = "2026-11-30T15:45:54Z";
    let lines = [
        line(
            serde_json::json!({"timestamp": time, "type": "a2a_server_task_failed", "task_id": "own", "fingerprint_metadata": {"task_id": "own"}, "context_id": "c", "error": "Unknown skill: x"}),
        ),
        line(
            serde_json::json!({"timestamp": time, "type": "a2a_server_task_failed", "task_id": "t-1", "context_id": "c", "error": "Unknown skill: x"}),
        ),
        line(
            serde_json::json!({"timestamp": time, "type": "a2a_push_notification_sent", "task_id": "t-1", "callback_url": "http://h:1/hook", "state": "failed", "success": false, "error": "HTTP 401"}),
        ),
        line(
            serde_json::json!({"timestamp": time, "type": "a2a_push_notification_sent", "task_id": "t-1", "callback_url": "http://h:1/hook", "state": "failed", "success": true}),
        ),
    ];
    let facts = facts(&Files::from([("events".to_owned(), lines.join("\n").into_bytes())]));
    let [event] = facts.task_events.as_slice() else { panic!("{:?}", facts.task_events) };
    assert_eq!((event.own.task_id.as_str(), event.own.reason_class.as_str()), ("t-1", "unknown-skill"));
    assert_eq!(event.common.observer, "server");
    let classes: BTreeSet<_> = facts.push_deliveries.iter().map(|row| row.own.failure_class.as_str()).collect();
    assert_eq!(classes, ["", "auth"].into());
}

#[test]
fn slog_and_console_lines_of_the_sdks_give_their_ids() {
    // a2a-go: a2aclient/logging.go and a2asrv/intercepted_handler.go; the JSON handler nests groups.
    let go = [
        r#"{"time":"2026-11-30T06:15:34.5Z","level":"INFO","msg":"a2a call failed","method":"SendMessage","request_id":"r-1","url":"http://agent:1/a2a","duration_ns":12000000,"error":"Task t-9 not found"}"#,
        r#"{"time":"2026-11-30T06:15:34.6Z","level":"ERROR","msg":"task moved to failed state due to an error","a2a":{"task_id":"t-1","context_id":"c-1","message_id":"m-1","request_id":"r-1"},"error":"Unknown skill: x"}"#,
    ];
    let facts_of = |lines: &[&str]| facts(&Files::from([("log".to_owned(), lines.join("\n").into_bytes())]));
    let facts = facts_of(&go);
    let [call] = facts.exchanges.as_slice() else { panic!("{:?}", facts.exchanges) };
    assert_eq!((call.own.operation.as_str(), call.common.agent_ref.as_str()), ("SendMessage", "http://agent:1/a2a"));
    let [event] = facts.task_events.as_slice() else { panic!("{:?}", facts.task_events) };
    assert_eq!((event.own.task_id.as_str(), event.own.context_id.as_str()), ("t-1", "c-1"));
    assert_eq!((event.own.state.as_str(), event.own.reason_class.as_str()), ("failed", "unknown-skill"));
    // .NET's JSON console formatter; without `TimestampFormat` it writes no time.
    let dotnet = r#"{"Timestamp":"2026-11-30T06:15:34.500Z","EventId":0,"LogLevel":"Error","Category":"A2A.A2AServer","Message":"Background event processing failed for task t-2.","State":{"Message":"Background event processing failed for task t-2.","TaskId":"t-2","{OriginalFormat}":"Background event processing failed for task {TaskId}."}}"#;
    let [event] = facts_of(&[dotnet]).task_events.try_into().unwrap();
    assert_eq!((event.own.task_id.as_str(), event.own.state.as_str()), ("t-2", "failed"));
}

#[test]
fn all_fixtures_in_gzip_under_wrong_names_give_what_they_give() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Files::new();
    for (number, path) in FIXTURES.iter().enumerate() {
        let bytes = fixture(&format!("formats/{path}"));
        let name = folder.path().join(format!("{number}.{}", ["pdf", "har", "har.zst"][number % 3]));
        let mut encoder = GzEncoder::new(std::fs::File::create(&name).unwrap(), Compression::fast());
        encoder.write_all(&bytes).unwrap();
        encoder.finish().unwrap();
        files.insert(name.display().to_string(), bytes);
    }
    let run = Command::new(env!("CARGO_BIN_EXE_a2a-drift"))
        .args(["analyze", "--format", "json"])
        .arg(folder.path())
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let told: BTreeSet<&str> =
        report["findings"].as_array().unwrap().iter().map(|f| f["id"].as_str().unwrap()).collect();
    let findings = findings(&files, &[]);
    assert_eq!(told, findings.iter().map(|finding| finding.id.as_str()).collect());
    assert!(told.len() > 10);
}

#[test]
fn the_same_findings_come_out_of_the_carriers_of_containers() {
    let lines = |path: &str| String::from_utf8(fixture(&format!("formats/{path}"))).unwrap();
    let time = "2026-11-30T16:00:00.123456789Z";
    let wrapped = |wrap: &dyn Fn(&str) -> String| -> Files {
        let wrap = |path: &&str| lines(path).lines().map(wrap).collect::<Vec<_>>().join("\n").into_bytes();
        FIXTURES.iter().map(|path| ((*path).to_owned(), wrap(path))).collect()
    };
    let docker =
        |line: &str| serde_json::json!({"log": format!("{line}\n"), "stream": "stdout", "time": time}).to_string();
    let cri = |line: &str| format!("{time} stdout F {line}");
    let fluent = |line: &str| {
        let kubernetes = serde_json::json!({"pod_name": "edge-1", "namespace_name": "agents"});
        serde_json::json!({"date": 1_796_054_400.5, "stream": "stdout", "log": line, "kubernetes": kubernetes})
            .to_string()
    };
    let ids =
        |files: &Files| -> BTreeSet<String> { findings(files, &[]).into_iter().map(|finding| finding.id).collect() };
    let plain = ids(&formats(&FIXTURES));
    for (name, files) in [("docker", wrapped(&docker)), ("cri", wrapped(&cri)), ("fluent", wrapped(&fluent))] {
        assert_eq!(ids(&files), plain, "{name}");
        for path in FIXTURES {
            let of = |files: &Files| facts(&Files::from([(path.to_owned(), files[path].clone())])).len();
            assert_eq!(of(&files), of(&formats(&[path])), "{name} around {path}");
        }
    }
}

#[test]
fn a_log_about_something_else_is_no_verdict_and_says_what_it_was() {
    let lines = r#"{"level":"info","ts":1796019334.5,"msg":"served","path":"/","status":200}
{"level":"info","ts":1796019335.5,"msg":"served","path":"/health","status":200}
{"time":"2026-11-30T06:15:34Z","level":"INFO","msg":"POST http://h/ 200","type":"audit"}
"#;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.log");
    std::fs::write(&file, lines).unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_a2a-drift")).arg("analyze").arg(&file).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(said.contains("read as json-log"), "{said}");
    assert!(said.contains("3 log lines, none about A2A"), "{said}");
}

#[test]
fn an_agent_is_one_through_a_gateway_and_at_its_own_address() {
    let mut files = formats(&["agentgateway/access.json.log"]);
    files.extend(tape());
    let mut facts = facts(&files);
    identity::resolve(&mut facts, &IdentitySettings::default());
    let agents: BTreeSet<_> = facts.exchanges.iter().map(|row| row.common.agent.as_str()).collect();
    assert_eq!(agents, ["127.0.0.1:41001"].into());
    let gateways = facts.exchanges.iter().filter(|row| row.common.agent_ref.contains("3000")).count();
    assert_eq!(gateways, 63);
}
