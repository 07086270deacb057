//! Taking in: bodies to facts that are on the disk, and only then an acknowledgement.
//!
//! In: requests and pieces of followed files. Out: answers to their senders, and [`News`] of facts for the judge. What cannot be
//! stored is refused, to be sent again; what was stored is known once, however often it is sent.

use std::future::ready;
use std::iter::Peekable;
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};
use std::vec::IntoIter;

use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::complaints::{Complaints, Rejected};
use super::horizon::Horizon;
use super::joining::{Joins, Lent};
use super::news::{News, Recall, Telling};
use super::reading::{Decoded, Reading};
use super::saving::Saving;
use super::work::Work;
use super::{ahead, clock};
use crate::api::Readiness;
use crate::decode::record::{Record, Reject, RejectReason};
use crate::decode::request::Received;
use crate::instant::Instant;
use crate::normalize::open::{Ahead, OpenNormalizer, Read as ReadTraces};
use crate::normalize::{Arrival, NormalizerSettings};
use crate::publish::prometheus::Service;
use crate::receive::Incomplete;
use crate::receive::listen::{Answer, Route, Signal};
use crate::tables::FactsDelta;
use crate::telemetry::Instruments;

/// Requests that are made durable together, at most, and their bytes.
const MOST_TOGETHER: usize = 256;
const MOST_BYTES_TOGETHER: usize = 8 << 20;
/// How long reading what waits may take before it is made durable and answered: senders give up after some seconds.
const LONGEST_READ: Duration = Duration::from_millis(500);
/// How often hours are closed and what is too old is removed.
const TIDY_EVERY: Duration = Duration::from_secs(60);
/// What senders are told to wait when the disk refuses.
const DISK_WAIT: Duration = Duration::from_secs(5);

/// Receiver and signal of followed files, for metrics.
const FOLLOWED: (&str, &str) = ("follow", "lines");

/// What the log calls a body of which nothing can be read.
const MALFORMED: &str = "malformed";

/// Takes in.
pub(super) struct Intake {
    pub(super) reading: Reading,
    pub(super) normalizer: OpenNormalizer,
    pub(super) saving: Saving,
    pub(super) telling: Telling,
    pub(super) readiness: Arc<Readiness>,
    pub(super) service: Service,
    pub(super) instruments: Instruments,
    /// A trace is complete when nothing of it came for this long.
    pub(super) settle: Duration,
    /// How far the clocks of senders may be ahead.
    pub(super) most_ahead: Duration,
    pub(super) joins: Joins,
    pub(super) horizon: Arc<Horizon>,
    /// All that arrived before was taken in.
    pub(super) taken: Instant,
    /// When hours were closed last. None at first: what was over while the program did not run is closed soon.
    pub(super) tidied: Option<Stopwatch>,
    pub(super) complaints: Complaints,
}

/// Other ways to read, for what comes from then on.
pub(super) struct Renewal {
    pub(super) reading: Reading,
    pub(super) words: NormalizerSettings,
}

/// One piece of work after it was decoded.
struct Read {
    work: Work,
    outcome: Result<Counts, Answer>,
    /// What of it is not complete.
    incomplete: Option<Incomplete>,
}

/// What was read of a body.
struct Counts {
    accepted: u64,
    rejected: u64,
    message: String,
}

impl Intake {
    /// Begins what is counted by known labels at zero.
    fn begin(&self) {
        let routes = Route::ALL.into_iter().filter(|route| route.signal != Signal::Metrics);
        let routes = routes.map(|route| (route.receiver.as_str(), route.signal.as_str()));
        for (receiver, signal) in routes.chain([FOLLOWED]) {
            self.service.received(receiver, signal, 0);
            self.service.ignored(signal, 0);
        }
        RejectReason::ALL.iter().for_each(|reason| self.service.rejected(reason.as_str(), 0));
    }

