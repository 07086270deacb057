//! The same lines in every log carrier that holds them, in gzip, and in a carrier within a carrier, under names that say
//! nothing: always the findings of the bare lines.
//!
//! The carriers are written here as their documentation and sources say; where that stands is said in tests/formats.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "gateways/day.rs"]
mod day;
#[path = "gateways/hooks.rs"]
mod hooks;
mod support;
#[path = "carriers/wrap.rs"]
mod wrap;
#[path = "gateways/write.rs"]
mod write;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Cursor, Read, Write};
use std::sync::{LazyLock, OnceLock};

use a2a_drift::normalize::identity::{self, IdentitySettings};
use a2a_drift::receive::inflate;
use serde_json::{Value, json};
use support::judge::{self, Files, Verdict, judge};
use support::library;
use wrap::{CARRIERS, Carrier, Line};

/// What a program writes to its standard output.
struct Scenario {
    name: &'static str,
    /// The lines, each with its time.
    lines: Vec<Line>,
    /// The same without a carrier, where a line without a time would not do.
    bare: Option<String>,
    /// It matters which line is before which.
    in_order: bool,
    said: OnceLock<(BTreeSet<String>, Vec<String>)>,
}

/// Log records of a capture.
const LOGS: &str = "a2a-python-1.3.0/jsonrpc.logs.otlp.jsonl";

static SCENARIOS: LazyLock<Vec<Scenario>> =
    LazyLock::new(|| vec![exchanges(), printed(), traces(), python(), events(), console()]);

/// Exchange lines of a recorder.
fn exchanges() -> Scenario {
    let lines = numbered("a2a-spec-0.1.0-handmade/v01.exchanges.ndjson");
    Scenario { name: "exchanges", lines, bare: None, in_order: false, said: OnceLock::new() }
}

/// The same, by a recorder that spreads each over many lines.
fn printed() -> Scenario {
    let mut lines = Vec::new();
    for line in numbered("a2a-spec-0.1.0-handmade/v01.exchanges.ndjson") {
        let value: Value = serde_json::from_str(&line.text).unwrap();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        lines.extend(pretty.lines().map(|text| Line { nanos: line.nanos, text: text.to_owned() }));
    }
    Scenario { name: "printed", lines, bare: None, in_order: true, said: OnceLock::new() }
}

/// Export requests that a collector prints, longer than container runtimes let a line be.
fn traces() -> Scenario {
    let lines = numbered("a2a-js-1.3.0/js.traces.otlp.jsonl");
    assert!(lines.iter().any(|line| line.text.len() > 20_000));
    Scenario { name: "traces", lines, bare: None, in_order: false, said: OnceLock::new() }
}

/// Own events.
fn events() -> Scenario {
    let mut lines = numbered("a2a-js-1.3.0/js.events.ndjson");
    lines.extend(numbered("a2a-js-1.3.0/js.exchanges.ndjson").into_iter().skip(70));
    Scenario { name: "events", lines, bare: None, in_order: false, said: OnceLock::new() }
}

/// Log records of a capture as Python's `logging` prints them in its default format, which has no time, with their
/// tracebacks: time, service and lines of each.
fn logged(file: &str) -> Vec<(i64, String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let attribute = |of: &Value, key: &str| {
        let found = of["attributes"].as_array().into_iter().flatten().find(|attribute| attribute["key"] == key);
        found.map(|attribute| text(&attribute["value"]["stringValue"]))
    };
    let mut records = Vec::new();
    for request in library::lines(file).unwrap() {
        let request: Value = serde_json::from_str(&request).unwrap();
        for resource in request["resourceLogs"].as_array().unwrap() {
            let service = attribute(&resource["resource"], "service.name").unwrap();
            for scope in resource["scopeLogs"].as_array().unwrap() {
                for record in scope["logRecords"].as_array().unwrap() {
                    let level = text(&record["severityText"]).replace("WARN", "WARNING");
                    let said = text(&record["body"]["stringValue"]);
                    let mut lines = vec![format!("{level}:{}:{said}", text(&scope["scope"]["name"]))];
                    let traceback = attribute(record, "exception.stacktrace").unwrap_or_default();
                    lines.extend(traceback.lines().map(str::to_owned));
                    records.push((text(&record["timeUnixNano"]).parse().unwrap(), service.clone(), lines));
                }
            }
        }
    }
    records
}

