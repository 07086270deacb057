//! Tasks: the states that each was seen in, whether it is open, how long it took.
//!
//! In: events of tasks, and the calls that began them. Out: series of states and durations, and the open tasks of each agent.
//! A task is open until a terminal state was seen of it: terminal is final by the specification, and another observer's clock
//! must not open a task again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::agents::AgentId;
use super::counters::{Counted, Counters, SeriesKey, Sighting};
use super::durations::{Duration, Durations};
use super::ids::{Id, Word};
use super::once::half;
use crate::instant::Instant;
use crate::tables::Remembered;

/// States in which a task has ended (A2A 1.0, 4.1.3).
const TERMINAL: [&str; 4] = ["completed", "failed", "canceled", "rejected"];

/// What a fact says of a task.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) fact: Id,
    /// A state; none of a call that submits the task.
    pub(super) state: Option<Word>,
    pub(super) at: Instant,
    /// When the agent says that the state began.
    pub(super) status_at: Option<Instant>,
    pub(super) seen: Option<Sighting>,
}

#[derive(Debug, Clone)]
pub(super) struct Tasks {
    tasks: HashMap<Id, Task>,
    /// The task of each fact.
    facts: HashMap<Id, Id>,
    /// Tasks that left by age and stay counted.
    settled: Remembered,
    open: BTreeMap<AgentId, u64>,
    touched: BTreeSet<Id>,
    lost: BTreeSet<Id>,
}

#[derive(Debug, Clone)]
struct Task {
    agent: AgentId,
    said: Vec<Said>,
    counted: Standing,
    is_settled: bool,
}

/// What a task counts for.
#[derive(Debug, Clone, Default, PartialEq)]
struct Standing {
    /// Each state, and the first time that it was seen.
    states: BTreeMap<Word, Option<Sighting>>,
    duration: Option<(Duration, Option<Sighting>)>,
    is_open: bool,
}

impl Tasks {
    pub(super) fn new(most_settled: usize) -> Self {
        Self {
            tasks: HashMap::new(),
            facts: HashMap::new(),
            settled: Remembered::new(most_settled),
            open: BTreeMap::new(),
            touched: BTreeSet::new(),
            lost: BTreeSet::new(),
        }
    }

    /// A fact says something of a task of an agent.
    pub(super) fn hear(&mut self, id: Id, agent: AgentId, said: Said) {
        if let Some(before) = self.facts.insert(said.fact, id) {
            self.leave(before, said.fact);
        }
        let is_settled = self.settled.contains(half(id));
        let new = || Task { agent, said: Vec::new(), counted: Standing::default(), is_settled };
        let task = self.tasks.entry(id).or_insert_with(new);
        if task.agent != agent {
            // Its agent was not seen for so long that its series ended; they begin anew.
            (task.agent, task.counted) = (agent, Standing::default());
        }
        task.said.push(said);
        self.touched.insert(id);
    }

    /// A fact is known no more.
    pub(super) fn remove(&mut self, fact: Id) {
        if let Some(task) = self.facts.remove(&fact) {
            self.leave(task, fact);
            self.lost.insert(task);
        }
    }

    fn leave(&mut self, task: Id, fact: Id) {
        if let Some(task) = self.tasks.get_mut(&task) {
            task.said.retain(|said| said.fact != fact);
        }
        self.touched.insert(task);
    }

    /// Open tasks of agents that have some.
    pub(super) fn open(&self) -> &BTreeMap<AgentId, u64> {
        &self.open
    }

    /// Counts what changed since the last time.
    pub(super) fn settle(&mut self, counters: &mut Counters, durations: &mut Durations) {
        let lost = std::mem::take(&mut self.lost);
        for id in std::mem::take(&mut self.touched) {
            let Some(task) = self.tasks.get_mut(&id) else { continue };
            let now = standing(task.agent, &task.said);
            let before = std::mem::replace(&mut task.counted, now.clone());
            let (agent, is_settled) = (task.agent, task.is_settled);
            if before.is_open != now.is_open {
                let open = self.open.entry(agent).or_default();
                *open = if now.is_open { *open + 1 } else { open.saturating_sub(1) };
                if *open == 0 {
                    self.open.remove(&agent);
                }
            }
            let leaves = task.said.is_empty();
            if leaves {
                self.tasks.remove(&id);
            }
            if leaves && lost.contains(&id) {
                self.settled.remember(half(id));
            } else if !is_settled {
                recount(agent, &before, &now, counters, durations);
            }
        }
    }
}

fn standing(agent: AgentId, said: &[Said]) -> Standing {
    let mut standing = Standing::default();
    let mut order: Vec<&Said> = said.iter().collect();
    order.sort_by_key(|said| (said.at, said.fact));
    for (said, state) in order.iter().filter_map(|said| Some((said, said.state.as_ref()?))) {
        standing.states.entry(state.clone()).or_insert_with(|| said.seen.clone());
    }
    let end = order.iter().find(|said| said.state.as_deref().is_some_and(|state| TERMINAL.contains(&state)));
    standing.is_open = !standing.states.is_empty() && end.is_none();
    let begins = |said: &&&Said| said.state.as_deref().is_none_or(|state| state == "submitted");
    let start = order.iter().find(begins);
    if let (Some(start), Some(end), Some(state)) = (start, end, end.and_then(|end| end.state.clone())) {
        // What polls a task sees its end late; the agent says when it was, unless its clock is behind.
        let ended = end.status_at.filter(|at| *at >= start.at).map_or(end.at, |at| at.min(end.at));
        let nanos = ended.0.saturating_sub(start.at.0).max(0);
        standing.duration = Some((Duration { agent, state, nanos }, end.seen.clone()));
    }
    standing
}

fn recount(agent: AgentId, before: &Standing, now: &Standing, counters: &mut Counters, durations: &mut Durations) {
    let key = |state: &Word| SeriesKey { family: Counted::TaskStates, agent, words: [state.clone(), "".into()] };
    for (state, seen) in before.states.iter().filter(|(state, seen)| now.states.get(*state) != Some(*seen)) {
        counters.uncount(&key(state), seen.as_ref());
    }
    for (state, seen) in now.states.iter().filter(|(state, seen)| before.states.get(*state) != Some(*seen)) {
        counters.count(&key(state), seen.as_ref());
    }
    if before.duration != now.duration {
        if let Some((duration, seen)) = &before.duration {
            durations.uncount(duration, seen.as_ref());
        }
        if let Some((duration, seen)) = &now.duration {
            durations.count(duration, seen.as_ref());
        }
    }
}
