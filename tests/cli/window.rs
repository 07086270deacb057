//! `--since` and `--until`: what is shown of a verdict that rests on everything.

use super::*;

/// Findings of the capture, by when they were seen first and last, and what the summary says.
fn shown(args: &[&str]) -> (Vec<(String, String)>, serde_json::Value) {
    let rules = "unknown_skill,signing_key_rotated,security_changed,stale_card_retry";
    let output = run(&[&["analyze", CAPTURE, "--format", "json", "--rule", rules], args].concat());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |finding: &serde_json::Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap();
    let seen = findings.iter().map(|finding| (text(finding, "first_seen"), text(finding, "last_seen"))).collect();
    (seen, report["summary"].clone())
}

#[test]
fn findings_outside_the_window_are_left_out_and_counted() {
    let (all, _) = shown(&[]);
    let until = "2026-11-30T06:15:38.600Z";
    let (early, summary) = shown(&["--until", until]);
    assert!(!early.is_empty() && early.len() < all.len());
    assert!(early.iter().all(|(first, _)| first.as_str() <= until));
    assert_eq!(summary["outside_window"], all.len() - early.len());
    assert_eq!(summary["until"], "2026-11-30T06:15:38.600Z");
    let (late, _) = shown(&["--since", until]);
    assert!(late.iter().all(|(_, last)| last.as_str() >= until));
    // What was seen before and after is in both.
    assert!(early.len() + late.len() >= all.len());
}

#[test]
fn a_time_before_the_end_is_from_the_last_fact() {
    let (all, _) = shown(&[]);
    assert_eq!(shown(&["--since", "1h"]).0, all);
    let (last_second, summary) = shown(&["--since", "1s"]);
    assert!(last_second.len() < all.len());
    let since = summary["since"].as_str().unwrap();
    assert!(since.starts_with("2026-11-30T06:1"), "{summary}");
    // The last fact is no whole second: the page says the same instant as the summary.
    assert!(since.contains('.'), "{since}");
    let page = stdout(&run(&["analyze", CAPTURE, "--since", "1s"])).replace("\n  ", " ");
    let told = since.replace('T', " ");
    assert!(page.contains(&format!("; seen since {told}, ")), "{told}: {page}");
}

#[test]
fn a_date_is_told_as_it_was_meant() {
    let args = ["analyze", CAPTURE, "--rule", "unknown_skill", "--since", "2026-11-30", "--until", "2026-11-30"];
    let page = stdout(&run(&args)).replace("\n  ", " ");
    assert!(page.contains("seen since 2026-11-30 00:00:00Z until the end of 2026-11-30, 0 findings outside"), "{page}");
    let page =
        stdout(&run(&["analyze", CAPTURE, "--rule", "unknown_skill", "--as-of", "2026-11-30"])).replace("\n  ", " ");
    assert!(page.contains("as of the end of 2026-11-30"), "{page}");
    let output = run(&["analyze", CAPTURE, "--since", "2026-12-01", "--until", "2026-11-30"]);
    assert!(
        stderr(&output).contains("--since is after --until: 2026-12-01 00:00:00Z and the end of 2026-11-30"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_exit_code_is_of_what_is_shown() {
    assert_eq!(code(&run(&["analyze", CAPTURE, "--rule", "unknown_skill"])), 1);
    let output = run(&["analyze", CAPTURE, "--rule", "unknown_skill", "--until", "2020-01-01T00:00:00Z"]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).contains("seen until 2020-01-01 00:00:00Z, "), "{}", stdout(&output));
}

#[test]
fn a_window_without_records_is_no_health() {
    for command in ["analyze", "coverage"] {
        let output = run(&[command, CAPTURE, "--since", "2027-06-01T00:00:00Z"]);
        assert_eq!(code(&output), 2, "{command}");
        let said = "could not judge: no records in this window since 2027-06-01 00:00:00Z\n";
        assert!(stderr(&output).contains(said), "{command}: {}", stderr(&output));
    }
    let output = run(&["analyze", CAPTURE, "--since", "2027-06-01T00:00:00Z"]);
    assert!(stdout(&output).starts_with("NO VERDICT  no records in this window\n"), "{}", stdout(&output));
}

#[test]
fn times_that_are_none_and_windows_without_inside_are_refused() {
    let output = run(&["analyze", CAPTURE, "--since", "yesterday"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("or a time before the end such as 2h"), "{}", stderr(&output));
    let output = run(&["analyze", CAPTURE, "--since", "1s", "--until", "1h"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("is after --until"), "{}", stderr(&output));
}
