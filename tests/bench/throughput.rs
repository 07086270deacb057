//! How fast records become facts, by input format, and what each rule costs.
//!
//! `cargo bench` prints bytes and facts per second for every format that is read, over captures repeated with fresh ids, and then what
//! planning takes, and running each stored view and rule over the facts of all captures; at last, what telling who is who costs for
//! a thousand facts more. Figures, no limits: nothing fails by being slow.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

#[path = "../support/mod.rs"]
mod support;

use std::io::Cursor;
use std::sync::Arc;
use std::time::Instant;

use a2a_drift::decode::record::{Record, Reject, Sink};
use a2a_drift::decode::{self, Limits};
use a2a_drift::instant::Instant as At;
use a2a_drift::normalize::Normalizer;
use a2a_drift::normalize::identity::{self, IdentitySettings, Known};
use a2a_drift::tables::{Common, ExchangeColumns, ExchangeRow, Facts, TaskEventColumns, TaskEventRow};
use divan::counter::{BytesCount, ItemsCount};
use support::ids::{self, Fresh};
use support::library;

/// Copies of a capture, each with its own ids.
const COPIES: usize = 20;

/// What is measured: a name for the format and a capture in it.
const INPUTS: [(&str, &str); 8] = [
    ("exchanges, JSON-RPC 1.0", "a2a-python-1.3.0/jsonrpc.exchanges.ndjson"),
    ("exchanges, HTTP+JSON 1.0", "a2a-python-1.3.0/rest.exchanges.ndjson"),
    ("exchanges, 0.3", "a2a-python-0.3.26/v03.exchanges.ndjson"),
    ("HAR", "a2a-python-1.3.0/jsonrpc.har"),
    ("OTLP JSON traces", "a2a-rust-0.15.0/rust.traces.otlp.jsonl"),
    ("OTLP JSON logs", "a2a-python-1.3.0/jsonrpc.logs.otlp.jsonl"),
    ("OTLP protobuf traces", "a2a-python-1.3.0/jsonrpc.traces.1.otlp-grpc.pb"),
    ("OTLP protobuf logs", "a2a-python-1.3.0/jsonrpc.logs.0.otlp-grpc.pb"),
];

fn main() {
    divan::main();
    rules();
    identities();
}

/// Bytes of every copy; a binary capture is repeated as it is.
fn copies(file: &str) -> Vec<Vec<u8>> {
    let one = library::bytes(file).unwrap();
    let text = String::from_utf8(one.clone()).ok();
    (0..COPIES)
        .map(|nth| {
            text.as_ref().map_or_else(|| one.clone(), |t| ids::rename(t, &nth.to_string(), Fresh::All).into_bytes())
        })
        .collect()
}

#[derive(Default)]
struct Intake(Normalizer);

impl Sink for Intake {
    fn record(&mut self, record: Record) {
        self.0.record(record);
    }
    fn reject(&mut self, _reject: Reject) {}
    fn recognised(&mut self, _source: &Arc<str>, _format: &'static str) {}
}

fn facts_of(copies: &[Vec<u8>]) -> Facts {
    let mut intake = Intake::default();
    for bytes in copies {
        decode::decode(&"bench".into(), Box::new(Cursor::new(bytes)), &Limits::default(), &mut intake);
    }
    intake.0.finish().facts
}

/// From bytes to facts: decode and normalise, one thread.
#[divan::bench(args = INPUTS.map(|(name, _)| name))]
fn facts(bencher: divan::Bencher<'_, '_>, name: &str) {
    let (_, file) = INPUTS.iter().find(|(known, _)| *known == name).unwrap();
    let copies = copies(file);
    let bytes: usize = copies.iter().map(Vec::len).sum();
    let facts = facts_of(&copies).len();
    bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(facts)).bench(|| facts_of(&copies));
}

