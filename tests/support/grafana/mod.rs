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

/// What both dashboards about agents choose by.
const CHOSEN: &str = r#"job=~"$job", agent=~"$agent""#;

/// Name of each file, and the file.
pub(crate) fn dashboards() -> [(&'static str, String); 3] {
    [("fleet", fleet::fleet().json()), ("agent", agent::agent().json()), ("service", service::service().json())]
}

/// A dashboard about agents, one or `several` at a time, with the changes of their cards as marks.
fn about_agents(dashboard: Dashboard, several: bool) -> Dashboard {
    let metrics = "a2a_exchanges_total|a2a_card_info|a2a_drift_active_findings";
    let agents = format!(r#"label_values({{__name__=~"{metrics}", {JOB}}}, agent)"#);
    let severities = format!("label_values(a2a_drift_findings_total{{{JOB}}}, severity)");
    let changed = format!("max by (agent) (a2a_card_changed_timestamp_seconds{{{CHOSEN}}}) * 1000");
    dashboard
        .labels("agent", "Agent", &agents, several)
        .labels("severity", "Severity", &severities, true)
        .addresses()
        .typed("runbooks", "Runbooks", "queries/README.md")
        .marks("Cards", "purple", &changed, "{{agent}} shows its present card from here on")
}

/// How many findings are critical, and how many are warnings.
fn findings() -> (Panel, Panel) {
    let of = |title, description, severity: &str, colour: &str| {
        let active = format!(r#"a2a_drift_active_findings{{{CHOSEN}, severity="{severity}"}}"#);
        Panel::stat(title, description)
            .query(&format!("sum({active}) or {}", expr::watched(JOB)), severity)
            .colours(&[(1.0, colour)])
    };
    let critical = of("Critical", "Findings to act on now.", "critical", "red");
    (critical, of("Warnings", "Findings to look at today.", "warning", "orange"))
}

/// Calls that fail.
fn failures(chosen: &str) -> Panel {
    let description = "Calls a minute that did not end well. capability: the agent does not know the skill or \
        mode asked for; not-found: nor the task; auth: it does not take the credentials; version: nor the protocol's \
        version.";
    Panel::areas("Calls that fail, by outcome", description)
        .query(&expr::per_minute("outcome", "a2a_exchanges_total", &expr::failing(chosen)), "{{outcome}}")
        .without_value("none failed")
        .unit("reqpm")
}

/// Drifts as bands of equal height while they stand, however many findings they have.
fn bands(description: &'static str, by: &str, legend: &str) -> Panel {
    Panel::lines("Since when", description)
        .without_value("nothing drifted")
        .query(&format!("sum by ({by}) ({}) > bool 0", expr::active(CHOSEN)), legend)
        .unit("short")
        .time_line()
}

/// Leads from the name of an agent to its dashboard.
fn to_agent() -> Value {
    let kept = "${datasource:queryparam}&${job:queryparam}&${__url_time_range}";
    json!([{
        "title": "${__value.text} in detail",
        "url": format!("/d/a2a-drift-agent?var-agent=${{__value.text}}&{kept}"),
    }])
}

/// What drifts now, a row for each rule, agent and suspect, the worst first.
fn drifting(title: &'static str, description: &'static str, is_of_one_agent: bool) -> Panel {
    let by = "severity, rule, agent, suspect";
    let chosen = format!(r#"{CHOSEN}, severity=~"$severity""#);
    let ranked = |severity: &str, rank: u8| {
        format!(r#"a2a_drift_active_findings{{{chosen}, severity="{severity}"}} * 0 + {rank}"#)
    };
    let rank = format!("{} or {} or {}", ranked("critical", 2), ranked("warning", 1), ranked("info", 0));
    let legend = "{{severity}} {{rule}} {{agent}} {{suspect}}";
    let mut columns = vec![
        ("severity", "Severity"),
        ("rule", "Rule"),
        ("agent", "Agent"),
        ("suspect", "Whose fault it looks like"),
        ("Value #B", "Since"),
        ("Value #A", "Findings"),
    ];
    let mut agent = "${__data.fields.Agent}";
    if is_of_one_agent {
        columns.remove(2);
        agent = "${agent}";
    }
    let since = format!("a2a_drift_active_since_timestamp_seconds{{{chosen}}}");
    Panel::table(title, description)
        .query(&format!("sum by ({by}) ({})", expr::active(CHOSEN)), &format!("{legend}: findings"))
        .query(&format!("min by ({by}) ({since}) * 1000"), &format!("{legend}: since"))
        .query(&format!("max by ({by}) ({rank})"), &format!("{legend}: rank"))
        .columns(&columns, "Value #C")
        .without_value("nothing drifts, if it is watched: see above")
        .of("Severity", &severity_column())
        .of("Rule", &[("links", in_new_tab("Runbook of ${__value.text}", "${runbooks}#${__value.text}"))])
        .of("Agent", &[("links", to_agent())])
        .of("Since", &[("unit", json!(SINCE)), ("custom.width", json!(180))])
        .of(
            "Findings",
            &[
                (
                    "links",
                    in_new_tab(
                        "Tasks, evidence and what to do next",
                        &format!("${{api}}/api/v1/findings?rule=${{__data.fields.Rule}}&agent={agent}"),
                    ),
                ),
                ("custom.width", json!(100)),
            ],
        )
}

fn severity_column() -> [(&'static str, Value); 3] {
    let colours = json!([{"type": "value", "options": {
        "critical": {"color": "red", "index": 0}, "warning": {"color": "orange", "index": 1},
        "info": {"color": "blue", "index": 2},
    }}]);
    [
        ("mappings", colours),
        ("custom.cellOptions", json!({"type": "color-background", "mode": "basic"})),
        ("custom.width", json!(100)),
    ]
}

fn in_new_tab(title: &str, url: &str) -> Value {
    json!([{"title": title, "url": url, "targetBlank": true}])
}
