//! A query file cut into its three parts: TOML header, Markdown, SQL.
//!
//! In: the text of a file. Out: the parts, with the places they came from. Knows no key of the header and no SQL.

use super::problem::listed;

/// A place in a file: line and column, from 1.
pub(super) type Place = (usize, usize);

/// Characters of `-- ` before each line of header and Markdown.
const PREFIX: usize = 3;

/// A query file, cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    /// The header's TOML, without the `-- `; its lines are the first lines of the file.
    pub(super) toml: String,
    /// Sections of the Markdown.
    pub(super) sections: Vec<Section>,
    /// First line of the SQL.
    pub(super) sql_line: usize,
}

/// A section of a rule's runbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading without `## `; `''` for text before the first one.
    pub heading: String,
    /// The Markdown below it, trimmed.
    pub body: String,
    /// Line of the heading in the file.
    pub line: usize,
}

/// Headings that a rule's runbook has, in this order.
pub const SECTIONS: [&str; 5] =
    ["What it finds", "Why it matters", "First checks", "When it is wrong", "What it cannot see"];

impl Source {
    /// Cuts a file.
    pub(super) fn cut(text: &str) -> Result<Self, (Place, String)> {
        let mut lines = text.lines().enumerate().peekable();
        let mut toml = String::new();
        while let Some((index, line)) = lines.next_if(|(_, line)| line.starts_with("--")) {
            match line.trim_end() {
                "--" => break,
                line => {
                    let line = line.strip_prefix("-- ").ok_or_else(|| {
                        ((index + 1, 1), "a line of the header begins with `-- `, the blank included".to_owned())
                    })?;
                    toml.push_str(line);
                    toml.push('\n');
                }
            }
        }
        if toml.is_empty() {
            return Err(((1, 1), "the file begins with its header: `-- title = \"...\"`".to_owned()));
        }
        let mut sections: Vec<Section> = Vec::new();
        while let Some((index, line)) = lines.next_if(|(_, line)| line.starts_with("--")) {
            let line = line.strip_prefix("-- ").or_else(|| line.strip_prefix("--")).unwrap_or_default();
            match (line.strip_prefix("## "), sections.last_mut()) {
                (Some(heading), _) => {
                    sections.push(Section { heading: heading.trim().to_owned(), body: String::new(), line: index + 1 });
                }
                (None, Some(section)) => {
                    section.body.push_str(line);
                    section.body.push('\n');
                }
                (None, None) => {
                    sections.push(Section { heading: String::new(), body: format!("{line}\n"), line: index + 1 });
                }
            }
        }
        for section in &mut sections {
            section.body = section.body.trim().to_owned();
        }
        while lines.next_if(|(_, line)| line.trim().is_empty()).is_some() {}
        let Some((sql, _)) = lines.next() else {
            return Err(((text.lines().count(), 1), "there is no query below the header".to_owned()));
        };
        Ok(Self { toml, sections, sql_line: sql + 1 })
    }

    /// Place in the file of a byte of the header.
    pub(super) fn place(&self, byte: usize) -> Place {
        let before = self.toml.get(..byte).unwrap_or(&self.toml);
        let line = before.matches('\n').count();
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        (line + 1, column + 1 + PREFIX)
    }

    /// Place of a key of the header; the first line when it is not there.
    pub(super) fn key_place(&self, key: &str) -> Place {
        let has_key = |line: &str| line.trim_start().strip_prefix(key).is_some_and(|l| l.trim_start().starts_with('='));
        self.toml.lines().position(has_key).map_or((1, 1), |line| (line + 1, 1 + PREFIX))
    }

    /// What is wrong with the runbook of a rule.
    pub(super) fn runbook_problems(&self) -> Vec<(Place, String)> {
        let mut problems = Vec::new();
        for section in &self.sections {
            let is_blank = section.heading.is_empty() && section.body.is_empty();
            if !is_blank && !SECTIONS.contains(&section.heading.as_str()) {
                let message = match section.heading.as_str() {
                    "" => format!("text before the first section; sections are {}", listed(SECTIONS)),
                    heading => format!("unknown section `{heading}`; sections are {}", listed(SECTIONS)),
                };
                problems.push(((section.line, 1), message));
            }
        }
        for heading in SECTIONS {
            let mut found = self.sections.iter().filter(|section| section.heading == heading);
            match (found.next(), found.next()) {
                (None, _) => problems.push(((1, 1), format!("the section `## {heading}` is missing"))),
                (Some(section), _) if section.body.is_empty() => {
                    problems.push(((section.line, 1), format!("the section `## {heading}` is empty")));
                }
                (_, Some(second)) => {
                    problems.push(((second.line, 1), format!("the section `## {heading}` is there twice")));
                }
                _ => {}
            }
        }
        problems
    }
}
