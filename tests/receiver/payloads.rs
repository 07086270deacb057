//! What bodies may look like: rows of odd payloads, decoded as the service does.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use serde_json::{Value, json};
use tonic::{Code, Request};

use super::call::{Answered, JSON, METRICS, PROTOBUF, TRACES, grpc, post, send};
use super::host::Host;
use super::requests::{
    SPAN_ID, TRACE_ID, gzip, metrics_json, metrics_protobuf, span, traces, traces_protobuf, traces_with,
};

async fn traces_json(host: &Host, body: impl AsRef<[u8]>) -> Answered {
    send(host.address, &post("/v1/traces", &[JSON], body.as_ref())).await
}

/// The answer must be whole success.
fn is_whole(answered: &Answered) {
    assert_eq!((answered.status, String::from_utf8_lossy(&answered.body).as_ref()), (200, "{}"));
}

/// The answer must be success with nothing rejected, and a warning that holds `word`.
fn is_warned(answered: &Answered, word: &str) {
    assert_eq!(answered.status, 200);
    let partial = &answered.json()["partialSuccess"];
    assert_eq!(partial["rejectedSpans"], "0", "{partial}");
    assert!(partial["errorMessage"].as_str().unwrap().contains(word), "{partial}");
}

/// The answer must be 400 with a status that says why.
fn is_malformed(answered: &Answered, word: &str) {
    assert_eq!(answered.status, 400);
    let status = answered.json();
    assert_eq!(status["code"], 3);
    assert!(status["message"].as_str().unwrap().contains(word), "{status}");
}

#[tokio::test]
async fn whole_requests_and_empty_ones_are_success() {
    let host = Host::decoding().await;
    for body in [traces(&[span(), span()]).to_string(), "{}".to_owned(), r#"{"resourceSpans":[]}"#.to_owned()] {
        is_whole(&traces_json(&host, body).await);
    }
    let trace_id = hex::decode(TRACE_ID).unwrap();
    for body in [traces_protobuf(&[&trace_id]), Vec::new()] {
        let answered = send(host.address, &post("/v1/traces", &[PROTOBUF], &body)).await;
        assert_eq!((answered.status, &*answered.body), (200, &b""[..]));
        assert_eq!(grpc(host.address, TRACES, None, Request::new(body)).await.unwrap().into_inner(), b"");
    }
}

#[tokio::test]
async fn what_the_json_mapping_allows_is_taken_without_a_word() {
    let host = Host::decoding().await;
    let attribute = |value: Value| json!([{"key": "k", "value": value}]);
    let cases = [
        ("startTimeUnixNano", json!(1_796_019_334_000_000_000_u64)),
        ("startTimeUnixNano", json!("1796019334000000000")),
        ("attributes", attribute(json!({"doubleValue": "NaN"}))),
        ("attributes", attribute(json!({"doubleValue": "-Infinity"}))),
        ("attributes", attribute(json!({}))),
        ("attributes", attribute(json!({"intValue": 7}))),
        ("attributes", attribute(json!({"intValue": "7"}))),
        ("attributes", Value::Null),
        ("traceId", json!(TRACE_ID.to_uppercase())),
        ("spanId", json!(SPAN_ID.to_uppercase())),
        ("kind", Value::Null),
        ("newerField", json!({"of": ["a", "later", "version"]})),
    ];
    for (member, value) in cases {
        let answered = traces_json(&host, traces_with(member, value.clone())).await;
        assert_eq!((answered.status, &*answered.body), (200, &b"{}"[..]), "{member}: {value}");
    }
    let mut without_kind = span();
    without_kind.as_object_mut().unwrap().remove("kind");
    is_whole(&traces_json(&host, traces(&[without_kind]).to_string()).await);
}

#[tokio::test]
async fn enum_names_are_taken_with_a_warning() {
    let host = Host::decoding().await;
    is_warned(&traces_json(&host, traces_with("kind", json!("SPAN_KIND_CLIENT"))).await, "enums");
    is_warned(&traces_json(&host, traces_with("status", json!({"code": "STATUS_CODE_ERROR"}))).await, "enums");
}

#[tokio::test]
async fn text_that_is_slightly_wrong_is_mended_and_its_batch_kept() {
    let host = Host::decoding().await;
    let text = traces_with("name", json!("NAME"));
    let invalid: Vec<u8> = text.replace("NAME", "\u{1}").bytes().map(|b| if b == 1 { 0xff } else { b }).collect();
    is_warned(&traces_json(&host, invalid).await, "UTF-8");
    is_warned(&traces_json(&host, text.replace("NAME", "\\ud800")).await, "surrogates");
    is_warned(&traces_json(&host, text.replace("\"name\":", "\"name\":\"first\",\"name\":")).await, "duplicate keys");
}

