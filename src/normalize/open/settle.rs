//! What open pieces give together, and when that is final.
//!
//! In: the pieces held. Out: facts that came and went since the last time; facts that are final, and the pieces that are
//! done with them.

use std::collections::{BTreeMap, HashSet};

use super::piece::{Body, Piece, PieceId};
use super::{Group, OpenNormalizer, Told, address};
use crate::instant::Instant;
use crate::normalize::telemetry::{Around, Context, Joined, group_of_fact};
use crate::tables::{Common, Facts, FactsDelta};

/// Pieces of a settled trace stay so much longer, for those of other traces that are about the same: a log line without a
/// trace and the span of the request that it tells of come by different exporters.
const GRACE_NANOS: i64 = 60 * 1_000_000_000;

/// What is final.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    /// What changed since the last time, as [`OpenNormalizer::join`] tells it.
    pub change: FactsDelta,
    /// Facts that are final from now on: to be stored. All of them were told.
    pub facts: Facts,
    /// What is to be remembered of those that are gone: to be stored.
    pub pieces: Vec<Piece>,
    /// Pieces that need not be stored any longer.
    pub done: Vec<PieceId>,
}

/// What the open pieces give.
struct Now {
    /// Of spans and log records.
    joined: Joined,
    /// Of bare requests and streams.
    waiting: Facts,
}

impl OpenNormalizer {
    /// What the open pieces give together, as a difference to what was told last: facts that came, with those whose call or
    /// record is now another, and ids of facts that went. Facts of [`super::Taken`] and of [`Settled`] do not go.
    ///
    /// Costs with what is open, and nothing if nothing came since the last time.
    pub fn join(&mut self) -> FactsDelta {
        if !self.is_stirred {
            return FactsDelta::default();
        }
        let now = self.now();
        self.tell(&now)
    }

    fn now(&mut self) -> Now {
        let mut waiting = Facts::default();
        for held in self.waiting.values() {
            waiting.append(held.what.facts.clone());
            if let Some(row) = held.what.unsure.as_deref().filter(|row| self.spoken.contains(&address(row))) {
                waiting.push_exchange(row.clone());
            }
        }
        let settings = &self.reader.settings;
        let context = Context { aliases: &settings.aliases, patterns: &settings.patterns };
        let around = Around { context: &context, said: &self.said, known: &self.known, open: &waiting };
        let mut joined = self.held.join(&around);
        joined.facts.make_set();
        Now { joined, waiting }
    }

    fn tell(&mut self, now: &Now) -> FactsDelta {
        self.round += 1;
        self.is_stirred = false;
        let mut came = HashSet::new();
        for common in now.joined.facts.commons() {
            self.tell_one(common, group_of_fact(common), &mut came);
        }
        for common in now.waiting.commons() {
            self.tell_one(common, "", &mut came);
        }
        let mut change = FactsDelta::default();
        let round = self.round;
        self.told.retain(|fact_id, told| {
            let stays = told.round == round || told.is_final;
            if !stays {
                change.removed.insert(fact_id.clone());
            }
            stays
        });
        if !came.is_empty() {
            for facts in [&now.joined.facts, &now.waiting] {
                let mut facts = facts.clone();
                facts.retain(|common| came.remove(&common.fact_id));
                change.added.append(facts);
            }
        }
        change
    }

    fn tell_one(&mut self, common: &Common, group: &str, came: &mut HashSet<String>) {
        let round = self.round;
        if let Some(told) = self.told.get_mut(&common.fact_id) {
            told.round = round;
            if told.is_final || (told.call_id == common.call_id && told.record_id == common.record_id) {
                return;
            }
            told.call_id.clone_from(&common.call_id);
            told.record_id.clone_from(&common.record_id);
        } else {
            let (group, call_id, record_id) = (group.to_owned(), common.call_id.clone(), common.record_id.clone());
            let told = Told { group, call_id, record_id, is_final: false, round };
            self.told.insert(common.fact_id.clone(), told);
        }
        came.insert(common.fact_id.clone());
    }

