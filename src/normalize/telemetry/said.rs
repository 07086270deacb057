//! What records told by themselves of the traces that spans and sentences may be about.
//!
//! In: facts that one record said alone. Out: the task and caller's span of a trace, the deliveries that were taped in it.

use std::collections::{BTreeSet, HashMap};

use crate::instant::Instant;
use crate::tables::{ExchangeRow, Facts};

use super::row::call_id;

/// What is said of traces.
#[derive(Debug, Default)]
pub(crate) struct Said {
    traces: HashMap<String, OfTrace>,
}

#[derive(Debug, Default)]
struct OfTrace {
    task: Only,
    caller: Only,
    taped: BTreeSet<TapedDelivery>,
}

/// The one value that is told, if there are not several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Only {
    /// None is told.
    #[default]
    None,
    /// This one.
    One(String),
    /// More than one.
    Several,
}

impl Only {
    /// Takes a value.
    pub(super) fn add(&mut self, value: &str) {
        match self {
            Self::None => *self = Self::One(value.to_owned()),
            Self::One(known) if known != value => *self = Self::Several,
            Self::One(_) | Self::Several => {}
        }
    }

    /// The value, if there is just one.
    pub(super) fn one(&self) -> Option<&str> {
        match self {
            Self::One(value) => Some(value),
            Self::None | Self::Several => None,
        }
    }
}

/// A delivery that was taped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TapedDelivery {
    pub(super) task_id: String,
    pub(super) at: Instant,
    pub(super) call_id: String,
    pub(super) url: String,
    pub(super) status: Option<i64>,
}

impl Said {
    /// Takes facts; tells the traces that they are of.
    pub(crate) fn add(&mut self, facts: &Facts) {
        for row in &facts.exchanges {
            if !is_telling(row) {
                continue;
            }
            let said = self.traces.entry(row.common.trace_id.clone()).or_default();
            add_call(row, &mut said.task, &mut said.caller);
        }
        let deliveries = facts.push_deliveries.iter();
        for row in deliveries.filter(|row| !row.common.trace_id.is_empty() && !row.common.span_id.is_empty()) {
            let taped = TapedDelivery {
                task_id: row.own.task_id.clone(),
                at: row.common.observed_at,
                call_id: call_id(&row.common.span_id),
                url: row.own.url.clone(),
                status: row.own.http_status,
            };
            let said = self.traces.entry(row.common.trace_id.clone()).or_default();
            // The same delivery read twice is one.
            said.taped.insert(taped);
        }
    }

    /// Traces of facts that tell of their trace.
    pub(crate) fn traces_of(facts: &Facts) -> impl Iterator<Item = &str> {
        let calls = facts.exchanges.iter().filter(|row| is_telling(row)).map(|row| &row.common);
        let deliveries = facts.push_deliveries.iter().map(|row| &row.common);
        calls.chain(deliveries).map(|common| common.trace_id.as_str()).filter(|trace| !trace.is_empty())
    }

    /// Forgets a trace.
    pub(crate) fn forget(&mut self, trace_id: &str) {
        self.traces.remove(trace_id);
    }

    /// Deliveries that were taped, with their trace.
    pub(super) fn taped(&self) -> impl Iterator<Item = (&str, &TapedDelivery)> {
        self.traces.iter().flat_map(|(trace, said)| said.taped.iter().map(move |taped| (trace.as_str(), taped)))
    }
}

/// What calls say of their traces: those that were said, and those that spans tell.
pub(super) struct Calls<'a> {
    said: &'a Said,
    joined: HashMap<String, (Only, Only)>,
}

impl<'a> Calls<'a> {
    /// Of both.
    pub(super) fn of(said: &'a Said, facts: &Facts) -> Self {
        let mut joined: HashMap<String, (Only, Only)> = HashMap::new();
        for row in facts.exchanges.iter().filter(|row| is_telling(row)) {
            let (task, caller) = joined.entry(row.common.trace_id.clone()).or_default();
            add_call(row, task, caller);
        }
        Self { said, joined }
    }

    /// The task of a trace, where the calls in it are about one.
    pub(super) fn task(&self, trace_id: &str) -> Option<&str> {
        self.only(trace_id, |said| &said.task, |(task, _)| task)
    }

    /// The caller's span of a trace, where it has one call.
    pub(super) fn caller(&self, trace_id: &str) -> Option<&str> {
        self.only(trace_id, |said| &said.caller, |(_, caller)| caller)
    }

    fn only(
        &self,
        trace_id: &str,
        said: impl Fn(&OfTrace) -> &Only,
        joined: impl Fn(&(Only, Only)) -> &Only,
    ) -> Option<&str> {
        let (said, joined) = (self.said.traces.get(trace_id).map(said), self.joined.get(trace_id).map(joined));
        match (said.unwrap_or(&Only::None), joined.unwrap_or(&Only::None)) {
            (Only::None, other) | (other, Only::None) => other.one(),
            (one, other) if one == other => one.one(),
            _ => None,
        }
    }
}

fn is_telling(row: &ExchangeRow) -> bool {
    let tells = !row.own.task_id.is_empty() || !row.common.span_id.is_empty();
    tells && !row.common.trace_id.is_empty()
}

fn add_call(row: &ExchangeRow, task: &mut Only, caller: &mut Only) {
    if !row.own.task_id.is_empty() {
        task.add(&row.own.task_id);
    }
    if !row.common.span_id.is_empty() {
        caller.add(&row.common.span_id);
    }
}
