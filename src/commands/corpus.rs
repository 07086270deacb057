//! The rules that a command works with, and one of them by its id.
//!
//! In: the configuration; an id. Out: the corpus, a rule.
//! Never passes over an id that names nothing.

use anyhow::{Context, bail};

use crate::config::Config;
use crate::rules::{Corpus, Rule};

/// A name at least this similar (0 to 1) is offered when an id is unknown.
const SIMILAR: f64 = 0.8;
/// Names offered.
const OFFERED: usize = 3;

/// The rules to judge by: those of a folder, else the built-in ones, and those of another folder beside them.
pub(super) fn corpus(config: &Config) -> anyhow::Result<Corpus> {
    let folders = || {
        let folders: Vec<String> =
            config.queries.iter().chain(&config.add_queries).map(|f| f.display().to_string()).collect();
        if folders.is_empty() { "built-in rules".to_owned() } else { format!("rules in {}", folders.join(" and ")) }
    };
    Corpus::of(config.queries.as_deref(), config.add_queries.as_deref()).with_context(folders)
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
