//! What a setting in `queries/emitters.toml` is said to bring, it brings: coverage of what its emitter writes with it.
//!
//! The lines have the members that the emitters' documentation gives them (queries/emitters.toml says where it is), around
//! bodies of A2A 1.0.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

/// Calls of which every field of a body can be learnt: a card, a send that names a task and a webhook, a poll, a stream that fails.
fn calls() -> Vec<(&'static str, &'static str, Value, String)> {
    let status = |state: &str, text: &str| {
        json!({"state": state, "timestamp": "2026-11-30T06:15:35Z",
            "message": {"messageId": "s1", "role": "ROLE_AGENT", "parts": [{"text": text}]}})
    };
    let task = json!({"id": "t-1", "contextId": "c-1", "status": status("TASK_STATE_COMPLETED", "done"),
        "artifacts": [{"artifactId": "a-1", "parts": [{"text": "x", "mediaType": "text/plain"}]}]});
    let card = json!({"name": "Summaries", "version": "1.0.0", "description": "d",
        "supportedInterfaces": [{"url": "http://gw.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": true, "pushNotifications": true},
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"name": "X-Key", "location": "header"}}},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s-1", "name": "S", "description": "d", "tags": []}],
        // {"alg":"ES256","kid":"key-1"}
        "signatures": [{"protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImtleS0xIn0", "signature": "c2ln"}]});
    let send = json!({"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": {
        "message": {"messageId": "m-1", "role": "ROLE_USER", "taskId": "t-0", "parts": [{"text": "hi"}]},
        "configuration": {"taskPushNotificationConfig": {"id": "p-1", "url": "https://hooks.example/a"}}}});
    let poll = json!({"jsonrpc": "2.0", "id": "2", "method": "GetTask", "params": {"id": "t-1"}});
    let stream = json!({"jsonrpc": "2.0", "id": "3", "method": "SendStreamingMessage",
        "params": {"message": {"messageId": "m-3", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}});
    let artifact = |append: bool| {
        json!({"artifactUpdate": {"taskId": "t-3", "contextId": "c-3", "append": append, "lastChunk": append,
            "artifact": {"artifactId": "a-3", "parts": [{"text": "x"}]}}})
    };
    let failed = status("TASK_STATE_FAILED", "Unknown skill: s-9");
    let events = [
        json!({"task": {"id": "t-3", "contextId": "c-3", "status": {"state": "TASK_STATE_WORKING"}}}),
        artifact(false),
        artifact(true),
        json!({"statusUpdate": {"taskId": "t-3", "contextId": "c-3", "status": failed}}),
    ];
    let event = |event: &Value| format!("data: {}\r\n\r\n", json!({"jsonrpc": "2.0", "id": "3", "result": event}));
    let answer = |id: &str, result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    vec![
        ("GET", "/.well-known/agent-card.json", Value::Null, card.to_string()),
        ("POST", "SendMessage", send, answer("1", json!({"task": task}))),
        ("POST", "GetTask", poll, answer("2", task)),
        ("POST", "SendStreamingMessage", stream, events.iter().map(event).collect()),
    ]
}

/// A line of agentgateway's access log, with `accessLog.add` as its setting says.
fn agentgateway((method, what, request, response): (&str, &str, Value, String)) -> Value {
    let mut line = json!({"level": "info", "time": "2026-11-30T06:15:37.000Z", "scope": "request", "gateway": "default/gw",
        "listener": "http", "route": "default/summaries", "endpoint": "10.0.0.9:9000", "src.addr": "10.0.0.7:40000",
        "http.method": method, "http.host": "gw.example", "http.version": "HTTP/1.1", "http.status": 200, "protocol": "a2a",
        "duration": "12ms", "http.response.body": response});
    line["http.path"] = if what.starts_with('/') { what.into() } else { "/".into() };
    if !request.is_null() {
        line["http.request.body"] = request.to_string().into();
        line["a2a.method"] = what.into();
        line["a2a.response.outcome"] = "success".into();
    }
    line
}

/// An entry of Kong's file log, with payloads; a look at a card has that of the answer.
fn kong((verb, method, request, response): (&str, &str, Value, String)) -> Value {
    let is_card = request.is_null();
    let rpc = match is_card {
        true => json!({"method": "agent/getCard", "binding": "rest", "latency": 12, "payload": {"response": response}}),
        false => json!({"method": method, "binding": "jsonrpc", "latency": 12, "id": request["id"], "task_id": "t-1",
            "task_state": "TASK_STATE_COMPLETED", "context_id": "c-1", "streaming": method == "SendStreamingMessage",
            "payload": {"request": request.to_string(), "response": response}}),
    };
    let path = if is_card { method } else { "/" };
    let url = format!("http://gw.example:8000{path}");
    json!({"request": {"method": verb, "uri": path, "url": url, "size": 300, "headers": {"host": "gw.example"}},
        "response": {"status": 200, "size": 200, "headers": {}}, "ai": {"a2a": {"rpc": [rpc]}},
        "latencies": {"request": 20, "kong": 1, "proxy": 12}, "service": {"name": "summaries", "host": "10.0.0.9", "port": 9000},
        "route": {"name": "r"}, "client_ip": "10.0.0.7", "started_at": 1_796_019_334_786_u64})
}

