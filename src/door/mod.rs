//! The door of a server of HTTP: who comes in, how long they may stay, and when they have to go.
//!
//! In: bound sockets, and a [`Host`] that answers requests. Out: nothing but answers; once it is told to stop, those inside have
//! some time to end. Everything a peer may hold ends in bounded time. Knows no route and reads no body, and nobody who is slow
//! keeps others out.

mod connection;
mod patience;
mod watched;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::tls::Tls;
pub(crate) use watched::OpenRequest;

/// Wait after a failed accept: the first, and the longest. File descriptors come back when connections end.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How a door is kept.
pub(crate) struct Door {
    /// Connections open at once.
    pub(crate) most: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) times: Times,
    /// What is spoken, and how much of it at once. Its own timer of heads must be off: they are timed here.
    pub(crate) http: Builder<TokioExecutor>,
    pub(crate) tls: Option<Arc<Tls>>,
}

/// Who goes when one comes for whom there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// The one that comes.
    Newest,
    /// The one that has been there for the longest of those that have asked for nothing yet; without such, the one that comes.
    OldestSilent,
}

/// How long what may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// The handshake of TLS, and the head of a request from its first byte on; that of the first from when the door was opened.
    pub(crate) head: Duration,
    /// Silence between requests.
    pub(crate) idle: Duration,
    /// How long a peer may read nothing of an answer; none for as long as it likes.
    pub(crate) write: Option<Duration>,
    /// After this, a connection takes no further request; none for never.
    pub(crate) age: Option<Duration>,
    /// What is under way, once the door is to close.
    pub(crate) drain: Duration,
}

/// What happens at the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A connection was let in.
    Entered,
    /// One that was let in has ended.
    Left,
    /// One was not let in: all places are taken.
    TurnedAway,
    /// A handshake of TLS failed or took too long.
    HandshakeFailed,
    /// A head did not come to its end in time.
    SlowHead,
    /// Nothing was asked for too long.
    Idle,
    /// A connection could not be accepted, as when file descriptors run out.
    AcceptFailed,
}

/// Who answers.
pub(crate) trait Host: Send + Sync + 'static {
    /// Answers a request of a peer. `open` is held until nothing of the request is left to do.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: Arc<str>,
        open: Arc<OpenRequest>,
    ) -> impl Future<Output = Response<Body>> + Send + 'static;

    /// Takes note of what happens at the door.
    fn note(&self, event: Event);
}

/// One who was let in.
struct Guest {
    peer: Arc<str>,
    /// Whether it has sent a request. The list of places has it as well.
    has_asked: Arc<AtomicBool>,
    /// The door is about to close.
    stop: CancellationToken,
}

impl Door {
    /// Serves what comes to the sockets until it is told to stop, and then what is under way.
    pub(crate) async fn open<H: Host>(self, sockets: Vec<TcpListener>, host: Arc<H>, stop: CancellationToken) {
        let drain = self.times.drain;
        let places = Places { most: self.most, when_full: self.when_full, taken: VecDeque::new() };
        let entrance = Entrance {
            door: Arc::new(self),
            host,
            places: Arc::new(Mutex::new(places)),
            connections: TaskTracker::new(),
            stop,
            end: CancellationToken::new(),
        };
        let accepting = TaskTracker::new();
        for socket in sockets {
            accepting.spawn(entrance.clone().run(socket));
        }
        accepting.close();
        accepting.wait().await;
        let Entrance { connections, stop, end, .. } = entrance;
        stop.cancelled().await;
        connections.close();
        // What is still open then is told nothing, and comes again.
        _ = timeout(drain, connections.wait()).await;
        end.cancel();
        connections.wait().await;
    }
}

/// Where the connections of a socket come in.
struct Entrance<H> {
    door: Arc<Door>,
    host: Arc<H>,
    places: Arc<Mutex<Places>>,
    connections: TaskTracker,
    /// Connections are asked to end by this, and made to end by the other.
    stop: CancellationToken,
    end: CancellationToken,
}

impl<H> Clone for Entrance<H> {
    fn clone(&self) -> Self {
        Self {
            door: Arc::clone(&self.door),
            host: Arc::clone(&self.host),
            places: Arc::clone(&self.places),
            connections: self.connections.clone(),
            stop: self.stop.clone(),
            end: self.end.clone(),
        }
    }
}

impl<H: Host> Entrance<H> {
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
                    self.admit(stream, peer);
                }
                Err(error) => {
                    self.host.note(Event::AcceptFailed);
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

    /// Lets one in, if there is a place.
    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let leave = self.end.child_token();
        let place = Place { has_asked: Arc::default(), leave: leave.clone() };
        let has_asked = Arc::clone(&place.has_asked);
        if !self.places.lock().unwrap_or_else(PoisonError::into_inner).take(place) {
            return self.host.note(Event::TurnedAway);
        }
        self.host.note(Event::Entered);
        let inside = Inside(Arc::clone(&self.host));
        let guest = Guest { peer: peer.to_string().into(), has_asked, stop: self.stop.clone() };
        let serving = connection::serve(Arc::clone(&self.door), Arc::clone(&self.host), stream, guest);
        self.connections.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = leave.cancelled() => tracing::debug!("a connection was made to end"),
            }
            drop(inside);
        });
    }
}

