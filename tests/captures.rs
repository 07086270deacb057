//! The program against the truth of the captures: every run, in every representation, says what the truth files say, and
//! nothing else; the healthy part of a run says nothing at all; order and double delivery change nothing.
//!
//! `cargo test --test captures jsonrpc` one run, `… jsonrpc::har` one representation, `… healthy::` the healthy parts;
//! `RULE=unknown_skill` looks at one rule only.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use a2a_drift::findings::{Finding, Severity};
use a2a_drift::instant::Instant;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use support::assemble::Capture;
use support::judge::{self, Files, Verdict, judge};
use support::truth::{self, Entry};
use support::{Told, expect, healthy};

/// Representations of which parts can be cut out by time.
const CUT: [&str; 5] = ["exchanges", "har", "traces", "logs", "exchanges_logs"];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![
        trial("truth::names_rules_that_exist".to_owned(), only_known_rules),
        trial("program::says_what_the_stages_say".to_owned(), || {
            the_program_says_the_same("jsonrpc", "exchanges_logs")
        }),
    ];
    for (run, representations) in truth::runs() {
        for representation in representations {
            let of = run.clone();
            trials.push(trial(format!("{run}::{representation}"), move || as_the_truth_says(&of, representation)));
            let of = run.clone();
            if CUT.contains(&representation) && healthy::has(&run, representation).unwrap_or(true) {
                trials
                    .push(trial(format!("healthy::{run}::{representation}"), move || is_healthy(&of, representation)));
            }
            if representation == "exchanges" && healthy::has(&run, representation).unwrap_or(true) {
                for hours in [2, -2] {
                    let of = run.clone();
                    let name = format!("clock::{run}::webhook_{hours}_hours");
                    trials.push(trial(name, move || a_receivers_clock_is_no_fault(&of, hours)));
                }
            }
            let of = run.clone();
            if matches!(representation, "exchanges_logs" | "traces") {
                trials.push(trial(format!("set::{run}::{representation}"), move || is_a_set(&of, representation)));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: String, test: impl FnOnce() -> Told<()> + Send + 'static) -> Trial {
    Trial::test(name, move || test().map_err(Failed::from))
}

/// The verdict on a representation of a run, judged once however many tests look at it.
fn verdict(run: &str, representation: &'static str) -> Told<Arc<Verdict>> {
    type Once = Arc<OnceLock<Told<Arc<Verdict>>>>;
    static VERDICTS: LazyLock<Mutex<BTreeMap<(String, &'static str), Once>>> = LazyLock::new(Mutex::default);
    let mut verdicts = VERDICTS.lock().map_err(|e| e.to_string())?;
    let once = Arc::clone(verdicts.entry((run.to_owned(), representation)).or_default());
    drop(verdicts);
    once.get_or_init(|| judge(&truth::files(run, representation)?, None).map(Arc::new)).clone()
}

/// The rule looked at; all when none.
fn wanted(rule: &str) -> bool {
    std::env::var("RULE").map_or(true, |only| only == rule)
}

fn as_the_truth_says(run: &str, representation: &'static str) -> Told<()> {
    let engine = judge::engine()?;
    let entries = truth::entries()?;
    let is_there = |entry: &&Entry| entry.run == run && entry.is_in(representation);
    // A rule that is not written yet has a test of its own.
    let judged = |entry: &&Entry| engine.corpus().rule(&entry.rule).is_some() && wanted(&entry.rule);
    let expected: Vec<_> = entries.iter().filter(is_there).filter(judged).map(|e| e.expect(representation)).collect();
    let verdict = verdict(run, representation)?;
    if verdict.facts == 0 || !verdict.rejects.is_empty() {
        return Err(format!("{} facts, rejects {:#?}", verdict.facts, verdict.rejects));
    }
    let mut findings = verdict.findings.clone();
    findings.retain(|finding| wanted(&finding.rule));
    expect::compare(&expected, &Capture::default(), &findings)
}

fn only_known_rules() -> Told<()> {
    let engine = judge::engine()?;
    let rules: BTreeSet<String> = truth::entries()?.into_iter().map(|entry| entry.rule).collect();
    let unknown: Vec<_> = rules.into_iter().filter(|rule| engine.corpus().rule(rule).is_none()).collect();
    if unknown.is_empty() { Ok(()) } else { Err(format!("no such rules: {}", unknown.join(", "))) }
}

fn is_healthy(run: &str, representation: &str) -> Told<()> {
    let verdict = judge(&healthy::files(run, representation)?, None)?;
    if verdict.facts == 0 {
        return Err("nothing was understood".to_owned());
    }
    let alarms = verdict.findings.iter().filter(|f| f.severity > Severity::Info && wanted(&f.rule));
    let report: String = alarms.map(expect::describe).collect();
    if report.is_empty() { Ok(()) } else { Err(format!("false alarms\n{report}")) }
}

/// The healthy part, a day later, with the clock of the webhook some hours ahead: nothing is said that is not said with the right
/// one.
fn a_receivers_clock_is_no_fault(run: &str, hours: i64) -> Told<()> {
    let right = healthy::files(run, "exchanges")?;
    let nanos = hours * 3600 * 1_000_000_000;
    let mut wrong = Files::new();
    for (name, bytes) in &right {
        let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
        let lines = text.lines().map(|line| received_later(line, nanos));
        wrong.insert(name.clone(), lines.collect::<Told<String>>()?.into_bytes());
    }
    if wrong == right {
        // Without a webhook in it there is nothing to be wrong about.
        return Ok(());
    }
    let last = right.values().filter_map(|bytes| last_start(bytes)).max().ok_or("no line has a time")?;
    let later = Some(Instant(last + 24 * 3600 * 1_000_000_000));
    let alarms = |files: &Files| -> Told<BTreeSet<String>> {
        let verdict = judge(files, later)?;
        let loud = verdict.findings.iter().filter(|f| f.severity > Severity::Info && wanted(&f.rule));
        Ok(loud.map(expect::describe).collect())
    };
    let report: String = alarms(&wrong)?.difference(&alarms(&right)?).cloned().collect();
    if report.is_empty() { Ok(()) } else { Err(format!("false alarms\n{report}")) }
}

/// An exchange line; one of a webhook starts some nanoseconds later.
fn received_later(line: &str, nanos: i64) -> Told<String> {
    let mut exchange: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if exchange.get("leg").and_then(Value::as_str) == Some("webhook") {
        let at = start_of(&exchange).ok_or("a line without start_unix_ns")? + nanos;
        exchange["start_unix_ns"] = at.into();
        exchange["startedDateTime"] = Instant(at).to_rfc3339().into();
    }
    Ok(format!("{exchange}\n"))
}

fn start_of(exchange: &Value) -> Option<i64> {
    exchange.get("start_unix_ns").and_then(Value::as_i64)
}

fn last_start(bytes: &[u8]) -> Option<i64> {
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    lines.filter_map(|exchange| start_of(&exchange)).max()
}

/// The lines backwards and twice, and the files in one.
fn is_a_set(run: &str, representation: &'static str) -> Told<()> {
    let files = truth::files(run, representation)?;
    let mut jumbled = String::new();
    for bytes in files.values() {
        let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
        for line in text.lines().rev().chain(text.lines()) {
            let _ = writeln!(jumbled, "{line}");
        }
    }
    let once = verdict(run, representation)?;
    let twice = judge(&Files::from([("jumbled.ndjson".to_owned(), jumbled.into_bytes())]), None)?;
    let (once_said, twice_said) = (said(&once.findings), said(&twice.findings));
    let mut report = String::new();
    for gone in once_said.difference(&twice_said) {
        let _ = writeln!(report, "in order     {gone}");
    }
    for new in twice_said.difference(&once_said) {
        let _ = writeln!(report, "out of order {new}");
    }
    if once.facts != twice.facts {
        let _ = writeln!(report, "{} facts in order, {} out of order and twice", once.facts, twice.facts);
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

/// All that findings say, but for the places of their evidence.
fn said(findings: &[Finding]) -> BTreeSet<String> {
    let one = |finding: &Finding| {
        let mut finding = finding.clone();
        for evidence in &mut finding.evidence {
            evidence.source.clear();
            evidence.position.clear();
        }
        format!("{finding:?}")
    };
    findings.iter().map(one).collect()
}

/// These tests call the stages themselves: the program must come to the same verdict on the same files.
fn the_program_says_the_same(run: &str, representation: &'static str) -> Told<()> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    program.current_dir(env!("CARGO_MANIFEST_DIR"));
    program.args(["analyze", "--quiet", "--format", "json", "--queries", "queries"]);
    program.args(truth::files(run, representation)?.keys().map(|file| format!("tests/captures/{file}")));
    let output = program.output().map_err(|e| e.to_string())?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{e}\n{}", String::from_utf8_lossy(&output.stderr)))?;
    let text = |finding: &Value, key: &str| finding.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let members = ["id", "rule", "severity", "confidence", "suspect", "summary"];
    let list = report.get("findings").and_then(Value::as_array).ok_or("no findings in the report")?;
    let program: BTreeSet<Vec<String>> =
        list.iter().map(|finding| members.iter().map(|key| text(finding, key)).collect()).collect();
    let stages: BTreeSet<Vec<String>> = verdict(run, representation)?
        .findings
        .iter()
        .map(|f| {
            let words = [&*f.id, &f.rule, f.severity.as_str(), f.confidence.as_str(), &f.suspect, &f.summary];
            words.map(str::to_owned).to_vec()
        })
        .collect();
    if program == stages && !stages.is_empty() {
        Ok(())
    } else {
        Err(format!("program {program:#?}\nstages {stages:#?}"))
    }
}