/// Python's `logging` with lines of other programs between.
fn python() -> Scenario {
    let (mut lines, mut bare) = (Vec::new(), String::new());
    for (number, (nanos, _, mut said)) in logged(LOGS).into_iter().enumerate() {
        // `asctime` has milliseconds.
        let nanos = nanos / 1_000_000 * 1_000_000;
        if number % 5 == 0 {
            said.push("INFO:     127.0.0.1:57340 - \"GET /healthz HTTP/1.1\" 200 OK".to_owned());
        }
        let _ = write!(bare, "{} ", wrap::time(nanos, "%Y-%m-%d %H:%M:%S,%3f"));
        for text in said {
            let _ = writeln!(bare, "{text}");
            lines.push(Line { nanos, text });
        }
    }
    Scenario { name: "python", lines, bare: Some(bare), in_order: true, said: OnceLock::new() }
}

/// The console of the JS SDK, which a container runtime wrote down with its time.
fn console() -> Scenario {
    let bare = library::lines("a2a-js-1.3.0/js.console.cri.log").unwrap();
    let line = |line: &String| {
        let (time, rest) = line.split_once(' ').unwrap();
        let nanos = chrono::DateTime::parse_from_rfc3339(time).unwrap().timestamp_nanos_opt().unwrap();
        Line { nanos, text: rest.splitn(3, ' ').nth(2).unwrap().to_owned() }
    };
    let lines = bare.iter().map(line).collect();
    Scenario { name: "console", lines, bare: Some(bare.join("\n")), in_order: true, said: OnceLock::new() }
}

/// Lines of a capture, a second apart: what they are about says its time itself.
fn numbered(file: &str) -> Vec<Line> {
    let lines = library::lines(file).unwrap();
    let at = |number: usize| 1_796_019_334_000_000_000 + 1_000_000_000 * i64::try_from(number).unwrap();
    lines.into_iter().enumerate().map(|(number, text)| Line { nanos: at(number), text }).collect()
}

fn files(bytes: Vec<u8>) -> Files {
    Files::from([("day.har".to_owned(), bytes)])
}

fn verdict(bytes: Vec<u8>) -> Verdict {
    judge(&files(bytes), None).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn ids(verdict: &Verdict) -> BTreeSet<(String, String)> {
    verdict
        .findings
        .iter()
        .map(|finding| (finding.id.clone(), format!("{} {}", finding.rule, finding.summary)))
        .collect()
}

/// The facts of a file but for the place where they were read, and the rejects. Findings follow from facts.
fn facts(bytes: Vec<u8>) -> (BTreeSet<String>, Vec<String>) {
    let (mut facts, rejects) = judge::facts(&files(bytes));
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts.make_set();
    for common in facts.commons_mut() {
        common.source.clear();
        common.position.clear();
        common.record_id.clear();
        common.fact_id.clear();
    }
    let Value::Object(tables) = serde_json::to_value(&facts).unwrap() else { panic!() };
    let rows = |(table, rows): (String, Value)| {
        let rows = rows.as_array().cloned().unwrap_or_default();
        rows.into_iter().map(move |row| format!("{table} {row}"))
    };
    (tables.into_iter().flat_map(rows).collect(), rejects)
}

impl Scenario {
    fn bare(&self) -> Vec<u8> {
        let lines = || self.lines.iter().map(|line| format!("{}\n", line.text)).collect();
        self.bare.clone().unwrap_or_else(lines).into_bytes()
    }

    /// The facts of the bare lines.
    fn said(&self) -> &(BTreeSet<String>, Vec<String>) {
        self.said.get_or_init(|| facts(self.bare()))
    }

    fn fits(&self, carrier: &Carrier) -> bool {
        !(self.in_order && carrier.newest_first)
    }
}

/// Compares the facts of a scenario in carriers with those of the bare lines.
#[track_caller]
fn assert_same(scenario: &Scenario, carriers: &[&Carrier], bytes: Vec<u8>) {
    let names: Vec<&str> = carriers.iter().map(|carrier| carrier.name).collect();
    let what = format!("{} in {}", scenario.name, names.join(" in "));
    let (found, rejects) = facts(bytes);
    let (bare, bare_rejects) = scenario.said();
    let first = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).next().cloned().unwrap_or_default();
    assert!(found == *bare && !bare.is_empty(), "{what}\n{}\n{}", first(&found, bare), first(bare, &found));
    // Lines of other programs are one reject a run, in a carrier as without.
    assert_eq!(rejects.len(), bare_rejects.len(), "{what}: {rejects:?}");
}

