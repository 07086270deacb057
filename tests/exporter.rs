//! What `/metrics` says, as parsers that are not ours read it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use a2a_drift::findings::track::{Changes, Counted};
use a2a_drift::findings::{Confidence, Evidence, Finding, RuleCoverage, Severity, Tracker, active};
use a2a_drift::instant::Instant;
use a2a_drift::measures::{Bucket, Exemplar, Family, Kind, Series, Value};
use a2a_drift::publish::prometheus::{Exporter, Look, definitions};
use serde_json::Value as Json;

/// What Prometheus 3 asks for.
const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
/// A name as a peer might choose it to break out of its quotes.
const HOSTILE: &str = "a\"} 9\n# EOF\\n\u{1b}[31m ä\\";
/// The same as it is shown: what a terminal would act on is written out.
const HOSTILE_SHOWN: &str = "a\"} 9\n# EOF\\n\\u{1b}[31m ä\\";

/// Reads an exposition and prints its samples as JSON: family, type, unit, name, labels, value and exemplar of each.
const PARSE: &str = r#"
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text
families = (open_metrics if sys.argv[1] == "openmetrics" else text)(sys.stdin.read())
samples = []
for family in families:
    assert family.documentation, family.name
    for s in family.samples:
        exemplar = getattr(s, "exemplar", None)
        exemplar = exemplar and [exemplar.labels, exemplar.value, float(exemplar.timestamp)]
        samples.append([family.name, family.type, family.unit, s.name, s.labels, repr(float(s.value)), exemplar])
json.dump(samples, sys.stdout)
"#;

/// A sample as the parser understood it.
#[derive(Debug, Clone)]
struct Sample {
    family: String,
    kind: String,
    unit: String,
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
    exemplar: Option<(String, f64, f64)>,
}

/// Python with the parsers of the Prometheus project, in an environment of its own.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prometheus-client-0.26.0");
        let python = venv.join("bin/python");
        let installed = Command::new(&python).args(["-c", "import prometheus_client"]).output();
        if !installed.is_ok_and(|output| output.status.success()) {
            run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv));
            let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
            run(Command::new(&python).args(install).arg("prometheus_client==0.26.0"));
        }
        python
    })
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a command on some input; its output if it succeeds.
fn piped(command: &mut Command, input: &str) -> Result<String, String> {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap_or_else(|error| panic!("{error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stdout) + &said(&output.stderr)) }
}

fn parse(text: &str, format: &str) -> Vec<Sample> {
    let json = piped(Command::new(python()).args(["-c", PARSE, format]), text);
    let json = json.unwrap_or_else(|error| panic!("{error}\nof\n{text}"));
    let samples: Vec<Json> = serde_json::from_str(&json).unwrap();
    samples
        .iter()
        .map(|sample| Sample {
            family: sample[0].as_str().unwrap().into(),
            kind: sample[1].as_str().unwrap().into(),
            unit: sample[2].as_str().unwrap().into(),
            name: sample[3].as_str().unwrap().into(),
            labels: serde_json::from_value(sample[4].clone()).unwrap(),
            value: sample[5].as_str().unwrap().parse().unwrap(),
            exemplar: sample[6].as_array().map(|exemplar| {
                let trace_id = exemplar[0]["trace_id"].as_str().unwrap().into();
                (trace_id, exemplar[1].as_f64().unwrap(), exemplar[2].as_f64().unwrap())
            }),
        })
        .collect()
}

fn scrape(exporter: &Exporter, accept: &str) -> Vec<Sample> {
    let rendered = exporter.render(accept).unwrap();
    let format = if rendered.content_type.starts_with("application/openmetrics-text") { "openmetrics" } else { "text" };
    parse(&rendered.text, format)
}

/// The one sample with a name and, among others, these labels.
fn sample<'a>(samples: &'a [Sample], name: &str, labels: &[(&str, &str)]) -> &'a Sample {
    let fits = |s: &&Sample| s.name == name && labels.iter().all(|(k, v)| s.labels.get(*k).is_some_and(|l| l == v));
    let found: Vec<&Sample> = samples.iter().filter(fits).collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
    found[0]
}

fn at(seconds: i64) -> Instant {
    Instant(1_796_000_000_000_000_000 + seconds * 1_000_000_000)
}

