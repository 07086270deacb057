//! The corpus as Markdown, for the page beside the rules and for a README.
//!
//! In: the corpus. Out: Markdown as GitHub shows it. A rule's id is a heading of one word and all other headings of this
//! page but views' have more, so that the anchor of a rule is its id and no heading before it takes it away.

use super::super::corpus::{Corpus, Rule, View};
use super::super::source::Section;
use super::about::{self, About, Values};
use super::{by_category, link};

const PREFACE: &str = include_str!("preface.md");
/// The section after which a runbook says what to do next.
const BEFORE_NEXT: &str = "First checks";

/// The page beside the rules: how they are made, an index, every runbook, the shared views.
pub fn readme(corpus: &Corpus) -> String {
    let mut page = PREFACE.to_owned();
    page.push_str("\n## Index of rules\n\n");
    page.push_str(&index(corpus));
    let mut category = "";
    for rule in by_category(corpus) {
        if rule.category != category {
            category = &rule.category;
            page.push_str(&format!("\n## Rules in {category}/\n"));
        }
        page.push_str(&runbook(rule, corpus));
    }
    page.push_str("\n## Views that rules share\n");
    let mut views: Vec<&View> = corpus.views.iter().collect();
    views.sort_by_key(|view| &view.name);
    for view in views {
        page.push_str(&notes(view, corpus));
    }
    page
}

/// The rules as a table for a README in the root of the repository.
pub fn table(corpus: &Corpus) -> String {
    let mut table = "| rule | severity | what it finds |\n|---|---|---|\n".to_owned();
    let mut category = "";
    for rule in by_category(corpus) {
        if rule.category != category {
            category = &rule.category;
            table.push_str(&format!("| **{category}** | | |\n"));
        }
        let (id, severity, title) = (&rule.id, rule.header.severity.as_str(), cell(&rule.header.title));
        table.push_str(&format!("| [{id}]({}) | {severity} | {title} |\n", link(id)));
    }
    table
}

fn index(corpus: &Corpus) -> String {
    let mut table =
        "| category | rule | severity | what it finds | one finding per |\n|---|---|---|---|---|\n".to_owned();
    for rule in by_category(corpus) {
        let (category, id, severity) = (&rule.category, &rule.id, rule.header.severity.as_str());
        let (title, entity) = (cell(&rule.header.title), rule.header.entity.join(", "));
        table.push_str(&format!("| {category} | [{id}](#{id}) | {severity} | {title} | {entity} |\n"));
    }
    table
}

fn runbook(rule: &Rule, corpus: &Corpus) -> String {
    let mut text = format!("\n### {}\n\n**{}**\n\n", rule.id, plain(&rule.header.title));
    text.push_str(&lines(&about::rule(rule), corpus));
    text.push_str(&format!("- query: [{0}](rules/{0})\n", format_args!("{}/{}.sql", rule.category, rule.id)));
    for section in &rule.runbook {
        text.push_str(&self::section(section, &rule.id, corpus));
        if section.heading == BEFORE_NEXT {
            text.push_str(&format!("\nNext: {}.\n", plain(about::next(rule))));
        }
    }
    text
}

fn notes(view: &View, corpus: &Corpus) -> String {
    let mut text = format!("\n### {}\n\n**{}**\n\n", view.name, plain(&view.header.title));
    text.push_str(&lines(&about::view(view), corpus));
    text.push_str(&format!("- query: [{0}](views/{0})\n", format_args!("{}.sql", view.name)));
    text.extend(view.notes.iter().map(|notes| section(notes, &view.name, corpus)));
    text
}

fn section(section: &Section, own: &str, corpus: &Corpus) -> String {
    let heading = match section.heading.as_str() {
        "" => String::new(),
        heading => format!("\n#### {heading}\n"),
    };
    match section.body.as_str() {
        "" => heading,
        body => format!("{heading}\n{}\n", linked(body, own, corpus)),
    }
}

fn lines(lines: &[About], corpus: &Corpus) -> String {
    let line = |About { label, values }: &About| match values {
        Values::Words(words) => format!("- {label}: {}\n", plain(words)),
        Values::Code(values) => format!("- {label}: {}\n", joined(values, |value| format!("`{value}`"))),
        Values::Queries(names) => format!("- {label}: {}\n", joined(names, |name| reference(name, corpus))),
    };
    lines.iter().map(line).collect()
}

fn joined(values: &[String], form: impl Fn(&String) -> String) -> String {
    values.iter().map(form).collect::<Vec<_>>().join(", ")
}

/// Views and rules are on this page, tables of facts are not.
fn reference(name: &str, corpus: &Corpus) -> String {
    if corpus.view(name).is_some() || corpus.rule(name).is_some() {
        format!("[{name}](#{name})")
    } else {
        name.to_owned()
    }
}

/// Text of a header in Markdown: but for words in backticks, `*` must not become emphasis, nor `<name>` a tag.
fn plain(text: &str) -> String {
    outside_code(text, |words| {
        let escaped =
            words.chars().flat_map(|c| matches!(c, '*' | '<' | '[' | '\\').then_some('\\').into_iter().chain([c]));
        escaped.collect()
    })
}

fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

/// A runbook's Markdown, in which the names of other rules lead to their runbooks. A name that is also a word, one
/// without `_`, is left alone.
fn linked(body: &str, own: &str, corpus: &Corpus) -> String {
    outside_code(body, |words| {
        let mut text = String::with_capacity(words.len());
        for piece in words.split_inclusive(|c: char| !is_of_name(c)) {
            let name = piece.trim_end_matches(|c| !is_of_name(c));
            let is_link = text.ends_with(['[', '#', '/']);
            if name.contains('_') && name != own && !is_link && corpus.rule(name).is_some() {
                text.push_str(&format!("[{name}](#{name}){}", &piece[name.len()..]));
            } else {
                text.push_str(piece);
            }
        }
        text
    })
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A text with what is outside of its backticks changed. An odd one is no code.
fn outside_code(text: &str, change: impl Fn(&str) -> String) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return change(text);
    }
    let pieces = pieces.into_iter().enumerate();
    pieces.map(|(at, piece)| if at.is_multiple_of(2) { change(piece) } else { format!("`{piece}`") }).collect()
}
