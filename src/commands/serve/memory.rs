//! The facts in memory: who is who among them, which of them leave by age, and which are asked for again.
//!
//! In: [`News`]. Out: what they change. Judges nothing.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant as Stopwatch};

use tokio::sync::{mpsc, oneshot};

use super::news::{News, Recall};
use crate::config::Retention;
use crate::instant::Instant;
use crate::normalize::identity::{IdentitySettings, Known};
use crate::tables::{Common, Facts, FactsDelta};

/// Facts that are judged together, if there are as many.
const MOST_TOGETHER: usize = 100_000;
/// How often it is looked what leaves by age.
const EVICT_EVERY: Duration = Duration::from_secs(60);
/// Where there are too many facts, no task younger than this leaves.
const LEAST_AGE: Duration = Duration::from_secs(60);

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
    pub(super) fn facts(&self) -> Facts {
        self.known.facts()
    }

    /// Tasks whose facts are on the disk only.
    pub(super) fn are_elsewhere(&mut self, tasks: &HashSet<String>) {
        self.known.remember_evicted(tasks.iter().map(String::as_str));
    }

    /// What the news change in who is who.
    pub(super) fn learn(&mut self, news: impl IntoIterator<Item = News>) -> Learnt {
        let mut learnt = Learnt::default();
        let mut together = Facts::default();
        for News { came, went, is_sent, .. } in news {
            learnt.came += came.len();
            if is_sent {
                learnt.again += came.commons().filter(|common| self.is_known(common)).count();
            }
            together.append(came);
            if !went.is_empty() {
                self.add(std::mem::take(&mut together), &mut learnt.delta);
                learnt.delta.then(self.known.remove(went.iter().map(String::as_str)));
            }
        }
        self.add(together, &mut learnt.delta);
        learnt
    }

    fn add(&mut self, facts: Facts, delta: &mut FactsDelta) {
        if !facts.is_empty() {
            let added = self.known.add(facts);
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
        self.learn([News { came: facts, ..News::default() }]).delta
    }

    /// What leaves now, if it is time to look.
    pub(super) fn evict(&mut self, now: Instant) -> Option<FactsDelta> {
        let is_full = self.known.len() > self.retention.memory_facts;
        let every = EVICT_EVERY.min(self.retention.memory / 4);
        let is_due = self.evicted.is_none_or(|last| last.elapsed() >= every);
        if !is_due && !is_full {
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

    /// Puts what was stored before the start ahead of everything.
    pub(super) fn news_of_before(&mut self, stored: Option<News>) {
        self.facts += stored.as_ref().map_or(0, |news| news.came.len());
        self.news.extend(stored);
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
