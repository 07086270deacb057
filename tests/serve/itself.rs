//! What the service says of itself.

use reqwest::StatusCode;

use super::batch::lines;
use super::host::{FOR_EVER, Folder, answer, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_refused_kept_and_judged_is_counted() {
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    service.send_exchanges(&lines("a2a-spec-0.1.0-handmade/v01.exchanges.ndjson"), 100).await;
    let json = "application/json";
    assert_eq!(service.post("/v1/traces", json, b"{".to_vec()).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(service.post("/v1/nothing", json, b"{}".to_vec()).await.status, StatusCode::NOT_FOUND);
    let plain = b"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"0af7651916cd43dd8448eb211c80319c\",\"spanId\":\"b7ad6b7169203331\",\"name\":\"SELECT\",\"startTimeUnixNano\":\"1764482400000000000\",\"endTimeUnixNano\":\"1764482400000000001\"}]}]}]}";
    assert_eq!(service.post("/v1/traces", json, plain.to_vec()).await.status, StatusCode::OK);
    let expected = [
        ("a2a_drift_received_total", "receiver=\"exchanges\"", 1.0),
        ("a2a_drift_received_total", "receiver=\"otlp-http\",signal=\"traces\"", 1.0),
        ("a2a_drift_ignored_total", "signal=\"traces\"", 1.0),
        ("a2a_drift_denied_total", "reason=\"malformed\",receiver=\"otlp-http\"", 1.0),
        ("a2a_drift_denied_total", "reason=\"not-found\",receiver=\"none\"", 1.0),
        ("a2a_drift_connections", "", 1.0),
        ("a2a_drift_queue_limit_bytes", "", 1.0),
        ("a2a_drift_wal_bytes", "", 1.0),
        ("a2a_drift_wal_segments", "", 1.0),
        ("a2a_drift_facts", "table=\"exchanges\"", 1.0),
        ("a2a_drift_evaluation_seconds_count", "rule=\"split_brain\"", 1.0),
        ("a2a_drift_detection_delay_seconds_count", "", 1.0),
    ];
    for (name, labels, least) in expected {
        eventually(&format!("{name} {labels}"), async || (service.metric(name, labels).await >= least).then_some(()))
            .await;
    }
    // Nothing waits, so nothing lags.
    eventually("judged", async || (service.metric("a2a_drift_lag_seconds", "").await == 0.0).then_some(())).await;
    let agents = service.get("/api/v1/agents").await;
    assert_eq!(agents.status, StatusCode::OK);
    let page: serde_json::Value = serde_json::from_str(&agents.text).unwrap();
    let agent = page["agents"][0]["agent"].as_str().unwrap();
    let cards = answer(service.client.get(format!("http://{}/api/v1/cards/{agent}", service.admin))).await;
    assert_eq!(cards.status, StatusCode::OK, "{cards:?}");
}
