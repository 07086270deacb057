//! One connection from its first byte to its last.
//!
//! In: an accepted socket. Out: nothing but what its requests deliver. Ends in bounded time: by its peer, by a timeout, or
//! when the process is asked to stop.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;

use super::gate::Gate;
use super::respond::respond;
use super::settings::ListenSettings;
use super::watched::{Activity, Overdue, Watched};
use crate::tls::Tls;

/// Longest request line and headers of HTTP/1, and what is read of a body at once.
const HTTP1_BUFFER: usize = 128 << 10;
/// Headers of an HTTP/2 request.
const HTTP2_HEADERS: u32 = 32 << 10;
/// Bytes that a peer may send ahead, a stream and a connection.
const HTTP2_STREAM_WINDOW: u32 = 512 << 10;
const HTTP2_CONNECTION_WINDOW: u32 = 1 << 20;
/// How often a silent HTTP/2 peer is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Serves a socket until its connection ends.
pub(super) async fn serve(
    gate: Arc<Gate>,
    tls: Option<Arc<Tls>>,
    stream: TcpStream,
    peer: String,
    stop: CancellationToken,
) {
    // Answers are small: waiting to fill a packet would only delay them. A socket that cannot be told so still works.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else { return drive(gate, stream, peer, stop).await };
    let handshake = timeout(gate.settings.header_timeout, tls.acceptor().accept(stream));
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = stop.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => drive(gate, stream, peer, stop).await,
        _ => gate.counters.failed_handshakes.add(1),
    }
}

async fn drive<S>(gate: Arc<Gate>, stream: S, peer: String, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let settings = &gate.settings;
    let activity = Activity::new();
    let peer: Arc<str> = peer.into();
    let service = service_fn(|request: Request<Incoming>| {
        let (gate, peer, alive) = (Arc::clone(&gate), Arc::clone(&peer), Arc::new(activity.request()));
        async move {
            let response = respond(gate, &peer, request.map(Body::new), Arc::clone(&alive)).await;
            drop(alive);
            Ok::<_, Infallible>(response)
        }
    });
    let io = TokioIo::new(Watched::new(stream, Arc::clone(&activity)));
    let builder = protocols(settings);
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut checks = interval((settings.header_timeout / 8).clamp(Duration::from_millis(10), Duration::from_secs(1)));
    let mut is_stopping = false;
    loop {
        tokio::select! {
            // Errors of a connection are its peer's affair: what mattered was answered.
            _ = connection.as_mut() => return,
            () = stop.cancelled(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = checks.tick() => match activity.overdue(settings.header_timeout, settings.idle_timeout) {
                None => {}
                Some(Overdue::Headers) => return gate.counters.slow_headers.add(1),
                Some(Overdue::Idle) => {
                    gate.counters.idle_connections.add(1);
                    connection.as_mut().graceful_shutdown();
                    // A peer that does not answer the goodbye is left.
                    let _ = timeout(settings.header_timeout, connection).await;
                    return;
                }
            },
        }
    }
}

/// HTTP/1 and HTTP/2 by the first bytes of the connection.
fn protocols(settings: &ListenSettings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // Headers are timed by `watched`.
        .header_read_timeout(None)
        .max_buf_size(HTTP1_BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(settings.max_concurrent_streams)
        .max_header_list_size(HTTP2_HEADERS)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}
