//! Evaluation of a corpus over fact batches, in batch: every query once, in the order of dependency.
//!
//! In: the corpus, params, batches. Out: findings, failures, generations. One query's failure never stops another.
//! Holds no judgement and reads no clock, but to stop a query that takes too long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::corpus::{Corpus, Rule, View};
use super::outcome::Outcome;
use super::params::Params;
use super::plan::{self, QueryError, Ran};
use super::problem::{listed, near};
use super::query::Query;
use super::{generations, stack};
use crate::findings::{Finding, Generation, RuleFailure};

/// Param values from outside, by rule or view, then by param.
pub type Overrides = BTreeMap<String, Params>;

/// What a query may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time a query may take.
    pub time: Duration,
    /// Bytes that the operators of all running queries may hold, and that each result may have.
    pub memory: usize,
    /// Partitions of a query.
    pub partitions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let memory = usize::try_from(4_u64 << 30).unwrap_or(usize::MAX);
        Self { time: Duration::from_secs(120), memory, partitions: 2 }
    }
}

/// Why an engine could not be made or run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A name of a rule or view that is not in the corpus.
    #[error("no rule or view `{name}`{near}; there are {valid}")]
    UnknownName {
        /// The name.
        name: String,
        /// The one that may be meant, as words.
        near: String,
        /// Names that are.
        valid: String,
    },
    /// A param that the rule or view does not have.
    #[error("`{query}` has no param `{param}`{near}; it has {}", if valid.is_empty() { "none" } else { valid.as_str() })]
    UnknownParam {
        /// Rule or view.
        query: String,
        /// The param.
        param: String,
        /// The one that may be meant, as words.
        near: String,
        /// Params that it has.
        valid: String,
    },
    /// A param value of another kind than its default.
    #[error("param `{param}` of `{query}` is {expected}, which `{value}` is not")]
    ParamKind {
        /// Rule or view.
        query: String,
        /// The param.
        param: String,
        /// Kind of the default.
        expected: &'static str,
        /// What was given.
        value: String,
    },
    /// The system gave no threads.
    #[error("cannot start the rule engine's threads")]
    Threads(#[source] std::io::Error),
    /// The tables could not be set up.
    #[error("cannot set up the tables")]
    Tables(#[source] Box<DataFusionError>),
}

impl EngineError {
    fn unknown<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self::UnknownName { name: name.to_owned(), near: near(name, names.clone()), valid: listed(names) }
    }

    /// The rule or view that it is about.
    pub fn query(&self) -> Option<&str> {
        match self {
            Self::UnknownName { name: query, .. }
            | Self::UnknownParam { query, .. }
            | Self::ParamKind { query, .. } => Some(query),
            Self::Threads(_) | Self::Tables(_) => None,
        }
    }
}

/// The rows of a stored view or of a rule.
#[derive(Debug, Clone)]
pub struct Rows {
    /// View or rule.
    pub name: String,
    /// Its rows.
    pub batch: RecordBatch,
}

/// What came out.
#[derive(Debug, Default)]
pub struct Evaluation {
    /// Findings of all instants, by rule and id; [`super::select`] picks those that fire.
    pub findings: Vec<Finding>,
    /// What failed.
    pub failures: Vec<RuleFailure>,
    /// Generations of cards, if the corpus has the view `card_generations`.
    pub generations: Vec<Generation>,
    /// Rows of stored views, in the order of evaluation.
    pub views: Vec<Rows>,
    /// How long each stored view and rule took: planning, unless that was done before, and running.
    pub elapsed: BTreeMap<String, Duration>,
    /// Rows that the operators of each stored view and rule looked at: what it costs, on whatever machine.
    pub work: BTreeMap<String, usize>,
}

/// A corpus with its params, ready to be evaluated any number of times.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(super) corpus: Arc<Corpus>,
    /// Params of every rule and view, overrides included.
    pub(super) params: Arc<BTreeMap<String, Params>>,
    /// Rules whose findings are wanted; all when none.
    only: Option<BTreeSet<String>>,
    pub(super) limits: Limits,
}

