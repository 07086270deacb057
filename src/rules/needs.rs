//! Which rules could have fired on an input, and which were blind.
//!
//! In: `needs` of the headers and the batches of facts. Out: for each rule the needs that no fact fills.
//! Judges no fact; a need without a table or column is the checks' business.

use std::collections::BTreeSet;

use arrow::array::{ArrayRef, RecordBatch};
use serde::Deserialize;

use super::cell::Cell;
use super::corpus::Corpus;
use crate::findings::RuleCoverage;

/// Facts of each table.
pub(super) type Batches = [(&'static str, RecordBatch)];

/// A field that a rule needs: `table.column[other=value,...]@observer`, brackets and observer optional; several with
/// `or` between, where one of them is enough.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Need {
    /// As written.
    pub text: String,
    /// Table of facts.
    pub table: String,
    /// Column that must be filled.
    pub column: String,
    /// Columns and the values they must have in the same row.
    pub when: Vec<(String, String)>,
    /// Observer that must have seen it.
    pub observer: Option<String>,
    /// Fields that do as well.
    pub or: Vec<Need>,
}

/// Who sees facts; words of `observer`.
pub(super) const OBSERVERS: [&str; 4] = ["client", "server", "gateway", "receiver"];

impl TryFrom<String> for Need {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut fields = text.split(" or ").map(|field| Self::field(field.trim()));
        let first = fields.next().unwrap_or_else(|| Self::field(""))?;
        let or = fields.collect::<Result<_, _>>()?;
        Ok(Self { text, or, ..first })
    }
}

impl Need {
    fn field(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no need: written `table.column`, then `[column=value]` and `@observer` if wanted");
        let (rest, observer) = match text.rsplit_once('@') {
            Some((rest, observer)) if OBSERVERS.contains(&observer) => (rest, Some(observer.to_owned())),
            Some((rest, other)) if !rest.contains('[') || rest.ends_with(']') => {
                return Err(format!("`{other}` observes nothing; observers are {}", super::problem::listed(OBSERVERS)));
            }
            _ => (text, None),
        };
        let (field, conditions) = match rest.split_once('[') {
            Some((field, conditions)) => (field, conditions.strip_suffix(']').ok_or_else(wrong)?),
            None => (rest, ""),
        };
        let name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let (table, column) = field.split_once('.').filter(|(t, c)| name(t) && name(c)).ok_or_else(wrong)?;
        let when = conditions
            .split(',')
            .filter(|condition| !conditions.is_empty() || !condition.is_empty())
            .map(|condition| condition.split_once('=').map(|(c, v)| (c.trim().to_owned(), v.trim().to_owned())))
            .collect::<Option<Vec<_>>>()
            .filter(|when| when.iter().all(|(column, _)| name(column)))
            .ok_or_else(wrong)?;
        let (table, column, text) = (table.to_owned(), column.to_owned(), text.to_owned());
        Ok(Self { text, table, column, when, observer, or: Vec::new() })
    }

    /// The fields of which one is enough.
    pub(super) fn fields(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.or)
    }

    /// Whether a fact fills it, or one of the fields that do as well.
    pub(super) fn is_filled(&self, batches: &Batches) -> bool {
        self.fields().any(|field| field.is_filled_alone(batches))
    }

    /// Whether a fact fills this field itself.
    pub(super) fn is_filled_alone(&self, batches: &Batches) -> bool {
        let mut own = batches.iter().filter(|(table, _)| *table == self.table);
        own.any(|(_, batch)| self.rows_in(batch).next().is_some())
    }

    /// Rows of a batch of its table that fill it.
    pub(super) fn rows_in(&self, batch: &RecordBatch) -> impl Iterator<Item = usize> {
        let filled = self.filled_columns(batch);
        (0..batch.num_rows()).filter(move |row| {
            filled.as_ref().is_some_and(|(column, conditions)| {
                Cell::is_filled_in(column, *row)
                    && conditions.iter().all(|(column, value)| Cell::reads_in(column, *row, value))
            })
        })
    }

    /// What a column says in the rows that fill this field itself.
    pub(super) fn said_alone_in(&self, column: &str, batches: &Batches) -> BTreeSet<String> {
        let own = batches.iter().filter(|(table, _)| *table == self.table);
        own.flat_map(|(_, batch)| Cell::texts(column, batch, self.rows_in(batch))).collect()
    }

    /// Its column, and those that must have a value beside it; none where the batch lacks one.
    fn filled_columns<'b>(&self, batch: &'b RecordBatch) -> Option<(&'b ArrayRef, Vec<(&'b ArrayRef, String)>)> {
        let column = batch.column_by_name(&self.column)?;
        let observer = self.observer.iter().map(|observer| ("observer", observer));
        let when = self.when.iter().map(|(column, value)| (column.as_str(), value));
        let conditions =
            observer.chain(when).map(|(column, value)| Some((batch.column_by_name(column)?, value.clone())));
        Some((column, conditions.collect::<Option<Vec<_>>>()?))
    }
}

/// For each rule the needs that no fact fills.
pub fn coverage(corpus: &Corpus, batches: &Batches) -> Vec<RuleCoverage> {
    let is_missing = |need: &&Need| !need.is_filled(batches);
    corpus
        .rules
        .iter()
        .map(|rule| RuleCoverage {
            rule: rule.id.clone(),
            missing: rule.header.needs.iter().filter(is_missing).map(|need| need.text.clone()).collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(text: &str) -> Result<Need, String> {
        Need::try_from(text.to_owned())
    }

    #[test]
    fn a_need_has_a_table_and_a_column_and_may_have_values_and_an_observer() {
        let read = |text: &str| need(text).map(|n| (n.table, n.column, n.when, n.observer)).unwrap();
        let (table, column) = ("cards".to_owned(), "etag".to_owned());
        let when = vec![("origin".to_owned(), "fetch".to_owned()), ("url".to_owned(), "http://a@b/".to_owned())];
        let client = Some("client".to_owned());
        assert_eq!(read("cards.etag"), (table.clone(), column.clone(), vec![], None));
        assert_eq!(read("cards.etag@client"), (table.clone(), column.clone(), vec![], client.clone()));
        assert_eq!(
            read("cards.etag[origin=fetch, url=http://a@b/]"),
            (table.clone(), column.clone(), when.clone(), None)
        );
        assert_eq!(read("cards.etag[origin=fetch,url=http://a@b/]@client"), (table, column, when, client));
    }

    #[test]
    fn one_of_several_fields_is_enough() {
        let either = need("cards.etag@client or task_events.state").unwrap();
        assert_eq!(either.text, "cards.etag@client or task_events.state");
        assert_eq!(either.fields().map(|n| n.column.as_str()).collect::<Vec<_>>(), ["etag", "state"]);
        assert!(need("cards.etag or").is_err() && need("cards.etag or state").is_err());
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "cards",
            "cards.",
            ".etag",
            "cards.etag@",
            "cards.etag@me",
            "cards.etag[",
            "cards.etag[]x",
            "cards.etag[a]",
            "a b.c",
        ] {
            assert!(need(text).is_err(), "{text}");
        }
    }
}