fn finding(rule: &str, agent: &str, task: &str, severity: Severity) -> Finding {
    Finding {
        id: format!("{rule}-{agent}-{task}"),
        rule: rule.into(),
        category: "lifecycle".into(),
        severity,
        confidence: Confidence::Confirmed,
        suspect: "gateway".into(),
        because: String::new(),
        entity: BTreeMap::new(),
        agent: agent.into(),
        client: None,
        skill_id: None,
        task_id: Some(task.into()),
        url: None,
        observed_at: at(0),
        due_at: at(0),
        until_at: None,
        over_at: None,
        first_seen: at(0),
        last_seen: at(0),
        count: 1,
        summary: String::new(),
        next_step: String::new(),
        evidence: vec![Evidence {
            role: "call".into(),
            fact_id: "f".into(),
            table: "task_events".into(),
            observer: "client".into(),
            observed_at: at(0),
            source: "s".into(),
            position: "1".into(),
            trace_id: TRACE.into(),
            span_id: String::new(),
            client: String::new(),
            task_id: task.into(),
            beside: false,
            says: String::new(),
        }],
        details: BTreeMap::new(),
        runbook: rule.into(),
    }
}

fn rules() -> [Counted; 2] {
    ["split_brain", "orphaned"].map(|rule| Counted {
        rule: rule.into(),
        category: "lifecycle".into(),
        severity: Severity::Critical,
    })
}

/// An exporter, and what it follows.
struct Run {
    exporter: Exporter,
    tracker: Tracker,
}

impl Run {
    fn new() -> Self {
        let run = Self { exporter: Exporter::new(&fleet(&[])).unwrap(), tracker: Tracker::new(&rules()) };
        run.publish(&Changes::default(), at(0), &[], 200);
        run
    }

    fn look(&mut self, firing: &[Finding], now: Instant, agents: &[&str], most_agents: usize) {
        let changes = self.tracker.look(firing, now, |_| Some(at(1)));
        self.publish(&changes, now, agents, most_agents);
    }

    fn publish(&self, changes: &Changes, now: Instant, agents: &[&str], most_agents: usize) {
        let active = active::group(self.tracker.open(), most_agents);
        let coverage = [("orphaned", vec!["task_events.state".to_owned()]), ("split_brain", vec![])];
        let coverage = coverage.map(|(rule, missing)| RuleCoverage { rule: rule.into(), missing });
        let look = Look { tracker: &self.tracker, active: &active, changes, coverage: &coverage, now };
        self.exporter.publish(look, fleet(agents));
    }
}

/// The fleet's metrics of each kind for some agents.
fn fleet(agents: &[&str]) -> Vec<Family> {
    let family = |name, kind, labels: &'static [&'static str], value: Value, more: &[&str]| Family {
        name,
        help: "Says \"what\" it is, with a \\ and\na second line.",
        kind,
        labels,
        series: agents
            .iter()
            .map(|agent| {
                let labels = std::iter::once(*agent).chain(more.iter().copied());
                Series { labels: labels.map(str::to_owned).collect(), value: value.clone() }
            })
            .collect(),
    };
    let exemplar = |value| Some(Exemplar { trace_id: TRACE.into(), value, at: at(2) });
    let bucket = |up_to, count, exemplar| Bucket { up_to, count, exemplar };
    let buckets = vec![
        bucket(0.5, 1, None),
        bucket(1.0, 1, None),
        bucket(60.0, 3, exemplar(30.0)),
        bucket(3_600_000.0, 3, None),
        bucket(f64::INFINITY, 4, None),
    ];
    vec![
        family(
            "a2a_exchanges_total",
            Kind::Counter,
            &["agent", "operation", "outcome"],
            Value::Count { count: 7, exemplar: exemplar(1.0) },
            &["SendMessage", "ok"],
        ),
        family("a2a_tasks_open", Kind::Gauge, &["agent"], Value::Level(2.5), &[]),
        family("a2a_card_info", Kind::Gauge, &["agent", "version", "fingerprint"], Value::Level(1.0), &["1.0", "ff"]),
        family("a2a_card_changed_timestamp_seconds", Kind::Gauge, &["agent"], Value::Level(1_796_000_000.125), &[]),
        family(
            "a2a_task_duration_seconds",
            Kind::Histogram,
            &["agent", "state"],
            Value::Sizes { buckets, sum: 44.25 },
            &["completed"],
        ),
    ]
}

