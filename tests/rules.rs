//! Every case of every rule, and what holds over the corpus as a whole.
//!
//! `cargo test --test rules unknown_skill` runs the cases of one rule, `… unknown_skill::fires_once` one of them.
//! `DUMP=dir` writes the raw capture of each case run to `dir/<rule>/<case>/`; `OWN=1` looks at the findings of the
//! case's own rule only. How cases are written: tests/rules/README.md.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use a2a_drift::instant::Instant;
use a2a_drift::rules;
use libtest_mimic::{Arguments, Failed, Trial};
use support::assemble::Capture;
use support::case::{self, Case};
use support::{Told, expect, judge};

/// Cases of each sort that a rule has at least.
const LEAST: usize = 2;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![
        trial("corpus::has_no_problem", no_problem),
        trial("corpus::every_rule_has_cases_in_more_than_one_dialect", every_rule_has_cases),
        trial("corpus::every_case_names_rules_that_exist", only_known_rules),
    ];
    for (path, read) in case::all() {
        let name = case::names(&path).map_or(path.display().to_string(), |(rule, case)| format!("{rule}::{case}"));
        trials.push(trial(&name, move || {
            let told = read.clone().and_then(|case| run(&case));
            told.map_err(|why| format!("{}\n{why}", path.display()))
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &str, test: impl FnOnce() -> Told<()> + Send + 'static) -> Trial {
    Trial::test(name, move || test().map_err(Failed::from))
}

fn run(case: &Case) -> Told<()> {
    let capture = Capture::of(&case.text)?;
    let files = capture.files();
    if let Some(dir) = std::env::var_os("DUMP") {
        let dir = PathBuf::from(dir).join(&case.rule).join(&case.name);
        std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        for (name, bytes) in &files {
            std::fs::write(dir.join(name), bytes).map_err(|e| e.to_string())?;
        }
    }
    let at = |at: &str| Instant::parse_rfc3339(at).ok_or(format!("as_of: `{at}` is no time"));
    let verdict = judge::judge(&files, case.text.as_of.as_deref().map(at).transpose()?)?;
    if verdict.rejects.len() != case.text.rejects {
        let (found, expected) = (verdict.rejects.len(), case.text.rejects);
        return Err(format!("{found} records were refused, not {expected}: {:#?}", verdict.rejects));
    }
    match verdict.blind.get(&case.rule) {
        _ if verdict.facts == 0 => return Err("nothing was understood".to_owned()),
        Some(missing) if !case.text.blind => {
            return Err(format!("{} is blind here for want of {missing:?}: is `blind = true` the point?", case.rule));
        }
        None if case.text.blind => return Err(format!("{} is not blind here", case.rule)),
        _ => {}
    }
    let (mut expected, mut findings) = (case.text.expect.clone(), verdict.findings);
    // A rule that is not written yet is a matter of the corpus, not of the cases beside it.
    let engine = judge::engine()?;
    expected.retain(|expect| engine.corpus().rule(&expect.rule).is_some() || expect.rule == case.rule);
    if std::env::var_os("OWN").is_some() {
        expected.retain(|expect| expect.rule == case.rule);
        findings.retain(|finding| finding.rule == case.rule);
    }
    expect::compare(&expected, &capture, &findings)
}

fn no_problem() -> Told<()> {
    let problems = rules::check(judge::engine()?.corpus());
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if told.is_empty() { Ok(()) } else { Err(told.join("\n")) }
}

fn every_rule_has_cases() -> Told<()> {
    #[derive(Default)]
    struct Kept {
        fires: usize,
        quiet: usize,
        dialects: BTreeSet<String>,
    }
    let mut kept: BTreeMap<String, Kept> = BTreeMap::new();
    for case in case::all().into_iter().filter_map(|(_, read)| read.ok()) {
        let kept = kept.entry(case.rule.clone()).or_default();
        *(if case.fires() { &mut kept.fires } else { &mut kept.quiet }) += 1;
        kept.dialects.extend(case.dialects());
    }
    let mut lacking = Vec::new();
    for rule in &judge::engine()?.corpus().rules {
        let Kept { fires, quiet, dialects } = kept.remove(&rule.id).unwrap_or_default();
        if fires < LEAST || quiet < LEAST || dialects.len() < 2 {
            lacking.push(format!("{}: fires_ {fires}, quiet_ {quiet}, captures {dialects:?}", rule.id));
        }
    }
    lacking.extend(kept.into_keys().map(|folder| format!("tests/rules/{folder}: no such rule")));
    if lacking.is_empty() { Ok(()) } else { Err(lacking.join("\n")) }
}

fn only_known_rules() -> Told<()> {
    let engine = judge::engine()?;
    let mut unknown = BTreeSet::new();
    for case in case::all().into_iter().filter_map(|(_, read)| read.ok()) {
        let rules = case.text.expect.iter().map(|expect| &expect.rule);
        let missing = rules.filter(|rule| engine.corpus().rule(rule).is_none());
        unknown.extend(missing.map(|rule| format!("{} expects {rule}: no such rule", case.path.display())));
    }
    if unknown.is_empty() { Ok(()) } else { Err(unknown.into_iter().collect::<Vec<_>>().join("\n")) }
}
