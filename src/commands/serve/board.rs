//! The agents and their cards, as the API shows them.
//!
//! In: what became of facts. Out: agents. Looks through cards only when a fact about one came or went.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::api::Agent;
use crate::instant::Instant;
use crate::measures::cards::shown;
use crate::rules::AsOf;
use crate::tables::{Facts, FactsDelta};

/// What is shown of agents.
#[derive(Default)]
pub(super) struct Board {
    /// Facts about cards only.
    cards: Facts,
    agents: BTreeMap<String, Agent>,
}

impl Board {
    /// Takes note of a change.
    pub(super) fn add(&mut self, delta: &FactsDelta) {
        for common in delta.added.commons().filter(|common| !common.agent.is_empty()) {
            let agent = self.agents.entry(common.agent.clone()).or_default();
            agent.last_seen = agent.last_seen.max(Some(common.observed_at));
        }
        let added = &delta.added;
        let came = Facts {
            cards: added.cards.clone(),
            card_skills: added.card_skills.clone(),
            card_endpoints: added.card_endpoints.clone(),
            ..Facts::default()
        };
        let renewed: HashSet<&str> = came.commons().map(|common| common.fact_id.as_str()).collect();
        let goes = |id: &String| renewed.contains(id.as_str()) || delta.removed.contains(id);
        let before = self.cards.len();
        self.cards.retain(|common| !goes(&common.fact_id));
        if before != self.cards.len() || !came.is_empty() {
            self.cards.append(came);
            self.agents.values_mut().for_each(|agent| agent.cards.clear());
            for (agent, cards) in shown(&self.cards) {
                self.agents.entry(agent).or_default().cards = cards;
            }
        }
    }

    /// When something was seen of an agent last.
    pub(super) fn last_seen(&self, agent: &str) -> Option<Instant> {
        self.agents.get(agent).and_then(|agent| agent.last_seen)
    }

    /// The instant at which agents are judged: now, and those whose clock is ahead by it. What they did is due by that clock,
    /// and would be told of late by this one.
    pub(super) fn as_of(&self, now: Instant) -> AsOf {
        let last = self.agents.iter().filter_map(|(name, agent)| Some((name, agent.last_seen.filter(|at| *at > now)?)));
        let agents: HashMap<String, Instant> = last.map(|(name, at)| (name.clone(), at)).collect();
        AsOf::LastFactPerAgent { agents, overall: now }
    }

    /// Agents that nothing was seen of for long are not shown any more, unless their card is known.
    pub(super) fn forget(&mut self, gone: &[String]) {
        for name in gone {
            if self.agents.get(name).is_some_and(|agent| agent.cards.is_empty()) {
                self.agents.remove(name);
            }
        }
    }

    /// The agents; `open` tells how many tasks of each are open.
    pub(super) fn agents(&self, open: &BTreeMap<String, u64>) -> BTreeMap<String, Agent> {
        let mut agents = self.agents.clone();
        for (name, agent) in &mut agents {
            agent.open_tasks = open.get(name).copied().unwrap_or_default();
        }
        agents
    }
}
