//! The facts of real captures through the store, and the program over what it wrote.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use a2a_drift::decode::record::{Record, Reject, Sink};
use a2a_drift::decode::{self, Limits};
use a2a_drift::instant::Instant;
use a2a_drift::normalize::Normalizer;
use a2a_drift::store::{Entry, Store, StoreSettings};
use a2a_drift::tables::Facts;
use serde_json::Value;

use crate::script::ids;

/// Runs whose exchanges, spans and logs are about the same calls, so that identities are found across them.
const RUNS: [&[&str]; 2] = [
    &[
        "tests/captures/a2a-python-1.3.0/jsonrpc.exchanges.ndjson",
        "tests/captures/a2a-python-1.3.0/jsonrpc.logs.otlp.jsonl",
        "tests/captures/a2a-python-1.3.0/jsonrpc.traces-1.otlp.jsonl",
        "tests/captures/a2a-python-1.3.0/jsonrpc.traces-2.otlp.jsonl",
    ],
    &[
        "tests/captures/a2a-python-1.3.0/rest.traces-1.otlp.jsonl",
        "tests/captures/a2a-python-1.3.0/rest.traces-2.otlp.jsonl",
        "tests/captures/a2a-python-1.3.0/rest.logs.otlp.jsonl",
    ],
];

struct Intake(Normalizer);

impl Sink for Intake {
    fn record(&mut self, record: Record) {
        self.0.record(record);
    }

    fn reject(&mut self, _: Reject) {}

    fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
}

/// Facts of captures, identities not resolved.
fn facts(paths: &[&str]) -> Facts {
    let mut intake = Intake(Normalizer::default());
    for path in paths {
        let file = File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        decode::decode(&Arc::from(*path), Box::new(file), &Limits::default(), &mut intake);
    }
    intake.0.finish().facts
}

/// Findings of the program over files, and its exit code.
fn findings(paths: &[&str], export: Option<&Path>) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["analyze", "--quiet", "--format", "json", "--fail-on", "never", "--as-of", "2100-01-01T00:00:00Z"]);
    if let Some(folder) = export {
        command.arg("--export").arg(folder);
    }
    let output = command.args(paths).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(report["rejects"], Value::Array(Vec::new()));
    report["findings"].as_array().unwrap().clone()
}

#[test]
fn rows_of_a_capture_come_back_from_batches_as_they_were_sealed() {
    let facts = facts(&RUNS[0][..1]);
    assert!(facts.len() > 100);
    let batches = facts.batches().unwrap();
    let read = Facts::from_batches(batches.iter().map(|(table, batch)| (table, batch))).unwrap();
    assert_eq!(read.exchanges, facts.exchanges);
    assert_eq!(read.task_events, facts.task_events);
    assert_eq!(read.artifact_parts, facts.artifact_parts);
    assert_eq!(read.cards, facts.cards);
    assert_eq!(read.card_skills, facts.card_skills);
    assert_eq!(read.card_endpoints, facts.card_endpoints);
    assert_eq!(read.push_deliveries, facts.push_deliveries);
    assert_eq!(read.signing_keys, facts.signing_keys);
    assert_eq!(read.policy_changes, facts.policy_changes);
    let mut sealed = Facts::default();
    read.exchanges.into_iter().for_each(|row| sealed.push_exchange(row));
    assert_eq!(sealed.exchanges, facts.exchanges, "sealing again gives the same identities");
}

#[test]
fn analyze_says_the_same_of_a_capture_of_its_lake_and_of_its_export() {
    for paths in RUNS {
        let dir = tempfile::tempdir().unwrap();
        let expected = findings(paths, Some(&dir.path().join("export")));
        assert!(!expected.is_empty());

        let facts = facts(paths);
        let (mut store, _) = Store::open(&dir.path().join("data"), StoreSettings::default()).unwrap();
        let now = Instant(1_800_000_000_000_000_000);
        store.append(&Entry::Facts(&facts), now).unwrap();
        store.commit(now).unwrap();
        let later = Instant(now.0 + 1);
        let closed = store.close(later, later).unwrap();
        assert_eq!((closed.segments, closed.rows), (1, ids(&facts).len() as u64));

        let lake = dir.path().join("data/lake");
        let export = dir.path().join("export");
        for folder in [lake, export] {
            let found = findings(&[folder.to_str().unwrap()], None);
            let ids = |findings: &[Value]| findings.iter().map(|f| f["id"].to_string()).collect::<Vec<_>>();
            assert_eq!(ids(&found), ids(&expected), "{}", folder.display());
            assert_eq!(found, expected, "{}", folder.display());
        }
    }
}

#[test]
fn a_task_is_loaded_from_log_and_lake() {
    let dir = tempfile::tempdir().unwrap();
    let facts = facts(&RUNS[0][..1]);
    let (mut store, _) = Store::open(dir.path(), StoreSettings::default()).unwrap();
    let now = Instant(1_800_000_000_000_000_000);
    let task = facts.task_events[0].own.task_id.clone();
    let mut expected = facts.clone();
    expected.retain_tasks(|named| named == task);
    let of = |task: &str| HashSet::from([task.to_owned()]);
    let mut late = Facts::default();
    let mut row = expected.task_events[0].clone();
    (row.own.state, row.common.observed_at) = ("rejected".to_owned(), Instant(row.common.observed_at.0 + 1));
    late.push_task_event(row);

    store.append(&Entry::Facts(&facts), now).unwrap();
    store.commit(now).unwrap();
    let later = Instant(now.0 + 1);
    assert_eq!(store.close(later, later).unwrap().segments, 1);
    store.append(&Entry::Facts(&late), now).unwrap();
    store.commit(now).unwrap();
    let loaded = store.load_tasks(of(&task), Instant(0)..now).unwrap();
    expected.append(late);
    assert_eq!(ids(&loaded), ids(&expected));
    assert!(store.load_tasks(of("no such task"), Instant(0)..now).unwrap().is_empty());
    assert!(store.load_tasks(of(&task), Instant(0)..Instant(1)).unwrap().is_empty());
}