#[tokio::test]
async fn a_span_with_an_id_of_the_wrong_length_is_rejected_alone() {
    let host = Host::decoding().await;
    let mut short = span();
    short["traceId"] = json!("01");
    let answered = traces_json(&host, traces(&[short, span(), span()]).to_string()).await;
    let partial = &answered.json()["partialSuccess"];
    assert_eq!((answered.status, &partial["rejectedSpans"]), (200, &json!("1")));
    assert!(partial["errorMessage"].as_str().unwrap().contains("trace id"), "{partial}");

    let trace_id = hex::decode(TRACE_ID).unwrap();
    let body = traces_protobuf(&[&[1], &trace_id, &trace_id]);
    let http = send(host.address, &post("/v1/traces", &[PROTOBUF], &body)).await;
    let grpc = grpc(host.address, TRACES, None, Request::new(body)).await.unwrap().into_inner();
    for answer in [http.body, grpc] {
        let partial = ExportTraceServiceResponse::decode(&*answer).unwrap().partial_success.unwrap();
        assert_eq!(partial.rejected_spans, 1);
        assert!(partial.error_message.contains("trace id"), "{partial:?}");
    }
}

#[tokio::test]
async fn a_span_of_protobuf_whose_text_is_no_utf_8_is_rejected_alone() {
    let host = Host::decoding().await;
    let trace_id = hex::decode(TRACE_ID).unwrap();
    let mut body = traces_protobuf(&[&trace_id, &trace_id]);
    let name = body.windows(7).position(|window| window == b"message").unwrap();
    body[name] = 0xff;
    let answered = send(host.address, &post("/v1/traces", &[PROTOBUF], &body)).await;
    let partial = ExportTraceServiceResponse::decode(&*answered.body).unwrap().partial_success.unwrap();
    assert_eq!((answered.status, partial.rejected_spans), (200, 1));
    assert!(partial.error_message.contains("bad-protobuf"), "{partial:?}");
}

#[tokio::test]
async fn a_log_record_is_kept_whatever_its_ids_are() {
    let host = Host::decoding().await;
    for trace_id in ["01", "zz"] {
        let record = json!({"traceId": trace_id, "body": {"stringValue": "x"}, "severityNumber": 9});
        let body = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).to_string();
        let answered = send(host.address, &post("/v1/logs", &[JSON], body.as_bytes())).await;
        let partial = &answered.json()["partialSuccess"];
        assert_eq!((answered.status, &partial["rejectedLogRecords"]), (200, &json!("0")));
        assert!(partial["errorMessage"].as_str().unwrap().contains("kept"), "{partial}");
    }
}

#[tokio::test]
async fn a_span_without_ids_is_rejected_alone() {
    let host = Host::decoding().await;
    let answered = traces_json(&host, traces(&[json!({"name": "x"}), span()]).to_string()).await;
    assert_eq!((answered.status, &answered.json()["partialSuccess"]["rejectedSpans"]), (200, &json!("1")));
}

