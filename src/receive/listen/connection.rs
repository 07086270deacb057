//! What the receivers speak, and who answers there.
//!
//! In: requests that were let in. Out: answers; what happens at the door, counted.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto;

use super::gate::Gate;
use super::respond::respond;
use super::settings::ListenSettings;
use crate::door::{Door, Event, Host, OpenRequest, Times, WhenFull};
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

impl Host for Gate {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: Arc<str>,
        open: Arc<OpenRequest>,
    ) -> Response<Body> {
        respond(self, &peer, request.map(Body::new), open).await
    }

    fn note(&self, event: Event) {
        let counters = &self.counters;
        match event {
            Event::Entered => {
                counters.connections.add(1);
                counters.open_connections.add(1);
            }
            Event::Left => counters.open_connections.subtract(1),
            Event::TurnedAway => counters.refused_connections.add(1),
            Event::HandshakeFailed => counters.failed_handshakes.add(1),
            Event::SlowHead => counters.slow_headers.add(1),
            Event::Idle => counters.idle_connections.add(1),
            Event::AcceptFailed => counters.accept_errors.add(1),
        }
    }
}

/// The door of the receivers.
pub(super) fn door(settings: &ListenSettings, tls: Option<Arc<Tls>>) -> Door {
    Door {
        most: settings.max_connections,
        // Senders keep connections that they do not use at the time.
        when_full: WhenFull::Newest,
        times: Times {
            head: settings.header_timeout,
            idle: settings.idle_timeout,
            write: None,
            age: None,
            drain: settings.drain_timeout,
        },
        http: protocols(settings),
        tls,
    }
}

/// HTTP/1 and HTTP/2 by the first bytes of the connection.
fn protocols(settings: &ListenSettings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // Headers are timed at the door.
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
