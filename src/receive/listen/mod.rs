//! Network receivers: OTLP over gRPC and HTTP, and exchanges over HTTP.
//!
//! In: sockets already bound. Out: [`Delivery`]s in a bounded queue, each with a place for its answer, which goes back to
//! the sender in its own protocol. Knows no A2A, decodes nothing, and never acknowledges by itself.
//!
//! ```text
//!  socket -> door -> [connection] -> [respond] route, token, origin, type
//!            TLS, timeouts               |
//!                                     [gate]  read under limits -> [unpack] -> queue -> answer
//!                                        |
//!                           [respond] OTLP/HTTP, exchanges    [grpc] OTLP/gRPC
//! ```
//!
//! Every socket takes every protocol: HTTP/1 and HTTP/2 are told apart by their first bytes, gRPC by its content type.

mod browser;
mod budget;
mod connection;
mod counters;
mod delivery;
mod gate;
mod grpc;
mod media;
mod refusal;
mod respond;
mod settings;
mod unpack;

use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use budget::Memory;
pub use counters::{Counter, ListenCounters, RefusedCounters, Route, RouteCounters};
pub use delivery::{Answer, Delivery, Encoding, Receiver, Signal};
pub use refusal::Reason;
pub use settings::ListenSettings;

use crate::tls::{Tls, TlsError};
use gate::Gate;

/// The receivers of one process, before they have sockets.
pub struct Listen {
    gate: Arc<Gate>,
    tls: Option<Arc<Tls>>,
}

impl Listen {
    /// Prepares receivers that deliver to `queue`, whose bound is how many deliveries may wait.
    ///
    /// # Errors
    /// When the files that the settings name for TLS cannot be used.
    pub fn new(settings: ListenSettings, queue: mpsc::Sender<Delivery>) -> Result<Self, TlsError> {
        let tls = settings.tls.clone().map(|files| Tls::new(files, &["h2", "http/1.1"])).transpose()?;
        Ok(Self { gate: Arc::new(Gate::new(settings, queue)), tls: tls.map(Arc::new) })
    }

    /// The certificate, to be renewed at any time; none where the settings name none.
    pub fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }

    /// What the receivers do, to be read at any time.
    pub fn counters(&self) -> Arc<ListenCounters> {
        Arc::clone(&self.gate.counters)
    }

    /// How much of the memory for bodies is taken, to be asked at any time.
    pub fn memory(&self) -> Memory {
        Memory(Arc::clone(&self.gate.budget))
    }

    /// Serves the sockets until `stop` is cancelled, then lets open requests end for as long as the settings allow.
    pub async fn serve(self, sockets: Vec<TcpListener>, stop: CancellationToken) {
        connection::door(&self.gate.settings, self.tls).open(sockets, self.gate, stop).await;
    }
}
