//! Unit tests of the alerts on rules, in the form that `promtool test rules` takes.
//!
//! In: the corpus. Out: a test file with one test a rule: findings come on two instances and go again, while others of
//! another rule stand all the time. Says by itself what the alert must tell, from the header and the runbook.

use a2a_drift::rules::{Corpus, Rule};
use serde_json::{Value, json};

/// Minutes at which findings come and are gone.
const BEGIN: u64 = 5;
const END: u64 = 25;

/// The agent in the tests.
const AGENT: &str = "planner.example:8443";

/// The file.
pub(crate) fn alerts_test(corpus: &Corpus) -> String {
    let mut rules: Vec<&Rule> = corpus.rules.iter().collect();
    rules.sort_by_key(|rule| (&rule.category, &rule.id));
    let mut page = "# Made by `UPDATE=1 cargo test --test generated`. JSON is YAML: one test a line.\n\
                    rule_files: [alerts.yaml]\nevaluation_interval: 1m\ntests:\n"
        .to_owned();
    for rule in rules {
        page.push_str(&format!("  - {}\n", test(rule)));
    }
    page
}

fn test(rule: &Rule) -> Value {
    let (wait, keep) = (minutes(rule.header.alert.wait(rule.header.severity)), minutes(rule.header.alert.keep()));
    assert!(BEGIN + wait < END, "{}: longer than these tests wait", rule.id);
    let mut quiet = vec![BEGIN - 1, END + keep, END + keep + 30];
    if wait > 0 {
        quiet.push(BEGIN + wait - 1);
    }
    let steps: Vec<Value> = quiet
        .into_iter()
        .map(|at| step(rule, at, json!([])))
        .chain([BEGIN + wait, END - 1, END + keep - 1].map(|at| step(rule, at, json!([fired(rule)]))))
        .collect();
    let standing = format!("1x{} 0x{}", END - BEGIN - 1, keep + 40);
    json!({
        "name": rule.id,
        "interval": "1m",
        "input_series": [
            {"series": series(&rule.id, rule, "one:9464"), "values": format!("0x{} {standing}", BEGIN - 1)},
            {"series": series(&rule.id, rule, "two:9464"), "values": format!("_x{BEGIN} {standing}")},
            {"series": series("another_rule", rule, "one:9464"), "values": format!("3x{}", END + keep + 40)},
        ],
        "alert_rule_test": steps,
    })
}

fn step(rule: &Rule, minute: u64, alerts: Value) -> Value {
    json!({"eval_time": format!("{minute}m"), "alertname": name(&rule.id), "exp_alerts": alerts})
}

fn fired(rule: &Rule) -> Value {
    let why = rule.runbook.iter().find(|section| section.heading == "Why it matters").unwrap();
    let (title, suspect) = (&rule.header.title, rule.header.suspect.as_str());
    let why = why.body.split_whitespace().collect::<Vec<_>>().join(" ");
    let ends = if rule.header.lasts {
        "Ends when the facts say that it is over."
    } else {
        "Ends an hour after its last evidence, unless [serve] active says otherwise."
    };
    json!({
        "exp_labels": {
            "rule": rule.id, "category": rule.category, "severity": rule.header.severity.as_str(), "suspect": suspect,
            "agent": AGENT,
        },
        "exp_annotations": {
            "summary": format!("{AGENT}: {title}"),
            "description": format!("Active on {AGENT}: 2; the fault looks like that of the {suspect}. {why} {ends}"),
            "runbook_url": format!("queries/README.md#{}", rule.id),
        },
    })
}

fn series(id: &str, rule: &Rule, instance: &str) -> String {
    let (category, severity, suspect) = (&rule.category, rule.header.severity.as_str(), rule.header.suspect.as_str());
    format!(
        "a2a_drift_active_findings{{job=\"a2a-drift\",instance=\"{instance}\",rule=\"{id}\",category=\"{category}\",\
         severity=\"{severity}\",suspect=\"{suspect}\",agent=\"{AGENT}\"}}"
    )
}

/// `A2ADriftUnknownSkill` for `unknown_skill`.
fn name(id: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    format!("A2ADrift{}", id.split('_').map(capital).collect::<String>())
}

fn minutes(span: Option<a2a_drift::rules::Span>) -> u64 {
    span.map_or(0, |span| {
        let text = span.to_string();
        text.strip_suffix('m').unwrap_or_else(|| panic!("{text}: these tests count in minutes")).parse().unwrap()
    })
}
