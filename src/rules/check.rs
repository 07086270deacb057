//! The checks of a corpus beyond loading: headers, SQL subset, columns, and whether queries can be evaluated key by key.
//!
//! In: a corpus. Out: every problem, by file and line. Plans over empty tables; reads no facts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;

use super::columns::{self, Schemas};
use super::corpus::{Corpus, Rule, View};
use super::header::Mark;
use super::params::Params;
use super::plan::{self, QueryError};
use super::problem::{Problem, listed};
use super::query::Query;
use super::{reach, shape, stack, subset, typed};
use crate::tables::Facts;

/// Everything that is wrong with a corpus, in the order of files and lines.
pub fn check(corpus: &Corpus) -> Vec<Problem> {
    let checked = stack::deep(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let check = Check::new(corpus).map_err(std::io::Error::other)?;
        Ok::<_, std::io::Error>(runtime.block_on(check.run()))
    });
    match checked.and_then(|checked| checked) {
        Ok(problems) => problems.into_iter().collect(),
        Err(error) => vec![Problem::at(Path::new("queries"), (1, 1), format!("cannot be checked: {error}"))],
    }
}

/// A query under check.
struct Subject<'a> {
    name: &'a str,
    path: &'a Path,
    query: &'a Query,
    params: &'a Params,
    by: &'a [String],
}

impl<'a> Subject<'a> {
    fn of_view(view: &'a View) -> Self {
        let by = view.header.by.as_deref().unwrap_or_default();
        Self { name: &view.name, path: &view.path, query: &view.query, params: &view.header.params, by }
    }

    fn of_rule(rule: &'a Rule) -> Self {
        let header = &rule.header;
        Self { name: &rule.id, path: &rule.path, query: &rule.query, params: &header.params, by: &header.by }
    }
}

struct Check<'a> {
    corpus: &'a Corpus,
    /// Tables of facts, empty.
    tables: Schemas,
    /// All that can be read so far.
    schemas: Schemas,
    /// Where inline views are text, as in evaluation.
    inlined: SessionContext,
    /// Where they are tables, so that each is checked once, in its own file.
    apart: SessionContext,
    problems: BTreeSet<Problem>,
}

impl<'a> Check<'a> {
    fn new(corpus: &'a Corpus) -> Result<Self, datafusion::error::DataFusionError> {
        let session = || plan::session(1, 1 << 30);
        let (inlined, apart) = (session()?, session()?);
        let tables: Schemas = Facts::schemas().into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        for (name, schema) in &tables {
            for ctx in [&inlined, &apart] {
                plan::add_table(ctx, name, Arc::clone(schema), Vec::new())?;
            }
        }
        Ok(Self { corpus, schemas: tables.clone(), tables, inlined, apart, problems: BTreeSet::new() })
    }

    async fn run(mut self) -> BTreeSet<Problem> {
        for view in &self.corpus.views {
            let subject = Subject::of_view(view);
            if let Some((schema, plan)) = self.query(&subject).await {
                self.problems.extend(columns::view_output(view, &schema));
                self.keep(&subject, schema, (!view.is_stored()).then_some(plan));
            }
            self.marks(&subject, &view.header.marks, view.source.key_place("marks"));
        }
        for rule in &self.corpus.rules {
            self.problems.extend(columns::rule_header(rule, &self.tables));
            let subject = Subject::of_rule(rule);
            if let Some((schema, _)) = self.query(&subject).await {
                self.problems.extend(columns::rule_output(rule, &schema));
                self.keep(&subject, schema, None);
            }
            self.marks(&subject, &rule.header.marks, rule.source.key_place("marks"));
        }
        self.problems
    }

    fn add(&mut self, subject: &Subject<'_>, place: (usize, usize), message: impl Into<String>) {
        self.problems.insert(Problem::at(subject.path, place, message));
    }

    /// Checks the SQL of a query; its schema and plan, if it has one.
    async fn query(&mut self, subject: &Subject<'_>) -> Option<(SchemaRef, LogicalPlan)> {
        let outside = subset::problems(subject.query, subject.params);
        // What an engine here makes of a text that is refused anyway would only say it again in other words.
        let is_inside = outside.is_empty();
        for (place, message) in outside {
            self.add(subject, place, message);
        }
        if subject.query.reads.iter().any(|read| !self.schemas.contains_key(read)) {
            // What it reads has no plan, and was told so.
            return None;
        }
        match self.plan(subject, is_inside).await {
            Ok(planned) => Some(planned),
            Err(error) => {
                if is_inside {
                    self.add(subject, error.place, error.message);
                }
                None
            }
        }
    }

    /// Plans a query down to the operators that would run it, and checks types and shape on the way.
    async fn plan(&mut self, subject: &Subject<'_>, is_inside: bool) -> Result<(SchemaRef, LogicalPlan), QueryError> {
        let apart = plan::plan(&self.apart, subject.query, subject.params).await?;
        for (place, message) in typed::problems(subject.query, &apart).into_iter().filter(|_| is_inside) {
            self.add(subject, place, message);
        }
        let plan = plan::plan(&self.inlined, subject.query, subject.params).await?;
        let planned = plan::operators(&self.inlined, &plan).await;
        let (optimised, operators) = planned.map_err(|error| QueryError::new(subject.query, &error))?;
        if is_inside {
            self.shape(subject, &optimised);
        }
        Ok((plan::read_schema(&operators.schema()), plan))
    }

    fn shape(&mut self, subject: &Subject<'_>, optimised: &LogicalPlan) {
        let here = (subject.query.line, 1);
        let mut is_cut = subject.by.is_empty();
        for by in subject.by {
            match shape::check(optimised, by) {
                Ok(carried) => is_cut |= carried,
                Err(message) => {
                    is_cut = true;
                    self.add(subject, here, message);
                }
            }
        }
        if !is_cut {
            self.add(subject, here, format!("no input has any of the `by` columns {}", listed(subject.by)));
        }
    }

    /// Makes a query readable for the queries after it.
    fn keep(&mut self, subject: &Subject<'_>, schema: SchemaRef, inline: Option<LogicalPlan>) {
        let inlined = match inline {
            Some(plan) => plan::add_inline(&self.inlined, subject.name, plan),
            None => plan::add_table(&self.inlined, subject.name, Arc::clone(&schema), Vec::new()),
        };
        let apart = plan::add_table(&self.apart, subject.name, Arc::clone(&schema), Vec::new());
        match inlined.and(apart) {
            Ok(()) => {
                self.schemas.insert(subject.name.to_owned(), schema);
            }
            Err(error) => self.add(subject, (subject.query.line, 1), error.strip_backtrace()),
        }
    }

    /// What is wrong with the marks of a query: they name inputs and columns that are there, and leave no change open.
    fn marks(&mut self, subject: &Subject<'_>, marks: &BTreeMap<String, Mark>, place: (usize, usize)) {
        let (names, _) = self.corpus.inputs(subject.query);
        let known = names.into_iter().filter_map(|name| Some((name.to_owned(), Arc::clone(self.schemas.get(name)?))));
        let inputs: Schemas = known.collect();
        let mut messages = columns::marks(marks, &inputs);
        if messages.is_empty() && !subject.by.is_empty() {
            messages = reach::readings(subject.by, marks, &inputs, |name| self.corpus.is_of_a_body(name)).1;
        }
        for message in messages {
            self.add(subject, place, message);
        }
    }
}
