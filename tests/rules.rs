//! Every case of every rule, and what holds over the corpus as a whole.
//!
//! `cargo test --test rules unknown_skill` runs the cases of one rule, `… unknown_skill::fires_once` one of them.
//! `DUMP=dir` writes the raw capture of each case run to `dir/<rule>/<case>/`; `OWN=1` looks at the findings of the
//! case's own rule only. How cases are written: tests/rules/README.md.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test")]

mod support;

#[path = "needs/blanked.rs"]
mod blanked;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use a2a_drift::rules;
use a2a_drift::rules::cases::case::Case;
use a2a_drift::rules::cases::run::{Look, Ready, below};
use libtest_mimic::{Arguments, Failed, Trial};
use support::{Told, judge, library};

/// Cases of each sort that a rule has at least.
const LEAST: usize = 2;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = vec![
        trial("corpus::has_no_problem", no_problem),
        trial("corpus::every_rule_has_cases_in_more_than_one_dialect", every_rule_has_cases),
        trial("corpus::every_case_names_rules_that_exist", only_known_rules),
    ];
    let rules = judge::engine().map_or(&[][..], |engine| &engine.corpus().rules);
    trials.extend(rules.iter().map(|rule| trial(&format!("needs::{}", rule.id), || blanked::hold(&rule.id))));
    for read in below(&library::cases()) {
        let name = read.as_ref().map_or_else(ToString::to_string, |case| format!("{}::{}", case.rule, case.name));
        trials.push(trial(&name, move || {
            let case = read.as_ref().map_err(ToString::to_string)?;
            run(case).map_err(|why| format!("{}\n{why}", case.path.display()))
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &str, test: impl FnOnce() -> Told<()> + Send + 'static) -> Trial {
    Trial::test(name, move || test().map_err(Failed::from))
}

fn run(case: &Case) -> Told<()> {
    let ready = Ready::of(case, library::shelf()).map_err(|problem| problem.to_string())?;
    let files = ready.capture.files();
    if let Some(dir) = std::env::var_os("DUMP") {
        let dir = PathBuf::from(dir).join(&case.rule).join(&case.name);
        std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        for (name, bytes) in &files {
            std::fs::write(dir.join(name), bytes).map_err(|e| e.to_string())?;
        }
    }
    let verdict = judge::judge(&files, ready.as_of)?;
    let mut expected = case.text.expect.clone();
    // A rule that is not written yet is a matter of the corpus, not of the cases beside it.
    let engine = judge::engine()?;
    expected.retain(|expect| engine.corpus().rule(&expect.rule).is_some() || expect.rule == case.rule);
    let look = if std::env::var_os("OWN").is_some() { Look::Own } else { Look::All };
    ready.holds(case, &expected, verdict, look)
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
    for case in library::all_cases().into_iter().filter_map(Result::ok) {
        let kept = kept.entry(case.rule.clone()).or_default();
        *(if case.fires() { &mut kept.fires } else { &mut kept.quiet }) += 1;
        kept.dialects.extend(case.dialects(library::shelf()));
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
    for case in library::all_cases().into_iter().filter_map(Result::ok) {
        let rules = case.text.expect.iter().map(|expect| &expect.rule);
        let missing = rules.filter(|rule| engine.corpus().rule(rule).is_none());
        unknown.extend(missing.map(|rule| format!("{} expects {rule}: no such rule", case.path.display())));
    }
    if unknown.is_empty() { Ok(()) } else { Err(unknown.into_iter().collect::<Vec<_>>().join("\n")) }
}
