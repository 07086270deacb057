//! Which findings fire at an instant.
//!
//! In: findings of all instants. Out: those with `due_at <= as_of < until_at`. Reads no clock.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, RecordBatch, StringViewArray, TimestampNanosecondArray};

use crate::findings::Finding;
use crate::instant::Instant;

/// The instant at which findings are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AsOf {
    /// The same for all.
    Fixed(Instant),
    /// For each agent the last fact about it, so that the silence of a tap is not the silence of tasks.
    LastFactPerAgent {
        /// Last fact by agent.
        agents: HashMap<String, Instant>,
        /// The same with what webhooks received by clocks that are not the others'; agents that it makes later.
        received: HashMap<String, Instant>,
        /// Last fact of all, for findings about no agent of the map.
        overall: Instant,
    },
}

impl AsOf {
    /// For each agent its last fact of any table and observer, a call's end included. What webhooks received counts unless the
    /// times that it carries show that their clock is another.
    pub fn last_fact(batches: &[(&'static str, RecordBatch)]) -> Self {
        let mut last: HashMap<String, Instant> = HashMap::new();
        let mut received: HashMap<(String, String), Received> = HashMap::new();
        for (_, batch) in batches {
            let Some(rows) = Rows::of(batch) else { continue };
            for row in 0..batch.num_rows() {
                let Some((agent, at)) = rows.last(row) else { continue };
                if rows.is_received(row) {
                    let source = rows.source(row).to_owned();
                    received.entry((agent.to_owned(), source)).or_default().see(at, rows.fits(row));
                } else {
                    later(&mut last, agent, at);
                }
            }
        }
        let by_others: HashSet<String> = last.keys().cloned().collect();
        let mut by_strange_clocks = HashMap::new();
        for ((agent, _), received) in received {
            let is_trusted = received.may_be_right() || !by_others.contains(&agent);
            later(if is_trusted { &mut last } else { &mut by_strange_clocks }, &agent, received.last);
        }
        let overall = last.values().max().copied().unwrap_or_default();
        Self::LastFactPerAgent { agents: last, received: by_strange_clocks, overall }
    }

    fn of(&self, agent: &str) -> Instant {
        match self {
            Self::Fixed(instant) => *instant,
            Self::LastFactPerAgent { agents, overall, .. } => {
                let known = if agent.is_empty() { None } else { agents.get(agent) };
                *known.unwrap_or(overall)
            }
        }
    }

    /// Whether a finding is due. What waits for nothing is when it was seen, by whatever clock.
    fn is_due(&self, finding: &Finding) -> bool {
        let waits = finding.due_at > finding.observed_at;
        match self {
            Self::LastFactPerAgent { received, .. } if !waits => {
                let of_all = received.values().max();
                let latest = if finding.agent.is_empty() { of_all } else { received.get(&finding.agent) };
                finding.due_at <= self.of(&finding.agent).max(latest.copied().unwrap_or_default())
            }
            _ => finding.due_at <= self.of(&finding.agent),
        }
    }
}

/// The observer of what a webhook received.
const RECEIVER: &str = "receiver";

/// What a webhook receives within so long of the time that it carries was dated by a clock that may be right.
const FITS_NANOS: i64 = 600 * 1_000_000_000;

/// What one source of a webhook received of an agent.
#[derive(Default)]
struct Received {
    last: Instant,
    /// Whether anything lies near the time that it carries; none where nothing carries one.
    fits: Option<bool>,
}

impl Received {
    fn see(&mut self, at: Instant, fits: Option<bool>) {
        self.last = self.last.max(at);
        self.fits = self.fits.max(fits);
    }

    fn may_be_right(&self) -> bool {
        self.fits.unwrap_or(true)
    }
}

/// The columns of a table of facts that say who saw what when.
struct Rows<'a> {
    agents: &'a StringViewArray,
    observers: Option<&'a StringViewArray>,
    sources: Option<&'a StringViewArray>,
    seen: &'a TimestampNanosecondArray,
    ended: Option<&'a TimestampNanosecondArray>,
    told: Option<&'a TimestampNanosecondArray>,
}

impl<'a> Rows<'a> {
    fn of(batch: &'a RecordBatch) -> Option<Self> {
        let text = |name| batch.column_by_name(name)?.as_any().downcast_ref::<StringViewArray>();
        let time = |name| batch.column_by_name(name)?.as_any().downcast_ref::<TimestampNanosecondArray>();
        Some(Self {
            agents: text("agent")?,
            observers: text("observer"),
            sources: text("source"),
            seen: time("observed_at")?,
            ended: time("ended_at"),
            told: time("status_at"),
        })
    }

