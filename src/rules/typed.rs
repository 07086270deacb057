//! What in a query engines do differently by the types of its values.
//!
//! In: a logical plan as written, not optimised. Out: problems. Looks into no view: each is checked in its own file.

use std::collections::BTreeSet;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Spans};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

use super::query::Query;
use super::source::Place;

/// Functions after which a number has no fraction, so that a cast to an integer rounds nothing.
const WHOLE: [&str; 4] = ["floor", "ceil", "round", "trunc"];

/// Operations whose result depends on the engine, and columns without a type unless values are left out.
pub(super) fn problems(query: &Query, plan: &LogicalPlan, has_values: bool) -> BTreeSet<(Place, String)> {
    let mut found = BTreeSet::new();
    let _ = plan.apply_with_subqueries(|node| {
        let mut schema = DFSchema::empty();
        for input in node.inputs() {
            schema.merge(input.schema());
        }
        if node.inputs().is_empty() {
            schema.merge(node.schema());
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Some(message) = problem(expr, &schema) {
                    found.insert((place(expr).unwrap_or((query.line, 1)), message.to_owned()));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    let untyped = plan.schema().fields().iter().filter(|field| has_values && field.data_type() == &DataType::Null);
    for field in untyped {
        let message = format!("column `{}` has no type: write `CAST(NULL AS VARCHAR)` or another", field.name());
        found.insert(((query.line, 1), message));
    }
    found
}

fn problem(expr: &Expr, schema: &DFSchema) -> Option<&'static str> {
    let is = |expr: &Expr, kind: fn(&DataType) -> bool| expr.get_type(schema).is_ok_and(|data_type| kind(&data_type));
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Minus, right })
            if is(left, is_time) && is(right, is_time) =>
        {
            Some(
                "timestamp minus timestamp: write `a > b + CAST($p AS INTERVAL)`, or subtract `extract(EPOCH FROM date_trunc('second', t))`",
            )
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide, right })
            if is(left, DataType::is_integer) && is(right, DataType::is_integer) =>
        {
            Some("`/` of two integers: engines differ; write `/ 2.0`")
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Multiply, right })
            if is(left, is_interval) || is(right, is_interval) =>
        {
            Some("INTERVAL * n: write `CAST(concat(CAST(n AS VARCHAR), ' seconds') AS INTERVAL)`")
        }
        Expr::Cast(cast)
            if cast.field.data_type().is_integer() && is(&cast.expr, is_fraction) && !is_whole(&cast.expr) =>
        {
            Some("a fraction cast to an integer: engines round differently; write `floor` or `ceil` first")
        }
        _ => None,
    }
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64)
}

fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_) | DataType::Duration(_))
}

fn is_fraction(data_type: &DataType) -> bool {
    data_type.is_floating() || data_type.is_decimal()
}

fn is_whole(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if WHOLE.contains(&call.name()) || call.name() == "date_part")
}

/// Where the first column of an expression stands.
fn place(expr: &Expr) -> Option<Place> {
    let mut found = None;
    let _ = expr.apply(|expr| {
        found = expr.spans().and_then(Spans::first).map(|s| (s.start.line as usize, s.start.column as usize));
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}
