//! Facts, what they share, and who is who by that; kept so that a change costs what it changes.
//!
//! In: facts that come and go. Out: the slots of facts whose identity is another than before. What is resolved is what
//! [`super::resolve`] resolves over all facts: each of its steps is a function of a fact and of the outcomes of relations,
//! and a step is taken again for the facts of outcomes that changed, in the same order of steps.

mod agents;
mod calls;
mod clients;

use super::IdentitySettings;
use super::directory::Directory;
use super::entry::Entry;
use super::references::References;
use super::relation::{Keys, NO_KEY, Reading, Relation, Slot};
use super::routes::{self, MOST_OF_A_CALL};
use crate::tables::{ExchangeRow, Fact};

/// All facts in their relations.
#[derive(Debug, Clone)]
pub(super) struct Web {
    pub(super) keys: Keys,
    entries: Vec<Option<Entry>>,
    free: Vec<Slot>,
    directory: Directory,
    references: References,
    relations: Relations,
    /// Facts that came since identities were last resolved.
    fresh: Vec<Slot>,
}

/// What facts say of each other's identity.
#[derive(Debug, Clone)]
struct Relations {
    /// Facts by reference.
    referring: Relation,
    /// Agents of calls, traces and tasks, by the facts that name a place.
    calls: Relation,
    traces: Relation,
    tasks: Relation,
    /// Agents that a name seems to mean.
    names: Relation,
    /// Agents of tasks, by all facts that have one.
    task_agents: Relation,
    /// Requests that a tap saw under a span.
    taps: Relation,
    /// Spans under which a tap saw several.
    spans: Relation,
    /// Calls of records.
    records: Relation,
    /// Names of callers by call, by trace and agent, and by address.
    callers: Relation,
    trace_callers: Relation,
    addresses: Relation,
}

/// Facts that a step is to be taken for.
#[derive(Debug, Default)]
struct Stale {
    slots: Vec<Slot>,
}

impl Stale {
    fn take(&mut self) -> Vec<Slot> {
        self.slots.sort_unstable();
        self.slots.dedup();
        std::mem::take(&mut self.slots)
    }
}

impl Default for Web {
    fn default() -> Self {
        let only = || Relation::new(Reading::Only);
        let relations = Relations {
            referring: only(),
            calls: only(),
            traces: only(),
            tasks: only(),
            names: only(),
            task_agents: only(),
            taps: Relation::new(Reading::Several),
            spans: Relation::new(Reading::Least),
            records: Relation::new(Reading::Least),
            callers: only(),
            trace_callers: only(),
            addresses: only(),
        };
        Self {
            keys: Keys::default(),
            entries: Vec::new(),
            free: Vec::new(),
            directory: Directory::default(),
            references: References::default(),
            relations,
            fresh: Vec::new(),
        }
    }
}

