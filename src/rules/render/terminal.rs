//! Rules for the terminal.
//!
//! In: the corpus or a rule, and the width of the page. Out: text with ANSI colours, Markdown wrapped but not restyled.

use anstyle::Style;

use super::super::corpus::{Corpus, Rule};
use super::about::{self, Values};
use super::by_category;
use crate::page::Page;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// One line a rule: category, id, severity, title.
pub fn list(corpus: &Corpus) -> String {
    let rules = by_category(corpus);
    let widest = |text: fn(&Rule) -> &str| rules.iter().map(|rule| text(rule).len()).max().unwrap_or_default();
    let (categories, ids) = (widest(|rule| &rule.category), widest(|rule| &rule.id));
    let line = |rule: &&Rule| {
        let (severity, title) = (rule.header.severity.as_str(), &rule.header.title);
        format!("{:<categories$}  {:<ids$}  {severity:<8}  {title}\n", rule.category, rule.id)
    };
    rules.iter().map(line).collect()
}

/// A rule: what its header says, its runbook, its query.
pub fn show(rule: &Rule, width: usize) -> String {
    let mut page = Page::new(width);
    page.item(0, BOLD, &rule.id, &rule.header.title);
    page.gap();
    let lines = about::rule(rule);
    let labels = lines.iter().map(|line| line.label.len()).max().unwrap_or_default();
    for line in lines {
        let text = match line.values {
            Values::Words(words) => words,
            Values::Code(values) | Values::Queries(values) => values.join(", "),
        };
        page.labelled(2, labels, DIM, line.label, &text);
    }
    page.labelled(2, labels, DIM, "next", about::next(rule));
    page.labelled(2, labels, DIM, "file", &rule.path.display().to_string());
    for section in &rule.runbook {
        page.gap();
        page.item(0, BOLD, &section.heading, "");
        markdown(&mut page, &section.body);
    }
    page.gap();
    page.item(0, BOLD, "Query", "");
    page.verbatim(2, &rule.query.sql());
    page.finish()
}

/// Paragraphs and entries of lists, wrapped anew; what has a form of its own, such as a table or code, as it is.
fn markdown(page: &mut Page, body: &str) {
    let mut open: Option<Block> = None;
    let mut fenced = false;
    for line in body.lines() {
        let is_fence = line.trim_start().starts_with("```");
        let verbatim = fenced || is_fence || line.starts_with(['|', '#', '>']) || line.starts_with("    ");
        fenced ^= is_fence;
        let text = line.trim();
        if verbatim || text.is_empty() {
            flush(page, open.take());
        }
        if verbatim {
            page.verbatim(2, line);
        } else if text.is_empty() {
            page.gap();
        } else if let Some((marker, text)) = marked(text) {
            flush(page, open.replace(Block { marker: marker.to_owned(), text: text.to_owned() }));
        } else if let Some(block) = &mut open {
            block.text.push(' ');
            block.text.push_str(text);
        } else {
            open = Some(Block { marker: String::new(), text: text.to_owned() });
        }
    }
    flush(page, open);
}

/// A paragraph, or an entry of a list with its marker.
struct Block {
    marker: String,
    text: String,
}

fn flush(page: &mut Page, block: Option<Block>) {
    match block {
        Some(Block { marker, text }) if marker.is_empty() => page.paragraph(2, &text),
        Some(Block { marker, text }) => page.entry(2, &marker, &text),
        None => {}
    }
}

/// The `-`, `*` or `2.` of an entry, and its text.
fn marked(line: &str) -> Option<(&str, &str)> {
    let (marker, text) = line.split_once(' ')?;
    let number = marker.strip_suffix('.').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    (number || marker == "-" || marker == "*").then_some((marker, text.trim_start()))
}
