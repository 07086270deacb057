//! Pages made of the corpus, so that what is written about a rule is written once, in its file.
//!
//! In: rules and views. Out: Markdown for repositories ([`readme`], [`table`]), pages for browsers ([`runbooks`]), text for
//! terminals ([`list`], [`show`]) and alerts for Prometheus ([`mod@alerts`]).
//! Needs no edit for a new rule; evaluates nothing.

mod about;
mod alerts;
mod html;
mod markdown;
mod terminal;

pub use alerts::{alert_name, alerts};
pub use html::{runbooks, service_runbooks};
pub use markdown::{readme, table};
pub use terminal::{list, show};

use super::corpus::{Corpus, Rule};

/// The page that [`readme`] makes, for those who stand in the root of the repository.
const PAGE: &str = "queries/README.md";

/// Where a rule's runbook is. The heading there is the id alone, of which GitHub makes the anchor.
pub(super) fn link(id: &str) -> String {
    format!("{PAGE}#{id}")
}

/// Rules by category, then id.
fn by_category(corpus: &Corpus) -> Vec<&Rule> {
    let mut rules: Vec<&Rule> = corpus.rules.iter().collect();
    rules.sort_by_key(|rule| (&rule.category, &rule.id));
    rules
}
