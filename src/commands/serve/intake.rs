//! Taking in: bodies to facts that are on the disk, and only then an acknowledgement.
//!
//! In: requests and pieces of followed files. Out: answers to their senders, and [`News`] of facts for the judge. What cannot be
//! stored is refused, to be sent again; what was stored is known once, however often it is sent.

use std::collections::BTreeSet;
use std::time::{Duration, Instant as Stopwatch};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::clock;
use super::reading::{Decoded, Reading};
use super::saving::Saving;
use crate::instant::Instant;
use crate::normalize::open::OpenNormalizer;
use crate::publish::prometheus::Service;
use crate::receive::Grown;
use crate::receive::listen::{Answer, Delivery};
use crate::tables::{Facts, FactsDelta};
use crate::telemetry::{self, Instruments};

/// Requests that are made durable together, at most, and their bytes.
const MOST_TOGETHER: usize = 256;
const MOST_BYTES_TOGETHER: usize = 8 << 20;
/// How often open traces are read anew.
const JOIN_EVERY: Duration = Duration::from_millis(250);
/// How often it is looked which traces are complete.
const SETTLE_EVERY: Duration = Duration::from_secs(1);
/// How often hours are closed and what is too old is removed.
const TIDY_EVERY: Duration = Duration::from_secs(60);
/// What senders are told to wait when the disk refuses.
const DISK_WAIT: Duration = Duration::from_secs(5);

/// Something to take in.
pub(super) enum Work {
    /// The body of a request.
    Request(Box<Delivery>),
    /// What was added to a followed file; the answer is whether it was taken in.
    Grown(Box<Grown>, oneshot::Sender<bool>),
}

impl Work {
    fn bytes(&self) -> usize {
        match self {
            Self::Request(delivery) => delivery.body.len(),
            Self::Grown(grown, _) => grown.bytes.len(),
        }
    }
}

/// What changed of the facts, identities not resolved.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Facts that came.
    pub(super) came: Facts,
    /// `fact_id`s of facts that went.
    pub(super) went: BTreeSet<String>,
}

/// Takes in.
pub(super) struct Intake {
    pub(super) reading: Reading,
    pub(super) normalizer: OpenNormalizer,
    pub(super) saving: Saving,
    pub(super) judge: mpsc::Sender<News>,
    pub(super) service: Service,
    pub(super) instruments: Instruments,
    /// A trace is complete when nothing of it came for this long.
    pub(super) settle: Duration,
    /// Something was read since open traces were read last.
    pub(super) stirred: bool,
    /// When it was looked last which traces are complete.
    pub(super) settled: Stopwatch,
}

/// One piece of work after it was decoded.
struct Read {
    work: Work,
    outcome: Result<Counts, Answer>,
}

/// What was read of a body.
struct Counts {
    accepted: u64,
    rejected: u64,
    message: String,
}

