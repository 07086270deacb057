//! Planning of queries over tables that are in memory.
//!
//! In: parsed queries, params, tables. Out: logical plans. Refuses everything that is not a query.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{MemTable, ViewTable};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use futures::StreamExt;

use super::mistake;
use super::params::{self, Params};
use super::query::Query;
use super::source::Place;

/// A query that cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[error("line {}: {message}", .place.0)]
pub(super) struct QueryError {
    pub(super) place: Place,
    pub(super) message: String,
}

impl QueryError {
    pub(super) fn new(query: &Query, error: &DataFusionError) -> Self {
        let (place, message) = mistake::told(query, error);
        Self { place, message }
    }

    /// A failure of the query as a whole.
    pub(super) fn plain(query: &Query, message: String) -> Self {
        Self { place: (query.line, 1), message }
    }
}

/// A session for rules: `partitions` a query, and at most `memory` bytes for all of them.
///
/// # Errors
/// When no session can be set up.
pub(super) fn session(partitions: usize, memory: usize) -> Result<SessionContext, DataFusionError> {
    Ok(session_in(partitions, runtime(memory)?))
}

/// What sessions share: at most `memory` bytes for the queries of all of them.
///
/// # Errors
/// When it cannot be set up.
pub(super) fn runtime(memory: usize) -> Result<Arc<RuntimeEnv>, DataFusionError> {
    RuntimeEnvBuilder::new().with_memory_limit(memory, 1.0).build_arc()
}

/// A session for rules within a runtime.
pub(super) fn session_in(partitions: usize, runtime: Arc<RuntimeEnv>) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_information_schema(false)
        .with_collect_statistics(false)
        // With it, a plan that is kept would filter by the join keys of its previous run.
        .set_bool("datafusion.optimizer.enable_dynamic_filter_pushdown", false)
        .set_bool("datafusion.sql_parser.collect_spans", true);
    SessionContext::new_with_config_rt(config, runtime)
}

/// Plans a query with its params in it.
pub(super) async fn plan(ctx: &SessionContext, query: &Query, params: &Params) -> Result<LogicalPlan, QueryError> {
    plan_bound(ctx, query, params::bind(&query.statement, params)).await
}

/// Plans a query with params in it, and NULL for those that have no value: to be looked at.
pub(super) async fn plan_leniently(
    ctx: &SessionContext,
    query: &Query,
    params: &Params,
) -> Result<LogicalPlan, QueryError> {
    plan_bound(ctx, query, params::bind_leniently(&query.statement, params)).await
}

/// Steps of a query, its inline views written out; the built-in views, all written out, have up to some thousands.
const MOST_STEPS: usize = 16384;

