//! The measures of the fleet, kept from one change of the facts to the next.
//!
//! In: changes of the set of facts. Out: snapshots, and the agents whose series ended.

use super::agents::{AgentId, Agents};
use super::counters::{Counted, Counters, SeriesKey, Sighting};
use super::durations::Durations;
use super::ids::{Word, Words, id};
use super::looks::{Cards, short};
use super::once::{Once, Sight, call_of};
use super::shown::Shown;
use super::snapshot::{Family, Kind, Series, Snapshot, UNKNOWN, Value};
use super::tasks::{Said, Tasks};
use crate::instant::Instant;
use crate::tables::{CardRow, Common, ExchangeRow, FactsDelta, PushDeliveryRow, TaskEventRow};

/// Agents with series of their own, if nothing else is said.
pub const MOST_AGENTS: usize = 1000;
/// Calls and tasks that are remembered after they left, so that they are not counted again; 50 bytes each.
const MOST_SETTLED: usize = 1 << 19;
/// Operations that submit a task (A2A 1.0, 3.1).
const SUBMITS: [&str; 2] = ["SendMessage", "SendStreamingMessage"];

/// Counters and gauges of the fleet.
#[derive(Debug, Clone)]
pub struct Measures {
    words: Words,
    agents: Agents,
    counters: Counters,
    durations: Durations,
    exchanges: Once,
    deliveries: Once,
    tasks: Tasks,
    cards: Cards,
    shown: Shown,
}

impl Default for Measures {
    fn default() -> Self {
        Self::new(MOST_AGENTS)
    }
}

impl Measures {
    /// No facts; at most so many agents get series of their own.
    pub fn new(most_agents: usize) -> Self {
        Self {
            words: Words::default(),
            agents: Agents::new(most_agents),
            counters: Counters::default(),
            durations: Durations::default(),
            exchanges: Once::new(MOST_SETTLED),
            deliveries: Once::new(MOST_SETTLED),
            tasks: Tasks::new(MOST_SETTLED),
            cards: Cards::default(),
            shown: Shown::default(),
        }
    }

    /// Takes what became of the facts.
    ///
    /// A fact that went stays counted, unless others of its call or task are there, which then speak for it.
    pub fn apply(&mut self, delta: &FactsDelta) {
        delta.added.exchanges.iter().for_each(|row| self.exchange(row));
        delta.added.task_events.iter().for_each(|row| self.task_event(row));
        delta.added.push_deliveries.iter().for_each(|row| self.delivery(row));
        delta.added.cards.iter().for_each(|row| self.card(row));
        for common in delta.added.commons() {
            self.agent(common);
        }
        for fact in delta.removed.iter().map(|fact| id(&[fact])) {
            self.exchanges.remove(fact);
            self.deliveries.remove(fact);
            self.tasks.remove(fact);
            self.cards.remove(fact);
        }
        self.exchanges.settle(&mut self.counters);
        self.deliveries.settle(&mut self.counters);
        self.tasks.settle(&mut self.counters, &mut self.durations);
    }

    /// Ends the series of the agents of which no fact was seen or received since an instant and that have no open task; the
    /// names of those agents. Should one be seen again, its counters begin at zero.
    pub fn drop_unseen(&mut self, since: Instant) -> Vec<String> {
        let mut dropped = Vec::new();
        for agent in self.agents.unseen(since) {
            if self.tasks.open().contains_key(&agent) {
                continue;
            }
            if let Some((name, label)) = self.agents.forget(agent) {
                self.shown.forget(agent, label.as_ref(), &mut self.counters, &mut self.durations);
                dropped.push(if name.is_empty() { UNKNOWN.to_owned() } else { name.to_string() });
            }
        }
        self.words.sweep();
        dropped.sort();
        dropped
    }