impl Engine {
    /// An engine for a corpus.
    ///
    /// # Errors
    /// When an override names no rule, view or param, or has a value of another kind.
    pub fn new(corpus: Corpus, overrides: &Overrides) -> Result<Self, EngineError> {
        let defaults = corpus.views.iter().map(|view| (view.name.clone(), view.header.params.clone()));
        let defaults = defaults.chain(corpus.rules.iter().map(|rule| (rule.id.clone(), rule.header.params.clone())));
        let mut params: BTreeMap<String, Params> = defaults.collect();
        for (query, values) in overrides {
            let unknown = EngineError::unknown(query, params.keys().map(String::as_str));
            let known = params.get_mut(query).ok_or(unknown)?;
            for (param, value) in values {
                let (near, valid) = (near(param, known.keys().map(String::as_str)), listed(known.keys()));
                let (query, param) = (query.clone(), param.clone());
                let Some(default) = known.get_mut(&param) else {
                    return Err(EngineError::UnknownParam { query, param, near, valid });
                };
                let (expected, given) = (default.kind(), value.to_string());
                let fitting = value.in_kind_of(default);
                *default = fitting.ok_or(EngineError::ParamKind { query, param, expected, value: given })?;
            }
        }
        Ok(Self { corpus: Arc::new(corpus), params: Arc::new(params), only: None, limits: Limits::default() })
    }

    /// This engine for some rules only, and the views and rules that they read.
    ///
    /// # Errors
    /// When a name is no rule.
    pub fn only<S: AsRef<str>>(mut self, rules: &[S]) -> Result<Self, EngineError> {
        for name in rules {
            if self.corpus.rule(name.as_ref()).is_none() {
                return Err(EngineError::unknown(name.as_ref(), self.corpus.rules.iter().map(|rule| rule.id.as_str())));
            }
        }
        self.only = Some(rules.iter().map(|name| name.as_ref().to_owned()).collect());
        Ok(self)
    }

    /// This engine with other limits.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The corpus.
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Whether a rule's findings are wanted.
    pub(crate) fn wants(&self, rule: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(rule))
    }

    /// Evaluates the corpus over batches of facts, one or more a table.
    ///
    /// # Errors
    /// When the system gives no threads or the tables cannot be set up; a query's failure is in the result.
    pub async fn evaluate(&self, batches: Vec<(&'static str, RecordBatch)>) -> Result<Evaluation, EngineError> {
        let engine = self.clone();
        stack::deep_async(move || async move { Run::new(engine, batches)?.evaluate().await })
            .await
            .map_err(EngineError::Threads)?
    }

    /// Rules and views that the wanted rules rest on, themselves included.
    pub(super) fn needed(&self) -> BTreeSet<String> {
        let wanted = |rule: &&Rule| self.wants(&rule.id);
        let mut needed: BTreeSet<String> = self.corpus.rules.iter().filter(wanted).map(|r| r.id.clone()).collect();
        needed.insert(generations::VIEW.to_owned());
        let rules = self.corpus.rules.iter().map(|rule| (&rule.id, &rule.query));
        let views = self.corpus.views.iter().map(|view| (&view.name, &view.query));
        // Readers come after what they read, so that one walk from the end finds all.
        for (name, query) in rules.rev().chain(views.rev()) {
            if needed.contains(name) {
                needed.extend(query.reads.iter().cloned());
            }
        }
        needed
    }
}

/// A rule or a view.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Inline(&'a View),
    Stored(&'a View),
    Rule(&'a Rule),
}

impl<'a> Step<'a> {
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::Inline(view) | Self::Stored(view) => &view.name,
            Self::Rule(rule) => &rule.id,
        }
    }

    pub(super) fn query(self) -> &'a Query {
        match self {
            Self::Inline(view) | Self::Stored(view) => &view.query,
            Self::Rule(rule) => &rule.query,
        }
    }
}

