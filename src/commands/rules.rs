//! `rules`: look at the rules, and look for mistakes in them.
//!
//! In: a folder of rules, or the built-in ones. Out: a list, a file, or problems with their places. Evaluates nothing.

use std::path::Path;

use super::analyze::{corpus, only_known};
use super::{Outcome, configure, print, say};
use crate::cli::{Global, Rules};
use crate::config::Overrides;
use crate::rules::{self, Corpus, CorpusError};

/// Runs a `rules` command.
pub(super) fn run(args: Rules, global: &Global) -> anyhow::Result<Outcome> {
    let config = configure(global, Overrides::default())?;
    match args {
        Rules::List => list(&corpus(config.queries.as_deref())?),
        Rules::Show { id } => show(&corpus(config.queries.as_deref())?, &id),
        Rules::Check { dir } => check(dir.or(config.queries).as_deref()),
    }
}

fn list(corpus: &Corpus) -> anyhow::Result<Outcome> {
    let width = corpus.rules.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
    let mut rules: Vec<_> = corpus.rules.iter().collect();
    rules.sort_by_key(|rule| (&rule.category, &rule.id));
    let lines: Vec<String> = rules
        .iter()
        .map(|rule| {
            let (severity, title) = (rule.header.severity.as_str(), &rule.header.title);
            format!("{:<11}  {:<width$}  {severity:<8}  {title}\n", rule.category, rule.id)
        })
        .collect();
    print(&lines.concat())?;
    Ok(Outcome::Clean)
}

fn show(corpus: &Corpus, id: &str) -> anyhow::Result<Outcome> {
    only_known(&[id.to_owned()], corpus)?;
    if let Some(rule) = corpus.rule(id) {
        print(&format!("-- {}\n{}\n", rule.path.display(), rule.query.text.trim_end()))?;
    }
    Ok(Outcome::Clean)
}

fn check(folder: Option<&Path>) -> anyhow::Result<Outcome> {
    let loaded = match folder {
        Some(folder) => Corpus::from_dir(folder),
        None => Corpus::embedded(),
    };
    let problems = match loaded {
        Ok(corpus) => rules::check(&corpus),
        Err(CorpusError::Invalid(problems)) => problems,
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
