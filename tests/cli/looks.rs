//! What a user sees, on narrow and wide pages, with colour and without.

use super::*;

/// A run as it is seen: what it says on both streams, and its exit code.
fn seen(args: &[&str], columns: u16, coloured: bool) -> String {
    let mut program = program();
    program.args(args).env("COLUMNS", columns.to_string());
    program.env(if coloured { "CLICOLOR_FORCE" } else { "NO_COLOR" }, "1");
    let output = program.output().unwrap();
    let text = format!("{}--\n{}-- {}\n", stdout(&output), stderr(&output), code(&output));
    text.replace('\u{1b}', "␛")
}

/// Both widths without colour, the narrow one with it. The coloured page says the same as the plain one.
macro_rules! looks {
    ($name:literal, $args:expr) => {
        let args: &[&str] = $args;
        insta::assert_snapshot!(concat!("looks_", $name, "_80"), seen(args, 80, false));
        insta::assert_snapshot!(concat!("looks_", $name, "_160"), seen(args, 160, false));
        let coloured = seen(args, 80, true);
        insta::assert_snapshot!(concat!("looks_", $name, "_80_colour"), coloured);
        let plain = anstream::adapter::strip_str(&coloured.replace('␛', "\u{1b}")).to_string();
        assert_eq!(plain, seen(args, 80, false));
    };
}

#[test]
fn a_verdict() {
    looks!("analyze", &["analyze", CAPTURE, "--rule", "unknown_skill,stream_cut,failed_by_card"]);
}

#[test]
fn coverage() {
    let rules = "duplicate_submission,split_brain,failed_by_card,stale_card_retry";
    let kong = "tests/captures/synthetic-conventions/kong-a2a.traces.otlp.jsonl";
    looks!(
        "coverage",
        &["coverage", "--rule", rules, kong, "tests/captures/a2a-python-1.3.0/headers.traces.otlp.jsonl"]
    );
}

#[test]
fn coverage_of_what_is_set_already() {
    let rules = "duplicate_submission,scheme_mismatch,split_brain,split_view,unauthorized_storm,unknown_skill";
    looks!("coverage_nginx", &["coverage", "--rule", rules, "tests/formats/nginx/json.log"]);
}

#[test]
fn coverage_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("alb.log");
    let line = "http 2026-11-30T06:15:34.786Z app/edge/50dc 10.0.0.7:4 10.0.0.9:80 0.0 0.1 0.0 200 200 34 366 \"POST http://a.example:80/ HTTP/1.1\"\n";
    std::fs::write(&log, line).unwrap();
    let clean = |text: String| text.replace(folder.path().to_str().unwrap(), "DIR");
    insta::assert_snapshot!("looks_coverage_nothing_80", clean(seen(&["coverage", log.to_str().unwrap()], 80, false)));
}

#[test]
fn rules() {
    let folder = own_rules();
    let queries = folder.path().to_str().unwrap();
    let clean = |text: String| text.replace(queries, "DIR");
    for (name, args) in [("list", &["rules", "list"][..]), ("show", &["rules", "show", "typed"])] {
        let args = [args, &["--queries", queries]].concat();
        insta::assert_snapshot!(format!("looks_rules_{name}_80"), clean(seen(&args, 80, false)));
        insta::assert_snapshot!(format!("looks_rules_{name}_160"), clean(seen(&args, 160, false)));
        insta::assert_snapshot!(format!("looks_rules_{name}_80_colour"), clean(seen(&args, 80, true)));
    }
}

#[test]
fn what_changed_between_two_cards() {
    let folder = tempfile::tempdir().unwrap();
    let card = |version: &str, modes: &str| {
        format!(
            r#"{{"name":"Summary Agent","version":"{version}","url":"https://a.example/","protocolVersion":"0.3.0","capabilities":{{"streaming":true}},"defaultInputModes":["text/plain"],"defaultOutputModes":["{modes}"],"skills":[{{"id":"summarize","name":"Summarize","description":"Makes it short","tags":[]}}]}}"#
        )
    };
    let (before, after) = (folder.path().join("before.json"), folder.path().join("after.json"));
    std::fs::write(&before, card("1.0.0", "text/plain")).unwrap();
    std::fs::write(&after, card("1.1.0", "application/json")).unwrap();
    let args = ["card", "diff", before.to_str().unwrap(), after.to_str().unwrap()];
    insta::assert_snapshot!("looks_card_diff", seen(&args, 80, false));
    assert_eq!(seen(&args, 160, true), seen(&args, 80, false));
}

#[test]
fn input_that_is_not_understood() {
    let folder = tempfile::tempdir().unwrap();
    let (text, json) = (folder.path().join("shopping.txt"), folder.path().join("other.json"));
    std::fs::write(&text, "milk\nbread\n").unwrap();
    std::fs::write(&json, "{\"a\": 1}\n{\"b\": \n").unwrap();
    let clean = |text: String| text.replace(folder.path().to_str().unwrap(), "DIR");
    let args = ["analyze", text.to_str().unwrap(), json.to_str().unwrap()];
    insta::assert_snapshot!("looks_not_understood_80", clean(seen(&args, 80, false)));
    insta::assert_snapshot!("looks_not_understood_160", clean(seen(&args, 160, false)));
}
