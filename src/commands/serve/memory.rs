//! The facts in memory: who is who among them, which of them leave by age, and which are asked for again.
//!
//! In: [`News`]. Out: what they change. Judges nothing.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant as Stopwatch};

use tokio::sync::{mpsc, oneshot};

use super::news::{News, Recall};
use crate::config::Retention;
use crate::instant::Instant;
use crate::normalize::identity::{Added, IdentitySettings, Known};
use crate::tables::{Common, Facts, FactsDelta};

/// Facts that are judged together, if there are as many. Whoever waits for the judge waits as long as that takes: some seconds,
/// unoptimised on a busy machine.
const MOST_TOGETHER: usize = 20_000;
/// How often it is looked what leaves by age, and where there are too many facts.
const EVICT_EVERY: Duration = Duration::from_secs(60);
const EVICT_FULL_EVERY: Duration = Duration::from_secs(5);
/// Where there are too many facts, no task younger than this leaves.
pub(super) const LEAST_AGE: Duration = Duration::from_secs(60);

/// The facts in memory.
pub(super) struct Memory {
    known: Known,
    retention: Retention,
    recalls: mpsc::Sender<Recall>,
    /// Tasks of which something came after they had left memory.
    late: HashSet<String>,
    evicted: Option<Stopwatch>,
}

/// What the news say.
#[derive(Debug, Default)]
pub(super) struct Learnt {
    /// What changed.
    pub(super) delta: FactsDelta,
    /// Facts that came.
    pub(super) came: usize,
    /// Facts that were sent though they were known.
    pub(super) again: usize,
}

impl Memory {
    /// No facts.
    pub(super) fn new(identities: IdentitySettings, retention: Retention, recalls: mpsc::Sender<Recall>) -> Self {
        Self { known: Known::new(identities), retention, recalls, late: HashSet::new(), evicted: None }
    }

    /// All facts, identities resolved.
    fn facts(&self) -> Facts {
        self.known.facts()
    }

    /// Other names for agents and clients: all facts as they are by them, and the names of before.
    pub(super) fn rename(&mut self, names: IdentitySettings) -> (Facts, IdentitySettings) {
        let before = self.known.settings().clone();
        let facts = if before == names { self.facts() } else { self.known.rename(names) };
        (facts, before)
    }

    /// How long what is kept.
    pub(super) fn retention(&self) -> &Retention {
        &self.retention
    }

    /// Tasks whose facts are on the disk only.
    pub(super) fn are_elsewhere(&mut self, tasks: &HashSet<String>) {
        self.known.remember_evicted(tasks.iter().map(String::as_str));
    }

    /// What the news change in who is who.
    pub(super) fn learn(&mut self, news: impl IntoIterator<Item = News>) -> Learnt {
        let mut learnt = Learnt::default();
        let mut sent = Facts::default();
        for News { came, went, is_sent, .. } in news {
            learnt.came += came.len();
            if is_sent {
                learnt.again += came.commons().filter(|common| self.is_known(common)).count();
                sent.append(came);
                continue;
            }
            self.add(std::mem::take(&mut sent), Known::add, &mut learnt.delta);
            self.add(came, Known::renew, &mut learnt.delta);
            if !went.is_empty() {
                learnt.delta.then(self.known.remove(went.iter().map(String::as_str)));
            }
        }
        self.add(sent, Known::add, &mut learnt.delta);
        learnt
    }

    fn add(&mut self, facts: Facts, how: fn(&mut Known, Facts) -> Added, delta: &mut FactsDelta) {
        if !facts.is_empty() {
            let added = how(&mut self.known, facts);
            delta.then(added.delta);
            self.late.extend(added.late);
        }
    }

    /// What a card's body says comes with every look at it, and is not sent again by that.
    fn is_known(&self, common: &Common) -> bool {
        common.observed_at != Instant::default() && self.known.contains(&common.fact_id)
    }

