//! Whether what a case names is there: its rule, the rules that it expects, columns of their findings, events in its lines.
//!
//! In: a case, the corpus, names of own events. Out: the first name that is none, where it stands, with those that are. Runs
//! nothing.

use serde_json::Value;

use super::case::{Case, Expect};
use super::place::Step::{Item, Key};
use super::place::{self, Step};
use crate::rules::header::Suspect;
use crate::rules::problem::{listed, near};
use crate::rules::{Corpus, Problem, Rule};

/// How names of own events begin.
const OWN: &str = "a2a.";

/// Checks the names in a case.
///
/// # Errors
/// For the first that is none.
pub fn fits(case: &Case, corpus: &Corpus, events: &[&str]) -> Result<(), Problem> {
    if corpus.rule(&case.rule).is_none() {
        let why = format!(
            "{}, by which the folder of this case is called: a case stands in RULE/CASE/case.toml",
            none(&case.rule, corpus)
        );
        return Err(Problem::at(&case.path, (1, 1), why));
    }
    for (nth, expect) in case.text.expect.iter().enumerate() {
        let wrong = |place: (usize, usize), why| Problem::at(&case.path, place, why);
        let way = [Key("expect"), Item(nth), Key("rule")];
        let rule = corpus.rule(&expect.rule);
        let rule = rule.ok_or_else(|| wrong(place::of_value(&case.source, &way), none(&expect.rule, corpus)))?;
        expected(expect, nth, rule, &case.source).map_err(|(place, why)| wrong(place, why))?;
    }
    own_events(case, events)
}

/// A rule that is not there, and which is.
fn none(id: &str, corpus: &Corpus) -> String {
    let ids = || corpus.rules.iter().map(|rule| rule.id.as_str());
    match near(id, ids()) {
        near if near.is_empty() => format!("no rule `{id}`; there are {}", listed(ids())),
        near => format!("no rule `{id}`{near}"),
    }
}

/// What is expected of a finding that its rule cannot have.
fn expected(expect: &Expect, nth: usize, rule: &Rule, source: &str) -> Result<(), ((usize, usize), String)> {
    let entity = &rule.header.entity;
    if let Some(column) = expect.entity.keys().find(|column| !entity.contains(column)) {
        let near = near(column, entity.iter().map(String::as_str));
        let why = format!("`{column}` is not in the `entity` of {}{near}; it has {}", rule.id, listed(entity));
        return Err((place::of_key(source, &[Key("expect"), Item(nth), Key("entity"), Key(column)]), why));
    }
    match expect.suspect.as_deref().filter(|word| Suspect::parse(word).is_none()) {
        Some(word) => {
            let all = Suspect::ALL.map(Suspect::as_str);
            let why = format!("no suspect `{word}`{}; there are {}", near(word, all.into_iter()), listed(all));
            Err((place::of_value(source, &[Key("expect"), Item(nth), Key("suspect")]), why))
        }
        None => Ok(()),
    }
}

/// An own event in a line written in the case whose name is almost one that there is: whatever it was to show, it does not. Others
/// have events of names of their own, which may say something by their keys.
fn own_events(case: &Case, events: &[&str]) -> Result<(), Problem> {
    for (nth, lines) in case.text.lines.iter().enumerate() {
        for line in lines.raw.iter().flat_map(|raw| raw.lines()) {
            let event: Option<Value> = serde_json::from_str(line).ok();
            let name =
                event.as_ref().and_then(|event| event.get("event")?.as_str()).filter(|name| name.starts_with(OWN));
            let Some(name) = name.filter(|name| !events.contains(name)) else { continue };
            let near = near(name, events.iter().copied());
            if near.is_empty() {
                continue;
            }
            let way: [Step<'_>; 3] = [Key("lines"), Item(nth), Key("raw")];
            let why = format!("no event `{name}`{near}; there are {}", listed(events));
            return Err(Problem::at(&case.path, place::of_word(&case.source, &way, name), why));
        }
    }
    Ok(())
}