#[test]
fn both_formats_say_the_same_to_parsers_that_are_not_ours() {
    let mut run = Run::new();
    let service = run.exporter.service();
    service.received("otlp-grpc", "traces", 12);
    service.rejected("bad-json", 2);
    service.begin_rules(["split_brain", "orphaned"]);
    service.evaluated("split_brain", Duration::from_millis(7));
    service.ticked(Duration::from_millis(30), at(3), Duration::ZERO);
    service.loaded(at(0));
    run.look(&[finding("split_brain", HOSTILE, "t1", Severity::Critical)], at(3), &["a", HOSTILE], 200);
    let text = scrape(&run.exporter, "text/plain");
    let open_metrics = scrape(&run.exporter, OPEN_METRICS);

    // Values of the process move between two scrapes.
    let of_process = |s: &&Sample| s.name.starts_with("process_");
    let key = |s: &Sample| {
        (
            s.name.clone(),
            s.labels.iter().filter(|(k, _)| *k != "le").map(|(_, v)| v.clone()).collect::<Vec<_>>(),
            s.labels.get("le").map(|le| le.parse::<f64>().unwrap().to_bits()),
            s.value.to_bits(),
        )
    };
    let mut in_text: Vec<_> = text.iter().filter(|s| !of_process(s)).map(key).collect();
    let mut in_open_metrics: Vec<_> = open_metrics.iter().filter(|s| !of_process(s)).map(key).collect();
    in_text.sort();
    in_open_metrics.sort();
    assert_eq!(in_text, in_open_metrics);
    assert_eq!(text.iter().filter(of_process).count(), 7);

    let hostile = sample(&open_metrics, "a2a_tasks_open", &[("agent", HOSTILE_SHOWN)]);
    assert!(!run.exporter.render(OPEN_METRICS).unwrap().text.contains('\u{1b}'));
    assert_eq!(hostile.value.to_bits(), 2.5f64.to_bits());
    assert_eq!(sample(&text, "a2a_drift_received_total", &[("receiver", "otlp-grpc")]).value, 12.0);
    assert_eq!(sample(&text, "a2a_task_duration_seconds_bucket", &[("agent", "a"), ("le", "60")]).value, 3.0);
    assert_eq!(sample(&open_metrics, "a2a_task_duration_seconds_bucket", &[("agent", "a"), ("le", "60.0")]).value, 3.0);
    sample(&open_metrics, "a2a_task_duration_seconds_bucket", &[("agent", "a"), ("le", "3.6e+06")]);
}

#[test]
fn open_metrics_has_types_and_units_of_its_own() {
    let run = Run::new();
    run.publish(&Changes::default(), at(0), &["a"], 200);
    let samples = scrape(&run.exporter, OPEN_METRICS);
    let described = |name: &str, labels: &[(&str, &str)]| {
        let sample = sample(&samples, name, labels);
        (sample.family.clone(), sample.kind.clone(), sample.unit.clone())
    };
    let expected = |family: &str, kind: &str, unit: &str| (family.to_owned(), kind.to_owned(), unit.to_owned());
    assert_eq!(described("a2a_exchanges_total", &[]), expected("a2a_exchanges", "counter", ""));
    assert_eq!(described("a2a_card_info", &[]), expected("a2a_card", "info", ""));
    assert_eq!(described("a2a_drift_build_info", &[]), expected("a2a_drift_build", "info", ""));
    let changed = "a2a_card_changed_timestamp_seconds";
    assert_eq!(described(changed, &[]), expected(changed, "gauge", "seconds"));
    assert_eq!(described("process_cpu_seconds_total", &[]), expected("process_cpu_seconds", "counter", "seconds"));
    assert_eq!(
        described("a2a_task_duration_seconds_count", &[]),
        expected("a2a_task_duration_seconds", "histogram", "seconds")
    );
}

#[test]
fn counts_lead_to_a_trace_and_gauges_do_not() {
    let mut run = Run::new();
    run.look(&[finding("split_brain", "a", "t1", Severity::Critical)], at(3), &["a"], 200);
    let samples = scrape(&run.exporter, OPEN_METRICS);
    let exemplars: Vec<(&str, Option<&str>, f64, f64)> = samples
        .iter()
        .filter_map(|s| {
            let (trace_id, value, at) = s.exemplar.as_ref()?;
            assert_eq!(trace_id, TRACE);
            Some((s.name.as_str(), s.labels.get("le").map(String::as_str), *value, *at))
        })
        .collect();
    let expected = [
        ("a2a_drift_detection_delay_seconds_bucket", Some("2.0"), 2.0, 1_796_000_003.0),
        ("a2a_drift_detection_lag_seconds_bucket", Some("2.0"), 2.0, 1_796_000_003.0),
        ("a2a_drift_findings_total", None, 1.0, 1_796_000_003.0),
        ("a2a_exchanges_total", None, 1.0, 1_796_000_002.0),
        ("a2a_task_duration_seconds_bucket", Some("60.0"), 30.0, 1_796_000_002.0),
    ];
    assert_eq!(exemplars, expected);
    assert!(!run.exporter.render("text/plain").unwrap().text.contains(TRACE));
}