impl Intake {
    /// Takes in until told to stop, and what waits then.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Work>, stop: CancellationToken) {
        let mut joining = tokio::time::interval(JOIN_EVERY);
        joining.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut tidied = Stopwatch::now();
        loop {
            tokio::select! {
                work = queue.recv() => match work {
                    Some(first) => self.take_in(together(first, &mut queue)).await,
                    None => break,
                },
                _ = joining.tick() => self.join().await,
            }
            if tidied.elapsed() >= TIDY_EVERY {
                tidied = Stopwatch::now();
                self.saving.tidy(clock(), &self.service);
            }
            if stop.is_cancelled() && queue.is_empty() && queue.is_closed() {
                break;
            }
        }
        // What is open is in the log, and is read again when the program starts.
        self.saving.tidy(clock(), &self.service);
    }

    /// Reads, stores, answers, and tells the judge.
    async fn take_in(&mut self, group: Vec<Work>) {
        let now = clock();
        if !self.saving.is_clear(now, &self.service) {
            group.into_iter().for_each(|work| answer(work, &refused()));
            return;
        }
        let watch = Stopwatch::now();
        let _span = self.span(&group).entered();
        let read: Vec<Read> = group.into_iter().map(|work| self.read(work)).collect();
        let mut taken = self.normalizer.take(now);
        taken.facts.commons_mut().for_each(|common| common.received_at = common.received_at.or(Some(now)));
        self.stirred = true;
        let news = News { came: taken.facts.clone(), went: BTreeSet::new() };
        let stored = self.saving.save(taken, now, &self.service);
        for Read { work, outcome } in read {
            answer(work, &if stored { outcome.map_or_else(|answer| answer, Counts::into_answer) } else { refused() });
        }
        self.instruments.intake.record(watch.elapsed().as_secs_f64(), &[]);
        drop(_span);
        self.tell(news).await;
    }

    /// A span of the program's own, unless what came is the program's own telemetry.
    fn span(&self, group: &[Work]) -> tracing::Span {
        let own = telemetry::instance_id().as_bytes();
        let is_own = |work: &Work| match work {
            Work::Request(delivery) => memchr::memmem::find(&delivery.body, own).is_some(),
            Work::Grown(..) => false,
        };
        if group.iter().any(is_own) { tracing::Span::none() } else { tracing::info_span!("receive", requests = group.len()) }
    }

    fn read(&mut self, work: Work) -> Read {
        let Decoded { records, rejects, outcome } = self.reading.decode(&work);
        for (reason, pieces) in rejects {
            self.service.rejected(reason, pieces);
        }
        let (receiver, signal) = match &work {
            Work::Request(delivery) => (delivery.receiver.as_str(), delivery.signal.as_str()),
            Work::Grown(..) => ("follow", "lines"),
        };
        let outcome = match outcome {
            Ok(received) => {
                let before = self.normalizer.counts().not_a2a;
                self.service.received(receiver, signal, records.len() as u64);
                records.into_iter().for_each(|record| self.normalizer.record(record));
                self.service.ignored(signal, self.normalizer.counts().not_a2a.saturating_sub(before));
                let (accepted, rejected, message) = (received.accepted, received.rejected, received.message);
                Ok(Counts { accepted, rejected, message })
            }
            Err(malformed) => Err(Answer::Malformed { message: malformed.message }),
        };
        Read { work, outcome }
    }

    /// Reads open traces anew, and settles those that nothing came for.
    async fn join(&mut self) {
        let now = clock();
        let before = Instant(now.0.saturating_sub(i64::try_from(self.settle.as_nanos()).unwrap_or(i64::MAX)));
        if self.stirred {
            self.stirred = false;
            let change = self.normalizer.join();
            self.tell_change(change, now).await;
        }
        if self.settled.elapsed() >= SETTLE_EVERY && self.normalizer.load().is_anything_open() {
            self.settled = Stopwatch::now();
            let settled = self.normalizer.settle(before);
            self.saving.save_settled(&settled, now, &self.service);
            self.tell_change(settled.change, now).await;
        }
    }

    async fn tell_change(&self, change: FactsDelta, now: Instant) {
        let FactsDelta { mut added, removed } = change;
        added.commons_mut().for_each(|common| common.received_at = common.received_at.or(Some(now)));
        self.tell(News { came: added, went: removed }).await;
    }

    /// Waits while the judge is behind: then requests wait, and at last senders are told to.
    async fn tell(&self, news: News) {
        if !(news.came.is_empty() && news.went.is_empty()) {
            // Without a judge the program is about to end.
            _ = self.judge.send(news).await;
        }
    }
}

impl Counts {
    fn into_answer(self) -> Answer {
        Answer::Accepted { accepted: self.accepted, rejected: self.rejected, message: self.message }
    }
}

fn refused() -> Answer {
    Answer::Overloaded { retry_after: DISK_WAIT }
}

/// The first, and what else waits already.
fn together(first: Work, queue: &mut mpsc::Receiver<Work>) -> Vec<Work> {
    let mut bytes = first.bytes();
    let mut group = vec![first];
    while group.len() < MOST_TOGETHER && bytes < MOST_BYTES_TOGETHER {
        let Ok(next) = queue.try_recv() else { break };
        bytes += next.bytes();
        group.push(next);
    }
    group
}

/// Answers; a sender that went away has no use for it.
fn answer(work: Work, answer: &Answer) {
    match work {
        Work::Request(delivery) => _ = delivery.answer.send(answer.clone()),
        // A piece that cannot be read will not be better the next time.
        Work::Grown(_, taken) => _ = taken.send(!matches!(answer, Answer::Overloaded { .. })),
    }
}
