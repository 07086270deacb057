//! The end under load: whatever was acknowledged is there afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

use super::batch::lines;
use super::host::{FOR_EVER, Folder, Serving, answer, eventually};
use crate::support::ids::{Fresh, rename};

/// Senders that repeat nothing, until told to stop; the JSON-RPC ids that were acknowledged.
struct Load {
    stop: Arc<AtomicBool>,
    senders: Vec<tokio::task::JoinHandle<BTreeSet<String>>>,
}

impl Load {
    fn start(service: &Serving, name: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
        let all: Arc<Vec<String>> = Arc::new(all.into_iter().filter(|line| id(line).is_some()).collect());
        let sender = |number: usize| {
            let (stop, all, client) = (Arc::clone(&stop), Arc::clone(&all), service.client.clone());
            let (url, name) = (format!("http://{}/v1/a2a/exchanges", service.http), name.to_owned());
            tokio::spawn(async move {
                let mut acknowledged = BTreeSet::new();
                for round in 0.. {
                    for line in all.iter() {
                        if stop.load(Ordering::Relaxed) {
                            return acknowledged;
                        }
                        let line = rename(line, &format!("{name}/{number}/{round}"), Fresh::All);
                        let id = id(&line).unwrap();
                        let post = client.post(&url).header("content-type", "application/x-ndjson").body(line);
                        if answer(post).await.status == StatusCode::OK {
                            acknowledged.insert(id);
                        }
                    }
                }
                acknowledged
            })
        };
        Self { senders: (0..4).map(sender).collect(), stop }
    }

    async fn acknowledged(self) -> BTreeSet<String> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = BTreeSet::new();
        for sender in self.senders {
            all.extend(sender.await.unwrap());
        }
        all
    }
}

/// The id of a JSON-RPC request.
fn id(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    let body: Value = serde_json::from_str(line.pointer("/request/body/text")?.as_str()?).ok()?;
    body.get("id")?.as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_under_load_survives_sigterm_and_kill() {
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    let load = Load::start(&service, "term");
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (status, took) = service.terminate().await;
    assert!(status.success(), "{status}");
    println!("ended under load in {took:?}");
    assert!(took <= Duration::from_secs(10), "{took:?}");
    let mut acknowledged = load.acknowledged().await;

    let service = folder.start().await;
    let load = Load::start(&service, "kill");
    tokio::time::sleep(Duration::from_secs(3)).await;
    service.kill();
    acknowledged.extend(load.acknowledged().await);
    println!("{} acknowledged", acknowledged.len());
    assert!(acknowledged.len() > 50);

    // Log and lake together have all of it.
    let service = folder.start().await;
    let kept = service.metric("a2a_drift_facts", "table=\"exchanges\"").await;
    eventually("all in memory", async || {
        (service.metric("a2a_drift_facts", "table=\"exchanges\"").await as usize >= acknowledged.len()).then_some(())
    })
    .await;
    println!("{kept} exchanges");
    assert!(service.terminate().await.0.success());
    let mut query = std::process::Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    query.args(["query", "--format", "csv", "SELECT rpc_id FROM exchanges"]).arg(folder.path("data"));
    let output = query.output().unwrap();
    let stored: BTreeSet<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.trim_matches('"').to_owned()).collect();
    let lost: Vec<&String> = acknowledged.difference(&stored).collect();
    assert!(lost.is_empty(), "{} of {} lost", lost.len(), acknowledged.len());
}
