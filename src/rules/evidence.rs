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
            beside: false,
            says: says(table, &text),
        })
    }

    /// Has cards of one contract say in what else they differ, so that before and after do not read the same.
    pub(super) fn tell_apart(&self, evidence: &mut [Evidence]) {
        let cell = |fact_id: &str, column: &str| {
            let place = self.places.get(fact_id).and_then(|&(table, row)| Some((self.tables.get(table)?, row)));
            place.map(|((_, batch), row)| Cell::named(batch, column, row).to_string()).unwrap_or_default()
        };
        let is_card = |evidence: &&mut Evidence| {
            evidence.table == "cards" && !cell(&evidence.fact_id, "contract_sha256").is_empty()
        };
        let mut cards: Vec<&mut Evidence> = evidence.iter_mut().filter(is_card).collect();
        let differs = |column: &str| {
            let hashes = cards.iter().map(|card| cell(&card.fact_id, column)).filter(|hash| !hash.is_empty());
            hashes.collect::<HashSet<String>>().len() > 1
        };
        let Some(part) = PARTS.into_iter().find(|(_, column)| differs(column)) else { return };
        for evidence in &mut cards {
            evidence.says = card(&|column: &str| cell(&evidence.fact_id, column), part);
        }
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
        "cards" => card(column, CONTRACT),
        "card_skills" => format!("skill {}", column("skill_id")),
        "card_endpoints" => format!("{} {}", or("binding", "endpoint"), column("url")),
        "push_deliveries" => format!("POST {}{}", or("http_status", "sent"), maybe(" ", "state")),
        "signing_keys" => format!("key {} ({})", or("kid", "without id"), column("origin")),
        "policy_changes" => format!("{} {}", column("skill_id"), column("change")),
        other => other.to_owned(),
    }
}

/// Digits of a hash that tell contracts apart in a sentence.
const SHORT: usize = 8;
/// The part of a card that is told without a word for it, and its hash.
const CONTRACT: (&str, &str) = ("", "contract_sha256");
/// Parts in which cards differ, those that matter most first.
const PARTS: [(&str, &str); 4] =
    [CONTRACT, ("security ", "security_sha256"), ("wording ", "descriptive_sha256"), ("body ", "body_sha256")];

/// What a look at a card says, with the hash of a part of it.
fn card(column: &impl Fn(&str) -> String, (word, hash): (&str, &str)) -> String {
    let status = match (column("http_status"), column("origin")) {
        (status, origin) if status.is_empty() => format!("({origin})"),
        (status, _) => format!("({status})"),
    };
    // Who looks at the public card sees another one.
    let kind = if column("extended") == "true" { "extended card" } else { "card" };
    let is_there = ["body_sha256", "contract_sha256"].iter().any(|hash| !column(hash).is_empty());
    let hash: String = column(hash).chars().take(SHORT).collect();
    let hash = if hash.is_empty() { hash } else { format!("{word}{hash}") };
    let parts = match (!is_there, column("not_modified").as_str()) {
        (_, "true") => vec![format!("{kind} not modified"), status],
        (true, _) => vec![format!("no {kind}"), status],
        (false, _) => vec![kind.to_owned(), column("version"), hash, status],
    };
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::ArrayRef;

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
            (
                "cards",
                &[("version", "2"), ("body_sha256", "ff"), ("extended", "true"), ("origin", "call")],
                "extended card 2 (call)",
            ),
            ("cards", &[("extended", "true"), ("http_status", "401")], "no extended card (401)"),
            ("cards", &[("http_status", "404"), ("origin", "fetch")], "no card (404)"),
            ("cards", &[("body_sha256", "ff"), ("version", "2"), ("origin", "file")], "card 2 (file)"),
            ("push_deliveries", &[("http_status", "401"), ("state", "completed")], "POST 401 completed"),
            ("push_deliveries", &[], "POST sent"),
            ("signing_keys", &[("kid", "k1"), ("origin", "jwks")], "key k1 (jwks)"),
            ("policy_changes", &[("skill_id", "refund"), ("change", "revoked")], "refund revoked"),
        ] {
            let column = |name: &str| {
                columns.iter().find(|(n, _)| *n == name).map_or_else(String::new, |(_, v)| (*v).to_owned())
            };
            assert_eq!(says(table, &column), expected);
        }
    }
    #[test]
    fn cards_of_one_contract_say_in_what_they_differ() {
        let text = |values: [&str; 2]| Arc::new(StringViewArray::from_iter_values(values)) as ArrayRef;
        let says = |contract: [&str; 2], security: [&str; 2]| {
            let cards = RecordBatch::try_from_iter([
                ("fact_id", text(["a", "b"])),
                ("version", text(["1", "1"])),
                ("http_status", text(["200", "200"])),
                ("contract_sha256", text(contract)),
                ("security_sha256", text(security)),
                ("body_sha256", text(["0000000a", "0000000b"])),
            ])
            .unwrap();
            let rows = RecordBatch::try_from_iter([("before_fact_id", text(["a", "b"]))]).unwrap();
            let index = FactIndex::over(vec![("cards", cards)], std::iter::once(&rows));
            let mut evidence = ["a", "b"].map(|id| index.evidence("look", id).unwrap());
            index.tell_apart(&mut evidence);
            evidence.map(|evidence| evidence.says)
        };
        let (same, other) = (["00000001ff"; 2], ["00000002ff", "00000003ff"]);
        assert_eq!(says(other, same), ["card 1 00000002 (200)", "card 1 00000003 (200)"]);
        assert_eq!(says(same, other), ["card 1 security 00000002 (200)", "card 1 security 00000003 (200)"]);
        assert_eq!(says(same, same), ["card 1 body 0000000a (200)", "card 1 body 0000000b (200)"]);
    }
}
