//! What an input can feed: a page for people, JSON for programs, Markdown for a ticket.
//!
//! In: a [`crate::findings::coverage::Coverage`]. Out: text. Every text from outside goes through `clean`.

mod json;
mod markdown;
mod page;

pub use json::{SCHEMA, render as json};
pub use markdown::render as markdown;
pub use page::render as page;

use super::words::{amount, count, counts};
use crate::findings::Intake;
use crate::findings::coverage::{Coverage, Gain, State};

/// How to go by the steps, and what their numbers are.
const HOW: &str = "cheapest first; take one step, then run coverage again. Each number is of the rules that a step \
    adds to those before it, once such traffic passes.";

/// The verdict in one line.
fn verdict(coverage: &Coverage) -> String {
    let number = |state| coverage.of(state).count();
    let rules = count(coverage.rules.len(), "rule");
    let (able, partly, blind) = (number(State::Able), number(State::Partly), number(State::Blind));
    if coverage.rules.len() == able {
        return format!("all of {rules} can judge");
    }
    let can = able + partly;
    let partly = match partly {
        0 => String::new(),
        partly if partly == can => ", in part".to_owned(),
        partly => format!(", {partly} of them in part"),
    };
    let blind = match blind {
        0 => String::new(),
        1 => ", 1 is blind".to_owned(),
        blind => format!(", {blind} are blind"),
    };
    format!("{can} of {rules} can judge{partly}{blind}")
}

/// What the verdict rests on.
fn basis(coverage: &Coverage) -> String {
    let intake = &coverage.intake;
    let records = amount(intake);
    let read = counts(&[(intake.sources.len(), "source"), (coverage.agents.len(), "agent")]);
    let emitters = match coverage.emitters.as_slice() {
        [] => "no emitter told".to_owned(),
        emitters => {
            let titles: Vec<&str> = emitters.iter().map(|emitter| emitter.title.as_str()).collect();
            format!("written by {}", titles.join(", "))
        }
    };
    format!("{records} of {read}; {emitters}")
}

/// What a step brings.
fn brings(coverage: &Coverage, at: usize, gain: &Gain) -> String {
    let (after, all) = (coverage.seeing_after(at), coverage.rules.len());
    match gain.wakes.len() {
        0 => "no rule more by itself".to_owned(),
        woken => format!("{} more: {after} of {all} then", count(woken, "rule")),
    }
}

/// What a source was taken for, and what it yields.
fn source(coverage: &Coverage, at: usize) -> String {
    let source = &coverage.intake.sources[at];
    let formats = match source.formats.as_slice() {
        [] if source.is_empty() => return "empty".to_owned(),
        [] => "format not recognised".to_owned(),
        formats => formats.join(", "),
    };
    let yields: Vec<String> =
        coverage.yields.get(at).into_iter().flatten().map(|(table, rows)| format!("{table} {rows}")).collect();
    let yields = if yields.is_empty() { "no facts".to_owned() } else { yields.join(", ") };
    let rejects = if source.rejects == 0 { String::new() } else { format!(", {}", count(source.rejects, "reject")) };
    let of_one = Intake { sources: vec![source.clone()], ..Intake::default() };
    format!("{formats}; {}{rejects}; {yields}", amount(&of_one))
}

#[cfg(test)]
mod tests;
