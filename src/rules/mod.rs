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

/// Findings as of an instant.
pub fn select(findings: Vec<Finding>, _as_of: Option<Instant>) -> Vec<Finding> {
    findings
}

/// A failure.
#[derive(Debug)]
pub struct Failure {
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
    pub failures: Vec<Failure>,
    /// Generations.
    pub generations: Vec<Generation>,
}

/// The engine.
#[derive(Debug)]
pub struct Engine {}

impl Engine {
    /// Of a corpus.
    pub fn new(_corpus: Corpus) -> Self {
        Self {}
    }
    /// Evaluates.
    pub async fn evaluate(&self, _batches: Vec<(&'static str, RecordBatch)>) -> std::io::Result<Evaluation> {
        Ok(Evaluation::default())
    }
}
