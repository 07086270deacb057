//! Facts about cards, by the agents that they are of.
//!
//! In: what became of facts. Out: the cards of the agents that it concerns. Costs what is new, however many agents there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::measures::cards::{Shown, shown};
use crate::tables::{CardRow, Facts, FactsDelta};

/// Facts about cards.
#[derive(Default)]
pub(super) struct Cards {
    /// Looks, by agent and `fact_id`.
    looks: HashMap<String, BTreeMap<String, CardRow>>,
    /// What bodies list, by body.
    bodies: HashMap<String, Body>,
    /// Where each fact is.
    places: HashMap<String, Place>,
}

#[derive(Default)]
struct Body {
    lists: Facts,
    /// Agents that showed it, perhaps no more.
    agents: BTreeSet<String>,
}

enum Place {
    Look { agent: String },
    Listed { body: String },
}

impl Cards {
    /// Takes note of a change: the agents whose cards it concerns, with their cards.
    pub(super) fn add(&mut self, delta: &FactsDelta) -> BTreeMap<String, Vec<Shown>> {
        let added = &delta.added;
        let came = Facts {
            cards: added.cards.clone(),
            card_skills: added.card_skills.clone(),
            card_endpoints: added.card_endpoints.clone(),
            ..Facts::default()
        };
        let mut concerned = BTreeSet::new();
        for id in came.commons().map(|common| &common.fact_id).chain(&delta.removed) {
            self.drop_fact(id, &mut concerned);
        }
        let Facts { cards, card_skills, card_endpoints, .. } = came;
        for row in cards {
            let (agent, id) = (row.common.agent.clone(), row.common.fact_id.clone());
            self.bodies.entry(row.own.body_sha256.clone()).or_default().agents.insert(agent.clone());
            self.places.insert(id.clone(), Place::Look { agent: agent.clone() });
            self.looks.entry(agent.clone()).or_default().insert(id, row);
            concerned.insert(agent);
        }
        for row in card_skills {
            self.list(&row.common.fact_id, &row.own.body_sha256, &mut concerned).card_skills.push(row);
        }
        for row in card_endpoints {
            self.list(&row.common.fact_id, &row.own.body_sha256, &mut concerned).card_endpoints.push(row);
        }
        concerned.into_iter().map(|agent| (agent.clone(), self.shown(&agent))).collect()
    }

    fn list(&mut self, id: &str, body: &str, concerned: &mut BTreeSet<String>) -> &mut Facts {
        self.places.insert(id.to_owned(), Place::Listed { body: body.to_owned() });
        let body = self.bodies.entry(body.to_owned()).or_default();
        concerned.extend(body.agents.iter().cloned());
        &mut body.lists
    }

    fn drop_fact(&mut self, id: &str, concerned: &mut BTreeSet<String>) {
        match self.places.remove(id) {
            Some(Place::Look { agent }) => {
                let looks = self.looks.get_mut(&agent);
                if let Some(row) = looks.and_then(|looks| looks.remove(id)) {
                    self.leave(&agent, &row.own.body_sha256);
                }
                concerned.insert(agent);
            }
            Some(Place::Listed { body: name }) => {
                if let Some(body) = self.bodies.get_mut(&name) {
                    body.lists.retain(|common| common.fact_id != id);
                    concerned.extend(body.agents.iter().cloned());
                }
                self.drop_empty(&name);
            }
            None => {}
        }
    }

    /// A look at a body by an agent went.
    fn leave(&mut self, agent: &str, name: &str) {
        let mut looks = self.looks.get(agent).into_iter().flat_map(BTreeMap::values);
        let is_last = !looks.any(|row| row.own.body_sha256 == name);
        if let Some(body) = self.bodies.get_mut(name).filter(|_| is_last) {
            body.agents.remove(agent);
        }
        self.drop_empty(name);
        if self.looks.get(agent).is_some_and(BTreeMap::is_empty) {
            self.looks.remove(agent);
        }
    }

    fn drop_empty(&mut self, name: &str) {
        if self.bodies.get(name).is_some_and(|body| body.agents.is_empty() && body.lists.is_empty()) {
            self.bodies.remove(name);
        }
    }

    fn shown(&self, agent: &str) -> Vec<Shown> {
        let Some(looks) = self.looks.get(agent) else { return Vec::new() };
        let mut facts = Facts { cards: looks.values().cloned().collect(), ..Facts::default() };
        let bodies: BTreeSet<&str> = looks.values().map(|row| row.own.body_sha256.as_str()).collect();
        bodies.into_iter().filter_map(|body| self.bodies.get(body)).for_each(|body| facts.append(body.lists.clone()));
        shown(&facts).remove(agent).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::Instant;
    use crate::tables::{CardColumns, CardSkillColumns, CardSkillRow, Common};

    fn look(agent: &str, at: i64, body: &str, facts: &mut Facts) {
        let common = Common {
            fact_id: format!("{agent} {at}"),
            observed_at: Instant(at),
            agent: agent.to_owned(),
            ..Common::default()
        };
        let own = CardColumns { body_sha256: body.to_owned(), ..CardColumns::default() };
        facts.cards.push(CardRow { common, own });
        let common = Common { fact_id: format!("skill of {body}"), agent: agent.to_owned(), ..Common::default() };
        let own =
            CardSkillColumns { body_sha256: body.to_owned(), skill_id: "s".to_owned(), ..CardSkillColumns::default() };
        facts.card_skills.push(CardSkillRow { common, own });
    }

    fn came(looks: &[(&str, i64, &str)]) -> FactsDelta {
        let mut added = Facts::default();
        looks.iter().for_each(|(agent, at, body)| look(agent, *at, body, &mut added));
        FactsDelta { added, ..FactsDelta::default() }
    }

    fn went(ids: &[&str]) -> FactsDelta {
        FactsDelta { removed: ids.iter().map(|id| (*id).to_owned()).collect(), ..FactsDelta::default() }
    }

    #[test]
    fn only_the_agents_that_a_change_concerns_are_told_with_all_of_their_cards() {
        let mut cards = Cards::default();
        let told = cards.add(&came(&[("a", 1, "x"), ("b", 2, "y")]));
        assert_eq!(told.keys().collect::<Vec<_>>(), ["a", "b"]);
        let told = cards.add(&came(&[("b", 3, "z")]));
        assert_eq!(told.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(told["b"].iter().map(|shown| shown.card.skills.len()).collect::<Vec<_>>(), [1, 1]);
        let told = cards.add(&went(&["b 2", "nothing"]));
        assert_eq!((told.len(), told["b"].len()), (1, 1));
        let told = cards.add(&went(&["skill of x"]));
        assert_eq!((told.len(), told["a"][0].card.skills.len()), (1, 0));
        cards.add(&went(&["a 1", "b 3", "skill of y", "skill of z"]));
        assert!(cards.looks.is_empty() && cards.bodies.is_empty() && cards.places.is_empty());
    }

    #[test]
    fn a_look_that_is_of_another_agent_now_moves_and_both_are_told() {
        let mut cards = Cards::default();
        cards.add(&came(&[("a", 1, "x")]));
        let mut moved = came(&[("a", 1, "x")]);
        moved.added.cards[0].common.agent = "b".to_owned();
        let told = cards.add(&moved);
        assert_eq!((told["a"].len(), told["b"].len()), (0, 1));
    }
}