#[tokio::test]
async fn what_is_no_request_as_a_whole_is_400_and_says_why() {
    let host = Host::decoding().await;
    let whole = traces(&[span()]).to_string();
    is_malformed(&traces_json(&host, &whole[..whole.len() / 2]).await, "ends inside");
    is_malformed(&traces_json(&host, "").await, "ends inside");
    is_malformed(&traces_json(&host, "[]").await, "object");
    is_malformed(&traces_json(&host, "resource_spans {}").await, "no JSON");
    is_malformed(&traces_json(&host, r#"{"resourceSpans":{}}"#).await, "list");
    let not_hex = "zzf92f3577b34da6a3ce929d0e0e4736";
    is_malformed(&traces_json(&host, traces_with("traceId", json!(not_hex))).await, "hexadecimal");
}

#[tokio::test]
async fn a_status_repeats_nothing_of_the_body() {
    let host = Host::decoding().await;
    for body in [r#"{"resourceSpans": s3cret"#, r#"{"s3cret"#, r#"["s3cret"]"#, r#"{"resourceSpans":"s3cret"}"#] {
        let answered = traces_json(&host, body).await;
        assert_eq!(answered.status, 400);
        assert!(!String::from_utf8_lossy(&answered.body).contains("s3cret"), "{body}");
    }
}

#[tokio::test]
async fn protobuf_that_is_cut_or_none_is_400() {
    let host = Host::decoding().await;
    let trace_id = hex::decode(TRACE_ID).unwrap();
    let whole = traces_protobuf(&[&trace_id, &trace_id]);
    for body in [&whole[..whole.len() - 5], b"\x0a\xff\xff\xff\x7f", b"{}", b"\xff\xff\xff\xff"] {
        let answered = send(host.address, &post("/v1/traces", &[PROTOBUF], body)).await;
        assert_eq!(answered.status, 400, "{body:?}");
        let status = tonic_types::pb::Status::decode(&*answered.body).unwrap();
        assert_eq!(status.code, 3);
        let status = grpc(host.address, TRACES, None, Request::new(body.to_vec())).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn nesting_of_5000_is_400_and_nobody_runs_out_of_stack() {
    let host = Host::decoding().await;
    for depth in [5000, 100_000] {
        let nested = format!("{}{}", r#"{"arrayValue":{"values":["#.repeat(depth), "]}}".repeat(depth));
        let attributes = format!(r#"[{{"key":"k","value":{nested}}}]"#);
        let body = traces_with("attributes", json!("ATTRIBUTES")).replace("\"ATTRIBUTES\"", &attributes);
        is_malformed(&traces_json(&host, body).await, "nests deeper");
    }
    let body = nested_protobuf(5000);
    let answered = send(host.address, &post("/v1/traces", &[PROTOBUF], &body)).await;
    assert_eq!(answered.status, 400);
    let status = grpc(host.address, TRACES, None, Request::new(body)).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
}

/// A span with an attribute of lists in lists, by the wire format.
fn nested_protobuf(depth: usize) -> Vec<u8> {
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2];
        let mut length = content.len();
        while length >= 0x80 {
            bytes.push((length as u8 & 0x7f) | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend_from_slice(content);
        bytes
    }
    let mut value = Vec::new();
    for _ in 0..depth {
        // AnyValue.array_value (5) of ArrayValue.values (1).
        value = field(5, &field(1, &value));
    }
    let attribute = [field(1, b"k"), field(2, &value)].concat();
    let ids = [field(1, &hex::decode(TRACE_ID).unwrap()), field(2, &hex::decode(SPAN_ID).unwrap())].concat();
    let span = [ids, field(9, &attribute)].concat();
    // ResourceSpans (1), ScopeSpans (2), Span (2).
    field(1, &field(2, &field(2, &span)))
}

#[tokio::test]
async fn metrics_are_answered_with_all_data_points_rejected() {
    let host = Host::decoding().await;
    let answered = send(host.address, &post("/v1/metrics", &[JSON], metrics_json().as_bytes())).await;
    let partial = &answered.json()["partialSuccess"];
    assert_eq!((answered.status, &partial["rejectedDataPoints"]), (200, &json!("3")));
    assert!(partial["errorMessage"].as_str().unwrap().contains("metrics"), "{partial}");
    let packed = gzip(&metrics_protobuf());
    let http = send(host.address, &post("/v1/metrics", &[PROTOBUF, ("Content-Encoding", "gzip")], &packed)).await;
    let grpc = grpc(host.address, METRICS, None, Request::new(metrics_protobuf())).await.unwrap().into_inner();
    for answer in [http.body, grpc] {
        let partial = ExportMetricsServiceResponse::decode(&*answer).unwrap().partial_success.unwrap();
        assert_eq!(partial.rejected_data_points, 3);
    }
    assert_eq!(send(host.address, &post("/v1/metrics", &[JSON], b"{}")).await.body, b"{}");
}

#[tokio::test]
async fn a_request_for_another_signal_than_its_path_is_not_taken_for_it() {
    let host = Host::decoding().await;
    let answered = send(host.address, &post("/v1/metrics", &[PROTOBUF], &traces_protobuf(&[&[7; 16]]))).await;
    assert_eq!(answered.status, 400);
}

#[tokio::test]
async fn exchanges_are_counted_and_what_is_none_is_told() {
    let host = Host::decoding().await;
    let line = r#"{"ts":"2026-11-30T06:15:34Z","request":{"method":"POST","url":"http://a.example:9/","headers":{},"body":"{}"},"response":{"status":200,"headers":{},"body":"{}"}}"#;
    let send = async |body: String| {
        send(host.address, &post("/v1/a2a/exchanges", &[("Content-Type", "application/x-ndjson")], body.as_bytes()))
            .await
    };
    let answered = send(format!("{line}\n{line}\n")).await;
    assert_eq!((answered.status, answered.json()), (200, json!({"accepted": 2, "rejected": 0, "message": ""})));
    let answered = send(format!("{line}\n{{\"what\": 1}}\n")).await;
    assert_eq!((&answered.json()["accepted"], &answered.json()["rejected"]), (&json!(1), &json!(1)));
    assert_eq!(send(String::new()).await.json()["accepted"], 0);
    assert_eq!(send("nothing that is known here\n".to_owned()).await.status, 400);
}
