//! The dashboard Agent: one agent, from its findings to its card, tasks and webhooks.

use serde_json::json;

use super::dashboard::{Dashboard, JOB};
use super::panel::Panel;
use super::{API, RUNBOOKS, SINCE, TRACES, agents, bands, drifting, findings};

const CHOSEN: &str = r#"job=~"$job", agent=~"$agent""#;

pub(super) fn agent() -> Dashboard {
    Dashboard::new(
        "a2a-drift-agent",
        "A2A agent",
        "One agent: what drifts about it, the generations of its card, its tasks, calls and webhooks.",
    )
    .labels("agent", "Agent", &agents(), false)
    .labels("severity", "Severity", &format!("label_values(a2a_drift_findings_total{{{JOB}}}, severity)"), true)
    .typed("api", "Findings API", API)
    .typed("runbooks", "Runbooks", RUNBOOKS)
    .typed("traces", "Traces", TRACES)
    .marks(
        "Card changes",
        "purple",
        &format!("max by (agent) (a2a_card_changed_timestamp_seconds{{{CHOSEN}}}) * 1000"),
        "The card of {{agent}} changed",
    )
    .row("Now", 4, now())
    .row("Findings", 8, vec![
        (14, drifting(
            "What drifts about this agent",
            "One row a rule and suspect. Rule leads to the runbook, Findings to the tasks, the evidence and the next step.",
            "$agent",
        )),
        (10, bands(
            "Each rule is a band while it fires on this agent. Marks are changes of the card: a drift that begins at one most often comes of it.",
            "rule",
            "{{rule}}",
        )),
    ])
    .row("Card", 5, vec![(24, Panel::lines("Generations of the card", "Which version and contract the agent showed when. Two at one time: replicas or caches that do not agree.")
        .query(
            &format!(
                r#"max by (version, card) (label_replace(a2a_card_info{{{CHOSEN}}}, "card", "$1", "fingerprint", "(.{{8}}).*"))"#
            ),
            "{{version}} {{card}}",
        )
        .unit("short")
        .time_line())])
    .row("Calls", 8, calls())
    .row("Tasks", 8, tasks())
    .row("Webhooks", 8, webhooks())
}

fn now() -> Vec<(usize, Panel)> {
    vec![
        (4, Panel::stat("Critical", "Findings to act on now.")
            .query(&findings("critical", "$agent"), "critical")
            .colours(&[(1.0, "red")])),
        (4, Panel::stat("Warnings", "Findings to look at today.")
            .query(&findings("warning", "$agent"), "warning")
            .colours(&[(1.0, "orange")])),
        (4, Panel::stat("Card version", "The version that the agent's card states.")
            .query(&format!("max by (version) (a2a_card_info{{{CHOSEN}}})"), "{{version}}")
            .names()
            .plain()
            .of_no_value("no card seen")),
        (4, Panel::stat("Card changed", "When the contract of the card was last seen to change.")
            .query(&format!("max(a2a_card_changed_timestamp_seconds{{{CHOSEN}}}) * 1000"), "changed")
            .unit(SINCE)
            .plain()
            .of_no_value("never seen to")),
        (4, Panel::stat("Open tasks", "Tasks that have not ended.")
            .query(&format!("sum(a2a_tasks_open{{{CHOSEN}}})"), "tasks")
            .unit("short")
            .plain()),
        (4, Panel::stat("Calls that fail", "Share of calls that did not end well. No data: no calls.")
            .query(
                &format!(
                    r#"(sum(rate(a2a_exchanges_total{{{CHOSEN}, outcome!="ok"}}[$__rate_interval])) or max(a2a_drift_build_info{{{JOB}}}) * 0) / sum(rate(a2a_exchanges_total{{{CHOSEN}}}[$__rate_interval]))"#
                ),
                "share",
            )
            .unit("percentunit")
            .colours(&[(0.05, "orange"), (0.25, "red")])),
    ]
}

fn calls() -> Vec<(usize, Panel)> {
    vec![
        (12, Panel::areas("Calls by operation", "Calls a second, whatever their outcome.")
            .query(&format!("sum by (operation) (rate(a2a_exchanges_total{{{CHOSEN}}}[$__rate_interval]))"), "{{operation}}")
            .unit("reqps")),
        (12, Panel::areas("Calls that fail, by outcome", "capability: the agent does not know the skill or mode asked for; not-found: nor the task; auth: it does not take the credentials.")
            .query(
                &format!(r#"sum by (outcome) (rate(a2a_exchanges_total{{{CHOSEN}, outcome!="ok"}}[$__rate_interval]))"#),
                "{{outcome}}",
            )
            .unit("reqps")),
    ]
}

fn tasks() -> Vec<(usize, Panel)> {
    let quantile = |q: &str| {
        format!(
            "histogram_quantile({q}, sum by (le) (rate(a2a_task_duration_seconds_bucket{{{CHOSEN}}}[$__rate_interval])))"
        )
    };
    vec![
        (
            8,
            Panel::areas("Tasks by the state they enter", "Tasks a second that were seen to enter a state.")
                .query(
                    &format!("sum by (state) (rate(a2a_task_states_total{{{CHOSEN}}}[$__rate_interval]))"),
                    "{{state}}",
                )
                .unit("cps"),
        ),
        (
            8,
            Panel::lines(
                "How long tasks take",
                "From the message that made a task to its end: half, nine in ten, and 99 in a hundred took no longer.",
            )
            .query(&quantile("0.5"), "half")
            .query(&quantile("0.9"), "nine in ten")
            .query(&quantile("0.99"), "99 in a hundred")
            .unit("s"),
        ),
        (
            8,
            Panel::lines("Open tasks", "Tasks that have not ended. A line that only rises is work that nobody ends.")
                .query(&format!("sum(a2a_tasks_open{{{CHOSEN}}})"), "open")
                .unit("short"),
        ),
    ]
}

fn webhooks() -> Vec<(usize, Panel)> {
    vec![
        (12, Panel::areas("Webhook deliveries by outcome", "Deliveries a second that this agent sent.")
            .query(&format!("sum by (outcome) (rate(a2a_push_deliveries_total{{{CHOSEN}}}[$__rate_interval]))"), "{{outcome}}")
            .unit("reqps")
            .of("ok", &[("color", json!({"mode": "fixed", "fixedColor": "green"}))])),
        (12, Panel::lines("Webhook deliveries that are refused", "Share of deliveries that were not accepted: results that nobody hears of.")
            .query(
                &format!(
                    r#"sum(rate(a2a_push_deliveries_total{{{CHOSEN}, outcome!="ok"}}[$__rate_interval])) / sum(rate(a2a_push_deliveries_total{{{CHOSEN}}}[$__rate_interval]))"#
                ),
                "refused",
            )
            .unit("percentunit")
            .max(1.0)),
    ]
}
