//! The dashboard Service: whether a2a-drift itself can be relied on.

use super::dashboard::{Dashboard, JOB};
use super::panel::Panel;
use super::{API, TRACES};

const CHOSEN: &str = r#"job=~"$job", instance=~"$instance""#;

pub(super) fn service() -> Dashboard {
    Dashboard::new(
        "a2a-drift-service",
        "A2A drift service",
        "Whether a2a-drift can be relied on: what it takes in, what it cannot understand, how far behind it is, what it cannot see.",
    )
    .labels("instance", "Instance", &format!("label_values(a2a_drift_build_info{{{JOB}}}, instance)"), true)
    .typed("api", "Findings API", API)
    .typed("traces", "Traces", TRACES)
    .row("Now", 4, now())
    .row("What comes in", 8, incoming())
    .row("How far behind", 8, behind())
    .row("What judges", 8, judging())
    .row("What is kept, and the process", 8, keeping())
}

fn now() -> Vec<(usize, Panel)> {
    vec![
        (4, Panel::stat("Reached", "Whether Prometheus reaches every instance.")
            .query(&format!("min(up{{{CHOSEN}}})"), "up")
            .words(&[("0", "DOWN", "red"), ("1", "up", "green")])
            .colours(&[])),
        (4, Panel::stat("Version", "What runs; several during a rollout.")
            .query(&format!("max by (version) (a2a_drift_build_info{{{CHOSEN}}})"), "{{version}}")
            .names()
            .plain()),
        (4, Panel::stat("Configuration", "Whether the rules and settings loaded last are in force.")
            .query(&format!("min(a2a_drift_config_last_reload_successful{{{CHOSEN}}})"), "reload")
            .words(&[("0", "old one: reload refused", "orange"), ("1", "in force", "green")])
            .colours(&[])),
        (4, Panel::stat("Behind", "Age of the oldest delivery that is not judged yet.")
            .query(&format!("max(a2a_drift_lag_seconds{{{CHOSEN}}})"), "lag")
            .unit("s")
            .colours(&[(10.0, "orange"), (60.0, "red")])),
        (4, Panel::stat("Not understood", "Share of what came in that was rejected.")
            .query(
                &format!(
                    "sum(rate(a2a_drift_rejected_total{{{CHOSEN}}}[$__rate_interval])) / (sum(rate(a2a_drift_received_total{{{CHOSEN}}}[$__rate_interval])) + sum(rate(a2a_drift_rejected_total{{{CHOSEN}}}[$__rate_interval])))"
                ),
                "share",
            )
            .unit("percentunit")
            .colours(&[(0.01, "orange"), (0.05, "red")])
            .of_no_value("nothing comes in")),
        (4, Panel::stat("Blind rules", "Rules that no instance can judge: a field is missing in all that comes in. The table below names them.")
            .query(
                &format!("count(min by (rule) (a2a_drift_rule_blind{{{CHOSEN}}}) == 1) or max(a2a_drift_build_info{{{CHOSEN}}}) * 0"),
                "rules",
            )
            .colours(&[(1.0, "yellow")])),
    ]
}

fn incoming() -> Vec<(usize, Panel)> {
    vec![
        (8, Panel::areas("Received", "Spans, log records and exchanges a second, by receiver and signal.")
            .query(
                &format!("sum by (receiver, signal) (rate(a2a_drift_received_total{{{CHOSEN}}}[$__rate_interval]))"),
                "{{receiver}} {{signal}}",
            )
            .unit("cps")),
        (8, Panel::areas("Rejected", "Pieces of input a second that were not understood, by reason. They are lost: senders do not send them again.")
            .query(&format!("sum by (reason) (rate(a2a_drift_rejected_total{{{CHOSEN}}}[$__rate_interval]))"), "{{reason}}")
            .unit("cps")),
        (8, Panel::areas("Refused and without A2A", "Deliveries a second that are to be sent again, by reason, and records a second that hold no A2A and are not kept.")
            .query(&format!("sum by (reason) (rate(a2a_drift_refused_total{{{CHOSEN}}}[$__rate_interval]))"), "refused: {{reason}}")
            .query(&format!("sum by (signal) (rate(a2a_drift_ignored_total{{{CHOSEN}}}[$__rate_interval]))"), "no A2A: {{signal}}")
            .unit("cps")),
    ]
}

