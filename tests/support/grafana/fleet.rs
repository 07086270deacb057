//! The dashboard Fleet: what drifts now, since when, whose fault; then how the fleet does.

use super::dashboard::{Dashboard, JOB};
use super::expr::{active, card, counted, first, shown_peak, watched, worst_shares};
use super::panel::Panel;
use super::{Placed, SEVERITY_COLOURS, SINCE, SOME_AGENTS as CHOSEN};
use super::{about_agents, bands, drifting, failures, findings, itself, newest, open_tasks, share_of_calls, states};
use super::{to_agent, to_service};

pub(super) fn fleet() -> Dashboard {
    let description = "Where what A2A agents advertise, what they do and what their callers believe have \
        drifted apart: now, since when, whose fault.";
    about_agents(Dashboard::new("a2a-drift-fleet", "A2A fleet: what drifts", description), CHOSEN, true)
        .row("Now", 4, now())
        .more(9, vec![(17, drifts()), (7, suspects())])
        .row("Since when", 10, vec![(24, since())])
        .row("How many", 8, how_many())
        .row("Calls", 8, calls())
        .row("Tasks", 8, tasks())
        .row("Webhooks and cards", 8, webhooks_and_cards())
}

fn now() -> Vec<Placed> {
    let watched = watched(JOB);
    let (critical, warnings) = findings(CHOSEN);
    let drifting = format!(r#"a2a_drift_active_findings{{{CHOSEN}, severity=~"critical|warning"}}"#);
    let agents = Panel::stat("Agents that drift", "Agents with a critical finding or a warning. Normal is 0.")
        .query(&format!("count(count by (agent) ({drifting})) or {watched}"), "agents")
        .unit("short")
        .colours(&[(1.0, "orange")]);
    let calls = "Share of calls of the last minutes that did not end well, over all agents. Normal is below 5 %.";
    let description = "Rules for which a field is missing in all that comes in: they cannot find anything. Normal for \
        what your fleet does not do or record. Leads to the Service dashboard, which names them.";
    let blind = Panel::stat("Blind rules", description)
        .query(&format!("count(min by (rule) (a2a_drift_rule_blind{{{JOB}}}) == 1) or {watched}"), "rules")
        .unit("short")
        .colours(&[(1.0, "blue")])
        .leads_to(to_service());
    let calls = share_of_calls(CHOSEN, calls);
    [critical, warnings, agents, newest(CHOSEN), calls, open_tasks(CHOSEN), itself(), blind]
        .map(|panel| (3, panel))
        .into()
}

fn drifts() -> Panel {
    let description = "One row a rule, agent and suspect; the worst first, and of these the newest. Rule leads to the \
        runbook, Agent to its dashboard, Findings to the tasks, the evidence and the next step.";
    drifting("What drifts now", description, CHOSEN, false)
}

fn suspects() -> Panel {
    let description = "Active findings by suspect: the side to begin with. client: the caller; client-cache: it \
        holds an old card; card-publisher: who serves the card; remote-runtime: the agent as it runs; webhook-sender and \
        -receiver: the two ends of a delivery; operator: who changed what is allowed.";
    Panel::bars("Whose fault it looks like", description)
        .query(&format!("sort_desc(sum by (suspect) ({}))", active(CHOSEN)), "{{suspect}}")
        .without_value("nobody's, if it is watched")
        .unit("short")
        .colours(&[(1.0, "orange")])
}

fn since() -> Panel {
    let description = "Each drift is a band while it stands: a rule on an agent, in the colour of its worst finding; \
        those that were critical first. \
        Dashed lines are changes of cards: a drift that begins at one most often comes of it.";
    bands(CHOSEN, description, "rule, agent", "{{rule}} on {{agent}}", true)
}

fn how_many() -> Vec<Placed> {
    let chosen = format!(r#"{CHOSEN}, severity=~"$severity""#);
    let most = format!("sum by (agent) ({})", shown_peak("a2a_drift_active_findings", &chosen));
    let description = "How many findings each agent has, the ten agents with most: whether it gets worse.";
    let agents = Panel::areas("Active findings by agent", description)
        .query(&first(10, &format!("sum by (agent) ({})", active(CHOSEN)), &most), "{{agent}}")
        .without_value("none, if it was watched")
        .counts();
    let description = "New findings in each step, of all agents and whatever became of them. Points lead to the traces \
        they rest on.";
    let chosen = format!(r#"{JOB}, severity=~"$severity""#);
    let began = Panel::lines("Findings that began", description)
        .query(&format!("sum by (severity) ({})", counted("a2a_drift_findings_total", &chosen)), "{{severity}}")
        .with_traces()
        .spikes()
        .counts()
        .coloured(&SEVERITY_COLOURS);
    vec![(12, agents), (12, began)]
}

fn calls() -> Vec<Placed> {
    let description = "Share of the calls to an agent that did not end well: the ten worst. Normal is below 5 %.";
    let worst = Panel::lines("Agents whose calls fail most", description)
        .query(&worst_shares("agent", "a2a_exchanges_total", CHOSEN), "{{agent}}")
        .without_value("none failed")
        .unit("percentunit")
        .max(1.0);
    vec![(12, failures(CHOSEN)), (12, worst)]
}

fn tasks() -> Vec<Placed> {
    let description =
        "Tasks that have not ended: the ten agents with most. A line that only rises is work that nobody ends.";
    let most = format!("sum by (agent) ({})", shown_peak("a2a_tasks_open", CHOSEN));
    let open = Panel::lines("Open tasks by agent", description)
        .query(&first(10, &format!("sum by (agent) (a2a_tasks_open{{{CHOSEN}}})"), &most), "{{agent}}")
        .without_value("no tasks")
        .counts();
    vec![(12, states(CHOSEN)), (12, open)]
}

fn webhooks_and_cards() -> Vec<Placed> {
    let description = "Share of an agent's deliveries that were not accepted, the ten worst: results that nobody hears of. \
        Normal is 0.";
    let webhooks = Panel::lines("Webhook deliveries that are refused", description)
        .query(&worst_shares("agent", "a2a_push_deliveries_total", CHOSEN), "{{agent}}")
        .without_value("none refused")
        .unit("percentunit")
        .max(1.0);
    let shown = format!("max by (agent, version, card) ({})", card(CHOSEN));
    let changed = format!("max by (agent) (a2a_card_changed_timestamp_seconds{{{CHOSEN}}})");
    let description = "The card that each agent shows, and when it was first seen as it is now. Two rows of one agent: its \
        replicas or caches do not agree.";
    let columns =
        [("agent", "Agent"), ("version", "Version"), ("card", "Fingerprint"), ("Value #B", "Unchanged since")];
    let cards = Panel::table("Cards, the last changed first", description)
        .query(&shown, "{{agent}} {{version}} {{card}}: shown")
        .query(
            &format!("{shown} * on (agent) group_left () {changed} * 1000"),
            "{{agent}} {{version}} {{card}}: changed",
        )
        .columns(&columns, "Value #B")
        .without_value("no cards seen")
        .of("Version", &[("custom.width", 110.into())])
        .of("Fingerprint", &[("custom.width", 110.into())])
        .of("Unchanged since", &[("unit", SINCE.into()), ("noValue", "not known".into()), ("custom.width", 150.into())])
        .of("Agent", &[("links", to_agent())]);
    vec![(12, webhooks), (12, cards)]
}
