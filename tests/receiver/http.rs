//! OTLP/HTTP and the exchange route: paths, types, encodings, and how answers are written.

use std::io::Write;
use std::time::Duration;

use a2a_drift::receive::listen::{Answer, Encoding, Reason, Receiver, Route, Signal};
use axum::body::Body;
use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use serde_json::json;
use tokio::net::TcpStream;
use tonic_types::pb;

use super::call::{Answered, JSON, PROTOBUF, TRACES, exchange, post, request, send};
use super::host::{Host, Seen, answering, settings};
use super::requests::gzip;

const OTLP_PATHS: [(&str, Signal); 3] =
    [("/v1/traces", Signal::Traces), ("/v1/logs", Signal::Logs), ("/v1/metrics", Signal::Metrics)];

fn status(answered: &Answered) -> pb::Status {
    assert_eq!(answered.header("content-type"), Some("application/x-protobuf"));
    pb::Status::decode(&*answered.body).unwrap()
}

#[tokio::test]
async fn all_signals_are_taken_in_both_encodings_on_one_connection() {
    let host = Host::accepting().await;
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    for (path, signal) in OTLP_PATHS {
        for (kind, encoding) in [(JSON, Encoding::Json), (PROTOBUF, Encoding::Protobuf)] {
            let answered = exchange(&mut stream, &post(path, &[kind], b"any bytes")).await;
            assert_eq!((answered.status, answered.header("content-type")), (200, Some(kind.1)), "{path}");
            let seen = Seen { receiver: Receiver::OtlpHttp, signal, encoding, body: b"any bytes".to_vec() };
            assert_eq!(host.last_seen(), seen);
        }
    }
    assert_eq!(host.counters.connections.get(), 1);
    let counters = host.counters.route(Route { receiver: Receiver::OtlpHttp, signal: Signal::Logs });
    assert_eq!((counters.accepted.get(), counters.wire_bytes.get(), counters.inflated_bytes.get()), (2, 18, 18));
}

#[tokio::test]
async fn success_leaves_partial_success_unset() {
    let host = Host::accepting().await;
    for (path, _) in OTLP_PATHS {
        let json = send(host.address, &post(path, &[JSON], b"{}")).await;
        assert_eq!((json.status, &*json.body), (200, &b"{}"[..]));
        let protobuf = send(host.address, &post(path, &[PROTOBUF], b"")).await;
        assert_eq!((protobuf.status, &*protobuf.body), (200, &b""[..]));
    }
}

#[tokio::test]
async fn rejected_items_and_warnings_are_told_in_the_type_of_the_request() {
    for rejected in [3_u64, 0] {
        let answer = Answer::Accepted { accepted: 5, rejected, message: "look here".to_owned() };
        let host = Host::start(settings(), answering(answer)).await;
        let count = i64::try_from(rejected).unwrap();
        for (path, name) in
            [("/v1/traces", "rejectedSpans"), ("/v1/logs", "rejectedLogRecords"), ("/v1/metrics", "rejectedDataPoints")]
        {
            let answered = send(host.address, &post(path, &[JSON], b"{}")).await;
            // The JSON mapping of protobuf writes int64 as a string.
            let expected = json!({"partialSuccess": {name: rejected.to_string(), "errorMessage": "look here"}});
            assert_eq!((answered.status, answered.json()), (200, expected));
        }
        let body = |path| {
            let address = host.address;
            async move { send(address, &post(path, &[PROTOBUF], b"")).await.body }
        };
        let traces = ExportTraceServiceResponse::decode(&*body("/v1/traces").await).unwrap().partial_success.unwrap();
        assert_eq!((traces.rejected_spans, &*traces.error_message), (count, "look here"));
        let logs = ExportLogsServiceResponse::decode(&*body("/v1/logs").await).unwrap().partial_success.unwrap();
        assert_eq!((logs.rejected_log_records, &*logs.error_message), (count, "look here"));
        let metrics =
            ExportMetricsServiceResponse::decode(&*body("/v1/metrics").await).unwrap().partial_success.unwrap();
        assert_eq!((metrics.rejected_data_points, &*metrics.error_message), (count, "look here"));
    }
}