/// Who is in, in the order they came.
struct Places {
    most: usize,
    when_full: WhenFull,
    taken: VecDeque<Place>,
}

struct Place {
    /// Held by the connection as well, while it is open.
    has_asked: Arc<AtomicBool>,
    /// Ends the connection at once.
    leave: CancellationToken,
}

impl Places {
    /// Takes a place, that of another if need be; whether there is one.
    fn take(&mut self, place: Place) -> bool {
        if self.taken.len() >= self.most {
            self.taken.retain(|place| Arc::strong_count(&place.has_asked) > 1);
        }
        if self.taken.len() >= self.most && !self.make_room() {
            return false;
        }
        self.taken.push_back(place);
        true
    }

    fn make_room(&mut self) -> bool {
        let is_silent = |place: &Place| !place.has_asked.load(Ordering::Relaxed);
        let silent = match self.when_full {
            WhenFull::Newest => None,
            WhenFull::OldestSilent => self.taken.iter().position(is_silent),
        };
        let leaving = silent.and_then(|at| self.taken.remove(at));
        leaving.as_ref().inspect(|place| place.leave.cancel()).is_some()
    }
}

/// Tells the host that a connection has ended, whatever ends it.
struct Inside<H: Host>(Arc<H>);

impl<H: Host> Drop for Inside<H> {
    fn drop(&mut self) {
        self.0.note(Event::Left);
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
    use std::sync::atomic::AtomicU64;

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

    /// Counts failed accepts.
    #[derive(Default)]
    struct Counting(AtomicU64);

    impl Host for Counting {
        async fn answer(self: Arc<Self>, _: Request<Incoming>, _: Arc<str>, _: Arc<OpenRequest>) -> Response<Body> {
            Response::default()
        }

        fn note(&self, event: Event) {
            assert_eq!(event, Event::AcceptFailed);
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn places(most: usize, when_full: WhenFull) -> Places {
        Places { most, when_full, taken: VecDeque::new() }
    }

    /// A place, and what its connection holds of it.
    fn place() -> (Place, Arc<AtomicBool>, CancellationToken) {
        let (has_asked, leave) = (Arc::default(), CancellationToken::new());
        (Place { has_asked: Arc::clone(&has_asked), leave: leave.clone() }, has_asked, leave)
    }

    #[tokio::test]
    async fn failing_accepts_neither_end_nor_spin_the_loop() {
        let second = Duration::from_secs(1);
        let times = Times { head: second, idle: second, write: None, age: None, drain: second };
        let http = Builder::new(TokioExecutor::new());
        let (stop, host) = (CancellationToken::new(), Arc::new(Counting::default()));
        let entrance = Entrance {
            door: Arc::new(Door { most: 1, when_full: WhenFull::Newest, times, http, tls: None }),
            host: Arc::clone(&host),
            places: Arc::new(Mutex::new(places(1, WhenFull::Newest))),
            connections: TaskTracker::new(),
            stop: stop.clone(),
            end: CancellationToken::new(),
        };
        let began = std::time::Instant::now();
        let running = tokio::spawn(entrance.run(Failing(AtomicU64::new(4))));
        while host.0.load(Ordering::Relaxed) < 4 {
            sleep(Duration::from_millis(5)).await;
        }
        // The first wait of 20 ms, and twice its double.
        assert!(began.elapsed() >= Duration::from_millis(20 + 40 + 80), "{:?}", began.elapsed());
        stop.cancel();
        running.await.unwrap();
    }

    #[test]
    fn a_full_house_turns_the_newest_away_or_the_oldest_that_has_asked_nothing() {
        for (when_full, is_let_in) in [(WhenFull::Newest, false), (WhenFull::OldestSilent, true)] {
            let mut places = places(2, when_full);
            let (asked, has_asked, asked_leaves) = place();
            let (silent, _silent_stays, silent_leaves) = place();
            has_asked.store(true, Ordering::Relaxed);
            assert!(places.take(asked) && places.take(silent));
            let (newest, newest_asked, _) = place();
            assert_eq!(places.take(newest), is_let_in, "{when_full:?}");
            assert_eq!((silent_leaves.is_cancelled(), asked_leaves.is_cancelled()), (is_let_in, false));
            // Where all have asked there is none to send away, until one has gone.
            newest_asked.store(true, Ordering::Relaxed);
            let one_more = place();
            assert!(!is_let_in || !places.take(one_more.0));
            drop(has_asked);
            let last = place();
            assert!(places.take(last.0), "a place is given back");
        }
    }
}
