//! Thresholds of queries: defaults from the header, overrides from outside, literals in the query.
//!
//! In: a parsed query and values by name. Out: the query with each `$name` replaced by a literal, so that planning knows
//! its type wherever it stands. Never changes anything else in the text.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Statement as SqlStatement, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Span;
use serde::Deserialize;

/// The value of a `$param`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a param must be a string, a number or a boolean")]
pub enum Param {
    /// A truth value.
    Flag(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Number(f64),
    /// Text; an interval is text such as `30 seconds`.
    Text(String),
}

/// As it is written in TOML.
impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Int(int) => int.fmt(f),
            // `{:?}` keeps the fraction of 2.0.
            Self::Number(float) => write!(f, "{float:?}"),
            Self::Text(text) => toml::Value::from(text.as_str()).fmt(f),
        }
    }
}

/// Values by param name.
pub type Params = BTreeMap<String, Param>;

/// The highest number of a span of time, of whatever unit.
const LONGEST: f64 = 1e6;

impl Param {
    /// Kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Flag(_) => "a boolean",
            Self::Int(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Text(_) if self.is_interval() => "a span of time such as \"30 seconds\"",
            Self::Text(_) => "a string",
        }
    }

    /// This value in the kind of the default that it replaces; none when the kinds do not fit.
    pub(super) fn in_kind_of(&self, default: &Self) -> Option<Self> {
        match (self, default) {
            (Self::Int(value), Self::Number(_)) => Some(Self::Number(*value as f64)),
            _ if default.is_interval() && !self.is_interval() => None,
            _ if std::mem::discriminant(self) == std::mem::discriminant(default) => Some(self.clone()),
            _ => None,
        }
    }

    /// Whether it reads as a span of time: a number and a unit.
    pub(super) fn is_interval(&self) -> bool {
        const UNITS: [&str; 9] =
            ["millisecond", "second", "minute", "hour", "day", "week", "month", "year", "microsecond"];
        let Self::Text(text) = self else { return false };
        let mut words = text.split_whitespace();
        let (Some(number), Some(unit)) = (words.next(), words.next()) else { return false };
        // Nothing is due before it happens, and nothing in a thousand years.
        number.parse::<f64>().is_ok_and(|number| (0.0..=LONGEST).contains(&number))
            && UNITS.contains(&unit.trim_end_matches('s'))
    }

    /// A value of each kind, and what to call the kind where one is to be written.
    pub(super) fn samples() -> [(&'static str, Self); 5] {
        [
            ("a span of time such as \"30 seconds\"", Self::Text("30 seconds".to_owned())),
            ("a whole number", Self::Int(1)),
            ("a number with a fraction", Self::Number(0.5)),
            ("a string", Self::Text("text".to_owned())),
            ("true or false", Self::Flag(true)),
        ]
    }

    fn literal(&self, span: Span) -> Expr {
        let value = |value: Value| Expr::Value(ValueWithSpan { value, span });
        let number = |text: String| match text.strip_prefix('-') {
            Some(size) => {
                let expr = Box::new(value(Value::Number(size.to_owned(), false)));
                Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Minus, expr }))
            }
            None => value(Value::Number(text, false)),
        };
        match self {
            Self::Flag(flag) => value(Value::Boolean(*flag)),
            Self::Int(int) => number(int.to_string()),
            // `{:?}` keeps the fraction of 2.0, without which it would be an integer.
            Self::Number(float) => number(format!("{float:?}")),
            Self::Text(text) => value(Value::SingleQuotedString(text.clone())),
        }
    }
}

struct Binder<'a> {
    params: &'a Params,
    /// What has no value is NULL, which fits everywhere.
    leniently: bool,
}

impl VisitorMut for Binder<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Value(ValueWithSpan { value: Value::Placeholder(name), span }) = expr {
            match name.strip_prefix('$').and_then(|name| self.params.get(name)) {
                Some(param) => *expr = param.literal(*span),
                None if self.leniently => *expr = Expr::Value(ValueWithSpan { value: Value::Null, span: *span }),
                None => {}
            }
        }
        ControlFlow::Continue(())
    }
}

/// The query with the params in it. A `$name` without a value stays, and planning refuses it.
pub(super) fn bind(query: &SqlStatement, params: &Params) -> Statement {
    bound(query, Binder { params, leniently: false })
}

/// The query with the params in it, and NULL for each `$name` without a value: it can be looked at, though not run.
pub(super) fn bind_leniently(query: &SqlStatement, params: &Params) -> Statement {
    bound(query, Binder { params, leniently: true })
}

fn bound(query: &SqlStatement, mut binder: Binder<'_>) -> Statement {
    let mut bound = query.clone();
    let _ = VisitMut::visit(&mut bound, &mut binder);
    Statement::Statement(Box::new(bound))
}
