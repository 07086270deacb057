//! Reading open traces anew beside taking in, and settling those that nothing came for.
//!
//! In: what is open. Out: what it gives, to disk and judge. Takes long where much is open; senders do not wait for it.

use std::time::{Duration, Instant as Stopwatch};

use tokio::task::{JoinHandle, spawn_blocking};

use super::clock;
use super::intake::Intake;
use super::news::News;
use crate::instant::Instant;
use crate::normalize::open::Read;
use crate::tables::FactsDelta;

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
    /// When what they give arrived.
    arrived: Instant,
    /// Nothing was added to what settles since.
    before: Option<Instant>,
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
        self.stirred.into_iter().chain(self.running.as_ref().map(|running| running.arrived)).min()
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
}

impl Intake {
    /// Does what is due between portions of much work: what arrived becomes facts by it.
    pub(super) async fn keep_up(&mut self) {
        if self.joins.running.as_ref().is_some_and(|running| running.read.is_finished()) {
            let read = self.joins.is_read().await;
            self.end_join(read).await;
        }
        if self.saving.has_some() {
            self.saving.save_some(clock(), &self.service);
        }
        if self.joins.next <= Stopwatch::now() {
            self.look();
        }
    }

    /// Passes on what waits, and begins to read open traces if it is time.
    pub(super) fn look(&mut self) {
        let watch = Stopwatch::now();
        self.joins.next = watch + JOIN_EVERY;
        self.telling.pass_on();
        let mut before = None;
        if self.joins.settled.elapsed() >= SETTLE_EVERY {
            self.saving.measure(&self.service);
            self.service.open_records(self.normalizer.load().pieces as u64);
            before = self.settles(watch);
        }
        if self.may_join(watch) {
            self.begin_join(watch, before);
        }
    }

    /// Not while what the last time gave is on its way to the disk.
    fn may_join(&self, watch: Stopwatch) -> bool {
        self.joins.running.is_none() && self.joins.rest <= watch && !self.saving.has_some()
    }

    /// What arrived before when is to settle, if anything is; none while the disk refuses.
    fn settles(&mut self, watch: Stopwatch) -> Option<Instant> {
        if !self.may_join(watch) {
            return None;
        }
        self.joins.settled = watch;
        let now = clock();
        let load = self.normalizer.load();
        let is_open = load.groups + load.waiting + load.unsure > 0;
        let settle = i64::try_from(self.settle.as_nanos()).unwrap_or(i64::MAX);
        (self.saving.is_clear(now, &self.service) && is_open).then(|| Instant(now.0.saturating_sub(settle)))
    }

    fn begin_join(&mut self, since: Stopwatch, before: Option<Instant>) {
        let arrived = self.joins.stirred.take();
        if arrived.is_none() && before.is_none() {
            return;
        }
        let Some(joining) = self.normalizer.begin_join(before) else { return };
        let arrived = arrived.unwrap_or_else(clock);
        let read = spawn_blocking(|| joining.run());
        self.joins.running = Some(Running { read, since, arrived, before });
    }

    /// Stores what is final of what was read, and tells the judge.
    pub(super) async fn end_join(&mut self, read: Read) {
        let Some(Running { since, arrived, before, .. }) = self.joins.running.take() else { return };
        let mut settled = self.normalizer.end_join(read);
        let took = since.elapsed();
        tracing::debug!(records = self.normalizer.load().pieces, ?took, "open traces were read");
        if let Some(before) = before {
            // Nothing was added to them since.
            settled.facts.commons_mut().for_each(|common| common.received_at = common.received_at.or(Some(before)));
        }
        let FactsDelta { added: mut came, removed: went } = std::mem::take(&mut settled.change);
        self.saving.put_off(settled);
        came.commons_mut().for_each(|common| common.received_at = common.received_at.or(Some(arrived)));
        self.telling.tell(News { came, went, since: arrived, is_sent: false }).await;
        self.joins.rest = Stopwatch::now() + took * (JOIN_SHARE - 1);
    }
}
