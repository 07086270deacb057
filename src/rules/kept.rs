//! Queries that are planned once and run any number of times, each time over other rows.
//!
//! In: an engine; then, for each run, the rows of a query's inputs. Out: the query's rows. A run leaves nothing behind
//! that the next one would see. Finds no rows itself, and holds no judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::SessionContext;
use tokio::task::JoinSet;

use super::anchor;
use super::columns::Schemas;
use super::corpus::Corpus;
use super::evaluate::{self, Engine, EngineError, Step};
use super::params::Params;
use super::plan::{self, QueryError, Ran};
use super::query::Query;
use super::reach::{self, Reading};
use super::stack::{self, Threads};
use crate::tables::Facts;

/// Rows that an operator takes at once.
const ROWS: usize = 8192;

/// What a query is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A stored view.
    View,
    /// A rule.
    Rule,
}

/// A stored view or a rule, planned.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Its name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: Kind,
    /// Columns along which it is evaluated alone.
    pub(crate) by: Vec<String>,
    /// Its inputs, in the order in which a run takes their rows.
    pub(crate) readings: Vec<Reading>,
    /// Queries that do not read each other share a level, which is above those of what they read.
    pub(crate) level: usize,
    /// What it yields, or why it cannot be planned.
    pub(crate) schema: Result<SchemaRef, String>,
    plan: Option<Arc<Plan>>,
}

#[derive(Debug)]
struct Plan {
    query: Query,
    slots: Vec<Arc<Slot>>,
    operators: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
}

/// A table whose rows are those of the moment.
#[derive(Debug)]
struct Slot {
    schema: SchemaRef,
    rows: Mutex<Option<RecordBatch>>,
}

impl Slot {
    fn put(&self, rows: Option<RecordBatch>) {
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = rows;
    }
}

impl PartitionStream for Slot {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let parts = rows.into_iter().flat_map(|rows| {
            (0..rows.num_rows()).step_by(ROWS).map(move |at| Ok(rows.slice(at, ROWS.min(rows.num_rows() - at))))
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(parts)))
    }
}

/// All stored views and rules that an engine's rules need, planned, in the order of dependency.
#[derive(Debug)]
pub(crate) struct KeptPlans {
    queries: Vec<Kept>,
    threads: Threads,
    time: Duration,
    memory: usize,
}

impl Engine {
    /// Plans all queries once.
    ///
    /// # Errors
    /// When the system gives no threads or the tables cannot be set up; a query that cannot be planned says so itself.
    pub(crate) fn keep_plans(&self) -> Result<KeptPlans, EngineError> {
        let threads = Threads::start().map_err(EngineError::Threads)?;
        let queries = stack::deep(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(EngineError::Threads)?;
            runtime.block_on(self.plan_queries()).map_err(|error| EngineError::Tables(Box::new(error)))
        });
        let queries = queries.map_err(EngineError::Threads)??;
        Ok(KeptPlans { queries, threads, time: self.limits.time, memory: self.limits.memory })
    }

    async fn plan_queries(&self) -> Result<Vec<Kept>, DataFusionError> {
        let runtime = plan::runtime(self.limits.memory)?;
        let tables = Facts::schemas().into_iter().map(|(name, schema)| (name.to_owned(), schema));
        let mut planner = Planner {
            corpus: &self.corpus,
            params: &self.params,
            schemas: tables.collect(),
            runtime,
            queries: Vec::new(),
        };
        for (level, steps) in evaluate::levels(&self.corpus, &self.needed()).into_iter().enumerate() {
            for step in steps {
                planner.plan(step, level).await;
            }
        }
        Ok(planner.queries)
    }
}

struct Planner<'a> {
    corpus: &'a Corpus,
    params: &'a BTreeMap<String, Params>,
    /// What can be read so far.
    schemas: Schemas,
    runtime: Arc<RuntimeEnv>,
    queries: Vec<Kept>,
}

