//! Captures spoilt at random, through all stages in this process: no panic, and facts that keep their promises.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use a2a_drift::decode::record::{Record, Reject, Sink};
use a2a_drift::decode::{self, Limits};
use a2a_drift::instant::Instant;
use a2a_drift::normalize::Normalizer;
use a2a_drift::normalize::identity::{self, IdentitySettings};
use a2a_drift::rules::{Corpus, Engine, Overrides};
use a2a_drift::tables::{Common, Facts};
use serde_json::{Map, Value, json};

use super::{Dice, captures};

/// Mutations of each capture in a quick run.
const FEW: u64 = 12;
/// Bytes of a capture that one mutation is made of: a few records, so that many mutations take little time.
const PIECE: usize = 24 << 10;
/// Mutations whose facts are judged by all rules.
const JUDGED_OF: u64 = 6;

pub(super) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn files() -> Vec<String> {
    let folder = captures();
    let mut files: Vec<String> = (std::fs::read_dir(&folder).unwrap())
        .flat_map(|run| std::fs::read_dir(run.unwrap().path()).into_iter().flatten())
        .map(|file| file.unwrap().path().strip_prefix(&folder).unwrap().to_string_lossy().into_owned())
        .filter(|file| !file.ends_with(".md") && !file.contains(".steps."))
        .collect();
    files.sort();
    assert!(files.len() > 30, "{files:?}");
    files
}

