//! The agents and their cards, as the API shows them.
//!
//! In: what became of facts. Out: agents. Looks only at what changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::cards::Cards;
use crate::api::Agent;
use crate::instant::Instant;
use crate::rules::AsOf;
use crate::tables::FactsDelta;

/// What is shown of agents.
#[derive(Default)]
pub(super) struct Board {
    cards: Cards,
    agents: BTreeMap<String, Agent>,
}

impl Board {
    /// Takes note of a change.
    pub(super) fn add(&mut self, delta: &FactsDelta) {
        for common in delta.added.commons().filter(|common| !common.agent.is_empty()) {
            let agent = self.agents.entry(common.agent.clone()).or_default();
            agent.last_seen = agent.last_seen.max(Some(common.observed_at));
        }
        for (agent, cards) in self.cards.add(delta).into_iter().filter(|(agent, _)| !agent.is_empty()) {
            match self.agents.get_mut(&agent) {
                Some(known) => known.cards = Arc::new(cards),
                // Of one that is gone, its last card went.
                None if cards.is_empty() => {}
                None => self.agents.entry(agent).or_default().cards = Arc::new(cards),
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
        AsOf::LastFactPerAgent { agents, received: HashMap::new(), overall: now }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{Common, ExchangeColumns, ExchangeRow, Facts};

    #[test]
    fn an_agent_whose_clock_is_ahead_is_judged_by_it_and_all_others_as_of_now() {
        let mut added = Facts::default();
        for (agent, at) in [("behind", 50), ("ahead", 120), ("ahead", 110), ("", 130)] {
            let common = Common { agent: agent.to_owned(), observed_at: Instant(at), ..Common::default() };
            added.exchanges.push(ExchangeRow { common, own: ExchangeColumns::default() });
        }
        let mut board = Board::default();
        board.add(&FactsDelta { added, ..FactsDelta::default() });
        let AsOf::LastFactPerAgent { agents, overall, .. } = board.as_of(Instant(100)) else { panic!() };
        assert_eq!((agents, overall), (HashMap::from([("ahead".to_owned(), Instant(120))]), Instant(100)));
        let AsOf::LastFactPerAgent { agents, .. } = board.as_of(Instant(121)) else { panic!() };
        assert!(agents.is_empty());
    }
}
