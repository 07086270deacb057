//! Lines into log carriers, as these write them.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Bytes of a line that container runtimes write at once.
const PIECE: usize = 16 << 10;

/// A line of a program's output.
#[derive(Debug, Clone)]
pub struct Line {
    pub nanos: i64,
    pub text: String,
}

/// A log carrier.
pub struct Carrier {
    pub name: &'static str,
    wrap: fn(&[Line]) -> String,
    /// It gives the newest line first.
    pub newest_first: bool,
    /// What it writes is lines, which another carrier may carry.
    pub is_lines: bool,
}

impl Carrier {
    pub fn wrap(&self, lines: &[Line]) -> Vec<u8> {
        (self.wrap)(lines).into_bytes()
    }
}

const fn lines(name: &'static str, wrap: fn(&[Line]) -> String) -> Carrier {
    Carrier { name, wrap, newest_first: false, is_lines: true }
}

const fn document(name: &'static str, wrap: fn(&[Line]) -> String) -> Carrier {
    Carrier { name, wrap, newest_first: false, is_lines: false }
}

pub const CARRIERS: [Carrier; 18] = [
    lines("cri", cri),
    lines("docker", docker),
    lines("fluent-bit", |lines| each(lines, fluent_bit)),
    document("fluent-bit-array", |lines| Value::from_iter(lines.iter().map(fluent_bit)).to_string()),
    lines("fluentd-stdout", fluentd),
    lines("vector", |lines| each(lines, vector)),
    lines("filebeat", |lines| each(lines, filebeat)),
    document("elasticsearch", elasticsearch),
    document("loki", loki),
    document("loki-push", |lines| json!({"streams": streams(lines)}).to_string()),
    lines("logcli", |lines| each(lines, logcli)),
    document("cloudwatch", cloudwatch),
    lines("cloudwatch-subscription", subscription),
    document("cloudwatch-insights", insights),
    lines("cloudwatch-export", |lines| {
        lines.iter().fold(String::new(), |all, line| all + &format!("{} {}\n", rfc3339(line.nanos), line.text))
    }),
    lines("cloud-logging-sink", |lines| each(lines, log_entry)),
    Carrier { name: "cloud-logging", wrap: gcloud, newest_first: true, is_lines: false },
    document("cloud-logging-api", |lines| {
        json!({"entries": lines.iter().map(log_entry).collect::<Vec<_>>()}).to_string()
    }),
];

pub fn time(nanos: i64, format: &str) -> String {
    chrono::DateTime::from_timestamp_nanos(nanos).format(format).to_string()
}

fn rfc3339(nanos: i64) -> String {
    time(nanos, "%Y-%m-%dT%H:%M:%S.%9fZ")
}

fn each(lines: &[Line], wrap: fn(&Line) -> Value) -> String {
    lines.iter().fold(String::new(), |all, line| all + &format!("{}\n", wrap(line)))
}

/// Cuts as a runtime does that looks at bytes, but for characters, which JSON cannot cut.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > PIECE {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

fn cri(lines: &[Line]) -> String {
    let mut all = String::new();
    for line in lines {
        let pieces = pieces(&line.text);
        for (number, piece) in pieces.iter().enumerate() {
            let tag = if number + 1 == pieces.len() { "F" } else { "P" };
            let _ = writeln!(all, "{} stdout {tag} {piece}", rfc3339(line.nanos));
            if tag == "P" {
                // The other stream may write between the pieces.
                let _ = writeln!(all, "{} stderr F INFO:httpx:a line between", rfc3339(line.nanos));
            }
        }
    }
    all
}

fn docker(lines: &[Line]) -> String {
    let mut all = String::new();
    for line in lines {
        let pieces = pieces(&line.text);
        for (number, piece) in pieces.iter().enumerate() {
            let end = if number + 1 == pieces.len() { "\n" } else { "" };
            let object = json!({"log": format!("{piece}{end}"), "stream": "stdout", "time": rfc3339(line.nanos)});
            let _ = writeln!(all, "{object}");
        }
    }
    all
}

fn kubernetes() -> Value {
    json!({
        "pod_name": "agent-5cbb6d585d-cr4rd", "namespace_name": "default", "container_name": "agent",
        "pod_id": "78686c19-c8dd-47ad-a244-c4e263cefcaa", "labels": {"run": "agent"}, "host": "node-1",
        "docker_id": "7d8534acd61f98be4a1d317dfb263173e2645ede3356c7ca65743b90346dd287",
        "container_image": "example/agent:1",
    })
}

fn fluent_bit(line: &Line) -> Value {
    json!({
        "date": line.nanos as f64 / 1e9, "time": rfc3339(line.nanos), "stream": "stdout", "_p": "F",
        "log": line.text, "kubernetes": kubernetes(),
    })
}

fn fluentd(lines: &[Line]) -> String {
    let mut all = String::new();
    for line in lines {
        let record = json!({
            "log": format!("{}\n", line.text), "stream": "stderr", "docker": {"container_id": "f8638c76"},
            "kubernetes": kubernetes(),
        });
        let time = time(line.nanos, "%Y-%m-%d %H:%M:%S.%9f +0000");
        let _ = writeln!(all, "{time} kubernetes.var.log.containers.agent.log: {record}");
    }
    all
}

