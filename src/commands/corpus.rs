//! The rules that a command works with, and one of them by its id.
//!
//! In: a folder, or none for the built-in rules; an id. Out: the corpus, a rule.
//! Never passes over an id that names nothing.

use std::path::Path;

use anyhow::{Context, bail};

use crate::rules::{Corpus, Rule};

/// A name at least this similar (0 to 1) is offered when an id is unknown.
const SIMILAR: f64 = 0.7;
/// Names offered.
const OFFERED: usize = 3;

/// The rules to judge by: those of a folder, else the built-in ones.
pub(super) fn corpus(folder: Option<&Path>) -> anyhow::Result<Corpus> {
    match folder {
        Some(folder) => Corpus::from_dir(folder).with_context(|| format!("rules in {}", folder.display())),
        None => Corpus::embedded().context("built-in rules"),
    }
}

/// The rule of an id. One that does not exist is refused: silence about it would look like health.
pub(super) fn known_rule<'a>(id: &str, corpus: &'a Corpus) -> anyhow::Result<&'a Rule> {
    if let Some(rule) = corpus.rule(id) {
        return Ok(rule);
    }
    let similar = |rule: &Rule| strsim::jaro_winkler(id, &rule.id);
    let mut near: Vec<&Rule> = corpus.rules.iter().filter(|rule| similar(rule) >= SIMILAR).collect();
    near.sort_by(|a, b| similar(b).total_cmp(&similar(a)));
    let near: Vec<&str> = near.into_iter().take(OFFERED).map(|rule| rule.id.as_str()).collect();
    if near.is_empty() {
        bail!("no rule is called \"{id}\"; `a2a-drift rules list` names them");
    }
    bail!("no rule is called \"{id}\"; did you mean {}?", near.join(" or "));
}