    /// All families as of now. What is shown once is a least value of what is shown later, where it is a counter.
    pub fn snapshot(&mut self) -> Snapshot {
        let of_counters = self.counters.iter().map(|(key, _)| key.agent);
        let of_durations = self.durations.iter().map(|((agent, _), _)| *agent);
        let of_cards = self.agents.iter().filter(|(_, name)| self.cards.has(name)).map(|(id, _)| id);
        let shown: std::collections::BTreeSet<AgentId> =
            of_counters.chain(of_durations).chain(of_cards).chain(self.tasks.open().keys().copied()).collect();
        self.agents.label(|agent| shown.contains(&agent));
        let (counters, agents) = (&self.counters, &self.agents);
        let exchanges = self.shown.counts(Counted::Exchanges, 2, counters, agents);
        let states = self.shown.counts(Counted::TaskStates, 1, counters, agents);
        let deliveries = self.shown.counts(Counted::Deliveries, 1, counters, agents);
        let durations = self.shown.sizes(&self.durations, agents);
        let (cards, changes) = self.card_series();
        let series = [exchanges, states, self.open_series(), durations, deliveries, cards, changes];
        Snapshot { families: FAMILIES.iter().zip(series).map(|(family, series)| family.with(series)).collect() }
    }

    fn agent(&mut self, common: &Common) -> AgentId {
        let name = self.words.get(&common.agent);
        let last = common.received_at.map_or(common.observed_at, |at| at.max(common.observed_at));
        self.agents.see(&name, common.observed_at, last)
    }

    fn exchange(&mut self, row: &ExchangeRow) {
        let (common, own) = (&row.common, &row.own);
        let agent = self.agent(common);
        let words = [self.word(&own.operation), self.word(&own.outcome)];
        let known = [&common.agent, &own.operation, &own.outcome].iter().filter(|text| !text.is_empty()).count();
        let sight = Sight {
            fact: id(&[&common.fact_id]),
            rank: [known as u8, u8::from(own.outcome != "ok"), nearness(&common.observer)],
            series: SeriesKey { family: Counted::Exchanges, agent, words },
            seen: sighting(common),
        };
        self.exchanges.see(call_of(&common.call_id, &common.fact_id), sight);
        if SUBMITS.contains(&own.operation.as_str()) && own.request_task_id.is_empty() {
            self.hear(common, agent, &own.task_id, None, None);
        }
    }

    fn task_event(&mut self, row: &TaskEventRow) {
        let agent = self.agent(&row.common);
        if !row.own.state.is_empty() {
            let state = self.words.get(&row.own.state);
            self.hear(&row.common, agent, &row.own.task_id, Some(state), row.own.status_at);
        }
    }

    fn hear(&mut self, common: &Common, agent: AgentId, task: &str, state: Option<Word>, status_at: Option<Instant>) {
        if task.is_empty() {
            return;
        }
        let fact = id(&[&common.fact_id]);
        let said = Said { fact, state, at: common.observed_at, status_at, seen: sighting(common) };
        self.tasks.hear(id(&["task", &common.agent, task]), agent, said);
    }

    fn delivery(&mut self, row: &PushDeliveryRow) {
        let (common, own) = (&row.common, &row.own);
        let agent = self.agent(common);
        let outcome = match (own.failure_class.as_str(), own.http_status) {
            ("", None) => UNKNOWN,
            ("", Some(_)) => "ok",
            (class, _) => class,
        };
        let words = [self.words.get(outcome), self.words.get("")];
        let knows = u8::from(!common.agent.is_empty()) + u8::from(outcome != UNKNOWN);
        let sight = Sight {
            fact: id(&[&common.fact_id]),
            rank: [knows, u8::from(outcome != "ok"), nearness(&common.observer)],
            series: SeriesKey { family: Counted::Deliveries, agent, words },
            seen: sighting(common),
        };
        self.deliveries.see(call_of(&common.call_id, &common.fact_id), sight);
    }

    fn card(&mut self, row: &CardRow) {
        let (common, own) = (&row.common, &row.own);
        let fact = id(&[&common.fact_id]);
        if own.body_sha256.is_empty() || own.extended == Some(true) {
            return;
        }
        let (agent, version) = (self.words.get(&common.agent), self.words.get(&own.version));
        let fingerprint = self.words.get(short(&own.fingerprint));
        self.cards.look(fact, agent, common.observed_at, version, fingerprint);
    }

