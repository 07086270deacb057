//! Words of closed sets that a rule's query writes out: severities, confidences, suspects.
//!
//! In: a parsed query. Out: texts that are none of the words there are, each where it stands. Follows a column through CASE, UNION
//! and the queries that it comes from; what only facts decide is left to the run.

use std::collections::BTreeSet;

use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Query as SqlQuery, Select, SelectItem, SetExpr, Statement, TableFactor, Value, ValueWithSpan,
};

use super::header::Suspect;
use super::problem::{listed, near};
use super::query::{self, Query};
use super::source::Place;
use crate::findings::{Confidence, Severity};

/// A column of findings and the words that it may hold.
fn columns() -> [(&'static str, Vec<&'static str>); 3] {
    [
        ("severity", [Severity::Info, Severity::Warning, Severity::Critical].map(Severity::as_str).to_vec()),
        (
            "confidence",
            [Confidence::Possible, Confidence::Likely, Confidence::Confirmed].map(Confidence::as_str).to_vec(),
        ),
        ("suspect", Suspect::ALL.map(Suspect::as_str).to_vec()),
    ]
}

/// Every such text of a query, and severities above the one that the header gives.
pub(super) fn problems(query: &Query, most: Severity) -> BTreeSet<(Place, String)> {
    let mut found = BTreeSet::new();
    let Statement::Query(sql) = &query.statement else { return found };
    for (column, words) in columns() {
        let mut look = Look { texts: BTreeSet::new(), ctes: Vec::new(), seen: BTreeSet::new() };
        look.query(sql, column);
        for (place, text) in look.texts {
            let is_above = || column == "severity" && Severity::parse(&text).is_some_and(|severity| severity > most);
            if !words.contains(&text.as_str()) {
                let near = near(&text, words.iter().copied());
                found.insert((place, format!("`{text}` is no {column}{near}; there are {}", listed(&words))));
            } else if is_above() {
                let most = most.as_str();
                let message = format!("`{text}` is above `severity = \"{most}\"` of the header, which is the highest");
                found.insert((place, message));
            }
        }
    }
    found
}

/// The texts that a column of a query may have by its own words.
struct Look<'a> {
    texts: BTreeSet<(Place, String)>,
    /// Those that can be read here, the nearest last.
    ctes: Vec<&'a Cte>,
    /// Columns of CTEs that were looked at.
    seen: BTreeSet<(Place, String)>,
}

impl<'a> Look<'a> {
    fn query(&mut self, query: &'a SqlQuery, column: &str) {
        let outside = self.ctes.len();
        self.ctes.extend(query.with.iter().flat_map(|with| &with.cte_tables));
        self.branches(&query.body, column, None);
        self.ctes.truncate(outside);
    }

    /// The branches of a UNION have the columns of the first, by their order.
    fn branches(&mut self, body: &'a SetExpr, column: &str, nth: Option<usize>) {
        match body {
            SetExpr::Query(query) => self.query(query, column),
            SetExpr::SetOperation { left, right, .. } => {
                self.branches(left, column, nth);
                self.branches(right, column, nth.or_else(|| position(left, column)));
            }
            SetExpr::Select(select) => {
                let named = || select.projection.iter().find(|item| name(item).as_deref() == Some(column));
                let item = nth.map_or_else(named, |nth| select.projection.get(nth));
                if let Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item {
                    self.expr(expr, select);
                }
            }
            _ => {}
        }
    }

    fn expr(&mut self, expr: &'a Expr, select: &'a Select) {
        match expr {
            // An empty text stands for none.
            Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), span }) if !text.is_empty() => {
                self.texts.extend(query::place(span.start).map(|place| (place, text.clone())));
            }
            Expr::Case { conditions, else_result, .. } => {
                conditions.iter().for_each(|when| self.expr(&when.result, select));
                else_result.iter().for_each(|other| self.expr(other, select));
            }
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => self.expr(inner, select),
            Expr::Identifier(column) => self.column(None, &column.value, select),
            Expr::CompoundIdentifier(names) => {
                if let [table, column] = names.as_slice() {
                    self.column(Some(&table.value), &column.value, select);
                }
            }
            _ => {}
        }
    }

    /// Goes on in the subqueries and CTEs from which a column comes.
    fn column(&mut self, table: Option<&str>, column: &str, select: &'a Select) {
        let column = column.to_lowercase();
        let is_meant = |alias: &str| table.is_none_or(|table| table.eq_ignore_ascii_case(alias));
        let joined = select
            .from
            .iter()
            .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
        for factor in joined {
            match factor {
                TableFactor::Derived { subquery, alias, .. }
                    if is_meant(alias.as_ref().map_or("", |alias| &alias.name.value)) =>
                {
                    self.query(subquery, &column);
                }
                TableFactor::Table { name, alias, .. } => {
                    let name = name.to_string();
                    if is_meant(alias.as_ref().map_or(&name, |alias| &alias.name.value)) {
                        self.cte(&name, &column);
                    }
                }
                _ => {}
            }
        }
    }

    /// A CTE reads those before it.
    fn cte(&mut self, name: &str, column: &str) {
        let is_it = |cte: &&Cte| cte.alias.name.value.eq_ignore_ascii_case(name);
        let Some(at) = self.ctes.iter().rposition(is_it) else { return };
        let later = self.ctes.split_off(at);
        if let Some(cte) = later.first() {
            let place = query::place(cte.alias.name.span.start).unwrap_or_default();
            if self.seen.insert((place, column.to_owned())) {
                self.query(&cte.query, column);
            }
        }
        self.ctes.extend(later);
    }
}

/// The name of a column of the result.
fn name(item: &SelectItem) -> Option<String> {
    let name = match item {
        SelectItem::ExprWithAlias { alias, .. } => alias,
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => name,
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => names.last()?,
        _ => return None,
    };
    Some(name.value.to_lowercase())
}

/// Which column of a query has a name.
fn position(body: &SetExpr, column: &str) -> Option<usize> {
    match body {
        SetExpr::Select(select) => select.projection.iter().position(|item| name(item).as_deref() == Some(column)),
        SetExpr::Query(query) => position(&query.body, column),
        SetExpr::SetOperation { left, .. } => position(left, column),
        _ => None,
    }
}
