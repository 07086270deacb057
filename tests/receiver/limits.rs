//! Size and time: large bodies, bombs, slow senders, too many of them.

use std::time::{Duration, Instant};

use a2a_drift::receive::listen::{Answer, Reason, Receiver, Signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::call::{Answered, JSON, exchange, post, send};
use super::host::{Host, answering, eventually, settings};
use super::requests::{gzip, gzip_bomb};

fn fine() -> Answer {
    Answer::Accepted { accepted: 1, rejected: 0, message: String::new() }
}

/// Waits until the peer closes, and how long that took.
async fn closed(stream: &mut TcpStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    let _ = timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await.expect("the peer closes");
    began.elapsed()
}

#[tokio::test]
async fn a_bomb_of_1_gib_is_413() {
    let host = Host::accepting().await;
    let bomb = gzip_bomb(1024);
    assert!(bomb.len() < 2 << 20);
    let answered = send(host.address, &post("/v1/traces", &[JSON, ("Content-Encoding", "gzip")], &bomb)).await;
    assert_eq!((answered.status, &answered.json()["code"]), (413, &8.into()));
    assert!(host.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_zstd_bomb_and_a_window_beyond_http_are_refused() {
    let host = Host::accepting().await;
    let bomb = zstd::encode_all(&vec![0; 80 << 20][..], 1).unwrap();
    let answered = send(host.address, &post("/v1/traces", &[JSON, ("Content-Encoding", "zstd")], &bomb)).await;
    assert_eq!(answered.status, 413);
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all_and_finish(&vec![7; 9 << 20]);
    let wide = encoder.finish().unwrap();
    let answered = send(host.address, &post("/v1/traces", &[JSON, ("Content-Encoding", "zstd")], &wide)).await;
    assert_eq!(answered.status, 400);
}

/// A shorthand for a test that has no use for the error.
trait WriteAll {
    fn write_all_and_finish(&mut self, content: &[u8]);
}

impl<W: std::io::Write> WriteAll for W {
    fn write_all_and_finish(&mut self, content: &[u8]) {
        self.write_all(content).unwrap();
    }
}

#[tokio::test]
async fn a_plain_body_over_the_limit_is_413_and_its_sender_lives_to_read_that() {
    let mut settings = settings();
    settings.max_wire_bytes = 20 << 20;
    let host = Host::start(settings, answering(fine())).await;
    let large = vec![b' '; 30 << 20];
    // Senders write all of their body before they read.
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    let answered = exchange(&mut stream, &post("/v1/traces", &[JSON], &large)).await;
    assert_eq!((answered.status, &answered.json()["code"]), (413, &8.into()));
    assert_eq!(exchange(&mut stream, &post("/v1/traces", &[JSON], b"{}")).await.status, 200, "and goes on");

    let head =
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut chunked = head.to_vec();
    for _ in 0..30 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.extend_from_slice(&large[..1 << 20]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(send(host.address, &chunked).await.status, 413);
    assert_eq!(host.refused(Receiver::OtlpHttp, Signal::Traces, Reason::TooLarge), 2);
}

#[tokio::test]
async fn a_sender_that_asks_first_is_told_before_it_sends() {
    let mut settings = settings();
    settings.max_wire_bytes = 1000;
    let host = Host::start(settings, answering(fine())).await;
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    let head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n";
    assert_eq!(exchange(&mut stream, head).await.status, 413);
}

#[tokio::test]
async fn limits_are_exact() {
    let mut settings = settings();
    (settings.max_wire_bytes, settings.max_inflated_bytes) = (1000, 2000);
    let host = Host::start(settings, answering(fine())).await;
    for (size, status) in [(1000, 200), (1001, 413)] {
        assert_eq!(send(host.address, &post("/v1/traces", &[JSON], &vec![b' '; size])).await.status, status, "{size}");
    }
    for (size, status) in [(2000, 200), (2001, 413)] {
        let packed = gzip(&vec![b' '; size]);
        let request = post("/v1/traces", &[JSON, ("Content-Encoding", "gzip")], &packed);
        assert_eq!(send(host.address, &request).await.status, status, "{size}");
    }
}

#[tokio::test]
async fn half_sent_headers_are_closed_in_time_however_they_trickle() {
    let mut settings = settings();
    settings.header_timeout = Duration::from_millis(300);
    let host = Host::start(settings, answering(fine())).await;
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    stream.write_all(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\n").await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let trickle = tokio::spawn(async move {
        while writer.write_all(b"X-Slow: 1\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut rest = Vec::new();
    let _ = timeout(Duration::from_secs(5), reader.read_to_end(&mut rest)).await.expect("closed");
    trickle.await.unwrap();
    assert_eq!(host.counters.slow_headers.get(), 1);
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed_and_one_that_pauses_between_requests_is_not() {
    let mut settings = settings();
    settings.header_timeout = Duration::from_millis(200);
    let host = Host::start(settings, answering(fine())).await;
    let mut silent = TcpStream::connect(host.address).await.unwrap();
    let mut pausing = TcpStream::connect(host.address).await.unwrap();
    assert_eq!(exchange(&mut pausing, &post("/v1/traces", &[JSON], b"{}")).await.status, 200);
    closed(&mut silent).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(exchange(&mut pausing, &post("/v1/traces", &[JSON], b"{}")).await.status, 200);
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let mut settings = settings();
    settings.header_timeout = Duration::from_millis(200);
    settings.idle_timeout = Duration::from_millis(300);
    let host = Host::start(settings, answering(fine())).await;
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    assert_eq!(exchange(&mut stream, &post("/v1/traces", &[JSON], b"{}")).await.status, 200);
    closed(&mut stream).await;
    assert_eq!(host.counters.idle_connections.get(), 1);
}

#[tokio::test]
async fn a_body_has_one_time_for_all_of_its_pieces() {
    let mut settings = settings();
    settings.body_timeout = Duration::from_millis(400);
    let host = Host::start(settings, answering(fine())).await;
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    let head = b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let trickle = tokio::spawn(async move {
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let answered = timeout(Duration::from_secs(5), Answered::read(&mut reader)).await.unwrap();
    assert_eq!((answered.status, answered.header("connection")), (408, Some("close")));
    let mut rest = Vec::new();
    let _ = timeout(Duration::from_secs(5), reader.read_to_end(&mut rest)).await.expect("closed");
    trickle.await.unwrap();
    assert_eq!(host.refused(Receiver::OtlpHttp, Signal::Traces, Reason::BodyTimeout), 1);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_counted_and_delivered_to_nobody() {
    let host = Host::accepting().await;
    let mut stream = TcpStream::connect(host.address).await.unwrap();
    let head =
        b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    stream.write_all(head).await.unwrap();
    stream.shutdown().await.unwrap();
    eventually("counted", || host.refused(Receiver::OtlpHttp, Signal::Traces, Reason::BodyBroken) == 1).await;
    assert!(host.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn connections_over_the_cap_are_closed_and_room_comes_back() {
    let mut settings = settings();
    settings.max_connections = 2;
    let host = Host::start(settings, answering(fine())).await;
    let mut first = TcpStream::connect(host.address).await.unwrap();
    let mut second = TcpStream::connect(host.address).await.unwrap();
    for stream in [&mut first, &mut second] {
        assert_eq!(exchange(stream, &post("/v1/traces", &[JSON], b"{}")).await.status, 200);
    }
    let mut third = TcpStream::connect(host.address).await.unwrap();
    closed(&mut third).await;
    assert_eq!((host.counters.refused_connections.get(), host.counters.open_connections.get()), (1, 2));
    drop(first);
    eventually("room", || host.counters.open_connections.get() == 1).await;
    assert_eq!(send(host.address, &post("/v1/traces", &[JSON], b"{}")).await.status, 200);
}

#[tokio::test]
async fn slow_senders_do_not_keep_others_waiting() {
    let host = Host::accepting().await;
    let mut slow = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(host.address).await.unwrap();
        stream.write_all(b"POST /v1/traces HTTP/1.1\r\nContent-").await.unwrap();
        slow.push(stream);
    }
    eventually("open", || host.counters.open_connections.get() == 300).await;
    let began = Instant::now();
    assert_eq!(send(host.address, &post("/v1/traces", &[JSON], b"{}")).await.status, 200);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}
