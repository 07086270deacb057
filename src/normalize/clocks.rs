//! The time of records that have none that can be used.
//!
//! In: what records say of their time, and when they arrived. Out: the time to take: their own, else the last of the same
//! source, else their arrival, else, of files, the epoch. Reads no clock.
//!
//! A time that is later than the arrival by more than [`Arrival::most_ahead`] is none that can be judged by: its facts would be
//! due some day, and would leave neither memory nor the disk until then. Such a record is refused and its sender told, instead
//! of dated anew: a sender comes again with the same bytes, and they must give the same facts; and no clock of an agent can be
//! set to another century by one record. What is ahead by less is kept as it is, and judged by the clock of its agent.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::document::time_inside;
use crate::decode::record::Record;
use crate::instant::Instant;
use crate::tables::{Facts, TIMELESS};

/// When records arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// By the clock of this machine.
    pub at: Instant,
    /// How far the clocks of senders may be ahead of it.
    pub most_ahead: Duration,
}

impl Arrival {
    /// By how much a record that arrives now is dated later.
    pub(super) fn ahead_by(&self, record: &Record) -> Duration {
        let by = latest(record).map_or(0, |at| at.0.saturating_sub(self.at.0));
        Duration::from_nanos(u64::try_from(by).unwrap_or(0))
    }
}

/// The latest time that a record names.
fn latest(record: &Record) -> Option<Instant> {
    match record {
        Record::Exchange(exchange) => {
            let pieces = exchange.chunks.iter().filter_map(|chunk| chunk.at).max();
            exchange.started_at.max(exchange.ended_at).max(pieces)
        }
        Record::Span(span) => {
            span.started_at.max(span.ended_at).max(span.events.iter().filter_map(|event| event.at).max())
        }
        Record::Log(log) => log.at,
        Record::Document(document) => document.at.or_else(|| time_inside(&document.value)),
    }
}

/// Of files that are read whole: facts of records that stand before the first time of their source have that time. At the epoch
/// they would be the oldest of all. What a card lists has no time.
pub fn date_what_came_first(facts: &mut Facts) {
    let mut first: HashMap<String, Instant> = HashMap::new();
    for common in facts.commons().filter(|common| common.observed_at != Instant::default()) {
        let first = first.entry(common.source.clone()).or_insert(common.observed_at);
        *first = common.observed_at.min(*first);
    }
    facts.date(|table, common| {
        let is_undated = common.observed_at == Instant::default() && !TIMELESS.contains(&table);
        if is_undated { first.get(&common.source).copied() } else { None }
    });
}

/// The last time of each source.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    last: HashMap<Arc<str>, Instant>,
    /// When what is read now arrived; files were always there.
    pub(super) arrival: Option<Arrival>,
}

impl Clocks {
    /// The time given, else the last one of the source, else that of the arrival, else the epoch.
    pub(super) fn time(&mut self, source: &Arc<str>, given: Option<Instant>) -> Instant {
        // The epoch is the time of what has none: no sender's clock shows it.
        match given.filter(|at| self.arrival.is_none() || *at != Instant::default()) {
            Some(at) => {
                self.last.insert(source.clone(), at);
                at
            }
            None => self.fall_back(source),
        }
    }

    /// The time of a record that has none.
    pub(super) fn fall_back(&self, source: &str) -> Instant {
        let arrived = || self.arrival.map(|arrival| arrival.at);
        self.last.get(source).copied().or_else(arrived).unwrap_or_default()
    }

    /// Sources and their last times.
    pub(super) fn all(&self) -> &HashMap<Arc<str>, Instant> {
        &self.last
    }

    /// Puts other last times in the place of these.
    pub(super) fn replace(&mut self, last: HashMap<Arc<str>, Instant>) -> HashMap<Arc<str>, Instant> {
        std::mem::replace(&mut self.last, last)
    }

    /// The last time of a source, known from before.
    pub(super) fn set(&mut self, source: Arc<str>, at: Instant) {
        self.last.insert(source, at);
    }
}
