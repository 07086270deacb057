//! The program against the truth of the captures: every run, in every representation, says what truth.toml says, and
//! nothing else; the healthy part of a run says nothing at all; order and double delivery change nothing.
//!
//! `cargo test --test captures jsonrpc` one run, `… jsonrpc::har` one representation, `… healthy::` the healthy parts;
//! `RULE=unknown_skill` looks at one rule only.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use a2a_drift::findings::{Finding, Severity};
use libtest_mimic::{Arguments, Failed, Trial};
use support::assemble::Capture;
use support::judge::{self, Files, judge};
use support::truth::{self, Entry};
use support::{Told, expect, healthy};

/// Representations of which parts can be cut out by time.
const CUT: [&str; 4] = ["exchanges", "traces", "logs", "exchanges_logs"];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![trial("truth::names_rules_that_exist".to_owned(), only_known_rules)];
    for (run, representations) in truth::runs() {
        for representation in representations {
            let of = run.clone();
            trials.push(trial(format!("{run}::{representation}"), move || as_the_truth_says(&of, representation)));
            let of = run.clone();
            if CUT.contains(&representation) {
                trials
                    .push(trial(format!("healthy::{run}::{representation}"), move || is_healthy(&of, representation)));
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

/// The rule looked at; all when none.
fn wanted(rule: &str) -> bool {
    std::env::var("RULE").map_or(true, |only| only == rule)
}

fn as_the_truth_says(run: &str, representation: &str) -> Told<()> {
    let engine = judge::engine()?;
    let entries = truth::entries()?;
    let is_there = |entry: &&Entry| entry.run == run && entry.is_in(representation);
    // A rule that is not written yet has a test of its own.
    let judged = |entry: &&Entry| engine.corpus().rule(&entry.rule).is_some() && wanted(&entry.rule);
    let expected: Vec<_> = entries.iter().filter(is_there).filter(judged).map(|e| e.expect(representation)).collect();
    let mut findings = judge(&truth::files(run, representation)?, None)?.findings;
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

/// The lines backwards and twice, and the files in one.
fn is_a_set(run: &str, representation: &str) -> Told<()> {
    let files = truth::files(run, representation)?;
    let mut jumbled = String::new();
    for bytes in files.values() {
        let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
        for line in text.lines().rev().chain(text.lines()) {
            let _ = writeln!(jumbled, "{line}");
        }
    }
    let once = judge(&files, None)?;
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
