//! What the listeners may cost, and whom they let in.
//!
//! In: nothing. Out: plain settings with defaults that are safe on a network.

use std::time::Duration;

use crate::tls::TlsSettings;

/// Settings of all listeners of the process.
#[derive(Clone)]
pub struct ListenSettings {
    /// Largest body in bytes as it is sent; OTLP 1.11 recommends 64 MiB.
    pub max_wire_bytes: usize,
    /// Largest body in bytes once inflated; OTLP 1.11 demands a limit here, too.
    pub max_inflated_bytes: usize,
    /// Bytes of all bodies that are being read, inflated or waited for. A request beyond is told to come later; raised
    /// to what one largest body needs.
    pub max_in_flight_bytes: usize,
    /// Connections open at once; further ones are closed as they come.
    pub max_connections: usize,
    /// Requests that one HTTP/2 connection may have open at once.
    pub max_concurrent_streams: u32,
    /// From the first byte of a request to the end of its headers, and for the TLS handshake.
    pub header_timeout: Duration,
    /// For all of a body, however many pieces it comes in.
    pub body_timeout: Duration,
    /// How long a connection may stay open between requests.
    pub idle_timeout: Duration,
    /// How long a delivery may wait for its answer. Below the 10 s after which OTLP exporters give up by default, so that
    /// they hear why.
    pub answer_timeout: Duration,
    /// What senders are told to wait for when the refusal is this module's own; after one that waited in vain, as long as it
    /// waited if that is more.
    pub retry_after: Duration,
    /// How long open requests may take to end once the process is asked to stop.
    pub drain_timeout: Duration,
    /// Certificates; without them the listeners speak plain text.
    pub tls: Option<TlsSettings>,
    /// The token that every request must bear, if any.
    pub bearer_token: Option<String>,
    /// Origins of web pages whose scripts may send (`https://shop.example`), or `*` for any. With none, a request that a
    /// browser sends for a page is refused.
    pub allowed_origins: Vec<String>,
}

impl Default for ListenSettings {
    fn default() -> Self {
        Self {
            max_wire_bytes: 64 << 20,
            max_inflated_bytes: 64 << 20,
            max_in_flight_bytes: 256 << 20,
            max_connections: 2048,
            max_concurrent_streams: 128,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(120),
            answer_timeout: Duration::from_secs(8),
            retry_after: Duration::from_secs(1),
            drain_timeout: Duration::from_secs(5),
            tls: None,
            bearer_token: None,
            allowed_origins: Vec::new(),
        }
    }
}

impl std::fmt::Debug for ListenSettings {
    /// Shows limits only: settings end up in logs, and a token must not.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ListenSettings")
            .field("max_wire_bytes", &self.max_wire_bytes)
            .field("max_inflated_bytes", &self.max_inflated_bytes)
            .field("max_in_flight_bytes", &self.max_in_flight_bytes)
            .field("max_connections", &self.max_connections)
            .field("tls", &self.tls)
            .field("has_bearer_token", &self.bearer_token.is_some())
            .finish_non_exhaustive()
    }
}
