//! The way of the service from records to findings, without its sockets and its disk: whatever order, batches, repetition,
//! restarts and evictions the records come with, the findings are those of the batch over the same facts.
//!
//! `SEEDS=1000 cargo test --test stream` runs more streams than the short run; `SEED=17` runs one; `FROM=100` begins there.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::sync::Arc;

use a2a_drift::decode::record::{Record, Reject, Sink};
use a2a_drift::decode::{self, Limits as DecodeLimits};
use a2a_drift::findings::Finding;
use a2a_drift::instant::Instant;
use a2a_drift::live::Keyed;
use a2a_drift::normalize::identity::{self, IdentitySettings, Known};
use a2a_drift::normalize::open::{Joining, OpenNormalizer, Piece, PieceId, Read, Settled, Taken};
use a2a_drift::normalize::{Normalizer, NormalizerSettings};
use a2a_drift::rules::{AsOf, Engine, Limits, select};
use a2a_drift::tables::{Common, Facts, FactsDelta};
use support::mix::{Dice, Shelf, Stream};
use support::{Told, judge};
use tokio::runtime::Runtime;

/// Streams of the short run.
const STREAMS: u64 = 12;
/// One of so many streams is held against the batch engine, which plans anew each time.
const TO_ENGINE: u64 = 6;
const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3600 * SECOND;

/// Records of a stream; those that are read in the order of their source stay in it.
#[derive(Default)]
struct Records(Vec<Record>);

impl Sink for Records {
    fn record(&mut self, record: Record) {
        self.0.push(record);
    }
    fn reject(&mut self, _: Reject) {}
    fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
}

fn records(stream: &Stream) -> Vec<Record> {
    let mut sink = Records::default();
    for (name, bytes) in &stream.files {
        decode::decode(&Arc::from(name.as_str()), Box::new(Cursor::new(bytes)), &DecodeLimits::default(), &mut sink);
    }
    sink.0
}

/// Whether a record means the same wherever it comes: it has a time of its own and is no part of a conversation.
fn stands_alone(record: &Record) -> bool {
    match record {
        Record::Span(span) => span.started_at.is_some(),
        Record::Log(log) => log.at.is_some(),
        Record::Exchange(exchange) => exchange.started_at.is_some(),
        Record::Document(_) => false,
    }
}

/// Numbers of records, cut into batches: shuffled, some twice, but what stands not alone in its order and once.
fn batches(records: &[Record], dice: &mut Dice) -> Vec<Vec<usize>> {
    let (mut order, ordered): (Vec<usize>, Vec<usize>) =
        (0..records.len()).partition(|number| stands_alone(&records[*number]));
    let again: Vec<usize> = order.iter().copied().filter(|_| dice.one_in(6)).collect();
    order.extend(again);
    dice.shuffle(&mut order);
    let parts = 2 + dice.below(6);
    let mut batches: Vec<Vec<usize>> = vec![Vec::new(); parts];
    for (at, number) in ordered.iter().enumerate() {
        batches[at * parts / ordered.len()].push(*number);
    }
    for number in order {
        let batch = &mut batches[dice.below(parts)];
        batch.push(number);
        // Among the ordered ones of the batch, at any place.
        let (last, place) = (batch.len() - 1, dice.below(batch.len()));
        if stands_alone(&records[batch[place]]) {
            batch.swap(last, place);
        }
    }
    batches
}

/// What evaluates, for all streams.
struct Trial {
    engine: Engine,
    keyed: Keyed,
    /// Gets all facts at once.
    whole: Keyed,
    runtime: Runtime,
    fired: BTreeSet<String>,
    totals: BTreeMap<&'static str, usize>,
}

