//! The SQL that queries may use: what every engine that runs them understands, and understands alike.
//!
//! In: a parsed query and its params. Out: each construct outside the subset, where it stands, and what to write instead.
//! Looks at the text alone; what takes types or a plan to see is in `typed` and `shape`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Distinct, Expr, Function, JoinOperator, OrderByExpr, OrderByKind, Query as SqlQuery,
    Select, SelectItem, SetExpr, Spanned, TableFactor, UnaryOperator, Value, ValueWithSpan, Visit, Visitor,
    visit_expressions,
};
use datafusion::sql::sqlparser::tokenizer::Span;

use super::ordering;
use super::params::Params;
use super::problem::{listed, near};
use super::query::{Query, place};
use super::source::Place;

/// Functions that must not be called, and what to write instead.
const FUNCTIONS: [(&[&str], &str); 7] = [
    (
        &["now", "current_timestamp", "current_date", "current_time", "today", "localtimestamp", "localtime"],
        "a query reads no clock: yield `due_at` or `until_at`",
    ),
    (&["random", "rand", "uuid", "gen_random_uuid"], "the same facts must give the same rows"),
    (&["regexp_like"], "one engine only: write `x ~ 'pattern'`"),
    (&["to_unixtime"], "one engine only: write `extract(EPOCH FROM date_trunc('second', t))`"),
    (
        &["arg_max", "arg_min", "max_by", "min_by", "any_value", "first", "last", "mode"],
        "one engine only, or any row of several: write `row_number() = 1`",
    ),
    (&["struct", "named_struct", "row", "map", "arrow_cast", "arrow_typeof"], "one engine only: use plain columns"),
    (&["array_filter", "array_transform", "list_filter", "list_transform"], "one engine only: `unnest` and group"),
];

/// What is outside of the subset.
pub(super) struct Outside {
    /// Each thing, in the order of the text.
    pub(super) problems: Vec<(Place, String)>,
    /// All of it is about params: the rest can be planned.
    pub(super) is_of_params: bool,
}

/// What stands in a query that the subset does not have.
pub(super) fn problems(query: &Query, params: &Params) -> Outside {
    let mut subset =
        Subset { query, params, used: BTreeSet::new(), of_params: 0, allowed: Vec::new(), found: BTreeMap::new() };
    let _ = Visit::visit(&query.statement, &mut subset);
    let unused: Vec<&String> = params.keys().filter(|name| !subset.used.contains(*name)).collect();
    if !unused.is_empty() {
        let names = listed(unused.iter().map(|name| format!("${name}")));
        let message =
            format!("the query uses no {names}: write it where the threshold stands, or take it out of `params`");
        subset.add_of_param(Span::empty(), message);
    }
    let of_params = subset.of_params;
    let problems: Vec<_> =
        subset.found.into_iter().flat_map(|(place, all)| all.into_iter().map(move |m| (place, m))).collect();
    Outside { is_of_params: problems.len() == of_params, problems }
}

pub(super) struct Subset<'a> {
    query: &'a Query,
    params: &'a Params,
    /// Params seen.
    used: BTreeSet<String>,
    /// Problems that are about params.
    of_params: usize,
    /// Places of expressions that are right where they stand, though not elsewhere.
    allowed: Vec<Span>,
    found: BTreeMap<Place, BTreeSet<String>>,
}

