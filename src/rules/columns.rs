//! What a query yields, against what its header promises.
//!
//! In: headers, schemas of tables and results. Out: problems. Reads no SQL.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::{DataType, SchemaRef};

use super::corpus::{Rule, View};
use super::evidence;
use super::header::Mark;
use super::needs::Need;
use super::problem::{Problem, listed, near};

/// Schemas by table, view or rule.
pub(super) type Schemas = BTreeMap<String, SchemaRef>;

/// What is wrong with a rule's header by itself and by the tables there are.
pub(super) fn rule_header(rule: &Rule, tables: &Schemas) -> Vec<Problem> {
    let header = &rule.header;
    let at = |key: &str, message: String| Problem::at(&rule.path, rule.source.key_place(key), message);
    let mut problems = Vec::new();
    for (key, list) in [("by", &header.by), ("entity", &header.entity)] {
        if list.is_empty() {
            problems.push(at(key, format!("`{key}` names no column")));
        }
        if list.iter().collect::<BTreeSet<_>>().len() < list.len() {
            problems.push(at(key, format!("`{key}` names a column twice")));
        }
    }
    let outside: Vec<_> = header.by.iter().filter(|by| !header.entity.contains(by)).collect();
    if !outside.is_empty() {
        problems.push(at("entity", format!("`entity` contains `by`, but lacks {}", listed(outside))));
    }
    if header.needs.is_empty() {
        problems.push(at("needs", "`needs` is empty: name the fields without which the rule is blind".to_owned()));
    }
    problems.extend(
        header
            .needs
            .iter()
            .flat_map(Need::fields)
            .filter_map(|need| unknown_need(need, tables))
            .map(|m| at("needs", m)),
    );
    for (key, text) in [
        ("title", header.title.as_str()),
        ("since", &header.since),
        ("summary", header.summary.as_str()),
        ("because", header.because.as_str()),
        ("next", header.next.as_str()),
    ] {
        if text.trim().is_empty() {
            problems.push(at(key, format!("`{key}` is empty")));
        }
    }
    problems
}

fn unknown_need(need: &Need, tables: &Schemas) -> Option<String> {
    let Some(schema) = tables.get(&need.table) else {
        let near = near(&need.table, tables.keys().map(String::as_str));
        return Some(format!("no table `{}` of facts{near}; there are {}", need.table, listed(tables.keys())));
    };
    let mut columns = std::iter::once(&need.column).chain(need.when.iter().map(|(column, _)| column));
    let unknown = columns.find(|column| schema.field_with_name(column).is_err())?;
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    let (near, valid) = (near(unknown, names()), listed(names()));
    Some(format!("`{}` has no column `{unknown}`{near}; it has {valid}", need.table))
}

/// What is wrong with what a rule yields.
pub(super) fn rule_output(rule: &Rule, schema: &SchemaRef) -> Vec<Problem> {
    let header = &rule.header;
    let mut problems = Vec::new();
    let yields = listed(schema.fields().iter().map(|field| field.name()));
    let has = |column: &str| schema.field_with_name(column).is_ok();
    for (key, columns) in [
        ("by", header.by.iter().map(String::as_str).collect::<Vec<_>>()),
        ("entity", header.entity.iter().map(String::as_str).collect()),
        ("summary", header.summary.columns().collect()),
        ("because", header.because.columns().collect()),
        ("next", header.next.columns().collect()),
    ] {
        for column in columns.into_iter().filter(|column| !has(column)).collect::<BTreeSet<_>>() {
            let message = format!("`{key}` names `{column}`, which the query does not yield; it yields {yields}");
            problems.push(Problem::at(&rule.path, rule.source.key_place(key), message));
        }
    }
    problems.extend(nouns(rule, schema));
    let roles: BTreeSet<&str> = schema.fields().iter().filter_map(|field| evidence::role(field.name())).collect();
    for role in header.beside.iter().filter(|role| !roles.contains(role.as_str())) {
        let message =
            format!("`beside` names `{role}`, which is no evidence of the query; there is {}", listed(&roles));
        problems.push(Problem::at(&rule.path, rule.source.key_place("beside"), message));
    }
    let mut at_query = |message: String| problems.push(Problem::at(&rule.path, (rule.query.line, 1), message));
    for column in ["observed_at", "confidence"].into_iter().filter(|column| !has(column)) {
        at_query(format!("the query does not yield `{column}`; it yields {yields}"));
    }
    if roles.is_empty() {
        at_query("the query yields no evidence: a column `..._fact_id`, or a list `..._fact_ids`".to_owned());
    }
    for field in schema.fields() {
        // What has no type at all is told where types are looked at.
        let has_type = field.data_type() != &DataType::Null;
        if let Some(expected) = expected(field.name()).filter(|kind| has_type && !kind.holds(field.data_type())) {
            at_query(format!("`{}` must be {}, but is {}", field.name(), expected.words(), field.data_type()));
        }
    }
    for name in twice(schema) {
        at_query(format!("two columns are named `{name}`"));
    }
    if has("over_at") && !header.lasts {
        at_query("the query yields `over_at`, which ends findings of a rule with `lasts = true` only".to_owned());
    }
    problems
}

