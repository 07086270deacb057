//! Back-pressure and endings: who is told to come again, and when.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a_drift::receive::listen::{Answer, Delivery, ListenSettings, Reason, Receiver, Signal};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::{Code, Request};
use tonic_types::StatusExt;

use super::call::{Answered, JSON, PROTOBUF, TRACES, exchange, grpc, post, send};
use super::host::{Host, answering, eventually, settings};

/// Receivers whose deliveries nobody reads; the other end of the queue.
async fn unread(settings: ListenSettings, room: usize) -> (Host, mpsc::Receiver<Delivery>) {
    let (queue, deliveries) = mpsc::channel(room);
    (Host::with_queue(settings, queue, Arc::new(Mutex::new(Vec::new()))).await, deliveries)
}

fn fine() -> Answer {
    Answer::Accepted { accepted: 1, rejected: 0, message: String::new() }
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_with_a_time_to_come_again() {
    let mut settings = settings();
    settings.retry_after = Duration::from_secs(3);
    let (host, mut deliveries) = unread(settings, 1).await;
    let mut waiting = TcpStream::connect(host.address).await.unwrap();
    waiting.write_all(&post("/v1/traces", &[JSON], b"{}")).await.unwrap();
    eventually("queued", || deliveries.len() == 1).await;
    for kind in [JSON, PROTOBUF] {
        let answered = send(host.address, &post("/v1/traces", &[kind], b"{}")).await;
        assert_eq!((answered.status, answered.header("retry-after")), (503, Some("3")));
        assert_eq!(answered.header("content-type"), Some(kind.1));
    }
    let status = grpc(host.address, TRACES, None, Request::new(Vec::new())).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.get_details_retry_info().unwrap().retry_delay, Some(Duration::from_secs(3)));
    assert_eq!(host.refused(Receiver::OtlpHttp, Signal::Traces, Reason::QueueFull), 2);
    assert_eq!(host.refused(Receiver::OtlpGrpc, Signal::Traces, Reason::QueueFull), 1);

    deliveries.recv().await.unwrap().answer.send(fine()).unwrap();
    assert_eq!(Answered::read(&mut waiting).await.status, 200, "the first one waited");
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_a_refusal_to_come_again() {
    let mut settings = settings();
    settings.answer_timeout = Duration::from_millis(100);
    let (host, _deliveries) = unread(settings, 8).await;
    let answered = send(host.address, &post("/v1/logs", &[JSON], b"{}")).await;
    assert_eq!((answered.status, answered.header("retry-after")), (503, Some("1")));
    let status = grpc(host.address, TRACES, None, Request::new(Vec::new())).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(host.refused(Receiver::OtlpHttp, Signal::Logs, Reason::NoAnswer), 1);
}

#[tokio::test]
async fn overload_is_told_in_whole_seconds() {
    let answer = Answer::Overloaded { retry_after: Duration::from_millis(1500) };
    let host = Host::start(settings(), answering(answer)).await;
    for path in ["/v1/traces", "/v1/a2a/exchanges"] {
        let answered = send(host.address, &post(path, &[JSON], b"{}")).await;
        assert_eq!((answered.status, answered.header("retry-after")), (503, Some("2")));
        assert_eq!(answered.json()["code"], 14);
    }
}

#[tokio::test]
async fn an_intake_that_is_gone_or_drops_a_delivery_is_a_refusal_to_come_again() {
    let host = Host::start(settings(), drop).await;
    assert_eq!(send(host.address, &post("/v1/traces", &[JSON], b"{}")).await.status, 503);
    let (host, deliveries) = unread(settings(), 1).await;
    drop(deliveries);
    assert_eq!(send(host.address, &post("/v1/traces", &[JSON], b"{}")).await.status, 503);
    assert_eq!(host.refused(Receiver::OtlpHttp, Signal::Traces, Reason::Closing), 1);
}

#[tokio::test]
async fn bytes_in_flight_are_bounded_and_come_back() {
    let mut settings = settings();
    (settings.max_wire_bytes, settings.max_inflated_bytes, settings.max_in_flight_bytes) = (1000, 1000, 1);
    let (host, mut deliveries) = unread(settings, 8).await;
    // The bound was raised to one largest body, as sent and inflated: 2,000 bytes.
    let mut waiting = Vec::new();
    for count in 1..=2 {
        let mut stream = TcpStream::connect(host.address).await.unwrap();
        stream.write_all(&post("/v1/traces", &[JSON], &[b' '; 1000])).await.unwrap();
        eventually("queued", || deliveries.len() == count).await;
        waiting.push(stream);
    }
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    let answered = exchange(&mut stream, &post("/v1/traces", &[JSON], b"{}")).await;
    assert_eq!((answered.status, answered.header("retry-after")), (503, Some("1")));
    assert_eq!(host.refused(Receiver::OtlpHttp, Signal::Traces, Reason::NoMemory), 1);
    for mut waiting in waiting {
        deliveries.recv().await.unwrap().answer.send(fine()).unwrap();
        assert_eq!(Answered::read(&mut waiting).await.status, 200);
    }
    stream.write_all(&post("/v1/traces", &[JSON], b"{}")).await.unwrap();
    deliveries.recv().await.unwrap().answer.send(fine()).unwrap();
    assert_eq!(Answered::read(&mut stream).await.status, 200);
}

#[tokio::test]
async fn stopping_lets_open_requests_end_and_new_ones_not_begin() {
    let (mut host, mut deliveries) = unread(settings(), 8).await;
    let mut open = TcpStream::connect(host.address).await.unwrap();
    open.write_all(&post("/v1/traces", &[JSON], b"{}")).await.unwrap();
    let _idle = TcpStream::connect(host.address).await.unwrap();
    let delivery = deliveries.recv().await.unwrap();
    host.stop.cancel();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(TcpStream::connect(host.address).await.is_err(), "nobody listens");
    delivery.answer.send(fine()).unwrap();
    assert_eq!(Answered::read(&mut open).await.status, 200);
    timeout(Duration::from_secs(3), &mut host.serving).await.expect("ends when all is answered").unwrap();
    assert_eq!(host.counters.open_connections.get(), 0);
}

#[tokio::test]
async fn stopping_does_not_wait_for_ever() {
    let mut settings = settings();
    settings.drain_timeout = Duration::from_millis(200);
    let (mut host, mut deliveries) = unread(settings, 8).await;
    let mut open = TcpStream::connect(host.address).await.unwrap();
    open.write_all(&post("/v1/traces", &[JSON], b"{}")).await.unwrap();
    let _unanswered = deliveries.recv().await.unwrap();
    host.stop.cancel();
    timeout(Duration::from_secs(3), &mut host.serving).await.expect("ends").unwrap();
}
