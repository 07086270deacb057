//! Records to facts while they come: those of one trace in several deliveries, in any order, some of them twice.
//!
//! In: records; [`Piece`]s that were stored. Out: facts that one record says alone, which are final; pieces of those that
//! others may add to; and, as a difference to what was last told, the facts that the open pieces give together. At any time
//! final and joined facts together are what [`Normalizer`] makes of the same records.
//!
//! A trace that nothing was added to for a while is settled: its facts are final, and its pieces leave memory. What it
//! taught for others stays ([`super::telemetry`] calls it lessons). From then on facts can differ from those of the batch:
//!
//! - A span or record that comes for a settled trace is read without those that are gone ([`Load::late`]).
//! - What a settled trace said is not judged again by what is learnt later: a base of REST paths, a service that answers
//!   calls or whose requests are seen, a webhook's url, another end of its task, the first call where logs only mentioned
//!   some.
//! - An address that is found to speak A2A after its doubtful calls were given up ([`Load::given_up`]).
//! - An answer to a bare JSON-RPC request that was read before a restart ([`Load::torn`]): bodies are never stored.
//! - Lessons are the newest 32768 of each kind.

mod account;
mod joining;
mod piece;
mod settle;
mod traces;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

pub use self::account::Load;
pub use self::joining::{Joining, Read, Settled};
pub use self::piece::{Piece, PieceError, PieceId};

use self::joining::Place;
use self::piece::Body;
use super::document::Waiting;
use super::telemetry::{self, Knowledge, Learnt, Lesson, Recent};
use super::{Arrival, Counts, Normalizer, NormalizerSettings, address};
use crate::decode::record::{Record, Reject};
use crate::instant::Instant;
use crate::tables::{ExchangeRow, Facts};

/// Addresses that are known to speak A2A.
const MOST_ADDRESSES: usize = 1 << 15;
/// Pieces and groups that are remembered after they are gone, to know what comes late or again.
const MOST_GONE: usize = 1 << 16;
/// Sources whose last time is kept for records that have none.
const MOST_CLOCKS: usize = 1 << 14;

/// Records to facts while they come.
#[derive(Debug)]
pub struct OpenNormalizer {
    /// Reads records; what came since the last [`OpenNormalizer::take`] is in there.
    reader: Normalizer,
    ids: HashSet<PieceId>,
    traces: Place,
    known: Arc<Knowledge>,
    /// Requests and streams that something may still come for.
    waiting: BTreeMap<String, Held<Waiting>>,
    /// Calls that may be A2A or not, by address and `fact_id`.
    unsure: HashMap<String, BTreeMap<String, Held<ExchangeRow>>>,
    spoken: Recent<String>,
    clocks: HashMap<Arc<str>, Instant>,
    /// Something came or went since the last time that facts were told.
    is_stirred: bool,
    gone: Recent<PieceId>,
    load: Load,
}

/// Something that waits, and since when.
#[derive(Debug)]
struct Held<T> {
    arrived: Instant,
    what: T,
}

/// What came since the last time: to be stored before the records are acknowledged.
#[derive(Debug, Clone, Default)]
pub struct Taken {
    /// Facts that records said alone: final. Identities are not resolved.
    pub facts: Facts,
    /// Pieces that are open.
    pub pieces: Vec<Piece>,
    /// Pieces that need not be stored any longer.
    pub done: Vec<PieceId>,
}

/// Records that are dated later than they arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ahead {
    /// Records that were not taken for that.
    pub refused: u64,
    /// The most by which any of them was ahead, those not taken included.
    pub by: Duration,
}

impl OpenNormalizer {
    /// A normaliser without records.
    pub fn new(settings: NormalizerSettings) -> Self {
        Self {
            reader: Normalizer::new(settings),
            ids: HashSet::new(),
            traces: Place::default(),
            known: Arc::new(Knowledge::bounded()),
            waiting: BTreeMap::new(),
            unsure: HashMap::new(),
            spoken: Recent::new(MOST_ADDRESSES),
            clocks: HashMap::new(),
            is_stirred: false,
            gone: Recent::new(MOST_GONE),
            load: Load::default(),
        }
    }

