//! The agents and their cards, as the API shows them.
//!
//! In: what became of facts. Out: agents. Looks through cards only when a fact about one came or went.

use std::collections::{BTreeMap, HashSet};

use crate::api::{Agent, Card, Skill};
use crate::findings::Generation;
use crate::instant::Instant;
use crate::measures::cards::{Shown, shown};
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
        let before = self.cards.len();
        self.cards
            .retain(|common| !renewed.contains(common.fact_id.as_str()) && !delta.removed.contains(&common.fact_id));
        if before != self.cards.len() || !came.is_empty() {
            self.cards.append(came);
            self.look();
        }
    }

    fn look(&mut self) {
        self.agents.values_mut().for_each(|agent| agent.cards.clear());
        for (agent, shown) in shown(&self.cards) {
            let public: Vec<&Shown> = shown.iter().filter(|shown| !shown.extended).collect();
            let next = public.iter().skip(1).map(|next| Some(next.first_seen)).chain([None]);
            let cards = public.iter().zip(next).map(|(shown, until)| card(&agent, shown, until)).collect();
            self.agents.entry(agent).or_default().cards = cards;
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

fn card(agent: &str, shown: &Shown, valid_to: Option<Instant>) -> Card {
    let card = &shown.card;
    let skill = |skill: &crate::measures::cards::Skill| Skill {
        input_modes: skill.input_modes.clone(),
        output_modes: skill.output_modes.clone(),
        ..Skill::default()
    };
    Card {
        generation: Generation {
            agent: agent.to_owned(),
            version: card.version.clone(),
            contract_sha256: card.contract_sha256.clone(),
            valid_from: shown.first_seen,
            valid_to,
        },
        fingerprint: card.fingerprint.clone(),
        name: card.name.clone(),
        protocol_versions: card.protocol_versions.clone(),
        endpoints: card.endpoints.iter().map(|(url, _)| url.clone()).collect(),
        streaming: Some(card.streaming),
        push_notifications: Some(card.push_notifications),
        security_schemes: card.security_schemes.clone(),
        signature_kids: card.signature_kids.clone(),
        skills: card.skills.iter().map(|(id, it)| (id.clone(), skill(it))).collect(),
    }
}
