//! The evaluation by keys gives the findings of the whole batch, whatever order, batches and repetition the facts come in, and whichever of
//! them go and come back.
//!
//! Every state is held against all facts evaluated at once, and every few streams also against the batch engine, which plans
//! each query anew and so takes most of the time: `ENGINE=1` holds all of them against it. `SEEDS=1000 cargo test --test live`
//! runs more streams than the short run of `cargo test`; `SEED=17` runs one, and says of which few records a difference is made.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant as Clock};

use a2a_drift::findings::Finding;
use a2a_drift::instant::Instant;
use a2a_drift::live::Keyed;
use a2a_drift::normalize::identity::{self, IdentitySettings, Known};
use a2a_drift::rules::{AsOf, Engine, Evaluation, Limits, Rows, View, select};
use a2a_drift::tables::{Facts, FactsDelta};
use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use support::mix::{Dice, Shelf, Stream};
use support::{Told, judge};
use tokio::runtime::Runtime;

/// Streams of the short run.
const STREAMS: u64 = 24;
/// One of so many streams is held against the batch engine.
const TO_ENGINE: u64 = 8;
/// Records that a difference is at most reduced to in this many tries.
const TRIES: usize = 200;
const HOUR: i64 = 3_600_000_000_000;

struct Trial {
    engine: Engine,
    keyed: Keyed,
    /// Gets all facts at once.
    whole: Keyed,
    runtime: Runtime,
    /// Rules that fired at some instant.
    fired: BTreeSet<String>,
    keyed_time: Duration,
    facts: usize,
    compared: usize,
}

