//! Words planted wherever captures hold secrets and message text: none of them may come out, in any form of output.

use std::fs::{self, File};
use std::path::Path;

use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use super::captures;
use super::carriers::{self, Garden};
use super::program::{Run, analyze};
use super::{crafted, logs};

/// Lines of a capture that are planted.
const MOST_LINES: usize = 25;

/// Captures of runs, planted with words.
fn planted(garden: &mut Garden, into: &Path) {
    for run in fs::read_dir(captures()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for file in fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            if !(name.ends_with("ndjson") || name.ends_with("jsonl") || name.ends_with("har"))
                || name.contains("steps")
                || name.contains("sample")
            {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let mut plant = |record: &str| {
                let mut record: Value = serde_json::from_str(record).unwrap();
                carriers::plant(&mut record, garden, &name);
                record.to_string() + "\n"
            };
            let spoilt: String = match name.ends_with("har") {
                true => plant(&text),
                false => text.lines().take(MOST_LINES).map(plant).collect(),
            };
            fs::write(into.join(format!("{}-{name}", run.file_name().unwrap().to_string_lossy())), spoilt).unwrap();
        }
    }
}

/// Leaks into the exported tables, by column.
fn leaks_of_tables(garden: &Garden, folder: &Path) -> Vec<String> {
    let mut leaks = Vec::new();
    for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let table = file.file_stem().unwrap().to_string_lossy().into_owned();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap().build().unwrap();
        let mut writer = arrow::json::LineDelimitedWriter::new(Vec::new());
        reader.for_each(|batch| writer.write(&batch.unwrap()).unwrap());
        writer.finish().unwrap();
        for row in serde_json::Deserializer::from_slice(&writer.into_inner()).into_iter::<Value>() {
            for (column, cell) in row.unwrap().as_object().unwrap() {
                let found = garden.found_in(&cell.to_string());
                leaks.extend(found.into_iter().map(|place| format!("{table}.{column}: {place}: {cell}")));
            }
        }
        // Statistics and whatever else a file holds.
        let bytes = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        leaks.extend(garden.found_in(&bytes).into_iter().map(|place| format!("bytes of {table}: {place}")));
    }
    leaks.sort();
    leaks.dedup();
    leaks
}

#[track_caller]
fn assert_silent(garden: &Garden, what: &str, text: &str) {
    let leaks = garden.found_in(text);
    assert!(leaks.is_empty(), "{what}: {} leaks\n{}", leaks.len(), leaks[..leaks.len().min(60)].join("\n"));
}

fn assert_nothing_comes_out(garden: &Garden, captures: &Path) {
    let export = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| -> Run { analyze().args(args).arg("--export").arg(export.path()).arg(captures).run() };
    let traced = || analyze().args(["-q", "--rule=unknown_skill"]).arg(captures).env("RUST_LOG", "trace").run();
    // All rules at the level of a user's `-vv`; what the crates below say of plans and batches, at one rule.
    let json = run(&["--format=json", "-vv"]);
    let facts = json.report()["summary"]["facts"].as_u64().unwrap();
    assert!(facts > 50, "{facts} facts, {:?}", json.rejects());
    let leaks = leaks_of_tables(garden, export.path());
    let shown = std::env::var("LEAKS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    assert!(leaks.is_empty(), "{} leaks into tables\n{}", leaks.len(), leaks[..leaks.len().min(shown)].join("\n"));
    assert_silent(garden, "json", &String::from_utf8_lossy(&json.stdout));
    assert_silent(garden, "log", &json.stderr);
    let table =
        run(&["-vv", "--log-format=json", "--rule", "unknown_skill,mode_mismatch,unauthorized_storm,split_brain"]);
    assert_silent(garden, "page", &String::from_utf8_lossy(&table.stdout));
    assert_silent(garden, "log as JSON", &table.stderr);
    assert_silent(garden, "log of all crates", &traced().stderr);
}

#[test]
fn nothing_planted_in_a_capture_comes_out() {
    let (mut garden, folder) = (Garden::default(), tempfile::tempdir().unwrap());
    planted(&mut garden, folder.path());
    assert_nothing_comes_out(&garden, folder.path());
}

#[test]
fn nothing_planted_in_logs_and_exports_of_traces_comes_out() {
    let (mut garden, folder) = (Garden::default(), tempfile::tempdir().unwrap());
    for (name, text) in logs::planted(&mut garden) {
        fs::write(folder.path().join(name), text).unwrap();
    }
    assert_nothing_comes_out(&garden, folder.path());
}

#[test]
fn nothing_crafted_to_leak_comes_out() {
    let (mut garden, folder) = (Garden::default(), tempfile::tempdir().unwrap());
    let lines = crafted::records(&mut garden);
    fs::write(folder.path().join("crafted.ndjson"), lines.join("\n")).unwrap();
    assert_nothing_comes_out(&garden, folder.path());
    // A reject shows its first place only, so each line has a run of its own where it is refused.
    for line in crafted::records(&mut garden).iter().rev().take(12) {
        let run = analyze()
            .arg("-vv")
            .feed({
                let line = line.clone();
                move |stdin| std::io::Write::write_all(stdin, line.as_bytes())
            })
            .env("RUST_LOG", "trace")
            .run();
        assert_silent(&garden, "diagnosis", &(String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr));
    }
}
