//! When what is open is final.
//!
//! In: what traces are settled with, and what waits. Out: facts that are final, lessons to keep, pieces that are done.

use std::collections::BTreeMap;

use super::joining::{Place, Settled};
use super::traces::Final;
use super::{OpenNormalizer, PieceId, address};
use crate::instant::Instant;

impl OpenNormalizer {
    /// Whether anything that is open is old enough to settle or to go.
    pub(super) fn is_due(&self, before: Instant) -> bool {
        matches!(&self.traces, Place::Here(traces) if traces.is_due(before))
            || self.waiting.values().any(|held| held.arrived < before)
            || self.unsure.values().flat_map(BTreeMap::values).any(|held| held.arrived < before)
    }

    /// Remembers what settled traces taught, and forgets pieces.
    pub(super) fn settle_traces(&mut self, settled: Final, before: Instant, done: &mut Settled) {
        let Final { facts, lessons, done: gone } = settled;
        for lesson in lessons {
            self.learn(lesson, before, &mut done.pieces, &mut done.done);
        }
        for id in &gone {
            self.ids.remove(id);
            self.gone.add(*id);
        }
        done.facts.append(facts);
        done.done.extend(gone);
    }

    /// What nothing came for says for good what it says as it stands.
    pub(super) fn settle_waiting(&mut self, before: Instant, done: &mut Settled) {
        for (key, held) in self.waiting.extract_if(.., |_, held| held.arrived < before) {
            self.reader.documents.give_up(&held.what);
            done.done.push(PieceId::of_waiting(&key));
            let mut facts = held.what.facts;
            if let Some(row) = held.what.unsure.filter(|row| self.spoken.contains(&address(row))) {
                facts.push_exchange(*row);
            }
            if let Place::Here(traces) = &mut self.traces {
                // An address may have spoken A2A since what waits was read.
                done.change.added.append(traces.untold(&facts));
                traces.forget_told(&facts);
            }
            done.facts.append(facts);
        }
    }

    /// Gives up calls that may be A2A or not.
    pub(super) fn settle_unsure(&mut self, before: Instant, done: &mut Settled) {
        for rows in self.unsure.values_mut() {
            for (fact_id, _) in rows.extract_if(.., |_, held| held.arrived < before) {
                done.done.push(PieceId::of_unsure(&fact_id));
                self.load.given_up += 1;
                self.reader.counts.not_a2a += 1;
            }
        }
        self.unsure.retain(|_, rows| !rows.is_empty());
    }
}
