//! Which references mean the same agent.
//!
//! Urls at or below the place where a card was fetched, or one of its interfaces, are the card's agent. Names and
//! services join the only agent that bears them; what has no reference takes the agent of its call, trace or task.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::site::Site;
use crate::tables::{Common, Facts};

/// Places grouped into agents.
#[derive(Default)]
struct Directory {
    /// Place -> index of its group.
    groups: BTreeMap<Site, usize>,
    /// Union-find parents.
    parents: Vec<usize>,
    /// Group root -> what the agent is called.
    labels: HashMap<usize, String>,
    /// Card name -> group roots whose cards bear it.
    names: BTreeMap<String, BTreeSet<usize>>,
}

pub(super) fn resolve(facts: &mut Facts, aliases: &BTreeMap<String, String>) {
    let directory = Directory::of(facts, aliases);
    for common in facts.commons_mut() {
        common.agent = directory.by_reference(&common.agent_ref, aliases);
    }
    let calls = Shared::by(facts, call_key);
    let traces = Shared::by(facts, |common| common.trace_id.clone());
    let known = names(facts, &calls, &traces, &by_task(facts, is_place));
    for common in facts.commons_mut().filter(|common| !is_place(common)) {
        let name = name_of(&common.agent_ref);
        let found = calls
            .only(&call_key(common))
            .or_else(|| traces.only(&common.trace_id).filter(|_| !common.agent_ref.starts_with("name:")))
            .or_else(|| known.get(&common.agent_ref).cloned())
            .or_else(|| name.and_then(|name| directory.by_name_alike(name)).cloned());
        common.agent = found.or_else(|| name.map(|name| alias(aliases, name))).unwrap_or_default();
    }
    give_by_task(facts);
}

/// The exact key under which another observer may have seen the same call.
fn call_key(common: &Common) -> String {
    match (common.call_id.is_empty(), common.span_id.is_empty()) {
        (false, _) => common.call_id.clone(),
        (true, false) => format!("span:{}", common.span_id),
        (true, true) => String::new(),
    }
}

/// The name in a reference that is no place.
fn name_of(reference: &str) -> Option<&str> {
    reference.strip_prefix("service:").or_else(|| reference.strip_prefix("name:"))
}

/// Whether the record itself says at which place the agent answers, or calls it by the name on one agent's card.
fn is_place(common: &Common) -> bool {
    !common.agent_ref.is_empty() && !common.agent.is_empty()
}

fn alias(aliases: &BTreeMap<String, String>, name: &str) -> String {
    aliases.get(name).cloned().unwrap_or_else(|| name.to_owned())
}

impl Directory {
    fn of(facts: &Facts, aliases: &BTreeMap<String, String>) -> Self {
        let mut directory = Self::default();
        let mut advertised: BTreeMap<Site, BTreeMap<&str, BTreeSet<Site>>> = BTreeMap::new();
        let mut endpoints: HashMap<&str, Vec<Site>> = HashMap::new();
        for row in &facts.card_endpoints {
            endpoints.entry(&row.own.body_sha256).or_default().extend(Site::parse(&row.own.url));
        }
        let mut fetched = BTreeSet::new();
        for row in facts.cards.iter().filter(|row| !row.own.body_sha256.is_empty()) {
            let Some(base) = Site::parse(&row.common.agent_ref).or_else(|| Site::parse(&row.own.url)) else { continue };
            let base = base.card_base();
            if row.own.origin != "call" {
                directory.group(&base);
                fetched.insert(base.clone());
            }
            for endpoint in endpoints.get(row.own.body_sha256.as_str()).into_iter().flatten() {
                let names = advertised.entry(endpoint.clone()).or_default();
                names.entry(&row.own.name).or_default().insert(base.clone());
            }
        }
        directory.join_endpoints(&advertised);
        directory.label(&fetched, aliases);
        for row in facts.cards.iter().filter(|row| !row.own.name.is_empty()) {
            if let Some(root) =
                Site::parse(&row.common.agent_ref).and_then(|site| directory.find_place(&site.card_base()))
            {
                directory.names.entry(row.own.name.clone()).or_default().insert(root);
            }
        }
        directory
    }

