//! What tables and views hold, and what their columns mean, in words.
//!
//! In: the corpus, the declarations of the tables, `queries/columns.toml`. Out: sentences. Reads no fact.

use std::collections::BTreeMap;

use super::corpus::Corpus;
use crate::tables::Facts;

const COLUMNS: &str = include_str!("../../queries/columns.toml");

/// The section of what columns of this name mean in any view.
const ANY: &str = "any";

/// Words for views.
#[derive(Debug, Clone)]
pub struct Words<'a> {
    corpus: &'a Corpus,
    /// By view or [`ANY`], then by column.
    of_views: BTreeMap<String, BTreeMap<String, String>>,
}

impl<'a> Words<'a> {
    /// Words for what a corpus has.
    pub fn of(corpus: &'a Corpus) -> Self {
        // A test holds that the file can be read.
        Self { corpus, of_views: toml::from_str(COLUMNS).unwrap_or_default() }
    }

    /// What a row of a table or view is.
    pub fn about(&self, name: &str) -> Option<&str> {
        let table = Facts::words(name).map(|(about, _)| about.trim());
        table.or_else(|| self.corpus.view(name).map(|view| view.header.title.as_str()))
    }

    /// What a column of a table or view means. Where nothing is said of a view's column, it means the same as the column of that
    /// name in what the view reads.
    pub fn column(&self, name: &str, column: &str) -> Option<&str> {
        if let Some((_, columns)) = Facts::words(name) {
            return columns.into_iter().find(|(of, _)| *of == column).map(|(_, words)| words.trim());
        }
        let said = |section: &str| self.of_views.get(section)?.get(column).map(String::as_str);
        if let Some(words) = said(name).or_else(|| said(ANY)) {
            return Some(words);
        }
        // Views read only what stands before them, so that this ends.
        self.corpus.view(name)?.query.reads.iter().find_map(|read| self.column(read, column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Engine, Overrides};

    #[test]
    fn no_column_of_a_table_or_view_lacks_words() {
        let corpus = Corpus::embedded().unwrap();
        let words = Words::of(&corpus);
        let readable = Engine::new(corpus.clone(), &Overrides::new()).unwrap().readable().unwrap();
        assert!(readable.len() > 40);
        let mut lacking = Vec::new();
        for (name, schema) in &readable {
            assert!(words.about(name).is_some_and(|about| !about.is_empty()), "{name}");
            let columns = schema.fields().iter().map(|field| field.name());
            let without = columns.filter(|column| words.column(name, column).is_none_or(str::is_empty));
            lacking.extend(without.map(|column| format!("{name}.{column}")));
        }
        assert_eq!(lacking, [] as [String; 0], "say in queries/columns.toml what these are");
    }

    #[test]
    fn words_are_about_columns_that_there_are() {
        let corpus = Corpus::embedded().unwrap();
        let words = Words::of(&corpus);
        let readable = Engine::new(corpus.clone(), &Overrides::new()).unwrap().readable().unwrap();
        let has = |view: &str, column: &str| {
            let schema = readable.iter().find(|(name, _)| name == view).map(|(_, schema)| schema);
            schema.is_some_and(|schema| schema.field_with_name(column).is_ok())
        };
        let unused: Vec<String> = words
            .of_views
            .iter()
            .flat_map(|(view, columns)| columns.keys().map(move |column| (view, column)))
            .filter(|(view, column)| match view.as_str() {
                ANY => !corpus.views.iter().any(|view| has(&view.name, column)),
                view => corpus.view(view).is_none() || !has(view, column),
            })
            .map(|(view, column)| format!("{view}.{column}"))
            .collect();
        assert_eq!(unused, [] as [String; 0]);
    }

    #[test]
    fn closed_sets_are_told_with_their_values() {
        let corpus = Corpus::embedded().unwrap();
        let words = Words::of(&corpus);
        let told = |name: &str, column: &str, values: &[&str]| {
            let said = words.column(name, column).unwrap();
            assert!(values.iter().all(|value| said.contains(&format!("`{value}`"))), "{name}.{column}: {said}");
        };
        told("exchanges", "observer", &["client", "server", "gateway", "receiver"]);
        told(
            "calls",
            "outcome",
            &["ok", "transport", "rate-limited", "capability", "auth", "not-found", "agent-error"],
        );
        told("task_statements", "state", &["submitted", "input-required", "completed", "rejected", "unknown"]);
        told("deliveries", "failure_class", &["auth", "transport", "client-error", "server-error"]);
        told("task_ends", "speaker", &["client", "server"]);
        assert_eq!(words.column("exchanges", "nothing"), None);
    }
}
