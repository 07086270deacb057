//! Which rules could have fired on an input, and which were blind.
//!
//! In: `needs` of the headers and the batches of facts. Out: for each rule the needs that no fact fills.
//! Judges no fact; a need without a table or column is the checks' business.

use arrow::array::RecordBatch;
use serde::Deserialize;

use super::cell::Cell;
use super::corpus::Corpus;
use crate::findings::RuleCoverage;

/// A field that a rule needs: `table.column[other=value,...]@observer`, brackets and observer optional.
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
}

/// Who sees facts; words of `observer`.
pub(super) const OBSERVERS: [&str; 4] = ["client", "server", "gateway", "receiver"];

impl TryFrom<String> for Need {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no need: written `table.column`, then `[column=value]` and `@observer` if wanted");
        let (rest, observer) = match text.rsplit_once('@') {
            Some((rest, observer)) if OBSERVERS.contains(&observer) => (rest, Some(observer.to_owned())),
            Some((rest, other)) if !rest.contains('[') || rest.ends_with(']') => {
                return Err(format!("`{other}` observes nothing; observers are {}", super::problem::listed(OBSERVERS)));
            }
            _ => (text.as_str(), None),
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
        Ok(Self { table: table.to_owned(), column: column.to_owned(), when, observer, text })
    }
}

impl Need {
    fn filled_in(&self, batch: &RecordBatch) -> bool {
        let Some(column) = batch.column_by_name(&self.column) else { return false };
        (0..batch.num_rows()).any(|row| {
            Cell::of(column, row).is_filled()
                && self.observer.as_ref().is_none_or(|who| Cell::named(batch, "observer", row).to_string() == *who)
                && self.when.iter().all(|(column, value)| Cell::named(batch, column, row).to_string() == *value)
        })
    }
}

/// For each rule the needs that no fact fills.
pub fn coverage(corpus: &Corpus, batches: &[(&'static str, RecordBatch)]) -> Vec<RuleCoverage> {
    let filled = |need: &&Need| !batches.iter().any(|(table, batch)| *table == need.table && need.filled_in(batch));
    corpus
        .rules
        .iter()
        .map(|rule| RuleCoverage {
            rule: rule.id.clone(),
            missing: rule.header.needs.iter().filter(filled).map(|need| need.text.clone()).collect(),
        })
        .collect()
}