/// Time of every stored view and rule over all captures, planned before, and the rows that its operators saw.
fn rules() {
    let mut facts = Facts::default();
    for (_, file) in INPUTS {
        facts.append(facts_of(&copies(file)));
    }
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts.make_set();
    let count = facts.len();
    let engine = support::judge::engine().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = Instant::now();
    let mut prepared = engine.prepare().unwrap();
    let planned = started.elapsed();
    let started = Instant::now();
    let evaluation = runtime.block_on(prepared.evaluate(facts.batches().unwrap())).unwrap();
    let took = started.elapsed();
    println!(
        "\n{} queries over {count} facts: {planned:.2?} to plan once, {took:.2?} to run",
        evaluation.elapsed.len()
    );
    println!("{:>9} {:>12}  query", "ms", "rows seen");
    let mut elapsed: Vec<_> = evaluation.elapsed.iter().collect();
    elapsed.sort_by_key(|(_, took)| std::cmp::Reverse(**took));
    for (name, took) in elapsed {
        let rows = evaluation.work.get(name).copied().unwrap_or_default();
        println!("{:>9.1} {rows:>12}  {name}", took.as_secs_f64() * 1000.0);
    }
    for failure in &evaluation.failures {
        println!("{} failed: {}", failure.rule, failure.message);
    }
}

/// What a fleet says of so many tasks, from a number on: calls seen by both ends, three states, one artifact's worth of log.
fn fleet(from: usize, tasks: usize, facts: &mut Facts) {
    for n in from..from + tasks {
        let agent = format!("http://agent-{}.example/a2a", n % 300);
        let of = |at: usize, observer: &str, reference: &str, record: &str| Common {
            observed_at: At((n * 1000 + at) as i64),
            observer: observer.to_owned(),
            agent_ref: reference.to_owned(),
            client_ref: if observer == "client" { format!("client-{}", n % 50) } else { format!("10.0.0.{}", n % 200) },
            trace_id: format!("{n:032x}"),
            span_id: format!("{n:016x}"),
            record_id: format!("{record}/{n}/{at}"),
            source: "fleet".to_owned(),
            position: n.to_string(),
            ..Common::default()
        };
        let service = format!("service:agent-{}", n % 300);
        for (at, observer, reference) in [(0, "client", &agent), (1, "server", &service)] {
            let own = ExchangeColumns {
                operation: "SendMessage".to_owned(),
                rpc_id: n.to_string(),
                message_id: format!("m{n}"),
                task_id: format!("task-{n}"),
                outcome: "ok".to_owned(),
                ..ExchangeColumns::default()
            };
            let common = Common { call_id: format!("span:{n:016x}"), ..of(at, observer, reference, "span") };
            facts.push_exchange(ExchangeRow { common, own });
        }
        for (at, state) in ["submitted", "working", "completed"].into_iter().enumerate() {
            let own = TaskEventColumns {
                task_id: format!("task-{n}"),
                state: state.to_owned(),
                ..TaskEventColumns::default()
            };
            facts.push_task_event(TaskEventRow { common: of(2 + at, "server", &service, "log"), own });
        }
    }
}

/// What the next thousand facts cost, and those that leave, among many that are known.
fn identities() {
    println!("\nwho is who, among so many facts: the next thousand, those of 200 tasks leaving");
    let (mut known, mut tasks) = (Known::default(), 0);
    for many in [20_000, 200_000] {
        while tasks < many {
            known.add(fleet_of(tasks, 2000));
            tasks += 2000;
        }
        let (next, before) = (fleet_of(tasks, 200), known.len());
        tasks += 200;
        let started = Instant::now();
        known.add(next);
        let added = started.elapsed();
        let started = Instant::now();
        known.evict(At(((tasks - many + 200) * 1000) as i64), At(0));
        println!("{before:>9} {added:>12.2?} {:>12.2?}", started.elapsed());
    }
}

fn fleet_of(from: usize, tasks: usize) -> Facts {
    let mut facts = Facts::default();
    fleet(from, tasks, &mut facts);
    facts
}