    /// Asks for the facts of tasks of which something came after they had left: no task is judged from a part of its facts.
    /// Meanwhile `hear` listens, so that whoever is asked is not held up.
    pub(super) async fn recall(&mut self, hear: impl AsyncFnOnce()) -> FactsDelta {
        if self.late.is_empty() {
            return FactsDelta::default();
        }
        let tasks = std::mem::take(&mut self.late);
        tracing::info!(tasks = tasks.len(), "tasks that had left memory are brought back");
        let (answer, answered) = oneshot::channel();
        let ask = async {
            _ = self.recalls.send(Recall { tasks, answer }).await;
            // When the service ends nobody answers, and nobody looks at what is judged then.
            answered.await.unwrap_or_default()
        };
        let facts = tokio::select! {
            facts = ask => facts,
            () = hear() => Facts::default(),
        };
        let mut delta = FactsDelta::default();
        self.add(facts, Known::add, &mut delta);
        delta
    }

    /// What leaves now, if it is time to look.
    pub(super) fn evict(&mut self, now: Instant) -> Option<FactsDelta> {
        let is_full = self.known.len() > self.retention.memory_facts;
        let every = EVICT_EVERY.min(self.retention.memory / 4);
        let pause = if is_full { EVICT_FULL_EVERY.min(every) } else { every };
        if self.evicted.is_some_and(|last| last.elapsed() < pause) {
            return None;
        }
        self.evicted = Some(Stopwatch::now());
        let mut age = self.retention.memory;
        let before = self.known.len();
        let mut delta = self.evict_older(now, age);
        // Half the age again and again: each time what is left is the younger half or less.
        while self.known.len() > self.retention.memory_facts && age / 2 >= LEAST_AGE {
            age /= 2;
            delta.then(self.evict_older(now, age));
        }
        if age < self.retention.memory {
            tracing::warn!(facts = self.known.len(), age = ?age, "there were too many facts: older ones left memory early");
        }
        tracing::debug!(left = before.saturating_sub(self.known.len()), stay = self.known.len(), "facts left memory");
        Some(delta)
    }

    /// The instant before which what is alone in its task leaves.
    pub(super) fn oldest(&self, now: Instant) -> Instant {
        earlier(now, self.retention.memory)
    }

    fn evict_older(&mut self, now: Instant, age: Duration) -> FactsDelta {
        self.known.evict(earlier(now, age), earlier(now, self.retention.cards)).delta
    }
}

/// The instant so long before another.
pub(super) fn earlier(at: Instant, by: Duration) -> Instant {
    Instant(at.0.saturating_sub(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX)))
}

/// The instant so long after another.
pub(super) fn later(at: Instant, by: Duration) -> Instant {
    Instant(at.0.saturating_add(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX)))
}

/// News that were heard and are not judged yet.
#[derive(Default)]
pub(super) struct Heard {
    news: VecDeque<News>,
    facts: usize,
}

impl Heard {
    /// Whether more may wait.
    pub(super) fn has_room(&self) -> bool {
        self.facts < MOST_TOGETHER
    }

    /// Takes note.
    pub(super) fn push(&mut self, news: News) {
        self.facts += news.came.len();
        self.news.push_back(news);
    }

    /// Takes what is there and fits.
    pub(super) fn drain(&mut self, news: &mut mpsc::Receiver<News>) {
        while self.has_room()
            && let Ok(next) = news.try_recv()
        {
            self.push(next);
        }
    }

    /// All of it, to be judged now.
    pub(super) fn take(&mut self) -> VecDeque<News> {
        self.facts = 0;
        std::mem::take(&mut self.news)
    }

    /// When the oldest of it arrived.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.news.iter().map(|news| news.since).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{TaskEventColumns, TaskEventRow};

    const HOUR: i64 = 3_600_000_000_000;

    fn event(task: &str, at: i64) -> News {
        let common =
            Common { observed_at: Instant(at), agent_ref: "http://a.example/".to_owned(), ..Common::default() };
        let own =
            TaskEventColumns { task_id: task.to_owned(), state: "working".to_owned(), ..TaskEventColumns::default() };
        let mut news = News { is_sent: true, ..News::default() };
        news.came.push_task_event(TaskEventRow { common, own });
        news
    }

