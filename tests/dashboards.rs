//! The dashboards follow the habits of Grafana and Prometheus, and use no metric or label that is not exported.
//!
//! The linter needs no program. Those tests that ask real ones are ignored unless asked for, after `tests/tools/fetch/fetch`:
//! `cargo test --test dashboards -- --include-ignored`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use a2a_drift::measures::Kind;
use a2a_drift::publish::prometheus::definitions;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

#[path = "support/servers.rs"]
mod servers;

/// A metric that is exported.
#[derive(Deserialize)]
struct Metric {
    r#type: String,
    labels: Vec<String>,
    help: String,
}

static METRICS: LazyLock<BTreeMap<String, Metric>> =
    LazyLock::new(|| toml::from_str(&fs::read_to_string(root().join("dashboards/metrics.toml")).unwrap()).unwrap());

/// Words of PromQL that stand where names do.
const WORDS: [&str; 10] =
    ["by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "bool"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The dashboards by name.
fn dashboards() -> BTreeMap<String, Value> {
    let files = fs::read_dir(root().join("dashboards/grafana")).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), serde_json::from_str(&text).unwrap())
    };
    files.map(read).collect()
}

/// Panels that show something, with the place for messages.
fn panels(dashboards: &BTreeMap<String, Value>) -> Vec<(String, &Value)> {
    let mut panels = Vec::new();
    for (name, dashboard) in dashboards {
        for panel in dashboard["panels"].as_array().unwrap().iter().filter(|panel| panel["type"] != "row") {
            panels.push((format!("{name}: {}", panel["title"]), panel));
        }
    }
    panels
}

/// Every expression, with its place: panels, annotations, and what variables are made of.
fn expressions(dashboards: &BTreeMap<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all = Vec::new();
    for (place, panel) in panels(dashboards) {
        all.extend(panel["targets"].as_array().unwrap().iter().map(|target| (place.clone(), text(&target["expr"]))));
    }
    let values = Regex::new(r"^label_values\((.*), \w+\)$").unwrap();
    for (name, dashboard) in dashboards {
        for mark in dashboard["annotations"]["list"].as_array().unwrap() {
            all.push((format!("{name}: annotation {}", mark["name"]), text(&mark["target"]["expr"])));
        }
        for variable in dashboard["templating"]["list"].as_array().unwrap().iter().filter(|v| v["type"] == "query") {
            let query = text(&variable["definition"]);
            all.push((
                format!("{name}: variable {}", variable["name"]),
                values.captures(&query).unwrap()[1].to_owned(),
            ));
        }
    }
    all
}

