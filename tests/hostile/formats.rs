//! Files of every foreign format that tests have, spoilt at random between good lines: no panic, no hang, facts that keep their
//! promises, and the good lines are read.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use a2a_drift::decode::record::{Record, Reject, Sink};
use a2a_drift::decode::{self, Limits};
use a2a_drift::normalize::Normalizer;
use a2a_drift::tables::Facts;
use serde_json::json;

use super::Dice;
use super::mutate::{broken_promises, duplicate, flip, number, swap_values};

/// Mutations of each file in a quick run.
const FEW: u64 = 8;
/// Bytes of a file over many lines that one mutation is made of.
const PIECE: usize = 16 << 10;
/// What reading may take: a start, and time for each byte. Both are many times what a debug build needs.
const START: Duration = Duration::from_secs(10);
const PER_BYTE: Duration = Duration::from_micros(200);

/// A file, and whether each of its lines stands for itself.
struct Format {
    path: PathBuf,
    is_of_lines: bool,
}

fn files() -> Vec<Format> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(tests.join("formats")).unwrap().map(|folder| folder.unwrap().path()).collect();
    folders.push(tests.join("captures/synthetic-conventions"));
    let mut files: Vec<PathBuf> = (folders.iter())
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending != "md"))
        .collect();
    files.sort();
    assert!(files.len() > 45, "{files:?}");
    let is_of_lines = |path: &Path| path.extension().is_some_and(|ending| ending != "json" && ending != "txt");
    files.into_iter().map(|path| Format { is_of_lines: is_of_lines(&path), path }).collect()
}

#[test]
fn no_mutation_of_a_foreign_format_panics_hangs_or_costs_its_neighbours() {
    let (count, only) = (number("MUTATIONS").unwrap_or(FEW), number("SEED"));
    for (index, file) in files().iter().enumerate() {
        let bytes = std::fs::read(&file.path).unwrap();
        for mutation in 0..count {
            let seed = (index as u64) << 32 | mutation;
            if only.is_some_and(|only| only != seed) {
                continue;
            }
            let told = format!("{}: SEED={seed}", file.path.display());
            let mut dice = Dice(seed ^ 0x666f_726d_6174);
            let spoilt = spoil(&bytes, file.is_of_lines, &mut dice);
            let text = [good("before"), spoilt.clone(), b"\n".to_vec(), good("after"), good("last")].concat();
            let begun = Instant::now();
            let facts = catch_unwind(AssertUnwindSafe(|| facts(&text)));
            let facts = facts.unwrap_or_else(|_| panic!("{told} panicked"));
            let took = begun.elapsed();
            let most = START + PER_BYTE * u32::try_from(text.len()).unwrap();
            assert!(took < most, "{told} took {took:?} for {} bytes", text.len());
            let broken = broken_promises(&facts);
            assert!(broken.is_empty(), "{told}\n{broken}");
            let kept = if file.is_of_lines { &["before", "after", "last"][..] } else { &["before"] };
            for name in kept {
                let is_read = facts.exchanges.iter().any(|row| row.own.task_id == format!("task-{name}"));
                assert!(is_read, "{told} lost the line {name}:\n{}", String::from_utf8_lossy(&spoilt));
            }
        }
    }
}

