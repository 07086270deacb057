//! Windows and ordered aggregates of the SQL subset: facts are a set, so every order must be total.
//!
//! In: function calls and window definitions of a parsed query. Out: problems, through `subset`.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList, FunctionArguments,
    NamedWindowDefinition, NamedWindowExpr, NullTreatment, OrderByExpr, Spanned, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::subset::Subset;

/// Aggregates whose result is a matter of order.
const ORDERED: [&str; 2] = ["array_agg", "string_agg"];

/// Window functions that have no meaning without an order.
const RANKING: [&str; 11] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

const NOT_TOTAL: &str =
    "ORDER BY must end in `fact_id` (or another `..._fact_id`): rows of one instant have no other order";

/// Checks what is about order in a call.
pub(super) fn function(subset: &mut Subset<'_>, name: &str, span: Span, function: &Function) {
    let arguments = match &function.args {
        FunctionArguments::List(list) => Some(list),
        _ => None,
    };
    let ignores = |treatment: &NullTreatment| *treatment == NullTreatment::IgnoreNulls;
    let clauses = arguments.map_or(&[][..], |list| &list.clauses[..]);
    let within = clauses.iter().any(|c| matches!(c, FunctionArgumentClause::IgnoreOrRespectNulls(t) if ignores(t)));
    if within || function.null_treatment.as_ref().is_some_and(ignores) {
        let instead = "use a running `count(x)` as group and `max(x) OVER (PARTITION BY .., group)`";
        subset.add(span, format!("IGNORE NULLS: some engine answers wrongly; {instead}"));
    }
    if function.filter.is_some() && function.over.is_some() {
        subset.add(span, "FILTER with OVER: some engine answers wrongly; write CASE inside the call");
    }
    if ["first_value", "last_value", "nth_value"].contains(&name) && function.over.is_none() {
        subset.add(span, format!("`{name}` as an aggregate: write `row_number() = 1`"));
    }
    subset.nulls_are_placed(&function.within_group);
    let order = clauses.iter().find_map(|clause| match clause {
        FunctionArgumentClause::OrderBy(order) => Some(order),
        _ => None,
    });
    if let (Some(order), Some(arguments)) = (order, arguments) {
        subset.nulls_are_placed(order);
        if !by_itself(order, arguments) && !ends_in_fact(order) {
            subset.add(span, NOT_TOTAL);
        }
    }
    if ORDERED.contains(&name)
        && order.is_none()
        && !matches!(&function.over, Some(WindowType::WindowSpec(s)) if !s.order_by.is_empty())
    {
        subset.add(span, format!("`{name}` without ORDER BY: its items come in any order"));
    }
    match &function.over {
        Some(WindowType::WindowSpec(spec)) => {
            if RANKING.contains(&name) && spec.order_by.is_empty() && spec.window_name.is_none() {
                subset.add(span, format!("`{name}` over no order: which row it means is open"));
            }
            window(subset, span, spec);
        }
        Some(WindowType::NamedWindow(_)) | None => {}
    }
}

/// Checks a window of the WINDOW clause.
pub(super) fn named(subset: &mut Subset<'_>, window_: &NamedWindowDefinition) {
    if let NamedWindowExpr::WindowSpec(spec) = &window_.1 {
        window(subset, window_.0.span, spec);
    }
}

fn window(subset: &mut Subset<'_>, span: Span, spec: &WindowSpec) {
    subset.nulls_are_placed(&spec.order_by);
    let mut has_range = false;
    if let Some(frame) = &spec.window_frame {
        // A frame bound has to be a literal.
        for bound in bounds(frame) {
            subset.allow(bound.span());
        }
        has_range = frame.units == WindowFrameUnits::Range;
    }
    // RANGE takes all rows of one value together, so that their order does not matter.
    if !spec.order_by.is_empty() && !has_range && !ends_in_fact(&spec.order_by) {
        subset.add(span, NOT_TOTAL);
    }
}

fn bounds(frame: &WindowFrame) -> impl Iterator<Item = &Expr> {
    [Some(&frame.start_bound), frame.end_bound.as_ref()].into_iter().flatten().filter_map(|bound| match bound {
        WindowFrameBound::Preceding(expr) | WindowFrameBound::Following(expr) => expr.as_deref(),
        WindowFrameBound::CurrentRow => None,
    })
}

fn ends_in_fact(order: &[OrderByExpr]) -> bool {
    order.iter().any(|by| match &by.expr {
        Expr::Identifier(name) => is_fact(&name.value),
        Expr::CompoundIdentifier(names) => names.last().is_some_and(|name| is_fact(&name.value)),
        _ => false,
    })
}

fn is_fact(column: &str) -> bool {
    let column = column.to_lowercase();
    column == "fact_id" || column.ends_with("_fact_id")
}

/// Items in the order of their own values are the same list, whatever order equal ones come in.
fn by_itself(order: &[OrderByExpr], arguments: &FunctionArgumentList) -> bool {
    let first = arguments.args.first().and_then(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    // Compared as text: the same name stands in two places.
    first.is_some_and(|first| order.iter().any(|by| by.expr.to_string() == first.to_string()))
}