fn vector(line: &Line) -> Value {
    json!({
        "file": "/var/log/pods/default_agent_93bde4d0/agent/1.log",
        "kubernetes": {
            "container_image": "example/agent:1", "container_name": "agent", "pod_labels": {"tier": "x"},
            "pod_name": "agent-0", "pod_namespace": "default", "pod_node_name": "node-1", "pod_ips": ["10.0.0.1"],
        },
        "message": line.text, "source_type": "kubernetes_logs", "stream": "stderr", "timestamp": rfc3339(line.nanos),
        "timestamp_end": rfc3339(line.nanos),
    })
}

fn filebeat(line: &Line) -> Value {
    json!({
        "@timestamp": rfc3339(line.nanos), "@metadata": {"beat": "filebeat", "type": "_doc", "version": "8.17.0"},
        "agent": {"type": "filebeat", "version": "8.17.0", "name": "filebeat-9dtfd"},
        "message": line.text, "log": {"offset": 606_911, "file": {"path": "/var/log/containers/agent.log"}},
        "stream": "stdout", "input": {"type": "container"}, "ecs": {"version": "8.0.0"}, "host": {"name": "node-1"},
        "kubernetes": {"pod": {"name": "agent-0", "uid": "9b72c404"}, "namespace": "default", "labels": {"tier": "x"},
            "container": {"name": "agent", "image": "example/agent:1"}, "node": {"name": "node-1"}},
    })
}

fn elasticsearch(lines: &[Line]) -> String {
    let hit = |(number, line)| json!({"_index": "filebeat", "_id": format!("{number}"), "_score": 1.0, "_source": filebeat(line)});
    let hits: Vec<Value> = lines.iter().enumerate().map(hit).collect();
    let total = json!({"value": hits.len(), "relation": "eq"});
    json!({"took": 5, "timed_out": false, "hits": {"total": total, "max_score": 1.0, "hits": hits}}).to_string()
}

fn streams(lines: &[Line]) -> Value {
    let values: Vec<Value> = lines.iter().map(|line| json!([line.nanos.to_string(), line.text])).collect();
    json!([{"stream": {"namespace": "default", "pod": "agent-0", "container": "agent"}, "values": values}])
}

fn loki(lines: &[Line]) -> String {
    // Written as Loki does, which serde_json's order of keys is not.
    format!(
        "{{\"status\":\"success\",\"data\":{{\"resultType\":\"streams\",\"result\":{},\"stats\":{{\"summary\":{{}}}}}}}}",
        streams(lines)
    )
}

fn logcli(line: &Line) -> Value {
    json!({"labels": {"pod": "agent-0"}, "line": line.text, "timestamp": rfc3339(line.nanos)})
}

fn cloudwatch(lines: &[Line]) -> String {
    let events: Vec<Value> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            let millis = line.nanos / 1_000_000;
            json!({"logStreamName": "agent/0", "timestamp": millis, "message": line.text, "ingestionTime": millis + 500,
                "eventId": format!("{number:056}")})
        })
        .collect();
    serde_json::to_string_pretty(&json!({"events": events, "searchedLogStreams": []})).unwrap()
}

/// Several documents in a row without a line end between them, as Firehose writes them.
fn subscription(lines: &[Line]) -> String {
    let mut all = String::new();
    for (number, lines) in lines.chunks(20).enumerate() {
        let event = |line: &Line| json!({"id": "1", "timestamp": line.nanos / 1_000_000, "message": line.text});
        let events = Value::from_iter(lines.iter().map(event));
        let _ = write!(
            all,
            "{{\"messageType\":\"DATA_MESSAGE\",\"owner\":\"123456789012\",\"logGroup\":\"/ecs/agent\",\"logStream\":\"agent/0\",\"subscriptionFilters\":[\"f\"],\"logEvents\":{events}}}{}",
            if number % 2 == 0 { "" } else { "\n" }
        );
    }
    all
}

fn insights(lines: &[Line]) -> String {
    let field = |field: &str, value: &str| json!({"field": field, "value": value});
    let row = |line: &Line| {
        let time = time(line.nanos, "%Y-%m-%d %H:%M:%S.%3f");
        json!([
            field("@timestamp", &time),
            field("@message", &line.text),
            field("@logStream", "agent/0"),
            field("@ptr", "Cl")
        ])
    };
    let rows = Value::from_iter(lines.iter().map(row));
    serde_json::to_string_pretty(&json!({"results": rows, "statistics": {"recordsMatched": 3.0}, "status": "Complete"}))
        .unwrap()
}

fn log_entry(line: &Line) -> Value {
    json!({
        "insertId": "1c0im8qc5b6", "logName": "projects/p/logs/stdout", "receiveTimestamp": rfc3339(line.nanos),
        "resource": {"type": "k8s_container", "labels": {"project_id": "p", "location": "europe-west1", "cluster_name": "c",
            "namespace_name": "default", "pod_name": "agent-0", "container_name": "agent"}},
        "severity": "INFO", "textPayload": line.text, "timestamp": rfc3339(line.nanos),
    })
}

fn gcloud(lines: &[Line]) -> String {
    let entries: Vec<Value> = lines.iter().rev().map(log_entry).collect();
    serde_json::to_string_pretty(&entries).unwrap()
}
