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
use support::judge::{self, Files};
use support::shapes::{SHAPES, Shape};

/// Size of a shape, and then twice as much.
const SIZE: usize = 400;
/// Times that twice the facts may cost.
const TIMES: f64 = 2.3;
/// Evaluations of each.
const TRIES: usize = 3;

/// Facts of a shape, and what each query looks at. Which part of a union comes first is chance, and a join that knows of no row on one side
/// does not read the other: of several evaluations the one that `pick` takes counts.
fn evaluated((_, shape): Shape, size: usize, pick: fn(usize, usize) -> usize) -> (usize, Evaluation) {
    let files = Files::from([("shape.exchanges.ndjson".to_owned(), shape(size))]);
    let (mut facts, rejects) = judge::facts(&files);
    assert!(rejects.is_empty(), "{rejects:?}");
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts.make_set();
    let mut evaluation = judge::evaluate(facts.batches().unwrap()).unwrap();
    for _ in 1..TRIES {
        let again = judge::evaluate(facts.batches().unwrap()).unwrap();
        for (name, work) in again.work {
            evaluation.work.entry(name).and_modify(|picked| *picked = pick(work, *picked));
        }
    }
    (facts.len(), evaluation)
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
    let mut steep: Vec<String> = Vec::new();
    for shape in SHAPES.into_iter().filter(|(name, _)| name.contains(&only)) {
        let started = Instant::now();
        let ((facts, once), (more, twice)) =
            (evaluated(shape, size, usize::max), evaluated(shape, 2 * size, usize::min));
        println!("{}: {facts} and {more} facts, {:.1?}", shape.0, started.elapsed());
        let told: Vec<String> = [&once, &twice]
            .into_iter()
            .flat_map(|e| &e.failures)
            .map(|f| format!("{} {}", f.rule, f.message))
            .collect();
        assert!(told.is_empty() || number("TELL").is_some(), "{told:?}");
        if number("TELL").is_some() {
            tell(size, &once, &twice);
            println!("{told:?}");
        }
        for (name, many) in &twice.work {
            // To look at every fact once is no growth that matters.
            let few = once.work.get(name).copied().unwrap_or_default().max(facts);
            let times = *many as f64 / few as f64;
            if times > TIMES {
                steep.push(format!("{}: {name} looks at {few} rows, then at {many}: x {times:.2}", shape.0));
            }
        }
    }
    assert!(steep.is_empty(), "\n{}", steep.join("\n"));
}