/// A line of nginx with the format of its setting.
fn nginx((method, _, request, _): (&str, &str, Value, String)) -> Value {
    json!({"time_iso8601": "2026-11-30T06:15:35+00:00", "request_method": method, "request_uri": "/a2a", "host": "gw.example",
        "status": 200, "request_time": 0.012, "request_body": request.to_string()})
}

/// A line of Envoy with the format of its setting: a poll by its path, all else by what the filter for A2A says.
fn envoy((method, what, ..): (&str, &str, Value, String)) -> Value {
    let is_poll = what == "GetTask";
    json!({"start_time": "2026-11-30T06:15:35.000Z", "method": if is_poll { "GET" } else { method },
        "path": if is_poll { "/tasks/t-1" } else { "/" }, "response_code": 200, "response_flags": "-", "duration": 12,
        "authority": "gw.example", "upstream_host": "10.0.0.9:9000", "downstream_remote_address": "10.0.0.7:40000",
        "traceparent": null, "a2a_version": "1.0", "a2a.method": if is_poll { Value::Null } else { what.into() }})
}

/// What a2a-go's interceptor at the agent writes through slog's JSON handler.
fn a2a_go((_, what, ..): (&str, &str, Value, String)) -> Value {
    let mut line = json!({"time": "2026-11-30T06:15:35Z", "level": "INFO", "msg": "a2a call finished", "a2a": {
        "message_id": "m-1", "task_id": "t-1", "context_id": "c-1", "request_id": "5c1f0a0e-8a36-4c9b-9a44-0a3c1d2f7e55",
        "method": what, "duration_ns": 2_500_000}});
    if what == "GetTask" {
        line["msg"] = "a2a call failed".into();
        line["a2a"]["error"] = "task not found".into();
    }
    line
}

/// What a2a-dotnet's server activity is as a span, in that of ASP.NET.
fn a2a_dotnet((_, what, ..): (&str, &str, Value, String)) -> Value {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = |id: &str, parent: &str, name: &str, kind: u8, attributes: Value| {
        json!({"traceId": "5b8efff798038103d269b633813fc60c", "spanId": id, "parentSpanId": parent, "name": name, "kind": kind,
            "startTimeUnixNano": "1796019334786000000", "endTimeUnixNano": "1796019334796000000", "attributes": attributes})
    };
    let outer = json!([text("http.request.method", "POST"), text("url.scheme", "http"), text("server.address", "agent.example"),
        text("url.path", "/"), {"key": "http.response.status_code", "value": {"intValue": "200"}}]);
    let inner = json!([text("a2a.task.id", "t-1"), text("a2a.context.id", "c-1"),
        {"key": "a2a.is_continuation", "value": {"boolValue": false}}]);
    let scope = |name: &str, span: Value| json!({"scope": {"name": name}, "spans": [span]});
    json!({"resourceSpans": [{"resource": {"attributes": [text("service.name", "summaries")]}, "scopeSpans": [
        scope("Microsoft.AspNetCore", span("eee19b7ec3c1b174", "", "POST /", 2, outer)),
        scope("A2A", span("eee19b7ec3c1b175", "eee19b7ec3c1b174", &format!("A2AServer.{what}"), 1, inner)),
    ]}]})
}

/// Fields that no line fills, of those that rules need.
fn missing(lines: &[Value]) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let output = run(&["coverage", "--format", "json", path.to_str().unwrap()]);
    let coverage: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_ne!(coverage["summary"]["facts"], 0, "{}", stderr(&output));
    let missing = coverage["rules"].as_array().unwrap().iter().flat_map(|rule| rule["missing"].as_array().unwrap());
    missing
        .filter(|missing| missing["has_other"] == false)
        .map(|missing| missing["field"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_setting_brings_what_it_is_said_to_bring() {
    use a2a_drift::rules::{Advice, Corpus, Need};
    let advice = Advice::embedded();
    let needs: Vec<Need> = Corpus::embedded().unwrap().rules.into_iter().flat_map(|rule| rule.header.needs).collect();
    type Line = fn((&'static str, &'static str, Value, String)) -> Value;
    for (id, line, all) in [
        ("agentgateway", agentgateway as Line, true),
        ("kong", kong, true),
        ("nginx", nginx, false),
        ("envoy", envoy, false),
        ("a2a-go", a2a_go, false),
        ("a2a-dotnet", a2a_dotnet, false),
    ] {
        let calls = calls().into_iter().filter(|(method, ..)| all || *method == "POST");
        let missing = missing(&calls.map(line).collect::<Vec<_>>());
        // What a setting of a2a-drift's own brings is tested where it is (tests/gateways/faults.rs).
        let of_emitter =
            |need: &&Need| advice.setting(need, &[id.to_owned()]).is_some_and(|(_, s)| !s.set.contains("a2a-drift"));
        let claimed = needs.iter().filter(of_emitter);
        let broken: BTreeSet<&str> =
            claimed.map(|need| need.text.as_str()).filter(|need| missing.contains(*need)).collect();
        assert!(broken.is_empty(), "{id} is said to bring {broken:?}");
    }
}
