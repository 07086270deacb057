//! What an engine has against a query, in words for who wrote it.
//!
//! In: an error of the engine, the query. Out: where it is, what is wrong there, and what to write instead. For mistakes that
//! it has no words for, the engine's are kept, without what they say of the engine. Knows no data.

use std::collections::BTreeSet;

use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::problem::{listed, near};
use super::query::{self, Query};
use super::source::Place;

/// Columns that are named where there are more: the most alike.
const NEAREST: usize = 8;

/// Functions that are called with `OVER` alone.
const WINDOWS: [&str; 9] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value"];

/// Types that a value may be cast to, of those that run everywhere.
const TYPES: [&str; 7] = ["BIGINT", "BOOLEAN", "DATE", "DOUBLE", "INTERVAL", "TIMESTAMP", "VARCHAR"];

/// Place and words for an error. Without a place of its own it is where its name stands, if that is once, else where the query
/// begins.
pub(super) fn told(query: &Query, error: &DataFusionError) -> (Place, String) {
    let span = error.diagnostic().and_then(|diagnostic| diagnostic.span);
    let place = span.map(|span| (span.start.line as usize, span.start.column as usize));
    let root = error.find_root();
    let (found, message) = match root {
        DataFusionError::SchemaError(error, _) => match error.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => {
                let place = place.or_else(|| only_place(query, field.name()));
                return (place.unwrap_or((query.line, 1)), unknown_column(query, field, valid_fields, place));
            }
            SchemaError::AmbiguousReference { field } => (only_place(query, field.name()), ambiguous(field)),
            _ => (None, bare(&root.strip_backtrace())),
        },
        _ => in_words(query, bare(&root.strip_backtrace())),
    };
    (place.or(found).unwrap_or((query.line, 1)), message)
}

/// Place, where it can be found, and words for what an engine says in a text.
fn in_words(query: &Query, text: String) -> (Option<Place>, String) {
    if let Some((literal, message)) = no_value(&text) {
        return (only_literal(query, literal), message);
    }
    if let Some(name) = text.strip_prefix("Unsupported SQL type ") {
        return (only_place(query, name), no_type(name));
    }
    (None, ungrouped(&text).or_else(|| unknown_function(&text)).unwrap_or(text))
}

/// What the parser has against a text, without its place.
pub(super) fn ungrammatical(message: &str) -> String {
    let Some((wanted, found)) = message.strip_prefix("Expected: ").and_then(|rest| rest.split_once(", found: ")) else {
        return message.to_owned();
    };
    match (wanted, found) {
        (_, "EOF") => format!("the query ends too early: {wanted} is missing"),
        ("end of statement", _) => {
            format!("`{found}` does not fit here: is a comma or another word missing before it?")
        }
        _ => format!("`{found}` does not fit here, where {wanted} is expected"),
    }
}

/// A text that is not of the type that it is taken for, and what would be.
fn no_value(text: &str) -> Option<(&str, String)> {
    const TIME: &str = "a time: write 2026-12-31 or 2026-12-31T07:30:00Z";
    let quoted = |text: &str| text.split_once('\'').map(|(literal, _)| literal.len());
    let (literal, what) = if let Some(rest) = text.strip_prefix("Parser error: Error parsing timestamp from '") {
        (rest.get(..quoted(rest)?)?, TIME)
    } else {
        let rest = text.strip_prefix("Cast error: Cannot cast string '")?;
        let end = quoted(rest)?;
        let what = match rest.get(end..)? {
            rest if rest.contains("of Int") || rest.contains("of UInt") => "a whole number",
            rest if rest.contains("of Float") || rest.contains("of Decimal") => "a number",
            rest if rest.contains("of Boolean") => "a truth value: write true or false",
            rest if rest.contains("of Timestamp") || rest.contains("of Date") => TIME,
            _ => return None,
        };
        (rest.get(..end)?, what)
    };
    Some((literal, format!("'{literal}' is not {what}")))
}

/// A type that there is not.
fn no_type(name: &str) -> String {
    let near = near(&name.to_uppercase(), TYPES.into_iter());
    format!("no type `{name}`{near}; there are {}", listed(TYPES))
}

