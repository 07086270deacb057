//! Whether a query can be evaluated key by key: cut to the rows of some keys, it gives those keys' rows, all and unchanged.
//!
//! In: an optimised logical plan and one column of `by`. Out: the first operator that mixes keys. Knows no data.
//!
//! An input that has the column is cut by it; one that lacks it is read whole. Going up the plan, rows that came of a cut
//! input must keep their key in some column wherever they meet others.

use std::collections::BTreeSet;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, Join, LogicalPlan, Projection, Union, Unnest, Window};

use crate::tables::Facts;

/// Tables of what a card body says, one fact whoever saw it and when: the columns that every table has are empty in them, so
/// that they are read whole.
const OF_A_BODY: [&str; 2] = ["card_skills", "card_endpoints"];

/// What the rows of an operator have to do with the key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rows {
    /// There are none, whatever the key.
    Never,
    /// They are the same for every key.
    Whole,
    /// Each belongs to the key that these columns hold; none of them if it was dropped.
    Keyed(BTreeSet<usize>),
}

use Rows::{Keyed, Never, Whole};

/// Checks a plan along a column; whether any input has it. If none has, the query gives the rows of all its values at once,
/// which is right, though not cheap.
pub(super) fn check(plan: &LogicalPlan, by: &str) -> Result<bool, String> {
    let keys = match rows(plan, by)? {
        Never | Whole => return Ok(false),
        Keyed(keys) => keys,
    };
    if named(plan.schema(), by).is_disjoint(&keys) {
        return Err(format!("the output has no column `{by}` that is the `{by}` of its inputs"));
    }
    Ok(true)
}

fn rows(plan: &LogicalPlan, by: &str) -> Result<Rows, String> {
    subqueries_are_whole(plan, by)?;
    match plan {
        LogicalPlan::TableScan(scan) => {
            if scan.fetch.is_some() {
                return Err(limited());
            }
            Ok(if carries(scan.table_name.table(), &scan.source.schema(), by) {
                Keyed(named(&scan.projected_schema, by))
            } else {
                Whole
            })
        }
        LogicalPlan::EmptyRelation(empty) => Ok(if empty.produce_one_row { Whole } else { Never }),
        LogicalPlan::Values(_) => Ok(Whole),
        LogicalPlan::Filter(filter) => rows(&filter.input, by),
        LogicalPlan::SubqueryAlias(alias) => rows(&alias.input, by),
        LogicalPlan::Repartition(repartition) => rows(&repartition.input, by),
        LogicalPlan::Subquery(subquery) => rows(&subquery.subquery, by),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => rows(&sort.input, by),
        LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => Err(limited()),
        LogicalPlan::Projection(projection) => projected(projection, by),
        LogicalPlan::Aggregate(aggregate) => aggregated(plan, aggregate, by),
        LogicalPlan::Window(window) => windowed(plan, window, by),
        LogicalPlan::Distinct(distinct) => distinct_rows(plan, distinct, by),
        LogicalPlan::Union(union) => united(union, by),
        LogicalPlan::Unnest(unnest) => unnested(unnest, by),
        LogicalPlan::Join(join) => joined(plan, join, by),
        other => Err(format!("cannot be evaluated key by key: {}", line(other))),
    }
}

/// Whether an input has a column of `by`, so that it can be cut by it.
pub(super) fn carries(input: &str, schema: &Schema, by: &str) -> bool {
    schema.field_with_name(by).is_ok() && !(is_of_a_body(input) && is_in_every_table(by))
}

/// Whether a table holds what card bodies say.
pub(super) fn is_of_a_body(table: &str) -> bool {
    OF_A_BODY.contains(&table)
}

fn is_in_every_table(column: &str) -> bool {
    Facts::schemas().iter().all(|(_, schema)| schema.field_with_name(column).is_ok())
}

fn limited() -> String {
    "LIMIT: which rows stay depends on rows of other keys".to_owned()
}