impl Trial {
    fn new() -> Told<Self> {
        let engine = judge::engine()?.clone().with_limits(Limits { partitions: 1, ..Limits::default() });
        let keyed = || Keyed::new(&engine).map_err(|e| e.to_string());
        let (keyed, whole) = (keyed()?, keyed()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        Ok(Self { engine, keyed, whole, runtime, fired: BTreeSet::new(), totals: BTreeMap::new() })
    }

    fn count(&mut self, what: &'static str, more: usize) {
        *self.totals.entry(what).or_default() += more;
    }

    fn apply(&mut self, delta: &FactsDelta) -> Told<()> {
        let tick = self.runtime.block_on(self.keyed.apply(delta)).map_err(|e| e.to_string())?;
        match tick.failures.first() {
            Some(failure) => Err(format!("{} failed: {}", failure.rule, failure.message)),
            None => Ok(()),
        }
    }

    /// Holds the findings kept by keys against those of facts at once.
    fn compare(&mut self, held: &Facts, to_engine: bool) -> Told<()> {
        let mut facts = held.clone();
        identity::resolve(&mut facts, &IdentitySettings::default());
        facts.make_set();
        if facts.len() != self.keyed.len() {
            return Err(format!("{} facts are judged, of {}", self.keyed.len(), facts.len()));
        }
        let batches = facts.batches().map_err(|e| e.to_string())?;
        let as_of = AsOf::last_fact(&batches);
        let whole = if to_engine {
            let whole = self.runtime.block_on(self.engine.evaluate(batches)).map_err(|e| e.to_string())?;
            whole.findings
        } else {
            self.whole.clear();
            let delta = FactsDelta { added: facts, ..FactsDelta::default() };
            self.runtime.block_on(self.whole.apply(&delta)).map_err(|e| e.to_string())?;
            self.whole.all_findings()
        };
        same(&self.keyed.all_findings(), &whole)?;
        let AsOf::LastFactPerAgent { overall, .. } = as_of else { return Ok(()) };
        for later in [0, HOUR] {
            let as_of = AsOf::Fixed(Instant(overall.0 + later));
            same(&self.keyed.findings(&as_of), &select(whole.clone(), &as_of))?;
        }
        let fires = whole.into_iter().filter(|finding| finding.until_at.is_none_or(|until| finding.due_at < until));
        self.fired.extend(fires.map(|finding| finding.rule));
        self.count("states compared", 1);
        Ok(())
    }
}

fn same(kept: &[Finding], whole: &[Finding]) -> Told<()> {
    let lines = |findings: &[Finding]| -> BTreeSet<String> { findings.iter().map(|f| format!("{f:?}")).collect() };
    let (kept, whole) = (lines(kept), lines(whole));
    if kept == whole {
        return Ok(());
    }
    let only = |sign: &str, these: &BTreeSet<String>, those: &BTreeSet<String>| -> Vec<String> {
        these.difference(those).map(|line| format!("  {sign} {line}")).collect()
    };
    Err(format!(
        "findings differ\n{}",
        [only("service:", &kept, &whole), only("batch:", &whole, &kept)].concat().join("\n")
    ))
}

/// A service: what it stored, and what it believes.
struct Service<'a> {
    trial: &'a mut Trial,
    normalizer: OpenNormalizer,
    /// Open traces that were read and are not taken back yet: what came since is not in them.
    lent: Option<Read>,
    known: Known,
    /// Facts stored: final.
    stored: Facts,
    pieces: Vec<(PieceId, Vec<u8>)>,
    /// Facts in memory, as they were told last.
    held: Facts,
    /// Ids of facts that left memory and were not brought back.
    evicted: BTreeSet<String>,
    now: Instant,
}

impl<'a> Service<'a> {
    fn new(trial: &'a mut Trial) -> Self {
        trial.keyed.clear();
        Self {
            trial,
            normalizer: OpenNormalizer::new(NormalizerSettings::default()),
            lent: None,
            known: Known::default(),
            stored: Facts::default(),
            pieces: Vec::new(),
            held: Facts::default(),
            evicted: BTreeSet::new(),
            now: Instant(1),
        }
    }

    fn deliver(&mut self, records: impl IntoIterator<Item = Record>) -> Told<()> {
        records.into_iter().for_each(|record| self.normalizer.record(record));
        let Taken { facts, pieces, done } = self.normalizer.take(self.now);
        self.store(&facts, &pieces, &done);
        self.hold(&facts);
        let added = self.known.add(facts);
        self.learn(added.delta, added.late)
    }

    fn change(&mut self, FactsDelta { added, removed }: FactsDelta) -> Told<()> {
        let renewed: BTreeSet<String> = added.commons().map(|common| common.fact_id.clone()).collect();
        self.held.retain(|common| !renewed.contains(&common.fact_id) && !removed.contains(&common.fact_id));
        self.hold(&added);
        self.evicted.retain(|id| !removed.contains(id));
        let added = self.known.renew(added);
        let mut delta = added.delta;
        delta.then(self.known.remove(removed.iter().map(String::as_str)));
        self.learn(delta, added.late)
    }

