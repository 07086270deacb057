//! Records that come in any order, in any batches and twice, over restarts, give at any time the facts of the batch.
//!
//! `SEEDS=50 cargo test --test open` runs more streams than the short run; `SEED=17` runs one.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::sync::Arc;
use std::time::Instant as Clock;

use a2a_drift::decode::record::{Record, Reject, Sink};
use a2a_drift::decode::{self, Limits};
use a2a_drift::instant::Instant;
use a2a_drift::normalize::open::{Ahead, Joining, OpenNormalizer, Piece, PieceId, Read, Settled, Taken};
use a2a_drift::normalize::{Arrival, Normalizer, NormalizerSettings};
use a2a_drift::tables::{Facts, FactsDelta};
use serde_json::{Value, json};
use support::library;
use support::mix::Dice;

/// Streams of each set of files in the short run.
const STREAMS: u64 = 2;
const SECOND: i64 = 1_000_000_000;

#[derive(Default)]
struct Records(Vec<Record>);

impl Sink for Records {
    fn record(&mut self, record: Record) {
        self.0.push(record);
    }
    fn reject(&mut self, reject: Reject) {
        panic!("{reject:?}");
    }
    fn recognised(&mut self, _source: &Arc<str>, _format: &'static str) {}
}

fn records(files: &[&str]) -> Vec<Record> {
    let mut sink = Records::default();
    for file in files {
        let bytes = library::bytes(file).unwrap();
        decode::decode(&Arc::from(*file), Box::new(Cursor::new(bytes)), &Limits::default(), &mut sink);
    }
    sink.0
}

/// Texts and secrets that are in the captures and must not be in what is stored.
const SECRETS: [&str; 6] =
    ["model backend", "example-credential", "tok-example", "no longer advertised", "Traceback", "eyJ"];

/// Runs of the captures, with what of them is to be read together.
fn sets() -> Vec<(String, Vec<&'static str>)> {
    let mut runs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in library::files() {
        let (run, rest) =
            file.rsplit_once('/').map_or(("", file.as_str()), |(_, name)| ("", name)).1.split_once('.').unwrap();
        let folder = file.rsplit_once('/').map(|(folder, _)| folder).unwrap_or_default();
        let kind = match rest {
            rest if rest.ends_with(".pb") => "protobuf",
            "traces-unthinned-sample.otlp.jsonl" => "unthinned",
            rest if rest.contains("otlp.jsonl") => "otlp",
            "exchanges.ndjson" => "exchanges",
            _ => continue,
        };
        runs.entry(format!("{folder}/{run} {kind}")).or_default().push(file);
        if matches!(kind, "otlp" | "exchanges") {
            runs.entry(format!("{folder}/{run} all")).or_default().push(file);
        }
    }
    runs.into_iter().collect()
}

/// Facts by id, each as a text of all columns but where it was read.
type Rows = BTreeMap<String, String>;

fn rows(facts: &Facts) -> Rows {
    let mut facts = facts.clone();
    facts.make_set();
    for common in facts.commons_mut() {
        common.source.clear();
        common.position.clear();
        // The same line read twice is of two places.
        if common.record_id.starts_with("log/") {
            common.record_id.clear();
        }
    }
    let Value::Object(tables) = serde_json::to_value(&facts).unwrap() else { panic!() };
    let mut rows = Rows::new();
    for (table, lines) in tables {
        for line in lines.as_array().unwrap() {
            rows.insert(line["common"]["fact_id"].as_str().unwrap().to_owned(), format!("{table} {line}"));
        }
    }
    rows
}

fn batch<'a>(records: impl IntoIterator<Item = &'a Record>) -> Rows {
    let mut normalizer = Normalizer::new(NormalizerSettings::default());
    records.into_iter().for_each(|record| normalizer.record(record.clone()));
    rows(&normalizer.finish().facts)
}

/// A service: what it stored, and what it believes.
struct Service {
    normalizer: OpenNormalizer,
    /// Open traces that were read and are not taken back yet: what came since is not in them.
    lent: Option<Read>,
    /// Facts stored: final.
    said: Facts,
    settled: Rows,
    stored: Vec<(PieceId, Vec<u8>)>,
    joined: Rows,
    now: Instant,
    stored_bytes: usize,
}

