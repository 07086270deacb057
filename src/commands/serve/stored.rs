//! What is there when the service starts.
//!
//! In: the folder of log and lake. Out: the store, open traces as they were, and the facts that are in memory, so that the
//! first look at findings sees what the last before the start saw.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Context;

use super::memory::{LEAST_AGE, earlier, later};
use super::saving::tell_damage;
use crate::config::{Retention, ServeSettings};
use crate::instant::Instant;
use crate::normalize::NormalizerSettings;
use crate::normalize::open::{OpenNormalizer, Piece};
use crate::publish::prometheus::Service;
use crate::store::{self, LogSettings, Recovered, Store, StoreSettings};
use crate::tables::{CardEndpointRow, CardRow, CardSkillRow, Facts, PolicyChangeRow, SigningKeyRow, Table};

/// Tables of looks, which stay for longer than the facts of tasks.
const LOOKS: [&str; 5] =
    [CardRow::NAME, CardSkillRow::NAME, CardEndpointRow::NAME, SigningKeyRow::NAME, PolicyChangeRow::NAME];
/// So much more than memory holds is read: a trace that began before leaves as a whole.
const MARGIN: Duration = Duration::from_secs(3600);
/// So many times the patience with an open trace is looked back for what is said of open traces.
const PATIENCES: u32 = 10;

/// So many times the patience with an open trace after it came, the pieces of almost all are done.
const SETTLED: u32 = 3;

/// What is there.
pub(super) struct Stored {
    pub(super) store: Store,
    /// With the pieces that are open.
    pub(super) normalizer: OpenNormalizer,
    /// Facts for memory, those of open traces among them.
    pub(super) facts: Facts,
    /// Tasks of which facts are on the disk that are not among these.
    pub(super) elsewhere: HashSet<String>,
}

impl Stored {
    /// Reads the folder, which is made if need be.
    ///
    /// # Errors
    /// When it cannot be used, or another process has it.
    pub(super) fn open(
        serve: &ServeSettings,
        words: NormalizerSettings,
        service: &Service,
        now: Instant,
    ) -> anyhow::Result<Self> {
        let (store, recovered) =
            open(serve, service).with_context(|| format!("cannot use {}", serve.data.display()))?;
        let pieces = pieces(recovered.pieces);
        let oldest = oldest(&store, serve, now)?;
        // What programs before this one took of a time yet to come would be judged when it comes.
        let mut facts = store.load(oldest..later(now, serve.max_ahead))?;
        facts.append(store.load_tables(&LOOKS, earlier(now, serve.retention.cards).min(oldest)..oldest)?);
        facts.make_set();
        let elsewhere = store.tasks_before(oldest)?;
        tracing::info!(facts = facts.len(), pieces = pieces.len(), "what was stored is read");

        let mut normalizer = OpenNormalizer::new(words);
        let open_since = open_since(&pieces, &facts, serve.settle);
        let mut said = facts.clone();
        said.retain(|common| common.received_at.is_none_or(|received| received >= open_since));
        let last = pieces.iter().map(Piece::arrived).max().unwrap_or(now);
        normalizer.restore(pieces, &said);
        // Told anew, and not as they change: the facts of open traces are not among those that were stored.
        let mut joined = normalizer.join().added;
        joined.commons_mut().for_each(|common| common.received_at = common.received_at.or(Some(last)));
        facts.append(joined);
        Ok(Self { store, normalizer, facts, elsewhere })
    }
}

/// From when on facts are for memory: what is older would leave it at once, by age or because there are too many.
fn oldest(store: &Store, serve: &ServeSettings, now: Instant) -> anyhow::Result<Instant> {
    let Retention { memory, memory_facts, .. } = serve.retention;
    let oldest = earlier(now, memory.saturating_add(MARGIN));
    let newest = store.newest(&(oldest..later(now, serve.max_ahead)), memory_facts)?.min(earlier(now, LEAST_AGE));
    if newest > oldest {
        tracing::warn!(since = newest.to_rfc3339(), "there are too many facts: older ones stay on the disk");
    }
    Ok(newest.max(oldest))
}

/// From when on what arrived may be about an open trace.
fn open_since(pieces: &[Piece], facts: &Facts, settle: Duration) -> Instant {
    let received = facts.commons().filter_map(|common| common.received_at);
    let last = received.chain(pieces.iter().map(Piece::arrived)).max().unwrap_or_default();
    let first = pieces.iter().map(Piece::arrived).min().unwrap_or(last);
    earlier(last, settle.saturating_mul(PATIENCES)).min(first)
}

fn open(serve: &ServeSettings, service: &Service) -> anyhow::Result<(Store, Recovered)> {
    let retention = store::Retention {
        max_age: Some(serve.retention.disk),
        max_bytes: Some(serve.retention.disk_bytes).filter(|bytes| *bytes > 0),
    };
    let log = LogSettings::default();
    // A segment that is written on cannot move into the lake.
    let log = LogSettings {
        segment_age: log.segment_age.min(serve.lake_every),
        patience: serve.settle.saturating_mul(SETTLED),
        ..log
    };
    let (store, recovered) = Store::open(&serve.data, StoreSettings { log, retention })?;
    recovered.damage.iter().for_each(|damage| tell_damage(damage, service));
    Ok((store, recovered))
}

fn pieces(stored: Vec<store::Piece>) -> Vec<Piece> {
    let read = |piece: store::Piece| {
        Piece::from_bytes(&piece.bytes).map_err(|error| tracing::error!(%error, "a stored piece cannot be read")).ok()
    };
    stored.into_iter().filter_map(read).collect()
}