    fn hold(&mut self, facts: &Facts) {
        for common in facts.commons() {
            self.evicted.remove(&common.fact_id);
        }
        self.held.append(facts.clone());
    }

    /// Brings back what is late, and judges.
    fn learn(&mut self, mut delta: FactsDelta, late: Vec<String>) -> Told<()> {
        if !late.is_empty() {
            self.trial.count("tasks brought back", late.len());
            let mut facts = self.stored.clone();
            facts.retain_tasks(|task| late.iter().any(|late| late == task));
            self.hold(&facts);
            let added = self.known.add(facts);
            delta.then(added.delta);
        }
        self.trial.apply(&delta)
    }

    fn store(&mut self, facts: &Facts, pieces: &[Piece], done: &[PieceId]) {
        self.stored.append(facts.clone());
        self.pieces.extend(pieces.iter().map(|piece| (piece.id(), piece.to_bytes().unwrap())));
        let done: BTreeSet<&PieceId> = done.iter().collect();
        self.pieces.retain(|(id, _)| !done.contains(id));
    }

    fn join(&mut self) -> Told<()> {
        self.lend(None);
        self.take_back()?;
        // What came meanwhile.
        self.lend(None);
        self.take_back()
    }

    fn settle(&mut self, before: Instant) -> Told<()> {
        self.take_back()?;
        self.lend(Some(before));
        self.take_back()
    }

    fn lend(&mut self, settle: Option<Instant>) {
        if self.lent.is_none() {
            self.lent = self.normalizer.begin_join(settle).map(Joining::run);
        }
    }

    fn take_back(&mut self) -> Told<()> {
        let Some(read) = self.lent.take() else { return Ok(()) };
        let Settled { change, facts, pieces, done } = self.normalizer.end_join(read);
        self.store(&facts, &pieces, &done);
        self.change(change)
    }

    /// Another process over what was stored.
    fn restart(&mut self) -> Told<()> {
        self.trial.count("restarts", 1);
        self.trial.keyed.clear();
        (self.known, self.evicted) = (Known::default(), BTreeSet::new());
        (self.normalizer, self.lent) = (OpenNormalizer::new(NormalizerSettings::default()), None);
        let pieces: Vec<Piece> = self.pieces.iter().map(|(_, bytes)| Piece::from_bytes(bytes).unwrap()).collect();
        self.normalizer.restore(pieces, &self.stored);
        self.held = self.stored.clone();
        let delta = self.known.add(self.stored.clone()).delta;
        self.trial.apply(&delta)?;
        self.join()
    }

    /// Lets go what is older than some instant.
    fn evict(&mut self, dice: &mut Dice) -> Told<()> {
        let mut times: Vec<Instant> = self.held.commons().map(|common| common.observed_at).collect();
        times.sort();
        let Some(before) = times.get(dice.below(times.len())).copied() else { return Ok(()) };
        let evicted = self.known.evict(before, Instant(before.0 - 3 * SECOND));
        self.trial.count("facts evicted", evicted.delta.removed.len());
        self.held.retain(|common| !evicted.delta.removed.contains(&common.fact_id));
        self.evicted.extend(evicted.delta.removed.iter().cloned());
        self.trial.apply(&evicted.delta)
    }

    /// What the batch reads of the same records is what is in memory, but for what left it; who is who and which call is
    /// which, too, while nothing left.
    fn same_facts(&self, delivered: impl Iterator<Item = Record>) -> Told<()> {
        let mut normalizer = Normalizer::new(NormalizerSettings::default());
        delivered.for_each(|record| normalizer.record(record));
        let mut batch = normalizer.finish().facts;
        identity::resolve(&mut batch, &IdentitySettings::default());
        batch.make_set();
        batch.retain(|common| !self.evicted.contains(&common.fact_id));
        let rows = |facts: &Facts| -> BTreeSet<String> {
            let who = |common: &Common| format!("{} {} {}", common.agent, common.client, common.call_id);
            let who = |common: &Common| if self.evicted.is_empty() { who(common) } else { String::new() };
            facts.commons().map(|common| format!("{} {}", common.fact_id, who(common))).collect()
        };
        let (batch, known) = (rows(&batch), rows(&self.known.facts()));
        if batch == known {
            return Ok(());
        }
        let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
            these.difference(those).take(5).cloned().collect::<Vec<_>>().join("\n  ")
        };
        Err(format!("facts differ\n service: {}\n batch: {}", only(&known, &batch), only(&batch, &known)))
    }
}

