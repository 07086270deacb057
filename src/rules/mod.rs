//! The rule corpus: read, checked, planned and evaluated over fact batches.
//!
//! In: SQL files and Arrow batches. Out: findings and coverage. All judgement is in the SQL; none is here.
// PLACEHOLDER until the stage is merged.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

use crate::findings::{Finding, Generation, RuleCoverage, Severity};
use crate::instant::Instant;

/// Rules.
#[derive(Debug, Default)]
pub struct Corpus {
    /// Rules.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Id.
    pub id: String,
    /// Category.
    pub category: String,
    /// File.
    pub path: PathBuf,
    /// Header.
    pub header: RuleHeader,
    /// Query.
    pub query: Query,
}

/// Header.
#[derive(Debug)]
pub struct RuleHeader {
    /// Title.
    pub title: String,
    /// Severity.
    pub severity: Severity,
}

/// Query.
#[derive(Debug)]
pub struct Query {
    /// Text.
    pub text: String,
}

/// A problem.
#[derive(Debug)]
pub struct Problem {}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("problem")
    }
}

/// Why there is no corpus.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// Problems.
    #[error("invalid")]
    Invalid(Vec<Problem>),
    /// Unreadable.
    #[error("cannot read {path}")]
    Read {
        /// Path.
        path: PathBuf,
    },
}

impl Corpus {
    /// The built-in one.
    pub fn embedded() -> Result<Self, CorpusError> {
        Ok(Self::default())
    }
    /// A folder.
    pub fn from_dir(dir: &Path) -> Result<Self, CorpusError> {
        if dir.is_dir() { Ok(Self::default()) } else { Err(CorpusError::Read { path: dir.to_owned() }) }
    }
    /// By id.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }
}

/// Problems.
pub fn check(_corpus: &Corpus) -> Vec<Problem> {
    Vec::new()
}

/// Coverage.
pub fn coverage(_corpus: &Corpus, _batches: &[(&'static str, RecordBatch)]) -> Vec<RuleCoverage> {
    Vec::new()
}

/// Param value.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum Param {
    /// A truth value.
    Flag(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Number(f64),
    /// Text.
    Text(String),
}

/// Values by param name.
pub type Params = std::collections::BTreeMap<String, Param>;
/// By rule or view.
pub type Overrides = std::collections::BTreeMap<String, Params>;

/// When findings are looked at.
#[derive(Debug)]
pub enum AsOf {
    /// The same for all.
    Fixed(Instant),
    /// Placeholder.
    LastFactPerAgent,
}

impl AsOf {
    /// For each agent its last fact.
    pub fn last_fact(_batches: &[(&'static str, RecordBatch)]) -> Self {
        Self::LastFactPerAgent
    }
}

/// Findings as of an instant.
pub fn select(findings: Vec<Finding>, _as_of: &AsOf) -> Vec<Finding> {
    findings
}

/// A failure.
#[derive(Debug)]
pub struct RuleFailure {
    /// Rule.
    pub rule: String,
    /// What.
    pub message: String,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Evaluation {
    /// Findings.
    pub findings: Vec<Finding>,
    /// Failures.
    pub failures: Vec<RuleFailure>,
    /// Generations.
    pub generations: Vec<Generation>,
}

/// The engine.
#[derive(Debug)]
pub struct Engine {
    corpus: Corpus,
}

impl Engine {
    /// Of a corpus.
    ///
    /// # Errors
    /// Never.
    pub fn new(corpus: Corpus, _overrides: &Overrides) -> std::io::Result<Self> {
        Ok(Self { corpus })
    }
    /// Some rules.
    ///
    /// # Errors
    /// Never.
    pub fn only<S: AsRef<str>>(self, _rules: &[S]) -> std::io::Result<Self> {
        Ok(self)
    }
    /// The corpus.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }
    /// Evaluates.
    ///
    /// # Errors
    /// Never.
    pub async fn evaluate(&self, _batches: Vec<(&'static str, RecordBatch)>) -> std::io::Result<Evaluation> {
        Ok(Evaluation::default())
    }
}
