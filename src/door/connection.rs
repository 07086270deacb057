//! One connection from its first byte to its last.
//!
//! In: an accepted socket. Out: the requests on it, to the [`Host`]. Ends in bounded time: by its peer, by a timeout, or when
//! the process is asked to stop.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{interval, sleep, timeout};

use super::patience::Patient;
use super::watched::{Activity, Overdue, Watched};
use super::{Door, Event, Guest, Host, Times};

/// Serves a socket until its connection ends, after its handshake where there is TLS.
pub(super) async fn serve<H: Host>(door: Arc<Door>, host: Arc<H>, stream: TcpStream, guest: Guest) {
    // Answers are small: waiting to fill a packet would only delay them. A socket that cannot be told so still works.
    _ = stream.set_nodelay(true);
    let Some(tls) = &door.tls else { return drive(&door, &host, stream, &guest).await };
    let handshake = timeout(door.times.head, tls.acceptor().accept(stream));
    let shaken = tokio::select! {
        shaken = handshake => shaken,
        () = guest.stop.cancelled() => return,
    };
    match shaken {
        Ok(Ok(stream)) => drive(&door, &host, stream, &guest).await,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            host.note(Event::HandshakeFailed);
        }
        Err(_) => {
            tracing::debug!("a TLS handshake took too long");
            host.note(Event::HandshakeFailed);
        }
    }
}

async fn drive<H, S>(door: &Door, host: &Arc<H>, stream: S, guest: &Guest)
where
    H: Host,
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Times { head, idle, write, age, drain } = door.times;
    let activity = Activity::new();
    let service = service_fn(|request: Request<Incoming>| {
        guest.has_asked.store(true, Ordering::Relaxed);
        let (host, peer, open) = (Arc::clone(host), Arc::clone(&guest.peer), Arc::new(activity.request()));
        async move {
            let response = host.answer(request, peer, Arc::clone(&open)).await;
            drop(open);
            Ok::<_, Infallible>(response)
        }
    });
    let io = TokioIo::new(Watched::new(Patient::new(stream, write), Arc::clone(&activity)));
    let mut connection = pin!(door.http.serve_connection(io, service));
    let mut checks = interval((head / 8).clamp(Duration::from_millis(10), Duration::from_secs(1)));
    let mut grows_old = pin!(async {
        match age {
            Some(age) => sleep(age).await,
            None => std::future::pending().await,
        }
    });
    let mut is_stopping = false;
    loop {
        tokio::select! {
            // Errors of a connection are its peer's affair: what mattered was answered.
            _ = connection.as_mut() => return,
            () = guest.stop.cancelled(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            () = grows_old.as_mut(), if !is_stopping => {
                connection.as_mut().graceful_shutdown();
                _ = timeout(drain, connection).await;
                return;
            }
            _ = checks.tick() => match activity.overdue(head, idle) {
                None => {}
                Some(Overdue::Head) => return host.note(Event::SlowHead),
                Some(Overdue::Idle) => {
                    host.note(Event::Idle);
                    connection.as_mut().graceful_shutdown();
                    // A peer that does not answer the goodbye is left.
                    _ = timeout(head, connection).await;
                    return;
                }
            },
        }
    }
}
