//! New rules for a service that runs.

use std::fs;
use std::path::Path;

use reqwest::StatusCode;
use walkdir::WalkDir;

use super::batch::lines;
use super::host::{FOR_EVER, Folder, answer, eventually};

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
