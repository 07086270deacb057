//! The folder of a service that runs, asked by the program itself: log and lake together, each fact once, nothing touched.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::batch::{Batch, files, lines};
use super::host::{FOR_EVER, Folder, ended, eventually};

/// Facts of all tables in a folder, and how many of them are different.
pub(crate) fn facts_in(folder: &Path) -> Option<(usize, usize)> {
    let tables = a2a_drift::tables::Facts::schemas();
    let ids = tables.iter().map(|(table, _)| format!("SELECT concat('{table}', fact_id) AS id FROM {table}"));
    let all = ids.collect::<Vec<_>>().join(" UNION ALL ");
    let sql = format!("SELECT count(*) AS facts, count(DISTINCT id) AS ids FROM ({all}) AS t");
    let mut query = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    let (code, rows) = ended(query.args(["query", "--format", "csv", &sql]).arg(folder));
    let (facts, ids) = rows.lines().last()?.split_once(',').filter(|_| code == 0)?;
    Some((facts.trim().parse().ok()?, ids.trim().parse().ok()?))
}

/// Names and content of everything below a folder.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    entries.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Ids of what `analyze` finds in a folder at an instant.
pub(crate) fn analyzed(folder: &Path, as_of: &str) -> BTreeSet<String> {
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    let output = analyze.args(["analyze", "--format", "json", "--as-of", as_of]).arg(folder).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["rejects"], serde_json::json!([]));
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_a_running_service_is_asked_for_the_current_hour_too_and_is_left_as_it_is() {
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    service.send_exchanges(&all, 7).await;
    service.send_exchanges(&all[..20], 7).await;
    let batch = Batch::of(&files(&[("a.ndjson", &all)])).await;
    batch.is_said_by(&service).await;
    let data = folder.path("data");
    let before = content(&data.join("wal"));
    assert_eq!(facts_in(&data), Some((batch.facts, batch.facts)));
    // Without a path it is the folder of the settings.
    let mut query = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    query.args(["query", "--format", "csv", "SELECT count(*) AS n FROM exchanges", "--config"]);
    let (code, rows) = ended(query.arg(folder.path("serve.toml")));
    let exchanges = service.metric("a2a_drift_facts", "table=\"exchanges\"").await.to_string();
    assert_eq!((code, rows.lines().last().map(str::trim)), (0, Some(&*exchanges)), "{rows}");
    let (as_of, found) = service.findings().await;
    assert_eq!(analyzed(&data, &as_of.to_rfc3339()), found.into_keys().collect());
    assert_eq!(content(&data.join("wal")), before);

    // While an entry is being written its end is missing.
    let torn = folder.path("torn");
    fs::create_dir_all(torn.join("wal")).unwrap();
    for (path, bytes) in &before {
        let bytes = [bytes.as_slice(), if bytes.is_empty() { b"" } else { &bytes[24..60] }].concat();
        fs::write(torn.join("wal").join(path.file_name().unwrap()), bytes).unwrap();
    }
    assert_eq!(facts_in(&torn), Some((batch.facts, batch.facts)));
    assert!(service.terminate().await.0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_moves_into_the_lake_is_seen_once_all_the_while() {
    let folder = Folder::new(&format!("settle = \"1s\"\nlake_every = \"2s\"\n{FOR_EVER}"));
    let service = folder.start().await;
    let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    service.send_exchanges(&all, 20).await;
    let batch = Batch::of(&files(&[("a.ndjson", &all)])).await;
    let (data, mut looks) = (folder.path("data"), 0);
    eventually("all in the lake", async || {
        looks += 1;
        assert_eq!(facts_in(&data), Some((batch.facts, batch.facts)));
        let lake = data.join("lake");
        (lake.is_dir() && facts_in(&lake) == Some((batch.facts, batch.facts))).then_some(())
    })
    .await;
    println!("{looks} looks");
    assert!(service.terminate().await.0.success());
}