#[test]
fn no_mutation_of_a_capture_breaks_a_promise() {
    let (count, only) = (number("MUTATIONS").unwrap_or(FEW), number("SEED"));
    let mut judged = Facts::default();
    for (index, file) in files().iter().enumerate() {
        let bytes = std::fs::read(captures().join(file)).unwrap();
        for mutation in 0..count {
            let seed = (index as u64) << 32 | mutation;
            if only.is_some_and(|only| only != seed) {
                continue;
            }
            let spoilt = spoil(&bytes, &mut Dice(seed));
            let facts = catch_unwind(AssertUnwindSafe(|| facts(file, &spoilt)));
            let facts = facts.unwrap_or_else(|_| panic!("{file}: SEED={seed} panicked"));
            let broken = broken_promises(&facts);
            assert!(broken.is_empty(), "{file}: SEED={seed}\n{broken}");
            if only.is_some() || mutation % JUDGED_OF == 0 {
                judged.append(facts);
            }
        }
    }
    // All together, as one capture of a very odd day.
    identity::resolve(&mut judged, &IdentitySettings::default());
    judged.make_set();
    assert!(judged.len() > 100 || only.is_some());
    let engine = Engine::new(Corpus::embedded().unwrap(), &Overrides::new()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let evaluation = runtime.block_on(engine.evaluate(judged.batches().unwrap())).unwrap();
    let failures: Vec<String> = evaluation.failures.iter().map(|f| format!("{}: {}", f.rule, f.message)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[derive(Default)]
struct Intake {
    normalizer: Normalizer,
    rejects: Vec<Reject>,
}

impl Sink for Intake {
    fn record(&mut self, record: Record) {
        self.normalizer.record(record);
    }

    fn reject(&mut self, reject: Reject) {
        self.rejects.push(reject);
    }

    fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
}

fn facts(file: &str, bytes: &[u8]) -> Facts {
    let source: Arc<str> = file.into();
    let mut intake = Intake::default();
    decode::decode(&source, Box::new(Cursor::new(bytes)), &Limits::default(), &mut intake);
    assert!(intake.rejects.iter().all(|reject| reject.origin.source == source && !reject.detail.is_empty()));
    let mut facts = intake.normalizer.finish().facts;
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts.make_set();
    facts
}

/// What facts promise and these break, in words.
pub(super) fn broken_promises(facts: &Facts) -> String {
    let mut broken = String::new();
    let mut ids = HashSet::new();
    for common in facts.commons() {
        of_common(common, &mut broken);
        if !ids.insert(common.fact_id.as_str()) {
            _ = writeln!(broken, "fact_id {} twice", common.fact_id);
        }
    }
    // Columns that may not be null are checked in the making of batches; the rest is looked at as text.
    for (table, batch) in facts.batches().unwrap() {
        let mut writer = arrow::json::ArrayWriter::new(Vec::new());
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let bytes = writer.into_inner();
        let rows: Vec<Map<String, Value>> =
            serde_json::from_slice(if bytes.is_empty() { b"[]" } else { &bytes }).unwrap();
        for row in &rows {
            of_row(table, row, &mut broken);
        }
    }
    broken
}

fn of_common(common: &Common, broken: &mut String) {
    let hex = |text: &str, digits| text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let id = |text: &str, digits| text.is_empty() || hex(text, digits);
    let in_range = |at: Instant| Instant::from_nanos(at.0).is_some();
    let promises = [
        ("fact_id", hex(&common.fact_id, 32)),
        ("observed_at", in_range(common.observed_at)),
        ("received_at", common.received_at.is_none()),
        ("observer", ["", "client", "server", "gateway", "receiver"].contains(&common.observer.as_str())),
        ("trace_id", id(&common.trace_id, 32)),
        ("span_id", id(&common.span_id, 16)),
        ("principal", id(&common.principal, 32)),
        ("source", !common.source.is_empty()),
        ("position", !common.position.is_empty()),
    ];
    for (column, _) in promises.iter().filter(|(_, kept)| !kept) {
        _ = writeln!(broken, "{column}: {common:?}");
    }
}

fn of_row(table: &str, row: &Map<String, Value>, broken: &mut String) {
    let words: BTreeMap<(&str, &str), &[&str]> = BTreeMap::from([
        (("exchanges", "binding"), &["", "jsonrpc", "http+json", "grpc"][..]),
        (("exchanges", "dialect"), &["", "0.1", "0.3", "1.0"]),
        (
            ("exchanges", "outcome"),
            &[
                "",
                "ok",
                "transport",
                "rate-limited",
                "capability",
                "auth",
                "not-found",
                "version",
                "invalid",
                "agent-error",
            ],
        ),
        (
            ("task_events", "state"),
            &[
                "submitted",
                "working",
                "input-required",
                "auth-required",
                "completed",
                "failed",
                "canceled",
                "rejected",
                "unknown",
            ],
        ),
        (("task_events", "origin"), &["reply", "stream", "push", "poll", "local", "log", "span"]),
        (("artifact_parts", "part_kind"), &["", "text", "raw", "url", "data"]),
        (("artifact_parts", "action"), &["received", "pruned"]),
        (("push_deliveries", "signature"), &["valid", "invalid", "absent", "unknown"]),
        (("cards", "origin"), &["fetch", "call", "log", "file"]),
    ]);
    let mut complain = |column: &str, value: &Value| _ = writeln!(broken, "{table}.{column}: {value}");
    for (column, value) in row {
        let kept = match value {
            Value::String(text) => {
                let of_list = words.get(&(table, column.as_str()));
                text.len() <= 1024 && of_list.is_none_or(|words| words.contains(&text.as_str()))
            }
            Value::Number(number) => match column.as_str() {
                // Some logs tell of a look at a card that got no answer.
                "http_status" if table == "cards" && number.as_i64() == Some(0) => true,
                "http_status" => number.as_i64().is_some_and(|n| (100..=599).contains(&n)),
                "size" | "part_index" | "ordinal" | "stream_events" | "artifact_count" | "max_age_s" => {
                    number.as_i64().is_some_and(|n| n >= 0)
                }
                _ => true,
            },
            Value::Array(items) => items.iter().all(|item| item.as_str().is_some_and(|text| text.len() <= 1024)),
            _ => true,
        };
        if !kept {
            complain(column, value);
        }
    }
}

/// A piece of a capture, spoilt in one to three ways.
fn spoil(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut piece = some_lines(bytes, dice);
    for _ in 0..=dice.below(3) {
        match dice.below(9) {
            0 => flip(&mut piece, dice),
            1 => piece.truncate(dice.below(piece.len())),
            2 => drop(piece.drain(..dice.below(piece.len()))),
            3 => duplicate(&mut piece, dice),
            4 => splice(&mut piece, bytes, dice),
            5 => swap_lines(&mut piece, dice),
            _ => swap_values(&mut piece, dice),
        }
    }
    piece
}

/// A run of whole lines; of a file on one line, all of it.
fn some_lines(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let start = dice.below(lines.len());
    let mut piece = Vec::new();
    for line in &lines[start..] {
        if !piece.is_empty() && piece.len() + line.len() > PIECE {
            break;
        }
        piece.extend_from_slice(line);
    }
    piece
}

pub(super) fn flip(piece: &mut [u8], dice: &mut Dice) {
    if piece.is_empty() {
        return;
    }
    for _ in 0..=dice.below(16) {
        let at = dice.below(piece.len());
        piece[at] = dice.roll().to_le_bytes()[0];
    }
}

fn range(length: usize, dice: &mut Dice) -> std::ops::Range<usize> {
    let start = dice.below(length + 1);
    start..start + dice.below((length - start + 1).min(4096))
}

pub(super) fn duplicate(piece: &mut Vec<u8>, dice: &mut Dice) {
    let again = piece[range(piece.len(), dice)].to_vec();
    let at = dice.below(piece.len() + 1);
    piece.splice(at..at, again);
}

fn splice(piece: &mut Vec<u8>, from: &[u8], dice: &mut Dice) {
    let other = from[range(from.len(), dice)].to_vec();
    let gone = range(piece.len(), dice);
    piece.splice(gone, other);
}

fn swap_lines(piece: &mut Vec<u8>, dice: &mut Dice) {
    let mut lines: Vec<Vec<u8>> = piece.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.len() > 1 {
        let (one, other) = (dice.below(lines.len()), dice.below(lines.len()));
        lines.swap(one, other);
        *piece = lines.concat();
    }
}

/// Puts odd values in the place of others in some lines that are JSON, and in the JSON that strings of them hold.
pub(super) fn swap_values(piece: &mut Vec<u8>, dice: &mut Dice) {
    let mut spoilt = Vec::new();
    for line in piece.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice::<Value>(line) {
            Ok(mut value) => {
                for _ in 0..=dice.below(3) {
                    swap_somewhere(&mut value, dice);
                }
                spoilt.extend_from_slice(value.to_string().as_bytes());
                spoilt.push(b'\n');
            }
            _ => spoilt.extend_from_slice(line),
        }
    }
    *piece = spoilt;
}

fn swap_somewhere(value: &mut Value, dice: &mut Dice) {
    if dice.below(12) == 0 {
        *value = odd_value(value, dice);
        return;
    }
    match value {
        Value::Array(items) if !items.is_empty() => {
            let at = dice.below(items.len());
            swap_somewhere(&mut items[at], dice);
        }
        Value::Object(members) if !members.is_empty() => {
            let key = members.keys().nth(dice.below(members.len())).cloned().unwrap();
            match dice.below(20) {
                0 => drop(members.remove(&key)),
                1 => {
                    let moved = members.remove(&key).unwrap();
                    members.insert(format!("{key}\u{0}{}", "k".repeat(dice.below(50))), moved);
                }
                _ => swap_somewhere(members.get_mut(&key).unwrap(), dice),
            }
        }
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(mut inner @ (Value::Object(_) | Value::Array(_))) => {
                swap_somewhere(&mut inner, dice);
                *text = inner.to_string();
            }
            _ => *value = odd_value(value, dice),
        },
        _ => *value = odd_value(value, dice),
    }
}

fn odd_value(old: &Value, dice: &mut Dice) -> Value {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "a": [inner] }));
    match dice.below(22) {
        0 => Value::Null,
        1 => json!(u64::MAX),
        2 => json!(i64::MIN),
        3 => json!(-1),
        4 => json!(1e308),
        5 => json!(0),
        6 => json!(""),
        7 => json!({}),
        8 => json!([]),
        9 => deep(30),
        10 => deep(60),
        11 => json!("x".repeat(5000)),
        12 => json!("\u{0}\u{1b}[31m\u{202e}é😀\u{fffd}"),
        13 => json!([old, old, null]),
        14 => json!({ "value": old }),
        15 => json!(old.to_string()),
        16 => json!(true),
        17 => json!("9999-12-31T23:59:59Z"),
        18 => json!("1969-12-31T23:59:59Z"),
        19 => json!("http://[::1%25eth0]:99999/%00/../%zz?#@:"),
        20 => json!(dice.roll()),
        _ => json!(dice.roll() as f64 / 1e3),
    }
}