    /// A label value that is never empty.
    fn word(&mut self, text: &str) -> Word {
        self.words.get(if text.is_empty() { UNKNOWN } else { text })
    }

    fn open_series(&self) -> Vec<Series> {
        let mut levels = std::collections::BTreeMap::new();
        for (agent, _) in self.agents.iter() {
            if let Some(label) = self.agents.label_of(agent) {
                // A gauge that a series was once written for says so when it is zero.
                let open = self.tasks.open().get(&agent).copied().unwrap_or_default();
                *levels.entry(label.to_string()).or_insert(0) += open;
            }
        }
        levels.into_iter().map(|(agent, open)| level(vec![agent], open as f64)).collect()
    }

    /// Cards and when they changed, of the agents that have series of their own.
    fn card_series(&self) -> (Vec<Series>, Vec<Series>) {
        let (mut infos, mut changes) = (Vec::new(), Vec::new());
        for (agent, name) in self.agents.iter().filter(|(_, name)| !name.is_empty()) {
            let Some(label) = self.agents.label_of(agent).filter(|label| *label == name) else { continue };
            if let Some(newest) = self.cards.newest(name) {
                let labels = [label, &newest.version, &newest.fingerprint].map(ToString::to_string);
                infos.push(level(labels.to_vec(), 1.0));
                changes.push(level(vec![label.to_string()], newest.since.0 as f64 / 1e9));
            }
        }
        infos.sort_by(|a, b| a.labels.cmp(&b.labels));
        changes.sort_by(|a, b| a.labels.cmp(&b.labels));
        (infos, changes)
    }
}

fn level(labels: Vec<String>, level: f64) -> Series {
    Series { labels, value: Value::Level(level) }
}

fn sighting(common: &Common) -> Option<Sighting> {
    let trace_id = common.trace_id.clone();
    (!trace_id.is_empty()).then_some(Sighting { at: common.observed_at, trace_id })
}

/// How near an observer is to the caller.
fn nearness(observer: &str) -> u8 {
    match observer {
        "client" => 3,
        "gateway" => 2,
        "server" => 1,
        _ => 0,
    }
}

/// A family without its series.
struct Template {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
}

impl Template {
    fn with(&self, series: Vec<Series>) -> Family {
        Family { name: self.name, help: self.help, kind: self.kind, labels: self.labels, series }
    }
}

/// In the order in which [`Measures::snapshot`] makes their series.
const FAMILIES: [Template; 7] = [
    Template {
        name: "a2a_exchanges_total",
        help: "Calls to agents, each once however many observers saw it.",
        kind: Kind::Counter,
        labels: &["agent", "operation", "outcome"],
    },
    Template {
        name: "a2a_task_states_total",
        help: "Tasks seen in each state, each once a state.",
        kind: Kind::Counter,
        labels: &["agent", "state"],
    },
    Template {
        name: "a2a_tasks_open",
        help: "Tasks of which no terminal state was seen yet.",
        kind: Kind::Gauge,
        labels: &["agent"],
    },
    Template {
        name: "a2a_task_duration_seconds",
        help: "Time from the submission of a task to its first terminal state.",
        kind: Kind::Histogram,
        labels: &["agent", "state"],
    },
    Template {
        name: "a2a_push_deliveries_total",
        help: "Webhook calls of agents, each once however many observers saw it.",
        kind: Kind::Counter,
        labels: &["agent", "outcome"],
    },
    Template {
        name: "a2a_card_info",
        help: "The newest card of an agent; always 1.",
        kind: Kind::Gauge,
        labels: &["agent", "version", "fingerprint"],
    },
    Template {
        name: "a2a_card_changed_timestamp_seconds",
        help: "First look at an agent's card since it has its present version and fingerprint.",
        kind: Kind::Gauge,
        labels: &["agent"],
    },
];