/// A column that is not there, those that are most like it, and where all are told.
fn unknown_column(query: &Query, field: &Column, valid: &[Column], place: Option<Place>) -> String {
    let written = field.flat_name();
    let name = field.name();
    let is_quoted = place.and_then(|place| char_at(&query.text, place)) == Some('"') && field.relation.is_none();
    // A name in quotes keeps its capitals, so that a column may be meant all the same.
    if is_quoted && near(&name.to_lowercase(), valid.iter().map(Column::name)).is_empty() {
        return format!("no column `{name}`: a name stands in double quotes, a text in single ones: write '{name}'");
    }
    let tables: BTreeSet<String> =
        valid.iter().filter_map(|column| Some(column.relation.as_ref()?.to_string())).collect();
    let of = field.relation.as_ref().map(ToString::to_string);
    if let Some(table) = of.as_ref().filter(|table| !tables.contains(*table)) {
        let near = near(table, tables.iter().map(String::as_str));
        return format!("no table `{table}` at this place of the query{near}; there {}", are(&tables));
    }
    let is_of = |column: &&Column| of.is_none() || column.relation.as_ref().map(ToString::to_string) == of;
    let name = |column: &Column| if of.is_some() { column.flat_name() } else { column.name().to_owned() };
    let names: BTreeSet<String> = valid.iter().filter(is_of).map(name).collect();
    let near = near(&written.to_lowercase(), names.iter().map(String::as_str));
    if names.is_empty() {
        return format!("no column `{written}`: there is none at this place of the query");
    }
    if names.len() <= NEAREST {
        return format!("no column `{written}`{near}; there {}", are(&names));
    }
    let mut alike: Vec<&String> = names.iter().collect();
    alike.sort_by(|a, b| strsim::jaro_winkler(&written, b).total_cmp(&strsim::jaro_winkler(&written, a)));
    alike.truncate(NEAREST);
    let all = format!("`a2a-drift query --tables {}` tells all", query.reads.join(" "));
    format!("no column `{written}`{near}; of {} the most alike are {}; {all}", names.len(), listed(alike))
}

/// `is `a``, `are `a`, `b``.
fn are(names: &BTreeSet<String>) -> String {
    format!("{} {}", if names.len() == 1 { "is" } else { "are" }, listed(names))
}

fn ambiguous(field: &Column) -> String {
    let name = field.name();
    format!("more than one table has a column `{name}`: say of which, as in `t.{name}` for a table that is read `AS t`")
}

/// A column beside aggregates that is the same for no group.
fn ungrouped(text: &str) -> Option<String> {
    let (before, _) = text.split_once("\" must appear in the GROUP BY clause")?;
    let (_, column) = before.rsplit_once("column \"")?;
    Some(format!(
        "`{column}` may differ within a group: write it behind GROUP BY, or take one value of it, such as `max({column})`"
    ))
}

fn unknown_function(text: &str) -> Option<String> {
    let (name, rest) = text.strip_prefix("Invalid function '")?.split_once('\'')?;
    if WINDOWS.contains(&name) {
        return Some(format!(
            "`{name}` is a function of windows: write `{name}(...) OVER (PARTITION BY ... ORDER BY ...)`"
        ));
    }
    let meant = rest.split_once("Did you mean '").and_then(|(_, meant)| meant.split('\'').next());
    Some(format!("no function `{name}`{}", near(name, meant.into_iter())))
}

/// What an engine says, without names of its own parts and without asking for reports of its bugs.
fn bare(text: &str) -> String {
    const PARTS: [&str; 8] = [
        "Error during planning: ",
        "Schema error: ",
        "Execution error: ",
        "Internal error: ",
        "Arrow error: ",
        "Optimizer error: ",
        "External error: ",
        "This feature is not implemented: ",
    ];
    let mut text = text.trim();
    while let Some(rest) = PARTS.iter().find_map(|part| text.strip_prefix(part)) {
        text = rest.trim_start();
    }
    // Words of several attempts stand in one text, and on lines of their own.
    let text = text.replace(PARTS[0], "").replace('\t', "  ");
    match text.split_once("This issue was likely caused by a bug in DataFusion") {
        Some((before, after)) => {
            let after = after.split_once("/issues").map_or("", |(_, after)| after.trim_start_matches('.'));
            format!("{} {}", before.trim(), after.trim()).trim().to_owned()
        }
        None => text,
    }
}

/// Where a name stands, if it does once.
fn only_place(query: &Query, name: &str) -> Option<Place> {
    let tokens = Tokenizer::new(&GenericDialect {}, &query.text).tokenize_with_location().ok()?;
    let mut places = tokens.iter().filter_map(|token| match &token.token {
        Token::Word(word) if word.value.eq_ignore_ascii_case(name) => query::place(token.span.start),
        _ => None,
    });
    places.next().filter(|_| places.next().is_none())
}

/// Where a text in quotes stands, if it does once.
fn only_literal(query: &Query, literal: &str) -> Option<Place> {
    let tokens = Tokenizer::new(&GenericDialect {}, &query.text).tokenize_with_location().ok()?;
    let mut places = tokens.iter().filter_map(|token| match &token.token {
        Token::SingleQuotedString(text) if text == literal => query::place(token.span.start),
        _ => None,
    });
    places.next().filter(|_| places.next().is_none())
}

fn char_at(text: &str, (line, column): Place) -> Option<char> {
    text.lines().nth(line.checked_sub(1)?)?.chars().nth(column.checked_sub(1)?)
}