#[test]
fn findings_are_counted_from_zero_and_their_gauges_end_with_them() {
    let mut run = Run::new();
    let samples = scrape(&run.exporter, OPEN_METRICS);
    for severity in ["info", "warning", "critical"] {
        let labels = [("rule", "orphaned"), ("category", "lifecycle"), ("severity", severity)];
        assert_eq!(sample(&samples, "a2a_drift_findings_total", &labels).value, 0.0);
    }
    assert_eq!(sample(&samples, "a2a_drift_rule_blind", &[("rule", "orphaned")]).value, 1.0);
    assert_eq!(sample(&samples, "a2a_drift_rule_blind", &[("rule", "split_brain")]).value, 0.0);

    let firing = ["t1", "t2"].map(|task| finding("orphaned", "a", task, Severity::Warning));
    run.look(&firing, at(3), &["a"], 200);
    let labels = [
        ("rule", "orphaned"),
        ("category", "lifecycle"),
        ("severity", "warning"),
        ("suspect", "gateway"),
        ("agent", "a"),
    ];
    let since = "a2a_drift_active_since_timestamp_seconds";
    let samples = scrape(&run.exporter, OPEN_METRICS);
    assert_eq!(sample(&samples, "a2a_drift_active_findings", &labels).value, 2.0);
    assert_eq!(sample(&samples, since, &labels).value, 1_796_000_000.0);
    assert_eq!(sample(&samples, "a2a_drift_findings_total", &labels[..3]).value, 2.0);
    assert_eq!(sample(&samples, "a2a_drift_detection_delay_seconds_count", &[]).value, 2.0);

    run.look(&[], at(4), &[], 200);
    let samples = scrape(&run.exporter, OPEN_METRICS);
    assert_eq!(samples.iter().filter(|s| s.labels.contains_key("agent")).count(), 0);
    assert_eq!(sample(&samples, "a2a_drift_findings_total", &labels[..3]).value, 2.0);
}

#[test]
fn a_million_names_are_as_many_series_as_the_cap_allows() {
    let mut run = Run::new();
    let firing: Vec<Finding> =
        (0..5_000).map(|n| finding("orphaned", &format!("agent-{n}"), "t", Severity::Warning)).collect();
    run.look(&firing, at(3), &[], 50);
    let samples = scrape(&run.exporter, "");
    let shown: Vec<&Sample> = samples.iter().filter(|s| s.name == "a2a_drift_active_findings").collect();
    assert_eq!(shown.len(), 51);
    assert_eq!(sample(&samples, "a2a_drift_active_findings", &[("agent", "__other__")]).value, 4_950.0);
}

#[test]
fn what_is_defined_is_exposed_and_what_is_exposed_is_defined() {
    let mut run = Run::new();
    let service = run.exporter.service();
    service.received("r", "s", 1);
    service.ignored("s", 1);
    service.rejected("r", 1);
    service.refused("r", "full", 1);
    service.denied("r", "malformed", 1);
    service.connections_lost("idle", 1);
    service.begin_rules(["split_brain"]);
    service.facts("cards", 1);
    service.alerts("http://am", 1, 0, 0);
    run.look(&[finding("orphaned", "a", "t", Severity::Warning)], at(3), &[], 50);
    let samples = scrape(&run.exporter, "");
    let mut exposed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for s in samples.iter().filter(|s| s.name.starts_with("a2a_drift_")) {
        let suffix = if s.kind == "counter" { "_total" } else { "" };
        let labels = s.labels.keys().filter(|label| *label != "le").cloned().collect();
        exposed.insert(format!("{}{suffix}", s.family), labels);
    }
    let defined: BTreeMap<String, Vec<String>> = definitions::ALL
        .iter()
        .map(|metric| {
            let mut labels: Vec<String> = metric.labels.iter().copied().map(str::to_owned).collect();
            labels.sort();
            (metric.name.to_owned(), labels)
        })
        .collect();
    assert_eq!(exposed, defined);
}

#[test]
fn two_metrics_of_one_name_are_refused_at_the_start() {
    let family =
        Family { name: "a2a_drift_lag_seconds", help: "Again.", kind: Kind::Gauge, labels: &[], series: vec![] };
    assert!(Exporter::new(&[family]).is_err());
}

/// promtool reads the text format only. Where it is says `PROMTOOL`, else the search path.
#[test]
fn promtool_has_nothing_to_say() {
    let promtool = std::env::var("PROMTOOL").unwrap_or_else(|_| "promtool".into());
    if std::env::var_os("PROMTOOL").is_none() && Command::new(&promtool).arg("--version").output().is_err() {
        eprintln!("there is no promtool: the parsers of prometheus_client alone have judged");
        return;
    }
    let mut run = Run::new();
    run.exporter.service().begin_rules(["split_brain"]);
    run.look(&[finding("split_brain", "a", "t1", Severity::Critical)], at(3), &["a"], 200);
    let text = run.exporter.render("").unwrap().text;
    let said = piped(Command::new(promtool).args(["check", "metrics"]), &text);
    assert_eq!(said.as_deref(), Ok(""), "{text}");
}
