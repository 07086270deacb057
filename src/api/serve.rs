//! The server under the routes.
//!
//! In: a bound socket. Out: answers, until it is told to stop; what is under way then is finished. HTTP/1.1 alone, which
//! scrapers and people speak: nothing here has to bear the floods of HTTP/2. Who holds connections and asks nothing keeps
//! nobody out who does.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::door::{Door, Event, Host, OpenRequest, Times, WhenFull};
use crate::tls::Tls;

/// Bytes that a request's head may have.
const MOST_HEAD: usize = 64 * 1024;

/// Bounds on what callers may hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at one time. For one more, the oldest ends that has not asked anything yet; without such, it is not taken.
    pub connections: usize,
    /// Time until the head of a request is here once it began, that of the first from the beginning of the connection on; and
    /// before it for the handshake.
    pub head: Duration,
    /// Time until the next request begins.
    pub idle: Duration,
    /// Time for which a caller may read nothing of an answer.
    pub write: Duration,
    /// Time after which a connection takes no further request.
    pub age: Duration,
    /// Time that what is under way has to end once it is told to.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            head: Duration::from_secs(5),
            idle: Duration::from_secs(30),
            write: Duration::from_secs(10),
            age: Duration::from_secs(600),
            drain: Duration::from_secs(5),
        }
    }
}

/// Answers by the routes.
struct Desk(Router);

impl Host for Desk {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        _peer: Arc<str>,
        _open: Arc<OpenRequest>,
    ) -> Response<Body> {
        let answered = self.0.clone().oneshot(request.map(Body::new)).await;
        answered.unwrap_or_else(|never| match never {})
    }

    fn note(&self, event: Event) {
        if !matches!(event, Event::Entered | Event::Left) {
            tracing::debug!(?event, "at the door of the API");
        }
    }
}

/// Answers requests until it is told to stop, over TLS if there is any.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    tls: Option<Arc<Tls>>,
    stop: CancellationToken,
) {
    let Limits { connections: most, head, idle, write, age, drain } = limits;
    let mut http = Builder::new(TokioExecutor::new()).http1_only();
    // Heads are timed at the door.
    http.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(MOST_HEAD);
    let times = Times { head, idle, write: Some(write), age: Some(age), drain };
    let door = Door { most, when_full: WhenFull::OldestSilent, times, http, tls };
    door.open(vec![listener], Arc::new(Desk(router)), stop).await;
}
