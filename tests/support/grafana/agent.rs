//! The dashboard Agent: one agent, from its findings to its card, tasks and webhooks.

use super::dashboard::{Dashboard, JOB};
use super::expr::{card, per_minute, quantile, share_failing, watched};
use super::panel::Panel;
use super::{CHOSEN, Placed, SINCE, about_agents, bands, drifting, failures, findings};

pub(super) fn agent() -> Dashboard {
    let description = "One agent: what drifts about it, the generations of its card, its tasks, calls and webhooks.";
    about_agents(Dashboard::new("a2a-drift-agent", "A2A agent", description), false)
        .row("Now", 4, now())
        .row("Drift", 8, drifts())
        .row("Card", 6, vec![(24, generations())])
        .row("Calls", 8, calls())
        .row("Tasks", 8, tasks())
        .row("Webhooks", 8, webhooks())
}

fn now() -> Vec<Placed> {
    let (critical, warnings) = findings();
    let version = Panel::stat("Card version", "The version that the agent's card states.")
        .query(&format!("max by (version) (a2a_card_info{{{CHOSEN}}})"), "{{version}}")
        .names()
        .without_value("no card seen")
        .plain();
    let changed = Panel::stat("Card unchanged since", "When the card was first seen as it is now.")
        .query(&format!("max(a2a_card_changed_timestamp_seconds{{{CHOSEN}}}) * 1000"), "changed")
        .unit(SINCE)
        .without_value("no card seen")
        .plain();
    let tasks = Panel::stat("Open tasks", "Tasks that have not ended.")
        .query(&format!("sum(a2a_tasks_open{{{CHOSEN}}})"), "tasks")
        .unit("short")
        .without_value("none seen")
        .plain();
    let calls = Panel::stat("Calls that fail", "Share of calls that did not end well.")
        .query(&share_failing("a2a_exchanges_total", CHOSEN, &watched(JOB)), "share")
        .unit("percentunit")
        .without_value("no calls")
        .colours(&[(0.05, "orange"), (0.25, "red")]);
    [critical, warnings, version, changed, tasks, calls].map(|panel| (4, panel)).into()
}

fn drifts() -> Vec<Placed> {
    let description = "One row a rule and suspect. Rule leads to the runbook, Findings to the tasks, the \
        evidence and the next step.";
    let now = drifting("What drifts about this agent", description, true);
    let description = "Each rule is a band while it fires on this agent. The mark is the last change of \
        the card: a drift that begins there most often comes of it.";
    vec![(14, now), (10, bands(description, "rule", "{{rule}}"))]
}

fn generations() -> Panel {
    let description = "Which version and contract the agent showed when. Two at one time: replicas or caches \
        that do not agree.";
    Panel::lines("Generations of the card", description)
        .query(&format!("max by (version, card) ({})", card(CHOSEN)), "{{version}} {{card}}")
        .unit("short")
        .time_line()
}

fn calls() -> Vec<Placed> {
    let operations = Panel::areas("Calls by operation", "Calls a minute, whatever their outcome.")
        .query(&per_minute("operation", "a2a_exchanges_total", CHOSEN), "{{operation}}")
        .unit("reqpm");
    vec![(12, operations), (12, failures(CHOSEN))]
}

fn tasks() -> Vec<Placed> {
    let states = Panel::lines("Tasks by the state they enter", "Tasks a minute that were seen to enter a state.")
        .query(&per_minute("state", "a2a_task_states_total", CHOSEN), "{{state}}")
        .unit("cpm");
    let description = "From the message that made a task to its end: half, nine in ten, and 99 in a hundred took no \
        longer.";
    let duration = "a2a_task_duration_seconds";
    let durations = Panel::lines("How long tasks take", description)
        .query(&quantile("0.5", duration, CHOSEN), "half")
        .query(&quantile("0.9", duration, CHOSEN), "nine in ten")
        .query(&quantile("0.99", duration, CHOSEN), "99 in a hundred")
        .unit("s");
    let description = "Tasks that have not ended. A line that only rises is work that nobody ends.";
    let open = Panel::lines("Open tasks", description)
        .query(&format!("sum(a2a_tasks_open{{{CHOSEN}}})"), "open")
        .unit("short");
    vec![(8, states), (8, durations), (8, open)]
}

fn webhooks() -> Vec<Placed> {
    let deliveries = "a2a_push_deliveries_total";
    let outcomes = Panel::areas("Webhook deliveries by outcome", "Deliveries a minute that this agent sent.")
        .query(&per_minute("outcome", deliveries, CHOSEN), "{{outcome}}")
        .without_value("none seen")
        .unit("reqpm")
        .coloured(&[("ok", "green")]);
    let description = "Share of deliveries that were not accepted: results that nobody hears of.";
    let refused = Panel::lines("Webhook deliveries that are refused", description)
        .query(&share_failing(deliveries, CHOSEN, &watched(JOB)), "refused")
        .without_value("none seen")
        .unit("percentunit")
        .max(1.0);
    vec![(12, outcomes), (12, refused)]
}