impl Planner<'_> {
    async fn plan(&mut self, step: Step<'_>, level: usize) {
        let (kind, by, marks) = match step {
            Step::Inline(_) => return,
            Step::Stored(view) => (Kind::View, view.header.by.clone().unwrap_or_default(), &view.header.marks),
            Step::Rule(rule) => (Kind::Rule, rule.header.by.clone(), &rule.header.marks),
        };
        let name = step.name().to_owned();
        let (readings, planned) = match self.inputs(step.query()) {
            Ok(inputs) => {
                let planned = self.operators(&name, step.query(), &inputs).await.map_err(|error| error.to_string());
                let bodies = match &planned {
                    Ok((optimised, _)) => anchor::bodies(optimised, self.corpus, &inputs),
                    Err(_) => BTreeSet::new(),
                };
                // What the header leaves open reaches everything.
                let (readings, _) = reach::readings(&by, marks, &inputs, &bodies);
                (readings, planned.map(|(_, plan)| plan))
            }
            Err(missing) => (Vec::new(), Err(format!("`{missing}`, which it reads, failed"))),
        };
        let (schema, plan) = match planned {
            Ok(plan) => {
                let schema = plan::read_schema(&plan.operators.schema());
                self.schemas.insert(name.clone(), Arc::clone(&schema));
                (Ok(schema), Some(Arc::new(plan)))
            }
            Err(message) => (Err(message), None),
        };
        self.queries.push(Kept { name, kind, by, readings, level, schema, plan });
    }

    /// Schemas of what a query reads, or what of it is not there.
    fn inputs(&self, query: &Query) -> Result<Schemas, String> {
        let (names, _) = self.corpus.inputs(query);
        let schema = |name: &str| self.schemas.get(name).cloned().ok_or_else(|| name.to_owned());
        names.into_iter().map(|name| Ok((name.to_owned(), schema(name)?))).collect()
    }

    async fn operators(&self, name: &str, query: &Query, inputs: &Schemas) -> Result<(LogicalPlan, Plan), QueryError> {
        let ctx = plan::session_in(1, Arc::clone(&self.runtime));
        let fail = |error: DataFusionError| QueryError::new(query, &error);
        let mut slots = Vec::new();
        for (input, schema) in inputs {
            let slot = Arc::new(Slot { schema: Arc::clone(schema), rows: Mutex::new(None) });
            slots.push(Arc::clone(&slot));
            let table = StreamingTable::try_new(Arc::clone(schema), vec![slot]).map_err(fail)?;
            ctx.register_table(input, Arc::new(table)).map_err(fail)?;
        }
        self.add_inline(&ctx, query).await?;
        let logical = plan::plan(&ctx, query, &self.params.get(name).cloned().unwrap_or_default()).await?;
        let (optimised, operators) = plan::operators(&ctx, &logical).await.map_err(fail)?;
        let plan = Plan { query: query.clone(), slots, operators, task: ctx.task_ctx() };
        Ok((optimised, plan))
    }

    /// The inline views below a query; views stand in the order of dependency.
    async fn add_inline(&self, ctx: &SessionContext, query: &Query) -> Result<(), QueryError> {
        let (_, inline) = self.corpus.inputs(query);
        for view in self.corpus.views.iter().filter(|view| inline.contains(view.name.as_str())) {
            let params = self.params.get(&view.name).cloned().unwrap_or_default();
            let logical = plan::plan(ctx, &view.query, &params).await?;
            plan::add_inline(ctx, &view.name, logical).map_err(|error| QueryError::new(&view.query, &error))?;
        }
        Ok(())
    }
}

impl KeptPlans {
    /// The queries, in the order of dependency.
    pub(crate) fn queries(&self) -> &[Kept] {
        &self.queries
    }

    /// Runs queries that do not read each other, each by its position and with the rows of its inputs.
    pub(crate) async fn run(&self, jobs: Vec<(usize, Vec<RecordBatch>)>) -> BTreeMap<usize, Result<Ran, String>> {
        let mut running = JoinSet::new();
        let mut positions = BTreeMap::new();
        let mut results = BTreeMap::new();
        for (position, inputs) in jobs {
            let Some(plan) = self.queries.get(position).and_then(|kept| kept.plan.clone()) else {
                let why = self.queries.get(position).and_then(|kept| kept.schema.as_ref().err().cloned());
                results.insert(position, Err(why.unwrap_or_default()));
                continue;
            };
            let (time, memory) = (self.time, self.memory);
            let task = running.spawn_on(
                async move {
                    let late = |_| QueryError::plain(&plan.query, format!("stopped after {} s", time.as_secs()));
                    tokio::time::timeout(time, plan.run(inputs, memory)).await.map_err(late)?
                },
                self.threads.handle(),
            );
            positions.insert(task.id(), position);
        }
        while let Some(ended) = running.join_next_with_id().await {
            let (id, result) = match ended {
                Ok((id, result)) => (id, result.map_err(|error| error.to_string())),
                Err(error) => (error.id(), Err("the engine panicked".to_owned())),
            };
            results.extend(positions.remove(&id).map(|position| (position, result)));
        }
        results
    }
}

impl Plan {
    async fn run(&self, inputs: Vec<RecordBatch>, memory: usize) -> Result<Ran, QueryError> {
        for (slot, rows) in self.slots.iter().zip(inputs) {
            slot.put(Some(rows));
        }
        let fresh = reset_plan_states(Arc::clone(&self.operators));
        let result = match fresh {
            Ok(operators) => plan::collect(operators, Arc::clone(&self.task), &self.query, memory).await,
            Err(error) => Err(QueryError::new(&self.query, &error)),
        };
        for slot in &self.slots {
            slot.put(None);
        }
        result
    }
}
