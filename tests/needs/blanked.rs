//! Whether `needs` tell what rules read: in cases that fire, columns are emptied.
//!
//! A rule that a need cannot silence does not need it. A rule that falls silent without a column, and is still said to see, promises
//! what it cannot keep: on a source that never fills that column it can say nothing, whatever happens.

use std::collections::BTreeSet;
use std::sync::Arc;

use a2a_drift::normalize::identity::{self, IdentitySettings};
use a2a_drift::rules::cases::case::Case;
use a2a_drift::rules::cases::run::Ready;
use a2a_drift::rules::{self, Engine, Need, Prepared};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray, new_null_array};
use arrow::compute::{cast, filter_record_batch};
use arrow::datatypes::DataType;

use crate::support::{Told, judge, library};

type Batches = Vec<(&'static str, RecordBatch)>;

/// Columns that say who, which and when: other facts are found by them. A source that does not say them is told of otherwise.
const IDENTIFY: [&str; 12] = [
    "agent",
    "agent_ref",
    "client",
    "client_ref",
    "fact_id",
    "record_id",
    "source",
    "observer",
    "observer_name",
    "body_sha256",
    "trace_id",
    "span_id",
];

/// Columns that rules cannot do without and that need not be said, with why.
const BESIDE: [(&str, &[&str]); 3] = [
    (
        "every fact of its kind has them: that there is one is what is needed",
        &[
            "task_events.state",
            "task_events.task_id",
            "task_events.origin",
            "task_events.operation",
            "artifact_parts.action",
            "artifact_parts.task_id",
            "artifact_parts.origin",
            "artifact_parts.snapshot",
            "push_deliveries.url",
            "push_deliveries.call_id",
            "card_skills.skill_id",
            "card_endpoints.host",
            "card_endpoints.host_class",
            "cards.host_class",
            "cards.contract_sha256",
        ],
    ),
    (
        "only what went wrong fills them: without them all may be well",
        &["push_deliveries.failure_class", "exchanges.error_reason", "exchanges.error_text_class"],
    ),
    (
        "only who asked for it fills them: where nobody did nothing can be broken",
        &["exchanges.push_scheme", "exchanges.push_schemes", "push_deliveries.signature"],
    ),
];

/// Needs without which a rule fires in part of what it finds, with why they stand all the same: without them most of it is not seen.
const IN_PART: [(&str, &str, &str); 5] = [
    ("lost_chunk", "artifact_parts.append", "one id twice in a snapshot has no chunks"),
    ("mode_mismatch", "card_skills.output_modes", "where no skill is named the modes of the whole card count"),
    (
        "runtime_contradicts_card",
        "exchanges.skill_id",
        "the message that names the skill fills task_events.skill_id too",
    ),
    ("task_id_reused", "exchanges.request_task_id", "two contexts of one id show without a message to it"),
    (
        "task_id_reused",
        "task_events.state or exchanges.error_text_class",
        "two principals of one id show without an end",
    ),
];

/// One rule, planned once.
struct Alone {
    rule: String,
    prepared: Prepared,
    runtime: tokio::runtime::Runtime,
}

impl Alone {
    fn of(rule: &str) -> Told<Self> {
        let engine: Engine = judge::engine()?.clone().only(&[rule]).map_err(|e| e.to_string())?;
        let prepared = engine.prepare().map_err(|e| e.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        Ok(Self { rule: rule.to_owned(), prepared, runtime })
    }

    /// Whether any row comes out.
    fn fires(&mut self, batches: &Batches) -> Told<bool> {
        let evaluation = self.runtime.block_on(self.prepared.evaluate(batches.clone())).map_err(|e| e.to_string())?;
        match evaluation.failures.is_empty() {
            true => Ok(evaluation.findings.iter().any(|finding| finding.rule == self.rule)),
            false => Err(format!("{:?}", evaluation.failures)),
        }
    }
}

/// The facts of a case, as rules get them.
fn batches(case: &Case) -> Told<Batches> {
    let ready = Ready::of(case, library::shelf()).map_err(|problem| problem.to_string())?;
    let (mut facts, _) = judge::facts(&ready.capture.files());
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts.make_set();
    facts.batches().map_err(|e| e.to_string())
}

/// The cases of a rule that fire, with their facts.
fn firing(rule: &str) -> Told<Vec<(String, Batches)>> {
    let cases = library::all_cases().into_iter().collect::<Told<Vec<_>>>()?;
    let own = cases.iter().filter(|case| case.rule == rule && case.fires());
    own.map(|case| Ok((case.name.clone(), batches(case)?))).collect()
}

/// A column without a value: `''` where it is never null.
fn emptied(column: &ArrayRef, is_key: bool) -> ArrayRef {
    if !is_key {
        return new_null_array(column.data_type(), column.len());
    }
    let empty: StringArray = (0..column.len()).map(|_| Some("")).collect();
    cast(&(Arc::new(empty) as ArrayRef), column.data_type()).unwrap()
}

fn texts(column: &ArrayRef) -> StringArray {
    cast(column, &DataType::Utf8).unwrap().as_string::<i32>().clone()
}

/// Facts with an empty column.
fn without(batches: &Batches, field: &Need) -> Batches {
    let one = |(table, batch): &(&'static str, RecordBatch)| {
        let at = batch.schema().index_of(&field.column);
        let Some(at) = at.ok().filter(|_| *table == field.table) else { return (*table, batch.clone()) };
        let schema = batch.schema();
        let is_key = !schema.field(at).is_nullable();
        let mut columns = batch.columns().to_vec();
        columns[at] = emptied(&columns[at], is_key);
        (*table, RecordBatch::try_new(schema, columns).unwrap())
    };
    batches.iter().map(one).collect()
}

fn field(text: &str) -> Need {
    Need::try_from(text.to_owned()).unwrap()
}

/// Text and nullable columns that have a value anywhere.
fn filled(batches: &Batches) -> BTreeSet<String> {
    let mut filled = BTreeSet::new();
    for (table, batch) in batches {
        for (at, column) in batch.schema().fields().iter().enumerate() {
            let values = batch.column(at);
            let is_time = matches!(values.data_type(), DataType::Timestamp(..));
            let has_value = match column.is_nullable() {
                true => values.null_count() < values.len(),
                false => !is_time && texts(values).iter().flatten().any(|text| !text.is_empty()),
            };
            if has_value && !IDENTIFY.contains(&column.name().as_str()) {
                filled.insert(format!("{table}.{}", column.name()));
            }
        }
    }
    filled
}

fn is_blind(rule: &str, batches: &Batches) -> Told<bool> {
    let coverage = rules::coverage(judge::engine()?.corpus(), batches);
    Ok(coverage.iter().any(|entry| entry.rule == rule && !entry.missing.is_empty()))
}

/// Facts without the rows that fill a field.
fn without_rows(batches: &Batches, field: &Need) -> Batches {
    let one = |(table, batch): &(&'static str, RecordBatch)| {
        if *table != field.table {
            return (*table, batch.clone());
        }
        let values = batch.column_by_name(&field.column).unwrap();
        let is_key = !batch.schema().field_with_name(&field.column).unwrap().is_nullable();
        let words = is_key.then(|| texts(values));
        let observer = field.observer.iter().map(|observer| ("observer", observer));
        let conditions: Vec<(StringArray, &String)> =
            (field.when.iter().map(|(column, value)| (column.as_str(), value)))
                .chain(observer)
                .map(|(column, value)| (texts(batch.column_by_name(column).unwrap()), value))
                .collect();
        let fills = |row: usize| {
            let has_value = words.as_ref().map_or_else(|| values.is_valid(row), |words| !words.value(row).is_empty());
            has_value && conditions.iter().all(|(column, wanted)| column.value(row) == *wanted)
        };
        let kept: BooleanArray = (0..batch.num_rows()).map(|row| Some(!fills(row))).collect();
        (*table, filter_record_batch(batch, &kept).unwrap())
    };
    batches.iter().map(one).collect()
}

/// Facts of which none fills a need, by whichever field.
fn unfilled(batches: &Batches, need: &Need) -> Batches {
    let fields = std::iter::once(need).chain(&need.or);
    fields.fold(batches.clone(), |batches, field| without_rows(&batches, field))
}

/// Columns in all cases that fire, each of which silences the rule in every one of them while it is said to see.
fn unsaid(alone: &mut Alone, cases: &[(String, Batches)]) -> Told<BTreeSet<String>> {
    let filled_in = cases.iter().map(|(_, batches)| filled(batches));
    let mut silencing = filled_in.reduce(|a, b| &a & &b).unwrap_or_default();
    silencing.retain(|column| !BESIDE.iter().any(|(_, columns)| columns.contains(&column.as_str())));
    for (_, batches) in cases {
        for column in silencing.clone() {
            let blanked = without(batches, &field(&column));
            if is_blind(&alone.rule, &blanked)? || alone.fires(&blanked)? {
                silencing.remove(&column);
            }
        }
    }
    Ok(silencing)
}

/// Needs of which nothing is filled in a case that fires all the same.
fn idle(alone: &mut Alone, cases: &[(String, Batches)]) -> Told<Vec<String>> {
    let needs = judge::engine()?.corpus().rule(&alone.rule).ok_or("no such rule")?.header.needs.clone();
    let mut idle = Vec::new();
    let in_part = |need: &&Need| IN_PART.iter().any(|(rule, text, _)| *rule == alone.rule && *text == need.text);
    let (in_part, whole): (Vec<&Need>, Vec<&Need>) = needs.iter().partition(in_part);
    for (case, batches) in cases {
        for need in &whole {
            if alone.fires(&unfilled(batches, need))? {
                idle.push(format!("{case} fires without {}", need.text));
            }
        }
    }
    // What stands in the list must stand there with reason.
    for need in in_part {
        let mut fires = false;
        for (_, batches) in cases {
            fires |= alone.fires(&unfilled(batches, need))?;
        }
        if !fires {
            idle.push(format!("{} is needed whole: no exception", need.text));
        }
    }
    Ok(idle)
}

/// Holds the needs of a rule against what silences it.
pub fn hold(rule: &str) -> Told<()> {
    let mut alone = Alone::of(rule)?;
    let cases = firing(rule)?;
    for (case, batches) in &cases {
        if is_blind(rule, batches)? || !alone.fires(batches)? {
            return Err(format!("{case}: the rule is blind, or does not fire"));
        }
    }
    let idle = idle(&mut alone, &cases)?;
    let unsaid = unsaid(&mut alone, &cases)?;
    match idle.is_empty() && unsaid.is_empty() {
        true => Ok(()),
        false => Err(format!("not needed: {idle:#?}\nneeded, and not said so: {unsaid:#?}")),
    }
}
