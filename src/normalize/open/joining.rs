//! Reading what is open anew, wherever that is done.
//!
//! In: the open traces, lent. Out: the same, with what they give, which is taken back when it is done. It takes long where
//! much is open: meanwhile records are taken in, and what they add to traces is kept until those are back.

use std::collections::HashSet;
use std::sync::Arc;

use super::piece::Piece;
use super::traces::{Final, Traces};
use super::{Load, OpenNormalizer, PieceId, address};
use crate::instant::Instant;
use crate::normalize::NormalizerSettings;
use crate::normalize::telemetry::{self, Knowledge};
use crate::tables::{Facts, FactsDelta};

/// Where the open traces are.
#[derive(Debug)]
pub(super) enum Place {
    /// Here.
    Here(Box<Traces>),
    /// They are being read.
    Lent(Later),
}

/// What is to be told to traces when they are back.
#[derive(Debug)]
pub(super) struct Later {
    pieces: Vec<(telemetry::Piece, Instant)>,
    facts: Vec<(Facts, Instant)>,
    /// How much they were when they were lent.
    load: Load,
}

/// What is open, to be read by [`Joining::run`] on any thread, and given back to [`OpenNormalizer::end_join`].
#[derive(Debug)]
pub struct Joining {
    traces: Box<Traces>,
    settings: Arc<NormalizerSettings>,
    known: Arc<Knowledge>,
    /// What bare requests and streams give as they stand.
    waiting: Facts,
    settle: Option<Instant>,
}

/// What was open, read.
#[derive(Debug)]
pub struct Read {
    traces: Box<Traces>,
    change: FactsDelta,
    settled: Option<(Instant, Final)>,
}

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

impl Default for Place {
    fn default() -> Self {
        Self::Here(Box::default())
    }
}

impl Place {
    /// A piece that is new.
    pub(super) fn hold(&mut self, piece: &telemetry::Piece, arrived: Instant) {
        match self {
            Self::Here(traces) => traces.hold(piece.clone(), arrived),
            Self::Lent(later) => later.pieces.push((piece.clone(), arrived)),
        }
    }

    /// What records said alone, for good.
    pub(super) fn hear_final(&mut self, facts: &Facts, arrived: Instant) {
        match self {
            Self::Here(traces) => traces.hear_final(facts, arrived),
            Self::Lent(later) if !facts.is_empty() => later.facts.push((facts.clone(), arrived)),
            Self::Lent(_) => {}
        }
    }

    /// How much is open; of traces that are lent, as they were.
    pub(super) fn load(&self) -> Load {
        match self {
            Self::Here(traces) => traces.load(),
            Self::Lent(Later { pieces, load, .. }) => Load { pieces: load.pieces + pieces.len(), ..*load },
        }
    }
}

impl Joining {
    /// Reads. Costs with what is open.
    pub fn run(self) -> Read {
        let Self { mut traces, settings, known, waiting, settle } = self;
        let joined = traces.join(&settings, &known, &waiting);
        let change = traces.tell(&joined.facts, &waiting);
        let settled = settle.map(|before| (before, traces.settle(joined, before)));
        Read { traces, change, settled }
    }
}

impl OpenNormalizer {
    /// What the open pieces give together, as a difference to what was told last: facts that came, with those whose call or
    /// record is now another, and ids of facts that went. Facts of [`super::Taken`] and of [`Settled`] do not go.
    ///
    /// Costs with what is open, and nothing if nothing came since the last time.
    pub fn join(&mut self) -> FactsDelta {
        self.begin_join(None).map(|joining| self.end_join(joining.run()).change).unwrap_or_default()
    }

    /// As [`OpenNormalizer::join`]; and settles what nothing was added to since an instant, by arrival.
    ///
    /// Costs with what is open, and next to nothing if nothing came and nothing is due.
    pub fn settle(&mut self, before: Instant) -> Settled {
        self.begin_join(Some(before)).map(|joining| self.end_join(joining.run())).unwrap_or_default()
    }

    /// Lends what is open to be read, and settled where an instant is given; nothing if that would tell nothing new, or it
    /// is lent already. Until it is back records can be taken as ever.
    pub fn begin_join(&mut self, settle: Option<Instant>) -> Option<Joining> {
        let is_due = settle.is_some_and(|before| self.is_due(before));
        if !self.is_stirred && !is_due {
            return None;
        }
        let Place::Here(traces) = &mut self.traces else { return None };
        let later = Later { pieces: Vec::new(), facts: Vec::new(), load: traces.load() };
        let traces = std::mem::take(traces);
        self.traces = Place::Lent(later);
        self.is_stirred = false;
        let (settings, known) = (Arc::clone(&self.reader.settings), Arc::clone(&self.known));
        Some(Joining { traces, settings, known, waiting: self.waiting_facts(), settle })
    }

    fn waiting_facts(&self) -> Facts {
        let mut waiting = Facts::default();
        for held in self.waiting.values() {
            waiting.append(held.what.facts.clone());
            if let Some(row) = held.what.unsure.as_deref().filter(|row| self.spoken.contains(&address(row))) {
                waiting.push_exchange(row.clone());
            }
        }
        waiting
    }

    /// Takes back what was lent. What records said for good meanwhile is not told again, nor taken back.
    pub fn end_join(&mut self, read: Read) -> Settled {
        let Read { mut traces, mut change, settled } = read;
        if let Place::Lent(Later { pieces, facts, .. }) = std::mem::take(&mut self.traces) {
            let said: HashSet<&str> =
                facts.iter().flat_map(|(facts, _)| facts.commons()).map(|common| common.fact_id.as_str()).collect();
            change.added.retain(|common| !said.contains(common.fact_id.as_str()));
            change.removed.retain(|fact_id| !said.contains(fact_id.as_str()));
            pieces.into_iter().for_each(|(piece, arrived)| traces.hold(piece, arrived));
            facts.iter().for_each(|(facts, arrived)| traces.hear_final(facts, *arrived));
        }
        self.traces = Place::Here(traces);
        let mut done = Settled { change, ..Settled::default() };
        if let Some((before, settled)) = settled {
            self.settle_traces(settled, before, &mut done);
            self.settle_waiting(before, &mut done);
            self.settle_unsure(before, &mut done);
            self.is_stirred |= !done.done.is_empty() || !done.pieces.is_empty();
        }
        done
    }
}
