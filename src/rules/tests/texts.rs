//! What the built-in rules say to people: enough to act on, and nothing twice.

use std::collections::BTreeMap;

use super::super::Rule;
use super::*;
use crate::rules::source::Section;

/// Steps of "First checks".
const STEPS: std::ops::RangeInclusive<usize> = 2..=5;
/// Words of a step that says what to do and with what.
const WORDS_OF_A_STEP: usize = 4;
/// What a person on call can look at; a step names one of these, a rule, or something in backticks.
const TO_LOOK_AT: &str = "\
    address agent answer artifact balancer cache call caller capture card client config context \
    credential deliver deployment endpoint event finding gateway header key log message publisher \
    receiver replica retry runtime sender server skill state stream task token url";

/// What is wrong with every rule, one line a fault.
fn faults(fault: impl Fn(&Corpus, &Rule) -> Vec<String>) -> Vec<String> {
    let corpus = Corpus::embedded().unwrap();
    assert!(!corpus.rules.is_empty());
    let of_rule = |rule| fault(&corpus, rule).into_iter().map(|fault| format!("{}: {fault}", rule.path.display()));
    corpus.rules.iter().flat_map(of_rule).collect()
}

fn none_of(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The steps of a numbered list, continuation lines joined; what stands before the first is step 0.
fn steps(section: &Section) -> Vec<(usize, String)> {
    let mut steps: Vec<(usize, String)> = Vec::new();
    for line in section.body.lines() {
        let numbered = line.split_once(". ").and_then(|(number, text)| Some((number.parse().ok()?, text.to_owned())));
        match (numbered, steps.last_mut()) {
            (Some(step), _) => steps.push(step),
            (None, Some((_, text))) => *text = format!("{text} {}", line.trim()),
            (None, None) => steps.push((0, line.to_owned())),
        }
    }
    steps
}

/// Whether a text goes on after the end of a sentence, or has the full stop that pages add themselves.
fn is_more_than_a_sentence(text: &str) -> bool {
    text.ends_with('.') || [". ", "! ", "? "].iter().any(|end| text.contains(end))
}

#[test]
fn titles_are_one_line_without_a_full_stop_and_no_two_are_alike() {
    let mut by_title: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for rule in Corpus::embedded().unwrap().rules {
        by_title.entry(rule.header.title.to_lowercase()).or_default().push(rule.id);
    }
    let shared: Vec<_> = by_title.values().filter(|rules| rules.len() > 1).collect();
    assert!(shared.is_empty(), "these share a title: {shared:?}");
    none_of(&faults(|_, rule| {
        let title = &rule.header.title;
        let wrong = is_more_than_a_sentence(title) || title.contains('\n') || !title.starts_with(char::is_uppercase);
        wrong.then(|| format!("title `{title}`")).into_iter().collect()
    }));
}

#[test]
fn a_summary_says_which_agent_task_or_webhook() {
    none_of(&faults(|_, rule| {
        let names_one = rule.header.summary.columns().any(|column| ["agent", "task_id", "url"].contains(&column));
        (!names_one).then(|| format!("summary `{}`", rule.header.summary.as_str())).into_iter().collect()
    }));
}

#[test]
fn first_checks_are_a_few_numbered_steps_each_with_something_to_look_at() {
    none_of(&faults(|corpus, rule| {
        let checks = rule.runbook.iter().find(|section| section.heading == "First checks").unwrap();
        let steps = steps(checks);
        let mut faults = Vec::new();
        if !STEPS.contains(&steps.len()) || !steps.iter().map(|(number, _)| *number).eq(1..=steps.len()) {
            faults.push(format!("First checks are {STEPS:?} steps numbered from 1, not {steps:?}"));
        }
        for (_, step) in steps {
            let words = step.split_whitespace().count();
            let lower = step.to_lowercase();
            let names_something = TO_LOOK_AT.split_whitespace().any(|thing| lower.contains(thing))
                || corpus.rules.iter().any(|rule| lower.contains(&rule.id))
                || lower.contains('`');
            if words < WORDS_OF_A_STEP || !names_something {
                faults.push(format!("a step without anything to look at: `{step}`"));
            }
        }
        faults
    }));
}

#[test]
fn the_next_step_is_one_sentence() {
    none_of(&faults(|_, rule| {
        let next = rule.header.next.as_str();
        is_more_than_a_sentence(next).then(|| format!("next `{next}`")).into_iter().collect()
    }));
}

#[test]
fn a_rule_that_a_runbook_names_exists() {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let columns: Vec<String> = Facts::schemas()
        .into_iter()
        .flat_map(|(table, schema)| {
            schema.fields().iter().map(|f| f.name().clone()).chain([table.to_owned()]).collect::<Vec<_>>()
        })
        .collect();
    none_of(&faults(|corpus, rule| {
        let code_or_words = |section: &Section| {
            section.body.split('`').step_by(2).flat_map(|t| t.split(word)).map(str::to_owned).collect::<Vec<_>>()
        };
        let named = rule
            .runbook
            .iter()
            .flat_map(code_or_words)
            .filter(|name| name.contains('_') && name == &name.to_lowercase());
        let unknown =
            named.filter(|name| corpus.rule(name).is_none() && corpus.view(name).is_none() && !columns.contains(name));
        unknown.map(|name| format!("the runbook names `{name}`, which is no rule, view, table or column")).collect()
    }));
}