/// A line that is good: a call with its answer.
fn good(name: &str) -> Vec<u8> {
    let message = json!({"messageId": format!("message-{name}"), "role": "ROLE_USER", "parts": [{"text": "x"}]});
    let task = json!({"id": format!("task-{name}"), "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let request = json!({"jsonrpc": "2.0", "id": name, "method": "SendMessage", "params": {"message": message}});
    let response = json!({"jsonrpc": "2.0", "id": name, "result": {"task": task}});
    let line = json!({
        "startedDateTime": "2026-11-30T06:15:34Z", "time_ms": 5,
        "request": {"method": "POST", "url": "http://good.example/a2a", "body": request},
        "response": {"status": 200, "body": response},
    });
    format!("{line}\n").into_bytes()
}

#[derive(Default)]
struct Intake {
    normalizer: Normalizer,
    rejects: Vec<Reject>,
    records: usize,
}

impl Sink for Intake {
    fn record(&mut self, record: Record) {
        self.records += 1;
        self.normalizer.record(record);
    }

    fn reject(&mut self, reject: Reject) {
        self.rejects.push(reject);
    }

    fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
}

fn facts(bytes: &[u8]) -> Facts {
    let mut intake = Intake::default();
    decode::decode(&"spoilt".into(), Box::new(Cursor::new(bytes)), &Limits::default(), &mut intake);
    assert!(intake.records + intake.rejects.len() <= bytes.len(), "more pieces than bytes");
    let mut facts = intake.normalizer.finish().facts;
    facts.make_set();
    facts
}

/// A line of a file, or a run of its lines, spoilt in one to three ways.
fn spoil(bytes: &[u8], is_of_lines: bool, dice: &mut Dice) -> Vec<u8> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let start = dice.below(lines.len());
    let mut piece = lines[start].to_vec();
    let more = if is_of_lines { 0 } else { PIECE.saturating_sub(piece.len()) };
    lines[start + 1..]
        .iter()
        .scan(more, |left, line| left.checked_sub(line.len()).map(|rest| (*left = rest, line).1))
        .for_each(|line| piece.extend_from_slice(line));
    if is_of_lines {
        piece.truncate(piece.trim_ascii_end().len());
    }
    for _ in 0..=dice.below(3) {
        match dice.below(11) {
            0 => flip(&mut piece, dice),
            1 => piece.truncate(dice.below(piece.len() + 1)),
            2 => drop(piece.drain(..dice.below(piece.len() + 1))),
            3 => duplicate(&mut piece, dice),
            4 => delete(&mut piece, dice),
            5 => other_number(&mut piece, dice),
            6 => insert(&mut piece, &b"\0".repeat(1 + dice.below(600)), dice),
            7 => nest(&mut piece, dice),
            8 => one_bit(&mut piece, dice),
            _ => {
                swap_values(&mut piece, dice);
                piece.truncate(piece.trim_ascii_end().len());
            }
        }
    }
    piece
}

fn delete(piece: &mut Vec<u8>, dice: &mut Dice) {
    let start = dice.below(piece.len() + 1);
    let end = start + dice.below((piece.len() - start + 1).min(200));
    piece.drain(start..end);
}

fn insert(piece: &mut Vec<u8>, bytes: &[u8], dice: &mut Dice) {
    let at = dice.below(piece.len() + 1);
    piece.splice(at..at, bytes.iter().copied());
}

fn one_bit(piece: &mut [u8], dice: &mut Dice) {
    if !piece.is_empty() {
        let at = dice.below(piece.len());
        piece[at] ^= 1 << dice.below(8);
    }
}

/// Puts one number in the place of another, many of them too large for anything.
fn other_number(piece: &mut Vec<u8>, dice: &mut Dice) {
    let starts: Vec<usize> = (0..piece.len())
        .filter(|at| piece[*at].is_ascii_digit() && (*at == 0 || !piece[*at - 1].is_ascii_digit()))
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = *dice.pick(&starts);
    let length = piece[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let huge = "9".repeat(1 + dice.below(400));
    let random = dice.roll().to_string();
    let number =
        *dice.pick(&["0", "1", "-1", "18446744073709551615", "9223372036854775808", "1e999", "1e-999", &huge, &random]);
    piece.splice(start..start + length, number.bytes());
}

/// Inserts brackets, many of them deeper than anything is read.
fn nest(piece: &mut Vec<u8>, dice: &mut Dice) {
    let depth = 1 + dice.below(2000);
    let open = *dice.pick(&["[", "{\"a\":", "{\"", "[{\"a\":[", "\"", "{\"log\":", "\\\""]);
    let close = *dice.pick(&["]", "}", "}]", ""]);
    insert(piece, (open.repeat(depth) + &close.repeat(depth)).as_bytes(), dice);
}
