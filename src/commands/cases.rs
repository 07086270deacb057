//! `rules test`: a user's cases for a user's rules.
//!
//! In: a folder of cases, with rules or without. Out: each case with its result, and what differs where it does not hold. What
//! must be found is the user's to say.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Color, Style};
use anyhow::{Context, bail};

use super::corpus::{corpus, known_rule};
use super::progress::Progress;
use super::setup::{identities, key_map, limits, vocabulary};
use super::verdict::Reading;
use super::{Outcome, print, say, told};
use crate::cli::{Global, RulesTest};
use crate::config::Config;
use crate::normalize::EVENTS;
use crate::publish::{clean, clean_lines};
use crate::rules::cases::case::Case;
use crate::rules::cases::fit::fits;
use crate::rules::cases::run::{Look, Ready, below};
use crate::rules::cases::shelf::Shelf;
use crate::rules::{self, Corpus, Engine, Overrides, Prepared, Problem};

const GREEN: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Green)));
const RED: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Red)));

/// Runs `rules test`.
pub(super) fn run(args: &RulesTest, config: &Config, global: &Global) -> anyhow::Result<Outcome> {
    let own = args.dir.join("rules").is_dir() || args.dir.join("views").is_dir();
    let corpus = match own {
        true => Corpus::from_dir(&args.dir).with_context(|| format!("rules in {}", args.dir.display()))?,
        false => corpus(config)?,
    };
    for id in &args.rules {
        known_rule(id, &corpus)?;
    }
    let problems = if own { rules::check(&corpus) } else { Vec::new() };
    if !problems.is_empty() {
        print(&problems.iter().map(|problem| format!("{problem}\n")).collect::<String>())?;
        bail!("the rules have problems; no case was run");
    }
    let cases = match args.dir.join("cases") {
        folder if folder.is_dir() => folder,
        _ => args.dir.clone(),
    };
    let wanted = |rule: &str| args.rules.is_empty() || args.rules.iter().any(|id| id == rule);
    let mut read = below(&cases);
    read.retain(|case| case.as_ref().map_or(true, |case| wanted(&case.rule)));
    if read.is_empty() {
        bail!(
            "there is no case in {}: a case is RULE/fires_NAME/case.toml or RULE/quiet_NAME/case.toml",
            cases.display()
        );
    }
    let progress = Progress::start(!global.quiet && global.verbose == 0);
    let mut stage = Stage::new(&args.dir, corpus, config)?;
    let mut report = Report { brief: global.quiet, ..Report::default() };
    for case in read {
        let name = case.as_ref().map_or_else(|problem| problem.path.display().to_string(), name);
        progress.doing(format!("trying {}", clean(&name)));
        let ending = case.map_err(Ending::Unread).and_then(|case| stage.run(&case));
        report.add(&name, ending.err().unwrap_or(Ending::Holds));
    }
    drop(progress);
    let without = stage.without_case(&cases).into_iter().filter(|rule| own && wanted(rule)).collect();
    print(&report.finish(without))?;
    if !own && report.unread > 0 {
        say(&format!(
            "{} has no folder `rules`: its cases were run for other rules, not for yours\n",
            args.dir.display()
        ));
    }
    Ok(report.outcome())
}

fn name(case: &Case) -> String {
    format!("{}/{}", case.rule, case.name)
}

/// How a case ended.
enum Ending {
    Holds,
    /// What was found is not what had to be.
    Differs(String),
    /// The case is not what a case must be.
    Unread(Problem),
    /// The program failed at it.
    Failed(String),
}

/// Where cases are run: the rules, and what is on the shelf.
struct Stage<'a> {
    engine: Engine,
    prepared: Prepared,
    runtime: tokio::runtime::Runtime,
    reading: Reading,
    dir: &'a Path,
}

impl<'a> Stage<'a> {
    fn new(dir: &'a Path, corpus: Corpus, config: &Config) -> anyhow::Result<Self> {
        let engine = Engine::new(corpus, &Overrides::new())?;
        let prepared = engine.prepare()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let reading = Reading {
            limits: limits(&config.limits),
            keys: key_map(&config.exchange_keys)?,
            words: vocabulary(config)?,
            names: identities(config),
        };
        Ok(Self { prepared, engine, runtime, reading, dir })
    }

    fn run(&mut self, case: &Case) -> Result<(), Ending> {
        fits(case, self.engine.corpus(), &EVENTS).map_err(Ending::Unread)?;
        let beside = case.path.parent().unwrap_or(self.dir);
        let shelf = Shelf::over([beside, &self.dir.join("captures"), &self.dir.join("../captures")]);
        let ready = Ready::of(case, &shelf).map_err(Ending::Unread)?;
        let Self { reading, engine, prepared, runtime, .. } = self;
        let evaluate = |batches| Ok(runtime.block_on(prepared.evaluate(batches))?);
        let verdict = reading.judge(&ready.capture.files(), ready.as_of, engine.corpus(), evaluate);
        let verdict = verdict.map_err(|error| Ending::Failed(told(&error)))?;
        ready.holds(case, &case.text.expect, verdict, Look::All).map_err(Ending::Differs)
    }

    /// Rules that no case is about.
    fn without_case(&self, cases: &Path) -> Vec<String> {
        let tried: BTreeSet<String> = below(cases).into_iter().flatten().map(|case| case.rule).collect();
        let rules = self.engine.corpus().rules.iter().filter(|rule| !tried.contains(&rule.id));
        rules.map(|rule| rule.id.clone()).collect()
    }
}

/// What is told of the cases.
#[derive(Default)]
struct Report {
    /// Only of cases that do not hold.
    brief: bool,
    text: String,
    holds: usize,
    differ: usize,
    unread: usize,
}

impl Report {
    fn add(&mut self, name: &str, ending: Ending) {
        let name = clean(name);
        // Writing to a String cannot fail.
        _ = match ending {
            Ending::Holds => {
                self.holds += 1;
                if self.brief { Ok(()) } else { writeln!(self.text, "{GREEN}PASS{GREEN:#}  {name}") }
            }
            Ending::Differs(why) => {
                self.differ += 1;
                let why: String = clean_lines(&why)
                    .lines()
                    .filter(|line| !line.trim().is_empty())
                    .map(|line| format!("      {line}\n"))
                    .collect();
                write!(self.text, "{RED}FAIL{RED:#}  {name}\n{why}")
            }
            Ending::Unread(problem) => {
                self.unread += 1;
                writeln!(self.text, "{}", clean(&problem.to_string()))
            }
            Ending::Failed(why) => {
                self.unread += 1;
                writeln!(self.text, "{RED}FAIL{RED:#}  {name}\n      {}", clean(&why))
            }
        };
    }

    fn finish(&mut self, without: Vec<String>) -> String {
        let mut text = std::mem::take(&mut self.text);
        let all = self.holds + self.differ + self.unread;
        let parts = [
            (self.holds, "holds", "hold"),
            (self.differ, "does not hold", "do not hold"),
            (self.unread, "could not be run", "could not be run"),
        ];
        let some = parts.into_iter().filter(|(number, ..)| *number > 0);
        let parts: Vec<String> =
            some.map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many })).collect();
        let cases = if all == 1 { "case" } else { "cases" };
        _ = writeln!(text, "{all} {cases}: {}", parts.join(", "));
        if !without.is_empty() {
            _ = writeln!(text, "without a case: {}", without.join(", "));
        }
        text
    }

    fn outcome(&self) -> Outcome {
        match (self.unread, self.differ) {
            (0, 0) => Outcome::Clean,
            (0, _) => Outcome::Found,
            _ => Outcome::Unjudged,
        }
    }
}