    /// An interface joins the places that advertise it: on its own authority always, elsewhere unless cards of different
    /// names advertise the same url (forty containers that each call themselves `localhost:8000`).
    fn join_endpoints(&mut self, advertised: &BTreeMap<Site, BTreeMap<&str, BTreeSet<Site>>>) {
        for (endpoint, names) in advertised {
            let bases: BTreeSet<&Site> = names.values().flatten().collect();
            let is_shared = names.len() > 1 && bases.len() > 1;
            for base in bases {
                if base.authority == endpoint.authority || !is_shared {
                    let (a, b) = (self.group(base), self.group(endpoint));
                    self.union(a, b);
                }
            }
        }
    }

    fn label(&mut self, fetched: &BTreeSet<Site>, aliases: &BTreeMap<String, String>) {
        // Fetched places first, then others; each in order, so that the smallest wins whatever came first.
        let places: Vec<(Site, usize)> = self.groups.iter().map(|(site, &group)| (site.clone(), group)).collect();
        for pass_fetched in [true, false] {
            for (site, group) in &places {
                if fetched.contains(site) == pass_fetched {
                    let root = self.find(*group);
                    self.labels.entry(root).or_insert_with(|| site.to_string());
                }
            }
        }
        for (site, group) in &places {
            let named = aliases.get(&site.to_string()).or_else(|| aliases.get(&site.authority));
            if let Some(name) = named {
                let root = self.find(*group);
                self.labels.insert(root, name.clone());
            }
        }
    }

    fn by_reference(&self, reference: &str, aliases: &BTreeMap<String, String>) -> String {
        if reference.is_empty() || reference.starts_with("service:") {
            return String::new();
        }
        if let Some(name) = reference.strip_prefix("name:") {
            let roots = self.names.get(name).cloned().unwrap_or_default();
            return self.only_label(&roots).or_else(|| aliases.get(name)).cloned().unwrap_or_default();
        }
        let Some(site) = Site::parse(reference) else { return alias(aliases, reference) };
        let site = site.card_base();
        match self.find_place(&site).and_then(|root| self.labels.get(&root)) {
            Some(label) => label.clone(),
            None => alias(aliases, &site.authority),
        }
    }

    /// What the only agent is called whose card bears a name, spelled as services are: `summary-agent` is `Summary Agent`.
    fn by_name_alike(&self, name: &str) -> Option<&String> {
        let spelled = fold(name);
        let alike = self.names.iter().filter(|(known, _)| !spelled.is_empty() && fold(known) == spelled);
        self.only_label(&alike.flat_map(|(_, roots)| roots).copied().collect())
    }

    fn only_label(&self, roots: &BTreeSet<usize>) -> Option<&String> {
        roots.first().filter(|_| roots.len() == 1).and_then(|root| self.labels.get(root))
    }

    /// The group of the longest known place that holds this one, else the only group of its authority.
    fn find_place(&self, site: &Site) -> Option<usize> {
        let first = Site { authority: site.authority.clone(), path: String::new() };
        let same_authority =
            || self.groups.range(first.clone()..).take_while(|(known, _)| known.authority == site.authority);
        let holder = same_authority().filter(|(known, _)| known.holds(site)).max_by_key(|(known, _)| known.path.len());
        if let Some((_, group)) = holder {
            return Some(self.find(*group));
        }
        let roots: BTreeSet<usize> = same_authority().map(|(_, group)| self.find(*group)).collect();
        roots.first().copied().filter(|_| roots.len() == 1)
    }

    fn group(&mut self, site: &Site) -> usize {
        if let Some(&group) = self.groups.get(site) {
            return group;
        }
        let group = self.parents.len();
        self.parents.push(group);
        self.groups.insert(site.clone(), group);
        group
    }

    fn find(&self, mut group: usize) -> usize {
        while self.parents[group] != group {
            group = self.parents[group];
        }
        group
    }

    fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b)] = a.min(b);
    }
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
        if let (false, Some(_), Some(agent)) = (is_place(common), name_of(&common.agent_ref), agent) {
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

/// A name without case, spaces and signs.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What still has no agent takes it from its task, if that was seen with exactly one.
fn give_by_task(facts: &mut Facts) {
    let agents = by_task(facts, |common| !common.agent.is_empty());
    for (task, common) in facts.of_tasks_mut().filter(|(_, common)| common.agent.is_empty()) {
        common.agent = agents.only(task).unwrap_or_default();
    }
}