#[test]
fn every_scenario_says_the_same_in_every_carrier() {
    for scenario in SCENARIOS.iter() {
        for carrier in CARRIERS.iter().filter(|carrier| scenario.fits(carrier)) {
            assert_same(scenario, &[carrier], carrier.wrap(&scenario.lines));
        }
    }
}

#[test]
fn every_scenario_gives_the_same_findings_in_a_carrier() {
    for (scenario, carrier) in SCENARIOS.iter().zip(["loki", "cri", "docker", "filebeat", "cloudwatch", "vector"]) {
        let carrier = CARRIERS.iter().find(|other| other.name == carrier).unwrap();
        let (found, bare) = (verdict(carrier.wrap(&scenario.lines)), verdict(scenario.bare()));
        assert!(!bare.findings.is_empty(), "{}", scenario.name);
        assert_eq!(ids(&found), ids(&bare), "{} in {}", scenario.name, carrier.name);
    }
}

#[test]
fn every_carrier_says_the_same_in_gzip() {
    for (carrier, scenario) in CARRIERS.iter().zip(SCENARIOS.iter().cycle()).filter(|(c, s)| s.fits(c)) {
        let packed = gzip(&carrier.wrap(&scenario.lines));
        let mut bytes = Vec::new();
        inflate(Box::new(Cursor::new(packed)), 1 << 30).unwrap().read_to_end(&mut bytes).unwrap();
        assert_same(scenario, &[carrier], bytes);
    }
}

#[test]
fn every_carrier_says_the_same_in_every_other_that_may_stand_around_it() {
    let mut scenarios = SCENARIOS.iter().cycle();
    for (number, inner) in CARRIERS.iter().filter(|inner| inner.is_lines).enumerate() {
        // Every third of the pairs: each carrier stands around many others, and within many.
        let outers = CARRIERS.iter().filter(|outer| outer.name != inner.name).skip(number % 3).step_by(3);
        for outer in outers {
            let scenario = scenarios.by_ref().find(|scenario| scenario.fits(outer) && scenario.fits(inner)).unwrap();
            let wrapped = String::from_utf8(inner.wrap(&scenario.lines)).unwrap();
            let nanos = scenario.lines.first().unwrap().nanos;
            let lines: Vec<Line> = wrapped.lines().map(|text| Line { nanos, text: text.to_owned() }).collect();
            // Pieces are in order, which those that give the newest first do not keep.
            if outer.newest_first && wrapped.lines().count() != scenario.lines.len() {
                continue;
            }
            assert_same(scenario, &[inner, outer], outer.wrap(&lines));
        }
    }
}

#[test]
fn four_carriers_may_stand_around_a_line_and_a_fifth_is_refused() {
    let scenario = &SCENARIOS[0];
    let around = |names: &[&str]| {
        let carriers: Vec<&Carrier> =
            names.iter().map(|name| CARRIERS.iter().find(|carrier| carrier.name == *name).unwrap()).collect();
        let mut lines = scenario.lines.clone();
        let mut bytes = Vec::new();
        for carrier in carriers {
            bytes = carrier.wrap(&lines);
            let text = String::from_utf8(bytes.clone()).unwrap();
            lines = text.lines().map(|text| Line { nanos: 1_796_019_334_000_000_000, text: text.to_owned() }).collect();
        }
        verdict(bytes)
    };
    let four = around(&["cri", "fluent-bit", "docker", "cloudwatch-subscription"]);
    assert_eq!(ids(&four), ids(&verdict(scenario.bare())), "{:?}", four.rejects);
    let five = around(&["cri", "fluent-bit", "docker", "vector", "cloudwatch-subscription"]);
    assert_eq!(five.facts, 0);
    assert!(five.rejects[0].contains("too-deep"), "{:?}", five.rejects);
}

