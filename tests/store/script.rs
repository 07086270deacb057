//! A run of the store that can be made again: what is sent, what is acknowledged, and what must then be there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use a2a_drift::instant::Instant;
use a2a_drift::store::{Entry, LogSettings, Recovered, Retention, Store, StoreError, StoreSettings, read_facts};
use a2a_drift::tables::{CardRow, Facts, TaskEventRow};

use crate::faulty::{FaultyDisk, next};

/// Where the store lies.
pub const FOLDER: &str = "/data";

const HOUR: i64 = 3_600 * 1_000_000_000;
/// 2026-11-30T06:00:00Z.
pub const START: i64 = 1_796_018_400_000_000_000;

/// Small segments, so that a short run has many.
pub fn settings() -> StoreSettings {
    let log = LogSettings {
        segment_bytes: 6_000,
        segment_age: Duration::from_mins(30),
        max_bytes: 1 << 30,
        patience: Duration::ZERO,
    };
    StoreSettings { log, retention: Retention::default() }
}

pub fn open(disk: &FaultyDisk) -> Result<(Store, Recovered), StoreError> {
    Store::open_on(Arc::new(disk.clone()), Path::new(FOLDER), settings())
}

/// A fact, told by a number.
pub fn fact(number: u64) -> Facts {
    let mut facts = Facts::default();
    // Two hours, in no order.
    let at = Instant(START + (number as i64 * 7_919 % 120) * 60_000_000_000);
    if number.is_multiple_of(4) {
        let mut card = CardRow::default();
        (card.common.observed_at, card.own.version) = (at, number.to_string());
        facts.push_card(card);
    } else {
        let mut event = TaskEventRow::default();
        (event.common.observed_at, event.own.task_id) = (at, format!("task-{}", number % 5));
        event.own.state = number.to_string();
        facts.push_task_event(event);
    }
    facts
}

pub fn ids(facts: &Facts) -> BTreeSet<String> {
    facts.commons().map(|common| common.fact_id.clone()).collect()
}

/// All facts of a store.
pub fn all(store: &Store) -> Facts {
    store.load(Instant(0)..Instant(i64::MAX)).unwrap()
}

/// What was asked and what was answered.
#[derive(Debug, Default)]
pub struct Model {
    random: u64,
    now: i64,
    /// Facts that were sent, by number.
    sent: BTreeSet<u64>,
    /// Ids of facts that are acknowledged.
    acknowledged: BTreeSet<String>,
    pieces_sent: BTreeMap<Vec<u8>, Vec<u8>>,
    pieces_acknowledged: BTreeSet<Vec<u8>>,
    /// Told to be done, whether or not that was acknowledged: what was refused may be found after a crash all the same.
    done_sent: BTreeSet<Vec<u8>>,
    done_acknowledged: BTreeSet<Vec<u8>>,
    /// Calls that were refused.
    pub refused: u64,
}

/// One group of entries.
#[derive(Default)]
struct Group {
    facts: Vec<u64>,
    pieces: Vec<(Vec<u8>, Vec<u8>)>,
    done: Vec<Vec<u8>>,
}

impl Model {
    pub fn new(seed: u64) -> Self {
        Self { random: seed, now: START + 4 * HOUR, ..Self::default() }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        next(&mut self.random) % sides
    }

    pub fn now(&self) -> Instant {
        Instant(self.now)
    }

    /// Runs the script to its end, or until the disk has crashed.
    pub fn run(&mut self, disk: &FaultyDisk, steps: u64) {
        let mut store = None;
        for step in 0..steps {
            self.now += 60_000_000_000;
            let Some(open) = self.opened(disk, store.take()) else { return };
            store = match step % 8 {
                5 => None,
                4 => self.close(open, START + HOUR * (1 + (step as i64 / 8))),
                7 => self.close(open, self.now),
                _ => self.commit(open),
            };
            if disk.crashed() {
                return;
            }
        }
    }

    /// The store, opened if it is not.
    fn opened(&mut self, disk: &FaultyDisk, store: Option<Store>) -> Option<Store> {
        for _ in 0..60 {
            if store.is_some() || disk.crashed() {
                return store;
            }
            match open(disk) {
                Ok((store, recovered)) => {
                    self.check_recovered(&recovered);
                    return Some(store);
                }
                Err(error) => self.refuse(&error),
            }
        }
        panic!("the store does not open any more");
    }

    fn refuse(&mut self, error: &StoreError) {
        assert!(error.is_retryable(), "{error:?}");
        self.refused += 1;
    }

