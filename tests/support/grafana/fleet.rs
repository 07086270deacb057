//! The dashboard Fleet: what drifts now, since when, whose fault; then how the fleet does.

use serde_json::json;

use super::dashboard::{Dashboard, JOB};
use super::panel::Panel;
use super::{API, RUNBOOKS, SINCE, TRACES, agents, bands, drifting, findings};

const CHOSEN: &str = r#"job=~"$job", agent=~"$agent""#;

pub(super) fn fleet() -> Dashboard {
    Dashboard::new(
        "a2a-drift-fleet",
        "A2A fleet: what drifts",
        "Where what A2A agents advertise, what they do and what their callers believe have drifted apart: now, since when, whose fault.",
    )
    .labels("agent", "Agent", &agents(), true)
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
    .row("What drifts now", 9, vec![(24, drifting(
        "What drifts now",
        "One row a rule, agent and suspect. Rule leads to the runbook, Agent to its dashboard, Findings to the tasks, the evidence and the next step.",
        "$agent",
    ))])
    .row("Since when", 8, since())
    .row("Calls", 8, calls())
    .row("Tasks", 8, tasks())
    .row("Webhooks and cards", 8, webhooks_and_cards())
}

fn now() -> Vec<(usize, Panel)> {
    let watched = format!("max(a2a_drift_build_info{{{JOB}}}) * 0");
    vec![
        (4, Panel::stat("Critical", "Findings to act on now.")
            .query(&findings("critical", "$agent"), "critical")
            .colours(&[(1.0, "red")])),
        (4, Panel::stat("Warnings", "Findings to look at today.")
            .query(&findings("warning", "$agent"), "warning")
            .colours(&[(1.0, "orange")])),
        (4, Panel::stat("Agents that drift", "Agents with a critical finding or a warning.")
            .query(
                &format!(
                    r#"count(count by (agent) (a2a_drift_active_findings{{{CHOSEN}, severity=~"critical|warning"}})) or {watched}"#
                ),
                "agents",
            )
            .colours(&[(1.0, "orange")])),
        (4, Panel::stat("Open tasks", "Tasks that have not ended, over all agents.")
            .query(&format!("sum(a2a_tasks_open{{{CHOSEN}}}) or {watched}"), "tasks")
            .unit("short")
            .plain()),
        (4, Panel::stat("Calls that fail", "Share of calls that did not end well. No data: no calls.")
            .query(
                &format!(
                    r#"(sum(rate(a2a_exchanges_total{{{CHOSEN}, outcome!="ok"}}[$__rate_interval])) or {watched}) / sum(rate(a2a_exchanges_total{{{CHOSEN}}}[$__rate_interval]))"#
                ),
                "share",
            )
            .unit("percentunit")
            .colours(&[(0.05, "orange"), (0.25, "red")])),
        (4, Panel::stat("Blind rules", "Rules for which a field is missing in all that comes in: they cannot find anything. The Service dashboard names them.")
            .query(&format!("count(min by (rule) (a2a_drift_rule_blind{{{JOB}}}) == 1) or {watched}"), "rules")
            .colours(&[(1.0, "yellow")])),
    ]
}

