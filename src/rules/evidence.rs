//! The facts that findings rest on.
//!
//! In: batches of facts and rule rows that name `fact_id`s. Out: [`Evidence`], with a few words made of the fact's columns.
//! Indexes only the facts that are named.

use std::collections::{HashMap, HashSet};

use arrow::array::{RecordBatch, StringViewArray};

use super::cell::Cell;
use crate::findings::Evidence;
use crate::instant::Instant;

/// The part of an evidence column's finding: its name without `_fact_id` or `_fact_ids`; none for another column.
pub(super) fn role(column: &str) -> Option<&str> {
    let stem = column.strip_suffix("fact_ids").or_else(|| column.strip_suffix("fact_id"))?;
    match stem.strip_suffix('_') {
        None if stem.is_empty() => Some("fact"),
        other => other.filter(|role| !role.is_empty()),
    }
}

/// The ids in an evidence column's value: one or a list.
pub(super) fn ids(cell: Cell) -> Vec<String> {
    match cell {
        Cell::List(items) => items.into_iter().filter_map(Cell::into_text).collect(),
        cell => cell.into_text().into_iter().collect(),
    }
}

/// The facts that the evidence columns of rule rows name.
pub(crate) fn named(rows: &RecordBatch) -> HashSet<String> {
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns()).filter(|(field, _)| role(field.name()).is_some());
    columns.flat_map(|(_, column)| (0..rows.num_rows()).flat_map(|row| ids(Cell::of(column, row)))).collect()
}

/// Where the facts are that rule rows name.
pub(crate) struct FactIndex {
    tables: Vec<(&'static str, RecordBatch)>,
    /// Table and row by `fact_id`.
    places: HashMap<String, (usize, usize)>,
}

impl FactIndex {
    /// Indexes the facts that the evidence columns of some rule results name.
    pub(crate) fn over<'a>(
        tables: Vec<(&'static str, RecordBatch)>,
        results: impl Iterator<Item = &'a RecordBatch>,
    ) -> Self {
        let named: HashSet<String> = results.flat_map(named).collect();
        let mut places = HashMap::with_capacity(named.len());
        for (table, (_, batch)) in tables.iter().enumerate() {
            let ids = batch.column_by_name("fact_id").and_then(|ids| ids.as_any().downcast_ref::<StringViewArray>());
            for (row, id) in ids.into_iter().flatten().enumerate() {
                if let Some(id) = id.filter(|id| named.contains(*id)) {
                    places.entry(id.to_owned()).or_insert((table, row));
                }
            }
        }
        Self { tables, places }
    }

