//! When open traces are read anew, and that it is done beside taking in.
//!
//! In: what is open, lent. Out: what it gives, when it is read. Takes long where much is open; senders do not wait for it.

use std::time::{Duration, Instant as Stopwatch};

use tokio::task::{JoinHandle, spawn_blocking};

use crate::instant::Instant;
use crate::normalize::open::{Joining, Read};

/// How often open traces are read anew, where that takes no time.
const JOIN_EVERY: Duration = Duration::from_millis(250);
/// Reading open traces anew may take one part in so many of the time. Not less: what is open leaves by it alone, and what
/// comes faster than it leaves makes the next time longer. It costs with what is open: 70 us a span, unoptimised, on a busy
/// machine (40,000 spans of as many traces, 2.5 s); traces stay open for `settle`, and a minute for those about the same.
const JOIN_SHARE: u32 = 2;
/// How often it is looked which traces are complete, and whether a disk that refused still does.
const SETTLE_EVERY: Duration = Duration::from_secs(1);

/// When open traces were read last, and are next.
pub(super) struct Joins {
    /// When the oldest of what came since they were read last arrived.
    stirred: Option<Instant>,
    /// When the next look is due.
    next: Stopwatch,
    /// Not to be read before.
    rest: Stopwatch,
    settled: Stopwatch,
    running: Option<Running>,
}

/// Open traces that are being read.
struct Running {
    read: JoinHandle<Read>,
    since: Stopwatch,
    what: Lent,
}

/// What is known of open traces that are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lent {
    /// When what they give arrived.
    pub(super) arrived: Instant,
    /// Nothing was added to what settles since.
    pub(super) before: Option<Instant>,
}

impl Default for Joins {
    fn default() -> Self {
        let now = Stopwatch::now();
        Self { stirred: None, next: now + JOIN_EVERY, rest: now, settled: now, running: None }
    }
}

impl Joins {
    /// Takes note that something arrived.
    pub(super) fn stir(&mut self, arrived: Instant) {
        self.stirred = self.stirred.or(Some(arrived));
    }

    /// When the oldest of what was not read yet, or is being read, arrived.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.stirred.into_iter().chain(self.running.as_ref().map(|running| running.what.arrived)).min()
    }

    /// When the next look is due.
    pub(super) fn next(&self) -> Stopwatch {
        self.next
    }

    /// Waits until what is being read is; for ever if nothing is.
    pub(super) async fn is_read(&mut self) -> Read {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        match (&mut running.read).await {
            Ok(read) => read,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is ending, and this with it.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Whether what was being read is.
    pub(super) fn is_done(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.read.is_finished())
    }

    /// Takes note of a look: the next one is due some time later.
    pub(super) fn look(&mut self, now: Stopwatch) {
        self.next = now + JOIN_EVERY;
    }

    /// Whether it is time to look what settles.
    pub(super) fn settle_is_due(&self) -> bool {
        self.settled.elapsed() >= SETTLE_EVERY
    }

    /// Takes note that it was looked what settles.
    pub(super) fn settle(&mut self, now: Stopwatch) {
        self.settled = now;
    }

    /// Whether open traces may be read now.
    pub(super) fn may_begin(&self, now: Stopwatch) -> bool {
        self.running.is_none() && self.rest <= now
    }

    /// When the oldest of what was not read arrived: it is read now, if there is any.
    pub(super) fn take_stirred(&mut self) -> Option<Instant> {
        self.stirred.take()
    }

    /// Has open traces read.
    pub(super) fn begin(&mut self, joining: Joining, what: Lent, since: Stopwatch) {
        let read = spawn_blocking(|| joining.run());
        self.running = Some(Running { read, since, what });
    }

    /// What was read is back: what it was, and how long it took.
    pub(super) fn end(&mut self) -> Option<(Lent, Duration)> {
        let Running { since, what, .. } = self.running.take()?;
        let took = since.elapsed();
        self.rest = Stopwatch::now() + took * (JOIN_SHARE - 1);
        Some((what, took))
    }
}
