//! `rules`: look at the rules, and look for mistakes in them.
//!
//! In: a folder of rules, or the built-in ones. Out: pages about them, or problems with their places. Evaluates nothing.

use std::path::PathBuf;

use super::cases;
use super::corpus::{corpus, known_rule};
use super::{Outcome, configure, page_width, print, say, terminal_width, told_width};
use crate::cli::{Global, Rules};
use crate::config::{Config, Overrides};
use crate::rules::{self, Corpus, CorpusError, render};

/// Runs a `rules` command.
pub(super) fn run(args: Rules, global: &Global) -> anyhow::Result<Outcome> {
    let config = configure(global, Overrides::default())?;
    let corpus = || corpus(&config);
    let text = match args {
        Rules::List => render::list(&corpus()?, terminal_width().or_else(told_width)),
        Rules::Show { id, sql } => show(&corpus()?, &id, sql)?,
        Rules::Docs => render::readme(&corpus()?),
        Rules::Alerts { runbook_base } => render::alerts(&corpus()?, &runbook_base),
        Rules::Test(args) => return cases::run(&args, &config, global),
        Rules::Check { dir } => return check(dir, &config),
    };
    print(&text)?;
    Ok(Outcome::Clean)
}

fn show(corpus: &Corpus, id: &str, sql: bool) -> anyhow::Result<String> {
    let rule = known_rule(id, corpus)?;
    Ok(if sql { rule.query.text.clone() } else { render::show(rule, page_width()) })
}

fn check(folder: Option<PathBuf>, config: &Config) -> anyhow::Result<Outcome> {
    let loaded = match folder {
        Some(folder) => Corpus::from_dir(&folder),
        None => Corpus::of(config.queries.as_deref(), config.add_queries.as_deref()),
    };
    let problems = match loaded {
        Ok(corpus) => rules::check(&corpus),
        // What holds together is looked at all the same, so that all is told in one turn.
        Err(CorpusError::Invalid { mut problems, rest }) => {
            problems.extend(rules::check(&rest));
            problems.sort();
            problems.dedup();
            problems
        }
        Err(error) => return Err(error.into()),
    };
    let lines: Vec<String> = problems.iter().map(|problem| format!("{problem}\n")).collect();
    print(&lines.concat())?;
    if problems.is_empty() {
        say("rules: no problems\n");
        return Ok(Outcome::Clean);
    }
    Ok(Outcome::Found)
}