impl Trial {
    fn new() -> Told<Self> {
        let engine = judge::engine()?.clone().with_limits(Limits { partitions: 1, ..Limits::default() });
        let keyed = || Keyed::new(&engine).map_err(|e| e.to_string());
        let (keyed, whole) = (keyed()?, keyed()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let (fired, keyed_time) = (BTreeSet::new(), Duration::ZERO);
        Ok(Self { engine, keyed, whole, runtime, fired, keyed_time, facts: 0, compared: 0 })
    }

    /// Delivers a stream; looks at what both say after the batches for which the dice say so, and after the last. Now and then the evaluation
    /// by keys begins anew with the facts so far, or gives up some of them and gets them again. Without dice, looks after each batch.
    fn run(&mut self, stream: &Stream, to_engine: bool, mut dice: Option<Dice>) -> Told<()> {
        self.keyed.clear();
        let mut known = Known::new(IdentitySettings::default());
        let mut delivered: Vec<usize> = Vec::new();
        for (at, batch) in stream.batches.iter().enumerate() {
            let after = |why| format!("after batch {} of {}: {why}", at + 1, stream.batches.len());
            delivered.extend(batch);
            let delta = known.add(stream.of_groups(batch.iter().copied())).delta;
            self.apply(&delta).map_err(after)?;
            let mut chance = |of: usize| dice.as_mut().is_none_or(|dice| dice.one_in(of));
            let is_last = at + 1 == stream.batches.len();
            let (looks, restarts, evicts) = (is_last || chance(3), chance(8), chance(6));
            let facts = |delivered: &[usize]| resolved(stream.of_groups(delivered.iter().copied()));
            if restarts {
                self.keyed.clear();
                self.apply(&FactsDelta { added: facts(&delivered), ..FactsDelta::default() }).map_err(after)?;
            }
            if evicts {
                let mut own = dice.clone().unwrap_or(Dice::new(at as u64));
                self.evict(facts(&delivered), &mut own).map_err(|why| after(format!("without some facts: {why}")))?;
            }
            if looks {
                self.compare(facts(&delivered), is_last && to_engine).map_err(after)?;
            }
        }
        self.facts += self.keyed.len();
        Ok(())
    }

    fn apply(&mut self, delta: &FactsDelta) -> Told<()> {
        let started = Clock::now();
        let tick = self.runtime.block_on(self.keyed.apply(delta)).map_err(|e| e.to_string())?;
        self.keyed_time += started.elapsed();
        match tick.failures.first() {
            Some(failure) => Err(format!("{} failed: {}", failure.rule, failure.message)),
            None => Ok(()),
        }
    }

    /// Gives up some facts, looks at what is said of the others, and takes them again.
    fn evict(&mut self, facts: Facts, dice: &mut Dice) -> Told<()> {
        let most = 1 + dice.below(4);
        let removed: BTreeSet<String> =
            facts.commons().map(|common| common.fact_id.clone()).filter(|_| dice.below(5) < most).collect();
        let (mut left, mut again) = (facts.clone(), facts);
        left.retain(|common| !removed.contains(&common.fact_id));
        again.retain(|common| removed.contains(&common.fact_id));
        self.apply(&FactsDelta { added: Facts::default(), removed })?;
        self.compare(left, false)?;
        self.apply(&FactsDelta { added: again, ..FactsDelta::default() })
    }

    /// Holds what is kept by keys against an evaluation of the same facts at once.
    fn compare(&mut self, facts: Facts, to_engine: bool) -> Told<()> {
        if facts.len() != self.keyed.len() {
            return Err(format!("{} facts are kept, of {}", self.keyed.len(), facts.len()));
        }
        let batches = facts.batches().map_err(|e| e.to_string())?;
        let whole = if to_engine { self.by_engine(batches.clone())? } else { self.at_once(facts)? };
        self.compared += 1;
        self.same_views(&whole)?;
        same_findings(&self.keyed.all_findings(), &whole.findings)?;
        let AsOf::LastFactPerAgent { overall, .. } = AsOf::last_fact(&batches) else { return Ok(()) };
        for as_of in [AsOf::last_fact(&batches), AsOf::Fixed(overall), AsOf::Fixed(Instant(overall.0 + HOUR))] {
            same_findings(&self.keyed.findings(&as_of), &select(whole.findings.clone(), &as_of))?;
        }
        let fires = |finding: &&Finding| finding.until_at.is_none_or(|until| finding.due_at < until);
        self.fired.extend(whole.findings.iter().filter(fires).map(|finding| finding.rule.clone()));
        Ok(())
    }

    fn by_engine(&self, batches: Vec<(&'static str, RecordBatch)>) -> Told<Evaluation> {
        let whole = self.runtime.block_on(self.engine.evaluate(batches)).map_err(|e| e.to_string())?;
        match whole.failures.first() {
            Some(failure) => Err(format!("in batch {} failed: {}", failure.rule, failure.message)),
            None => Ok(whole),
        }
    }

    fn at_once(&mut self, facts: Facts) -> Told<Evaluation> {
        self.whole.clear();
        let delta = FactsDelta { added: facts, ..FactsDelta::default() };
        self.runtime.block_on(self.whole.apply(&delta)).map_err(|e| e.to_string())?;
        let stored = self.engine.corpus().views.iter().filter(|view| view.is_stored());
        let rows = |view: &View| Some(Rows { name: view.name.clone(), batch: self.whole.rows(&view.name).ok()?? });
        let views = stored.filter_map(rows).collect();
        Ok(Evaluation { findings: self.whole.all_findings(), views, ..Evaluation::default() })
    }

    fn same_views(&self, whole: &Evaluation) -> Told<()> {
        for Rows { name, batch } in &whole.views {
            let kept = self.keyed.rows(name).map_err(|e| e.to_string())?.ok_or(format!("{name} is not kept"))?;
            let (mut kept, mut whole) = (lines(&kept), lines(batch));
            kept.sort();
            whole.sort();
            if kept != whole {
                return Err(format!("the view {name} differs\n{}", difference(&kept, &whole)));
            }
        }
        Ok(())
    }
}

/// Facts as they are known when there are no others.
fn resolved(mut facts: Facts) -> Facts {
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts.make_set();
    facts
}

fn same_findings(kept: &[Finding], whole: &[Finding]) -> Told<()> {
    let lines =
        |findings: &[Finding]| -> Vec<String> { findings.iter().map(|finding| format!("{finding:?}")).collect() };
    if kept == whole { Ok(()) } else { Err(format!("findings differ\n{}", difference(&lines(kept), &lines(whole)))) }
}

fn difference(kept: &[String], whole: &[String]) -> String {
    let only = |sign: &str, these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|line| !those.contains(line)).map(|line| format!("  {sign} {line}")).collect()
    };
    [only("by keys:", kept, whole), only("in batch:", whole, kept)].concat().join("\n")
}