    /// Reads what comes from now on, and open traces as a whole, by other words.
    pub fn reword(&mut self, settings: NormalizerSettings) {
        self.reader.settings = Arc::new(settings);
        self.is_stirred = true;
    }

    /// Takes a record. Records of one source without a time of their own, and bare JSON-RPC, are read in their order.
    pub fn record(&mut self, record: Record) {
        self.reader.record(record);
    }

    /// Takes the records of a body that arrived by itself: those without a time have the last of it, and none of others.
    pub fn body(&mut self, records: Vec<Record>, arrival: Arrival) -> Ahead {
        let others = self.reader.clocks.replace(HashMap::new());
        let ahead = self.grown(records, arrival);
        self.reader.clocks.replace(others);
        ahead
    }

    /// As [`OpenNormalizer::body`], of a source that goes on: what has no time has the last of what came before.
    pub fn grown(&mut self, records: Vec<Record>, arrival: Arrival) -> Ahead {
        self.reader.arrive(arrival);
        let mut ahead = Ahead::default();
        for record in records {
            let by = arrival.ahead_by(&record);
            ahead.by = ahead.by.max(by);
            if by > arrival.most_ahead {
                ahead.refused += 1;
            } else {
                self.reader.record(record);
            }
        }
        self.reader.clocks.arrival = None;
        ahead
    }

    /// What the records since the last time gave; `arrived` is when they arrived. Pieces that are there already are not
    /// given again.
    pub fn take(&mut self, arrived: Instant) -> Taken {
        let mut taken = Taken { facts: std::mem::take(&mut self.reader.facts), ..Taken::default() };
        self.take_waiting(arrived, &mut taken);
        self.take_spoken(arrived, &mut taken);
        self.take_pieces(arrived, &mut taken);
        self.take_clocks(arrived, &mut taken);
        for lesson in Knowledge::of_facts(&taken.facts) {
            self.learn(lesson, arrived, &mut taken.pieces, &mut taken.done);
        }
        // A stream that has ended says for good what it said while it was open.
        self.traces.hear_final(&taken.facts, arrived);
        self.is_stirred |= !(taken.facts.is_empty() && taken.pieces.is_empty() && taken.done.is_empty());
        taken
    }

    fn take_waiting(&mut self, arrived: Instant, taken: &mut Taken) {
        for key in self.reader.documents.closed() {
            if self.waiting.remove(&key).is_some() {
                taken.done.push(PieceId::of_waiting(&key));
            }
        }
        for waiting in self.reader.documents.stirred(&self.reader.settings.patterns) {
            for address in waiting.facts.exchanges.iter().map(address) {
                self.speak(address, arrived, taken);
            }
            taken.pieces.push(Piece::new(arrived, Body::Waiting(Box::new(waiting.clone()))));
            self.waiting.insert(waiting.key.clone(), Held { arrived, what: waiting });
        }
    }

    /// Calls that may be A2A are, if their address speaks it.
    fn take_spoken(&mut self, arrived: Instant, taken: &mut Taken) {
        let mut addresses: Vec<String> = taken.facts.exchanges.iter().map(address).collect();
        addresses.sort();
        addresses.dedup();
        for address in addresses {
            self.speak(address, arrived, taken);
        }
        for row in std::mem::take(&mut self.reader.unsure) {
            let address = address(&row);
            if self.spoken.contains(&address) {
                taken.facts.push_exchange(row);
                continue;
            }
            let piece = Piece::new(arrived, Body::Unsure(Box::new(row)));
            if self.hold_unsure(&piece) {
                taken.pieces.push(piece);
            }
        }
    }

    fn speak(&mut self, address: String, arrived: Instant, taken: &mut Taken) {
        let telemetry::Added::New(forgotten) = self.spoken.add(address.clone()) else { return };
        taken.done.extend(forgotten.map(|address| Body::Spoken(address).id()));
        for (fact_id, row) in self.unsure.remove(&address).into_iter().flatten() {
            taken.done.push(PieceId::of_unsure(&fact_id));
            taken.facts.push_exchange(row.what);
        }
        taken.pieces.push(Piece::new(arrived, Body::Spoken(address)));
    }

