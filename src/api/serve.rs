//! The server under the routes.
//!
//! In: a bound socket. Out: answers, until it is told to stop; what is under way then is finished. HTTP/1.1 alone, which
//! scrapers and people speak: nothing here has to bear the floods of HTTP/2.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::tls::Tls;

/// Bytes that a request's head may have.
const MOST_HEAD: usize = 64 * 1024;
/// Wait after a connection could not be taken, as when there are no more file handles.
const BREATH: Duration = Duration::from_millis(100);

/// Bounds on what callers may hold.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at one time; more wait.
    pub connections: usize,
    /// Time until the head of a request, or of the next, is here.
    pub head: Duration,
    /// Time after which a connection takes no further request.
    pub age: Duration,
    /// Time that what is under way has to end once it is told to.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            head: Duration::from_secs(30),
            age: Duration::from_secs(600),
            drain: Duration::from_secs(5),
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
    let places = Arc::new(Semaphore::new(limits.connections));
    let connections = TaskTracker::new();
    let accept = async {
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (router, tls, stop) = (router.clone(), tls.clone(), stop.clone());
                    connections.spawn(async move {
                        admit(stream, tls, router, limits, stop).await;
                        drop(place);
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

/// Serves a connection, after its handshake where there is TLS.
async fn admit(stream: TcpStream, tls: Option<Arc<Tls>>, router: Router, limits: Limits, stop: CancellationToken) {
    let Some(tls) = tls else { return connection(stream, router, limits, stop).await };
    let shaken = tokio::select! {
        shaken = timeout(limits.head, tls.acceptor().accept(stream)) => shaken,
        () = stop.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => connection(stream, router, limits, stop).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn connection<S>(stream: S, router: Router, limits: Limits, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(MOST_HEAD);
    let served = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut served = std::pin::pin!(served);
    let result = tokio::select! {
        result = served.as_mut() => result,
        () = async { tokio::select! { () = stop.cancelled() => {}, () = sleep(limits.age) => {} } } => {
            served.as_mut().graceful_shutdown();
            timeout(limits.drain, served).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended");
    }
}
