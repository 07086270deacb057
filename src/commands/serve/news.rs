//! What the intake tells the judge, and what the judge asks it for.
//!
//! In: changes of the set of facts. Out: the same, one after the other; while the judge is busy they wait with the intake, up
//! to a number of facts, and then the intake waits.

use std::collections::{BTreeSet, HashSet, VecDeque};

use tokio::sync::{mpsc, oneshot};

use crate::instant::Instant;
use crate::tables::Facts;

/// Facts that may wait for the judge before the intake does.
const MOST_WAITING: usize = 200_000;

/// What changed of the facts, identities not resolved.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Facts that came.
    pub(super) came: Facts,
    /// `fact_id`s of facts that went.
    pub(super) went: BTreeSet<String>,
    /// When the oldest of what they were read of arrived.
    pub(super) since: Instant,
    /// They were sent just now: those of them that are known were sent twice.
    pub(super) is_sent: bool,
}

/// Tasks that the judge forgot and needs again.
#[derive(Debug)]
pub(super) struct Recall {
    /// Their ids.
    pub(super) tasks: HashSet<String>,
    /// Takes their facts.
    pub(super) answer: oneshot::Sender<Facts>,
}

/// The way to the judge.
pub(super) struct Telling {
    judge: mpsc::Sender<News>,
    waiting: VecDeque<News>,
    facts: usize,
}

impl Telling {
    /// A way on which nothing waits.
    pub(super) fn new(judge: mpsc::Sender<News>) -> Self {
        Self { judge, waiting: VecDeque::new(), facts: 0 }
    }

    /// Tells news. Waits while the judge is far behind: then requests wait, and at last senders are told to.
    pub(super) async fn tell(&mut self, news: News) {
        if news.came.is_empty() && news.went.is_empty() {
            return;
        }
        self.facts += news.came.len();
        self.waiting.push_back(news);
        self.pass_on();
        while self.facts > MOST_WAITING && !self.waiting.is_empty() {
            self.wait_for_one().await;
        }
    }

    /// When the oldest of what waits arrived.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.waiting.iter().map(|news| news.since).min()
    }

    /// Hands over what the judge has room for.
    pub(super) fn pass_on(&mut self) {
        while let Some(news) = self.waiting.pop_front() {
            let facts = news.came.len();
            match self.judge.try_send(news) {
                Ok(()) => self.facts = self.facts.saturating_sub(facts),
                Err(mpsc::error::TrySendError::Full(news)) => return self.waiting.push_front(news),
                // Without a judge the program is about to end.
                Err(mpsc::error::TrySendError::Closed(_)) => return self.clear(),
            }
        }
    }

    /// Hands over everything.
    pub(super) async fn finish(&mut self) {
        while !self.waiting.is_empty() {
            self.wait_for_one().await;
        }
    }

    async fn wait_for_one(&mut self) {
        let Ok(room) = self.judge.reserve().await else { return self.clear() };
        if let Some(news) = self.waiting.pop_front() {
            self.facts = self.facts.saturating_sub(news.came.len());
            room.send(news);
        }
    }

    fn clear(&mut self) {
        self.waiting.clear();
        self.facts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::ExchangeRow;

    fn news(facts: usize) -> News {
        let mut news = News::default();
        (0..facts).for_each(|_| news.came.push_exchange(ExchangeRow::default()));
        news
    }

    #[tokio::test]
    async fn a_busy_judge_hears_everything_in_its_order_and_the_intake_goes_on_meanwhile() {
        let (judge, mut heard) = mpsc::channel(1);
        let mut telling = Telling::new(judge);
        for facts in 1..5 {
            telling.tell(news(facts)).await;
        }
        let hearing = async {
            let mut sizes = Vec::new();
            while sizes.len() < 4 {
                sizes.push(heard.recv().await.unwrap().came.len());
            }
            sizes
        };
        let ((), sizes) = tokio::join!(telling.finish(), hearing);
        assert_eq!((sizes, telling.facts), (vec![1, 2, 3, 4], 0));
    }

    #[tokio::test]
    async fn without_a_judge_nothing_waits() {
        let (judge, heard) = mpsc::channel(1);
        drop(heard);
        let mut telling = Telling::new(judge);
        telling.tell(news(MOST_WAITING + 1)).await;
        assert!(telling.waiting.is_empty());
    }
}
