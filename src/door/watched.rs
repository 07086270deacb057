//! A connection that knows how long it has been silent.
//!
//! In: a stream of bytes. Out: the same stream, and what can be told from it: a head that began and does not end, silence
//! between requests. hyper's own timer cannot tell the two apart, and closes a connection that merely waits.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant as Moment};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The first bytes of every HTTP/2 connection (RFC 9113, 3.4), as many as tell it from HTTP/1.
const HTTP2_PREFACE: &[u8] = b"PRI";

/// No moment.
const NEVER: u64 = u64::MAX;

/// What a connection has been doing. Times are milliseconds since it opened.
pub(super) struct Activity {
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    open_requests: AtomicU64,
    /// When bytes came that no request has claimed yet.
    head_began: AtomicU64,
    last_moved: AtomicU64,
    has_begun: AtomicBool,
    is_http2: AtomicBool,
}

/// Why a connection should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    /// A head, or the first byte, takes too long.
    Head,
    /// Nothing was asked for too long.
    Idle,
}

impl Activity {
    /// Of a connection that opens now.
    pub(super) fn new() -> Arc<Self> {
        let opened = Moment::now();
        Self::by(move || u64::try_from(opened.elapsed().as_millis()).unwrap_or(NEVER - 1))
    }

    fn by(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            clock: Box::new(clock),
            open_requests: AtomicU64::new(0),
            head_began: AtomicU64::new(0),
            last_moved: AtomicU64::new(0),
            has_begun: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
        })
    }

    fn now(&self) -> u64 {
        (self.clock)()
    }

    fn read(&self, bytes: &[u8]) {
        if !self.has_begun.swap(true, Ordering::Relaxed) && bytes.starts_with(HTTP2_PREFACE) {
            self.is_http2.store(true, Ordering::Relaxed);
        }
        if self.open_requests.load(Ordering::Relaxed) == 0 {
            let _ = self.head_began.compare_exchange(NEVER, self.now(), Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    fn written(&self, written: &Poll<io::Result<usize>>) {
        // An answer that is still being read is no silence; what HTTP/2 writes by itself says nothing.
        if matches!(written, Poll::Ready(Ok(_))) && !self.is_http2.load(Ordering::Relaxed) {
            self.last_moved.store(self.now(), Ordering::Relaxed);
        }
    }

    /// Notes that a request begins; it ends when the guard is dropped.
    pub(super) fn request(self: &Arc<Self>) -> OpenRequest {
        self.open_requests.fetch_add(1, Ordering::Relaxed);
        self.head_began.store(NEVER, Ordering::Relaxed);
        OpenRequest(Arc::clone(self))
    }

    /// Whether the connection has outstayed its welcome.
    pub(super) fn overdue(&self, head: Duration, idle: Duration) -> Option<Overdue> {
        if self.open_requests.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let now = self.now();
        let is_past =
            |since: u64, limit: Duration| since != NEVER && u128::from(now.saturating_sub(since)) >= limit.as_millis();
        let is_http2 = self.is_http2.load(Ordering::Relaxed);
        // Between requests HTTP/2 sends frames of its own, which are no headers.
        if !is_http2 && is_past(self.head_began.load(Ordering::Relaxed), head) {
            return Some(Overdue::Head);
        }
        is_past(self.last_moved.load(Ordering::Relaxed), idle).then_some(Overdue::Idle)
    }
}

/// A request that is being answered.
pub(crate) struct OpenRequest(Arc<Activity>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.last_moved.store(self.0.now(), Ordering::Relaxed);
        self.0.open_requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that notes what it reads and that it writes.
pub(super) struct Watched<S> {
    stream: S,
    activity: Arc<Activity>,
}

impl<S> Watched<S> {
    /// Watches a stream.
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        let read = &into.filled()[before..];
        if !read.is_empty() {
            self.activity.read(read);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.written(&written);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.activity.written(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(120);

    /// An activity and its clock in milliseconds.
    fn activity() -> (Arc<Activity>, impl Fn(u64)) {
        let millis = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&millis);
        let later = move |seconds: u64| {
            millis.fetch_add(seconds * 1000, Ordering::Relaxed);
        };
        (Activity::by(move || clock.load(Ordering::Relaxed)), later)
    }

    #[test]
    fn silence_and_half_sent_heads_have_limits_of_their_own() {
        let (activity, later) = activity();
        later(9);
        assert_eq!(activity.overdue(HEAD, IDLE), None);
        activity.read(b"POST");
        later(1);
        assert_eq!(activity.overdue(HEAD, IDLE), Some(Overdue::Head), "counted from the opening");
        let request = activity.request();
        later(1000);
        assert_eq!(activity.overdue(HEAD, IDLE), None, "a request is open");
        drop(request);
        later(119);
        assert_eq!(activity.overdue(HEAD, IDLE), None);
        later(1);
        assert_eq!(activity.overdue(HEAD, IDLE), Some(Overdue::Idle));
        activity.written(&Poll::Ready(Ok(1)));
        assert_eq!(activity.overdue(HEAD, IDLE), None, "the answer is being read");
        activity.read(b"P");
        assert_eq!(activity.overdue(HEAD, Duration::MAX), None);
        later(10);
        assert_eq!(activity.overdue(HEAD, Duration::MAX), Some(Overdue::Head));
    }

    #[test]
    fn a_waiting_http2_connection_is_idle_and_not_slow() {
        let (activity, later) = activity();
        activity.read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        later(119);
        activity.written(&Poll::Ready(Ok(17)));
        assert_eq!(activity.overdue(HEAD, IDLE), None);
        later(1);
        assert_eq!(activity.overdue(HEAD, IDLE), Some(Overdue::Idle));
    }
}