/// Delivers a stream, and compares now and then.
fn run(trial: &mut Trial, stream: &Stream, seed: u64) -> Told<()> {
    let records = records(stream);
    let mut dice = Dice::new(!seed);
    let (evicts, to_engine) = (dice.one_in(2), seed.is_multiple_of(TO_ENGINE));
    trial.count("records", records.len());
    let mut service = Service::new(trial);
    let mut delivered: BTreeSet<usize> = BTreeSet::new();
    let batches = batches(&records, &mut dice);
    for (at, batch) in batches.iter().enumerate() {
        let told = |why: String| format!("batch {} of {}: {why}", at + 1, batches.len());
        service.now = Instant(service.now.0 + SECOND);
        service.deliver(batch.iter().map(|number| records[*number].clone())).map_err(told)?;
        delivered.extend(batch);
        let before = Instant(service.now.0 - 60 * SECOND);
        if dice.one_in(2) {
            service.join()?;
        }
        if dice.one_in(3) {
            service.settle(before)?;
        }
        if dice.one_in(3) {
            service.trial.count("read beside what comes", 1);
            service.lend(dice.one_in(2).then_some(before));
        }
        if dice.one_in(4) && service.normalizer.load().waiting == 0 {
            service.restart()?;
        }
        if evicts && dice.one_in(2) {
            service.evict(&mut dice)?;
        }
        if dice.one_in(3) || at + 1 == batches.len() {
            service.join()?;
            service.same_facts(delivered.iter().map(|number| records[*number].clone())).map_err(told)?;
            let held = service.held.clone();
            service.trial.compare(&held, to_engine && at + 1 == batches.len()).map_err(told)?;
        }
    }
    // All is final; what comes again then is known.
    service.now = Instant(service.now.0 + HOUR);
    service.settle(service.now)?;
    let again: Vec<Record> = records.iter().filter(|record| stands_alone(record) && dice.one_in(3)).cloned().collect();
    service.deliver(again)?;
    service.join()?;
    if dice.one_in(2) && service.normalizer.load().waiting == 0 {
        service.restart()?;
    }
    service.same_facts(records.iter().cloned()).map_err(|why| format!("after all was settled: {why}"))?;
    let held = service.held.clone();
    service.trial.compare(&held, false).map_err(|why| format!("after all was settled: {why}"))
}

#[test]
fn records_in_any_order_with_restarts_and_evictions_give_the_findings_of_the_batch() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let shelf = Shelf::read();
    let mut trial = Trial::new().unwrap();
    let (one, first, streams) =
        (number("SEED"), number("FROM").unwrap_or(0), number("SEEDS").unwrap_or(STREAMS).max(1));
    let each = shelf.fires().div_ceil(streams as usize).clamp(1, 4);
    let mut differences: BTreeMap<u64, String> = BTreeMap::new();
    for seed in one.map_or(first..first + streams, |seed| seed..seed + 1) {
        let stream = shelf.stream(seed, each).unwrap();
        if let Err(why) = run(&mut trial, &stream, seed) {
            println!("SEED={seed} differs");
            differences.insert(seed, format!("SEED={seed} of {:?}: {why}", stream.parts));
        }
        if seed % 50 == 49 {
            println!("{:?}, before SEED={}", trial.totals, seed + 1);
        }
    }
    println!("{streams} streams: {:?}, {} rules fired", trial.totals, trial.fired.len());
    let told: Vec<&str> = differences.values().take(3).map(String::as_str).collect();
    assert!(
        told.is_empty(),
        "{} of {streams} differ: {:?}\n{}",
        differences.len(),
        differences.keys(),
        told.join("\n\n")
    );
    let rules = trial.engine.corpus().rules.iter().map(|rule| rule.id.as_str());
    let silent: Vec<&str> = rules.filter(|rule| !trial.fired.contains(*rule)).collect();
    // Every case of every rule is drawn once there are enough streams for them.
    assert!(
        one.is_some() || streams * (each as u64) < shelf.fires() as u64 || silent.is_empty(),
        "never fired: {silent:?}"
    );
}