#[test]
fn evidence_stands_at_the_carriers_line() {
    let scenario = &SCENARIOS[0];
    for name in ["cri", "docker", "fluent-bit", "vector", "logcli"] {
        let carrier = CARRIERS.iter().find(|carrier| carrier.name == name).unwrap();
        let found = verdict(carrier.wrap(&scenario.lines));
        let bare = verdict(scenario.bare());
        let places = |verdict: &Verdict| -> BTreeSet<String> {
            verdict.findings.iter().flat_map(|f| &f.evidence).map(|evidence| evidence.position.clone()).collect()
        };
        // Lines of this capture are shorter than a piece: each is one line of the carrier.
        assert_eq!(places(&found), places(&bare), "{name}");
    }
}

#[test]
fn labels_name_the_service_as_telemetry_does_whatever_the_replica() {
    let telemetry = verdict(library::bytes(LOGS).unwrap());
    let mut lines = String::new();
    for (number, (nanos, service, said)) in logged(LOGS).into_iter().enumerate() {
        for text in said {
            let labels = json!({"app.kubernetes.io/name": service, "pod-template-hash": "5cbb"});
            let kubernetes =
                json!({"pod_name": format!("{service}-{}", number % 2), "container_name": "main", "labels": labels});
            let time = wrap::time(nanos, "%Y-%m-%dT%H:%M:%S.%9fZ");
            let _ =
                writeln!(lines, "{}", json!({"time": time, "stream": "stderr", "log": text, "kubernetes": kubernetes}));
        }
    }
    assert!(telemetry.findings.iter().any(|finding| finding.rule == "unauthorized_storm"));
    assert_eq!(ids(&verdict(lines.into_bytes())), ids(&telemetry));
}

/// Ids of the findings of a rule.
fn ids_of(rule: &str, bytes: Vec<u8>) -> Vec<String> {
    let of_rule = verdict(bytes).findings.into_iter().filter(|finding| finding.rule == rule);
    of_rule.map(|finding| finding.id).collect()
}

#[test]
fn lost_tasks_are_one_incident_whatever_a_log_keeps_of_the_time() {
    let mut day = day::Day::new(day::Speech::Rpc1);
    // Tapes have nanoseconds, agentgateway microseconds, Kong and HAR milliseconds.
    day.now += 123_456;
    day.look(&day::SUMMARY, 0, 200);
    let tasks = [day.id(), day.id()];
    tasks.iter().for_each(|task| drop(day.send(&day::SUMMARY, 0, false, &day::told(task, "input-required"))));
    day.now += day::MINUTE;
    tasks.iter().for_each(|task| day.poll_unknown(&day::SUMMARY, 0, task));
    let said =
        [write::exchange, write::kong_payloads, write::agentgateway_bodies].map(|form| write::lines(&day.calls, form));
    let said = said.into_iter().chain([write::har(&day.calls)]);
    let ids: Vec<Vec<String>> = said.map(|bytes| ids_of("lost_after_rotation", bytes)).collect();
    assert!(ids.iter().all(|of| of.len() == 1 && *of == ids[0]), "{ids:?}");
}

#[test]
fn a_storm_is_one_finding_whatever_a_log_keeps_of_the_time() {
    let calls = hooks::storm();
    let event = |call: &write::Call| {
        let (task, url) = (&call.sent["statusUpdate"]["taskId"], format!("http://{}{}", call.host, call.path));
        let event = json!({"event": "a2a.push.delivery", "time": call.at, "server.address": "agent.example", "a2a.task.id": task,
            "url.full": url, "http.response.status_code": call.status});
        Some(event.to_string())
    };
    let said = [write::lines(&calls, write::exchange), write::lines(&calls, event), write::har(&calls)];
    let mut ids: Vec<Vec<String>> = said.into_iter().map(|bytes| ids_of("unauthorized_storm", bytes)).collect();
    // Apache keeps seconds, the others milliseconds.
    for (_, form) in hooks::ACCESS_LOGS {
        let (findings, _) = hooks::analyzed(&write::lines(&calls, form), hooks::WEBHOOKS);
        ids.push(findings.iter().map(|finding| finding["id"].as_str().unwrap().to_owned()).collect());
    }
    assert_eq!(ids.len(), 10);
    assert!(ids.iter().all(|of| of.len() == 1 && *of == ids[0]), "{ids:?}");
}
