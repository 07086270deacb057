//! The open pieces of traces, and what they give together.
//!
//! In: pieces and facts, as records tell them. Out: the difference to what was told last; facts that are final, and what is
//! done with them. Knows no store, and nothing of what waits without a trace.

use std::collections::{HashMap, HashSet};

use super::piece::{Body, PieceId};
use super::{Load, MOST_GONE};
use crate::instant::Instant;
use crate::normalize::NormalizerSettings;
use crate::normalize::telemetry::{
    self, Around, Context, Joined, Knowledge, Lesson, Recent, Said, Telemetry, group_of_fact,
};
use crate::tables::{Common, Facts, FactsDelta};

/// Pieces of a settled trace stay so much longer, for those of other traces that are about the same: a log line without a
/// trace and the span of the request that it tells of come by different exporters.
const GRACE_NANOS: i64 = 60 * 1_000_000_000;

/// What is open of traces.
#[derive(Debug)]
pub(super) struct Traces {
    /// Pieces of spans and log records.
    held: Telemetry,
    groups: HashMap<String, Group>,
    said: Said,
    told: HashMap<String, Told>,
    round: u64,
    gone: Recent<String>,
    late: u64,
}

/// Pieces that are read together: those of a trace.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// When the last of them arrived.
    last: Instant,
    /// Its facts are final.
    is_settled: bool,
}

/// A joined fact as it was last told.
#[derive(Debug)]
struct Told {
    group: String,
    /// Columns that may change and are no content.
    call_id: String,
    record_id: String,
    is_final: bool,
    /// The round in which it was last there.
    round: u64,
}

/// What of traces is final.
#[derive(Debug, Default)]
pub(super) struct Final {
    /// Facts, all of which were told.
    pub(super) facts: Facts,
    /// What they taught.
    pub(super) lessons: Vec<Lesson>,
    /// Pieces that are done.
    pub(super) done: Vec<PieceId>,
}

impl Default for Traces {
    fn default() -> Self {
        Self {
            held: Telemetry::default(),
            groups: HashMap::new(),
            said: Said::default(),
            told: HashMap::new(),
            round: 0,
            gone: Recent::new(MOST_GONE),
            late: 0,
        }
    }
}

impl Traces {
    /// Takes a piece that is new.
    pub(super) fn hold(&mut self, piece: telemetry::Piece, arrived: Instant) {
        self.touch(&piece.group(), arrived);
        self.held.put(piece);
    }

    /// Takes note that something of a group arrived.
    fn touch(&mut self, group: &str, arrived: Instant) {
        if let Some(group) = self.groups.get_mut(group) {
            self.late += u64::from(group.is_settled);
            *group = Group { last: group.last.max(arrived), is_settled: false };
            return;
        }
        self.late += u64::from(self.gone.contains(group));
        self.groups.insert(group.to_owned(), Group { last: arrived, is_settled: false });
    }

    /// Takes note of what records said alone: for good, also where it was told while it was open.
    pub(super) fn hear_final(&mut self, facts: &Facts, arrived: Instant) {
        self.forget_told(facts);
        self.hear(facts, |_| arrived);
    }

    /// Takes note of what is said of traces.
    pub(super) fn hear(&mut self, facts: &Facts, arrived: impl Fn(Option<Instant>) -> Instant) {
        self.said.add(facts);
        let received = facts.commons().filter(|common| !common.trace_id.is_empty());
        let arrivals: HashMap<&str, Instant> =
            received.map(|common| (common.trace_id.as_str(), arrived(common.received_at))).collect();
        for trace in Said::traces_of(facts) {
            self.touch(trace, arrivals.get(trace).copied().unwrap_or_default());
        }
    }

    /// Those of some facts that were not told.
    pub(super) fn untold(&self, facts: &Facts) -> Facts {
        let mut untold = facts.clone();
        untold.retain(|common| !self.told.contains_key(&common.fact_id));
        untold
    }

    /// Facts that are none of these any longer, but stay.
    pub(super) fn forget_told(&mut self, facts: &Facts) {
        for common in facts.commons() {
            self.told.remove(&common.fact_id);
        }
    }

    /// What is told of a restart is not late.
    pub(super) fn begin_anew(&mut self) {
        self.late = 0;
    }

    /// What the pieces give together.
    pub(super) fn join(&mut self, settings: &NormalizerSettings, known: &Knowledge, waiting: &Facts) -> Joined {
        let context = Context { aliases: &settings.aliases, patterns: &settings.patterns };
        let around = Around { context: &context, said: &self.said, known, open: waiting };
        let mut joined = self.held.join(&around);
        joined.facts.make_set();
        joined
    }

    /// The difference to what was told last.
    pub(super) fn tell(&mut self, joined: &Facts, waiting: &Facts) -> FactsDelta {
        self.round += 1;
        let mut came = HashSet::new();
        for common in joined.commons() {
            self.tell_one(common, group_of_fact(common), &mut came);
        }
        for common in waiting.commons() {
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
            for facts in [joined, waiting] {
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

    /// Whether any is old enough to settle or to go.
    pub(super) fn is_due(&self, before: Instant) -> bool {
        let let_go = Instant(before.0.saturating_sub(GRACE_NANOS));
        self.groups.values().any(|group| group.last < if group.is_settled { let_go } else { before })
    }

    /// Settles what nothing was added to since an instant, by arrival.
    pub(super) fn settle(&mut self, joined: Joined, before: Instant) -> Final {
        let lessons = self.settle_groups(&joined, before);
        Final { lessons, facts: self.finish_facts(joined.facts), done: self.let_go(before) }
    }

    fn settle_groups(&mut self, joined: &Joined, before: Instant) -> Vec<Lesson> {
        let mut quiet: HashSet<&str> = HashSet::new();
        for (name, group) in &mut self.groups {
            if !group.is_settled && group.last < before {
                group.is_settled = true;
                quiet.insert(name);
            }
        }
        self.held.lessons(joined, |group| quiet.contains(group))
    }

    /// Facts of settled traces are final, those too that others gave them since.
    fn finish_facts(&mut self, mut facts: Facts) -> Facts {
        facts.retain(|common| {
            let is_settled = self.groups.get(group_of_fact(common)).is_some_and(|group| group.is_settled);
            match self.told.get_mut(&common.fact_id) {
                Some(told) if is_settled => !std::mem::replace(&mut told.is_final, true),
                _ => false,
            }
        });
        facts
    }

    /// Forgets the pieces of traces that were settled long enough.
    fn let_go(&mut self, before: Instant) -> Vec<PieceId> {
        let before = Instant(before.0.saturating_sub(GRACE_NANOS));
        let gone: HashSet<String> =
            self.groups.extract_if(|_, group| group.is_settled && group.last < before).map(|(name, _)| name).collect();
        if gone.is_empty() {
            return Vec::new();
        }
        let pieces = self.held.split_off(|group| gone.contains(group));
        self.told.retain(|_, told| !gone.contains(&told.group));
        for group in gone {
            self.said.forget(&group);
            self.gone.add(group);
        }
        pieces.into_iter().map(|piece| Body::Telemetry(piece).id()).collect()
    }

    /// What is open of traces, and came late for them.
    pub(super) fn load(&self) -> Load {
        let (pieces, groups, joined) = (self.held.len(), self.groups.len(), self.told.len());
        Load { pieces, groups, joined, late: self.late, ..Load::default() }
    }
}
