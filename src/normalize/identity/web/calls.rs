//! The steps of [`super::super::calls`], for the facts that they concern.

use super::{Stale, Web};
use crate::normalize::identity::calls::rpc_call;
use crate::normalize::identity::relation::Slot;
use crate::tables::Fact;

/// What is said of a span under which a tap saw several requests.
pub(super) fn several(is_several: bool) -> Option<&'static str> {
    is_several.then_some("several")
}

impl Web {
    /// Facts that are of another call now; `stale` came or are of another agent.
    pub(super) fn resolve_calls(&mut self, stale: &[Slot]) -> Vec<Slot> {
        let (mut taps, mut calls) = (Stale { slots: stale.to_vec() }, Stale { slots: stale.to_vec() });
        self.relations.taps.settle(&mut taps.slots);
        taps.take().into_iter().for_each(|slot| self.tell_span(slot));
        self.relations.spans.settle(&mut calls.slots);
        let slots = calls.take();
        slots.iter().for_each(|slot| self.tell_record(*slot));
        calls.slots = slots;
        self.relations.records.settle(&mut calls.slots);
        calls.take().into_iter().filter(|slot| self.call(*slot)).collect()
    }

    /// Says of the span whether its tap saw several requests under it.
    fn tell_span(&mut self, slot: Slot) {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let is_several = self.relations.taps.outcome(entry.keys.tap).is_some();
        self.relations.spans.say(entry.keys.span, several(entry.is_several), several(is_several));
        entry.is_several = is_several;
    }

    /// Says of the record which call the exchange is.
    fn tell_record(&mut self, slot: Slot) {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let seen = entry.seen_call();
        let Fact::Exchange(row) = &entry.fact else { return };
        let call = if seen.is_empty() {
            rpc_call(row, &row.common.agent)
        } else if self.relations.spans.outcome(entry.keys.span).is_some() {
            format!("{seen}:{}", entry.request().unwrap_or_default())
        } else {
            seen
        };
        let call = (!call.is_empty()).then_some(call);
        self.relations.records.say(entry.keys.record, entry.own_call.as_deref(), call.as_deref());
        if call.as_deref() != entry.own_call.as_deref() {
            entry.own_call = call.map(Into::into);
        }
    }

    /// The call; whether it is another than before.
    fn call(&mut self, slot: Slot) -> bool {
        let Some(entry) = self.entries.get_mut(slot as usize).and_then(Option::as_mut) else { return false };
        let call = match (self.relations.records.outcome(entry.keys.record), &entry.fact) {
            (Some(call), _) => call.to_string(),
            (None, Fact::Exchange(_)) => entry.own_call.as_deref().unwrap_or_default().to_owned(),
            (None, Fact::PushDelivery(row)) => match entry.seen_call() {
                alone if alone.is_empty() => format!("fact:{}", row.common.fact_id),
                seen => seen,
            },
            (None, _) => entry.seen_call(),
        };
        let common = entry.fact.common_mut();
        let is_other = common.call_id != call;
        common.call_id = call;
        is_other
    }
}
