//! New rules for a service that runs.

use std::fs;
use std::path::Path;

use reqwest::StatusCode;
use walkdir::WalkDir;

use super::batch::lines;
use super::host::{Answer, FOR_EVER, Folder, Serving, answer, ended, eventually};

fn copy(from: &Path, to: &Path) {
    for entry in WalkDir::new(from).into_iter().map(Result::unwrap) {
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn good_rules_come_into_force_and_bad_ones_do_not() {
    let folder = Folder::new(FOR_EVER);
    let rules = folder.path("queries");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("queries"), &rules);
    let service = super::host::Serving::start(folder.program().arg("--queries").arg(&rules)).await;
    service.send_exchanges(&lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson"), 40).await;
    let count = async |rule: &str| service.findings().await.1.values().filter(|line| line.starts_with(rule)).count();
    eventually("found", async || (count("unknown_skill").await > 0).then_some(())).await;
    let reload = || answer(service.client.post(format!("http://{}/-/reload", service.admin)));

    let rule = rules.join("rules/card/unknown_skill.sql");
    let rule = if rule.exists() { rule } else { find(&rules, "unknown_skill.sql") };
    let good = fs::read_to_string(&rule).unwrap();
    fs::write(&rule, good.replace("SELECT", "PICK")).unwrap();
    let refused = reload().await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{refused:?}");
    assert!(refused.text.contains("unknown_skill"), "{}", refused.text);
    assert!(count("unknown_skill").await > 0);
    assert_eq!(service.metric("a2a_drift_config_last_reload_successful", "").await, 0.0);

    service.signal("HUP");
    eventually("refused again", async || {
        (service.metric("a2a_drift_config_reloads_total", "outcome=\"failure\"").await >= 2.0).then_some(())
    })
    .await;
    assert!(count("unknown_skill").await > 0);

    fs::remove_file(&rule).unwrap();
    let taken = reload().await;
    assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
    eventually("gone", async || (count("unknown_skill").await == 0).then_some(())).await;
    assert!(!service.findings().await.1.is_empty());
    fs::write(&rule, good).unwrap();
    service.signal("HUP");
    eventually("back", async || (count("unknown_skill").await > 0).then_some(())).await;
    assert_eq!(service.metric("a2a_drift_config_last_reload_successful", "").await, 1.0);
    assert_eq!(service.get("/readyz").await.status, StatusCode::OK);
}

fn find(folder: &Path, name: &str) -> std::path::PathBuf {
    let mut files = WalkDir::new(folder).into_iter().map(|entry| entry.unwrap().into_path());
    files.find(|path| path.ends_with(name)).unwrap()
}

async fn reload(service: &Serving) -> Answer {
    answer(service.client.post(format!("http://{}/-/reload", service.admin))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_renewed_for_all_that_is_known_and_what_needs_a_restart_is_told() {
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    let mut all = lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let later = all.split_off(60);
    service.send_exchanges(&all, 40).await;
    let of_agent = async |agent: &str| service.findings().await.1.values().filter(|line| line.contains(agent)).count();
    eventually("found", async || (of_agent(" 127.0.0.1:41001 ").await > 3).then_some(())).await;
    let before = service.findings().await.1.len();

    folder.configure(&format!("settle = \"9s\"\n{FOR_EVER}[agents]\nplanner = [\"http://127.0.0.1:41001\"]\n"));
    let taken = reload(&service).await;
    assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
    let told: serde_json::Value = serde_json::from_str(&taken.text).unwrap();
    assert_eq!(told["needs_restart"], serde_json::json!(["serve.settle"]));
    assert!(service.said().iter().any(|line| line.contains("need a restart") && line.contains("serve.settle")));
    eventually("renamed", async || (of_agent(" planner ").await == before).then_some(())).await;
    let agents = service.get("/api/v1/agents").await.text;
    assert!(agents.contains("planner") && !agents.contains("\"127.0.0.1:41001\""), "{agents}");

    // What comes later is of the same name, and the metrics follow.
    service.send_exchanges(&later, 40).await;
    eventually("more", async || (of_agent(" planner ").await > before).then_some(())).await;
    assert_eq!(of_agent(" 127.0.0.1:41001 ").await, 0);
    assert_eq!(service.metric("a2a_drift_active_findings", "agent=\"127.0.0.1:41001\"").await, 0.0);
    assert!(service.metric("a2a_tasks_open", "agent=\"planner\"").await > 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_suppressed_is_neither_shown_nor_counted_until_its_end() {
    let folder = Folder::new(FOR_EVER);
    let service = folder.start().await;
    service.send_exchanges(&lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson"), 40).await;
    let count = async |rule: &str| service.findings().await.1.values().filter(|line| line.starts_with(rule)).count();
    eventually("found", async || (count("unknown_skill").await > 0).then_some(())).await;
    let all = count("unknown_skill").await;
    let active = async || service.metric("a2a_drift_active_findings", "rule=\"unknown_skill\"").await;
    assert!(active().await > 0.0);
    assert_eq!(service.metric("a2a_drift_suppressed_findings", "").await, 0.0);

    let suppress =
        |expires| format!("[[suppress]]\nrule = \"unknown_skill\"\nreason = \"OPS-1\"\nexpires = {expires}\n");
    folder.configure(&format!("{FOR_EVER}{}", suppress("2099-01-01")));
    assert_eq!(reload(&service).await.status, StatusCode::OK);
    eventually("suppressed", async || (count("unknown_skill").await == 0).then_some(())).await;
    assert!(!service.findings().await.1.is_empty());
    assert_eq!(active().await, 0.0);
    assert_eq!(service.metric("a2a_drift_suppressed_findings", "").await, all as f64);

    folder.configure(&format!("{FOR_EVER}{}", suppress("2026-01-01")));
    assert_eq!(reload(&service).await.status, StatusCode::OK);
    eventually("back", async || (count("unknown_skill").await == all).then_some(())).await;
    assert_eq!(service.metric("a2a_drift_suppressed_findings", "").await, 0.0);
    let is_told = |line: &String| line.contains("a suppression is over") && line.contains("OPS-1");
    assert!(service.said().iter().any(is_told), "{:?}", service.said());
}

/// A call of an agent, its task under the name that only this test uses.
fn span(trace: u8) -> String {
    let attribute = |key: &str, value: &str| serde_json::json!({"key": key, "value": {"stringValue": value}});
    let span = serde_json::json!({
        "traceId": format!("{trace:032x}"), "spanId": format!("{trace:016x}"), "name": "GetTask", "kind": 3,
        "startTimeUnixNano": "1796019342710294671", "endTimeUnixNano": "1796019342710294672",
        "attributes": [
            attribute("a2a.method.name", "GetTask"), attribute("our.very.own", &format!("task-{trace}")),
            attribute("server.address", "agent.example"),
        ],
    });
    serde_json::json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn words_are_renewed_for_what_comes_and_bad_ones_are_refused() {
    let folder = Folder::new(&format!("settle = \"1s\"\n{FOR_EVER}"));
    let service = folder.start().await;
    let send = async |trace: u8| {
        let answer = service.post("/v1/traces", "application/json", span(trace).into_bytes()).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    };
    let tasks = || {
        let mut query = std::process::Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
        let sql = "SELECT task_id FROM exchanges ORDER BY task_id";
        ended(query.args(["query", "--format", "csv", sql]).arg(folder.path("data"))).1
    };
    send(1).await;
    eventually("stored", async || (tasks().lines().count() == 2).then_some(())).await;
    assert!(!tasks().contains("task-1"));
    fs::write(folder.path("ours.toml"), "[keys]\ntask_id = [\"our.very.own\"]\n").unwrap();
    folder.configure(&format!("settle = \"1s\"\n{FOR_EVER}[vocabulary]\naliases = \"ours.toml\"\n"));
    assert_eq!(reload(&service).await.status, StatusCode::OK);
    send(2).await;
    eventually("stored", async || tasks().contains("task-2").then_some(())).await;
    fs::write(folder.path("ours.toml"), "[keys]\ntask_uid = [\"our.very.own\"]\n").unwrap();
    let refused = reload(&service).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text.contains("ours.toml"), "{refused:?}");
    send(3).await;
    eventually("stored", async || tasks().contains("task-3").then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_rules_at_all_are_refused_and_the_old_ones_stay() {
    let folder = Folder::new(FOR_EVER);
    let rules = folder.path("queries");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("queries"), &rules);
    let service = Serving::start(folder.program().arg("--queries").arg(&rules)).await;
    service.send_exchanges(&lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson"), 40).await;
    eventually("found", async || (!service.findings().await.1.is_empty()).then_some(())).await;

    fs::remove_dir_all(rules.join("rules")).unwrap();
    fs::create_dir(rules.join("rules")).unwrap();
    let refused = reload(&service).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{refused:?}");
    assert!(refused.text.contains("there is no rule"), "{}", refused.text);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert!(!service.findings().await.1.is_empty());
    let (code, said) = ended(folder.program().arg("--check").arg("--queries").arg(&rules));
    assert!(code != 0 && said.contains("there is no rule"), "{code} {said}");
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    let (code, said) = ended(check.args(["rules", "check"]).arg(&rules));
    assert!(code != 0 && said.contains("there is no rule"), "{code} {said}");
}