impl Visitor for Subset<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &SqlQuery) -> ControlFlow<()> {
        self.query(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.select(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.table(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.expr(expr);
        ControlFlow::Continue(())
    }
}

impl Subset<'_> {
    pub(super) fn add(&mut self, span: Span, message: impl Into<String>) {
        let at = place(span.start).unwrap_or((self.query.line, 1));
        self.found.entry(at).or_default().insert(message.into());
    }

    fn add_of_param(&mut self, span: Span, message: String) {
        let at = place(span.start).unwrap_or((self.query.line, 1));
        self.of_params += usize::from(self.found.entry(at).or_default().insert(message));
    }

    fn query(&mut self, query: &SqlQuery) {
        if let Some(with) = &query.with {
            if with.recursive {
                self.add(with.with_token.0.span, "WITH RECURSIVE: rules do not recurse");
            }
            for cte in with.cte_tables.iter().filter(|cte| cte.materialized.is_some()) {
                self.add(cte.alias.name.span, "MATERIALIZED: one engine only; make it a stored view");
            }
        }
        if query.limit_clause.is_some() || query.fetch.is_some() {
            self.add(query.span(), "LIMIT, OFFSET or FETCH: which rows stay depends on rows of other keys");
        }
        if let Some(order_by) = &query.order_by {
            match &order_by.kind {
                OrderByKind::All(_) => self.add(query.span(), "ORDER BY ALL: one engine only"),
                OrderByKind::Expressions(list) => self.nulls_are_placed(list),
            }
        }
        if matches!(*query.body, SetExpr::SetOperation { .. }) {
            self.branches(&query.body);
        }
        if !query.pipe_operators.is_empty() {
            self.add(query.span(), "pipe operators: one engine only");
        }
    }

    /// Branches of a UNION have a type in every column.
    fn branches(&mut self, body: &SetExpr) {
        match body {
            SetExpr::SetOperation { left, right, .. } => {
                self.branches(left);
                self.branches(right);
            }
            SetExpr::Select(select) => {
                for item in &select.projection {
                    if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                        && let Expr::Value(ValueWithSpan { value: Value::Null, span }) = expr
                    {
                        self.add(*span, "a bare NULL in UNION has no type: write `CAST(NULL AS VARCHAR)`");
                    }
                }
            }
            _ => {}
        }
    }

    fn select(&mut self, select: &Select) {
        let here = select.select_token.0.span;
        if select.qualify.is_some() {
            self.add(here, "QUALIFY: put the window in a CTE and filter it in WHERE");
        }
        if select.top.is_some() {
            self.add(here, "TOP: which rows stay depends on rows of other keys");
        }
        if matches!(select.distinct, Some(Distinct::On(_))) {
            self.add(here, "DISTINCT ON: write `row_number() = 1`");
        }
        if !select.lateral_views.is_empty() {
            self.add(here, "LATERAL: use a join or a window");
        }
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                    self.add(item.span(), "SELECT *: name the columns");
                }
                item => self.holds_no_subquery(item),
            }
        }
        for join in select.from.iter().flat_map(|from| &from.joins) {
            self.join(join.relation.span(), &join.join_operator);
        }
        for window in &select.named_window {
            ordering::named(self, window);
        }
    }

    fn join(&mut self, span: Span, operator: &JoinOperator) {
        let message = match operator {
            JoinOperator::FullOuter(_) => {
                "FULL JOIN: keeps rows without a key; UNION ALL a left join and its complement"
            }
            JoinOperator::AsOf { .. } => "ASOF: one engine only; join on a span of time",
            JoinOperator::CrossApply | JoinOperator::OuterApply => "APPLY: one engine only; use a join or a window",
            JoinOperator::Semi(_) | JoinOperator::LeftSemi(_) | JoinOperator::RightSemi(_) => "SEMI JOIN: write EXISTS",
            JoinOperator::Anti(_) | JoinOperator::LeftAnti(_) | JoinOperator::RightAnti(_) => {
                "ANTI JOIN: write NOT EXISTS"
            }
            JoinOperator::StraightJoin(_)
            | JoinOperator::ArrayJoin
            | JoinOperator::LeftArrayJoin
            | JoinOperator::InnerArrayJoin => "this join is of one engine only",
            _ => return,
        };
        self.add(span, message);
    }

    fn table(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Derived { lateral: true, .. } | TableFactor::Function { lateral: true, .. } => {
                self.add(factor.span(), "LATERAL: use a join or a window");
            }
            TableFactor::UNNEST { .. } => {
                self.add(factor.span(), "unnest in FROM: one engine only; write `SELECT unnest(list) AS item`");
            }
            TableFactor::Derived { sample: None, .. } | TableFactor::NestedJoin { .. } => {}
            TableFactor::Table { args: None, sample: None, with_ordinality: false, .. } => {}
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                self.add(factor.span(), "a sample: the same facts must give the same rows");
            }
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. }
                if name.to_string().eq_ignore_ascii_case("unnest") =>
            {
                self.add(factor.span(), "unnest in FROM: one engine only; write `SELECT unnest(list) AS item`");
            }
            _ => self.add(factor.span(), "FROM has tables, views, subqueries and joins of them, nothing else"),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let message = match expr {
            Expr::Function(function) => return self.function(expr, function),
            Expr::InSubquery { negated: true, .. } => "NOT IN (subquery): engines differ on NULL; write NOT EXISTS",
            Expr::UnaryOp { op: UnaryOperator::Not, expr } if matches!(bare(expr), Expr::InSubquery { .. }) => {
                "NOT IN (subquery): engines differ on NULL; write NOT EXISTS"
            }
            Expr::Case { .. } => return self.holds_no_subquery(expr),
            Expr::Cast { expr: inner, data_type, .. } => return self.cast(inner, data_type),
            Expr::Interval(interval) => return self.interval(expr.span(), &interval.value),
            Expr::Value(ValueWithSpan { value: Value::Placeholder(name), span }) => return self.param(name, *span),
            Expr::BinaryOp { left, op: BinaryOperator::Multiply | BinaryOperator::Divide, right }
                if is_interval(left) || is_interval(right) =>
            {
                "INTERVAL * n: write `CAST(concat(CAST(n AS VARCHAR), ' seconds') AS INTERVAL)`"
            }
            Expr::Like { escape_char, pattern, any, .. } | Expr::ILike { escape_char, pattern, any, .. }
                if *any || escape_char.is_some() || !is_plain_pattern(pattern) =>
            {
                "LIKE with ESCAPE, a `\\` or data as pattern: engines differ; split and compare, or `~`"
            }
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) if is_condition(right) => {
                "IS DISTINCT FROM takes all that follows it as its right side: put it in parentheses, `(a IS DISTINCT FROM b)`"
            }
            Expr::SimilarTo { .. } | Expr::RLike { .. } => "write `x ~ 'pattern'`",
            Expr::Lambda(_) => "a lambda: one engine only; `unnest` and group",
            Expr::Struct { .. } | Expr::Dictionary(_) | Expr::Map(_) | Expr::Tuple(_) | Expr::Named { .. } => {
                "a struct, map or tuple: one engine only; use plain columns"
            }
            Expr::AnyOp { .. } | Expr::AllOp { .. } => "ANY or ALL: write EXISTS or `array_has`",
            Expr::AtTimeZone { .. } => "AT TIME ZONE: all times are UTC",
            Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => "GROUPING SETS: write UNION ALL",
            _ => return,
        };
        self.add(expr.span(), message);
    }

    fn function(&mut self, expr: &Expr, function: &Function) {
        let name = function.name.to_string().to_lowercase();
        for (names, instead) in FUNCTIONS {
            if names.contains(&name.as_str()) {
                self.add(expr.span(), format!("`{name}`: {instead}"));
            }
        }
        if name.starts_with("approx_") {
            self.add(
                expr.span(),
                format!("`{name}`: engines guess differently; write `count(DISTINCT x)` or `percentile_cont`"),
            );
        }
        ordering::function(self, &name, expr.span(), function);
    }

    /// EXISTS, IN and scalar subqueries stand in WHERE only.
    fn holds_no_subquery<V: Visit + Spanned>(&mut self, part: &V) {
        let found = visit_expressions(part, |expr| match expr {
            Expr::Exists { .. } | Expr::Subquery(_) | Expr::InSubquery { .. } => ControlFlow::Break(expr.span()),
            _ => ControlFlow::Continue(()),
        });
        if let ControlFlow::Break(span) = found {
            let span = if span == Span::empty() { part.span() } else { span };
            self.add(
                span,
                "EXISTS, IN or a scalar subquery in SELECT or CASE: some engine has no plan; use a join or a window",
            );
        }
    }

    fn cast(&mut self, inner: &Expr, to: &DataType) {
        if !matches!(to, DataType::Interval { .. }) {
            return;
        }
        match inner {
            Expr::Value(ValueWithSpan { value: Value::Placeholder(_), span }) => self.allow(*span),
            Expr::Value(ValueWithSpan { span, .. }) => self.add(*span, LITERAL_INTERVAL),
            _ => {}
        }
    }

    fn interval(&mut self, span: Span, value: &Expr) {
        if self.allowed.contains(&span) {
            return;
        }
        match value {
            Expr::Value(ValueWithSpan { value: Value::Placeholder(name), span: at }) => {
                self.allow(*at);
                self.add(*at, format!("`INTERVAL {name}`: write `CAST({name} AS INTERVAL)`"));
            }
            _ => self.add(span, LITERAL_INTERVAL),
        }
    }

    fn param(&mut self, name: &str, span: Span) {
        let Some(param) = name.strip_prefix('$').and_then(|name| Some((name, self.params.get(name)?))) else {
            let known = listed(self.params.keys().map(|name| format!("${name}")));
            let message =
                if known.is_empty() { "the header has no `params`".to_owned() } else { format!("there are {known}") };
            let bare = name.trim_start_matches('$');
            let near = near(bare, self.params.keys().map(String::as_str));
            let add = format!("`params = {{ {bare} = ... }}` in the header makes it one");
            return self.add_of_param(span, format!("no param `{name}`{near}; {message}; {add}"));
        };
        self.used.insert(param.0.to_owned());
        if param.1.is_interval() && !self.allowed.contains(&span) {
            self.add(span, format!("a span of time has no type by itself: write `CAST({name} AS INTERVAL)`"));
        }
    }

    /// Takes an expression out of the checks of its kind, because it is right where it stands.
    pub(super) fn allow(&mut self, span: Span) {
        self.allowed.push(span);
    }

    /// DESC says where NULLs go, as engines do not agree.
    pub(super) fn nulls_are_placed(&mut self, order: &[OrderByExpr]) {
        for by in order {
            if by.options.asc == Some(false) && by.options.nulls_first.is_none() {
                self.add(by.expr.span(), "DESC: engines differ on NULL; write NULLS LAST or NULLS FIRST");
            }
        }
    }
}

const LITERAL_INTERVAL: &str = "an interval as a literal: make it a param and write `CAST($name AS INTERVAL)`";

/// The expression without parentheses around it.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

fn is_interval(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Interval(_) => true,
        Expr::Cast { data_type, .. } => matches!(data_type, DataType::Interval { .. }),
        _ => false,
    }
}

/// What binds weaker than a comparison, and so is no side of one.
fn is_condition(expr: &Expr) -> bool {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
    match expr {
        Expr::BinaryOp { op, .. } => matches!(op, And | Or | Eq | NotEq | Lt | LtEq | Gt | GtEq),
        Expr::Like { .. } | Expr::Between { .. } | Expr::InList { .. } | Expr::InSubquery { .. } => true,
        _ => false,
    }
}

fn is_plain_pattern(pattern: &Expr) -> bool {
    match pattern {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => !text.contains('\\'),
        Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. }) => true,
        _ => false,
    }
}