    fn memory(memory_facts: usize) -> (Memory, mpsc::Receiver<Recall>) {
        let (recalls, recalled) = mpsc::channel(1);
        let retention = Retention { memory_facts, ..Retention::default() };
        (Memory::new(IdentitySettings::default(), retention, recalls), recalled)
    }

    fn times(facts: &Facts) -> Vec<i64> {
        facts.task_events.iter().map(|row| row.common.observed_at.0 / HOUR).collect()
    }

    #[tokio::test]
    async fn a_task_that_left_is_asked_for_when_something_of_it_is_late_and_judged_with_all_of_it() {
        let (mut memory, mut recalled) = memory(usize::MAX);
        let learnt = memory.learn([event("t", HOUR), event("t", 2 * HOUR), event("t", 2 * HOUR)]);
        assert_eq!((learnt.delta.added.len(), learnt.came, learnt.again), (2, 3, 0));
        assert_eq!(memory.learn([event("t", 2 * HOUR)]).again, 1);
        assert_eq!(memory.evict(Instant(100 * HOUR)).unwrap().removed.len(), 2);
        assert!(memory.evict(Instant(100 * HOUR)).is_none(), "not again at once");

        let mut delta = memory.learn([event("t", 99 * HOUR)]).delta;
        let store = async {
            let Recall { tasks, answer } = recalled.recv().await.unwrap();
            assert_eq!(tasks, HashSet::from(["t".to_owned()]));
            let mut stored = event("t", HOUR).came;
            stored.append(event("t", 2 * HOUR).came);
            answer.send(stored).unwrap();
        };
        let (brought, ()) = tokio::join!(memory.recall(async || std::future::pending().await), store);
        delta.then(brought);
        delta.added.make_set();
        assert_eq!(times(&delta.added), [1, 2, 99]);
        assert!(memory.recall(async || std::future::pending().await).await.added.is_empty(), "asked for once");
    }

    #[tokio::test]
    async fn whoever_is_asked_is_heard_meanwhile_and_may_be_gone() {
        let (mut memory, recalled) = memory(usize::MAX);
        memory.are_elsewhere(&HashSet::from(["t".to_owned()]));
        memory.learn([event("t", HOUR)]);
        drop(recalled);
        assert!(memory.recall(async || std::future::pending().await).await.added.is_empty());
        let (mut memory, _recalled) = self::memory(usize::MAX);
        memory.are_elsewhere(&HashSet::from(["t".to_owned()]));
        memory.learn([event("t", HOUR)]);
        let mut is_heard = false;
        memory.recall(async || is_heard = true).await;
        assert!(is_heard);
    }

    #[test]
    fn what_is_ahead_of_the_clock_leaves_later_by_so_much() {
        let now = 100 * HOUR;
        for (look, left) in [(now + 25 * HOUR, 1), (now + 25 * HOUR + 1, 0)] {
            let (mut memory, _recalled) = memory(usize::MAX);
            memory.learn([event("t", now + HOUR)]);
            memory.evict(Instant(look)).unwrap();
            assert_eq!(memory.facts().len(), left, "{look}");
        }
    }

    #[test]
    fn of_too_many_facts_the_oldest_leave_early_and_the_youngest_never() {
        let (mut memory, _recalled) = memory(2);
        let now = 100 * HOUR;
        memory.learn([
            event("a", now - 20 * HOUR),
            event("b", now - 10 * HOUR),
            event("c", now - HOUR),
            event("d", now),
        ]);
        memory.evict(Instant(now)).unwrap();
        assert_eq!(times(&memory.facts()), [99, 100]);
        let (mut memory, _recalled) = self::memory(0);
        memory.learn([event("a", now - HOUR), event("b", now)]);
        memory.evict(Instant(now)).unwrap();
        assert_eq!(times(&memory.facts()), [100]);
    }
}
