//! The Grafana dashboards: made here, kept under `dashboards/grafana/`, held fresh by `tests/generated.rs`.
//!
//! Out: JSON. Panels choose findings by label, never by the id of a rule, so that a new rule appears by itself.

mod agent;
mod dashboard;
mod expr;
mod fleet;
mod panel;
mod service;

use serde_json::{Value, json};

use dashboard::{Dashboard, JOB};
use panel::Panel;

/// A panel and its share of the width, of 24.
type Placed = (usize, Panel);

/// The unit that shows an instant as the time since.
const SINCE: &str = "dateTimeFromNow";

const SEVERITY_COLOURS: [(&str, &str); 3] = [("critical", "red"), ("warning", "orange"), ("info", "blue")];

/// What the Fleet dashboard chooses by.
const SOME_AGENTS: &str = r#"job=~"$job", agent=~"$agent""#;

/// What the Agent dashboard chooses by. Grafana escapes what regular expressions give a meaning, such as the dots of an
/// address, only where several can be chosen.
const ONE_AGENT: &str = r#"job=~"$job", agent="$agent""#;

/// Name of each file, and the file.
pub(crate) fn dashboards() -> [(&'static str, String); 3] {
    [("fleet", fleet::fleet().json()), ("agent", agent::agent().json()), ("service", service::service().json())]
}

/// A dashboard about agents, those `chosen`, one or `several` at a time, with the changes of their cards as marks.
fn about_agents(dashboard: Dashboard, chosen: &str, several: bool) -> Dashboard {
    let metrics = "a2a_exchanges_total|a2a_card_info|a2a_drift_active_findings";
    let agents = format!(r#"label_values({{__name__=~"{metrics}", {JOB}}}, agent)"#);
    let severities = format!("label_values(a2a_drift_findings_total{{{JOB}}}, severity)");
    // Of a card that is new here it is not known that it changed: when a fleet is first seen, all of them are.
    let at = format!("a2a_card_changed_timestamp_seconds{{{chosen}}}");
    let changed = format!("(max by (agent) ({at}) > max by (agent) ({at} offset 5m)) * 1000");
    let dashboard = dashboard.labels("agent", "Agent", &agents, several);
    let dashboard = if several { dashboard.all_is_any() } else { dashboard };
    let runbooks = "Where the page of rules can be read: a2a-drift serves it beside its findings, and a repository may have \
        it; links to runbooks lead there. `a2a-drift rules show RULE` prints a runbook as well.";
    dashboard
        .labels("severity", "Severity", &severities, true)
        .all_is_any()
        .addresses()
        .typed("runbooks", "Runbooks", "http://localhost:9464/queries/README.md", runbooks)
        .marks("Cards", "purple", &changed, "{{agent}} changed its card")
}

/// How many findings are critical, and how many are warnings.
fn findings(chosen: &str) -> (Panel, Panel) {
    let of = |title, description, severity: &str, colour: &str| {
        let active = format!(r#"a2a_drift_active_findings{{{chosen}, severity="{severity}"}}"#);
        Panel::stat(title, description)
            .query(&format!("sum({active}) or {}", expr::watched(JOB)), severity)
            .unit("short")
            .colours(&[(1.0, colour)])
    };
    let critical = "Findings to act on now. Normal is 0. \"not watched\": Prometheus does not reach a2a-drift.";
    let critical = of("Critical", critical, "critical", "red");
    (critical, of("Warnings", "Findings to look at today. Normal is 0.", "warning", "orange"))
}

/// How long ago the newest drift began.
fn newest(chosen: &str) -> Panel {
    let since = format!(r#"a2a_drift_active_since_timestamp_seconds{{{chosen}, severity=~"critical|warning"}}"#);
    let description = "When the newest fault began that still stands, of critical findings and warnings.";
    Panel::stat("Newest drift", description)
        .query(&format!("max({since}) * 1000"), "newest")
        .unit(SINCE)
        .without_value("none known")
        .plain()
}

/// The share of calls that fail.
fn share_of_calls(chosen: &str, description: &'static str) -> Panel {
    Panel::stat("Calls that fail", description)
        .query(&expr::share_failing("a2a_exchanges_total", chosen, &expr::watched(JOB)), "share")
        .unit("percentunit")
        .without_value("no calls")
        .colours(&[(0.05, "orange"), (0.25, "red")])
}

/// Tasks that have not ended.
fn open_tasks(chosen: &str) -> Panel {
    let description = "Tasks that have not ended. Those of agents at work are normal; a number that only rises is not.";
    Panel::stat("Open tasks", description)
        .query(&format!("sum(a2a_tasks_open{{{chosen}}})"), "tasks")
        .unit("short")
        .without_value("none seen")
        .plain()
}

/// Whether a2a-drift itself is there.
fn itself() -> Panel {
    let description = "Whether Prometheus reaches every a2a-drift. If not, nothing is judged, and no findings is no \
        good news. Leads to the Service dashboard.";
    Panel::stat("a2a-drift itself", description)
        .query(&format!("min(up{{{JOB}}})"), "up")
        .colours(&[])
        .words(&[("0", "DOWN", "red"), ("1", "up", "green")])
        .leads_to(to_service())
}

/// Tasks a minute by the state they enter.
fn states(chosen: &str) -> Panel {
    let description = "Tasks a minute that were seen to enter a state. Normal: as many end as are submitted.";
    Panel::lines("Tasks by the state they enter", description)
        .query(&expr::per_minute("state", "a2a_task_states_total", chosen), "{{state}}")
        .without_value("no tasks")
        .unit("cpm")
        .coloured(&[("completed", "green"), ("failed", "red"), ("rejected", "orange"), ("canceled", "purple")])
}

/// Calls that fail.
fn failures(chosen: &str) -> Panel {
    let description = "Calls a minute that did not end well. Normal is next to none. capability: the agent does not know the skill or \
        mode asked for; not-found: nor the task; auth: it does not take the credentials; version: nor the protocol's \
        version.";
    Panel::areas("Calls that fail, by outcome", description)
        .query(&expr::per_minute("outcome", "a2a_exchanges_total", &expr::failing(chosen)), "{{outcome}}")
        .without_value("none failed")
        .unit("reqpm")
}

/// Drifts as bands while they stand, however many findings they have, coloured by the worst of them; critical ones on top
/// where there may be `many`.
fn bands(chosen: &str, description: &'static str, by: &str, legend: &str, many: bool) -> Panel {
    let of = |severity: &str, rank: u8| {
        let chosen = format!(r#"{chosen}, severity=~"$severity", severity="{severity}""#);
        format!("max by ({by}) (a2a_drift_active_findings{{{chosen}}}) * 0 + {rank}")
    };
    let (critical, warning, info) = (of("critical", 3), of("warning", 2), of("info", 1));
    let panel = Panel::bands("Since when", description, 16)
        .without_value("nothing drifted, if it was watched")
        .words(&[("3", "critical", "red"), ("2", "warning", "orange"), ("1", "info", "blue")]);
    if many {
        panel.query(&critical, legend).query(&format!("({warning} or {info}) unless on ({by}) ({critical})"), legend)
    } else {
        panel.query(&format!("{critical} or {warning} or {info}"), legend)
    }
}

/// Leads from the name of an agent to its dashboard.
fn to_agent() -> Value {
    let kept =
        ["datasource", "job", "severity", "api", "traces", "runbooks"].map(|name| format!("${{{name}:queryparam}}"));
    let url = "/d/a2a-drift-agent?var-agent=${__value.text:percentencode}";
    json!([{
        "title": "${__value.text} in detail",
        "url": format!("{url}&{}&${{__url_time_range}}", kept.join("&")),
    }])
}

/// Leads to the dashboard on a2a-drift itself.
fn to_service() -> Value {
    let kept = "${datasource:queryparam}&${job:queryparam}&${__url_time_range}";
    json!([{"title": "a2a-drift itself", "url": format!("/d/a2a-drift-service?{kept}")}])
}

/// What drifts now, a row for each rule, agent and suspect: the worst first, and of these the newest.
fn drifting(title: &'static str, description: &'static str, chosen: &str, is_of_one_agent: bool) -> Panel {
    let by = "severity, rule, agent, suspect";
    let active = expr::active(chosen);
    let since =
        |of: &str| format!(r#"a2a_drift_active_since_timestamp_seconds{{{chosen}, severity=~"$severity"{of}}}"#);
    // Seconds since 1970 are less than the step between two severities.
    let ranked = |severity: &str, rank: &str| format!("{} + {rank}", since(&format!(r#", severity="{severity}""#)));
    let rank = format!(
        "{} or {} or {}",
        ranked("critical", "200000000000"),
        ranked("warning", "100000000000"),
        ranked("info", "0")
    );
    let legend = "{{severity}} {{rule}} {{agent}} {{suspect}}";
    let mut columns = vec![
        ("severity", "Severity"),
        ("rule", "Rule"),
        ("agent", "Agent"),
        ("suspect", "Whose fault it looks like"),
        ("Value #B", "Since"),
        ("Value #A", "Findings"),
    ];
    let mut agent = "${__data.fields.Agent:percentencode}";
    if is_of_one_agent {
        columns.remove(2);
        agent = "${agent:percentencode}";
    }
    let findings = format!("${{api}}/api/v1/findings?rule=${{__data.fields.Rule:percentencode}}&agent={agent}");
    Panel::table(title, description)
        .query(&format!("sum by ({by}) ({active})"), &format!("{legend}: findings"))
        .query(&format!("min by ({by}) ({}) * 1000", since("")), &format!("{legend}: since"))
        .query(&format!("max by ({by}) ({rank})"), &format!("{legend}: rank"))
        .columns(&columns, "Value #C")
        .without_value("nothing drifts, if it is watched: see above")
        .of("Severity", &severity_column())
        .of("Rule", &[("links", in_new_tab("Runbook of ${__value.text}", "${runbooks}#${__value.text:percentencode}"))])
        .of("Agent", &[("links", to_agent())])
        .of("Since", &[("unit", json!(SINCE)), ("custom.width", json!(150))])
        .of(
            "Findings",
            &[("links", in_new_tab("Tasks, evidence and what to do next", &findings)), ("custom.width", json!(90))],
        )
        .of("Whose fault it looks like", &[("custom.width", json!(190))])
}

fn severity_column() -> [(&'static str, Value); 3] {
    let colours = json!([{"type": "value", "options": {
        "critical": {"color": "red", "index": 0}, "warning": {"color": "orange", "index": 1},
        "info": {"color": "blue", "index": 2},
    }}]);
    [
        ("mappings", colours),
        ("custom.cellOptions", json!({"type": "color-background", "mode": "basic"})),
        ("custom.width", json!(90)),
    ]
}

fn in_new_tab(title: &str, url: &str) -> Value {
    json!([{"title": title, "url": url, "targetBlank": true}])
}
