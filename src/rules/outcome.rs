//! What became of the queries of one evaluation, and the findings that it comes to.
//!
//! In: rows and failures by query. Out: an [`Evaluation`]. Runs nothing, and does not know how the rows came about.

use std::collections::BTreeMap;
use std::time::Duration;

use arrow::array::RecordBatch;

use super::corpus::Rule;
use super::evaluate::{Engine, Evaluation, Rows};
use super::evidence::FactIndex;
use super::plan::Ran;
use super::{generations, rows};
use crate::findings::RuleFailure;

/// What became of the stored views and rules so far.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Rows of stored views and rules.
    pub(super) results: BTreeMap<String, RecordBatch>,
    /// Queries that failed, and why.
    pub(super) failed: BTreeMap<String, String>,
    /// What each query took.
    elapsed: BTreeMap<String, Duration>,
    /// Rows that each looked at.
    work: BTreeMap<String, usize>,
}

impl Outcome {
    /// Takes note of what became of a query.
    pub(super) fn keep(&mut self, name: String, result: Result<Ran, String>) {
        match result {
            Ok(ran) => {
                self.elapsed.insert(name.clone(), ran.took);
                self.work.insert(name.clone(), ran.work);
                self.results.insert(name, ran.rows);
            }
            Err(message) => {
                self.failed.insert(name, message);
            }
        }
    }

    /// The findings of an engine's rules, with the facts that they name.
    pub(super) fn judged(mut self, engine: &Engine, facts: Vec<(&'static str, RecordBatch)>) -> Evaluation {
        let mut evaluation = Evaluation { elapsed: self.elapsed, work: self.work, ..Evaluation::default() };
        let corpus = engine.corpus();
        let judged: Vec<(&Rule, RecordBatch)> = corpus
            .rules
            .iter()
            .filter(|rule| engine.wants(&rule.id))
            .filter_map(|rule| Some((rule, self.results.remove(&rule.id)?)))
            .collect();
        let facts = FactIndex::over(facts, judged.iter().map(|(_, batch)| batch));
        let failure = |rule: &str, message: String| RuleFailure { rule: rule.to_owned(), message };
        for (rule, batch) in &judged {
            let judged = rows::findings(rule, batch, &facts);
            evaluation.findings.extend(judged.findings);
            evaluation.failures.extend(judged.failures.into_iter().map(|message| failure(&rule.id, message)));
        }
        if let Some(batch) = self.results.get(generations::VIEW) {
            evaluation.generations = generations::read(batch);
        }
        for view in corpus.views.iter().filter(|view| view.is_stored()) {
            let rows = self.results.remove(&view.name);
            evaluation.views.extend(rows.map(|batch| Rows { name: view.name.clone(), batch }));
        }
        evaluation.failures.extend(self.failed.into_iter().map(|(rule, message)| failure(&rule, message)));
        evaluation
    }
}
