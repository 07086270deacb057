//! What can be done from the command line. Alone here the stages are wired together.
//!
//! In: parsed arguments. Out: results on standard output, everything else on standard error, and an exit code. Judges
//! nothing itself.

mod analyze;
mod baseline;
mod card;
mod cases;
mod corpus;
mod coverage;
mod intake;
mod kept;
mod pages;
mod progress;
mod query;
mod rules;
mod serve;
mod setup;
pub mod verdict;
mod window;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::cli::{Cli, Command, Global, LogFormat};
use crate::config::{Config, Overrides};
use crate::page::Page;
use crate::publish::clean_lines;
use crate::telemetry::{self, LogForm, Verbosity};

/// Width of a page that is not shown on a terminal.
const PAGE_WIDTH: usize = 100;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Nothing to complain of.
    Clean,
    /// Findings, or problems in rules.
    Found,
    /// There is no verdict.
    Unjudged,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Clean => 0,
            Outcome::Found => 1,
            Outcome::Unjudged => 2,
        })
    }
}

/// Runs a command to its end.
pub fn run(cli: Cli) -> ExitCode {
    let Cli { global, command } = cli;
    if !matches!(command, Command::Serve(_)) {
        let (verbosity, form) = verbosity(&global);
        telemetry::init(verbosity, form);
    }
    let result = match command {
        Command::Analyze(args) => analyze::run(args, &global),
        Command::Card(args) => card::run(&args, &global),
        Command::Completions(args) => pages::completions(&args),
        Command::Coverage(args) => coverage::run(args, &global),
        Command::Man(args) => pages::man(&args),
        Command::Query(args) => query::run(args, &global),
        Command::Serve(args) => serve::run(*args, &global),
        Command::Rules(args) => rules::run(args, &global),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            say(&format!("error: {}\n", told(&error)));
            Outcome::Unjudged.into()
        }
    }
}

/// An error with its causes. Some errors say their cause themselves: it is not said again.
fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// How much to log, and in which form.
fn verbosity(global: &Global) -> (Verbosity, LogForm) {
    let verbosity = match (global.quiet, global.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Normal,
        (false, 1) => Verbosity::Verbose,
        (false, _) => Verbosity::Debug,
    };
    let form = match global.log_format {
        LogFormat::Text => LogForm::Text,
        LogFormat::Json => LogForm::Json,
    };
    (verbosity, form)
}

/// The configuration, with what all commands share laid over it.
fn configure(global: &Global, given: Overrides) -> anyhow::Result<Config> {
    let (queries, add_queries) = (global.queries.clone(), global.add_queries.clone());
    let given = Overrides { queries, add_queries, ..given };
    Ok(Config::load(global.config.as_deref(), given)?)
}

/// Width of a page on standard output: the terminal's, else what `COLUMNS` says, else one that is good to read.
fn page_width() -> usize {
    terminal_width().or_else(told_width).unwrap_or(PAGE_WIDTH)
}

/// Width that the environment gives.
fn told_width() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Width of the terminal, if standard output is one.
fn terminal_width() -> Option<usize> {
    let terminal = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map(|(width, _)| usize::from(width.0))
}

/// Prints a result. A reader that has seen enough (`| head`) is no failure.
fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("standard output"))
        }
        _ => Ok(()),
    }
}

/// Says something beside the result; names of files in it are anybody's. There is nobody left to tell when that fails.
fn say(text: &str) {
    let text = format!("a2a-drift: {}", clean_lines(text));
    let text = stderr_width().map_or_else(|| text.clone(), |width| wrapped(&text, width));
    _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Width of what is said on standard error: the terminal's, else what `COLUMNS` says. Lines that go elsewhere stay whole.
fn stderr_width() -> Option<usize> {
    let terminal = io::stderr().is_terminal().then(|| terminal_size::terminal_size_of(io::stderr())).flatten();
    terminal.map(|(width, _)| usize::from(width.0)).or_else(told_width)
}

/// Lines wrapped to a width, each continued two further in than it begins.
fn wrapped(text: &str, width: usize) -> String {
    let mut page = Page::new(width);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let words = line.trim_start();
        // A mark stands below the character that it is about.
        let is_marked = |line: &str| line.trim_start().starts_with('^');
        if words.is_empty() {
            page.gap();
        } else if is_marked(line) || lines.peek().is_some_and(|next| is_marked(next)) {
            page.verbatim(0, line);
        } else {
            page.text(line.len() - words.len(), words);
        }
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("day.log: {source}")]
    struct Told {
        source: io::Error,
    }

    #[test]
    fn what_is_said_is_wrapped_to_the_width_and_names_stay_whole() {
        let path = "a-folder-with-a-long-name/and-a-file-with-a-longer-name.ndjson";
        let text =
            format!("a2a-drift: could not judge: nothing of A2A was understood\n  {path}: format not recognised\n");
        assert_eq!(
            wrapped(&text, 40),
            format!(
                "a2a-drift: could not judge: nothing of\n  A2A was understood\n  {path}:\n    format not recognised\n"
            )
        );
        assert_eq!(wrapped(&text, 120), text);
    }

    #[test]
    fn a_cause_that_was_said_is_not_said_again() {
        let error = anyhow::Error::new(Told { source: io::Error::other("gone") }).context("--baseline");
        assert_eq!(told(&error), "--baseline: day.log: gone");
        assert_eq!(told(&anyhow::anyhow!("gone").context("day.log")), "day.log: gone");
    }
}