impl Web {
    /// A known fact.
    pub(super) fn get(&self, slot: Slot) -> Option<&Entry> {
        self.entries.get(slot as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Entry> {
        self.entries.get_mut(slot as usize)?.as_mut()
    }

    /// All facts.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Takes a fact; its identity is resolved by the next [`Web::resolve`].
    pub(super) fn insert(&mut self, fact: Fact) -> Slot {
        let entry = Entry::new(fact, &self.keys);
        self.route(&entry, true);
        match &entry.fact {
            Fact::Card(row) => self.directory.look(row, true),
            Fact::CardEndpoint(row) => self.directory.endpoint(row, true),
            _ => {}
        }
        let keys = &entry.keys;
        if let Some(reference) = self.references.see(keys.reference, &entry.fact.common().agent_ref) {
            self.directory.refer(reference, true);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            Slot::try_from(self.entries.len() - 1).unwrap_or(Slot::MAX)
        });
        let relations = &mut self.relations;
        relations.referring.join(keys.reference, slot);
        relations.calls.join(keys.call, slot);
        relations.traces.join(keys.trace, slot);
        relations.tasks.join(keys.task, slot);
        relations.taps.join(keys.tap, slot);
        relations.taps.say(keys.tap, None, entry.request().as_deref());
        relations.spans.join(keys.span, slot);
        relations.records.join(keys.record, slot);
        if let Some(place) = self.entries.get_mut(slot as usize) {
            *place = Some(entry);
            self.fresh.push(slot);
        }
        slot
    }

    /// Forgets a fact; those that it told something are looked at by the next [`Web::resolve`].
    pub(super) fn remove(&mut self, slot: Slot) -> Option<Entry> {
        let entry = self.entries.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        match &entry.fact {
            Fact::Card(row) => self.directory.look(row, false),
            Fact::CardEndpoint(row) => self.directory.endpoint(row, false),
            _ => {}
        }
        let (keys, relations) = (&entry.keys, &mut self.relations);
        relations.unsay(&entry);
        relations.referring.leave(keys.reference, slot);
        relations.calls.leave(keys.call, slot);
        relations.traces.leave(keys.trace, slot);
        relations.tasks.leave(keys.task, slot);
        relations.names.leave(keys.reference, slot);
        relations.task_agents.leave(keys.task, slot);
        relations.taps.leave(keys.tap, slot);
        relations.spans.leave(keys.span, slot);
        relations.records.leave(keys.record, slot);
        relations.callers.leave(keys.resolved, slot);
        relations.trace_callers.leave(keys.trace_of_agent, slot);
        relations.addresses.leave(keys.address, slot);
        if relations.referring.members(keys.reference).next().is_none()
            && let Some(reference) = self.references.forget(keys.reference)
        {
            self.directory.refer(&reference, false);
        }
        self.route(&entry, false);
        Some(entry)
    }

    /// Takes note of where a call went that is not among the facts, or forgets it.
    fn route(&mut self, entry: &Entry, came: bool) {
        let Fact::Exchange(row) = &entry.fact else { return };
        self.directory.route(routes::told(row), came);
        if entry.keys.call == NO_KEY {
            return;
        }
        let of_call = self.relations.calls.members(entry.keys.call);
        let rows = of_call.filter_map(|slot| match &self.entries.get(slot as usize)?.as_ref()?.fact {
            Fact::Exchange(row) => Some(&**row),
            _ => None,
        });
        let others: Vec<&ExchangeRow> = rows.take(MOST_OF_A_CALL + 1).collect();
        if others.len() < MOST_OF_A_CALL {
            others.iter().for_each(|other| self.directory.route(routes::shared(row, other), came));
        } else if others.len() == MOST_OF_A_CALL {
            // One more than are looked at: with it none counts, and without it all do.
            for (at, one) in others.iter().enumerate() {
                others.iter().skip(at + 1).for_each(|other| self.directory.route(routes::shared(one, other), !came));
            }
        }
    }

    /// Resolves what changed since the last time; the facts whose identity is another, those that came among them.
    pub(super) fn resolve(&mut self, settings: &IdentitySettings) -> Vec<Slot> {
        let fresh = std::mem::take(&mut self.fresh);
        let mut changed = Stale { slots: fresh.clone() };
        let agents = self.resolve_agents(&fresh, &settings.agents);
        changed.slots.extend(&agents);
        let mut stale = fresh;
        stale.extend(agents);
        let calls = self.resolve_calls(&stale);
        changed.slots.extend(&calls);
        stale.extend(calls);
        changed.slots.extend(self.resolve_clients(stale, &settings.clients));
        changed.take()
    }
}

#[cfg(test)]
impl Web {
    /// Whether no relation holds anything.
    pub(super) fn is_empty(&self) -> bool {
        let r = &self.relations;
        let relations = [&r.referring, &r.calls, &r.traces, &r.tasks, &r.names, &r.task_agents, &r.taps, &r.spans];
        let others = [&r.records, &r.callers, &r.trace_callers, &r.addresses];
        relations.into_iter().chain(others).all(Relation::is_empty)
            && self.references.is_empty()
            && self.directory.is_empty()
            && self.free.len() == self.entries.len()
    }
}

impl Relations {
    /// Takes back all that a fact says.
    fn unsay(&mut self, entry: &Entry) {
        let keys = &entry.keys;
        for (relation, key) in
            [(&mut self.calls, keys.call), (&mut self.traces, keys.trace), (&mut self.tasks, keys.task)]
        {
            relation.say(key, entry.place.as_deref(), None);
        }
        for means in &entry.means {
            self.names.say(keys.reference, means.as_deref(), None);
        }
        self.task_agents.say(keys.task, entry.found.as_deref(), None);
        self.taps.say(keys.tap, entry.request().as_deref(), None);
        self.spans.say(keys.span, calls::several(entry.is_several), None);
        self.records.say(keys.record, entry.own_call.as_deref(), None);
        self.callers.say(keys.resolved, entry.given_name(), None);
        self.trace_callers.say(keys.trace_of_agent, entry.given_name(), None);
        self.addresses.say(keys.address, entry.caller.as_deref(), None);
    }
}
