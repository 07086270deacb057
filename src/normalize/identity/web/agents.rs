//! The steps of [`super::super::agents`], for the facts that they concern.

use super::{Stale, Web};
use crate::normalize::identity::directory::{Aliases, Name, Reference};
use crate::normalize::identity::relation::Slot;

impl Web {
    /// Facts that are of another agent now.
    pub(super) fn resolve_agents(&mut self, fresh: &[Slot], aliases: &Aliases) -> Vec<Slot> {
        let regrouped = self.directory.settle(aliases);
        let (mut placed, mut stale) = (Stale { slots: fresh.to_vec() }, Stale::default());
        for reference in self.references.refresh(&regrouped, &self.directory, aliases) {
            placed.slots.extend(self.relations.referring.members(reference));
            stale.slots.extend(self.relations.names.members(reference));
        }
        stale.slots.extend(fresh);
        for slot in placed.take() {
            if self.place(slot) {
                stale.slots.push(slot);
            }
        }
        let relations = &mut self.relations;
        for relation in [&mut relations.calls, &mut relations.traces, &mut relations.tasks] {
            relation.settle(&mut stale.slots);
        }
        let slots = stale.take();
        slots.iter().for_each(|slot| self.tell_name(*slot));
        stale.slots = slots;
        self.relations.names.settle(&mut stale.slots);
        let mut given = Stale { slots: fresh.to_vec() };
        for slot in stale.take() {
            if self.find(slot) {
                given.slots.push(slot);
            }
        }
        self.relations.task_agents.settle(&mut given.slots);
        given.take().into_iter().filter(|slot| self.give(*slot)).collect()
    }

    /// The agent that the record itself names; whether that is another than before.
    fn place(&mut self, slot: Slot) -> bool {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return false };
        let place = self.references.get(entry.keys.reference).and_then(|meaning| meaning.agent.clone());
        if place == entry.place {
            return false;
        }
        let (keys, relations) = (&entry.keys, &mut self.relations);
        for (relation, key) in
            [(&mut relations.calls, keys.call), (&mut relations.traces, keys.trace), (&mut relations.tasks, keys.task)]
        {
            relation.say(key, entry.place.as_deref(), place.as_deref());
        }
        entry.place = place;
        true
    }

    /// Says of a name which agent it seems to mean.
    fn tell_name(&mut self, slot: Slot) {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let (keys, relations) = (&entry.keys, &mut self.relations);
        let reference = self.references.get(keys.reference).map(|meaning| &meaning.reference);
        let mut means = [None, None];
        if let (None, Some(reference @ (Reference::Service(_) | Reference::Card(_)))) = (&entry.place, reference) {
            let by_trace =
                || relations.traces.outcome(keys.trace).filter(|_| matches!(reference, Reference::Service(_)));
            let by_call = relations.calls.outcome(keys.call).or_else(by_trace);
            means = [by_call.cloned(), relations.tasks.outcome(keys.task).cloned()];
        }
        for (before, now) in entry.means.iter().zip(&means) {
            relations.names.say(keys.reference, before.as_deref(), now.as_deref());
        }
        entry.means = means;
    }

    /// The agent by all but what its task was given; whether that is another than before.
    fn find(&mut self, slot: Slot) -> bool {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return false };
        let (keys, relations) = (&entry.keys, &mut self.relations);
        let meaning = self.references.get(keys.reference);
        let is_card = meaning.is_some_and(|meaning| matches!(meaning.reference, Reference::Card(_)));
        let by_trace = || relations.traces.outcome(keys.trace).filter(|_| !is_card);
        let told: Option<Name> =
            entry.place.as_ref().or_else(|| relations.calls.outcome(keys.call).or_else(by_trace)).cloned();
        let named = meaning.filter(|meaning| meaning.reference.name().is_some());
        let found = match (told, named) {
            (Some(agent), _) => {
                relations.names.leave(keys.reference, slot);
                Some(agent)
            }
            (None, Some(meaning)) => {
                relations.names.join(keys.reference, slot);
                relations.names.outcome(keys.reference).or(meaning.by_name.as_ref()).cloned()
            }
            (None, None) => None,
        };
        match found {
            Some(_) => relations.task_agents.leave(keys.task, slot),
            None => relations.task_agents.join(keys.task, slot),
        }
        if found == entry.found {
            return false;
        }
        relations.task_agents.say(keys.task, entry.found.as_deref(), found.as_deref());
        entry.found = found;
        true
    }

    /// The agent; what has none takes that of its task. Whether it is another than before.
    fn give(&mut self, slot: Slot) -> bool {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return false };
        let agent = entry.found.as_ref().or_else(|| self.relations.task_agents.outcome(entry.keys.task));
        let agent = agent.map_or("", |agent| agent);
        let common = entry.fact.common_mut();
        let is_other = common.agent != agent;
        if is_other {
            agent.clone_into(&mut common.agent);
        }
        is_other
    }
}
