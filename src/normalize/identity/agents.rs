//! Which references mean the same agent.
//!
//! Urls at or below the place where a card was fetched, or one of its interfaces, are the card's agent; where no card tells, each
//! path of a host is an agent. Names and services join the only agent that bears them; what has no reference takes the agent of its call, trace or task.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::directory::{Aliases, Directory, Name, Reference};
use super::routes::{self, MOST_OF_A_CALL};
use crate::tables::{Common, ExchangeRow, Facts};

pub(super) fn resolve(facts: &mut Facts, aliases: &Aliases) {
    let mut directory = Directory::default();
    facts.cards.iter().for_each(|row| directory.look(row, true));
    facts.card_endpoints.iter().for_each(|row| directory.endpoint(row, true));
    add_routes(&facts.exchanges, &mut directory);
    let references: HashSet<&str> = facts.commons().map(|common| common.agent_ref.as_str()).collect();
    references.into_iter().for_each(|text| directory.refer(&Reference::parse(text), true));
    directory.settle(aliases);
    let mut read = Read { directory: &directory, aliases, references: HashMap::new() };
    for common in facts.commons_mut() {
        common.agent = read.of(&common.agent_ref).agent.as_deref().unwrap_or_default().to_owned();
    }
    let calls = Shared::by(facts, call_key);
    let traces = Shared::by(facts, |common| common.trace_id.clone());
    let known = names(facts, &calls, &traces, &by_task(facts, is_place));
    for common in facts.commons_mut().filter(|common| !is_place(common)) {
        let found = calls
            .only(&call_key(common))
            .or_else(|| traces.only(&common.trace_id).filter(|_| !common.agent_ref.starts_with("name:")))
            .or_else(|| known.get(&common.agent_ref).cloned());
        common.agent =
            found.unwrap_or_else(|| read.by_name(&common.agent_ref).as_deref().unwrap_or_default().to_owned());
    }
    give_by_task(facts);
}

fn add_routes(exchanges: &[ExchangeRow], directory: &mut Directory) {
    let mut calls: HashMap<String, Vec<&ExchangeRow>> = HashMap::new();
    for row in exchanges {
        directory.route(routes::told(row), true);
        let key = call_key(&row.common);
        if !key.is_empty() {
            calls.entry(key).or_default().push(row);
        }
    }
    for rows in calls.values().filter(|rows| rows.len() <= MOST_OF_A_CALL) {
        for (at, one) in rows.iter().enumerate() {
            rows.iter().skip(at + 1).for_each(|other| directory.route(routes::shared(one, other), true));
        }
    }
}

/// References read once each.
struct Read<'a> {
    directory: &'a Directory,
    aliases: &'a Aliases,
    references: HashMap<String, Means>,
}

struct Means {
    reference: Reference,
    agent: Option<Name>,
}

impl Read<'_> {
    fn of(&mut self, text: &str) -> &Means {
        // Most facts have a reference that was read before; only the others pay for the key.
        if !self.references.contains_key(text) {
            let reference = Reference::parse(text);
            let agent = self.directory.by_reference(&reference, self.aliases);
            self.references.insert(text.to_owned(), Means { reference, agent });
        }
        &self.references[text]
    }

    fn by_name(&mut self, text: &str) -> Option<Name> {
        let (directory, aliases) = (self.directory, self.aliases);
        directory.by_name(&self.of(text).reference, aliases)
    }
}

/// The exact key under which another observer may have seen the same call.
pub(super) fn call_key(common: &Common) -> String {
    match (common.call_id.is_empty(), common.span_id.is_empty()) {
        (false, _) => common.call_id.clone(),
        (true, false) => format!("span:{}", common.span_id),
        (true, true) => String::new(),
    }
}

/// Whether a reference is a name rather than a place.
fn is_named(reference: &str) -> bool {
    reference.starts_with("service:") || reference.starts_with("name:")
}

/// Whether the record itself says at which place the agent answers, or calls it by the name on one agent's card.
fn is_place(common: &Common) -> bool {
    !common.agent_ref.is_empty() && !common.agent.is_empty()
}

/// Agents by something that facts share.
struct Shared(HashMap<String, BTreeSet<String>>);

impl Shared {
    fn by(facts: &Facts, key: impl Fn(&Common) -> String) -> Self {
        let mut agents: HashMap<String, BTreeSet<String>> = HashMap::new();
        for common in facts.commons().filter(|common| is_place(common)) {
            let key = key(common);
            if !key.is_empty() {
                agents.entry(key).or_default().insert(common.agent.clone());
            }
        }
        Self(agents)
    }

    /// The agent, if it is exactly one.
    fn only(&self, key: &str) -> Option<String> {
        self.0.get(key).filter(|agents| agents.len() == 1).and_then(|agents| agents.first()).cloned()
    }
}

/// Names and services, as records give them, whose calls and tasks all lead to one agent; of services traces count as well.
fn names(facts: &Facts, calls: &Shared, traces: &Shared, tasks: &Shared) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut see = |common: &Common, agent: Option<String>| {
        if let (false, true, Some(agent)) = (is_place(common), is_named(&common.agent_ref), agent) {
            found.entry(common.agent_ref.clone()).or_default().insert(agent);
        }
    };
    for common in facts.commons() {
        let by_trace = || traces.only(&common.trace_id).filter(|_| common.agent_ref.starts_with("service:"));
        see(common, calls.only(&call_key(common)).or_else(by_trace));
    }
    for (task, common) in facts.of_tasks() {
        see(common, tasks.only(task));
    }
    found.into_iter().filter(|(_, a)| a.len() == 1).filter_map(|(s, a)| Some((s, a.into_iter().next()?))).collect()
}

/// Agents by task, of the facts that count.
fn by_task(facts: &Facts, counts: impl Fn(&Common) -> bool) -> Shared {
    let mut agents: HashMap<String, BTreeSet<String>> = HashMap::new();
    for (task, common) in facts.of_tasks().filter(|(task, common)| !task.is_empty() && counts(common)) {
        agents.entry(task.to_owned()).or_default().insert(common.agent.clone());
    }
    Shared(agents)
}

/// What still has no agent takes it from its task, if that was seen with exactly one.
fn give_by_task(facts: &mut Facts) {
    let agents = by_task(facts, |common| !common.agent.is_empty());
    for (task, common) in facts.of_tasks_mut().filter(|(_, common)| common.agent.is_empty()) {
        common.agent = agents.only(task).unwrap_or_default();
    }
}