    /// The agent, and when the last of the fact was known: what an answer shows is known when it is complete.
    fn last(&self, row: usize) -> Option<(&'a str, Instant)> {
        let at = |times: &TimestampNanosecondArray| times.is_valid(row).then(|| times.value(row));
        let last = at(self.seen).max(self.ended.and_then(at))?;
        self.agents.is_valid(row).then(|| (self.agents.value(row), Instant(last)))
    }

    fn is_received(&self, row: usize) -> bool {
        self.observers.is_some_and(|observers| observers.is_valid(row) && observers.value(row) == RECEIVER)
    }

    fn source(&self, row: usize) -> &'a str {
        self.sources.filter(|sources| sources.is_valid(row)).map_or("", |sources| sources.value(row))
    }

    /// Whether it lies near the time that it carries.
    fn fits(&self, row: usize) -> Option<bool> {
        let told = self.told.filter(|told| told.is_valid(row) && self.seen.is_valid(row))?;
        Some(self.seen.value(row).saturating_sub(told.value(row)).saturating_abs() <= FITS_NANOS)
    }
}

fn later(last: &mut HashMap<String, Instant>, agent: &str, at: Instant) {
    match last.get_mut(agent) {
        Some(last) => *last = at.max(*last),
        None => {
            last.insert(agent.to_owned(), at);
        }
    }
}

/// Findings that fire.
pub fn select(findings: Vec<Finding>, as_of: &AsOf) -> Vec<Finding> {
    let fires = |finding: &Finding| {
        let now = as_of.of(&finding.agent);
        as_of.is_due(finding) && finding.until_at.is_none_or(|until| now < until)
    };
    findings.into_iter().filter(fires).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{Common, Facts, TaskEventColumns, TaskEventRow};

    const HOUR: i64 = 3600 * 1_000_000_000;

    fn event(observer: &str, source: &str, at: i64, told: Option<i64>, facts: &mut Facts) {
        let common = Common {
            agent: "a".to_owned(),
            observer: observer.to_owned(),
            source: source.to_owned(),
            observed_at: Instant(at),
            ..Common::default()
        };
        let own = TaskEventColumns { status_at: told.map(Instant), ..TaskEventColumns::default() };
        facts.push_task_event(TaskEventRow { common, own });
    }

    fn as_of(events: &[(&str, &str, i64, Option<i64>)]) -> i64 {
        let mut facts = Facts::default();
        events.iter().for_each(|(observer, source, at, told)| event(observer, source, *at, *told, &mut facts));
        AsOf::last_fact(&facts.batches().unwrap()).of("a").0
    }

    #[test]
    fn a_webhook_whose_clock_fits_nothing_that_it_receives_does_not_make_it_later() {
        let gateway = ("gateway", "gw", HOUR, None);
        let ahead = ("receiver", "hook", 3 * HOUR, Some(HOUR));
        assert_eq!(as_of(&[gateway, ahead]), HOUR);
        // One that fits shows that the clock is right, in its own source alone.
        assert_eq!(as_of(&[gateway, ahead, ("receiver", "hook", HOUR + 1, Some(HOUR))]), 3 * HOUR);
        assert_eq!(as_of(&[gateway, ahead, ("receiver", "other", HOUR + 1, Some(HOUR))]), HOUR + 1);
        // Where nothing carries a time, or nobody else saw anything, there is no better clock.
        assert_eq!(as_of(&[gateway, ("receiver", "hook", 3 * HOUR, None)]), 3 * HOUR);
        assert_eq!(as_of(&[ahead]), 3 * HOUR);
    }
}