fn since() -> Vec<(usize, Panel)> {
    vec![
        (
            10,
            bands(
                "Each drift is a band while it stands: a rule on an agent, however many findings it has. Marks are changes of cards: a drift that begins at one most often comes of it.",
                "rule, agent",
                "{{rule}} on {{agent}}",
            ),
        ),
        (
            8,
            Panel::areas("Active findings by agent", "How many findings each agent has: whether it gets worse.")
                .query(
                    &format!(r#"sum by (agent) (a2a_drift_active_findings{{{CHOSEN}, severity=~"$severity"}})"#),
                    "{{agent}}",
                )
                .unit("short"),
        ),
        (
            6,
            Panel::bars("Whose fault it looks like", "Active findings by suspect: the side to begin with.")
                .query(
                    &format!(
                        r#"sort_desc(sum by (suspect) (a2a_drift_active_findings{{{CHOSEN}, severity=~"$severity"}}))"#
                    ),
                    "{{suspect}}",
                )
                .unit("short")
                .colours(&[(1.0, "orange")]),
        ),
    ]
}

fn calls() -> Vec<(usize, Panel)> {
    vec![
        (8, Panel::lines("Findings that began", "New findings in each step, whatever became of them. Points lead to the traces they rest on.")
            .query(
                &format!(r#"sum by (severity) (increase(a2a_drift_findings_total{{{JOB}, severity=~"$severity"}}[$__rate_interval]))"#),
                "{{severity}}",
            )
            .with_traces()
            .unit("short")
            .spikes()
            .of("critical", &[("color", json!({"mode": "fixed", "fixedColor": "red"}))])
            .of("warning", &[("color", json!({"mode": "fixed", "fixedColor": "orange"}))])
            .of("info", &[("color", json!({"mode": "fixed", "fixedColor": "blue"}))])),
        (8, Panel::areas("Calls by outcome", "Calls a second. capability: the agent does not know the skill or mode asked for; not-found: nor the task; auth: it does not take the credentials.")
            .query(&format!("sum by (outcome) (rate(a2a_exchanges_total{{{CHOSEN}}}[$__rate_interval]))"), "{{outcome}}")
            .unit("reqps")),
        (8, Panel::lines("Agents whose calls fail most", "Share of the calls to an agent that did not end well: the ten worst.")
            .query(
                &format!(
                    r#"topk(10, sum by (agent) (rate(a2a_exchanges_total{{{CHOSEN}, outcome!="ok"}}[$__rate_interval])) / sum by (agent) (rate(a2a_exchanges_total{{{CHOSEN}}}[$__rate_interval])) > 0)"#
                ),
                "{{agent}}",
            )
            .unit("percentunit")
            .max(1.0)),
    ]
}

fn tasks() -> Vec<(usize, Panel)> {
    vec![
        (
            12,
            Panel::areas("Tasks by the state they enter", "Tasks a second that were seen to enter a state.")
                .query(
                    &format!("sum by (state) (rate(a2a_task_states_total{{{CHOSEN}}}[$__rate_interval]))"),
                    "{{state}}",
                )
                .unit("cps"),
        ),
        (
            12,
            Panel::lines(
                "Open tasks by agent",
                "Tasks that have not ended: the ten agents with most. A line that only rises is work that nobody ends.",
            )
            .query(&format!("topk(10, sum by (agent) (a2a_tasks_open{{{CHOSEN}}}))"), "{{agent}}")
            .unit("short"),
        ),
    ]
}

fn webhooks_and_cards() -> Vec<(usize, Panel)> {
    vec![
        (12, Panel::lines("Webhook deliveries that are refused", "Share of an agent's deliveries that were not accepted: results that nobody hears of.")
            .query(
                &format!(
                    r#"sum by (agent) (rate(a2a_push_deliveries_total{{{CHOSEN}, outcome!="ok"}}[$__rate_interval])) / sum by (agent) (rate(a2a_push_deliveries_total{{{CHOSEN}}}[$__rate_interval]))"#
                ),
                "{{agent}}",
            )
            .unit("percentunit")
            .max(1.0)),
        (12, Panel::table("Cards, the last changed first", "The card that each agent shows, and when its contract was last seen to change.")
            .query(
                &format!(
                    r#"max by (agent, version, card) (label_replace(a2a_card_info{{{CHOSEN}}}, "card", "$1", "fingerprint", "(.{{8}}).*"))"#
                ),
                "{{agent}} {{version}} {{card}}: shown",
            )
            .query(
                &format!(
                    r#"max by (agent, version, card) (label_replace(a2a_card_info{{{CHOSEN}}}, "card", "$1", "fingerprint", "(.{{8}}).*")) * on (agent) group_left () max by (agent) (a2a_card_changed_timestamp_seconds{{{CHOSEN}}}) * 1000"#
                ),
                "{{agent}} {{version}} {{card}}: changed",
            )
            .columns(&[("agent", "Agent"), ("version", "Version"), ("card", "Fingerprint"), ("Value #B", "Changed"), ("Value #A", "Shown")])
            .sorted("Changed", true)
            .of("Changed", &[("unit", json!(SINCE)), ("noValue", json!("never seen to"))])
            .of("Shown", &[("custom.hidden", json!(true))])
            .of("Agent", &[("links", json!([{
                "title": "${__value.text} in detail",
                "url": "/d/a2a-drift-agent?var-agent=${__value.text}&${datasource:queryparam}&${job:queryparam}&${__url_time_range}",
            }]))])),
    ]
}
