//! Records whose times cannot be: none at all, and those that are yet to come.

use serde_json::{Value, json};

use super::batch::lines;
use super::host::{Folder, Serving, eventually};
use super::memory::now;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A capture of an agent of its own, moved so that its last exchange begins at an instant; without an instant, without times.
fn capture(host: &str, last: Option<i64>) -> Vec<u8> {
    let lines = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let lines = lines.iter().map(|line| line.replace("127.0.0.1:41001", host).replace("127.0.0.1:41013", "hook:9"));
    let mut lines: Vec<Value> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
    let newest = lines.iter().map(|line| line["start_unix_ns"].as_i64().unwrap()).max().unwrap();
    for line in &mut lines {
        let at = line["start_unix_ns"].as_i64().unwrap();
        let line = line.as_object_mut().unwrap();
        line.remove("startedDateTime");
        line.remove("start_unix_ns");
        // The same calls under two addresses would be one agent behind a gateway.
        line.remove("trace_id");
        line["request"]["headers"].as_array_mut().unwrap().retain(|header| header[0] != "traceparent");
        if let Some(last) = last {
            line.insert("start_unix_ns".to_owned(), json!(at - newest + last));
        } else {
            line.insert("start_unix_ns".to_owned(), Value::Null);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

async fn send(service: &Serving, body: Vec<u8>) -> Value {
    let answer = service.post("/v1/a2a/exchanges", "application/x-ndjson", body).await;
    assert_eq!(answer.status.as_u16(), 200, "{}", answer.text);
    serde_json::from_str(&answer.text).unwrap()
}

async fn agent(service: &Serving, name: &str) -> Option<Value> {
    let agents: Value = serde_json::from_str(&service.get("/api/v1/agents").await.text).unwrap();
    agents["agents"].as_array().unwrap().iter().find(|agent| agent["agent"] == name).cloned()
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_clock_is_ahead_is_judged_by_it_and_told() {
    let folder = Folder::new("");
    let service = folder.start().await;
    let ahead = send(&service, capture("ahead:1", Some(now() + 3600 * SECOND))).await;
    assert!(ahead.to_string().contains("a clock is ahead"), "{ahead}");
    let critical = |agent: &Value| agent["findings"]["critical"].as_u64().unwrap();
    // As many as the capture has when it is judged afterwards.
    eventually("judged", async || agent(&service, "ahead:1").await.filter(|agent| critical(agent) >= 11)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_yet_to_come_is_refused_and_lends_its_time_to_nobody() {
    let folder = Folder::new("");
    let service = folder.start().await;
    let future = send(&service, capture("future:1", Some(now() + 40 * DAY))).await;
    let timeless = send(&service, capture("timeless:1", None)).await;
    assert!(future.to_string().contains("future-time"), "{future}");
    assert_eq!(timeless["rejected"], 0, "{timeless}");
    assert!(service.metric("a2a_drift_rejected_total", "reason=\"future-time\"").await > 0.0);

    let seen = eventually("timeless", async || agent(&service, "timeless:1").await).await;
    let seen = a2a_drift::instant::Instant::parse_rfc3339(seen["last_seen"].as_str().unwrap()).unwrap();
    assert!((now() - 300 * SECOND..=now()).contains(&seen.0), "{seen:?}");
    assert_eq!(agent(&service, "future:1").await, None);
}
