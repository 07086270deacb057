//! The server under the routes.
//!
//! In: a bound socket. Out: answers, until it is told to stop; what is under way then is finished. HTTP/1.1 alone, which
//! scrapers and people speak: nothing here has to bear the floods of HTTP/2. Who holds connections and asks nothing keeps
//! nobody out who does.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::patience::Patient;
use crate::tls::Tls;

/// Bytes that a request's head may have.
const MOST_HEAD: usize = 64 * 1024;
/// Wait after a connection could not be taken, as when there are no more file handles.
const BREATH: Duration = Duration::from_millis(100);

/// Bounds on what callers may hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at one time. For one more, the oldest ends that has not asked anything yet; without such, it is not taken.
    pub connections: usize,
    /// Time until the first request is here, and before it the handshake.
    pub first: Duration,
    /// Time until the head of the next request is here.
    pub head: Duration,
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
            first: Duration::from_secs(5),
            head: Duration::from_secs(30),
            write: Duration::from_secs(10),
            age: Duration::from_secs(600),
            drain: Duration::from_secs(5),
        }
    }
}

/// A connection, as the door sees it.
#[derive(Clone, Default)]
struct Visitor {
    /// Whether it has sent a request. Held by the connection as well, while it is open.
    asked: Arc<AtomicBool>,
    /// Ends it at once.
    leave: CancellationToken,
}

/// Who is in, in the order they came.
struct Visitors {
    most: usize,
    inside: VecDeque<Visitor>,
}

impl Visitors {
    /// Lets one in, for another if need be; `None` when all places are taken by callers who ask.
    fn admit(&mut self) -> Option<Visitor> {
        self.inside.retain(|visitor| Arc::strong_count(&visitor.asked) > 1);
        if self.inside.len() >= self.most {
            let idle = self.inside.iter().position(|visitor| !visitor.asked.load(Ordering::Relaxed))?;
            self.inside.remove(idle)?.leave.cancel();
        }
        let visitor = Visitor::default();
        self.inside.push_back(visitor.clone());
        Some(visitor)
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
    let mut visitors = Visitors { most: limits.connections, inside: VecDeque::new() };
    let connections = TaskTracker::new();
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let Some(visitor) = visitors.admit() else { continue };
                    let (router, tls, stop) = (router.clone(), tls.clone(), stop.clone());
                    connections.spawn(async move {
                        let Visitor { asked, leave } = visitor;
                        tokio::select! {
                            () = leave.cancelled() => tracing::debug!("a connection without a request made room"),
                            () = admit(stream, tls, router, limits, (asked, stop)) => {}
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    sleep(BREATH).await;
                }
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = accept => {}
    }
    connections.close();
    connections.wait().await;
}

/// Whether a caller has asked, and the end of the service.
type Ends = (Arc<AtomicBool>, CancellationToken);

/// Serves a connection, after its handshake where there is TLS.
async fn admit(stream: TcpStream, tls: Option<Arc<Tls>>, router: Router, limits: Limits, ends: Ends) {
    let Some(tls) = tls else { return connection(stream, router, limits, ends).await };
    let shaken = tokio::select! {
        shaken = timeout(limits.first, tls.acceptor().accept(stream)) => shaken,
        () = ends.1.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => connection(stream, router, limits, ends).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn connection<S>(stream: S, router: Router, limits: Limits, (asked, stop): Ends)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(MOST_HEAD);
    let answers = TowerToHyperService::new(router);
    let service = service_fn(|request: Request<Incoming>| {
        asked.store(true, Ordering::Relaxed);
        answers.call(request)
    });
    let served = http.serve_connection(TokioIo::new(Patient::new(stream, limits.write)), service);
    let mut served = std::pin::pin!(served);
    let silent = async {
        sleep(limits.first).await;
        if asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let result = tokio::select! {
        result = served.as_mut() => result,
        () = silent => return tracing::debug!("a connection without a request ended"),
        () = async { tokio::select! { () = stop.cancelled() => {}, () = sleep(limits.age) => {} } } => {
            served.as_mut().graceful_shutdown();
            timeout(limits.drain, served).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended");
    }
}