    /// Settles what nothing was added to since an instant, by arrival.
    ///
    /// Costs with what is open, and next to nothing if nothing came and nothing is due.
    pub fn settle(&mut self, before: Instant) -> Settled {
        if !self.is_stirred && !self.is_due(before) {
            return Settled::default();
        }
        let now = self.now();
        let mut settled = Settled { change: self.tell(&now), ..Settled::default() };
        self.settle_groups(&now, before, &mut settled);
        let Now { joined: Joined { facts, .. }, .. } = now;
        self.finish_facts(facts, &mut settled);
        self.let_go(before, &mut settled);
        self.settle_waiting(before, &mut settled);
        self.settle_unsure(before, &mut settled);
        self.is_stirred |= !settled.done.is_empty() || !settled.pieces.is_empty();
        settled
    }

    /// Whether anything that is open is old enough to settle or to go.
    fn is_due(&self, before: Instant) -> bool {
        let let_go = Instant(before.0.saturating_sub(GRACE_NANOS));
        let is_old = |group: &Group| group.last < if group.is_settled { let_go } else { before };
        self.groups.values().any(is_old)
            || self.waiting.values().any(|held| held.arrived < before)
            || self.unsure.values().flat_map(BTreeMap::values).any(|held| held.arrived < before)
    }

    fn settle_groups(&mut self, now: &Now, before: Instant, settled: &mut Settled) {
        let mut quiet: HashSet<String> = HashSet::new();
        for (name, group) in &mut self.groups {
            if !group.is_settled && group.last < before {
                group.is_settled = true;
                quiet.insert(name.clone());
            }
        }
        for lesson in self.held.lessons(&now.joined, |group| quiet.contains(group)) {
            self.learn(lesson, before, &mut settled.pieces, &mut settled.done);
        }
    }

    /// Facts of settled traces are final, those too that others gave them since.
    fn finish_facts(&mut self, mut facts: Facts, settled: &mut Settled) {
        facts.retain(|common| {
            let is_settled = self.groups.get(group_of_fact(common)).is_some_and(|group| group.is_settled);
            match self.told.get_mut(&common.fact_id) {
                Some(told) if is_settled => !std::mem::replace(&mut told.is_final, true),
                _ => false,
            }
        });
        settled.facts.append(facts);
    }

    /// Forgets the pieces of traces that were settled long enough.
    fn let_go(&mut self, before: Instant, settled: &mut Settled) {
        let before = Instant(before.0.saturating_sub(GRACE_NANOS));
        let gone: HashSet<String> =
            self.groups.extract_if(|_, group| group.is_settled && group.last < before).map(|(name, _)| name).collect();
        if gone.is_empty() {
            return;
        }
        for piece in self.held.split_off(|group| gone.contains(group)) {
            let id = Body::Telemetry(piece).id();
            self.ids.remove(&id);
            self.gone.add(id);
            settled.done.push(id);
        }
        self.told.retain(|_, told| !gone.contains(&told.group));
        for group in gone {
            self.said.forget(&group);
            self.gone_groups.add(group);
        }
    }

    fn settle_waiting(&mut self, before: Instant, settled: &mut Settled) {
        for (key, held) in self.waiting.extract_if(.., |_, held| held.arrived < before) {
            self.reader.documents.give_up(&held.what);
            settled.done.push(PieceId::of_waiting(&key));
            let mut facts = held.what.facts;
            if let Some(row) = held.what.unsure.filter(|row| self.spoken.contains(&address(row))) {
                facts.push_exchange(*row);
            }
            for common in facts.commons() {
                self.told.remove(&common.fact_id);
            }
            settled.facts.append(facts);
        }
    }

    fn settle_unsure(&mut self, before: Instant, settled: &mut Settled) {
        for rows in self.unsure.values_mut() {
            for (fact_id, _) in rows.extract_if(.., |_, held| held.arrived < before) {
                settled.done.push(PieceId::of_unsure(&fact_id));
                self.load.given_up += 1;
                self.reader.counts.not_a2a += 1;
            }
        }
        self.unsure.retain(|_, rows| !rows.is_empty());
    }
}
