//! The Grafana dashboards: made here, kept under `dashboards/grafana/`, held fresh by `tests/generated.rs`.
//!
//! Out: JSON. Panels choose findings by label, never by the id of a rule, so that a new rule appears by itself.

mod agent;
mod dashboard;
mod fleet;
mod panel;
mod service;

use serde_json::json;

use panel::Panel;

/// Name of each file, and the file.
pub(crate) fn dashboards() -> [(&'static str, String); 3] {
    [("fleet", fleet::fleet().json()), ("agent", agent::agent().json()), ("service", service::service().json())]
}

/// Where the findings API is reached from a browser, unless typed otherwise.
const API: &str = "http://localhost:9464";
/// Where traces are looked up.
const TRACES: &str = "http://localhost:16686/search";
/// Where the runbooks are read.
const RUNBOOKS: &str = "queries/README.md";

const SINCE: &str = "dateTimeFromNow";

/// A number of findings of a severity; zero while the service is there, and nothing when it is not: no news is not good
/// news.
fn findings(severity: &str, agent: &str) -> String {
    format!(
        r#"sum(a2a_drift_active_findings{{job=~"$job", agent=~"{agent}", severity="{severity}"}}) or max(a2a_drift_build_info{{job=~"$job"}}) * 0"#
    )
}

/// Values of the label `agent`, of agents that were called, that show a card, or about which something was found.
fn agents() -> String {
    let metrics = "a2a_exchanges_total|a2a_card_info|a2a_drift_active_findings";
    format!(r#"label_values({{__name__=~"{metrics}", job=~"$job"}}, agent)"#)
}

/// Each drift, a rule on an agent, as a band of equal height while it stands, however many findings it has.
fn bands(description: &'static str, by: &str, legend: &str) -> Panel {
    Panel::lines("Since when", description)
        .query(
            &format!(
                r#"sum by ({by}) (a2a_drift_active_findings{{job=~"$job", agent=~"$agent", severity=~"$severity"}}) > bool 0"#
            ),
            legend,
        )
        .unit("short")
        .time_line()
}

/// What drifts now, a row for each rule, agent and suspect, the worst first.
fn drifting(title: &'static str, description: &'static str, agent: &str) -> Panel {
    let by = "severity, rule, agent, suspect";
    let chosen = format!(r#"{{job=~"$job", agent=~"{agent}", severity=~"$severity"}}"#);
    let severities = json!([{"type": "value", "options": {
        "critical": {"color": "red", "index": 0}, "warning": {"color": "orange", "index": 1},
        "info": {"color": "blue", "index": 2},
    }}]);
    let legend = "{{severity}} {{rule}} {{agent}} {{suspect}}";
    let link = |title: &str, url: &str| json!([{"title": title, "url": url, "targetBlank": true}]);
    Panel::table(title, description)
        .query(&format!("sum by ({by}) (a2a_drift_active_findings{chosen})"), &format!("{legend}: findings"))
        .query(
            &format!("min by ({by}) (a2a_drift_active_since_timestamp_seconds{chosen}) * 1000"),
            &format!("{legend}: since"),
        )
        .columns(&[
            ("severity", "Severity"),
            ("rule", "Rule"),
            ("agent", "Agent"),
            ("suspect", "Whose fault it looks like"),
            ("Value #B", "Since"),
            ("Value #A", "Findings"),
        ])
        .sorted("Severity", false)
        .of(
            "Severity",
            &[
                ("mappings", severities),
                ("custom.cellOptions", json!({"type": "color-background", "mode": "basic"})),
                ("custom.width", json!(100)),
            ],
        )
        .of("Rule", &[("links", link("Runbook of ${__value.text}", "${runbooks}#${__value.text}"))])
        .of(
            "Agent",
            &[(
                "links",
                json!([{
                    "title": "${__value.text} in detail",
                    "url": "/d/a2a-drift-agent?var-agent=${__value.text}&${datasource:queryparam}&${job:queryparam}&${__url_time_range}",
                }]),
            )],
        )
        .of("Since", &[("unit", json!(SINCE)), ("custom.width", json!(180))])
        .of(
            "Findings",
            &[
                (
                    "links",
                    link(
                        "Tasks, evidence and what to do next",
                        "${api}/api/v1/findings?rule=${__data.fields.Rule}&agent=${__data.fields.Agent}",
                    ),
                ),
                ("custom.width", json!(100)),
            ],
        )
}
