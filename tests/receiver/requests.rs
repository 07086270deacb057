//! Requests to send: small, well-formed, and easily made odd.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric,
};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde_json::{Value, json};

/// A trace id and a span id of the W3C specification's example.
pub(crate) const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
pub(crate) const SPAN_ID: &str = "00f067aa0ba902b7";

/// A span in OTLP/JSON.
pub(crate) fn span() -> Value {
    json!({
        "traceId": TRACE_ID, "spanId": SPAN_ID, "name": "message/send", "kind": 3,
        "startTimeUnixNano": "1796019334000000000", "endTimeUnixNano": "1796019334500000000",
        "attributes": [{"key": "rpc.method", "value": {"stringValue": "message/send"}}],
    })
}

/// A request of spans in OTLP/JSON.
pub(crate) fn traces(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": spans}]}]})
}

/// The same with one span, one of whose members is replaced.
pub(crate) fn traces_with(member: &str, value: Value) -> String {
    let mut span = span();
    span[member] = value;
    traces(&[span]).to_string()
}

/// A request of spans in protobuf, with the trace ids given.
pub(crate) fn traces_protobuf(trace_ids: &[&[u8]]) -> Vec<u8> {
    let span = |trace_id: &&[u8]| Span {
        trace_id: trace_id.to_vec(),
        span_id: hex::decode(SPAN_ID).unwrap(),
        name: "message/send".to_owned(),
        kind: 3,
        start_time_unix_nano: 1_796_019_334_000_000_000,
        ..Span::default()
    };
    let scope = ScopeSpans { spans: trace_ids.iter().map(span).collect(), ..ScopeSpans::default() };
    let resource = ResourceSpans { scope_spans: vec![scope], ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource] }.encode_to_vec()
}

/// Metrics with three data points in all.
pub(crate) fn metrics_protobuf() -> Vec<u8> {
    let point = || NumberDataPoint { time_unix_nano: 1_796_019_334_000_000_000, ..NumberDataPoint::default() };
    let sum = Sum { data_points: vec![point(), point()], ..Sum::default() };
    let gauge = Gauge { data_points: vec![point()] };
    let metric = |data| Metric { name: "requests".to_owned(), data: Some(data), ..Metric::default() };
    let metrics = vec![metric(metric::Data::Sum(sum)), metric(metric::Data::Gauge(gauge))];
    let scope = ScopeMetrics { metrics, ..ScopeMetrics::default() };
    let resource = ResourceMetrics { scope_metrics: vec![scope], ..ResourceMetrics::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![resource] }.encode_to_vec()
}

/// The same in OTLP/JSON.
pub(crate) fn metrics_json() -> String {
    let metrics = json!([
        {"name": "requests", "sum": {"dataPoints": [{"asInt": "1"}, {"asInt": "2"}]}},
        {"name": "requests", "gauge": {"dataPoints": [{"asInt": "1"}]}},
    ]);
    json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}).to_string()
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Zeros by the MiB as gzip, in members of 64 MiB.
pub(crate) fn gzip_bomb(mebibytes: usize) -> Vec<u8> {
    const MEMBER: usize = 64;
    assert_eq!(mebibytes % MEMBER, 0);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let mebibyte = vec![0; 1 << 20];
    for _ in 0..MEMBER {
        encoder.write_all(&mebibyte).unwrap();
    }
    encoder.finish().unwrap().repeat(mebibytes / MEMBER)
}
