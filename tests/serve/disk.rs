//! A disk that refuses.

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
