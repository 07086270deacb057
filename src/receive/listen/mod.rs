//! Network receivers: OTLP over gRPC and HTTP, and exchanges over HTTP.
//!
//! In: sockets already bound. Out: [`Delivery`]s in a bounded queue, each with a place for its answer, which goes back to
//! the sender in its own protocol. Knows no A2A, decodes nothing, and never acknowledges by itself.
//!
//! ```text
//!  socket -> [connection] -> [respond] route, token, origin, type
//!            TLS, timeouts       |
//!                             [gate]  read under limits -> [unpack] -> queue -> answer
//!                                |
//!                   [respond] OTLP/HTTP, exchanges    [grpc] OTLP/gRPC
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
mod tls;
mod token;
mod unpack;
mod watched;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use counters::{Counter, ListenCounters, RefusedCounters, Route, RouteCounters};
pub use delivery::{Answer, Delivery, Encoding, Receiver, Signal};
pub use refusal::Reason;
pub use settings::{ListenSettings, TlsSettings};
pub use tls::ListenError;

use gate::Gate;

/// Wait after a failed accept: the first, and the longest. File descriptors come back when connections end.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The receivers of one process, before they have sockets.
pub struct Listen {
    gate: Arc<Gate>,
    tls: Option<TlsAcceptor>,
}

impl Listen {
    /// Prepares receivers that deliver to `queue`, whose bound is how many deliveries may wait.
    ///
    /// # Errors
    /// When the files that the settings name for TLS cannot be used.
    pub fn new(settings: ListenSettings, queue: mpsc::Sender<Delivery>) -> Result<Self, ListenError> {
        let tls = settings.tls.as_ref().map(tls::acceptor).transpose()?;
        Ok(Self { gate: Arc::new(Gate::new(settings, queue)), tls })
    }

    /// What the receivers do, to be read at any time.
    pub fn counters(&self) -> Arc<ListenCounters> {
        Arc::clone(&self.gate.counters)
    }

    /// Serves the sockets until `stop` is cancelled, then lets open requests end for as long as the settings allow.
    pub async fn serve(self, sockets: Vec<TcpListener>, stop: CancellationToken) {
        let room = Arc::new(Semaphore::new(self.gate.settings.max_connections.min(Semaphore::MAX_PERMITS)));
        let connections = TaskTracker::new();
        // Connections are asked to end by `stop`, and made to end by this.
        let end = CancellationToken::new();
        let accepting = TaskTracker::new();
        for socket in sockets {
            let accept = Accept {
                gate: Arc::clone(&self.gate),
                tls: self.tls.clone(),
                room: Arc::clone(&room),
                connections: connections.clone(),
                stop: stop.clone(),
                end: end.clone(),
            };
            accepting.spawn(accept.run(socket));
        }
        accepting.close();
        accepting.wait().await;
        stop.cancelled().await;
        connections.close();
        // What is still open then is told nothing, and comes again.
        let _ = timeout(self.gate.settings.drain_timeout, connections.wait()).await;
        end.cancel();
        connections.wait().await;
    }
}

/// Accepts the connections of one socket.
struct Accept {
    gate: Arc<Gate>,
    tls: Option<TlsAcceptor>,
    room: Arc<Semaphore>,
    connections: TaskTracker,
    stop: CancellationToken,
    end: CancellationToken,
}

impl Accept {
    async fn run(self, socket: TcpListener) {
        let mut wait = FIRST_WAIT;
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            match accepted {
                Ok((stream, peer)) => {
                    wait = FIRST_WAIT;
                    self.connection(stream, peer.to_string());
                }
                Err(error) => {
                    self.gate.counters.accept_errors.add(1);
                    if !is_of_one_connection(&error) {
                        tracing::warn!(%error, "no connection can be accepted");
                        tokio::select! {
                            () = sleep(wait) => wait = (wait * 2).min(LONGEST_WAIT),
                            () = self.stop.cancelled() => return,
                        }
                    }
                }
            }
        }
    }

    fn connection(&self, stream: TcpStream, peer: String) {
        let counters = Arc::clone(&self.gate.counters);
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            return counters.refused_connections.add(1);
        };
        counters.connections.add(1);
        counters.open_connections.add(1);
        let serving = connection::serve(Arc::clone(&self.gate), self.tls.clone(), stream, peer, self.stop.clone());
        let (end, open) = (self.end.clone(), Open { counters, _room: permit });
        self.connections.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = end.cancelled() => {}
            }
            drop(open);
        });
    }
}

/// Counts a connection as open until it is dropped, whatever ends it.
struct Open {
    counters: Arc<ListenCounters>,
    _room: OwnedSemaphorePermit,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.counters.open_connections.subtract(1);
    }
}

/// Whether a failed accept says nothing about the next one: the peer left the queue before its turn.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}