fn lines(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("null");
    let formatters: Vec<_> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap()).collect();
    let schema = batch.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    (0..batch.num_rows())
        .map(|row| {
            names
                .iter()
                .zip(&formatters)
                .map(|(name, f)| format!("{name}={}", f.value(row)))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

#[test]
fn streams_shuffled_split_and_delivered_twice_give_the_findings_of_the_whole_batch() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let shelf = Shelf::read();
    let mut trial = Trial::new().unwrap();
    let (one, engine) = (number("SEED"), std::env::var_os("ENGINE").is_some());
    let streams = number("SEEDS").unwrap_or(STREAMS).max(1);
    let each = shelf.fires().div_ceil(streams as usize).clamp(1, 4);
    let mut differences: BTreeMap<u64, String> = BTreeMap::new();
    let first = number("FROM").unwrap_or_default();
    for seed in one.map_or(first..first + streams, |seed| seed..seed + 1) {
        let stream = shelf.stream(seed, each).unwrap();
        if seed % 50 == 49 {
            println!("{} states of {} facts compared, before SEED={seed}", trial.compared, trial.facts);
        }
        if let Err(why) = trial.run(&stream, engine || seed % TO_ENGINE == 0, Some(Dice::new(!seed))) {
            let least = one.map(|_| format!("\n{}", least(&mut trial, stream.clone()))).unwrap_or_default();
            println!("SEED={seed} differs");
            differences.insert(seed, format!("SEED={seed} of {:?}: {why}{least}", stream.parts));
        }
    }
    let told: Vec<&str> = differences.values().take(3).map(String::as_str).collect();
    assert!(
        told.is_empty(),
        "{} of {streams} streams differ: {:?}\n{}",
        differences.len(),
        differences.keys(),
        told.join("\n\n")
    );
    println!(
        "{streams} streams of {} facts, {} states compared, {} rules fired; {:.1?} by keys",
        trial.facts,
        trial.compared,
        trial.fired.len(),
        trial.keyed_time,
    );
    let silent: Vec<&str> = trial
        .engine
        .corpus()
        .rules
        .iter()
        .map(|rule| rule.id.as_str())
        .filter(|rule| !trial.fired.contains(*rule))
        .collect();
    assert!(one.is_some() || silent.is_empty(), "rules that fired in no stream: {silent:?}");
}

/// A stream with as few records as a difference needs.
fn least(trial: &mut Trial, mut stream: Stream) -> String {
    let mut why = String::new();
    let mut at = 0;
    let groups = |stream: &Stream| -> Vec<(usize, usize)> {
        let batches = stream.batches.iter().enumerate();
        batches.flat_map(|(batch, groups)| (0..groups.len()).map(move |group| (batch, group))).collect()
    };
    for _ in 0..TRIES {
        let all = groups(&stream);
        let Some((batch, group)) = all.get(at).copied() else { break };
        let mut fewer = stream.clone();
        fewer.batches[batch].remove(group);
        fewer.batches.retain(|batch| !batch.is_empty());
        match trial.run(&fewer, false, None) {
            Err(told) => (stream, why) = (fewer, told),
            Ok(()) => at += 1,
        }
    }
    let batches = stream.batches.iter().map(|batch| {
        let facts = stream.of_groups(batch.iter().copied());
        facts
            .batches()
            .unwrap()
            .iter()
            .flat_map(|(table, rows)| lines(rows).into_iter().map(move |line| format!("  {table}: {line}")))
            .collect::<Vec<_>>()
            .join("\n")
    });
    format!("{why}\nleast stream:\n{}", batches.collect::<Vec<_>>().join("\n  --\n"))
}
