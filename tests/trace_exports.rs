//! One scenario as OTLP and as others hold it: the exporters of Jaeger, Tempo and Zipkin, and what SDKs print. All give
//! the same findings, with the same ids, where the carrier holds the evidence.
//!
//! The documents are in tests/formats/traces, made by tests/tools/trace-exports out of tests/captures.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use a2a_drift::findings::Finding;
use serde_json::json;
use support::judge::{Files, Verdict, judge};

const CARRIERS: [&str; 6] =
    ["jaeger.json", "tempo.json", "zipkin.json", "python.console.json", "js.console.txt", "go.stdout.json"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/traces")
}

fn verdict(file: &str) -> Verdict {
    let bytes = fs::read(folder().join(file)).unwrap();
    let verdict = judge(&Files::from([(file.to_owned(), bytes)]), None).unwrap();
    assert!(verdict.rejects.is_empty(), "{file}: {:#?}", verdict.rejects);
    verdict
}

/// Rule and id of each.
fn ids(findings: &[Finding]) -> BTreeSet<(String, String)> {
    findings.iter().map(|finding| (finding.rule.clone(), finding.id.clone())).collect()
}

#[test]
fn each_carrier_gives_the_same_findings() {
    let otlp = verdict("scenario.otlp.jsonl");
    let rules: BTreeSet<&str> = otlp.findings.iter().map(|finding| finding.rule.as_str()).collect();
    for rule in ["task_id_reused", "version_mismatch", "lost_after_rotation", "unauthorized_storm"] {
        assert!(rules.contains(rule), "{rules:?}");
    }
    for file in CARRIERS {
        let other = verdict(file);
        assert_eq!(ids(&other.findings), ids(&otlp.findings), "{file}");
        // Python prints no scope, and a2a-python's spans say their operation under that of the SDK.
        if file != "python.console.json" {
            assert_eq!(other.facts, otlp.facts, "{file}");
        }
    }
}

#[test]
fn both_carriers_together_say_no_more_than_one() {
    let once = verdict("scenario.otlp.jsonl");
    let files = ["scenario.otlp.jsonl", "jaeger.json", "tempo.json"];
    let files = files.map(|file| (file.to_owned(), fs::read(folder().join(file)).unwrap()));
    let all = judge(&Files::from(files), None).unwrap();
    assert_eq!(ids(&all.findings), ids(&once.findings));
}

#[test]
fn what_a_process_printed_is_read_out_of_its_containers_log() {
    let once = verdict("scenario.otlp.jsonl");
    for file in ["python.console.json", "go.stdout.json", "zipkin.json"] {
        let text = fs::read_to_string(folder().join(file)).unwrap();
        let cri = |line| format!("2026-11-30T09:31:53.311Z stdout F {line}\n");
        let docker = |line| {
            let record = json!({"log": format!("{line}\n"), "stream": "stdout", "time": "2026-11-30T09:31:53.311Z"});
            format!("{record}\n")
        };
        for (framing, framed) in
            [("cri", text.lines().map(cri).collect::<String>()), ("docker", text.lines().map(docker).collect())]
        {
            let verdict = judge(&Files::from([(file.to_owned(), framed.into_bytes())]), None).unwrap();
            assert!(verdict.rejects.is_empty(), "{file} in {framing}: {:#?}", verdict.rejects);
            assert_eq!(ids(&verdict.findings), ids(&once.findings), "{file} in {framing}");
        }
    }
}

#[test]
fn what_node_printed_comes_with_advice_there() {
    let text = fs::read_to_string(folder().join("js.console.txt")).unwrap();
    let framed: String = text.lines().map(|line| format!("2026-11-30T09:31:53.311Z stdout F {line}\n")).collect();
    let verdict = judge(&Files::from([("js.log".to_owned(), framed.into_bytes())]), None).unwrap();
    let advice: Vec<_> = verdict.rejects.iter().filter(|reject| reject.contains("needs-conversion")).collect();
    assert!(matches!(advice.as_slice(), [one] if one.contains("kubectl logs")), "{advice:?}");
}

#[test]
fn the_program_knows_them_by_content_also_in_gzip() {
    for file in CARRIERS {
        let bytes = fs::read(folder().join(file)).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).unwrap();
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-export-{file}.csv"));
        fs::write(&place, gzip.finish().unwrap()).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_a2a-drift"))
            .args(["analyze", "--quiet", "--format", "json"])
            .arg(&place)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("\"lost_after_rotation\""), "{file}: {text}");
    }
}