    /// Whether it is new.
    fn hold_unsure(&mut self, piece: &Piece) -> bool {
        let Body::Unsure(row) = piece.body() else { return false };
        let rows = self.unsure.entry(address(row)).or_default();
        let is_new = !rows.contains_key(&row.common.fact_id);
        if is_new {
            rows.insert(row.common.fact_id.clone(), Held { arrived: piece.arrived(), what: (**row).clone() });
        }
        is_new
    }

    fn take_pieces(&mut self, arrived: Instant, taken: &mut Taken) {
        for piece in self.reader.telemetry.drain() {
            let piece = Piece::new(arrived, Body::Telemetry(piece));
            if self.gone.contains(&piece.id()) {
                self.load.again += 1;
            } else if self.hold(&piece) {
                taken.pieces.push(piece);
            }
        }
    }

    /// Whether it is new.
    fn hold(&mut self, piece: &Piece) -> bool {
        let Body::Telemetry(kept) = piece.body() else { return false };
        if !self.ids.insert(piece.id()) {
            return false;
        }
        self.traces.hold(kept, piece.arrived());
        true
    }

    fn take_clocks(&mut self, arrived: Instant, taken: &mut Taken) {
        if self.reader.clocks.all().len() > MOST_CLOCKS {
            // Sources without an end, each with its clock: what they said last is the least of what they said.
            self.reader.clocks.replace(HashMap::new());
            taken.done.extend(self.clocks.drain().map(|(source, _)| Body::clock(&source, Instant::default()).id()));
        }
        for (source, at) in self.reader.clocks.all() {
            if self.clocks.get(source) != Some(at) {
                self.clocks.insert(source.clone(), *at);
                taken.pieces.push(Piece::new(arrived, Body::clock(source, *at)));
            }
        }
    }

    fn learn(&mut self, lesson: Lesson, at: Instant, pieces: &mut Vec<Piece>, done: &mut Vec<PieceId>) {
        // What is being read knows what was known then.
        if !self.known.knows(&lesson)
            && let Learnt::New(forgotten) = Arc::make_mut(&mut self.known).learn(lesson.clone())
        {
            pieces.push(Piece::new(at, Body::Lesson(lesson)));
            done.extend(forgotten.map(|lesson| Body::Lesson(lesson).id()));
        }
    }

    /// Takes what was stored before a restart: pieces in the order in which they were stored, without those that are done,
    /// and the facts that records said alone in the time that is open. The next [`OpenNormalizer::join`] tells all anew.
    pub fn restore(&mut self, pieces: impl IntoIterator<Item = Piece>, said: &Facts) {
        let mut latest = Instant::default();
        for piece in pieces {
            latest = latest.max(piece.arrived());
            self.restore_piece(piece);
        }
        if let Place::Here(traces) = &mut self.traces {
            traces.hear(said, |received| received.unwrap_or(latest));
            traces.begin_anew();
        }
        self.is_stirred = true;
    }

    fn restore_piece(&mut self, piece: Piece) {
        match piece.body() {
            Body::Telemetry(_) => drop(self.hold(&piece)),
            Body::Unsure(_) => drop(self.hold_unsure(&piece)),
            Body::Waiting(waiting) => {
                self.reader.documents.lost(waiting);
                let held = Held { arrived: piece.arrived(), what: (**waiting).clone() };
                self.waiting.insert(waiting.key.clone(), held);
            }
            Body::Clock { source, at } => {
                let source: Arc<str> = Arc::from(source.as_str());
                self.reader.clocks.set(source.clone(), *at);
                self.clocks.insert(source, *at);
            }
            Body::Lesson(lesson) => drop(Arc::make_mut(&mut self.known).learn(lesson.clone())),
            Body::Spoken(address) => drop(self.spoken.add(address.clone())),
        }
    }

    /// What of the records could not be kept, since this was last asked.
    pub fn rejects(&mut self) -> Vec<Reject> {
        self.reader.rejects()
    }

    /// How many records of each carrier came, and what became of them.
    pub fn counts(&self) -> Counts {
        self.reader.counts
    }

    /// What is open, and what went wrong with it.
    pub fn load(&self) -> Load {
        Load {
            unsure: self.unsure.values().map(BTreeMap::len).sum(),
            waiting: self.waiting.len(),
            torn: self.reader.documents.torn(),
            again: self.load.again,
            given_up: self.load.given_up,
            ..self.traces.load()
        }
    }
}
