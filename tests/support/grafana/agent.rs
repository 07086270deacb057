//! The dashboard Agent: one agent, from its findings to its card, tasks and webhooks.

use super::dashboard::{Dashboard, JOB};
use super::expr::{card, per_minute, quantile, share_failing, watched};
use super::panel::Panel;
use super::{ONE_AGENT as CHOSEN, Placed, SINCE};
use super::{about_agents, bands, drifting, failures, findings, newest, open_tasks, share_of_calls, states};

pub(super) fn agent() -> Dashboard {
    let description = "One agent: what drifts about it, the generations of its card, its tasks, calls and webhooks.";
    about_agents(Dashboard::new("a2a-drift-agent", "A2A agent", description), CHOSEN, false)
        .row("${agent} now", 4, now())
        .more(8, drifts())
        .row("Card", 5, vec![(24, generations())])
        .row("Calls", 8, calls())
        .row("Tasks", 8, tasks())
        .row("Webhooks", 8, webhooks())
}

fn now() -> Vec<Placed> {
    let (critical, warnings) = findings(CHOSEN);
    let version = Panel::stat("Card version", "The version that the agent's card states; several: replicas differ.")
        .query(&format!("max by (version) (a2a_card_info{{{CHOSEN}}})"), "{{version}}")
        .names("version")
        .without_value("no card seen")
        .plain();
    let changed = Panel::stat("Card unchanged since", "When the card was first seen as it is now.")
        .query(&format!("max(a2a_card_changed_timestamp_seconds{{{CHOSEN}}}) * 1000"), "changed")
        .unit(SINCE)
        .without_value("no card seen")
        .plain();
    let calls = "Share of calls of the last minutes that did not end well. Normal is below 5 %.";
    let calls = share_of_calls(CHOSEN, calls);
    let panels = [(3, critical), (3, warnings), (4, newest(CHOSEN)), (3, calls), (3, open_tasks(CHOSEN))];
    panels.into_iter().chain([(4, version), (4, changed)]).collect()
}

fn drifts() -> Vec<Placed> {
    let description = "One row a rule and suspect; the worst first, and of these the newest. Rule leads to the runbook, \
        Findings to the tasks, the evidence and the next step.";
    let now = drifting("What drifts about this agent", description, CHOSEN, true);
    let description = "Each rule is a band while it fires on this agent, in the colour of its worst finding. Dashed \
        lines are changes of the card: a drift that begins at one most often comes of it.";
    vec![(13, now), (11, bands(CHOSEN, description, "rule", "{{rule}}", false))]
}

fn generations() -> Panel {
    let description = "Which version and contract the agent showed when. Normal is one band. Two at one time: replicas \
        or caches that do not agree.";
    Panel::bands("Generations of the card", description, 6)
        .query(&format!("max by (version, card) ({})", card(CHOSEN)), "{{version}} {{card}}")
        .words(&[("1", "shown", "blue")])
        .without_value("no card seen")
}

fn calls() -> Vec<Placed> {
    let operations = Panel::areas(
        "Calls by operation",
        "Calls a minute, whatever their outcome. Normal follows the work of its callers.",
    )
    .query(&per_minute("operation", "a2a_exchanges_total", CHOSEN), "{{operation}}")
    .without_value("no calls")
    .unit("reqpm");
    vec![(12, operations), (12, failures(CHOSEN))]
}

fn tasks() -> Vec<Placed> {
    let description = "From the message that made a task to its end: half, nine in ten, and 99 in a hundred took no \
        longer. Normal is what it was last week: choose a longer time.";
    let duration = "a2a_task_duration_seconds";
    let durations = Panel::lines("How long tasks take", description)
        .query(&quantile("0.5", duration, CHOSEN), "half")
        .query(&quantile("0.9", duration, CHOSEN), "nine in ten")
        .query(&quantile("0.99", duration, CHOSEN), "99 in a hundred")
        .without_value("no task ended")
        .unit("s");
    let description = "Tasks that have not ended. A line that only rises is work that nobody ends.";
    let open = Panel::lines("Open tasks", description)
        .query(&format!("sum(a2a_tasks_open{{{CHOSEN}}})"), "open")
        .without_value("no tasks")
        .counts();
    vec![(8, states(CHOSEN)), (8, durations), (8, open)]
}

fn webhooks() -> Vec<Placed> {
    let deliveries = "a2a_push_deliveries_total";
    let outcomes =
        Panel::areas("Webhook deliveries by outcome", "Deliveries a minute that this agent sent. Normal is ok alone.")
            .query(&per_minute("outcome", deliveries, CHOSEN), "{{outcome}}")
            .without_value("none seen")
            .unit("reqpm")
            .coloured(&[("ok", "green")]);
    let description = "Share of deliveries that were not accepted: results that nobody hears of. Normal is 0.";
    let refused = Panel::lines("Webhook deliveries that are refused", description)
        .query(&share_failing(deliveries, CHOSEN, &watched(JOB)), "refused")
        .without_value("none seen")
        .unit("percentunit")
        .max(1.0);
    vec![(12, outcomes), (12, refused)]
}