/// Columns that stand with a noun in a sentence and are no numbers.
fn nouns(rule: &Rule, schema: &SchemaRef) -> Vec<Problem> {
    let header = &rule.header;
    let is_no_number = |column: &&str| {
        let field = schema.field_with_name(column);
        field.is_ok_and(|field| field.data_type() != &DataType::Null && !Kind::Whole.holds(field.data_type()))
    };
    let mut problems = Vec::new();
    for (key, template) in [("summary", &header.summary), ("because", &header.because), ("next", &header.next)] {
        for column in template.numbers().filter(is_no_number).collect::<BTreeSet<_>>() {
            let message =
                format!("`{key}` puts a noun behind `{column}`, which is no whole number: write `{{{column}}}`");
            problems.push(Problem::at(&rule.path, rule.source.key_place(key), message));
        }
    }
    problems
}

/// What is wrong with what a view yields.
pub(super) fn view_output(view: &View, schema: &SchemaRef) -> Vec<Problem> {
    let mut problems = Vec::new();
    if view.header.title.trim().is_empty() {
        problems.push(Problem::at(&view.path, view.source.key_place("title"), "`title` is empty"));
    }
    let by = view.header.by.as_deref();
    if by.is_some_and(<[String]>::is_empty) {
        problems.push(Problem::at(
            &view.path,
            view.source.key_place("by"),
            "`by` names no column; an inline view has none",
        ));
    }
    for column in by.unwrap_or_default().iter().filter(|column| schema.field_with_name(column).is_err()) {
        let message = format!("`by` names `{column}`, which the query does not yield");
        problems.push(Problem::at(&view.path, view.source.key_place("by"), message));
    }
    for name in twice(schema) {
        problems.push(Problem::at(&view.path, (view.query.line, 1), format!("two columns are named `{name}`")));
    }
    problems
}

/// What is wrong with marks: they name inputs of the query, and columns of those.
pub(super) fn marks(marks: &BTreeMap<String, Mark>, inputs: &Schemas) -> Vec<String> {
    let mut problems = Vec::new();
    for (input, mark) in marks {
        let Some(schema) = inputs.get(input) else {
            problems.push(format!(
                "`marks` names `{input}`, which the query does not read; it reads {}",
                listed(inputs.keys())
            ));
            continue;
        };
        if mark.on.is_empty() {
            problems.push(format!("`marks` of `{input}` is on no column"));
        }
        for column in mark.on.iter().chain(mark.during.iter().flatten()) {
            if schema.field_with_name(column).is_err() {
                problems.push(format!("`marks` names `{column}`, which `{input}` does not have"));
            }
        }
    }
    problems
}

fn twice(schema: &SchemaRef) -> BTreeSet<&str> {
    let mut seen = BTreeSet::new();
    schema.fields().iter().map(|field| field.name().as_str()).filter(|name| !seen.insert(*name)).collect()
}

#[derive(Clone, Copy)]
enum Kind {
    Time,
    Text,
    Texts,
    Whole,
}

impl Kind {
    fn holds(self, data_type: &DataType) -> bool {
        match (self, data_type) {
            (Self::Time, other) => matches!(other, DataType::Timestamp(_, None)),
            (Self::Text, other) => is_text(other),
            (Self::Texts, DataType::List(item) | DataType::LargeList(item)) => is_text(item.data_type()),
            (Self::Texts, _) => false,
            (Self::Whole, other) => other.is_integer(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Time => "a timestamp",
            Self::Text => "text",
            Self::Texts => "a list of text",
            Self::Whole => "a whole number",
        }
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8)
}

/// What a column with a meaning of its own must be.
fn expected(column: &str) -> Option<Kind> {
    match column {
        "observed_at" | "due_at" | "until_at" | "over_at" | "first_seen" | "last_seen" => Some(Kind::Time),
        "severity" | "confidence" | "suspect" | "because" | "agent" | "client" | "skill_id" | "task_id" | "url" => {
            Some(Kind::Text)
        }
        "count" => Some(Kind::Whole),
        name if evidence::role(name).is_some() => Some(if name.ends_with('s') { Kind::Texts } else { Kind::Text }),
        _ => None,
    }
}