impl Service {
    fn new() -> Self {
        Self {
            normalizer: OpenNormalizer::new(NormalizerSettings::default()),
            lent: None,
            said: Facts::default(),
            settled: Rows::new(),
            stored: Vec::new(),
            joined: Rows::new(),
            now: Instant(1),
            stored_bytes: 0,
        }
    }

    fn deliver(&mut self, records: impl IntoIterator<Item = Record>) {
        records.into_iter().for_each(|record| self.normalizer.record(record));
        let Taken { facts, pieces, done } = self.normalizer.take(self.now);
        for common in facts.commons() {
            self.joined.remove(&common.fact_id);
        }
        self.said.append(facts);
        self.store(&pieces, &done);
    }

    fn store(&mut self, pieces: &[Piece], done: &[PieceId]) {
        for piece in pieces {
            let bytes = piece.to_bytes().unwrap();
            self.stored_bytes += bytes.len();
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert!(!SECRETS.iter().any(|secret| text.contains(secret)), "{text}");
            self.stored.push((piece.id(), bytes));
        }
        if !done.is_empty() {
            let done: BTreeSet<&PieceId> = done.iter().collect();
            self.stored.retain(|(id, _)| !done.contains(id));
        }
    }

    fn join(&mut self) {
        self.lend(None);
        self.take_back();
        // What came meanwhile.
        self.lend(None);
        self.take_back();
    }

    fn lend(&mut self, settle: Option<Instant>) {
        if self.lent.is_none() {
            self.lent = self.normalizer.begin_join(settle).map(Joining::run);
        }
    }

    fn change(&mut self, change: &FactsDelta) {
        for id in &change.removed {
            assert!(self.joined.remove(id).is_some(), "a fact went that was never told");
        }
        let before = self.joined.len();
        let added = rows(&change.added);
        let fresh = added.keys().filter(|id| !self.joined.contains_key(*id)).count();
        self.joined.extend(added);
        assert_eq!(self.joined.len(), before + fresh);
    }

    fn settle(&mut self, before: Instant) {
        self.take_back();
        self.lend(Some(before));
        self.take_back();
    }

    fn take_back(&mut self) {
        let Some(read) = self.lent.take() else { return };
        let Settled { change, facts, pieces, done } = self.normalizer.end_join(read);
        self.change(&change);
        let facts = rows(&facts);
        for id in facts.keys() {
            assert!(self.joined.contains_key(id), "a fact is final that was never told");
        }
        self.settled.extend(facts);
        self.store(&pieces, &done);
    }

    fn restart(&mut self, dice: &mut Dice) {
        (self.normalizer, self.lent) = (OpenNormalizer::new(NormalizerSettings::default()), None);
        let mut pieces: Vec<Piece> = Vec::new();
        for (id, bytes) in &self.stored {
            let piece = Piece::from_bytes(bytes).unwrap();
            assert_eq!(piece.id(), *id);
            // A log may hold a piece twice.
            if dice.one_in(5) {
                pieces.push(piece.clone());
            }
            pieces.push(piece);
        }
        self.normalizer.restore(pieces, &self.said);
        self.joined = self.settled.clone();
        self.join();
    }

    fn facts(&self) -> Rows {
        let mut all = rows(&self.said);
        all.extend(self.joined.clone());
        all
    }
}

