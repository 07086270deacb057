//! What the listeners did, in numbers that only grow.
//!
//! In: events of connections and requests. Out: atomics that anybody may read at any time. Never labels by anything a
//! sender chose.

use std::sync::atomic::{AtomicU64, Ordering};

use super::delivery::{Receiver, Signal};
use super::refusal::Reason;

/// A number that events are added to.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Its value now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn subtract(&self, count: u64) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }
}

/// What all listeners of a process did since it started.
#[derive(Debug)]
pub struct ListenCounters {
    /// Connections that were let in.
    pub connections: Counter,
    /// Connections open now: the one number that also falls.
    pub open_connections: Counter,
    /// Connections closed at once, because too many were open.
    pub refused_connections: Counter,
    /// TLS handshakes that failed or took too long.
    pub failed_handshakes: Counter,
    /// Connections closed because headers did not come to their end in time.
    pub slow_headers: Counter,
    /// Connections closed because nothing came for too long.
    pub idle_connections: Counter,
    /// Failed attempts to accept a connection, as when file descriptors run out.
    pub accept_errors: Counter,
    /// Requests that no route took, by reason: unknown paths above all.
    pub unrouted: RefusedCounters,
    /// Requests by route.
    routes: [RouteCounters; Route::ALL.len()],
}

impl Default for ListenCounters {
    fn default() -> Self {
        Self {
            connections: Counter::default(),
            open_connections: Counter::default(),
            refused_connections: Counter::default(),
            failed_handshakes: Counter::default(),
            slow_headers: Counter::default(),
            idle_connections: Counter::default(),
            accept_errors: Counter::default(),
            unrouted: RefusedCounters::default(),
            routes: std::array::from_fn(|_| RouteCounters::default()),
        }
    }
}

impl ListenCounters {
    /// The routes with their counters.
    pub fn routes(&self) -> impl Iterator<Item = (Route, &RouteCounters)> {
        Route::ALL.into_iter().zip(&self.routes)
    }

    /// The counters of one route.
    pub fn route(&self, route: Route) -> &RouteCounters {
        let at = Route::ALL.iter().position(|known| *known == route).unwrap_or_default();
        &self.routes[at]
    }
}

/// What came by one route.
#[derive(Debug, Default)]
pub struct RouteCounters {
    /// Requests answered with success, whole or partial.
    pub accepted: Counter,
    /// Items in them that were rejected.
    pub rejected_items: Counter,
    /// Bytes of bodies read whole, as sent.
    pub wire_bytes: Counter,
    /// The same bodies inflated.
    pub inflated_bytes: Counter,
    /// Requests refused, by reason.
    pub refused: RefusedCounters,
}

/// Refusals by reason.
#[derive(Debug, Default)]
pub struct RefusedCounters([Counter; Reason::ALL.len()]);

impl RefusedCounters {
    /// The counter of one reason.
    pub fn by(&self, reason: Reason) -> &Counter {
        let at = Reason::ALL.iter().position(|known| *known == reason).unwrap_or_default();
        &self.0[at]
    }

    /// Refusals of any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().map(Counter::get).sum()
    }
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Route {
    /// The protocol.
    pub receiver: Receiver,
    /// What it carries.
    pub signal: Signal,
}

impl Route {
    /// All there are.
    pub const ALL: [Self; 7] = [
        Self { receiver: Receiver::OtlpGrpc, signal: Signal::Traces },
        Self { receiver: Receiver::OtlpGrpc, signal: Signal::Logs },
        Self { receiver: Receiver::OtlpGrpc, signal: Signal::Metrics },
        Self { receiver: Receiver::OtlpHttp, signal: Signal::Traces },
        Self { receiver: Receiver::OtlpHttp, signal: Signal::Logs },
        Self { receiver: Receiver::OtlpHttp, signal: Signal::Metrics },
        Self { receiver: Receiver::Exchanges, signal: Signal::Exchanges },
    ];

    /// Its path.
    pub(super) fn path(self) -> &'static str {
        match (self.receiver, self.signal) {
            (Receiver::OtlpGrpc, Signal::Logs) => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            (Receiver::OtlpGrpc, Signal::Metrics) => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            (Receiver::OtlpGrpc, _) => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            (Receiver::OtlpHttp, Signal::Logs) => "/v1/logs",
            (Receiver::OtlpHttp, Signal::Metrics) => "/v1/metrics",
            (Receiver::OtlpHttp, _) => "/v1/traces",
            (Receiver::Exchanges, _) => "/v1/a2a/exchanges",
        }
    }
}
