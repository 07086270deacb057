//! A disk that refuses.

use std::fs;
use std::path::Path;
use std::process::Command;

use reqwest::StatusCode;

use super::batch::{Batch, files, lines};
use super::host::{FOR_EVER, Folder, Serving, eventually};

/// The largest file that a process may write from now on.
fn allow(service: &Serving, bytes: &str) {
    let limit = format!("--fsize={bytes}:unlimited");
    let changed = Command::new("prlimit").args(["--pid", &service.pid().to_string(), &limit]).status().unwrap();
    assert!(changed.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn while_nothing_can_be_stored_senders_wait_and_nothing_is_lost() {
    let folder = Folder::new(FOR_EVER);
    // A file that is too large is an error to the program, and not its end.
    let mut program = folder.after("trap '' XFSZ");
    let service = Serving::start(&mut program).await;
    let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let (before, during) = all.split_at(all.len() / 2);
    service.send_exchanges(before, 10).await;

    allow(&service, "0");
    for lines in during.chunks(10) {
        let answer = service.post("/v1/a2a/exchanges", "application/x-ndjson", lines.join("\n").into_bytes()).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{answer:?}");
        assert!(answer.retry_after.is_some_and(|seconds| seconds >= 1), "{answer:?}");
    }
    let ready = service.get("/readyz").await;
    assert_eq!(ready.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(ready.text.contains("nothing can be stored: File too large"), "{}", ready.text);
    assert_eq!(service.get("/healthz").await.status, StatusCode::OK);
    assert!(service.metric("a2a_drift_wal_failures_total", "").await > 0.0);
    eventually("counted", async || {
        (service.metric("a2a_drift_refused_total", "reason=\"overloaded\"").await > 0.0).then_some(())
    })
    .await;

    // Nobody sends, and it is ready again.
    allow(&service, "unlimited");
    eventually("ready again", async || (service.get("/readyz").await.status == StatusCode::OK).then_some(())).await;
    service.send_exchanges(during, 10).await;
    let batch = Batch::of(&files(&[("a.ndjson", &all)])).await;
    batch.is_said_by(&service).await;
    service.kill();
    batch.is_said_by(&folder.start().await).await;
}

/// Each file of the log has only so much room: commits fail in the middle of a file, again and again.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_on_a_disk_that_fails_now_and_then_is_there_after_a_crash() {
    let folder = Folder::new(FOR_EVER);
    let service = Serving::start(&mut folder.after("trap '' XFSZ; ulimit -S -f 128")).await;
    let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let mut refused = 0;
    for line in &all {
        eventually("taken", async || {
            let answer = service.post("/v1/a2a/exchanges", "application/x-ndjson", line.clone().into_bytes()).await;
            refused += usize::from(answer.status == StatusCode::SERVICE_UNAVAILABLE);
            (answer.status == StatusCode::OK).then_some(())
        })
        .await;
    }
    println!("{refused} requests of {} refused", all.len());
    assert!(refused > 0);
    service.kill();
    Batch::of(&files(&[("a.ndjson", &all)])).await.is_said_by(&folder.start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_there_after_a_crash_though_somebody_removed_the_folder() {
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let (before, after) = all.split_at(all.len() / 2);
    service.send_exchanges(before, 40).await;
    fs::remove_dir_all(folder.path("data")).unwrap();
    for lines in after.chunks(40) {
        eventually("taken", async || {
            let answer = service.post("/v1/a2a/exchanges", "application/x-ndjson", lines.join("\n").into_bytes()).await;
            (answer.status == StatusCode::OK).then_some(())
        })
        .await;
    }
    assert!(service.said().iter().any(|line| line.contains("removed or replaced")), "{:?}", service.said());
    assert!(service.metric("a2a_drift_wal_failures_total", "").await > 0.0);
    service.kill();
    let batch = Batch::of(&files(&[("a.ndjson", &all)])).await;
    let service = folder.start().await;
    batch.is_said_by(&service).await;

    // Another process takes the place.
    fs::remove_dir_all(folder.path("data")).unwrap();
    fs::create_dir_all(folder.path("data/wal")).unwrap();
    let lock = fs::File::create(folder.path("data/wal/lock")).unwrap();
    if lock.try_lock().is_ok() {
        eventually("not ready", async || {
            let ready = service.get("/readyz").await;
            ready.text.contains("another process has the folder").then_some(())
        })
        .await;
        let line = all[0].clone().into_bytes();
        let answer = service.post("/v1/a2a/exchanges", "application/x-ndjson", line).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        drop(lock);
    }
    eventually("ready again", async || (service.get("/readyz").await.status == StatusCode::OK).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_in_the_middle_of_the_log_is_told_and_costs_what_was_there_and_nothing_behind_it() {
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    service.send_exchanges(&all, 10).await;
    service.kill();
    let wal = folder.path("data/wal");
    let of = |ending: &str| -> Vec<_> {
        let names = fs::read_dir(&wal).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
    };
    let [segment] = &of(".log")[..] else { panic!("{:?}", of(".log")) };
    let mut bytes = fs::read(segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    let length = bytes.len() as u64;
    fs::write(segment, bytes).unwrap();
    let (name, byte) = told_by_analyze(&folder.path("data"));
    assert_eq!(name, segment.display().to_string());
    assert!(byte < middle, "an entry that begins at {byte} is hit at {middle}");

    // What does not belong there stops nothing.
    fs::write(wal.join("7.log"), "no log").unwrap();
    fs::create_dir(wal.join("2.log")).unwrap();
    fs::create_dir_all(folder.path("data/lake/task_events/date=2026-01-01/hour=00/part-000000000096.parquet")).unwrap();
    fs::write(folder.path("data/lake/README"), "notes").unwrap();
    fs::write(folder.path("data/lake/task_events/_SUCCESS"), "").unwrap();
    let foreign = "data/lake/task_events/date=2026-01-01/hour=00/part-000000000001.parquet";
    fs::write(folder.path(foreign), "rubbish").unwrap();

    let service = folder.start().await;
    let said = service.said().join("\n");
    assert!(said.contains("the log is damaged"), "{said}");
    for stray in ["7.log", "2.log", "part-000000000096.parquet", "README", "_SUCCESS", "part-000000000001.parquet"] {
        assert!(said.lines().any(|line| line.contains(stray) && line.contains("WARN")), "{stray}: {said}");
    }
    let lost = service.metric("a2a_drift_wal_damaged_bytes_total", "").await;
    assert!(lost > 0.0 && lost < length as f64 / 2.0, "{lost} of {length}");
    assert_eq!(of(".damaged").len(), 1);
    // What was lost is all that has to come again.
    let findings = service.findings().await.1.len();
    service.send_exchanges(&all, 40).await;
    let batch = Batch::of(&files(&[("a.ndjson", &all)])).await;
    batch.is_said_by(&service).await;
    assert!(findings * 2 > service.findings().await.1.len(), "{findings}");
}

/// File and byte of the one damage that `analyze` tells of a folder, before a service has mended it.
fn told_by_analyze(data: &Path) -> (String, usize) {
    let mut analyze = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    let output = analyze.args(["analyze", "--format", "json"]).arg(data).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [reject] = &report["rejects"].as_array().unwrap()[..] else { panic!("{}", report["rejects"]) };
    assert_eq!((&reject["reason"], &reject["count"]), (&"unreadable".into(), &1.into()), "{reject}");
    let first = &reject["first"];
    let byte = first["position"].as_str().unwrap().strip_prefix("byte ").unwrap();
    (first["source"].as_str().unwrap().to_owned(), byte.parse().unwrap())
}