/// What is in one and not in the other.
fn difference(open: &Rows, batch: &Rows) -> String {
    let only = |sign: &str, these: &Rows, those: &Rows| -> Vec<String> {
        let differing = these.iter().filter(|(id, row)| those.get(*id) != Some(row));
        differing.map(|(_, row)| format!("  {sign} {}", row.replace(r#","observer"#, "\n      observer"))).collect()
    };
    [only("open: ", open, batch), only("batch:", batch, open)].concat().join("\n")
}

fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("SEED"), number("SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, Some(seeds)) => (0..seeds).collect(),
        (None, None) => (0..STREAMS).collect(),
    }
}

/// Cuts records into batches: shuffled, some twice.
fn batches(records: &[Record], dice: &mut Dice) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    let again: Vec<usize> = order.iter().copied().filter(|_| dice.one_in(6)).collect();
    order.extend(again);
    dice.shuffle(&mut order);
    let parts = 3 + dice.below(6);
    let mut batches: Vec<Vec<usize>> = vec![Vec::new(); parts];
    for index in order {
        batches[dice.below(parts)].push(index);
    }
    batches
}

#[test]
fn at_any_time_the_facts_are_those_of_the_batch() {
    for (name, files) in sets() {
        let records = records(&files);
        for seed in seeds() {
            let mut dice = Dice::new(seed);
            let mut service = Service::new();
            let mut delivered: BTreeSet<usize> = BTreeSet::new();
            for (number, batch_of) in batches(&records, &mut dice).iter().enumerate() {
                service.now = Instant(service.now.0 + SECOND);
                if dice.one_in(2) {
                    service.lend(None);
                }
                service.deliver(batch_of.iter().map(|index| records[*index].clone()));
                delivered.extend(batch_of);
                if dice.one_in(3) {
                    service.restart(&mut dice);
                }
                service.join();
                let expected = batch(delivered.iter().map(|index| &records[*index]));
                let facts = service.facts();
                assert!(
                    facts == expected,
                    "{name}, seed {seed}, batch {number}: {} facts, of {}\n{}",
                    facts.len(),
                    expected.len(),
                    difference(&facts, &expected)
                );
            }
            let load = service.normalizer.load();
            assert_eq!((load.late, load.again, load.torn, load.given_up), (0, 0, 0, 0), "{name}");
            if seed == 0 {
                println!(
                    "{name}: {} records, {} facts, {} bytes stored in pieces, {load:?}",
                    records.len(),
                    service.facts().len(),
                    service.stored_bytes
                );
            }
        }
    }
}

/// Trace of a record, else its place: what is complete together.
fn group(record: &Record) -> String {
    let (trace, origin) = match record {
        Record::Span(span) => (&span.trace_id, &span.origin),
        Record::Log(log) => (&log.trace_id, &log.origin),
        Record::Exchange(exchange) => (&exchange.trace_id, &exchange.origin),
        Record::Document(document) => return document.origin.source.to_string(),
    };
    if trace.is_empty() { format!("{}:{}", origin.source, origin.position) } else { trace.clone() }
}

fn at(record: &Record) -> Instant {
    match record {
        Record::Span(span) => span.started_at,
        Record::Log(log) => log.at,
        Record::Exchange(exchange) => exchange.started_at,
        Record::Document(document) => document.at,
    }
    .unwrap_or_default()
}

/// Each trace in one delivery, in the order of time, and settled so many seconds after its arrival.
fn settled(records: &[Record], seed: u64, patience: i64) -> (Service, Rows) {
    let mut traces: BTreeMap<String, Vec<&Record>> = BTreeMap::new();
    for record in records {
        traces.entry(group(record)).or_default().push(record);
    }
    let mut traces: Vec<Vec<&Record>> = traces.into_values().collect();
    traces.sort_by_key(|trace| trace.iter().map(|record| at(record)).max());
    let mut dice = Dice::new(seed);
    let mut service = Service::new();
    for trace in &mut traces {
        dice.shuffle(trace);
        service.now = Instant(service.now.0 + SECOND);
        let before = Instant(service.now.0 - patience * SECOND);
        if dice.one_in(2) {
            service.lend(dice.one_in(2).then_some(before));
        }
        service.deliver(trace.iter().map(|record| (*record).clone()));
        service.settle(before);
        if dice.one_in(10) {
            service.restart(&mut dice);
        }
    }
    service.settle(Instant(i64::MAX));
    let load = service.normalizer.load();
    assert_eq!((load.pieces, load.groups, load.unsure, load.waiting, load.joined), (0, 0, 0, 0, 0));
    (service, batch(records))
}

#[test]
fn complete_traces_may_be_settled() {
    for (name, files) in sets() {
        let records = records(&files);
        let (service, expected) = settled(&records, 1, 30);
        let facts = service.facts();
        assert!(facts == expected, "{name}:\n{}", difference(&facts, &expected));
    }
}

/// Without any patience, a client's log line about a card outlives the span, in another trace, that tells of the same look:
/// it is taken for a look of its own. Nothing else differs.
#[test]
fn traces_settled_at_once_repeat_looks_at_cards_and_change_nothing_else() {
    for (name, files) in sets() {
        let records = records(&files);
        let (service, expected) = settled(&records, 2, -1000);
        let facts = service.facts();
        for (id, row) in &facts {
            assert!(expected.get(id) == Some(row) || row.starts_with("cards "), "{name}: {row}");
        }
        assert!(expected.keys().all(|id| facts.contains_key(id)), "{name}");
    }
}

/// Records of exchanges and of bare documents, one after another.
fn lines(source: &str, lines: &[Value]) -> Vec<Record> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut sink = Records::default();
    decode::decode(&Arc::from(source), Box::new(Cursor::new(text.into_bytes())), &Limits::default(), &mut sink);
    assert_eq!(sink.0.len(), lines.len());
    sink.0
}