    fn group(&mut self) -> Group {
        let mut group = Group::default();
        for _ in 0..=self.roll(3) {
            // One in five is sent again.
            let again = self.roll(5) == 0 && !self.sent.is_empty();
            let number = if again { self.roll(self.sent.len() as u64) } else { self.sent.len() as u64 };
            self.sent.insert(number);
            group.facts.push(number);
        }
        if self.roll(3) == 0 {
            let id = format!("piece-{}", self.pieces_sent.len()).into_bytes();
            let bytes = vec![b'x'; self.roll(300) as usize];
            self.pieces_sent.insert(id.clone(), bytes.clone());
            group.pieces.push((id, bytes));
        }
        let open: Vec<_> = self.pieces_acknowledged.difference(&self.done_sent).cloned().collect();
        if self.roll(3) == 0 && !open.is_empty() {
            let id = open[self.roll(open.len() as u64) as usize].clone();
            self.done_sent.insert(id.clone());
            group.done.push(id);
        }
        group
    }

    fn commit(&mut self, mut store: Store) -> Option<Store> {
        let (group, now) = (self.group(), self.now());
        for number in &group.facts {
            store.append(&Entry::Facts(&fact(*number)), now).unwrap();
        }
        for (id, bytes) in &group.pieces {
            store.append(&Entry::Piece { id, bytes }, now).unwrap();
        }
        if !group.done.is_empty() {
            store.append(&Entry::Done(&group.done), now).unwrap();
        }
        match store.commit(now) {
            Ok(()) => {
                self.acknowledged.extend(group.facts.iter().flat_map(|number| ids(&fact(*number))));
                self.pieces_acknowledged.extend(group.pieces.into_iter().map(|(id, _)| id));
                self.done_acknowledged.extend(group.done);
            }
            Err(error) => {
                self.refuse(&error);
            }
        }
        Some(store)
    }

    fn close(&mut self, mut store: Store, until: i64) -> Option<Store> {
        match store.close(Instant(until), self.now()) {
            Ok(closed) => assert_eq!(closed.damage, []),
            Err(error) => self.refuse(&error),
        }
        Some(store)
    }

    fn sent_ids(&self) -> BTreeSet<String> {
        self.sent.iter().flat_map(|number| ids(&fact(*number))).collect()
    }

    /// Nothing acknowledged is missing, and nothing is there that was not sent.
    pub fn check(&self, store: &Store, recovered: &Recovered) {
        let stored = all(store);
        assert_eq!(stored.len(), ids(&stored).len());
        let stored = ids(&stored);
        let lost: Vec<_> = self.acknowledged.difference(&stored).collect();
        assert!(lost.is_empty(), "{} acknowledged facts are lost", lost.len());
        assert!(stored.is_subset(&self.sent_ids()));
        self.check_recovered(recovered);
    }

    fn check_recovered(&self, recovered: &Recovered) {
        assert!(recovered.damage.iter().all(|damage| damage.is_tail), "{:?}", recovered.damage);
        let pieces: BTreeMap<_, _> = recovered.pieces.iter().map(|piece| (&piece.id, &piece.bytes)).collect();
        assert_eq!(pieces.len(), recovered.pieces.len());
        for (id, bytes) in &pieces {
            assert_eq!(self.pieces_sent.get(*id), Some(*bytes));
            assert!(!self.done_acknowledged.contains(*id), "{} was done", String::from_utf8_lossy(id));
        }
        for id in self.pieces_acknowledged.difference(&self.done_sent) {
            assert!(pieces.contains_key(id), "{} is lost", String::from_utf8_lossy(id));
        }
    }

    /// After everything is sent again and the log has gone into the lake, that holds each fact once.
    pub fn send_again_and_count(&self, disk: &FaultyDisk, mut store: Store) {
        let now = Instant(self.now + HOUR);
        for number in &self.sent {
            store.append(&Entry::Facts(&fact(*number)), now).unwrap();
        }
        store.commit(now).unwrap();
        let done: Vec<Vec<u8>> = self.pieces_sent.keys().cloned().collect();
        store.append(&Entry::Done(&done), now).unwrap();
        store.commit(now).unwrap();
        store.close(Instant(now.0 + 1), now).unwrap();
        assert_eq!((store.sizes().log_segments, store.sizes().open_pieces), (0, 0));
        let mut rows = Vec::new();
        for (path, bytes) in disk.files() {
            if path.extension().is_some_and(|extension| extension == "parquet") {
                let facts = read_facts(bytes).unwrap();
                rows.extend(facts.commons().map(|common| common.fact_id.clone()));
            }
        }
        let count = rows.len();
        let rows: BTreeSet<String> = rows.into_iter().collect();
        assert_eq!((count, rows), (self.sent.len(), self.sent_ids()));
    }
}