    /// Takes in until nobody is left who could send.
    pub(super) async fn run(
        mut self,
        mut queue: mpsc::Receiver<Work>,
        mut recalls: mpsc::Receiver<Recall>,
        mut renewals: mpsc::Receiver<Renewal>,
    ) {
        self.begin();
        loop {
            if queue.is_empty() {
                self.taken = clock();
            }
            self.turned();
            let next = self.joins.next();
            tokio::select! {
                work = queue.recv() => match work {
                    Some(first) => self.take_in(together(first, &mut queue)).await,
                    None => break,
                },
                Some(recall) = recalls.recv() => self.bring_back(recall),
                Some(Renewal { reading, words }) = renewals.recv() => {
                    self.reading = reading;
                    self.normalizer.reword(words);
                }
                read = self.joins.is_read() => self.end_join(read).await,
                () = ready(()), if self.saving.has_some() => self.saving.save_some(clock(), &self.service),
                () = sleep_until(next.into()) => self.look(),
            }
            if self.tidied.is_none_or(|last| last.elapsed() >= TIDY_EVERY.min(self.saving.every())) {
                let is_more = self.saving.tidy(clock(), &self.service);
                self.tidied = (!is_more).then(Stopwatch::now);
            }
        }
        // What is open is in the log, and is read again when the program starts.
        self.saving.is_clear(clock(), &self.service);
        while self.saving.has_some() {
            self.saving.save_some(clock(), &self.service);
        }
        while self.saving.tidy(clock(), &self.service) {}
        // The judge may ask while it hears the last.
        tokio::select! {
            () = self.telling.finish() => {}
            () = async { while let Some(recall) = recalls.recv().await { drop(recall) } } => {}
        }
    }

    /// Takes in work, in portions that do not take long.
    async fn take_in(&mut self, mut group: Vec<Work>) {
        // Who was told to come again, because it took too long, comes again: to read it twice would make it longer still.
        group.retain(|work| !work.is_given_up());
        let now = clock();
        let taken = group.iter().map(|work| work.arrived(now)).max();
        let mut waiting = group.into_iter().peekable();
        while waiting.peek().is_some() {
            self.take_portion(&mut waiting).await;
            self.keep_up().await;
            self.turned();
        }
        self.taken = self.taken.max(taken.unwrap_or(self.taken));
    }

    /// Says that it is at work. It is behind when a turn takes long: a disk that hangs, a judge that takes no news.
    fn turned(&self) {
        self.readiness.turned(Readiness::INTAKE, Duration::ZERO);
        self.horizon.set(self.taken, [self.joins.oldest(), self.telling.oldest()]);
    }

    /// Reads, stores, answers, and tells the judge.
    async fn take_portion(&mut self, waiting: &mut Peekable<IntoIter<Work>>) {
        let now = clock();
        if !self.saving.is_clear(now, &self.service) {
            waiting.for_each(|work| work.answer(None, &refused()));
            return;
        }
        let watch = Stopwatch::now();
        let span = Self::span(waiting.peek()).entered();
        let (mut arrived, mut read) = (now, Vec::new());
        while let Some(work) = waiting.next_if(|work| read.is_empty() || !(is_late(watch) || work.is_own())) {
            if work.is_given_up() {
                continue;
            }
            arrived = arrived.min(work.arrived(now));
            read.push(self.read(work));
        }
        let mut taken = self.normalizer.take(arrived);
        taken.facts.commons_mut().for_each(|common| common.received_at = common.received_at.or(Some(arrived)));
        self.joins.stir(arrived);
        let news = News { came: taken.facts.clone(), since: arrived, is_sent: true, ..News::default() };
        let is_safe = self.saving.save(taken, now, &self.service);
        for Read { work, outcome, incomplete } in read {
            let told = if is_safe { outcome.map_or_else(|answer| answer, Counts::into_answer) } else { refused() };
            work.answer(incomplete, &told);
        }
        self.instruments.intake.record(watch.elapsed().as_secs_f64(), &[]);
        drop(span);
        self.telling.tell(news).await;
    }

    /// What the judge forgot, if the disk still has it.
    fn bring_back(&self, Recall { tasks, answer }: Recall) {
        // Who asked may have ended.
        _ = answer.send(self.saving.load_tasks(tasks));
    }

    /// A span of the program's own, unless what came is the program's own telemetry.
    fn span(first: Option<&Work>) -> tracing::Span {
        if first.is_some_and(Work::is_own) { tracing::Span::none() } else { tracing::info_span!("receive") }
    }

    fn read(&mut self, work: Work) -> Read {
        let Decoded { source, records, rejects, outcome, incomplete } = self.reading.decode(&work);
        let is_told = !rejects.is_empty();
        for (reason, rejected) in rejects {
            self.service.rejected(reason, rejected.pieces);
            self.complaints.tell(&source, reason, &rejected);
        }
        let (receiver, signal) = match &work {
            Work::Request(delivery) => (delivery.receiver.as_str(), delivery.signal.as_str()),
            Work::Grown(..) => FOLLOWED,
        };
        let outcome = match outcome {
            Ok(received) => {
                let before = self.ignored();
                self.service.received(receiver, signal, records.len() as u64);
                let ahead = self.normalize(&work, records);
                self.tell_cut();
                self.service.rejected(RejectReason::FutureTime.as_str(), ahead.refused);
                self.service.ignored(signal, self.ignored().saturating_sub(before));
                let Received { accepted, rejected, message } = ahead::told(received, &ahead, self.most_ahead);
                Ok(Counts { accepted, rejected, message })
            }
            Err(malformed) => {
                if !is_told {
                    let rejected = Rejected { pieces: 1, position: String::new(), detail: malformed.message.clone() };
                    self.complaints.tell(&source, MALFORMED, &rejected);
                }
                Err(Answer::Malformed { message: malformed.message })
            }
        };
        Read { work, outcome, incomplete }
    }