fn bare_lines() -> Vec<Record> {
    let send = |id: u8, method: &str| {
        let part = json!([{"text": "a text that nobody may store"}]);
        json!({"jsonrpc": "2.0", "id": id, "method": method,
               "params": {"message": {"messageId": format!("m{id}"), "role": "ROLE_USER", "parts": part}}})
    };
    let status =
        |state: &str, second: u8| json!({"state": state, "timestamp": format!("2026-11-30T06:15:{second:02}Z")});
    let update = |second: u8, state: &str| {
        let update = json!({"taskId": "t1", "contextId": "c", "status": status(state, second)});
        json!({"jsonrpc": "2.0", "id": 1, "result": {"statusUpdate": update}})
    };
    let task = json!({"task": {"id": "t2", "contextId": "c", "status": status("TASK_STATE_COMPLETED", 35)}});
    let records = [
        send(1, "SendStreamingMessage"),
        update(31, "TASK_STATE_WORKING"),
        send(2, "SendMessage"),
        update(33, "TASK_STATE_COMPLETED"),
        json!({"jsonrpc": "2.0", "id": 2, "result": task}),
        send(1, "SendMessage"),
        json!({"jsonrpc": "2.0", "id": 3, "method": "eth_call", "params": []}),
    ];
    lines("agent.log", &records)
}

#[test]
fn bare_documents_are_those_of_the_batch_wherever_they_are_cut() {
    let records = bare_lines();
    for seed in 0..20 {
        let mut dice = Dice::new(seed);
        let mut service = Service::new();
        for (index, record) in records.iter().enumerate() {
            if dice.one_in(3) {
                service.lend(None);
            }
            service.normalizer.record(record.clone());
            if dice.one_in(2) {
                service.deliver([]);
                service.join();
                assert_eq!(difference(&service.facts(), &batch(&records[..=index])), "", "seed {seed}, line {index}");
            }
        }
        service.deliver([]);
        assert!(service.stored.iter().all(|(_, bytes)| !String::from_utf8_lossy(bytes).contains("nobody may store")));
        service.settle(Instant(i64::MAX));
        assert_eq!(difference(&service.facts(), &batch(&records)), "", "seed {seed}");
        let load = service.normalizer.load();
        assert_eq!((load.waiting, load.unsure, load.joined, load.torn), (0, 0, 0, 0));
    }
}

#[test]
fn an_answer_after_a_restart_is_counted_and_what_was_told_before_stays() {
    let records = bare_lines();
    let mut service = Service::new();
    service.deliver(records[..3].to_vec());
    service.join();
    let before = service.facts();
    service.restart(&mut Dice::new(1));
    assert_eq!(difference(&service.facts(), &before), "");
    service.deliver(records[3..5].to_vec());
    service.join();
    assert_eq!(service.normalizer.load().torn, 2);
    assert!(before.keys().all(|id| service.facts().contains_key(id)));
}