    /// A fact as evidence; none when no table has it.
    pub(super) fn evidence(&self, role: &str, fact_id: &str) -> Option<Evidence> {
        let &(table, row) = self.places.get(fact_id)?;
        let (table, batch) = self.tables.get(table)?;
        let text = |column: &str| Cell::named(batch, column, row).to_string();
        Some(Evidence {
            role: role.to_owned(),
            fact_id: fact_id.to_owned(),
            table: (*table).to_owned(),
            observer: text("observer"),
            observed_at: Cell::named(batch, "observed_at", row).as_time().unwrap_or(Instant(0)),
            source: text("source"),
            position: text("position"),
            trace_id: text("trace_id"),
            span_id: text("span_id"),
            client: text("client"),
            task_id: text("task_id"),
            says: says(table, &text),
        })
    }
}

/// What a fact says, in a few words.
fn says(table: &str, column: &impl Fn(&str) -> String) -> String {
    let or = |name: &str, unknown: &str| Some(column(name)).filter(|v| !v.is_empty()).unwrap_or(unknown.to_owned());
    let maybe = |before: &str, name: &str| match column(name) {
        value if value.is_empty() => value,
        value => format!("{before}{value}"),
    };
    match table {
        "exchanges" => {
            let code =
                Some(maybe("/", "error_code")).filter(|c| !c.is_empty()).unwrap_or_else(|| maybe(" ", "http_status"));
            format!("{} -> {}{code}", or("operation", "unknown operation"), or("outcome", "no answer"))
        }
        "task_events" => format!("{}{} ({})", or("state", "unknown"), maybe(": ", "reason_class"), column("origin")),
        "artifact_parts" if column("action") == "pruned" => format!("{} pruned", column("artifact_id")),
        "artifact_parts" => format!("{} {}", column("artifact_id"), or("media_type", "untyped")),
        "cards" => card(column),
        "card_skills" => format!("skill {}", column("skill_id")),
        "card_endpoints" => format!("{} {}", or("binding", "endpoint"), column("url")),
        "push_deliveries" => format!("POST {}{}", or("http_status", "unanswered"), maybe(" ", "state")),
        "signing_keys" => format!("key {} ({})", or("kid", "without id"), column("origin")),
        "policy_changes" => format!("{} {}", column("skill_id"), column("change")),
        other => other.to_owned(),
    }
}

/// Digits of a hash that tell contracts apart in a sentence.
const SHORT: usize = 8;

fn card(column: &impl Fn(&str) -> String) -> String {
    let status = match (column("http_status"), column("origin")) {
        (status, origin) if status.is_empty() => format!("({origin})"),
        (status, _) => format!("({status})"),
    };
    let contract: String = column("contract_sha256").chars().take(SHORT).collect();
    let parts = match (column("body_sha256").is_empty() && contract.is_empty(), column("not_modified").as_str()) {
        (_, "true") => vec!["card not modified".to_owned(), status],
        (true, _) => vec!["no card".to_owned(), status],
        (false, _) => vec!["card".to_owned(), column("version"), contract, status],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_the_name_of_the_column_without_its_end() {
        let roles = ["client_fact_id", "look_fact_ids", "fact_id", "fact_ids", "_fact_id", "artifact_id", "fact_id_of"]
            .map(role);
        assert_eq!(roles, [Some("client"), Some("look"), Some("fact"), Some("fact"), None, None, None]);
    }

    #[test]
    fn a_fact_says_what_it_is_in_a_few_words() {
        for (table, columns, expected) in [
            (
                "exchanges",
                &[("operation", "GetTask"), ("outcome", "not-found"), ("error_code", "-32001"), ("http_status", "200")]
                    [..],
                "GetTask -> not-found/-32001",
            ),
            (
                "exchanges",
                &[("operation", "SendMessage"), ("outcome", "auth"), ("http_status", "401")],
                "SendMessage -> auth 401",
            ),
            ("exchanges", &[], "unknown operation -> no answer"),
            ("task_events", &[("state", "completed"), ("origin", "poll")], "completed (poll)"),
            (
                "task_events",
                &[("state", "failed"), ("reason_class", "unknown-skill"), ("origin", "reply")],
                "failed: unknown-skill (reply)",
            ),
            (
                "artifact_parts",
                &[("artifact_id", "a1"), ("media_type", "text/csv"), ("action", "received")],
                "a1 text/csv",
            ),
            ("artifact_parts", &[("artifact_id", "a1"), ("action", "pruned")], "a1 pruned"),
            (
                "cards",
                &[
                    ("version", "1.0.0"),
                    ("contract_sha256", "0123456789abcdef"),
                    ("body_sha256", "ff"),
                    ("http_status", "200"),
                ],
                "card 1.0.0 01234567 (200)",
            ),
            ("cards", &[("not_modified", "true"), ("http_status", "304")], "card not modified (304)"),
            ("cards", &[("http_status", "404"), ("origin", "fetch")], "no card (404)"),
            ("cards", &[("body_sha256", "ff"), ("version", "2"), ("origin", "file")], "card 2 (file)"),
            ("push_deliveries", &[("http_status", "401"), ("state", "completed")], "POST 401 completed"),
            ("push_deliveries", &[], "POST unanswered"),
            ("signing_keys", &[("kid", "k1"), ("origin", "jwks")], "key k1 (jwks)"),
            ("policy_changes", &[("skill_id", "refund"), ("change", "revoked")], "refund revoked"),
        ] {
            let column = |name: &str| {
                columns.iter().find(|(n, _)| *n == name).map_or_else(String::new, |(_, v)| (*v).to_owned())
            };
            assert_eq!(says(table, &column), expected);
        }
    }
}
