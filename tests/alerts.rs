//! The alerts and the examples around them hold before real Prometheus and Alertmanager.
//!
//! Those tests that ask them are ignored unless asked for, after `tests/tools/fetch/fetch`:
//! `cargo test --test alerts -- --include-ignored`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use regex::Regex;

#[path = "support/running.rs"]
mod running;
#[path = "support/servers.rs"]
mod servers;

use servers::{program, succeeds};

/// Prometheus as it is, and as it is where people upgrade late.
const PROMTOOLS: [&str; 2] = ["promtool", "promtool-old"];

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(file(path)).unwrap()
}

/// What a pattern finds in a text.
fn each(pattern: &str, text: &str) -> Vec<String> {
    Regex::new(pattern).unwrap().captures_iter(text).map(|found| found[1].to_owned()).collect()
}

#[test]
fn every_alert_is_tested_where_it_fires_and_where_it_is_quiet() {
    let alerts: BTreeSet<String> =
        each(r"- alert: (\w+)", &read("dashboards/prometheus/alerts.yaml")).into_iter().collect();
    let tests = read("dashboards/prometheus/alerts_test.yaml") + &read("dashboards/prometheus/service_test.yaml");
    let quiet = each(r"alertname: (\w+), exp_alerts: \[\]", &tests).into_iter();
    let quiet = quiet.chain(each(r#""alertname":"(\w+)","eval_time":"\w+","exp_alerts":\[\]"#, &tests));
    let quiet: BTreeSet<String> = quiet.chain(each(r#""alertname":"(\w+)","exp_alerts":\[\]"#, &tests)).collect();
    let fires = each(r"alertname: (\w+)\n\s+exp_alerts:", &tests).into_iter();
    let fires: BTreeSet<String> =
        fires.chain(each(r#""alertname":"(\w+)","eval_time":"\w+","exp_alerts":\[\{"#, &tests)).collect();
    assert!(alerts.len() > 30);
    assert_eq!(alerts.difference(&quiet).collect::<Vec<_>>(), Vec::<&String>::new(), "are never quiet");
    assert_eq!(alerts.difference(&fires).collect::<Vec<_>>(), Vec::<&String>::new(), "never fire");
}

#[test]
fn every_runbook_is_there() {
    for url in each(r"runbook_url: '([^']+)'", &read("dashboards/prometheus/alerts.yaml")) {
        let (page, anchor) = url.split_once('#').unwrap();
        let headings = each(r"(?m)^#+ (\w+)$", &read(page));
        assert!(headings.iter().any(|heading| heading.to_lowercase() == anchor), "{url} leads nowhere");
    }
}

#[test]
fn every_alert_says_what_is_wrong_what_it_means_and_where_to_read_on() {
    let text = read("dashboards/prometheus/alerts.yaml");
    for alert in text.split("      - alert: ").skip(1) {
        for annotation in ["summary: '", "description: '", "runbook_url: '"] {
            assert_eq!(alert.matches(annotation).count(), 1, "{annotation} of {alert}");
        }
        let is_of_rule = alert.contains("(rule, category, severity, suspect, agent)");
        assert!(is_of_rule || alert.contains("labels: {severity: "), "{alert}");
    }
}

#[test]
#[ignore = "needs the programs of tests/tools/fetch"]
fn alerts_pass_the_lint_of_old_and_new_prometheus() {
    for promtool in PROMTOOLS {
        let alerts = file("dashboards/prometheus/alerts.yaml");
        succeeds(Command::new(program(promtool)).args(["check", "rules", "--lint=all", "--lint-fatal"]).arg(alerts));
    }
}

#[test]
#[ignore = "needs the programs of tests/tools/fetch"]
fn alerts_fire_and_end_as_their_tests_say_in_old_and_new_prometheus() {
    for promtool in PROMTOOLS {
        for tests in ["alerts_test.yaml", "service_test.yaml"] {
            let tests = file("dashboards/prometheus").join(tests);
            succeeds(Command::new(program(promtool)).args(["test", "rules"]).arg(tests));
        }
    }
}

#[test]
#[ignore = "needs the programs of tests/tools/fetch"]
fn the_example_of_prometheus_loads_the_alerts() {
    for promtool in PROMTOOLS {
        let config = file("examples/prometheus/prometheus.yml");
        let said = succeeds(
            Command::new(program(promtool)).args(["check", "config", "--lint=all", "--lint-fatal"]).arg(config),
        );
        assert!(said.contains("rules found"), "{said}");
    }
}

#[test]
#[ignore = "needs the programs of tests/tools/fetch"]
fn the_example_of_alertmanager_sends_each_severity_to_its_receiver() {
    let config = file("examples/alertmanager/alertmanager.yml");
    succeeds(Command::new(program("amtool")).arg("check-config").arg(&config));
    let of_finding = ["alertname=A2ADriftUnknownSkill", "rule=unknown_skill", "category=negotiation", "agent=planner"];
    let of_service = ["alertname=A2ADriftDown", "category=service", "job=a2a-drift", "instance=one"];
    for (labels, severity, receiver) in [
        (&of_finding, "critical", "pager"),
        (&of_finding, "warning", "chat"),
        (&of_finding, "info", "nobody"),
        (&of_service, "critical", "pager"),
        (&of_service, "warning", "chat"),
        (&of_service, "info", "nobody"),
        (&["alertname=Watchdog", "x=1", "y=1", "z=1"], "critical", "nobody"),
    ] {
        let verify = format!("--verify.receivers={receiver}");
        let mut routes = Command::new(program("amtool"));
        routes.args(["config", "routes", "test", "--config.file"]).arg(&config).arg(verify);
        succeeds(routes.args(labels).arg(format!("severity={severity}")));
    }
}

/// What a real Alertmanager makes of alerts on two agents, one of them pushed by a2a-drift as well.
#[test]
#[ignore = "needs the programs of tests/tools/fetch"]
fn the_example_of_alertmanager_leaves_unsaid_what_is_said_already() {
    let address = running::free_address();
    let url = format!("--alertmanager.url=http://{address}");
    let data = tempfile::tempdir().unwrap();
    let log = fs::File::create(data.path().join("log")).unwrap();
    let _running = running::Running::start(
        Command::new(program("alertmanager"))
            .arg(format!("--config.file={}", file("examples/alertmanager/alertmanager.yml").display()))
            .arg(format!("--storage.path={}", data.path().display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--cluster.listen-address=")
            .stderr(log),
    );
    let amtool = |args: &[&str]| Command::new(program("amtool")).arg(&url).args(args).output().unwrap();
    let is_there = within_seconds(20, || amtool(&["cluster", "show"]).status.success());
    assert!(is_there, "{}", fs::read_to_string(data.path().join("log")).unwrap());

    let by_prometheus = "monitor=prometheus";
    let alerts: [(&str, &str, &[&str]); 7] = [
        ("A2ADriftUnknownSkill", "critical", &["rule=unknown_skill", "agent=planner", by_prometheus]),
        ("A2ADriftStreamCut", "warning", &["rule=stream_cut", "agent=planner", by_prometheus]),
        ("A2ADriftStreamCut", "warning", &["rule=stream_cut", "agent=billing", by_prometheus]),
        ("A2ADriftUnknownSkill", "critical", &["rule=unknown_skill", "agent=planner"]),
        ("A2ADriftSplitBrain", "critical", &["rule=split_brain", "agent=search"]),
        ("A2ADriftDown", "critical", &["category=service", "job=a2a-drift", "instance=one", by_prometheus]),
        ("A2ADriftBehind", "warning", &["category=service", "job=a2a-drift", "instance=one", by_prometheus]),
    ];
    for (name, severity, labels) in alerts {
        let severity = format!("severity={severity}");
        let mut args = vec!["alert", "add", name, &severity];
        args.extend(labels);
        assert!(amtool(&args).status.success(), "{name}");
    }
    let unsaid = [
        ("A2ADriftBehind", "", "prometheus"),
        ("A2ADriftStreamCut", "planner", "prometheus"),
        ("A2ADriftUnknownSkill", "planner", ""),
    ];
    let mut seen = BTreeSet::new();
    let is_so = within_seconds(20, || {
        // Alerts are there a moment after they were taken.
        let output = amtool(&["alert", "query", "--inhibited", "--output=json"]);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let label = |alert: &serde_json::Value, name| alert["labels"][name].as_str().unwrap_or_default().to_owned();
        let found = found.as_array().into_iter().flatten();
        let found = found.filter(|alert| alert["status"]["state"] == "suppressed");
        seen = found.map(|alert| (label(alert, "alertname"), label(alert, "agent"), label(alert, "monitor"))).collect();
        seen.iter().map(|(name, agent, monitor)| (&**name, &**agent, &**monitor)).eq(unsaid)
    });
    assert!(is_so, "{seen:?}");
}

/// Whether something comes true in so many seconds.
fn within_seconds(seconds: u64, mut is_true: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < until {
        if is_true() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}
