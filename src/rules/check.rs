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
use super::params::{Param, Params};
use super::plan::{self, QueryError};
use super::problem::{Problem, listed};
use super::query::Query;
use super::subset::{self, Outside};
use super::{anchor, literals, reach, shape, stack, typed};
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
    /// Where the header gives them.
    params_at: (usize, usize),
    by: &'a [String],
}

impl<'a> Subject<'a> {
    fn of_view(view: &'a View) -> Self {
        let by = view.header.by.as_deref().unwrap_or_default();
        let params_at = view.source.key_place("params");
        Self { name: &view.name, path: &view.path, query: &view.query, params: &view.header.params, params_at, by }
    }

    fn of_rule(rule: &'a Rule) -> Self {
        let header = &rule.header;
        let (params, params_at) = (&header.params, rule.source.key_place("params"));
        Self { name: &rule.id, path: &rule.path, query: &rule.query, params, params_at, by: &header.by }
    }
}

/// What a query is planned as.
struct Planned {
    schema: SchemaRef,
    /// As it is written.
    written: LogicalPlan,
    optimised: LogicalPlan,
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
            if !view.is_whole {
                self.as_far_as_it_goes(&subject).await;
                continue;
            }
            let planned = self.query(&subject).await;
            self.marks(&subject, planned.as_ref(), &view.header.marks, view.source.key_place("marks"));
            if let Some(Planned { schema, written, .. }) = planned {
                self.problems.extend(columns::view_output(view, &schema));
                self.keep(&subject, schema, (!view.is_stored()).then_some(written));
            }
        }
        for rule in &self.corpus.rules {
            let subject = Subject::of_rule(rule);
            if !rule.is_whole {
                self.as_far_as_it_goes(&subject).await;
                continue;
            }
            self.problems.extend(columns::rule_header(rule, &self.tables));
            for (place, message) in literals::problems(&rule.query, rule.header.severity) {
                self.add(&subject, place, message);
            }
            let planned = self.query(&subject).await;
            self.marks(&subject, planned.as_ref(), &rule.header.marks, rule.source.key_place("marks"));
            if let Some(Planned { schema, .. }) = planned {
                self.problems.extend(columns::rule_output(rule, &schema));
                self.keep(&subject, schema, None);
            }
        }
        self.problems
    }

    /// The query alone, where the header is not as it must be and was told so.
    async fn as_far_as_it_goes(&mut self, subject: &Subject<'_>) {
        let alone = Subject { by: &[], ..*subject };
        if let Some(Planned { schema, .. }) = self.query(&alone).await {
            self.keep(&alone, schema, None);
        }
    }

    fn add(&mut self, subject: &Subject<'_>, place: (usize, usize), message: impl Into<String>) {
        self.problems.insert(Problem::at(subject.path, place, message));
    }

    /// Checks the SQL of a query; what it is planned as, if it can be.
    async fn query(&mut self, subject: &Subject<'_>) -> Option<Planned> {
        let Outside { problems, is_of_params } = subset::problems(subject.query, subject.params);
        for (place, message) in &problems {
            self.add(subject, *place, message.as_str());
        }
        // What an engine here makes of a text that is refused anyway would only say it again in other words. Params that are
        // told to be wrong are left out, so that what else is wrong is told in the same turn.
        let (is_inside, has_values) = (is_of_params, problems.is_empty());
        if !self.can_read(subject) {
            return None;
        }
        match self.plan(subject, subject.params, is_inside, has_values).await {
            Ok(planned) => Some(planned),
            Err(error) if is_inside => {
                let (planned, misfits) = self.misfits(subject, subject.params).await;
                if misfits.is_empty() {
                    self.add(subject, error.place, error.message);
                }
                for message in misfits {
                    self.add(subject, subject.params_at, message);
                }
                planned
            }
            Err(_) => None,
        }
    }

    /// Whether all that a query reads has a plan; what has none was told so.
    fn can_read(&self, subject: &Subject<'_>) -> bool {
        subject.query.reads.iter().all(|read| self.schemas.contains_key(read))
    }

    /// Plans a query down to the operators that would run it, and checks types and shape on the way.
    async fn plan(
        &mut self,
        subject: &Subject<'_>,
        params: &Params,
        is_inside: bool,
        has_values: bool,
    ) -> Result<Planned, QueryError> {
        let apart = plan::plan_leniently(&self.apart, subject.query, params).await?;
        // What has no value is told elsewhere, not by its lack of a type.
        let problems = typed::problems(subject.query, &apart, has_values);
        for (place, message) in problems.into_iter().filter(|_| is_inside) {
            self.add(subject, place, message);
        }
        let written = plan::plan_leniently(&self.inlined, subject.query, params).await?;
        let planned = plan::operators(&self.inlined, &written).await;
        let (optimised, operators) = planned.map_err(|error| QueryError::new(subject.query, &error))?;
        // A comparison with a value that is left out is never true, and the optimiser leaves nothing of the query.
        if is_inside && has_values {
            self.shape(subject, &optimised);
        }
        Ok(Planned { schema: plan::read_schema(&operators.schema()), written, optimised })
    }

    /// Params whose values are of a type that does not fit where they stand, each with what would; and the plan without their
    /// values, if they are all that is wrong.
    async fn misfits(&mut self, subject: &Subject<'_>, params: &Params) -> (Option<Planned>, Vec<String>) {
        let Ok(planned) = self.plan(subject, &Params::new(), true, false).await else { return (None, Vec::new()) };
        let mut found = Vec::new();
        for (name, value) in params {
            let Err(error) = self.alone(subject, name, value.clone()).await else { continue };
            let mut fitting = Vec::new();
            for (kind, sample) in Param::samples() {
                if self.alone(subject, name, sample).await.is_ok() {
                    fitting.push(kind);
                }
            }
            let instead = if fitting.is_empty() { String::new() } else { format!(": write {}", fitting.join(" or ")) };
            let (kind, engine) = (value.kind(), error.message);
            found.push(format!(
                "`{name} = {value}` is {kind}, which does not fit where `${name}` stands{instead} ({engine})"
            ));
        }
        (Some(planned), found)
    }

    /// Whether a query can be run with a value for one of its params, whatever the others are.
    async fn alone(&self, subject: &Subject<'_>, name: &str, value: Param) -> Result<(), QueryError> {
        let params = Params::from([(name.to_owned(), value)]);
        let plan = plan::plan_leniently(&self.inlined, subject.query, &params).await?;
        let planned = plan::operators(&self.inlined, &plan).await;
        planned.map(|_| ()).map_err(|error| QueryError::new(subject.query, &error))
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

    /// Makes a query readable for the queries after it. That two have one name is told where names are looked at.
    fn keep(&mut self, subject: &Subject<'_>, schema: SchemaRef, inline: Option<LogicalPlan>) {
        if self.schemas.contains_key(subject.name) {
            return;
        }
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
    fn marks(
        &mut self,
        subject: &Subject<'_>,
        planned: Option<&Planned>,
        marks: &BTreeMap<String, Mark>,
        place: (usize, usize),
    ) {
        if !self.can_read(subject) {
            return;
        }
        let (names, _) = self.corpus.inputs(subject.query);
        let known = names.into_iter().filter_map(|name| Some((name.to_owned(), Arc::clone(self.schemas.get(name)?))));
        let inputs: Schemas = known.collect();
        let mut messages = columns::marks(marks, &inputs);
        if let Some(planned) = planned.filter(|_| messages.is_empty() && !subject.by.is_empty()) {
            let bodies = anchor::bodies(&planned.optimised, self.corpus, &inputs);
            messages = reach::readings(subject.by, marks, &inputs, &bodies).1;
        }
        for message in messages {
            self.add(subject, place, message);
        }
    }
}
