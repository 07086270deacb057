//! When findings end: what happened some time after its last evidence, a condition when facts say so; and nothing comes back
//! by a restart or by what is sent again.

use std::time::Duration;

use a2a_drift::rules::cases::assemble::Capture;

use super::host::{Folder, Serving, eventually};
use super::memory::now;
use crate::support::library;
use crate::support::times::{move_times, times_in};

const SECOND: i64 = 1_000_000_000;

/// The lines of a case.
fn lines(rule: &str, name: &str) -> Vec<String> {
    let mut cases = library::all_cases().into_iter().filter_map(Result::ok);
    let case = cases.find(|case| case.rule == rule && case.name == name).unwrap();
    Capture::of(&case.text, library::shelf()).unwrap().lines.into_iter().map(|line| line.text).collect()
}

/// Lines moved together, such that the last of their times is so many seconds ago.
fn ago(lines: &[String], seconds: i64) -> Vec<String> {
    let last = lines.iter().flat_map(|line| times_in(line)).max().unwrap();
    let by = now() - seconds * SECOND - last;
    lines.iter().map(|line| move_times(line, |stamp| stamp.at + by)).collect()
}

/// Each line moved by itself.
fn each_ago<const N: usize>(lines: &[String], seconds: [i64; N]) -> [Vec<String>; N] {
    assert_eq!(lines.len(), N);
    std::array::from_fn(|at| ago(&lines[at..=at], seconds[at]))
}

async fn count(service: &Serving, rule: &str) -> usize {
    service.findings().await.1.values().filter(|line| line.starts_with(rule)).count()
}

async fn is_there(service: &Serving, rule: &str) {
    eventually(&format!("{rule} found"), async || (count(service, rule).await > 0).then_some(())).await;
}

async fn is_over(service: &Serving, rule: &str) {
    eventually(&format!("{rule} over"), async || (count(service, rule).await == 0).then_some(())).await;
}

/// Has judged what came, some times over.
async fn has_judged(service: &Serving) {
    let judged = service.metric("a2a_drift_last_evaluation_timestamp_seconds", "").await;
    eventually("judged again", async || {
        (service.metric("a2a_drift_last_evaluation_timestamp_seconds", "").await > judged + 0.5).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_over_after_a_while_and_neither_a_restart_nor_a_resend_brings_it_back() {
    const RULE: &str = "unknown_skill";
    let folder = Folder::new("active = \"3s\"\n");
    let lines = ago(&lines(RULE, "fires_blocking"), 60);
    let service = folder.start().await;
    service.send_exchanges(&lines, 50).await;
    // It happened a minute ago and is told only now.
    is_there(&service, RULE).await;
    is_over(&service, RULE).await;
    service.send_exchanges(&lines, 50).await;
    has_judged(&service).await;
    assert_eq!(count(&service, RULE).await, 0);
    assert_eq!(service.metric("a2a_drift_findings_total", &format!("rule=\"{RULE}\"")).await, 1.0);

    assert!(service.terminate().await.0.success());
    let service = folder.start().await;
    has_judged(&service).await;
    assert!(service.metric("a2a_drift_facts", "").await > 0.0);
    assert_eq!(service.metric("a2a_drift_findings_total", "").await, 0.0);
    assert_eq!(service.metric("a2a_drift_active_findings", "").await, 0.0);
    service.send_exchanges(&lines, 50).await;
    has_judged(&service).await;
    assert_eq!(service.metric("a2a_drift_findings_total", "").await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_card_is_told_of_until_a_good_one_is_seen_and_again_when_it_is_back() {
    const RULE: &str = "endpoint_suspect";
    let folder = Folder::new("active = \"1s\"\n");
    let [wrong, good, again] = each_ago(&lines(RULE, "fires_again"), [7200, 3600, 5]);
    let service = folder.start().await;
    service.send_exchanges(&wrong, 1).await;
    is_there(&service, RULE).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    has_judged(&service).await;
    assert_eq!(count(&service, RULE).await, 1);
    service.send_exchanges(&good, 1).await;
    is_over(&service, RULE).await;

    service.kill();
    let service = folder.start().await;
    has_judged(&service).await;
    assert_eq!(service.metric("a2a_drift_findings_total", "").await, 0.0);
    assert_eq!(count(&service, RULE).await, 0);
    service.send_exchanges(&again, 1).await;
    is_there(&service, RULE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_orphaned_until_it_moves() {
    const RULE: &str = "orphaned";
    let folder = Folder::new("active = \"1s\"\n");
    let [made, ended] = each_ago(&lines(RULE, "quiet_ended_after_all"), [7200, 1]);
    let service = folder.start().await;
    service.send_exchanges(&made, 1).await;
    is_there(&service, RULE).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    has_judged(&service).await;
    assert_eq!(count(&service, RULE).await, 1);
    service.send_exchanges(&ended, 1).await;
    is_over(&service, RULE).await;
    service.kill();
    let service = folder.start().await;
    has_judged(&service).await;
    assert_eq!(service.metric("a2a_drift_findings_total", "").await, 0.0);
}