/// An expression as Grafana sends it, for whatever was picked.
fn sent(expr: &str) -> String {
    let replaced = expr.replace("$__rate_interval", "1m").replace("$__range", "6h");
    Regex::new(r#""\$\w+""#).unwrap().replace_all(&replaced, "\".*\"").into_owned()
}

/// The metric that a name in an expression belongs to, and what of it.
fn metric(name: &str) -> Option<(&'static Metric, &str)> {
    if let Some(metric) = METRICS.get(name) {
        return Some((metric, ""));
    }
    let (base, part) = name.rsplit_once('_')?;
    METRICS.get(base).filter(|metric| metric.r#type == "histogram").map(|metric| (metric, part))
}

/// What an expression names.
struct Named {
    metrics: BTreeSet<String>,
    /// Labels that it selects, groups or joins by, but for those it makes itself.
    labels: BTreeSet<String>,
}

fn named(expr: &str) -> Named {
    let regex = |text: &str| Regex::new(text).unwrap();
    let each = |pattern: &str, text: &str| -> Vec<String> {
        regex(pattern).captures_iter(text).map(|found| found[1].to_owned()).collect()
    };
    let bare = regex(r#""[^"]*""#).replace_all(expr, "\"\"").into_owned();
    let lists = r"\b(?:by|on|ignoring|group_left|without) ?\(([^)]*)\)";
    let without = |pattern: &str, text: &str| regex(pattern).replace_all(text, " ").into_owned();
    let outside = without(lists, &without(r"\{[^}]*\}|\[[^\]]*\]|\boffset \w+", &bare));
    let is_function = |at: usize| outside[at..].trim_start().starts_with('(');
    let words = regex(r"[A-Za-z_:][A-Za-z0-9_:]*");
    let mut metrics: BTreeSet<String> = words
        .find_iter(&outside)
        .filter(|word| !is_function(word.end()) && !WORDS.contains(&word.as_str()))
        .map(|word| word.as_str().to_owned())
        .collect();
    for names in each(r#"__name__=~"([^"]*)""#, expr) {
        metrics.extend(names.split('|').map(str::to_owned));
    }
    let mut labels: BTreeSet<String> = each(r"(\w+) ?(?:=~|!=|!~|=)", &bare).into_iter().collect();
    for list in each(lists, &bare) {
        labels.extend(list.split(',').map(|label| label.trim().to_owned()));
    }
    let made = each(r#"label_replace\(.*?, "(\w+)","#, expr);
    labels.retain(|label| !label.is_empty() && label != "__name__" && !made.contains(label));
    Named { metrics, labels }
}

/// What is wrong with the metrics and labels of an expression.
fn strangers(place: &str, expr: &str) -> Vec<String> {
    let named = named(expr);
    let mut known = BTreeSet::from(["le", "job", "instance"]);
    let mut wrong = Vec::new();
    for name in &named.metrics {
        match metric(name) {
            Some((metric, _)) => known.extend(metric.labels.iter().map(String::as_str)),
            None => wrong.push(format!("{place}: {name} is no metric of dashboards/metrics.toml")),
        }
    }
    if named.metrics.is_empty() {
        wrong.push(format!("{place}: reads no metric"));
    }
    let strange = named.labels.iter().filter(|label| !known.contains(label.as_str()));
    wrong.extend(strange.map(|label| format!("{place}: no metric here has the label {label}")));
    wrong
}

fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dashboards_cannot_be_edited_in_place_and_load_in_every_grafana_since_the_classic_schema() {
    let dashboards = dashboards();
    assert_eq!(dashboards.keys().collect::<Vec<_>>(), ["agent", "fleet", "service"]);
    for (name, dashboard) in &dashboards {
        assert_eq!((&dashboard["schemaVersion"], &dashboard["editable"]), (&42.into(), &false.into()), "{name}");
        assert_eq!(dashboard["uid"], format!("a2a-drift-{name}"));
        assert!(
            dashboard["title"].is_string() && dashboard["description"].is_string() && dashboard.get("id").is_none()
        );
    }
}

#[test]
fn data_source_job_and_agent_or_instance_are_chosen_by_the_reader() {
    let variable = Regex::new(r"\$\{?(\w+)").unwrap();
    for (name, dashboard) in dashboards() {
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let names: Vec<&str> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
        assert_eq!(names[..2], ["datasource", "job"], "{name}");
        assert!(names.contains(if name == "service" { &"instance" } else { &"agent" }), "{name}");
        for variable in variables.iter().filter(|variable| variable["type"] == "query") {
            assert_eq!(variable["refresh"], 2, "{name}: {} is not read anew when the time changes", variable["name"]);
            assert_eq!(variable["datasource"]["uid"], "${datasource}", "{name}");
        }
        let text = dashboard.to_string();
        let used: BTreeSet<&str> = variable
            .captures_iter(&text)
            .map(|found| found.get(1).unwrap().as_str())
            .filter(|name| !name.starts_with("__") && *name != "1")
            .collect();
        assert_eq!(used, names.into_iter().collect(), "{name}: variables that are used, and those that there are");
    }
}

#[test]
fn every_panel_says_what_it_shows_in_which_unit_and_takes_the_chosen_data_source() {
    let mut wrong = Vec::new();
    for (place, panel) in panels(&dashboards()) {
        let title = panel["title"].as_str().unwrap();
        let description = panel["description"].as_str().unwrap();
        let defaults = &panel["fieldConfig"]["defaults"];
        let needs_unit = ["timeseries", "bargauge"].contains(&panel["type"].as_str().unwrap());
        let targets = panel["targets"].as_array().unwrap();
        let mut fault = |fails: bool, what: &str| {
            if fails {
                wrong.push(format!("{place}: {what}"));
            }
        };
        fault(title.is_empty() || title.len() > 50, "title");
        fault(description.len() < 15 || !description.ends_with('.'), "description");
        fault(needs_unit && !defaults["unit"].is_string(), "unit");
        fault(panel["datasource"]["uid"] != "${datasource}", "data source");
        fault(targets.is_empty() || targets.iter().any(|t| t["datasource"]["uid"] != "${datasource}"), "targets");
        fault(targets.iter().any(|target| target["legendFormat"] == ""), "legend");
        fault(!defaults["noValue"].is_string(), "what it means that there is nothing");
    }
    none(&wrong);
}

#[test]
fn panels_fill_the_grid_without_overlap() {
    for (name, dashboard) in dashboards() {
        let mut taken = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{name}: an id twice");
            let place = |side: &str| panel["gridPos"][side].as_u64().unwrap();
            for column in place("x")..place("x") + place("w") {
                assert!(column < 24, "{name}: {} is beyond the grid", panel["title"]);
                for line in place("y")..place("y") + place("h") {
                    assert!(taken.insert((column, line)), "{name}: {} lies upon another", panel["title"]);
                }
            }
        }
    }
}

#[test]
fn counters_are_read_as_rates_over_the_interval_that_grafana_computes_and_gauges_are_not() {
    let exported = Regex::new(r"\b(?:a2a|process)_\w+").unwrap();
    let rated = Regex::new(r"(?:rate|increase|irate)\((\w+)(?:\{[^}]*\})?\[([^\]]+)\]( @ end\(\))?\)").unwrap();
    let mut wrong = Vec::new();
    for (place, expr) in expressions(&dashboards()) {
        if place.contains(": variable") {
            continue;
        }
        let mut in_rates = BTreeSet::new();
        for found in rated.captures_iter(&expr) {
            in_rates.insert(found[1].to_owned());
            // Over all that is shown series may be chosen, at its end: the same ones at each step.
            let window = if found.get(3).is_some() { "$__range" } else { "$__rate_interval" };
            if &found[2] != window {
                wrong.push(format!("{place}: a rate over {}", &found[2]));
            }
        }
        for name in exported.find_iter(&expr) {
            let (metric, part) = metric(name.as_str()).unwrap();
            let is_counter = metric.r#type == "counter" || !part.is_empty();
            if is_counter != in_rates.contains(name.as_str()) {
                wrong.push(format!("{place}: {} is a {}", name.as_str(), metric.r#type));
            }
        }
    }
    none(&wrong);
}

#[test]
fn every_selector_keeps_to_the_chosen_job_and_names_no_rule() {
    let of_rule = Regex::new(r"\brule ?(=|!=|=~)").unwrap();
    let selector = Regex::new(r"\b(?:a2a|process|up)\w*(?:\{([^}]*)\})?|\{(__name__[^}]*)\}").unwrap();
    let mut wrong = Vec::new();
    for (place, expr) in expressions(&dashboards()) {
        for found in selector.captures_iter(&expr) {
            let chosen = found.get(1).or(found.get(2)).map_or("", |group| group.as_str());
            if !chosen.contains(r#"job=~"$job""#) && !place.ends_with(r#"variable "job""#) {
                wrong.push(format!("{place}: {} is of every job", &found[0]));
            }
            if place.starts_with("service") && !place.contains("variable") && !chosen.contains("instance=~") {
                wrong.push(format!("{place}: {} is of every instance", &found[0]));
            }
        }
        if of_rule.is_match(&expr) {
            wrong.push(format!("{place}: a rule is chosen by its id"));
        }
    }
    none(&wrong);
}

#[test]
fn dashboards_use_no_metric_and_no_label_that_is_not_exported() {
    let wrong: Vec<String> =
        expressions(&dashboards()).iter().flat_map(|(place, expr)| strangers(place, expr)).collect();
    none(&wrong);
}

#[test]
fn alerts_use_no_metric_and_no_label_that_is_not_exported() {
    let text = fs::read_to_string(root().join("dashboards/prometheus/alerts.yaml")).unwrap();
    let mut wrong = Vec::new();
    let mut alerts = 0;
    for expr in text.lines().filter_map(|line| line.trim().strip_prefix("expr: ")) {
        alerts += 1;
        wrong.extend(strangers("alerts.yaml", expr));
    }
    assert!(alerts > 30);
    none(&wrong);
}

#[test]
fn a_stranger_is_noticed() {
    let of = |expr: &str| strangers("here", expr).len();
    assert_eq!(of(r#"sum by (agent) (rate(a2a_exchanges_total{outcome!="ok"}[5m])) or max(up{job="x"}) * 0"#), 0);
    assert_eq!(of("sum(a2a_exchanges)"), 1);
    assert_eq!(of("sum by (agnet) (a2a_tasks_open)"), 1);
    assert_eq!(of(r#"a2a_tasks_open{state="working"}"#), 1);
    assert_eq!(of("rate(a2a_tasks_open_bucket[5m]) offset 1d"), 1);
    assert_eq!(of("vector(1)"), 1);
}

#[test]
fn what_is_said_of_the_programs_own_metrics_is_what_it_exports() {
    for (name, metric) in METRICS.iter().filter(|(name, _)| name.starts_with("a2a_drift_")) {
        let exported = definitions::ALL.iter().find(|definition| definition.name == name);
        let exported = exported.unwrap_or_else(|| panic!("{name} is not exported"));
        let kind = match exported.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let labels: Vec<&str> = metric.labels.iter().map(String::as_str).collect();
        assert_eq!((metric.r#type.as_str(), &*labels), (kind, exported.labels), "{name}");
    }
}

#[test]
fn every_metric_is_used_and_named_by_the_conventions() {
    let files = ["grafana/fleet.json", "grafana/agent.json", "grafana/service.json", "prometheus/alerts.yaml"];
    let used: String =
        files.iter().map(|file| fs::read_to_string(root().join("dashboards").join(file)).unwrap()).collect();
    for (name, Metric { r#type, help, labels }) in &*METRICS {
        assert_eq!(name.ends_with("_total"), r#type == "counter", "{name}");
        assert!(["counter", "gauge", "histogram"].contains(&r#type.as_str()), "{name}");
        assert!(help.ends_with('.') && !labels.iter().any(|label| label == "le" || label.ends_with("_id")), "{name}");
        let is_used = Regex::new(&format!(r"\b{name}(_bucket|_sum|_count)?\b")).unwrap().is_match(&used);
        assert!(is_used, "{name} is on no dashboard and in no alert");
    }
}

#[test]
fn dashboards_lead_to_each_other_to_the_findings_and_to_traces() {
    for (name, dashboard) in dashboards() {
        let links: Vec<&str> =
            dashboard["links"].as_array().unwrap().iter().map(|link| link["url"].as_str().unwrap()).collect();
        for wanted in
            ["/d/a2a-drift-fleet", "/d/a2a-drift-agent", "/d/a2a-drift-service", "${api}/api/v1/findings", "${traces}"]
        {
            let leads = links.iter().any(|link| link.split('?').next() == Some(wanted));
            assert!(leads, "{name} does not lead to {wanted}");
        }
        let text = dashboard.to_string();
        if name != "service" {
            assert!(text.contains("${api}/api/v1/findings?rule=${__data.fields.Rule:percentencode}"), "{name}");
            assert_eq!(dashboard["annotations"]["list"][0]["name"], "Cards");
        }
        assert!(name == "agent" || text.contains(r#""exemplar":true"#), "{name} shows no traces");
    }
}

/// "All" would else take in the processes of others: of Prometheus itself, or of every host.
#[test]
fn all_jobs_and_instances_are_those_of_a2a_drift() {
    for (name, dashboard) in dashboards() {
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            let is_expanded = variable.get("allValue").is_none();
            let may_be_any = ["agent", "severity"].contains(&variable["name"].as_str().unwrap());
            assert!(is_expanded || may_be_any, "{name}: all of {} is {}", variable["name"], variable["allValue"]);
        }
    }
}

/// Grafana escapes the values of a variable for a regular expression only where several can be chosen.
#[test]
fn an_agent_whose_name_is_an_address_is_matched_by_that_name_only() {
    for (name, dashboard) in dashboards() {
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        for variable in variables.iter().filter(|variable| variable["type"] == "query") {
            let several = variable["multi"] == true || variable["includeAll"] == true;
            let (id, operator) = (variable["name"].as_str().unwrap(), if several { "=~" } else { "=" });
            let used = Regex::new(&format!(r#"(=~|=)"\${id}""#)).unwrap();
            for (place, expr) in expressions(&BTreeMap::from([(name.clone(), dashboard.clone())])) {
                for found in used.captures_iter(&expr) {
                    assert_eq!(&found[1], operator, "{place}: {id} in {expr}");
                }
            }
        }
    }
    let text = dashboards().values().map(Value::to_string).collect::<String>();
    let in_links = Regex::new(r"(?:agent|rule)=\$\{([^}]*)\}").unwrap();
    let links: Vec<String> = in_links.captures_iter(&text).map(|found| found[1].to_owned()).collect();
    assert!(links.len() >= 4 && links.iter().all(|value| value.ends_with(":percentencode")), "{links:?}");
}

/// A last value of a range outlives what it was of: a service that went down would still be well.
#[test]
fn what_is_shown_as_now_is_asked_for_as_of_now() {
    let mut wrong = Vec::new();
    for (place, panel) in panels(&dashboards()) {
        let is_now = ["stat", "table", "bargauge"].contains(&panel["type"].as_str().unwrap());
        for target in panel["targets"].as_array().unwrap() {
            if target["instant"] != is_now || target["range"] == is_now {
                wrong.push(format!("{place}: {}", target["expr"]));
            }
        }
    }
    none(&wrong);
}

/// Without a value Grafana takes the first colour of the thresholds, that of all being well.
#[test]
fn a_value_that_is_not_known_is_not_green() {
    for (place, panel) in panels(&dashboards()).into_iter().filter(|(_, panel)| panel["type"] == "stat") {
        let defaults = &panel["fieldConfig"]["defaults"];
        let absent = defaults["mappings"].as_array().unwrap().iter().find(|mapping| mapping["type"] == "special");
        let absent = &absent.unwrap_or_else(|| panic!("{place}"))["options"];
        assert_eq!((&absent["match"], &absent["result"]["text"]), (&"null".into(), &defaults["noValue"]), "{place}");
        assert!(absent["result"]["color"].is_string() && absent["result"]["color"] != "green", "{place}");
    }
}

/// What Grafana 13.2 knows, by the types of `@grafana/schema`: of anything else it says nothing and does nothing.
#[test]
fn panels_use_no_option_that_grafana_would_ignore() {
    const PANEL: &str =
        "id type title description datasource gridPos targets fieldConfig options transformations interval";
    const FIELD: &str = "unit min max decimals noValue thresholds color mappings links custom";
    const LINES: &str = "drawStyle lineInterpolation lineWidth fillOpacity showPoints spanNulls stacking axisSoftMax";
    let known = |kind: &str| match kind {
        "stat" => ("colorMode graphMode justifyMode orientation textMode reduceOptions", ""),
        "bargauge" => ("displayMode orientation showUnfilled reduceOptions", ""),
        "table" => ("showHeader cellHeight", "width cellOptions"),
        "timeseries" => ("legend tooltip", LINES),
        "state-timeline" => {
            ("mergeValues showValue alignValue rowHeight perPage legend tooltip", "lineWidth fillOpacity")
        }
        other => panic!("no panel of Grafana is a {other}"),
    };
    let mut wrong = Vec::new();
    for (place, panel) in panels(&dashboards()) {
        let (options, custom) = known(panel["type"].as_str().unwrap());
        let defaults = &panel["fieldConfig"]["defaults"];
        let parts = [(panel, PANEL), (&panel["options"], options), (defaults, FIELD), (&defaults["custom"], custom)];
        for (part, known) in parts {
            let names = part.as_object().into_iter().flat_map(|part| part.keys());
            let strange = names.filter(|name| !known.split(' ').any(|known| known == *name));
            wrong.extend(strange.map(|name| format!("{place}: {name}")));
        }
        for property in panel["fieldConfig"]["overrides"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|of| of["properties"].as_array().unwrap())
        {
            let id = property["id"].as_str().unwrap();
            let is_known = match id.strip_prefix("custom.") {
                Some(id) => custom.split(' ').any(|known| known == id),
                None => FIELD.split(' ').any(|known| known == id),
            };
            if !is_known {
                wrong.push(format!("{place}: override of {id}"));
            }
        }
    }
    none(&wrong);
}

/// Each expression as a recording rule, so that `promtool` reads it.
#[test]
#[ignore = "needs the programs of tests/tools/fetch"]
fn every_expression_is_promql_to_old_and_new_prometheus() {
    let mut file = "groups:\n  - name: dashboards\n    rules:\n".to_owned();
    for (at, (place, expr)) in expressions(&dashboards()).into_iter().enumerate() {
        let expr = sent(&expr);
        file.push_str(
            &format!(
                "      # {place}\n      - record: expression:{at}\n        expr: '{}'\n",
                expr.replace('\'', "''")
            )
            .replace("expression:", "dashboards:expression_"),
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("expressions.yaml");
    fs::write(&path, file).unwrap();
    for promtool in ["promtool", "promtool-old"] {
        servers::succeeds(Command::new(servers::program(promtool)).args(["check", "rules"]).arg(&path));
    }
}
