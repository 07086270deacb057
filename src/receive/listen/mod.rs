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
mod unpack;
mod watched;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use budget::Memory;
pub use counters::{Counter, ListenCounters, RefusedCounters, Route, RouteCounters};
pub use delivery::{Answer, Delivery, Encoding, Receiver, Signal};
pub use refusal::Reason;
pub use settings::ListenSettings;

use crate::tls::{Tls, TlsError};
use gate::Gate;

/// Wait after a failed accept: the first, and the longest. File descriptors come back when connections end.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

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
    tls: Option<Arc<Tls>>,
    room: Arc<Semaphore>,
    connections: TaskTracker,
    stop: CancellationToken,
    end: CancellationToken,
}

impl Accept {
    async fn run(self, socket: impl Socket) {
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

/// What connections come from: a listener, or in tests one that fails.
trait Socket: Send + Sync + 'static {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send;
}

impl Socket for TcpListener {
    fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send {
        Self::accept(self)
    }
}

/// Whether a failed accept says nothing about the next one: the peer left the queue before its turn.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Fails as often as told, as it does without file descriptors; then nobody calls.
    struct Failing(AtomicU64);

    impl Socket for Failing {
        async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
            if self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err() {
                std::future::pending::<()>().await;
            }
            Err(io::Error::from_raw_os_error(24))
        }
    }

    #[tokio::test]
    async fn failing_accepts_neither_end_nor_spin_the_loop() {
        let gate = Arc::new(Gate::new(ListenSettings::default(), mpsc::channel(1).0));
        let (stop, counters) = (CancellationToken::new(), Arc::clone(&gate.counters));
        let accept = Accept {
            gate,
            tls: None,
            room: Arc::new(Semaphore::new(1)),
            connections: TaskTracker::new(),
            stop: stop.clone(),
            end: CancellationToken::new(),
        };
        let began = std::time::Instant::now();
        let running = tokio::spawn(accept.run(Failing(AtomicU64::new(4))));
        while counters.accept_errors.get() < 4 {
            sleep(Duration::from_millis(5)).await;
        }
        // The first wait of 20 ms, and twice its double.
        assert!(began.elapsed() >= Duration::from_millis(20 + 40 + 80), "{:?}", began.elapsed());
        stop.cancel();
        running.await.unwrap();
    }
}
