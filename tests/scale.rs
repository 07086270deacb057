//! What a query looks at grows as the facts do, however much lies on one key.
//!
//! Counted are rows that operators gave on and pairs that joins looked at, so that the machine does not matter. `SIZE=4000 TELL=1
//! cargo test --test scale` prints what each query costs at that size and at twice as much.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use a2a_drift::normalize::identity::{self, IdentitySettings};
use a2a_drift::rules::Evaluation;
use a2a_drift::tables::Facts;
use support::judge::{self, Files};
use support::shapes::{SHAPES, Shape};

/// Size of a shape, and then twice as much.
const SIZE: usize = 400;
/// Times that twice the facts may cost.
const TIMES: f64 = 2.3;
/// Evaluations again before a query is said to be steep.
const TRIES: usize = 8;

/// Facts of a shape.
fn facts_of((_, shape): Shape, size: usize) -> Facts {
    let files = Files::from([("shape.exchanges.ndjson".to_owned(), shape(size))]);
    let (mut facts, rejects) = judge::facts(&files);
    assert!(rejects.is_empty(), "{rejects:?}");
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts.make_set();
    facts
}

fn evaluated(facts: &Facts) -> Evaluation {
    judge::evaluate(facts.batches().unwrap()).unwrap()
}

/// Queries that look at too much of the larger facts, for what they look at of the smaller ones.
fn steep(facts: usize, few: &BTreeMap<String, usize>, many: &BTreeMap<String, usize>) -> Vec<String> {
    let told = many.iter().filter_map(|(name, many)| {
        let few = few.get(name).copied().unwrap_or_default();
        // To look at every fact once is no growth that matters.
        let times = *many as f64 / few.max(facts) as f64;
        (times > TIMES).then(|| format!("{name} looks at {few} rows, then at {many}: x {times:.2}"))
    });
    told.collect()
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn tell(size: usize, once: &Evaluation, twice: &Evaluation) {
    let millis =
        |of: &BTreeMap<String, Duration>, name: &str| of.get(name).map_or(0.0, |took| took.as_secs_f64() * 1e3);
    let mut names: Vec<&String> = twice.work.keys().collect();
    names.sort_by_key(|name| std::cmp::Reverse(twice.elapsed[*name]));
    println!("{:>9} ms {:>9} ms {:>10} {:>10} rows   at {size} and {}", "", "", "", "", 2 * size);
    for name in names.into_iter().take(number("TOP").unwrap_or(12)) {
        let (few, many) = (once.work.get(name).copied().unwrap_or_default(), twice.work[name]);
        let times = many as f64 / few.max(1) as f64;
        println!(
            "{:>9.1} -> {:>9.1} {few:>10} -> {many:>10} {times:>5.2}  {name}",
            millis(&once.elapsed, name),
            millis(&twice.elapsed, name)
        );
    }
}

#[test]
fn twice_the_facts_cost_each_query_hardly_more_than_twice() {
    let size = number("SIZE").unwrap_or(SIZE);
    let only = std::env::var("SHAPE").unwrap_or_default();
    let mut found: Vec<String> = Vec::new();
    for shape in SHAPES.into_iter().filter(|(name, _)| name.contains(&only)) {
        let started = Instant::now();
        let (few, many) = (facts_of(shape, size), facts_of(shape, 2 * size));
        let (mut once, mut twice) = (evaluated(&few), evaluated(&many));
        println!("{}: {} and {} facts, {:.1?}", shape.0, few.len(), many.len(), started.elapsed());
        if number("TELL").is_some() {
            tell(size, &once, &twice);
        }
        let failures = once.failures.iter().chain(&twice.failures);
        found.extend(failures.map(|failure| format!("{}: {} {}", shape.0, failure.rule, failure.message)));
        // Which part of a union comes first is chance, and a join that knows of no row on one side does not read the other.
        for _ in 0..TRIES {
            if steep(few.len(), &once.work, &twice.work).is_empty() {
                break;
            }
            for (name, work) in evaluated(&few).work {
                once.work.entry(name).and_modify(|most| *most = work.max(*most));
            }
            for (name, work) in evaluated(&many).work {
                twice.work.entry(name).and_modify(|least| *least = work.min(*least));
            }
        }
        let steep = steep(few.len(), &once.work, &twice.work);
        found.extend(steep.into_iter().map(|told| format!("{}: {told}", shape.0)));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}