    fn normalize(&mut self, work: &Work, records: Vec<Record>) -> Ahead {
        let arrival = Arrival { at: work.arrived(clock()), most_ahead: self.most_ahead };
        match work {
            Work::Request(_) => self.normalizer.body(records, arrival),
            Work::Grown(grown, _) => {
                let ahead = self.normalizer.grown(records, arrival);
                if ahead.refused > 0 {
                    let path = grown.path.display();
                    tracing::warn!(%path, records = ahead.refused, "records of a time yet to come are not kept");
                }
                ahead
            }
        }
    }

    /// Counts and tells what the normaliser did not keep.
    fn tell_cut(&mut self) {
        for Reject { origin, reason, detail } in self.normalizer.rejects() {
            self.service.rejected(reason.as_str(), 1);
            let rejected = Rejected { pieces: 1, position: origin.position.to_string(), detail };
            self.complaints.tell(&origin.source, reason.as_str(), &rejected);
        }
    }

    /// Records so far that hold no A2A.
    fn ignored(&self) -> u64 {
        let counts = self.normalizer.counts();
        counts.not_a2a + counts.passed_over
    }

    /// Does what is due between portions of much work: what arrived becomes facts by it.
    async fn keep_up(&mut self) {
        if self.joins.is_done() {
            let read = self.joins.is_read().await;
            self.end_join(read).await;
        }
        if self.saving.has_some() {
            self.saving.save_some(clock(), &self.service);
        }
        if self.joins.next() <= Stopwatch::now() {
            self.look();
        }
    }

    /// Passes on what waits, and begins to read open traces if it is time.
    fn look(&mut self) {
        let watch = Stopwatch::now();
        self.joins.look(watch);
        self.telling.pass_on();
        let is_due = self.joins.settle_is_due();
        if is_due {
            self.saving.measure(&self.service);
            self.service.open_records(self.normalizer.load().pieces as u64);
        }
        // Not while what the last time gave is on its way to the disk.
        if !self.joins.may_begin(watch) || self.saving.has_some() {
            return;
        }
        let mut before = None;
        if is_due {
            self.joins.settle(watch);
            before = self.settles();
        }
        self.begin_join(before, watch);
    }

    /// What arrived before when is to settle, if anything is; none while the disk refuses.
    fn settles(&mut self) -> Option<Instant> {
        let now = clock();
        let load = self.normalizer.load();
        let is_open = load.groups + load.waiting + load.unsure > 0;
        let settle = i64::try_from(self.settle.as_nanos()).unwrap_or(i64::MAX);
        (self.saving.is_clear(now, &self.service) && is_open).then(|| Instant(now.0.saturating_sub(settle)))
    }

    fn begin_join(&mut self, before: Option<Instant>, since: Stopwatch) {
        let arrived = self.joins.take_stirred();
        if arrived.is_none() && before.is_none() {
            return;
        }
        if let Some(joining) = self.normalizer.begin_join(before) {
            let arrived = arrived.unwrap_or_else(clock);
            self.joins.begin(joining, Lent { arrived, before }, since);
        }
    }

    /// Has what is final of what was read stored, and tells the judge.
    async fn end_join(&mut self, read: ReadTraces) {
        let Some((Lent { arrived, before }, took)) = self.joins.end() else { return };
        let mut settled = self.normalizer.end_join(read);
        tracing::debug!(records = self.normalizer.load().pieces, ?took, "open traces were read");
        // Nothing was added to them since.
        settled.facts.commons_mut().for_each(|common| common.received_at = common.received_at.or(before));
        let FactsDelta { added: mut came, removed: went } = std::mem::take(&mut settled.change);
        self.saving.put_off(settled);
        came.commons_mut().for_each(|common| common.received_at = common.received_at.or(Some(arrived)));
        self.telling.tell(News { came, went, since: arrived, is_sent: false }).await;
    }
}

impl Counts {
    fn into_answer(self) -> Answer {
        Answer::Accepted { accepted: self.accepted, rejected: self.rejected, message: self.message }
    }
}