#[test]
fn what_comes_while_open_traces_are_read_is_told_before_it_is_final() {
    // The doubtful call first: what comes meanwhile says that its address speaks A2A.
    let mut records = bare_lines();
    records.rotate_right(1);
    let mut service = Service::new();
    service.deliver(records[..1].to_vec());
    service.lend(Some(Instant(i64::MAX)));
    service.deliver(records[1..2].to_vec());
    // `take_back` demands it of every fact.
    service.take_back();
    assert!(service.settled.len() > 1);
    assert_eq!(service.settled.len(), batch(&records[..2]).len());
    assert_eq!(difference(&service.facts(), &batch(&records[..2])), "");
}

#[test]
fn a_doubtful_call_waits_for_its_address_over_a_restart() {
    let exchange = |second: u8, body: Value, answer: Value| {
        json!({"startedDateTime": format!("2026-11-30T06:15:{second:02}Z"), "time_ms": 5, "leg": "agent",
               "request": {"method": "POST", "url": "http://agent.example/rpc", "headers": [], "body": {"text": body.to_string()}},
               "response": {"status": 200, "headers": [], "body": {"text": answer.to_string()}}})
    };
    let doubtful = |second| {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}});
        exchange(second, json!({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": []}), answer)
    };
    let task = json!({"jsonrpc": "2.0", "id": 2, "result": {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}});
    let sure = exchange(33, json!({"jsonrpc": "2.0", "id": 2, "method": "GetTask", "params": {"id": "t"}}), task);
    let records = lines("tap.ndjson", &[doubtful(31), sure, doubtful(35), doubtful(36)]);
    let mut service = Service::new();
    service.deliver([records[0].clone(), records[0].clone()]);
    assert_eq!((service.said.len(), service.normalizer.load().unsure), (0, 1));
    service.restart(&mut Dice::new(1));
    service.deliver([records[1].clone()]);
    assert_eq!(service.normalizer.load().unsure, 0);
    service.restart(&mut Dice::new(1));
    service.deliver(records[2..].to_vec());
    assert_eq!(difference(&service.facts(), &batch(&records)), "");

    let mut service = Service::new();
    service.deliver([records[0].clone()]);
    service.settle(Instant(i64::MAX));
    // The clock of the source stays.
    assert_eq!((service.normalizer.load().given_up, service.stored.len()), (1, 1));
}

#[test]
fn what_comes_late_is_counted_and_what_comes_again_is_dropped() {
    let records = records(&["a2a-rust-0.15.0/rust.traces.otlp.jsonl"]);
    let of = |wanted: &str| records.iter().filter(|record| group(record) == wanted).count();
    let trace = records.iter().map(group).max_by_key(|trace| of(trace)).unwrap();
    let of_trace: Vec<Record> = records.into_iter().filter(|record| group(record) == trace).collect();
    assert!(of_trace.len() > 1);
    let mut service = Service::new();
    service.deliver(of_trace[1..].to_vec());
    service.settle(Instant(i64::MAX));
    let facts = service.facts();
    service.deliver(of_trace[1..].to_vec());
    service.join();
    assert_eq!(difference(&service.facts(), &facts), "");
    assert!(service.normalizer.load().again > 0);
    assert_eq!(service.normalizer.load().late, 0);
    service.deliver(of_trace[..1].to_vec());
    assert_eq!(service.normalizer.load().late, 1);
}

#[test]
fn time_of_a_join() {
    let files: Vec<&str> = library::files()
        .iter()
        .map(String::as_str)
        .filter(|f| f.contains("jsonrpc.traces-") || f.contains("jsonrpc.logs.otlp"))
        .collect();
    let records = records(&files);
    let mut service = Service::new();
    let mut copy = 0;
    while service.normalizer.load().pieces < 10_000 {
        copy += 1;
        let records: Vec<Record> = records.iter().cloned().map(|record| moved(record, copy)).collect();
        service.deliver(records);
    }
    let load = service.normalizer.load();
    let clock = Clock::now();
    let change = service.normalizer.join();
    let first = clock.elapsed();
    let clock = Clock::now();
    let again = service.normalizer.join();
    println!(
        "{load:?}: {} facts, first join {first:?}, without change {:?} ({} facts), {} bytes a piece",
        change.added.len(),
        clock.elapsed(),
        again.added.len(),
        service.stored_bytes / load.pieces
    );
}

fn moved(mut record: Record, copy: u32) -> Record {
    let trace = |trace: &mut String| {
        if !trace.is_empty() {
            trace.replace_range(..8, &format!("{copy:08x}"));
        }
    };
    match &mut record {
        Record::Span(span) => trace(&mut span.trace_id),
        Record::Log(log) => trace(&mut log.trace_id),
        Record::Exchange(_) | Record::Document(_) => {}
    }
    record
}

/// Exchanges of a capture as a body of its own: with their times, or with that of the middle one only.
fn body(name: &str, skip: usize, timed: impl Fn(usize) -> Option<i64>) -> Vec<Record> {
    let records = records(&["a2a-python-1.3.0/jsonrpc.exchanges.ndjson"]).into_iter().skip(skip).take(3);
    let body = records.enumerate().map(|(number, record)| {
        let Record::Exchange(mut exchange) = record else { panic!() };
        exchange.origin.source = Arc::from(name);
        (exchange.started_at, exchange.ended_at) = (timed(number).map(Instant), None);
        exchange.chunks.clear();
        Record::Exchange(exchange)
    });
    body.collect()
}

fn arrival(second: i64) -> Arrival {
    Arrival { at: Instant(second * SECOND), most_ahead: std::time::Duration::from_secs(10) }
}

#[test]
fn what_has_no_time_has_the_last_of_its_body_else_its_arrival_and_of_no_other_sender() {
    let timed = body("exchanges", 0, |number| Some((95 + number as i64) * SECOND));
    let half_timed = body("exchanges", 3, |number| (number == 1).then_some(90 * SECOND));
    // The epoch is the time of what has none.
    let timeless = body("exchanges", 6, |number| (number == 1).then_some(0));
    let mut open = OpenNormalizer::new(NormalizerSettings::default());
    let mut bodies = Normalizer::new(NormalizerSettings::default());
    let mut facts = Facts::default();
    for (second, body) in (100..).zip([timed, half_timed, timeless]) {
        assert_eq!(open.body(body.clone(), arrival(second)), Ahead::default());
        let taken = open.take(Instant(second * SECOND));
        assert!(taken.pieces.iter().all(|piece| !format!("{piece:?}").contains("Clock")), "no sender's time is kept");
        facts.append(taken.facts);
        bodies.arrive(arrival(second));
        for mut record in body {
            let Record::Exchange(exchange) = &mut record else { panic!() };
            exchange.origin.source = Arc::from(format!("body {second}"));
            bodies.record(record);
        }
    }
    let times: BTreeSet<i64> =
        facts.commons().map(|common| common.observed_at.0 / SECOND).filter(|at| *at != 0).collect();
    assert_eq!(times, BTreeSet::from([90, 95, 96, 97, 101, 102]));
    assert_eq!(rows(&facts), rows(&bodies.finish().facts));
}

#[test]
fn a_source_that_goes_on_lends_its_last_time_and_before_any_its_arrival() {
    let mut open = OpenNormalizer::new(NormalizerSettings::default());
    let first = body("a.log", 0, |number| (number == 1).then_some(90 * SECOND));
    let second = body("a.log", 3, |_| None);
    open.grown(first, arrival(100));
    open.grown(second, arrival(200));
    let facts = open.take(Instant(200 * SECOND)).facts;
    let times: BTreeSet<i64> =
        facts.commons().map(|common| common.observed_at.0 / SECOND).filter(|at| *at != 0).collect();
    assert_eq!(times, BTreeSet::from([90, 100]));
}

#[test]
fn what_is_yet_to_come_is_refused_by_itself_and_what_is_ahead_a_little_is_kept() {
    let mut open = OpenNormalizer::new(NormalizerSettings::default());
    let times = [Some(105 * SECOND), Some(4_000 * SECOND), None];
    let ahead = open.body(body("exchanges", 0, |number| times[number]), arrival(100));
    assert_eq!(ahead, Ahead { refused: 1, by: std::time::Duration::from_secs(3900) });
    let facts = open.take(Instant(100 * SECOND)).facts;
    assert!(!facts.is_empty());
    assert!(
        facts.commons().all(|common| [0, 105].contains(&(common.observed_at.0 / SECOND))),
        "nor does it lend its time"
    );
}
