//! The dashboard Fleet: what drifts now, since when, whose fault; then how the fleet does.

use super::dashboard::{Dashboard, JOB};
use super::expr::{active, card, counted, failing, per_minute, rate, share_failing, watched};
use super::panel::Panel;
use super::{CHOSEN, Placed, SEVERITY_COLOURS, SINCE, about_agents, bands, drifting, failures, findings, to_agent};

pub(super) fn fleet() -> Dashboard {
    let description = "Where what A2A agents advertise, what they do and what their callers believe have \
        drifted apart: now, since when, whose fault.";
    about_agents(Dashboard::new("a2a-drift-fleet", "A2A fleet: what drifts", description), true)
        .row("Now", 4, now())
        .row("Drift", 9, vec![(24, drifts())])
        .row("Since when", 8, vec![(24, since())])
        .row("How many", 8, how_many())
        .row("Calls", 8, calls())
        .row("Tasks", 8, tasks())
        .row("Webhooks and cards", 8, webhooks_and_cards())
}

fn now() -> Vec<Placed> {
    let watched = watched(JOB);
    let (critical, warnings) = findings();
    let drifting = format!(r#"a2a_drift_active_findings{{{CHOSEN}, severity=~"critical|warning"}}"#);
    let agents = Panel::stat("Agents that drift", "Agents with a critical finding or a warning.")
        .query(&format!("count(count by (agent) ({drifting})) or {watched}"), "agents")
        .colours(&[(1.0, "orange")]);
    let tasks = Panel::stat("Open tasks", "Tasks that have not ended, over all agents.")
        .query(&format!("sum(a2a_tasks_open{{{CHOSEN}}}) or {watched}"), "tasks")
        .unit("short")
        .plain();
    let calls = Panel::stat("Calls that fail", "Share of calls that did not end well, over all agents.")
        .query(&share_failing("a2a_exchanges_total", CHOSEN, &watched), "share")
        .unit("percentunit")
        .without_value("no calls")
        .colours(&[(0.05, "orange"), (0.25, "red")]);
    let description = "Rules for which a field is missing in all that comes in: they cannot find anything. The Service \
        dashboard names them.";
    let blind = Panel::stat("Blind rules", description)
        .query(&format!("count(min by (rule) (a2a_drift_rule_blind{{{JOB}}}) == 1) or {watched}"), "rules")
        .colours(&[(1.0, "yellow")]);
    [critical, warnings, agents, tasks, calls, blind].map(|panel| (4, panel)).into()
}

fn drifts() -> Panel {
    let description = "One row a rule, agent and suspect. Rule leads to the runbook, Agent to its dashboard, \
        Findings to the tasks, the evidence and the next step.";
    drifting("What drifts now", description, false)
}

fn since() -> Panel {
    let description = "Each drift is a band while it stands: a rule on an agent, however many findings it has. \
        Marks are last changes of cards: a drift that begins at one most often comes of it.";
    bands(description, "rule, agent", "{{rule}} on {{agent}}")
}

fn how_many() -> Vec<Placed> {
    let active = active(CHOSEN);
    let agents = Panel::areas("Active findings by agent", "How many findings each agent has: whether it gets worse.")
        .query(&format!("sum by (agent) ({active})"), "{{agent}}")
        .without_value("none")
        .unit("short");
    let description = "New findings in each step, of all agents and whatever became of them. Points lead to the traces \
        they rest on.";
    let chosen = format!(r#"{JOB}, severity=~"$severity""#);
    let began = Panel::lines("Findings that began", description)
        .query(&format!("sum by (severity) ({})", counted("a2a_drift_findings_total", &chosen)), "{{severity}}")
        .with_traces()
        .unit("short")
        .spikes()
        .coloured(&SEVERITY_COLOURS);
    let suspects = Panel::bars("Whose fault it looks like", "Active findings by suspect: the side to begin with.")
        .query(&format!("sort_desc(sum by (suspect) ({active}))"), "{{suspect}}")
        .without_value("nobody's")
        .unit("short")
        .colours(&[(1.0, "orange")]);
    vec![(8, agents), (8, began), (8, suspects)]
}

fn calls() -> Vec<Placed> {
    let (failed, all) = (rate("a2a_exchanges_total", &failing(CHOSEN)), rate("a2a_exchanges_total", CHOSEN));
    let description = "Share of the calls to an agent that did not end well: the ten worst.";
    let worst = Panel::lines("Agents whose calls fail most", description)
        .query(&format!("topk(10, sum by (agent) ({failed}) / sum by (agent) ({all}) > 0)"), "{{agent}}")
        .without_value("none failed")
        .unit("percentunit")
        .max(1.0);
    vec![(12, failures(CHOSEN)), (12, worst)]
}

fn tasks() -> Vec<Placed> {
    let states = Panel::lines("Tasks by the state they enter", "Tasks a minute that were seen to enter a state.")
        .query(&per_minute("state", "a2a_task_states_total", CHOSEN), "{{state}}")
        .unit("cpm");
    let description =
        "Tasks that have not ended: the ten agents with most. A line that only rises is work that nobody ends.";
    let open = Panel::lines("Open tasks by agent", description)
        .query(&format!("topk(10, sum by (agent) (a2a_tasks_open{{{CHOSEN}}}))"), "{{agent}}")
        .unit("short");
    vec![(12, states), (12, open)]
}

fn webhooks_and_cards() -> Vec<Placed> {
    let deliveries = "a2a_push_deliveries_total";
    let (refused, all) = (rate(deliveries, &failing(CHOSEN)), rate(deliveries, CHOSEN));
    let description =
        "Share of an agent's deliveries that were not accepted, the ten worst: results that nobody hears of.";
    let webhooks = Panel::lines("Webhook deliveries that are refused", description)
        .query(&format!("topk(10, sum by (agent) ({refused}) / sum by (agent) ({all}) > 0)"), "{{agent}}")
        .without_value("none refused")
        .unit("percentunit")
        .max(1.0);
    let shown = format!("max by (agent, version, card) ({})", card(CHOSEN));
    let changed = format!("max by (agent) (a2a_card_changed_timestamp_seconds{{{CHOSEN}}})");
    let description = "The card that each agent shows, and when it was first seen as it is now.";
    let columns =
        [("agent", "Agent"), ("version", "Version"), ("card", "Fingerprint"), ("Value #B", "Unchanged since")];
    let cards = Panel::table("Cards, the last changed first", description)
        .query(&shown, "{{agent}} {{version}} {{card}}: shown")
        .query(
            &format!("{shown} * on (agent) group_left () {changed} * 1000"),
            "{{agent}} {{version}} {{card}}: changed",
        )
        .columns(&columns, "Value #B")
        .of("Unchanged since", &[("unit", SINCE.into()), ("noValue", "not known".into())])
        .of("Agent", &[("links", to_agent())]);
    vec![(12, webhooks), (12, cards)]
}
