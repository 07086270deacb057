//! The steps of [`super::super::clients`], for the facts that they concern.

use super::{Stale, Web};
use crate::normalize::identity::clients::may_take_a_name;
use crate::normalize::identity::directory::Aliases;
use crate::normalize::identity::relation::{NO_KEY, Slot};

impl Web {
    /// Facts that are of another client now; `stale` came, or are of another agent or call.
    pub(super) fn resolve_clients(&mut self, stale: Vec<Slot>, names: &Aliases) -> Vec<Slot> {
        let mut stale = Stale { slots: stale };
        let slots = stale.take();
        slots.iter().for_each(|slot| self.tell_name_of_caller(*slot));
        stale.slots = slots;
        self.relations.callers.settle(&mut stale.slots);
        self.relations.trace_callers.settle(&mut stale.slots);
        let slots = stale.take();
        slots.iter().for_each(|slot| self.tell_address(*slot));
        stale.slots = slots;
        self.relations.addresses.settle(&mut stale.slots);
        stale.take().into_iter().filter(|slot| self.client(*slot, names)).collect()
    }

    /// Says of the call, and of the trace at the agent, what the caller calls itself; or waits for others to say it.
    fn tell_name_of_caller(&mut self, slot: Slot) {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let common = entry.fact.common();
        let resolved = self.keys.some(&common.call_id);
        let trace = if common.trace_id.is_empty() { NO_KEY } else { self.keys.of(&[&common.trace_id, &common.agent]) };
        let (wants, before) = (entry.wants_name(), (entry.keys.resolved, entry.keys.trace_of_agent));
        let name = entry.given_name();
        let relations = &mut self.relations;
        for (relation, before, now) in
            [(&mut relations.callers, before.0, resolved), (&mut relations.trace_callers, before.1, trace)]
        {
            if before != now {
                relation.say(before, name, None);
                relation.leave(before, slot);
                relation.say(now, None, name);
                if wants {
                    relation.join(now, slot);
                }
            }
        }
        (entry.keys.resolved, entry.keys.trace_of_agent) = (resolved, trace);
    }

    /// Says of the address which name others give its caller; or waits for others to say it.
    fn tell_address(&mut self, slot: Slot) {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let (keys, relations) = (&entry.keys, &mut self.relations);
        let caller = if entry.wants_name() {
            let by_trace = || relations.trace_callers.outcome(keys.trace_of_agent);
            relations.callers.outcome(keys.resolved).or_else(by_trace).cloned()
        } else {
            None
        };
        match caller {
            Some(_) => relations.addresses.leave(keys.address, slot),
            None => relations.addresses.join(keys.address, slot),
        }
        relations.addresses.say(keys.address, entry.caller.as_deref(), caller.as_deref());
        entry.caller = caller;
    }

    /// The client; whether it is another than before.
    fn client(&mut self, slot: Slot, names: &Aliases) -> bool {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return false };
        let common = entry.fact.common();
        let by_address = || self.relations.addresses.outcome(entry.keys.address).filter(|_| may_take_a_name(common));
        let given = entry.caller.as_ref().or_else(by_address).map_or(common.client_ref.as_str(), |name| name);
        let client =
            names.get(&common.client_ref).or_else(|| names.get(given)).map_or(given, String::as_str).to_owned();
        let common = entry.fact.common_mut();
        let is_other = common.client != client;
        common.client = client;
        is_other
    }
}
