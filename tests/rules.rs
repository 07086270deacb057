//! Every case of every rule, and what holds over the corpus as a whole.
//!
//! `cargo test --test rules unknown_skill` runs the cases of one rule, `… unknown_skill::fires_once` one of them.
//! `DUMP=dir` writes the raw capture of each case run to `dir/<rule>/<case>/`. How cases are written: tests/rules/README.md.

mod support;

use std::path::PathBuf;

use a2a_drift::instant::Instant;
use libtest_mimic::{Arguments, Failed, Trial};
use support::assemble::Capture;
use support::case::{self, Case};
use support::{Told, expect, judge};

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (path, read) in case::all() {
        let name = case::names(&path).map_or(path.display().to_string(), |(rule, case)| format!("{rule}::{case}"));
        trials.push(Trial::test(name, move || {
            let told = read.and_then(|case| run(&case));
            told.map_err(|why| Failed::from(format!("{}\n{why}", path.display())))
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
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
    let as_of =
        case.text.as_of.as_deref().map(|at| Instant::parse_rfc3339(at).ok_or(format!("as_of: `{at}` is no time")));
    let verdict = judge::judge(&files, as_of.transpose()?)?;
    if verdict.rejects.len() != case.text.rejects {
        return Err(format!(
            "{} records were refused, not {}: {:#?}",
            verdict.rejects.len(),
            case.text.rejects,
            verdict.rejects
        ));
    }
    expect::compare(&case.text.expect, &capture, &verdict.findings)
}
