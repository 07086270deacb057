//! The service finds what `analyze` finds, over restarts and repetition.

use reqwest::StatusCode;

use super::asked::{analyzed, facts_in};
use super::batch::{Batch, files, lines};
use super::host::{FOR_EVER, Folder, Serving, eventually};
use crate::support::judge::Files;
use crate::support::library;

const TRACES: &str = "/v1/traces";
const LOGS: &str = "/v1/logs";

/// Sends each line as a request of its own.
async fn send_otlp(service: &Serving, path: &str, lines: &[String]) {
    for line in lines {
        let answer = service.post(path, "application/json", line.clone().into_bytes()).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
}

async fn send_protobuf(service: &Serving, path: &str, file: &str) {
    let answer = service.post(path, "application/x-protobuf", library::bytes(file).unwrap()).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
}

/// Sends everything that the batch is of.
async fn send_all(service: &Serving) {
    service.send_exchanges(&lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson"), 7).await;
    send_otlp(service, LOGS, &lines("a2a-python-1.3.0/jsonrpc.logs.otlp.jsonl")).await;
    send_otlp(service, TRACES, &lines("a2a-python-0.3.26/v03.traces-1.otlp.jsonl")).await;
    send_otlp(service, TRACES, &lines("a2a-python-0.3.26/v03.traces-2.otlp.jsonl")).await;
    service.send_exchanges(&lines("a2a-js-1.3.0/js.exchanges.ndjson"), 1).await;
    service.send_exchanges(&lines("a2a-spec-0.1.0-handmade/v01.exchanges.ndjson"), 50).await;
}

fn all() -> Files {
    let names = [
        "a2a-python-1.3.0/jsonrpc.exchanges.ndjson",
        "a2a-python-1.3.0/jsonrpc.logs.otlp.jsonl",
        "a2a-python-0.3.26/v03.traces-1.otlp.jsonl",
        "a2a-python-0.3.26/v03.traces-2.otlp.jsonl",
        "a2a-js-1.3.0/js.exchanges.ndjson",
        "a2a-spec-0.1.0-handmade/v01.exchanges.ndjson",
    ];
    names.map(|name| (name.to_owned(), library::bytes(name).unwrap())).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_are_those_of_analyze_over_restarts_and_when_all_is_sent_again() {
    let folder = Folder::new(&format!("settle = \"2s\"\nlake_every = \"2s\"\n{FOR_EVER}"));
    let service = folder.start().await;
    send_all(&service).await;
    let batch = Batch::of(&all()).await;
    let found = batch.is_said_by(&service).await;
    println!("{found} findings, {} facts", batch.facts);
    assert!(found > 20);

    let (status, took) = service.terminate().await;
    assert!(status.success(), "{status}");
    println!("ended in {took:?}");
    let service = folder.start().await;
    batch.is_said_by(&service).await;
    send_all(&service).await;
    batch.is_said_by(&service).await;
    assert!(service.metric("a2a_drift_duplicate_facts_total", "").await > 100.0);

    service.kill();
    let service = folder.start().await;
    batch.is_said_by(&service).await;
    // What was open before is known to have been, and does not begin again.
    assert_eq!(service.metric("a2a_drift_findings_total", "").await, 0.0);
    assert!(service.metric("a2a_drift_active_findings", "").await > 20.0);

    // What has left the log can be read by others while the service runs: in the end all of it.
    let lake = folder.path("data/lake");
    eventually("all in the lake", async || (facts_in(&lake) == Some((batch.facts, batch.facts))).then_some(())).await;
    // The program itself says the same of the lake as of the captures.
    let (as_of, found) = service.findings().await;
    assert_eq!(analyzed(&lake, &as_of.to_rfc3339()), found.into_keys().collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn protobuf_and_json_spans_and_logs_give_the_same() {
    let files = ["traces.0", "traces.1", "logs.0", "logs.1"]
        .map(|name| format!("a2a-python-1.3.0/jsonrpc.{name}.otlp-http.pb"));
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    for file in &files {
        send_protobuf(&service, if file.contains("traces") { TRACES } else { LOGS }, file).await;
    }
    let read = files.map(|file| (file.clone(), library::bytes(&file).unwrap()));
    let batch = Batch::of(&read.into()).await;
    let found = batch.is_said_by(&service).await;
    println!("{found} findings, {} facts", batch.facts);
    service.kill();
    let service = folder.start().await;
    batch.is_said_by(&service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_about_one_fleet_by_all_ways_at_once_is_joined() {
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    let (exchanges, traces, logs) = (
        lines("a2a-rust-0.15.0/rust.exchanges.ndjson"),
        lines("a2a-rust-0.15.0/rust.traces.otlp.jsonl"),
        lines("a2a-rust-0.15.0/rust.logs.otlp.jsonl"),
    );
    tokio::join!(
        service.send_exchanges(&exchanges, 3),
        send_otlp(&service, TRACES, &traces),
        send_otlp(&service, LOGS, &logs),
    );
    let files = files(&[("a.exchanges.ndjson", &exchanges), ("b.traces.jsonl", &traces), ("c.logs.jsonl", &logs)]);
    let batch = Batch::of(&files).await;
    let found = batch.is_said_by(&service).await;
    println!("{found} findings, {} facts", batch.facts);
    assert!(service.metric("a2a_drift_evaluation_seconds_count", "").await > 30.0);
}
