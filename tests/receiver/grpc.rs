//! OTLP/gRPC, by the client of tonic.

use std::time::Duration;

use a2a_drift::receive::listen::{Answer, Encoding, Receiver, Signal};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use tonic::codec::CompressionEncoding;
use tonic::{Code, Request};
use tonic_types::StatusExt;

use super::call::{LOGS, METRICS, PROTOBUF, TRACES, grpc, post, send};
use super::host::{Host, Seen, answering, settings};

fn bytes(content: &[u8]) -> Request<Vec<u8>> {
    Request::new(content.to_vec())
}

#[tokio::test]
async fn all_signals_are_taken_in_every_compression() {
    let host = Host::accepting().await;
    for (path, signal) in [(TRACES, Signal::Traces), (LOGS, Signal::Logs), (METRICS, Signal::Metrics)] {
        for compression in [None, Some(CompressionEncoding::Gzip), Some(CompressionEncoding::Zstd)] {
            let answered = grpc(host.address, path, compression, bytes(b"any bytes")).await.unwrap();
            assert_eq!(answered.into_inner(), b"", "partial success is unset");
            let (receiver, encoding) = (Receiver::OtlpGrpc, Encoding::Protobuf);
            assert_eq!(host.last_seen(), Seen { receiver, signal, encoding, body: b"any bytes".to_vec() });
        }
    }
    assert_eq!(grpc(host.address, TRACES, None, bytes(b"")).await.unwrap().into_inner(), b"", "an empty request");
}

#[tokio::test]
async fn rejected_items_are_a_partial_success() {
    let answer = Answer::Accepted { accepted: 5, rejected: 3, message: "look here".to_owned() };
    let host = Host::start(settings(), answering(answer)).await;
    let answered = grpc(host.address, TRACES, None, bytes(b"")).await.unwrap();
    let partial = ExportTraceServiceResponse::decode(&*answered.into_inner()).unwrap().partial_success.unwrap();
    assert_eq!((partial.rejected_spans, &*partial.error_message), (3, "look here"));
}

#[tokio::test]
async fn bad_data_is_an_invalid_argument() {
    let answer = Answer::Malformed { message: "no sense in it".to_owned() };
    let host = Host::start(settings(), answering(answer)).await;
    let status = grpc(host.address, LOGS, None, bytes(b"?")).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "no sense in it"));
}

#[tokio::test]
async fn overload_is_unavailable_with_a_time_to_come_again() {
    let answer = Answer::Overloaded { retry_after: Duration::from_secs(7) };
    let host = Host::start(settings(), answering(answer)).await;
    let status = grpc(host.address, TRACES, None, bytes(b"")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.get_details_retry_info().unwrap().retry_delay, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn more_than_the_limit_is_resource_exhausted_and_not_to_be_retried() {
    let mut settings = settings();
    (settings.max_wire_bytes, settings.max_inflated_bytes) = (4 << 20, 4 << 20);
    let host = Host::start(settings, answering(Answer::Malformed { message: "not reached".to_owned() })).await;
    let large = vec![7; 5 << 20];
    for compression in [None, Some(CompressionEncoding::Gzip), Some(CompressionEncoding::Zstd)] {
        let status = grpc(host.address, TRACES, compression, bytes(&large)).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted, "{compression:?}");
        assert!(status.get_details_retry_info().is_none());
    }
    assert!(host.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_bomb_of_100_mib_is_resource_exhausted_by_the_default_limit_and_5_mib_are_taken() {
    let host = Host::accepting().await;
    let bomb = vec![0; 100 << 20];
    let status = grpc(host.address, TRACES, Some(CompressionEncoding::Gzip), Request::new(bomb)).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    for compression in [None, Some(CompressionEncoding::Gzip)] {
        grpc(host.address, TRACES, compression, bytes(&vec![7; 5 << 20])).await.unwrap();
    }
}

#[tokio::test]
async fn an_unknown_service_is_unimplemented() {
    let host = Host::accepting().await;
    let profiles = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";
    let status = grpc(host.address, profiles, None, bytes(b"")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
}

#[tokio::test]
async fn grpc_over_http_1_and_other_types_at_its_paths_are_refused() {
    let host = Host::accepting().await;
    let answered = send(host.address, &post(TRACES, &[("Content-Type", "application/grpc")], b"\0\0\0\0\0")).await;
    assert_eq!(answered.status, 505);
    assert_eq!(send(host.address, &post(TRACES, &[PROTOBUF], b"")).await.status, 415);
}