fn behind() -> Vec<(usize, Panel)> {
    let quantile = |q: &str, metric: &str| {
        format!("histogram_quantile({q}, sum by (le) (rate({metric}_bucket{{{CHOSEN}}}[$__rate_interval])))")
    };
    let (lag, delay) = ("a2a_drift_detection_lag_seconds", "a2a_drift_detection_delay_seconds");
    vec![
        (8, Panel::lines("Not judged yet", "Age of the oldest delivery that was taken and is not judged.")
            .query(&format!("max by (instance) (a2a_drift_lag_seconds{{{CHOSEN}}})"), "{{instance}}")
            .unit("s")),
        (8, Panel::lines("Time to a finding", "From when a finding could first fire to its publication. From arrival: with the time that the rule itself waits. Points lead to traces.")
            .query(&quantile("0.5", lag), "half")
            .with_traces()
            .query(&quantile("0.99", lag), "99 in a hundred")
            .query(&quantile("0.99", delay), "99 in a hundred, from arrival")
            .unit("s")),
        (8, Panel::lines("Queue", "Share of the room for deliveries that wait. At 100 % senders are asked to wait.")
            .query(
                &format!("max by (instance) (a2a_drift_queue_bytes{{{CHOSEN}}} / a2a_drift_queue_limit_bytes{{{CHOSEN}}})"),
                "{{instance}}",
            )
            .unit("percentunit")
            .max(1.0)),
    ]
}

fn judging() -> Vec<(usize, Panel)> {
    vec![
        (10, Panel::areas("Time spent by rule", "Seconds of evaluation a second, the ten costliest rules: 1 s is one processor.")
            .query(
                &format!("topk(10, sum by (rule) (rate(a2a_drift_evaluation_seconds_sum{{{CHOSEN}}}[$__rate_interval])))"),
                "{{rule}}",
            )
            .unit("s")),
        (7, Panel::lines("Evaluations that fail", "Evaluations that ended in an error or ran out of their budget, in each step. The log names the error.")
            .query(&format!("sum by (rule) (increase(a2a_drift_evaluation_failures_total{{{CHOSEN}}}[$__rate_interval]))"), "{{rule}}")
            .spikes()
            .unit("short")),
        (7, Panel::table("Blind rules", "Rules that cannot find anything: no instance gets a field that they need. `a2a-drift rules show RULE` names the fields.")
            .query(&format!("min by (rule) (a2a_drift_rule_blind{{{CHOSEN}}}) == 1"), "{{rule}}")
            .columns(&[("rule", "Rule"), ("Value", "Blind")])
            .sorted("Rule", false)
            .of("Blind", &[("custom.hidden", serde_json::json!(true))])),
    ]
}

fn keeping() -> Vec<(usize, Panel)> {
    vec![
        (
            6,
            Panel::areas("On disk", "Size of the write-ahead log and of the Parquet lake.")
                .query(&format!("sum(a2a_drift_wal_bytes{{{CHOSEN}}})"), "log")
                .query(&format!("sum(a2a_drift_lake_bytes{{{CHOSEN}}})"), "lake")
                .unit("bytes"),
        ),
        (
            6,
            Panel::lines(
                "Writes that fail",
                "Writes to disk, and alerts that an Alertmanager did not take, in each step.",
            )
            .query(&format!("sum(increase(a2a_drift_wal_failures_total{{{CHOSEN}}}[$__rate_interval]))"), "log")
            .query(&format!("sum(increase(a2a_drift_lake_failures_total{{{CHOSEN}}}[$__rate_interval]))"), "lake")
            .query(
                &format!(
                    "sum by (alertmanager) (increase(a2a_drift_alerts_failed_total{{{CHOSEN}}}[$__rate_interval]))"
                ),
                "alerts to {{alertmanager}}",
            )
            .spikes()
            .unit("short"),
        ),
        (
            6,
            Panel::lines("Memory", "Resident memory of each instance.")
                .query(&format!("max by (instance) (process_resident_memory_bytes{{{CHOSEN}}})"), "{{instance}}")
                .unit("bytes"),
        ),
        (
            6,
            Panel::lines("Processor", "Processor time of each instance: 1 is one processor.")
                .query(
                    &format!("sum by (instance) (rate(process_cpu_seconds_total{{{CHOSEN}}}[$__rate_interval]))"),
                    "{{instance}}",
                )
                .unit("short"),
        ),
    ]
}