#[tokio::test]
async fn every_compression_is_undone_and_unknown_ones_are_415() {
    let host = Host::accepting().await;
    let content = b"content ".repeat(1000);
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(&content).unwrap();
    let mut raw = DeflateEncoder::new(Vec::new(), Compression::fast());
    raw.write_all(&content).unwrap();
    let packed = [
        ("gzip", gzip(&content)),
        ("GZIP", gzip(&content)),
        ("zstd", zstd::encode_all(&content[..], 3).unwrap()),
        ("deflate", zlib.finish().unwrap()),
        ("deflate", raw.finish().unwrap()),
        ("identity", content.clone()),
    ];
    for (encoding, body) in packed {
        for path in ["/v1/traces", "/v1/a2a/exchanges"] {
            let answered = send(host.address, &post(path, &[JSON, ("Content-Encoding", encoding)], &body)).await;
            assert_eq!(answered.status, 200, "{encoding}");
            assert_eq!(host.last_seen().body, content, "{encoding}");
        }
    }
    for encoding in ["br", "snappy", "gzip, gzip", "\u{e9}"] {
        let answered = send(host.address, &post("/v1/traces", &[JSON, ("Content-Encoding", encoding)], b"{}")).await;
        assert_eq!(answered.status, 415, "{encoding}");
        assert!(answered.header("accept-encoding").unwrap().contains("gzip"));
        assert_eq!(answered.json()["code"], 12);
    }
}

#[tokio::test]
async fn a_body_that_is_not_compressed_as_it_says_is_400() {
    let host = Host::accepting().await;
    let cut = gzip(b"content that ends too early");
    for (encoding, body) in [("gzip", &b"no"[..]), ("zstd", b"no"), ("deflate", b"\xff\xff"), ("gzip", &cut[..20])] {
        let answered = send(host.address, &post("/v1/traces", &[JSON, ("Content-Encoding", encoding)], body)).await;
        assert_eq!((answered.status, &answered.json()["code"]), (400, &json!(3)), "{encoding}");
    }
    assert_eq!(host.refused(Receiver::OtlpHttp, Signal::Traces, Reason::BadCompression), 4);
}

#[tokio::test]
async fn parameters_and_case_of_a_content_type_do_not_matter_and_unknown_types_are_415() {
    let host = Host::accepting().await;
    for kind in ["application/json; charset=utf-8", "APPLICATION/JSON;charset=\"utf-8\""] {
        let answered = send(host.address, &post("/v1/traces", &[("Content-Type", kind)], b"{}")).await;
        assert_eq!((answered.status, &*answered.body), (200, &b"{}"[..]), "{kind}");
    }
    for kind in ["text/plain", "application/xml", "application/jsonish", "multipart/form-data"] {
        let answered = send(host.address, &post("/v1/traces", &[("Content-Type", kind)], b"{}")).await;
        assert_eq!((answered.status, &answered.json()["code"]), (415, &json!(3)), "{kind}");
    }
    assert_eq!(send(host.address, &post("/v1/traces", &[], b"{}")).await.status, 415);
}

#[tokio::test]
async fn wrong_paths_and_methods_are_404_and_405_with_what_is_allowed() {
    let host = Host::accepting().await;
    for path in ["/", "/v1", "/v1/traces/", "/v1/profiles", "/v1/a2a"] {
        let answered = send(host.address, &post(path, &[JSON], b"{}")).await;
        assert_eq!((answered.status, &answered.json()["code"]), (404, &json!(12)), "{path}");
    }
    assert_eq!(host.counters.unrouted.by(Reason::NotFound).get(), 5);
    for (method, path) in
        [("GET", "/v1/traces"), ("PUT", "/v1/logs"), ("OPTIONS", "/v1/metrics"), ("DELETE", "/v1/a2a/exchanges")]
    {
        let answered = send(host.address, &request(method, path, &[JSON], b"")).await;
        assert_eq!((answered.status, answered.header("allow")), (405, Some("POST")), "{method}");
    }
}

