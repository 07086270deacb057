//! What each rule sees of an input, of which agents, and what would let the blind ones see.
//!
//! In: a corpus, batches of facts, the emitters in use, advice. Out: [`Sight`]s and [`Gain`]s. Judges no fact.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::Cell;
use super::corpus::{Corpus, Rule};
use super::fields::Advice;
use super::gains::gains;
use super::needs::{Batches, Need};
use super::reach::BODY;
use super::shape;
use crate::findings::coverage::{Gain, Missing, Sight, State, Unseen};

/// Tables whose facts show that there is an agent.
const OF_AGENTS: [&str; 3] = ["exchanges", "task_events", "cards"];

/// What the rules see, the agents that facts are about, and what to turn on. Rules that yielded a row (`fired`, with the agents that
/// rows are about) saw these, whatever their needs say.
pub fn sight(
    corpus: &Corpus,
    wanted: impl Fn(&str) -> bool,
    fired: &BTreeMap<String, BTreeSet<String>>,
    batches: &Batches,
    in_use: &[String],
    advice: &Advice,
) -> (Vec<Sight>, Vec<String>, Vec<Gain>) {
    let rules: Vec<&Rule> = corpus.rules.iter().filter(|rule| wanted(&rule.id)).collect();
    let agents = agents(batches);
    let mut fed: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for need in rules.iter().flat_map(|rule| &rule.header.needs) {
        fed.entry(&need.text).or_insert_with(|| agents_fed(need, batches));
    }
    let mut sights: Vec<Sight> =
        rules.iter().map(|rule| of_rule(rule, batches, &agents, &fed, in_use, advice)).collect();
    for sight in &mut sights {
        if let Some(about) = fired.get(&sight.rule) {
            woken(sight, about);
        }
    }
    sights.sort_by(|a, b| a.rule.cmp(&b.rule));
    let gains = gains(&rules, &sights, in_use, advice);
    (sights, agents.into_iter().collect(), gains)
}

fn of_rule(
    rule: &Rule,
    batches: &Batches,
    agents: &BTreeSet<String>,
    fed: &BTreeMap<&str, BTreeSet<String>>,
    in_use: &[String],
    advice: &Advice,
) -> Sight {
    let needs = &rule.header.needs;
    let mut missing = Vec::new();
    for need in needs {
        let lacking: Vec<&Need> = need.fields().filter(|field| !field.is_filled_alone(batches)).collect();
        let has_other = lacking.len() < need.fields().count();
        let said: Vec<Missing> = match has_other {
            true => lacking.into_iter().map(|field| of_need(field, own_text(field), true, in_use, advice)).collect(),
            false => vec![of_need(need, need.text.clone(), false, in_use, advice)],
        };
        // Two needs may have an alternative in common.
        for one in said {
            if !missing.iter().any(|known: &Missing| known.need == one.need) {
                missing.push(one);
            }
        }
    }
    let is_blind = missing.iter().any(|missing| !missing.has_other);
    let lacks = |agent: &String| -> Vec<String> {
        let without = needs.iter().filter(|need| !fed.get(need.text.as_str()).is_some_and(|fed| fed.contains(agent)));
        without.map(|need| need.text.clone()).collect()
    };
    let unseen = agents.iter().map(|agent| Unseen { agent: agent.clone(), missing: lacks(agent) });
    let unseen: Vec<Unseen> = unseen.filter(|unseen| !is_blind && !unseen.missing.is_empty()).collect();
    let nameless = !is_blind && lacks(&String::new()).is_empty();
    let state = match (is_blind, missing.is_empty() && unseen.is_empty()) {
        (true, _) => State::Blind,
        (false, true) => State::Able,
        (false, false) => State::Partly,
    };
    Sight { rule: rule.id.clone(), state, missing, unseen, nameless }
}

/// A rule that yielded a row without a field that it needs sees in part: by another field.
fn woken(sight: &mut Sight, about: &BTreeSet<String>) {
    if sight.state == State::Blind {
        sight.state = State::Partly;
        sight.missing.iter_mut().for_each(|missing| missing.has_other = true);
    }
    sight.unseen.retain(|unseen| !about.contains(&unseen.agent));
    sight.nameless |= about.contains("");
    if sight.missing.is_empty() && sight.unseen.is_empty() {
        sight.state = State::Able;
    }
}

/// One of several fields, without the others.
fn own_text(field: &Need) -> String {
    field.text.split(" or ").next().unwrap_or_default().trim().to_owned()
}

fn of_need(need: &Need, text: String, has_other: bool, in_use: &[String], advice: &Advice) -> Missing {
    let unseen = advice.unseen(need, in_use).map(|(_, what)| what.to_owned());
    // Where one emitter can be made to say it, it is no matter that another cannot.
    let is_said = unseen.is_some() || advice.setting(need, in_use).is_some();
    let never = if is_said { Vec::new() } else { advice.never(need, in_use) };
    let never = never.into_iter().map(|(emitter, never)| format!("{}: {}", emitter.title, never.because)).collect();
    Missing { advice: advice.sentence(need, in_use).unwrap_or_default(), unseen, never, need: text, has_other }
}

/// Agents that calls, tasks and cards are about.
fn agents(batches: &Batches) -> BTreeSet<String> {
    let own = batches.iter().filter(|(table, _)| OF_AGENTS.contains(table));
    let mut agents: BTreeSet<String> =
        own.flat_map(|(_, batch)| Cell::texts("agent", batch, 0..batch.num_rows())).collect();
    agents.remove("");
    agents
}

