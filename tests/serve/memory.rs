//! What leaves memory, and comes back when something is late for it.

use std::time::{SystemTime, UNIX_EPOCH};

use a2a_drift::instant::Instant;

use super::batch::{Batch, files};
use super::host::{Folder, Serving, eventually};
use crate::support::assemble::Capture;
use crate::support::library;
use crate::support::times::{move_times, times_in};

const SECOND: i64 = 1_000_000_000;

pub(crate) fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// Lines about a task of which the last is late, and a finding that needs both it and what was before.
struct Late {
    early: Vec<String>,
    late: String,
    batch: Batch,
    id: String,
}

/// The lines of a case, the last so long ago, the others by hours earlier.
async fn late(ago: i64) -> Late {
    let fires = library::all_cases().into_iter().filter_map(Result::ok).filter(|case| {
        case.fires() && ["illegal_transition", "terminal_reopened", "split_brain"].contains(&case.rule.as_str())
    });
    for case in fires {
        let lines = Capture::of(&case.text, library::shelf()).unwrap().lines;
        let mut lines: Vec<String> = lines.into_iter().map(|line| line.text).collect();
        let times: Vec<i64> = lines.iter().flat_map(|line| times_in(line)).collect();
        let is_exchange = lines.iter().all(|line| line.contains("\"request\""));
        let (Some(end), Some(late)) = (times.iter().max(), lines.pop()) else { continue };
        if lines.is_empty() || !is_exchange {
            continue;
        }
        let moved = |line: &str, by: i64| move_times(line, |stamp| stamp.at + by);
        let last = moved(&late, now() - ago * SECOND - times_in(&late).into_iter().max().unwrap_or(*end));
        let early: Vec<String> = lines.iter().map(|line| moved(line, now() - 6 * 3600 * SECOND - end)).collect();
        let all = [early.clone(), vec![last.clone()]].concat();
        let batch = Batch::of(&files(&[("a.ndjson", &all)])).await;
        let alone = Batch::of(&files(&[("a.ndjson", std::slice::from_ref(&last))])).await;
        let at = Instant(now());
        let (both, alone) = (batch.at(at), alone.at(at));
        let before = Batch::of(&files(&[("a.ndjson", &early)])).await.at(at);
        let needs_both = both
            .iter()
            .find(|(id, line)| line.starts_with(&case.rule) && !alone.contains_key(*id) && !before.contains_key(*id));
        if let Some((id, line)) = needs_both {
            println!("{}::{}: {line}", case.rule, case.name);
            return Late { early, late: last, batch, id: id.clone() };
        }
    }
    panic!("no case has a finding that needs both")
}

async fn is_found(service: &Serving, id: &str) {
    eventually("found", async || service.findings().await.1.contains_key(id).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_before_the_memory_of_a_restarted_service_is_judged_whole() {
    let late = late(600).await;
    let folder = Folder::new("[serve.retention]\nmemory = \"2h\"\n");
    let service = folder.start().await;
    service.send_exchanges(&late.early, 10).await;
    assert!(service.terminate().await.0.success());
    let service = folder.start().await;
    assert_eq!(service.metric("a2a_drift_facts", "table=\"exchanges\"").await, 0.0);
    service.send_exchanges(std::slice::from_ref(&late.late), 1).await;
    is_found(&service, &late.id).await;
    late.batch.is_said_by(&service).await;
    service.kill();
    let service = folder.start().await;
    is_found(&service, &late.id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_are_too_many_facts_old_tasks_leave_and_come_back() {
    let late = late(1).await;
    let folder = Folder::new("[serve.retention]\nmemory = \"1year\"\nmemory_facts = 1\n");
    let service = folder.start().await;
    service.send_exchanges(&late.early, 10).await;
    eventually("taken", async || (service.metric("a2a_drift_received_total", "").await > 0.0).then_some(())).await;
    eventually("out of memory", async || {
        (service.metric("a2a_drift_facts", "table=\"exchanges\"").await == 0.0
            && service.metric("a2a_drift_last_evaluation_timestamp_seconds", "").await > 0.0)
            .then_some(())
    })
    .await;
    // A restart reads the newest only, and what belongs to it.
    service.kill();
    let service = folder.start().await;
    assert!(service.said().iter().any(|line| line.contains("older ones stay on the disk")), "{:?}", service.said());

    service.send_exchanges(std::slice::from_ref(&late.late), 1).await;
    is_found(&service, &late.id).await;
    service.kill();
    let service = folder.start().await;
    is_found(&service, &late.id).await;
}