#[tokio::test]
async fn errors_are_a_status_in_the_type_of_the_request() {
    let answer = Answer::Malformed { message: "no sense in it".to_owned() };
    let host = Host::start(settings(), answering(answer)).await;
    for (path, _) in OTLP_PATHS {
        let json = send(host.address, &post(path, &[JSON], b"?")).await;
        assert_eq!((json.status, json.json()), (400, json!({"code": 3, "message": "no sense in it"})));
        let protobuf = send(host.address, &post(path, &[PROTOBUF], b"?")).await;
        assert_eq!((protobuf.status, status(&protobuf).code, &*status(&protobuf).message), (400, 3, "no sense in it"));
    }
    let missing = send(host.address, &post("/v1/nothing", &[PROTOBUF], b"?")).await;
    assert_eq!((missing.status, status(&missing).code), (404, 12));
}

#[tokio::test]
async fn exchanges_are_taken_as_any_text_or_json_and_answered_with_counts() {
    let answer = Answer::Accepted { accepted: 2, rejected: 1, message: "one line is none".to_owned() };
    let host = Host::start(settings(), answering(answer)).await;
    let types = [
        ("application/x-ndjson", Encoding::Text),
        ("text/plain; charset=utf-8", Encoding::Text),
        ("application/json", Encoding::Json),
        ("application/x-www-form-urlencoded", Encoding::Text),
    ];
    for (kind, encoding) in types {
        let answered = send(host.address, &post("/v1/a2a/exchanges", &[("Content-Type", kind)], b"lines")).await;
        assert_eq!(answered.status, 200, "{kind}");
        assert_eq!(answered.json(), json!({"accepted": 2, "rejected": 1, "message": "one line is none"}));
        let (receiver, signal) = (Receiver::Exchanges, Signal::Exchanges);
        assert_eq!(host.last_seen(), Seen { receiver, signal, encoding, body: b"lines".to_vec() });
    }
    let answered = send(host.address, &post("/v1/a2a/exchanges", &[("Content-Type", "image/png")], b"lines")).await;
    assert_eq!((answered.status, &answered.json()["code"]), (415, &json!(3)));
}

#[tokio::test]
async fn a_body_in_chunks_is_one_body() {
    let host = Host::accepting().await;
    let request =
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
        1\r\n{\r\n3\r\n\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n";
    assert_eq!(send(host.address, request).await.status, 200);
    assert_eq!(host.last_seen().body, b"{\"a\":1}");
}

/// Sends a request over HTTP/2, and gives status and body.
async fn http2(address: std::net::SocketAddr, request: http::Request<Body>) -> (u16, Vec<u8>) {
    let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request).await.unwrap();
    let status = response.status().as_u16();
    (status, response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

fn http2_post(path: &str, kind: &str, body: Body) -> http::Request<Body> {
    http::Request::post(format!("http://receiver{path}")).header("content-type", kind).body(body).unwrap()
}

#[tokio::test]
async fn http_2_is_told_from_http_1_and_obeys_the_same_limits() {
    let mut settings = settings();
    settings.max_wire_bytes = 4 << 20;
    settings.body_timeout = Duration::from_millis(300);
    let answer = Answer::Accepted { accepted: 1, rejected: 0, message: String::new() };
    let host = Host::start(settings, answering(answer)).await;
    let post = http2_post("/v1/traces", JSON.1, Body::from("{}"));
    assert_eq!(http2(host.address, post).await, (200, b"{}".to_vec()));
    let large = http2_post("/v1/traces", JSON.1, Body::from(vec![b' '; 8 << 20]));
    assert_eq!(http2(host.address, large).await.0, 413);
    let trickle = || {
        Body::from_stream(futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Some((Ok::<_, std::io::Error>(" "), ()))
        }))
    };
    assert_eq!(http2(host.address, http2_post("/v1/traces", JSON.1, trickle())).await.0, 408);
    // A gRPC answer is 200 whatever it says.
    assert_eq!(http2(host.address, http2_post(TRACES, "application/grpc", trickle())).await.0, 200);
    assert_eq!(host.refused(Receiver::OtlpGrpc, Signal::Traces, Reason::BodyTimeout), 1);
}