/// Agents about which a fact fills a need; `''` if facts do that name none. What a card body says is about whoever showed it.
fn agents_fed(need: &Need, batches: &Batches) -> BTreeSet<String> {
    let filled = |field: &Need| match shape::is_of_a_body(&field.table) {
        true => shown_by(&field.said_alone_in(BODY, batches), batches),
        false => field.said_alone_in("agent", batches),
    };
    need.fields().flat_map(filled).collect()
}

/// Agents that showed one of these card bodies.
fn shown_by(bodies: &BTreeSet<String>, batches: &Batches) -> BTreeSet<String> {
    let cards = batches.iter().filter(|(table, _)| *table == "cards");
    cards
        .flat_map(|(_, batch)| {
            let shown = batch.column_by_name(BODY).into_iter().flat_map(|column| {
                (0..batch.num_rows())
                    .filter(move |row| matches!(Cell::of(column, *row), Cell::Text(body) if bodies.contains(&body)))
            });
            Cell::texts("agent", batch, shown)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::Instant;
    use crate::tables::{Common, ExchangeColumns, ExchangeRow, Facts, TaskEventColumns, TaskEventRow};

    fn seen(facts: &Facts, in_use: &[&str]) -> (BTreeMap<String, Sight>, Vec<Gain>) {
        seen_by(facts, in_use, &[])
    }

    fn seen_by(facts: &Facts, in_use: &[&str], fired: &[&str]) -> (BTreeMap<String, Sight>, Vec<Gain>) {
        let corpus = Corpus::embedded().unwrap();
        let in_use: Vec<String> = in_use.iter().map(|id| (*id).to_owned()).collect();
        let fired = fired.iter().map(|rule| ((*rule).to_owned(), BTreeSet::from(["b".to_owned()]))).collect();
        let (sights, _, gains) =
            sight(&corpus, |_| true, &fired, &facts.batches().unwrap(), &in_use, &Advice::embedded());
        (sights.into_iter().map(|sight| (sight.rule.clone(), sight)).collect(), gains)
    }

    /// Two agents call; of one the tasks are seen.
    fn two_agents() -> Facts {
        let mut facts = Facts::default();
        for agent in ["a", "b"] {
            let common = Common { observed_at: Instant(1), agent: agent.to_owned(), ..Common::default() };
            let own =
                ExchangeColumns { operation: "SendMessage".into(), outcome: "ok".into(), ..ExchangeColumns::default() };
            facts.push_exchange(ExchangeRow { common: common.clone(), own });
            if agent == "a" {
                let own =
                    TaskEventColumns { task_id: "t".into(), state: "working".into(), ..TaskEventColumns::default() };
                facts.push_task_event(TaskEventRow { common, own });
            }
        }
        facts
    }

    #[test]
    fn a_rule_sees_all_agents_or_some_or_is_blind() {
        let (sights, _) = seen(&two_agents(), &[]);
        assert_eq!(sights["version_mismatch"].state, State::Able);
        let partly = &sights["split_brain"];
        assert_eq!(partly.state, State::Partly);
        let unseen: Vec<_> = partly.unseen.iter().map(|u| (u.agent.as_str(), u.missing.join(" "))).collect();
        assert_eq!(unseen, [("b", "task_events.state".to_owned())]);
        let blind = &sights["duplicate_submission"];
        assert_eq!((blind.state, blind.missing[0].need.as_str()), (State::Blind, "exchanges.content_hash"));
        assert!(blind.missing[0].advice.contains("request bodies"));
    }

    #[test]
    fn a_rule_that_yielded_a_row_is_never_blind() {
        let (sights, gains) = seen_by(&two_agents(), &[], &["duplicate_submission", "split_brain"]);
        let woken = &sights["duplicate_submission"];
        assert_eq!((woken.state, woken.missing[0].has_other), (State::Partly, true));
        // Of b no state was seen, and yet the row is about it.
        assert_eq!(seen(&two_agents(), &[]).0["split_brain"].unseen[0].agent, "b");
        assert_eq!((sights["split_brain"].state, sights["split_brain"].unseen.len()), (State::Able, 0));
        assert!(gains.iter().all(|gain| !gain.wakes.contains(&"duplicate_submission".to_owned())));
    }

    #[test]
    fn what_wakes_most_comes_first_and_every_blind_rule_is_woken_once() {
        let (sights, gains) = seen(&two_agents(), &["kong"]);
        let blind: BTreeSet<&String> = sights.values().filter(|s| s.state == State::Blind).map(|s| &s.rule).collect();
        let woken: Vec<&String> = gains.iter().flat_map(|gain| &gain.wakes).collect();
        assert_eq!((woken.len(), woken.into_iter().collect::<BTreeSet<_>>()), (blind.len(), blind));
        let payloads = gains.iter().find(|gain| gain.set.contains("log_payloads: true")).unwrap();
        assert!(payloads.wakes.contains(&"duplicate_submission".to_owned()), "{payloads:?}");
        assert!(gains.iter().all(|gain| !gain.fills.is_empty() && !gain.note.is_empty()));
    }

    #[test]
    fn an_emitter_that_cannot_says_why() {
        let (sights, _) = seen(&two_agents(), &["aisix"]);
        let never = &sights["duplicate_submission"].missing[0].never;
        assert!(never[0].starts_with("AISIX AI gateway: its exporters send metadata"), "{never:?}");
    }
}
