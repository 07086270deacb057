//! The fixtures of tests/formats, whose README.md say by what they were written, and what is done with odd ones.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::decode::framing::collect::Collected;
use crate::decode::record::{Attributes, LogRecord, Position, Record, RejectReason};
use crate::decode::{Limits, decode};
use crate::instant::Instant;

fn read_with(bytes: &[u8], limits: &Limits) -> Collected {
    let mut sink = Collected::default();
    decode(&Arc::from("test"), Box::new(bytes), limits, &mut sink);
    sink
}

fn read(text: impl AsRef<[u8]>) -> Collected {
    read_with(text.as_ref(), &Limits::default())
}

fn fixture(path: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/formats/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Times of the lines of the fixtures; stores that count milliseconds cut them.
const FIRST: i64 = 1_796_019_334_786_336_001;
const SECOND: i64 = 1_796_019_335_786_336_002;

fn document(record: &Record) -> (&Value, Option<Instant>) {
    match record {
        Record::Document(document) => (&document.value, document.at),
        other => panic!("{other:?}"),
    }
}

fn log(record: &Record) -> &LogRecord {
    match record {
        Record::Log(log) => log,
        other => panic!("{other:?}"),
    }
}

fn reasons(sink: &Collected) -> Vec<RejectReason> {
    sink.rejects.iter().map(|reject| reject.reason).collect()
}

#[test]
fn every_fixture_gives_its_request_its_log_line_and_one_reject() {
    const POD: (&str, &str) = ("k8s.pod.name", "agent-0");
    const LONG_POD: (&str, &str) = ("k8s.pod.name", "agent-5cbb6d585d-cr4rd");
    const SERVICE: (&str, &str) = ("service.name", "orders");
    const SPACE: (&str, &str) = ("k8s.namespace.name", "default");
    const NODE: (&str, &str) = ("k8s.node.name", "node-1");
    for (file, format, nanos, labels) in [
        ("fluent/fluent-bit.jsonl", "fluent", true, &[LONG_POD, SERVICE, SPACE, NODE][..]),
        ("fluent/fluent-bit-http.json", "fluent", true, &[LONG_POD, SERVICE, SPACE, NODE]),
        ("fluent/fluent-bit-merged.jsonl", "fluent", true, &[LONG_POD, SERVICE, SPACE, NODE]),
        ("fluent/fluentd-stdout.log", "fluentd", true, &[LONG_POD, SERVICE, SPACE, NODE]),
        ("fluent/fluentd-file.log", "fluentd", true, &[LONG_POD, SERVICE, SPACE, NODE]),
        (
            "fluent/firelens.jsonl",
            "fluent",
            true,
            &[("container.name", "/ecs-agent-1"), ("aws.ecs.task.family", "agent:1")],
        ),
        ("vector/kubernetes-logs.jsonl", "vector", true, &[POD, SERVICE, SPACE, NODE]),
        ("vector/kubernetes-logs-flat.jsonl", "vector", true, &[POD, SERVICE, SPACE, NODE]),
        ("vector/docker-logs.jsonl", "vector", true, &[("container.name", "agent"), SERVICE]),
        ("filebeat/container.jsonl", "filebeat", true, &[POD, SERVICE, SPACE, NODE, ("container.id", "7d85")]),
        ("filebeat/json-input.jsonl", "filebeat", true, &[POD, SERVICE, SPACE, NODE]),
        ("filebeat/search.json", "elasticsearch", true, &[POD, SERVICE, SPACE, NODE]),
        ("filebeat/hits.jsonl", "elasticsearch", true, &[POD, SERVICE, SPACE, NODE]),
        ("loki/query-range.json", "loki", true, &[POD, SERVICE, SPACE, NODE, ("k8s.container.name", "agent")]),
        ("loki/push.json", "loki", true, &[POD, SERVICE, SPACE, NODE]),
        ("loki/logcli.jsonl", "loki", true, &[POD, SERVICE, SPACE, NODE]),
        ("loki/grafana-download.json", "loki", true, &[POD, SERVICE, SPACE, NODE]),
        ("cloudwatch/filter-log-events.json", "cloudwatch", false, &[("aws.log.stream.names", "agent/agent/0123")]),
        ("cloudwatch/get-log-events.json", "cloudwatch", false, &[]),
        ("cloudwatch/subscription.json", "cloudwatch", false, &[("aws.log.group.names", "/ecs/agent")]),
        ("cloudwatch/insights.json", "cloudwatch", false, &[("aws.log.group.names", "/ecs/agent")]),
        ("cloudwatch/export.log", "timed-lines", false, &[]),
        ("cloud-logging/sink.jsonl", "cloud-logging", true, &[POD, SERVICE, SPACE, ("k8s.cluster.name", "c")]),
        ("cloud-logging/gcloud.json", "cloud-logging", true, &[POD, SERVICE, SPACE]),
        ("cloud-logging/entries-list.json", "cloud-logging", true, &[POD, SERVICE, SPACE]),
    ] {
        let mut sink = read(fixture(file));
        assert!(sink.formats.contains(&format), "{file}: {:?}", sink.formats);
        assert_eq!(reasons(&sink), [RejectReason::UnknownText], "{file}: {:?}", sink.rejects);
        assert_eq!(sink.rejects[0].detail, "1 line: text of no format known here", "{file}");
        assert_eq!(sink.records.len(), 2, "{file}");
        sink.records.sort_by_key(|record| matches!(record, Record::Log(_)));
        let exact = |at: i64| Some(Instant(if nanos { at } else { at / 1_000_000 * 1_000_000 }));
        let (value, at) = document(&sink.records[0]);
        assert_eq!((value["id"].as_str(), at), (Some("r1"), exact(FIRST)), "{file}");
        let line = log(&sink.records[1]);
        assert_eq!((line.scope.as_str(), line.at), ("httpx", exact(SECOND)), "{file}");
        for (name, expected) in labels {
            assert_eq!(line.resource.text(name).as_deref(), Some(*expected), "{file}: {name}");
        }
        if file.starts_with("cloud-logging") {
            let trace = (line.trace_id.as_str(), line.span_id.as_str());
            assert_eq!(trace, ("06796866738c859f2f19b7cfb3214824", "000000000000004a"), "{file}");
        }
    }
}

#[test]
fn a_request_log_of_cloud_run_is_a_line_of_an_access_log() {
    let sink = read(fixture("cloud-logging/request.jsonl"));
    assert_eq!(sink.formats, ["cloud-logging", "access-log"]);
    let line = log(&sink.records[0]);
    assert_eq!(line.resource.text("service.name").as_deref(), Some("orders"));
    let text = |name: &str| line.attributes.text(name).unwrap_or_default();
    assert_eq!(line.event_name, crate::decode::access_log::EVENT);
    assert_eq!((text("http.request.method").as_str(), text("http.response.status_code").as_str()), ("POST", "503"));
    assert_eq!(text("url.full"), "https://orders-abc.a.run.app/a2a");
    assert!(line.at >= Some(Instant(FIRST)), "{:?}", line.at);
    assert_eq!(line.trace_id, "06796866738c859f2f19b7cfb3214824");
    assert_eq!((sink.records.len(), sink.rejects.len()), (1, 0));
}

#[test]
fn pieces_are_joined_by_stream_and_the_last_is_read_without_its_end() {
    let sink = read(fixture("cri/containerd.log"));
    assert_eq!(sink.formats.iter().filter(|format| **format == "cri").count(), 1);
    // Of two streams: the line of one stands between the pieces of the other.
    assert_eq!(log(&sink.records[0]).body, "HTTP Request: POST http://agent-1:8080/ \"HTTP/1.1 200 OK\"");
    let (value, at) = document(&sink.records[1]);
    assert_eq!((value["id"].as_str(), at), (Some("r1"), Some(Instant(FIRST))));
    assert_eq!(log(&sink.records[2]).at, Some(Instant(SECOND)));
    let places: Vec<Position> = sink
        .records
        .iter()
        .map(|record| match record {
            Record::Document(document) => document.origin.position,
            other => log(other).origin.position,
        })
        .collect();
    assert_eq!(places, [Position::Line(2), Position::Line(1), Position::Line(4)]);
    let rejects: Vec<_> = sink.rejects.iter().map(|r| (r.reason, r.origin.position)).collect();
    assert_eq!(rejects, [(RejectReason::UnknownText, Position::Line(6))]);
}

#[test]
fn what_docker_wrote_is_what_the_container_wrote() {
    let sink = read(fixture("docker-json-file/json-file.log"));
    let bare =
        std::fs::read(format!("{}/tests/captures/a2a-js-1.3.0/js.traces.otlp.jsonl", env!("CARGO_MANIFEST_DIR")))
            .unwrap();
    let bare = read(bare);
    let spans = bare.records.len();
    let said = |record: &Record| match record {
        Record::Span(span) => (span.span_id.clone(), span.attributes.clone(), span.resource.clone()),
        other => panic!("{other:?}"),
    };
    for (wrapped, bare) in sink.records[..spans].iter().zip(&bare.records) {
        assert_eq!(said(wrapped), said(bare));
    }
    assert_eq!(log(&sink.records[spans]).scope, "httpx");
    let ids: Vec<_> =
        sink.records[spans + 1..].iter().map(|record| document(record).0["id"].as_str().unwrap()).collect();
    // An event of a stream, a value over five lines, and a line that was cut within a character.
    assert_eq!(ids, ["r1", "r2", "r3"]);
    let task = document(sink.records.last().unwrap()).0;
    assert_eq!(task["result"]["task"]["note"].as_str().unwrap().matches('\u{fffd}').count(), 2);
    assert_eq!(sink.rejects.iter().map(|r| r.origin.position).collect::<Vec<_>>(), [Position::Line(15)]);
}

#[test]
fn the_console_of_the_js_sdk_is_unwrapped() {
    let path = format!("{}/tests/captures/a2a-js-1.3.0/js.console.cri.log", env!("CARGO_MANIFEST_DIR"));
    let sink = read(std::fs::read(path).unwrap());
    assert!(sink.formats.contains(&"cri"));
    let lines =
        |reject: &crate::decode::record::Reject| reject.detail.split(' ').next().unwrap().parse::<u64>().unwrap();
    assert!(sink.rejects.iter().all(|reject| reject.reason == RejectReason::UnknownText));
    // What its sentences say is read elsewhere: no line is lost on the way there.
    assert!(sink.rejects.iter().map(lines).sum::<u64>() + sink.records.len() as u64 >= 20);
}

#[test]
fn a_line_of_docker_without_its_end_is_a_line_unless_it_is_a_value_that_goes_on() {
    let docker =
        |log: &str| json!({"log": log, "stream": "stdout", "time": "2016-10-20T18:39:20.57606443Z"}).to_string();
    let lines =
        ["INFO:httpx:one", "INFO:httpx:two", r#"{"jsonrpc":"2.0","id""#, r#":"a"}"#, r#"{"jsonrpc":"2.0","id":"b"}"#];
    let sink = read(lines.map(docker).join("\n"));
    let bodies: Vec<_> = sink.records[..2].iter().map(|record| log(record).body.clone()).collect();
    assert_eq!(bodies, ["one", "two"]);
    let ids: Vec<_> = sink.records[2..].iter().map(|record| document(record).0["id"].clone()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert!(sink.rejects.is_empty());
}

#[test]
fn a_line_that_a_shipper_took_apart_keeps_what_it_said_beside_its_sentence() {
    let record = json!({"@timestamp": "2026-11-30T06:15:34Z", "message": "said", "level": "info", "logger": "x",
        "kubernetes": {"pod_name": "p"}, "stream": "stdout"});
    let (format, wrapped) = super::object(record.as_object().unwrap().clone()).unwrap();
    assert_eq!((format, wrapped.len()), ("filebeat", 1));
    let super::Payload::Value(value) = &wrapped[0].payload else { panic!("{wrapped:?}") };
    assert_eq!(
        *value,
        json!({"@timestamp": "2026-11-30T06:15:34Z", "message": "said", "level": "info", "logger": "x"})
    );
    // So does one whose line is gone.
    let record = json!({"time": "2026-11-30T06:15:34Z", "stream": "stdout", "_p": "F", "method": "POST", "path": "/a2a",
        "host": "agent.example", "kubernetes": {"pod_name": "p"}});
    let (_, wrapped) = super::object(record.as_object().unwrap().clone()).unwrap();
    let super::Payload::Value(value) = &wrapped[0].payload else { panic!("{wrapped:?}") };
    let line = json!({"time": "2026-11-30T06:15:34Z", "method": "POST", "path": "/a2a", "host": "agent.example"});
    assert_eq!(*value, line);
    // What is whole by itself is read as it was written.
    let record = json!({"log": "{\"jsonrpc\":\"2.0\"}", "jsonrpc": "2.0", "cluster": "c"});
    let (_, wrapped) = super::object(record.as_object().unwrap().clone()).unwrap();
    assert!(matches!(&wrapped[0].payload, super::Payload::Text(text, _) if text == "{\"jsonrpc\":\"2.0\"}"));
}

#[test]
fn objects_of_loggers_and_of_the_protocol_are_no_carriers() {
    for value in [
        json!({"message": "said", "timestamp": "2026-11-30T06:15:34Z", "level": "info"}),
        json!({"@timestamp": "2026-11-30T06:15:34Z", "log.level": "info", "message": "said", "ecs": {"version": "1.6.0"},
            "log": {"logger": "x", "original": "said"}}),
        json!({"id": "1", "timestamp": 1, "message": "said"}),
        json!({"message": {"messageId": "m", "parts": []}}),
        json!({"log": {"version": "1.2", "entries": []}}),
        json!({"events": [], "name": "x"}),
        json!({"events": [{"name": "exception", "timestamp": "2026-11-30T06:15:34Z"}]}),
        json!({"results": [{"name": "agent"}]}),
        json!({"entries": [{"name": "agent"}]}),
        json!({"hits": 3}),
        json!({"streams": []}),
        json!({"data": {"resultType": "matrix", "result": [{"metric": {}, "values": [[1, "2"]]}]}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"kind": "task"}}),
        json!({"line": "x", "number": 3}),
        json!({"labels": {}, "timestamp": 1}),
    ] {
        let map = value.as_object().unwrap().clone();
        assert_eq!(super::object(map.clone()).map(|(name, _)| name).unwrap_err(), map);
    }
}

#[test]
fn a_sidecar_has_not_the_name_of_the_program_beside_it_and_a_place_is_no_name() {
    let service = |value: Value| {
        let (_, wrapped) = super::object(value.as_object().unwrap().clone()).unwrap();
        wrapped.first().unwrap().said.labels.text("service.name")
    };
    let pod = |container: &str| json!({"log": "x\n", "kubernetes": {"container_name": container, "labels": {"app": "orders"}}});
    assert_eq!(service(pod("agent")).as_deref(), Some("orders"));
    assert_eq!(service(pod("istio-proxy")), None);
    assert_eq!(service(json!({"log": "x", "container_name": "orders-1", "source": "stdout"})), None);
    let loki = |labels: Value| json!({"labels": labels, "line": "x", "timestamp": "2026-11-30T06:15:34Z"});
    for (labels, expected) in [
        (json!({"service_name": "orders"}), Some("orders")),
        (json!({"service_name": "unknown_service"}), None),
        (json!({"service_name": "orders-1", "container": "orders-1"}), None),
        (json!({"service_name": "orders", "container": "orders", "app": "orders"}), Some("orders")),
        (json!({"pod": "orders-0", "job": "default/orders"}), None),
    ] {
        assert_eq!(service(loki(labels.clone())).as_deref(), expected, "{labels}");
    }
}

#[test]
fn fields_of_any_type_cost_no_more_than_themselves() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(-1.5e300),
        json!(f64::MAX),
        json!(""),
        json!([]),
        json!({}),
        json!("x"),
    ];
    let shapes = [
        json!({"log": "INFO:httpx:x\n", "stream": "stdout", "time": "2026-11-30T06:15:34Z", "attrs": {"tag": "t"}}),
        json!({"date": 1.5, "log": "INFO:httpx:x", "kubernetes": {"labels": {"app": "x"}, "pod_name": "p"}, "_p": "F"}),
        json!({"message": "INFO:httpx:x", "source_type": "file", "timestamp": "2026-11-30T06:15:34Z", "stream": "stdout"}),
        json!({"@timestamp": "2026-11-30T06:15:34Z", "message": "INFO:httpx:x", "agent": {}, "log": {"offset": 1}, "host": {"name": "n"}}),
        json!({"_index": "i", "_id": "1", "_source": {"log": "INFO:httpx:x"}}),
        json!({"labels": {"pod": "p"}, "line": "INFO:httpx:x", "timestamp": "2026-11-30T06:15:34Z"}),
        json!({"streams": [{"stream": {"pod": "p"}, "values": [["1796019334786336001", "INFO:httpx:x"]]}]}),
        json!({"data": {"result": [{"stream": {"pod": "p"}, "values": [["1796019334786336001", "INFO:httpx:x"]]}]}}),
        json!({"events": [{"timestamp": 1_796_019_334_786_i64, "message": "INFO:httpx:x", "eventId": "1"}]}),
        json!({"messageType": "DATA_MESSAGE", "logGroup": "g", "logStream": "s", "owner": "1",
            "logEvents": [{"id": "1", "timestamp": 1_796_019_334_786_i64, "message": "INFO:httpx:x"}]}),
        json!({"results": [[{"field": "@message", "value": "INFO:httpx:x"}, {"field": "@timestamp", "value": "2026-11-30 06:15:34.786"}]]}),
        json!({"logName": "projects/p/logs/x", "insertId": "1", "textPayload": "INFO:httpx:x", "trace": "projects/p/traces/t",
            "spanId": "s", "timestamp": "2026-11-30T06:15:34Z", "resource": {"labels": {"pod_name": "p"}}, "labels": {}}),
    ];
    for shape in &shapes {
        for pretty in [false, true] {
            let text =
                |value: &Value| if pretty { serde_json::to_string_pretty(value).unwrap() } else { value.to_string() };
            let whole = read(text(shape));
            assert_eq!(whole.records.len(), 1, "{shape}: {:?}", whole.rejects);
            let mut paths = Vec::new();
            members(shape, "", &mut paths);
            for path in &paths {
                for value in &odd {
                    let mut changed = shape.clone();
                    *changed.pointer_mut(path).unwrap() = value.clone();
                    let after = read(format!("{}\n{}\n", text(&changed), text(shape)));
                    assert_eq!(log(after.records.last().unwrap()).scope, "httpx", "{changed}");
                    assert!(
                        after
                            .records
                            .iter()
                            .all(|record| !matches!(record, Record::Log(log) if log.at.is_some_and(|at| at.0 < 0)))
                    );
                }
            }
        }
    }
}

