//! Whether a query meets what card bodies say only by the body that another row names.
//!
//! In: an optimised logical plan, and which inputs are of bodies. Out: yes or no. Knows no data.
//!
//! If so, a body that was not looked at before concerns no key but those of rows that name it, and these are new too.

use std::collections::BTreeSet;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, JoinType};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, Join, LogicalPlan, Unnest, Window};

use super::columns::Schemas;
use super::corpus::Corpus;
use super::reach::BODY;
use super::shape::{keys_among, unaliased};

/// What the rows of an operator have to do with bodies.
#[derive(Debug, PartialEq, Eq)]
enum Rows {
    /// Those of other inputs, with or without what the bodies that they name say.
    Others,
    /// Those of inputs of bodies alone; the body is in these columns.
    OfBodies(BTreeSet<usize>),
}

use Rows::{OfBodies, Others};

/// Those inputs of a query that are of bodies, if it meets them by the body alone; else none.
pub(super) fn bodies(plan: &LogicalPlan, corpus: &Corpus, inputs: &Schemas) -> BTreeSet<String> {
    let of_a_body = |name: &str| corpus.is_of_a_body(name);
    match rows(plan, &of_a_body) {
        Some(Others) => inputs.keys().filter(|name| of_a_body(name)).cloned().collect(),
        _ => BTreeSet::new(),
    }
}

/// None where bodies are mixed, or met by something else.
fn rows(plan: &LogicalPlan, of_a_body: &dyn Fn(&str) -> bool) -> Option<Rows> {
    let mut in_expressions = Some(());
    let _ = plan.apply_subqueries(|subquery| {
        if rows(subquery, of_a_body) != Some(Others) {
            in_expressions = None;
        }
        Ok(TreeNodeRecursion::Continue)
    });
    in_expressions?;
    let below = |input: &LogicalPlan| rows(input, of_a_body);
    match plan {
        LogicalPlan::TableScan(scan) if of_a_body(scan.table_name.table()) => {
            Some(OfBodies(body(&scan.projected_schema)))
        }
        LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => Some(Others),
        LogicalPlan::Projection(projection) => Some(match below(&projection.input)? {
            OfBodies(body) => OfBodies(keys_among(&projection.expr, projection.input.schema(), &body)),
            Others => Others,
        }),
        LogicalPlan::Aggregate(aggregate) => aggregated(aggregate, below(&aggregate.input)?),
        LogicalPlan::Window(window) => windowed(window, below(&window.input)?),
        LogicalPlan::Distinct(Distinct::All(input)) => below(input).filter(|rows| *rows != OfBodies(BTreeSet::new())),
        LogicalPlan::Unnest(unnest) => Some(unnested(unnest, below(&unnest.input)?)),
        LogicalPlan::Union(union) => {
            let all: Vec<Rows> = union.inputs.iter().map(|input| below(input)).collect::<Option<_>>()?;
            let first = all.first()?;
            all.iter().all(|rows| rows == first).then(|| all.into_iter().next())?
        }
        LogicalPlan::Join(join) => joined(join, below(&join.left)?, below(&join.right)?),
        LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Repartition(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::Sort(_) => below(plan.inputs().first()?),
        other => {
            let all: Vec<Rows> = other.inputs().into_iter().map(below).collect::<Option<_>>()?;
            all.iter().all(|rows| *rows == Others).then_some(Others)
        }
    }
}

fn body(schema: &DFSchema) -> BTreeSet<usize> {
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| field.name() == BODY).map(|(index, _)| index).collect()
}

fn aggregated(aggregate: &Aggregate, input: Rows) -> Option<Rows> {
    let OfBodies(body) = input else { return Some(Others) };
    let groups = keys_among(&aggregate.group_expr, aggregate.input.schema(), &body);
    let is_plain = !aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_)));
    (!groups.is_empty() && is_plain).then_some(OfBodies(groups))
}

fn windowed(window: &Window, input: Rows) -> Option<Rows> {
    let OfBodies(body) = input else { return Some(Others) };
    let schema = window.input.schema();
    let partitions = |expr: &Expr| match unaliased(expr) {
        Expr::WindowFunction(call) => !keys_among(&call.params.partition_by, schema, &body).is_empty(),
        _ => false,
    };
    window.window_expr.iter().all(partitions).then_some(OfBodies(body))
}

fn unnested(unnest: &Unnest, input: Rows) -> Rows {
    match input {
        OfBodies(body) => {
            let kept = unnest.dependency_indices.iter().enumerate().filter(|(_, from)| {
                body.contains(from) && !unnest.list_type_columns.iter().any(|(list, _)| list == *from)
            });
            OfBodies(kept.map(|(index, _)| index).collect())
        }
        Others => Others,
    }
}

fn joined(join: &Join, left: Rows, right: Rows) -> Option<Rows> {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let (schema_left, schema_right) = (join.left.schema(), join.right.schema());
    let meets = |left: Option<&BTreeSet<usize>>, right: Option<&BTreeSet<usize>>| {
        join.on.iter().any(|(a, b)| {
            left.is_none_or(|body| !keys_among([a], schema_left, body).is_empty())
                && right.is_none_or(|body| !keys_among([b], schema_right, body).is_empty())
        })
    };
    let keeps_left = matches!(join.join_type, Left | LeftSemi | LeftAnti | LeftMark | Full);
    let keeps_right = matches!(join.join_type, Right | RightSemi | RightAnti | RightMark | Full);
    match (left, right) {
        (Others, Others) => Some(Others),
        (Others, OfBodies(body)) => (meets(None, Some(&body)) && !keeps_right).then_some(Others),
        (OfBodies(body), Others) => (meets(Some(&body), None) && !keeps_left).then_some(Others),
        (OfBodies(a), OfBodies(b)) => {
            let width = schema_left.fields().len();
            meets(Some(&a), Some(&b)).then(|| {
                OfBodies(match join.join_type {
                    Inner => a.into_iter().chain(b.into_iter().map(|at| at + width)).collect(),
                    Left | LeftSemi | LeftAnti | LeftMark => a,
                    Right => b.into_iter().map(|at| at + width).collect(),
                    RightSemi | RightAnti | RightMark => b,
                    Full => BTreeSet::new(),
                })
            })
        }
    }
}
