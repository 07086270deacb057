//! Storing what was read, and again what could not be stored the first time.
//!
//! In: what the normaliser gives out. Out: whether it is on the disk. What was read and not stored is known already, so that a
//! sender who sends it again would add nothing: it is kept until the disk takes it, and meanwhile nothing else is read.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use crate::api::Readiness;
use crate::instant::Instant;
use crate::normalize::open::{Piece, PieceId, Settled, Taken};
use crate::publish::prometheus::Service;
use crate::store::{Damage, Entry, Store, StoreError};
use crate::tables::{Common, Facts};

/// The store, and what it has still to take.
pub(super) struct Saving {
    store: Store,
    readiness: Arc<Readiness>,
    unsaved: Vec<Unsaved>,
    /// What is final and comes to the disk part by part: senders do not wait for all of it.
    settled: VecDeque<Unsaved>,
    /// The last try failed.
    refuses: bool,
    /// Facts without a time that are stored: every look at a card gives them again.
    timeless: HashSet<String>,
    /// How long a period is that is closed at once, nanoseconds.
    every: i64,
    /// Segments that may still be closed in this round.
    left: usize,
}

#[derive(Default)]
struct Unsaved {
    facts: Facts,
    pieces: Vec<Piece>,
    done: Vec<PieceId>,
}

/// Why nothing can be stored, without paths: health is for anybody, and paths are not.
fn reason(error: StoreError) -> String {
    match error {
        StoreError::Gone { .. } => "the folder was removed or replaced".to_owned(),
        StoreError::Locked { .. } | StoreError::Taken { .. } => "another process has the folder".to_owned(),
        error => anyhow::Error::new(error).root_cause().to_string(),
    }
}

/// Tells of a part of the log that could not be read.
pub(super) fn tell_damage(damage: &Damage, service: &Service) {
    let (file, byte, bytes) = (damage.file(), damage.offset, damage.bytes);
    if damage.is_tail {
        tracing::warn!(file, byte, bytes, "the log ends in the middle of an entry, as after a crash: it is cut there");
    } else {
        service.wal_damaged(bytes);
        tracing::error!(file, byte, bytes, "the log is damaged: what was there is lost, and kept aside as *.damaged");
    }
}

fn is_timeless(common: &Common) -> bool {
    common.observed_at == Instant::default()
}

/// Facts that are stored in one part of what is final, and pieces that are done: what takes a fraction of a second.
const MOST_FACTS: usize = 4096;
const MOST_DONE: usize = 16384;

/// Share of a period after whose end it is closed: what is late for it goes to a file of its own.
const LATE: i64 = 12;

impl Saving {
    /// A store, and what of its facts has no time.
    pub(super) fn new(store: Store, stored: &Facts, readiness: Arc<Readiness>, every: Duration) -> Self {
        let timeless = stored.commons().filter(|common| is_timeless(common));
        let timeless = timeless.map(|common| common.fact_id.clone()).collect();
        let every = i64::try_from(every.as_nanos()).unwrap_or(i64::MAX).max(1);
        Self {
            store,
            readiness,
            unsaved: Vec::new(),
            settled: VecDeque::new(),
            refuses: false,
            timeless,
            every,
            left: 0,
        }
    }

    /// How often facts move into the lake.
    pub(super) fn every(&self) -> Duration {
        Duration::from_nanos(self.every.unsigned_abs())
    }

    /// Whether nothing waits for the disk, after another try.
    pub(super) fn is_clear(&mut self, now: Instant, service: &Service) -> bool {
        match self.store.keep() {
            Ok(is_again) => {
                if is_again {
                    service.wal_failed();
                    let sizes = self.store.sizes();
                    let (segments, facts) = (sizes.log_segments, sizes.log_facts);
                    tracing::error!(
                        segments,
                        facts,
                        "the folder was removed or replaced: it is written again, but its lake"
                    );
                }
                let is_clear = self.unsaved.is_empty() && !self.refuses;
                is_clear || self.write(now, service)
            }
            Err(error) => self.refuse(error, service),
        }
    }

    /// Stores what records gave; whether it is safe.
    pub(super) fn save(&mut self, taken: Taken, now: Instant, service: &Service) -> bool {
        let Taken { facts, pieces, done } = taken;
        self.put(Unsaved { facts, pieces, done }, now, service)
    }

    /// Takes what is final, to be stored by [`Saving::save_some`]. Its records are in the log until all of it is stored.
    pub(super) fn put_off(&mut self, settled: Settled) {
        let Settled { mut facts, pieces, done, .. } = settled;
        let mut parts = vec![Unsaved { facts: facts.take_some(MOST_FACTS), pieces, done: Vec::new() }];
        while !facts.is_empty() {
            parts.push(Unsaved { facts: facts.take_some(MOST_FACTS), ..Unsaved::default() });
        }
        let done = done.chunks(MOST_DONE).map(|done| Unsaved { done: done.to_vec(), ..Unsaved::default() });
        self.settled.extend(parts.into_iter().chain(done));
    }

    /// Whether there is more for [`Saving::save_some`], and the disk would take it.
    pub(super) fn has_some(&self) -> bool {
        !self.settled.is_empty() && self.unsaved.is_empty() && !self.refuses
    }

    /// Stores a part of what is final.
    pub(super) fn save_some(&mut self, now: Instant, service: &Service) {
        if let Some(part) = self.settled.pop_front() {
            self.put(part, now, service);
        }
    }