/// Pointers to everything inside a value.
fn members(value: &Value, path: &str, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                paths.push(path.clone());
                members(inner, &path, paths);
            }
        }
        Value::Array(list) => {
            for (number, inner) in list.iter().enumerate() {
                let path = format!("{path}/{number}");
                paths.push(path.clone());
                members(inner, &path, paths);
            }
        }
        _ => {}
    }
}

#[test]
fn the_labels_of_a_stream_cost_no_more_when_it_has_many_lines() {
    const LINES: usize = 100_000;
    let labels: serde_json::Map<String, Value> = (0..3000).map(|n| (format!("l{n}"), json!("x"))).collect();
    let values = vec![json!(["1796019334786336001", "INFO:a2a.x:said"]); LINES];
    let push = json!({"streams": [{"stream": labels, "values": values}]}).to_string();
    let answer =
        format!("{{\"status\":\"success\",\"data\":{{\"result\":{}}}}}", json!([{"stream": labels, "values": values}]));
    for text in [push, answer] {
        let begun = std::time::Instant::now();
        let sink = read(text);
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
        assert_eq!((sink.records.len(), sink.rejects.len()), (LINES, 0));
    }
}

#[test]
fn the_labels_of_a_record_are_bounded_and_its_own_resource_stands() {
    let labels: serde_json::Map<String, Value> = (0..500).map(|i| (format!("l{i}"), json!("v"))).collect();
    let record = json!({"log": "INFO:httpx:x\n", "kubernetes": {"labels": labels, "pod_name": "x".repeat(10_000)}});
    let sink = read(record.to_string());
    assert!(log(&sink.records[0]).resource.0.len() <= 64);
    assert_eq!(log(&sink.records[0]).resource.get("k8s.pod.name"), None);
    let otlp = json!({"resourceLogs": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "own"}}]},
        "scopeLogs": [{"logRecords": [{"body": {"stringValue": "x"}}]}]}]});
    let record =
        json!({"log": otlp.to_string(), "time": "2026-11-30T06:15:34Z", "kubernetes": {"labels": {"app": "pod"}}});
    let sink = read(record.to_string());
    let line = log(&sink.records[0]);
    assert_eq!(*line.resource, Attributes(vec![("service.name".to_owned(), json!("own"))]));
    assert_eq!(line.at, Some(Instant(1_796_019_334_000_000_000)), "what it lacks itself is the carrier's");
}