/// What an operator does, short enough for a message.
fn line(plan: &LogicalPlan) -> String {
    const SHOWN: usize = 160;
    let text = plan.display().to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn named(schema: &DFSchema, name: &str) -> BTreeSet<usize> {
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| field.name() == name).map(|(index, _)| index).collect()
}

/// The column that an expression hands on unchanged.
fn plain(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Alias(alias) => plain(&alias.expr),
        _ => None,
    }
}

fn is_key(expr: &Expr, schema: &DFSchema, keys: &BTreeSet<usize>) -> bool {
    plain(expr).and_then(|column| schema.maybe_index_of_column(column)).is_some_and(|index| keys.contains(&index))
}

/// Positions of expressions that are the key.
fn keys_among<'a>(
    exprs: impl IntoIterator<Item = &'a Expr>,
    schema: &DFSchema,
    keys: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let exprs = exprs.into_iter().enumerate();
    exprs.filter(|(_, expr)| is_key(expr, schema, keys)).map(|(index, _)| index).collect()
}

/// A subquery that is left in an expression sees all keys at once.
fn subqueries_are_whole(plan: &LogicalPlan, by: &str) -> Result<(), String> {
    let mut found = Ok(());
    let _ = plan.apply_subqueries(|subquery| {
        if let Ok(Keyed(_)) | Err(_) = rows(subquery, by) {
            found = Err(format!("a subquery that does not equate `{by}`: {}", line(plan)));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}

fn projected(projection: &Projection, by: &str) -> Result<Rows, String> {
    Ok(match rows(&projection.input, by)? {
        Keyed(keys) => Keyed(keys_among(&projection.expr, projection.input.schema(), &keys)),
        other => other,
    })
}

fn aggregated(plan: &LogicalPlan, aggregate: &Aggregate, by: &str) -> Result<Rows, String> {
    let keys = match rows(&aggregate.input, by)? {
        Keyed(keys) => keys,
        Never if !aggregate.group_expr.is_empty() => return Ok(Never),
        // Without groups there is one row even of nothing, the same for every key.
        Never | Whole => return Ok(Whole),
    };
    let groups = keys_among(&aggregate.group_expr, aggregate.input.schema(), &keys);
    match groups.is_empty() || aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
        true => Err(format!("GROUP BY without `{by}`: {}", line(plan))),
        false => Ok(Keyed(groups)),
    }
}

fn windowed(plan: &LogicalPlan, window: &Window, by: &str) -> Result<Rows, String> {
    let keys = match rows(&window.input, by)? {
        Keyed(keys) => keys,
        other => return Ok(other),
    };
    let schema = window.input.schema();
    let partitions_by_key = |expr: &Expr| match unaliased(expr) {
        Expr::WindowFunction(call) => call.params.partition_by.iter().any(|by| is_key(by, schema, &keys)),
        _ => false,
    };
    match window.window_expr.iter().all(partitions_by_key) {
        true => Ok(Keyed(keys)),
        false => Err(format!("PARTITION BY without `{by}`: {}", line(plan))),
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

fn distinct_rows(plan: &LogicalPlan, distinct: &Distinct, by: &str) -> Result<Rows, String> {
    let (input, keeps_key) = match distinct {
        Distinct::All(input) => (rows(input, by)?, true),
        Distinct::On(on) => match rows(&on.input, by)? {
            Keyed(keys) => {
                let keeps = !keys_among(&on.on_expr, on.input.schema(), &keys).is_empty();
                (Keyed(keys_among(&on.select_expr, on.input.schema(), &keys)), keeps)
            }
            other => (other, true),
        },
    };
    match &input {
        Keyed(keys) if keys.is_empty() || !keeps_key => Err(format!("DISTINCT without `{by}`: {}", line(plan))),
        _ => Ok(input),
    }
}

fn united(union: &Union, by: &str) -> Result<Rows, String> {
    let mut whole = false;
    let mut keyed: Option<BTreeSet<usize>> = None;
    for input in &union.inputs {
        match rows(input, by)? {
            Never => {}
            Whole => whole = true,
            Keyed(keys) => {
                keyed = Some(keyed.map_or_else(|| keys.clone(), |all| all.intersection(&keys).copied().collect()));
            }
        }
    }
    match (keyed, whole) {
        (None, false) => Ok(Never),
        (None, true) => Ok(Whole),
        (Some(keys), false) if !keys.is_empty() => Ok(Keyed(keys)),
        (Some(_), _) => Err(format!("UNION: not every branch has `{by}`, in the same place, from its inputs")),
    }
}

fn unnested(unnest: &Unnest, by: &str) -> Result<Rows, String> {
    Ok(match rows(&unnest.input, by)? {
        Keyed(keys) => {
            let kept = unnest.dependency_indices.iter().enumerate().filter(|(_, from)| {
                keys.contains(from) && !unnest.list_type_columns.iter().any(|(list, _)| list == *from)
            });
            Keyed(kept.map(|(index, _)| index).collect())
        }
        other => other,
    })
}

fn joined(plan: &LogicalPlan, join: &Join, by: &str) -> Result<Rows, String> {
    use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi};
    let (left, right) = (rows(&join.left, by)?, rows(&join.right, by)?);
    if left == Whole && right == Whole || left == Never && right == Never {
        return Ok(left);
    }
    if join.join_type == Full {
        return Err(format!("FULL JOIN of rows of `{by}`: {}", line(plan)));
    }
    let keeps_left = matches!(join.join_type, Left | LeftSemi | LeftAnti | LeftMark);
    let keeps_right = matches!(join.join_type, Right | RightSemi | RightAnti | RightMark);
    let (schema_left, schema_right) = (join.left.schema(), join.right.schema());
    let (mut keys_left, mut keys_right) = (BTreeSet::new(), BTreeSet::new());
    match (&left, &right) {
        (Keyed(l), Keyed(r)) => {
            let equates = |(a, b): &(Expr, Expr)| is_key(a, schema_left, l) && is_key(b, schema_right, r);
            if !join.on.iter().any(equates) {
                return Err(format!("a join of rows of two `{by}`s that does not equate it: {}", line(plan)));
            }
            (keys_left, keys_right) = (l.clone(), r.clone());
        }
        (Keyed(_), _) if keeps_right => return Err(kept_without(by, plan)),
        (_, Keyed(_)) if keeps_left => return Err(kept_without(by, plan)),
        (Keyed(l), _) => {
            keys_left.clone_from(l);
            let equal = join.on.iter().filter(|(a, _)| is_key(a, schema_left, l)).map(|(_, b)| b);
            keys_right.extend(equal.filter_map(|b| schema_right.maybe_index_of_column(plain(b)?)));
        }
        (_, Keyed(r)) => {
            keys_right.clone_from(r);
            let equal = join.on.iter().filter(|(_, b)| is_key(b, schema_right, r)).map(|(a, _)| a);
            keys_left.extend(equal.filter_map(|a| schema_left.maybe_index_of_column(plain(a)?)));
        }
        (Never, _) if !keeps_right => return Ok(Never),
        (_, Never) if !keeps_left => return Ok(Never),
        _ => return Ok(Whole),
    }
    let width = schema_left.fields().len();
    let on_right = |keys: BTreeSet<usize>| keys.into_iter().map(move |key| key + width);
    Ok(Keyed(match join.join_type {
        // The side that may be missing holds the key only where it is there.
        Left | LeftSemi | LeftAnti | LeftMark => keys_left,
        Right => on_right(keys_right).collect(),
        RightSemi | RightAnti | RightMark => keys_right,
        Inner | Full => keys_left.into_iter().chain(on_right(keys_right)).collect(),
    }))
}

fn kept_without(by: &str, plan: &LogicalPlan) -> String {
    format!("a left join, EXISTS or NOT EXISTS keeps rows without `{by}` by rows that have it: {}", line(plan))
}
