//! Which of the findings that fire still stand: what happened is over some time after its last evidence, a condition when
//! facts say so.
//!
//! Facts leave memory later than what happened is over, unless the settings say otherwise: that a part of a finding's evidence is
//! gone, and its severity another, or that the last look of a party at a card never goes, is then seen by nobody.
//!
//! In: findings, when their evidence arrived, when their agents were seen. Out: whether each stands. Looks at facts and at no
//! state of its own, so that a restart brings nothing back that was over.

use std::collections::BTreeSet;
use std::time::Duration;

use super::memory::earlier;
use crate::config::Retention;
use crate::findings::Finding;
use crate::instant::Instant;
use crate::rules::Corpus;

/// What ends findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// So long after its last evidence something that happened is over.
    after: Duration,
    /// Rules whose findings are conditions.
    lasting: BTreeSet<String>,
}

/// What is known beside the finding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    /// The instant of the look.
    pub(super) now: Instant,
    /// When the newest of its evidence arrived, where that is known: what is told late is news all the same.
    pub(super) arrived: Option<Instant>,
    /// When its agent was seen last.
    pub(super) agent_seen: Option<Instant>,
    /// An agent that was not seen since is gone, and its conditions with it.
    pub(super) oldest: Instant,
}

impl Standing {
    /// What ends the findings of these rules. Without a time of their own they end with their evidence, or when that would be
    /// too old to be kept: of looks at cards some stay for good.
    pub(super) fn new(active: Option<Duration>, retention: &Retention, corpus: &Corpus) -> Self {
        let after = active.unwrap_or(retention.cards.max(retention.memory));
        let lasting = corpus.rules.iter().filter(|rule| rule.header.lasts).map(|rule| rule.id.clone());
        Self { after, lasting: lasting.collect() }
    }

    /// Whether a finding stands.
    pub(super) fn holds(&self, finding: &Finding, around: Around) -> bool {
        let last = finding.last_seen.max(finding.due_at).max(around.arrived.unwrap_or_default());
        if self.lasting.contains(&finding.rule) {
            return finding.over_at.is_none() && around.agent_seen.unwrap_or(last) > around.oldest;
        }
        last > earlier(around.now, self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;
    use crate::findings::samples;

    const MINUTE: i64 = 60_000_000_000;

    fn at(minute: i64) -> Instant {
        Instant(minute * MINUTE)
    }

    fn finding(rule: &str) -> Finding {
        let finding = samples::finding(rule, "a", "t", Severity::Warning, at(100));
        Finding { last_seen: at(120), due_at: at(130), ..finding }
    }

    fn around(now: i64) -> Around {
        Around { now: at(now), arrived: None, agent_seen: Some(at(120)), oldest: at(now - 24 * 60) }
    }

    fn standing(minutes: u64) -> Standing {
        Standing { after: Duration::from_secs(60 * minutes), lasting: BTreeSet::from(["orphaned".to_owned()]) }
    }

    #[test]
    fn what_happened_is_over_so_long_after_it_was_seen_came_due_or_arrived() {
        let (standing, found) = (standing(60), finding("split_brain"));
        assert!(standing.holds(&found, around(189)));
        assert!(!standing.holds(&found, around(190)));
        let late = |now| Around { arrived: Some(at(500)), ..around(now) };
        assert!(standing.holds(&found, late(559)));
        assert!(!standing.holds(&found, late(560)));
    }

    #[test]
    fn without_a_time_of_its_own_nothing_outlives_what_is_kept_of_cards() {
        let retention = Retention { cards: Duration::from_secs(30 * 86_400), ..Retention::default() };
        let standing = Standing::new(None, &retention, &Corpus::embedded().unwrap());
        let found = finding("skills_changed_same_version");
        assert!(standing.holds(&found, around(30 * 24 * 60)));
        assert!(!standing.holds(&found, around(30 * 24 * 60 + 130)));
    }

    #[test]
    fn a_condition_stands_until_facts_say_that_it_is_over_or_its_agent_is_gone() {
        let (standing, found) = (standing(60), finding("orphaned"));
        assert!(standing.holds(&found, around(24 * 60)));
        assert!(!standing.holds(&found, around(24 * 60 + 120)));
        let over = Finding { over_at: Some(at(125)), ..found };
        assert!(!standing.holds(&over, around(131)));
    }

    #[test]
    fn rules_say_themselves_what_lasts() {
        let standing = Standing::new(None, &Retention::default(), &Corpus::embedded().unwrap());
        let lasting: Vec<&str> = standing.lasting.iter().map(String::as_str).collect();
        assert_eq!(lasting, ["endpoint_suspect", "orphaned", "spans_generations"]);
    }
}
