//! Rules for the terminal.
//!
//! In: the corpus or a rule, and the width of the page. Out: text with ANSI colours, in which no mark of Markdown is left.

use anstyle::{AnsiColor, Color, Style};
use textwrap::core::display_width;

use super::super::corpus::{Corpus, Rule};
use super::about::{self, Values};
use super::by_category;
use crate::findings::Severity;
use crate::page::Page;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Red)));
const YELLOW: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
const CODE: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Cyan)));

/// One line a rule: category, id, severity, title; on a page, if there is one, wrapped in the column of titles.
pub fn list(corpus: &Corpus, width: Option<usize>) -> String {
    let rules = by_category(corpus);
    let widest = |text: fn(&Rule) -> &str| rules.iter().map(|rule| text(rule).len()).max().unwrap_or_default();
    let (categories, ids) = (widest(|rule| &rule.category), widest(|rule| &rule.id));
    let mut page = width.map(Page::new);
    let mut lines = String::new();
    for rule in &rules {
        let (severity, title) = (rule.header.severity, inline(&rule.header.title));
        let style = match severity {
            Severity::Critical => RED,
            Severity::Warning => YELLOW,
            Severity::Info => Style::new(),
        };
        let about =
            format!("{:<categories$}  {:<ids$}  {style}{:<8}{style:#}", rule.category, rule.id, severity.as_str());
        match &mut page {
            Some(page) => page.behind(&about, categories + ids + 14, &title),
            None => lines.push_str(&format!("{about}  {title}\n")),
        }
    }
    page.map_or(lines, Page::finish)
}

/// A rule: what its header says, its runbook, its query.
pub fn show(rule: &Rule, width: usize) -> String {
    let mut page = Page::new(width);
    page.item(0, BOLD, &rule.id, &inline(&rule.header.title));
    page.gap();
    let lines = about::rule(rule);
    let labels = lines.iter().map(|line| line.label.len()).max().unwrap_or_default();
    for line in lines {
        let text = match line.values {
            Values::Words(words) => words,
            Values::Code(values) | Values::Queries(values) => values.join(", "),
        };
        page.labelled(2, labels, DIM, line.label, &inline(&text));
    }
    page.labelled(2, labels, DIM, "next", &inline(about::next(rule)));
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

/// Paragraphs and entries of lists, wrapped anew; code and quotations as they are; tables in columns. No mark of Markdown is left.
fn markdown(page: &mut Page, body: &str) {
    let mut open: Option<Block> = None;
    let mut fenced = false;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in body.lines() {
        let text = line.trim();
        if text.starts_with("```") {
            fenced = !fenced;
            flush(page, open.take());
            continue;
        }
        if !fenced && text.starts_with('|') {
            flush(page, open.take());
            rows.push(text.trim_matches('|').split('|').map(|cell| inline(cell.trim())).collect());
            continue;
        }
        table(page, &mut rows);
        let verbatim = fenced || line.starts_with("    ");
        if verbatim || text.is_empty() {
            flush(page, open.take());
        }
        if verbatim {
            page.verbatim(4, if fenced { line } else { text });
        } else if text.is_empty() {
            page.gap();
        } else if let Some(heading) = text.strip_prefix('#') {
            flush(page, open.take());
            page.item(2, BOLD, heading.trim_start_matches('#').trim(), "");
        } else if let Some((marker, text)) = marked(text) {
            flush(page, open.replace(Block { marker: marker.to_owned(), text: text.to_owned() }));
        } else if let Some(block) = &mut open {
            block.text.push(' ');
            block.text.push_str(text.trim_start_matches("> "));
        } else {
            open = Some(Block { marker: String::new(), text: text.trim_start_matches("> ").to_owned() });
        }
    }
    table(page, &mut rows);
    flush(page, open);
}

/// Writes the rows of a table, if there are any, each column as wide as its widest cell.
fn table(page: &mut Page, rows: &mut Vec<Vec<String>>) {
    let is_rule = |row: &Vec<String>| row.iter().all(|cell| cell.bytes().all(|b| matches!(b, b'-' | b':')));
    let rows: Vec<Vec<String>> = std::mem::take(rows).into_iter().filter(|row| !is_rule(row)).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| display_width(cell)).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell}{}  ", " ".repeat(width.saturating_sub(display_width(cell)))))
            .collect();
        page.verbatim(2, line.trim_end());
    }
}

/// Text with its marks made visible: code and emphasis in styles, a link by its words and address.
fn inline(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return words(text);
    }
    let pieces = pieces.into_iter().enumerate();
    pieces
        .map(|(at, piece)| if at.is_multiple_of(2) { words(piece) } else { format!("{CODE}'{piece}'{CODE:#}") })
        .collect()
}

/// Text outside of code.
fn words(text: &str) -> String {
    let bold: Vec<&str> = text.split("**").collect();
    let text = match bold.len().is_multiple_of(2) {
        true => text.to_owned(),
        false => {
            let pieces = bold.into_iter().enumerate();
            pieces
                .map(
                    |(at, piece)| {
                        if at.is_multiple_of(2) { piece.to_owned() } else { format!("{BOLD}{piece}{BOLD:#}") }
                    },
                )
                .collect()
        }
    };
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, (words, address, after))) = link(rest) {
        shown.push_str(&format!("{before}{words} ({address})"));
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// The first `[words](address)` of a text: what is before it, its parts, and what is after it.
fn link(text: &str) -> Option<(&str, (&str, &str, &str))> {
    let middle = text.find("](")?;
    let start = text[..middle].rfind('[')?;
    let (address, after) = text[middle + 2..].split_once(')')?;
    Some((&text[..start], (&text[start + 1..middle], address, after)))
}

/// A paragraph, or an entry of a list with its marker.
struct Block {
    marker: String,
    text: String,
}

fn flush(page: &mut Page, block: Option<Block>) {
    match block {
        Some(Block { marker, text }) if marker.is_empty() => page.paragraph(2, &inline(&text)),
        Some(Block { marker, text }) => page.entry(2, &marker, &inline(&text)),
        None => {}
    }
}

/// The `-`, `*` or `2.` of an entry, and its text.
fn marked(line: &str) -> Option<(&str, &str)> {
    let (marker, text) = line.split_once(' ')?;
    let number = marker.strip_suffix('.').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    (number || marker == "-" || marker == "*").then_some((marker, text.trim_start()))
}