/// One evaluation.
struct Run {
    engine: Engine,
    facts: Vec<(&'static str, RecordBatch)>,
    ctx: SessionContext,
    outcome: Outcome,
}

impl Run {
    fn new(engine: Engine, facts: Vec<(&'static str, RecordBatch)>) -> Result<Self, EngineError> {
        let tables = |error: DataFusionError| EngineError::Tables(Box::new(error));
        let ctx = plan::session(engine.limits.partitions, engine.limits.memory).map_err(tables)?;
        for (name, schema) in crate::tables::Facts::schemas() {
            let batches = facts.iter().filter(|(table, _)| *table == name).map(|(_, batch)| batch.clone()).collect();
            plan::add_table(&ctx, name, schema, batches).map_err(tables)?;
        }
        Ok(Self { engine, facts, ctx, outcome: Outcome::default() })
    }

    async fn evaluate(mut self) -> Result<Evaluation, EngineError> {
        let corpus = Arc::clone(&self.engine.corpus);
        for level in levels(&corpus, &self.engine.needed()) {
            self.run_level(&level).await;
        }
        Ok(self.outcome.judged(&self.engine, self.facts))
    }

    /// Runs queries that do not read each other, side by side.
    async fn run_level(&mut self, level: &[Step<'_>]) {
        let slots = Arc::new(Semaphore::new(stack::workers()));
        let mut running = JoinSet::new();
        let mut names = BTreeMap::new();
        for &step in level {
            let name = step.name().to_owned();
            if let Some(input) = step.query().reads.iter().find(|read| self.outcome.failed.contains_key(*read)) {
                let message = format!("`{input}`, which it reads, failed");
                self.outcome.failed.insert(name, message);
                continue;
            }
            let params = self.engine.params.get(&name).cloned().unwrap_or_default();
            if let Step::Inline(view) = step {
                if let Err(error) = self.add_inline(view, &params).await {
                    self.outcome.failed.insert(name, error.to_string());
                }
                continue;
            }
            let (ctx, query, limits) = (self.ctx.clone(), step.query().clone(), self.engine.limits);
            let slots = Arc::clone(&slots);
            let task = running.spawn(async move {
                let _slot = slots.acquire_owned().await;
                let started = Instant::now();
                let run = run(&ctx, &query, &params, limits.memory);
                let late = |_| QueryError::plain(&query, format!("stopped after {} s", limits.time.as_secs()));
                let ran = tokio::time::timeout(limits.time, run).await.map_err(late).flatten()?;
                Ok::<_, QueryError>(Ran { took: started.elapsed(), ..ran })
            });
            names.insert(task.id(), name);
        }
        while let Some(ended) = running.join_next_with_id().await {
            let (id, result) = match ended {
                Ok((id, result)) => (id, result.map_err(|error| error.to_string())),
                Err(error) => (error.id(), Err("the engine panicked".to_owned())),
            };
            if let Some(name) = names.remove(&id) {
                let result = result.and_then(|ran| self.add_rows(&name, &ran.rows).map(|()| ran));
                self.outcome.keep(name, result);
            }
        }
    }

    async fn add_inline(&self, view: &View, params: &Params) -> Result<(), QueryError> {
        let plan = plan::plan(&self.ctx, &view.query, params).await?;
        plan::add_inline(&self.ctx, &view.name, plan).map_err(|error| QueryError::new(&view.query, &error))
    }

    /// Makes a result readable for the queries after it.
    fn add_rows(&self, name: &str, rows: &RecordBatch) -> Result<(), String> {
        let added = plan::add_table(&self.ctx, name, rows.schema(), vec![rows.clone()]);
        added.map_err(|error| error.strip_backtrace())
    }
}

/// Queries in groups whose members do not read each other, each group after those it reads.
pub(super) fn levels<'a>(corpus: &'a Corpus, needed: &BTreeSet<String>) -> Vec<Vec<Step<'a>>> {
    let views = corpus.views.iter().map(|view| if view.is_stored() { Step::Stored(view) } else { Step::Inline(view) });
    let mut depth: BTreeMap<&str, usize> = BTreeMap::new();
    let mut levels: Vec<Vec<Step<'a>>> = Vec::new();
    for step in views.chain(corpus.rules.iter().map(Step::Rule)).filter(|step| needed.contains(step.name())) {
        let level = step.query().reads.iter().filter_map(|read| depth.get(read.as_str())).map(|d| d + 1).max();
        let level = level.unwrap_or(0);
        depth.insert(step.name(), level);
        if levels.len() <= level {
            levels.resize_with(level + 1, Vec::new);
        }
        levels[level].push(step);
    }
    levels
}

/// Plans and runs a query, and gives its rows as one batch.
async fn run(ctx: &SessionContext, query: &Query, params: &Params, memory: usize) -> Result<Ran, QueryError> {
    let fail = |error: DataFusionError| QueryError::new(query, &error);
    let plan = plan::plan(ctx, query, params).await?;
    let (_, operators) = plan::operators(ctx, &plan).await.map_err(fail)?;
    plan::collect(operators, ctx.task_ctx(), query, memory).await
}