    fn put(&mut self, mut unsaved: Unsaved, now: Instant, service: &Service) -> bool {
        unsaved.facts.retain(|common| !is_timeless(common) || self.timeless.insert(common.fact_id.clone()));
        if unsaved.facts.is_empty() && unsaved.pieces.is_empty() && unsaved.done.is_empty() && self.unsaved.is_empty() {
            return true;
        }
        self.unsaved.push(unsaved);
        self.write(now, service)
    }

    /// Writes all that waits, in one commit.
    fn write(&mut self, now: Instant, service: &Service) -> bool {
        let watch = Stopwatch::now();
        match self.commit(now) {
            Ok(()) => {
                self.unsaved.clear();
                if std::mem::take(&mut self.refuses) {
                    tracing::warn!("what came is stored again");
                }
                service.wal_synced(watch.elapsed());
                self.readiness.ready(Readiness::INTAKE);
                true
            }
            Err(error) => self.refuse(error, service),
        }
    }

    /// Notes that nothing can be stored.
    fn refuse(&mut self, error: StoreError, service: &Service) -> bool {
        self.store.discard();
        service.wal_failed();
        // Once, however many senders come again meanwhile.
        if !std::mem::replace(&mut self.refuses, true) {
            tracing::error!(error = &error as &dyn std::error::Error, "nothing can be stored");
        }
        self.readiness.not_ready(Readiness::INTAKE, format!("nothing can be stored: {}", reason(error)));
        false
    }

    /// The facts of some tasks; without those that cannot be read, as the log tells.
    pub(super) fn load_tasks(&self, tasks: HashSet<String>) -> Facts {
        self.store.load_tasks(tasks, Instant(i64::MIN)..Instant(i64::MAX)).unwrap_or_else(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "facts that are needed again cannot be read");
            Facts::default()
        })
    }

    fn commit(&mut self, now: Instant) -> Result<(), StoreError> {
        for Unsaved { facts, pieces, done } in &self.unsaved {
            if !facts.is_empty() {
                self.store.append(&Entry::Facts(facts), now)?;
            }
            for piece in pieces {
                match piece.to_bytes() {
                    Ok(bytes) => self.store.append(&Entry::Piece { id: &piece.id().0, bytes: &bytes }, now)?,
                    Err(error) => tracing::error!(%error, "a piece cannot be written"),
                }
            }
            if !done.is_empty() {
                let ids: Vec<Vec<u8>> = done.iter().map(|id| id.0.to_vec()).collect();
                self.store.append(&Entry::Done(&ids), now)?;
            }
        }
        self.store.commit(now)
    }

    /// Closes one segment of periods that are over, removes what is too old, and counts what there is. Whether there may be
    /// more: meanwhile senders wait.
    pub(super) fn tidy(&mut self, now: Instant, service: &Service) -> bool {
        let until = Instant(now.0.saturating_sub(self.every / LATE).div_euclid(self.every) * self.every);
        if self.left == 0 {
            self.left = self.store.sizes().log_segments;
        }
        self.left = match self.store.close_some(until, now, 1) {
            Ok(closed) if closed.segments > 0 => {
                closed.damage.iter().for_each(|damage| tell_damage(damage, service));
                tracing::info!(rows = closed.rows, pieces = closed.pieces, "facts moved into the lake");
                service.lake_written(now);
                self.left.saturating_sub(1)
            }
            Ok(_) => 0,
            Err(error) => {
                service.lake_failed();
                tracing::error!(error = &error as &dyn std::error::Error, "the lake cannot be written");
                0
            }
        };
        if let Err(error) = self.store.retain(now) {
            tracing::error!(error = &error as &dyn std::error::Error, "what is too old cannot be removed");
        }
        self.measure(service);
        self.left > 0
    }

    /// Tells how much there is.
    pub(super) fn measure(&self, service: &Service) {
        let sizes = self.store.sizes();
        service.wal(sizes.log_bytes, sizes.log_segments as u64);
        service.lake(sizes.lake_bytes, sizes.lake_files as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::prometheus::Exporter;
    use crate::store::StoreSettings;
    use crate::tables::{ExchangeColumns, ExchangeRow, Table};

    #[test]
    fn what_is_final_comes_to_the_disk_part_by_part_and_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path(), StoreSettings::default()).unwrap();
        let hour = Duration::from_secs(3600);
        let mut saving = Saving::new(store, &Facts::default(), Arc::new(Readiness::default()), hour);
        let exporter = Exporter::new(&[]).unwrap();
        let (now, many) = (Instant(1), 2 * MOST_FACTS + 1);
        let mut settled = Settled { done: vec![PieceId([0; 16]); MOST_DONE + 1], ..Settled::default() };
        for number in 0..many {
            let common = Common { observed_at: now, ..Common::default() };
            let own = ExchangeColumns { task_id: format!("task {number}"), ..ExchangeColumns::default() };
            settled.facts.push_exchange(ExchangeRow { common, own }.seal());
        }
        saving.put_off(settled);
        let mut sizes = Vec::new();
        while saving.has_some() {
            let before = saving.store.sizes().log_facts;
            saving.save_some(now, exporter.service());
            sizes.push(saving.store.sizes().log_facts - before);
        }
        let part = MOST_FACTS as u64;
        assert_eq!(sizes, [part, part, 1, 0, 0], "facts, and then that their records are done");
        assert_eq!(saving.store.load(Instant(0)..Instant(2)).unwrap().len(), many);
        saving.save_some(now, exporter.service());
        assert_eq!(saving.store.sizes().log_facts, many as u64);
    }
}