/// Whether it is time to answer what was read.
fn is_late(watch: Stopwatch) -> bool {
    watch.elapsed() >= LONGEST_READ
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

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::task::yield_now;
    use tokio::time::timeout;

    use super::*;
    use crate::decode::Limits;
    use crate::decode::key_map::KeyMap;
    use crate::publish::prometheus::Exporter;
    use crate::receive::listen::{Delivery, Encoding, Receiver};
    use crate::store::{Store, StoreSettings};
    use crate::tables::Facts;

    fn intake(folder: &tempfile::TempDir, readiness: &Arc<Readiness>) -> Intake {
        let (store, _) = Store::open(folder.path(), StoreSettings::default()).unwrap();
        let hour = Duration::from_secs(3600);
        Intake {
            reading: Reading { limits: Limits::default(), keys: KeyMap::built_in().clone(), observers: Vec::new() },
            normalizer: OpenNormalizer::new(NormalizerSettings::default()),
            saving: Saving::new(store, &Facts::default(), Arc::clone(readiness), hour),
            telling: Telling::new(mpsc::channel(1).0),
            readiness: Arc::clone(readiness),
            service: Exporter::new(&[]).unwrap().service().clone(),
            instruments: Instruments::new(),
            settle: Duration::from_secs(60),
            most_ahead: hour,
            joins: Joins::default(),
            horizon: Arc::default(),
            taken: clock(),
            tidied: None,
            complaints: Complaints::default(),
        }
    }

    #[tokio::test]
    async fn an_intake_that_stands_still_is_behind_until_it_goes_on_though_there_is_no_work() {
        const HALF_A_MINUTE: Duration = Duration::from_secs(30);
        let (folder, readiness) = (tempfile::tempdir().unwrap(), Arc::new(Readiness::default()));
        let ((_work, queue), (_recalls, recalled)) = (mpsc::channel(1), mpsc::channel(1));
        let (_renewals, renewed) = mpsc::channel(1);
        let is_behind = |at| readiness.reasons_at(at).contains_key(Readiness::INTAKE);
        let mut running = std::pin::pin!(intake(&folder, &readiness).run(queue, recalled, renewed));
        let turned = async {
            while !is_behind(Stopwatch::now() + 2 * HALF_A_MINUTE) {
                yield_now().await;
            }
        };
        tokio::select! { () = running.as_mut() => unreachable!("nobody ended it"), () = turned => {} }
        // Nobody drives it now, as if the disk hung.
        let late = Stopwatch::now() + HALF_A_MINUTE + Duration::from_nanos(1);
        assert!(!is_behind(Stopwatch::now()));
        assert!(is_behind(late));
        let caught_up = timeout(HALF_A_MINUTE, async {
            while is_behind(late) {
                yield_now().await;
            }
        });
        tokio::select! { () = running => unreachable!("nobody ended it"), done = caught_up => done.unwrap() }
    }

    #[tokio::test]
    async fn what_is_open_is_not_behind_the_horizon_until_it_is_told() {
        let (folder, readiness) = (tempfile::tempdir().unwrap(), Arc::new(Readiness::default()));
        let mut intake = intake(&folder, &readiness);
        let (judge, mut told) = mpsc::channel(1);
        intake.telling = Telling::new(judge);
        let (arrived, later) = (Instant(1_000_000_000), Instant(9_000_000_000));
        let body = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c",
            "spanId":"b7ad6b7169203331","kind":3,"name":"SendMessage","startTimeUnixNano":"1000000000",
            "endTimeUnixNano":"1500000000","attributes":[
            {"key":"a2a.method.name","value":{"stringValue":"SendMessage"}},
            {"key":"a2a.task.id","value":{"stringValue":"t"}},
            {"key":"server.address","value":{"stringValue":"a.example"}}]}]}]}]}"#;
        let (answer, answered) = oneshot::channel();
        let delivery = Delivery {
            receiver: Receiver::OtlpHttp,
            signal: Signal::Traces,
            encoding: Encoding::Json,
            body: body.into(),
            peer: String::new(),
            received_at: arrived,
            answer,
        };
        intake.taken = arrived;
        intake.take_in(vec![Work::Request(Box::new(delivery))]).await;
        assert!(matches!(answered.await, Ok(Answer::Accepted { accepted: 1, rejected: 0, .. })));
        intake.taken = later;
        intake.turned();
        assert_eq!(intake.horizon.get(later), arrived, "acknowledged, and told to nobody");
        intake.look();
        intake.turned();
        assert_eq!(intake.horizon.get(later), arrived, "being read");
        let read = intake.joins.is_read().await;
        intake.end_join(read).await;
        intake.turned();
        assert_eq!(intake.horizon.get(later), later);
        assert!(told.try_recv().is_ok_and(|news| !news.came.is_empty()));
    }
}