/// Takes from what is left the steps of a plan and of the views in it, until nothing is.
fn weigh(plan: &LogicalPlan, left: &mut usize) -> Result<(), DataFusionError> {
    plan.apply_with_subqueries(|node| {
        *left = left.saturating_sub(1);
        if *left == 0 {
            return Ok(TreeNodeRecursion::Stop);
        }
        if let LogicalPlan::TableScan(scan) = node
            && let Some(view) = scan.source.get_logical_plan()
        {
            weigh(&view, left)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

async fn plan_bound(ctx: &SessionContext, query: &Query, statement: Statement) -> Result<LogicalPlan, QueryError> {
    let fail = |error: DataFusionError| QueryError::new(query, &error);
    let plan = ctx.state().statement_to_plan(statement).await.map_err(fail)?;
    let mut left = MOST_STEPS;
    weigh(&plan, &mut left).map_err(fail)?;
    if left == 0 {
        return Err(QueryError::plain(
            query,
            format!(
                "with the views that it reads it has more than {MOST_STEPS} steps: a view that is read more than once is \
                 written out as often, unless its header says `by`"
            ),
        ));
    }
    let nothing_else = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    nothing_else.verify_plan(&plan).map_err(fail)?;
    Ok(plan)
}

/// The optimised plan, and the operators that run it, such that the query can be stopped while it runs.
///
/// # Errors
/// When the query's shape cannot be run.
pub(super) async fn operators(
    ctx: &SessionContext,
    plan: &LogicalPlan,
) -> Result<(LogicalPlan, Arc<dyn ExecutionPlan>), DataFusionError> {
    let state = ctx.state();
    let optimised = state.optimize(plan)?;
    let operators = state.query_planner().create_physical_plan(&optimised, &state).await?;
    // A join makes many batches of one that it holds. Where nothing else lets go in between, a runaway join could not be
    // stopped.
    let yielding = operators.transform_up(|node| {
        Ok(match node.children().len() {
            0 | 1 => Transformed::no(node),
            _ => Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>),
        })
    });
    Ok((optimised, yielding?.data))
}

/// What a run gave.
#[derive(Debug)]
pub(crate) struct Ran {
    /// Rows of the result.
    pub(crate) rows: RecordBatch,
    /// Rows that the operators looked at.
    pub(crate) work: usize,
    /// Time from the start to the end.
    pub(crate) took: Duration,
}

/// Runs operators, and gives their rows as one batch.
///
/// # Errors
/// When one fails, or the rows take more than `memory` bytes.
pub(super) async fn collect(
    operators: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    query: &Query,
    memory: usize,
) -> Result<Ran, QueryError> {
    let started = Instant::now();
    let fail = |error: DataFusionError| QueryError::new(query, &error);
    let schema = read_schema(&operators.schema());
    let mut stream = execute_stream(Arc::clone(&operators), task).map_err(fail)?;
    let (mut batches, mut size) = (Vec::new(), 0_usize);
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(fail)?;
        let batch = RecordBatch::try_new(Arc::clone(&schema), batch.columns().iter().map(own).collect());
        let batch = batch.map_err(|error| fail(error.into()))?;
        size = size.saturating_add(batch.get_array_memory_size());
        if size > memory {
            return Err(QueryError::plain(query, format!("stopped: its result exceeds {memory} bytes")));
        }
        batches.push(batch);
    }
    let rows = arrow::compute::concat_batches(&schema, &batches).map_err(|error| fail(error.into()))?;
    Ok(Ran { rows, work: work(operators.as_ref()), took: started.elapsed() })
}

/// A column with texts of its own. Views may look into all texts of an input, which they would keep, and which would count anew for
/// each batch and column.
fn own(column: &ArrayRef) -> ArrayRef {
    match column.as_string_view_opt() {
        Some(views) if !views.data_buffers().is_empty() => Arc::new(views.gc()),
        _ => Arc::clone(column),
    }
}

/// Rows that operators gave on, and pairs of rows that joins looked at, whether or not they fit.
fn work(operators: &dyn ExecutionPlan) -> usize {
    let own = operators.metrics().map_or(0, |metrics| {
        let pairs = metrics.iter().map(|metric| match metric.value() {
            MetricValue::Ratio { name, ratio_metrics } if name == "avg_fanout" => ratio_metrics.part(),
            MetricValue::Ratio { name, ratio_metrics } if name == "selectivity" && operators.children().len() == 2 => {
                ratio_metrics.total()
            }
            _ => 0,
        });
        metrics.output_rows().unwrap_or_default() + pairs.sum::<usize>()
    });
    operators.children().iter().map(|child| work(child.as_ref())).fold(own, usize::saturating_add)
}

/// Makes the rows of a table, a stored view or a rule readable under its name.
///
/// # Errors
/// When the name is taken.
pub(super) fn add_table(
    ctx: &SessionContext,
    name: &str,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> Result<(), DataFusionError> {
    let table = MemTable::try_new(schema, vec![batches])?;
    ctx.register_table(name, Arc::new(table)).map(|_| ())
}

/// Makes the text of a view readable under its name.
///
/// # Errors
/// When the name is taken.
pub(super) fn add_inline(ctx: &SessionContext, name: &str, plan: LogicalPlan) -> Result<(), DataFusionError> {
    ctx.register_table(name, Arc::new(ViewTable::new(plan, None))).map(|_| ())
}

/// The schema of a result as others read it: every column may be null, and none has metadata.
pub(super) fn read_schema(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| Field::new(field.name(), field.data_type().clone(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, StringViewArray};

    use super::*;

    #[test]
    fn a_result_keeps_its_own_texts_and_not_those_it_was_picked_from() {
        let texts = StringViewArray::from_iter_values(
            (0..1000).map(|n| format!("a text that is too long to be inlined, no. {n}")),
        );
        let few: ArrayRef = Arc::new(texts.slice(10, 2));
        let own = own(&few);
        assert_eq!(own.as_string_view().iter().collect::<Vec<_>>(), few.as_string_view().iter().collect::<Vec<_>>());
        assert!(own.get_array_memory_size() < 1000 && few.get_array_memory_size() > 40_000);
    }
}
