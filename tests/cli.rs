//! The program as a person or a script meets it: arguments, exit codes, streams.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The program, with nothing of the surrounding environment that would change what it prints.
fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    program.current_dir(env!("CARGO_MANIFEST_DIR"));
    for (name, _) in std::env::vars() {
        if name.starts_with("A2A_DRIFT_")
            || name.starts_with("CLICOLOR")
            || ["NO_COLOR", "RUST_LOG", "COLUMNS"].contains(&&*name)
        {
            program.env_remove(name);
        }
    }
    program
}

fn run(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[path = "cli/blind.rs"]
mod blind;
#[path = "cli/cases.rs"]
mod cases;
#[path = "cli/coverage.rs"]
mod coverage;
#[path = "cli/data.rs"]
mod data;
#[path = "cli/looks.rs"]
mod looks;
#[path = "cli/mistakes.rs"]
mod mistakes;
#[path = "cli/pages.rs"]
mod pages;
#[path = "cli/settings.rs"]
mod settings;
#[path = "cli/window.rs"]
mod window;

#[test]
fn help_says_what_can_be_done() {
    insta::assert_snapshot!("help", stdout(&run(&["--help"])));
    insta::assert_snapshot!("help_analyze", stdout(&run(&["analyze", "--help"])));
    insta::assert_snapshot!("help_coverage", stdout(&run(&["coverage", "-h"])));
    insta::assert_snapshot!("help_rules", stdout(&run(&["rules", "--help"])));
}

#[test]
fn wrong_usage_is_no_verdict() {
    for args in [
        &["analyze"][..],
        &["analyse", "x"],
        &["analyze", "x", "--fail-on", "loud"],
        &[],
        &["analyze", "-q", "-v", "x"],
    ] {
        let output = run(args);
        assert_eq!((code(&output), output.stdout.len()), (2, 0), "{args:?}");
    }
    let output = run(&["analyze", "x", "--as-of", "yesterday"]);
    assert!(stderr(&output).contains("expected an RFC 3339 time such as 2026-11-30T06:15:00Z"), "{}", stderr(&output));
}

#[test]
fn a_path_that_names_nothing_is_an_error_that_names_the_path() {
    let output = run(&["analyze", "no/such/file.ndjson"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    assert!(stderr(&output).starts_with("a2a-drift: error: no/such/file.ndjson: "), "{}", stderr(&output));
}

#[test]
fn input_that_is_not_understood_is_no_verdict_but_a_diagnosis() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shopping.txt");
    std::fs::write(&path, "milk\nbread\n").unwrap();
    let output = run(&["analyze", path.to_str().unwrap()]);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    let stderr = stderr(&output);
    assert!(stderr.starts_with("a2a-drift: could not judge: nothing of A2A was understood\n"), "{stderr}");
    assert!(
        stderr.contains("shopping.txt") && stderr.contains("unknown-text") && stderr.contains("what to do: "),
        "{stderr}"
    );
}

#[test]
fn standard_input_is_a_source() {
    let mut child = program()
        .args(["analyze", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"milk\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("  -: "), "{}", stderr(&output));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child =
        program().args(["analyze", "--print-schema"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}

#[test]
fn the_environment_wins_over_the_file_and_flags_over_both() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a2a-drift.toml");
    std::fs::write(&config, "format = \"json\"\n").unwrap();
    let run = |environment: Option<&str>, flags: &[&str]| {
        let mut program = program();
        program.args(["analyze", "Cargo.toml"]).args(flags).env("A2A_DRIFT_CONFIG", &config);
        if let Some(form) = environment {
            program.env("A2A_DRIFT_FORMAT", form);
        }
        stdout(&program.output().unwrap())
    };
    assert!(run(None, &[]).contains("\"verdict\": \"unjudged\""));
    assert_eq!(run(Some("table"), &[]), "");
    assert!(run(Some("table"), &["--format", "json"]).starts_with('{'));
}

#[test]
fn a_mistake_in_the_configuration_is_shown_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a2a-drift.toml");
    std::fs::write(&config, "\n[limit]\n").unwrap();
    let output = run(&["analyze", "Cargo.toml", "--config", config.to_str().unwrap()]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("a2a-drift.toml:2:2: unknown field `limit`"), "{}", stderr(&output));
}

#[test]
fn the_schema_is_printed_without_any_input() {
    let output = run(&["analyze", "--print-schema"]);
    assert_eq!(code(&output), 0);
    let schema: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(schema["properties"]["schema_version"]["const"], 1);
}

#[test]
fn a_folder_of_rules_that_is_not_there_is_an_error() {
    let output = run(&["rules", "check", "no/such/folder"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    assert!(stderr(&output).contains("no/such/folder"), "{}", stderr(&output));
}

/// A capture in which a skill was replaced under the same card version, and four tasks failed for it (step s09).
const CAPTURE: &str = "tests/captures/a2a-python-1.3.0/jsonrpc.exchanges.ndjson";

#[test]
fn findings_make_the_exit_code_1_unless_they_are_below_what_fails() {
    let output = run(&["analyze", CAPTURE]);
    assert_eq!((code(&output), stderr(&output).as_str()), (1, ""));
    assert!(stdout(&output).starts_with("DRIFT  "), "{}", stdout(&output));
    assert_eq!(code(&run(&["analyze", CAPTURE, "--fail-on", "never"])), 0);
    assert_eq!(code(&run(&["analyze", CAPTURE, "--rule", "security_changed", "--fail-on", "critical"])), 0);
}

#[test]
fn a_finding_leads_back_to_the_lines_it_rests_on() {
    let output = run(&["analyze", CAPTURE, "--format", "json", "--rule", "unknown_skill"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 4);
    let capture = std::fs::read_to_string(CAPTURE).unwrap();
    let lines: Vec<&str> = capture.lines().collect();
    for finding in findings {
        let task = finding["task_id"].as_str().unwrap();
        let refusal = finding["evidence"].as_array().unwrap().iter().find(|fact| fact["role"] == "refusal").unwrap();
        assert_eq!(refusal["source"], CAPTURE);
        let line: usize = refusal["position"].as_str().unwrap().parse().unwrap();
        assert!(lines[line - 1].contains(task), "line {line} is not about {task}");
    }
}

#[test]
fn a_file_and_standard_input_give_the_same_findings() {
    let ids = |output: Output| -> Vec<String> {
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["findings"].as_array().unwrap().iter().map(|f| f["id"].as_str().unwrap().to_owned()).collect()
    };
    let piped = program()
        .args(["analyze", "-", "--format", "json"])
        .stdin(std::fs::File::open(CAPTURE).unwrap())
        .output()
        .unwrap();
    let of_file = ids(run(&["analyze", CAPTURE, "--format", "json"]));
    assert!(!of_file.is_empty());
    assert_eq!(ids(piped), of_file);
}

#[test]
fn nothing_is_due_before_it_happened() {
    let output = run(&["analyze", CAPTURE, "--as-of", "2020-01-01T00:00:00Z"]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).starts_with("CLEAN  by 35 of 37 rules; 2 are blind\n"), "{}", stdout(&output));
}

#[test]
fn a_rule_that_could_not_see_gives_no_verdict() {
    let output = run(&["analyze", CAPTURE, "--rule", "failed_by_card"]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).starts_with("NO VERDICT  nothing found\n"), "{}", stdout(&output));
    assert!(stderr(&output).contains("every rule that was asked for lacks a field"), "{}", stderr(&output));
}

#[test]
fn an_unknown_rule_is_refused_with_the_names_that_are_near() {
    let output = run(&["analyze", CAPTURE, "--rule", "split_brian"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    assert!(
        stderr(&output).contains("no rule is called \"split_brian\"; did you mean split_brain"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_reader_that_leaves_early_changes_no_verdict() {
    let mut child =
        program().args(["analyze", CAPTURE, "-v"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 1);
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

#[test]
fn colour_is_for_terminals_and_for_who_forces_it() {
    let coloured = |environment: &[(&str, &str)]| {
        let output = program().args(["analyze", CAPTURE]).envs(environment.iter().copied()).output().unwrap();
        stdout(&output).contains('\u{1b}')
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
}

#[test]
fn thresholds_and_spellings_that_do_not_exist_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a2a-drift.toml");
    for (text, complaint) in [
        ("[params.split_brain]\nno_such = 1\n", "no_such"),
        ("[params.no_such]\ngrace = 1\n", "no_such"),
        ("[exchange_keys]\nno_such = [\"a\"]\n", "[exchange_keys]: there is no field \"no_such\""),
        ("[vocabulary]\npatterns = \"no-such.toml\"\n", "no-such.toml"),
    ] {
        std::fs::write(&config, text).unwrap();
        let output = run(&["analyze", CAPTURE, "--config", config.to_str().unwrap()]);
        assert_eq!(code(&output), 2, "{text}");
        assert!(stderr(&output).contains(complaint), "{text}: {}", stderr(&output));
    }
}

#[test]
fn rules_can_be_listed_shown_and_checked() {
    let list = stdout(&run(&["rules", "list"]));
    assert!(list.lines().any(|line| line.starts_with("lifecycle ") && line.contains(" split_brain ")), "{list}");
    let file = stdout(&run(&["rules", "show", "split_brain", "--sql"]));
    assert_eq!(file, std::fs::read_to_string("queries/rules/lifecycle/split_brain.sql").unwrap());
    assert_eq!(code(&run(&["rules", "check", "queries"])), 0);
    assert_eq!(code(&run(&["rules", "show", "split_brian"])), 2);
}

/// A folder of one rule and the view that it reads, with what could break a table, a list or a line in their texts.
fn own_rules() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rule = r#"-- title    = "A card of type `*/*` | no other was looked at"
-- severity = "warning"
-- status   = "experimental"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent", "card_url"]
-- needs    = ["cards.url[extended=false]@client", "cards.url"]
-- summary  = "{agent} shows {card_url}"
-- suspect  = "card-publisher"
-- because  = "it is there"
-- next     = "Ask the publisher of {agent} for a card with a type, and every client that keeps the old one to fetch it again"
-- params   = { grace = "2 seconds", share = 0.5, least = 2 }
--
-- ## What it finds
-- A card, in a sentence that is long enough to be wrapped on a page of one hundred columns, and then some.
--
-- A second paragraph.
-- ## Why it matters
-- It does not.
-- ## First checks
-- 1. Look at the card at the time of the finding, and at every card that anyone saw at that url within the hour
--    before.
-- 2. Look again:
-- ```sh
-- curl -s https://agent.example/.well-known/agent-card.json
-- ```
-- ## When it is wrong
-- - Always.
-- ## What it cannot see
-- Nothing.

SELECT
    l.agent,
    l.card_url,
    l.observed_at,
    'confirmed' AS confidence,
    l.fact_id
FROM looks AS l
WHERE $share > 0 AND $least > 0 AND l.observed_at > l.observed_at - CAST($grace AS INTERVAL)
"#;
    let view = r#"-- title = "Looks at cards"
-- by    = ["agent"]
--
-- One row a look.

SELECT
    c.agent,
    c.url AS card_url,
    c.observed_at,
    c.fact_id
FROM cards AS c
"#;
    for (path, text) in [("rules/card/typed.sql", rule), ("views/looks.sql", view)] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_rule_is_shown_as_a_page_for_people_and_all_rules_as_one_for_a_repository() {
    let folder = own_rules();
    let rules = |args: &[&str]| {
        let output = program().args(["rules", "--queries", "."]).args(args).current_dir(&folder).output().unwrap();
        assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{args:?}");
        stdout(&output)
    };
    insta::assert_snapshot!("rules_list", rules(&["list"]));
    insta::assert_snapshot!("rules_show", rules(&["show", "typed"]));
    let docs = rules(&["docs"]);
    let (_, of_these_rules) = docs.split_once("## Index of rules\n").unwrap();
    insta::assert_snapshot!("rules_docs", of_these_rules);
}

#[test]
fn mistakes_in_rules_are_printed_with_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules/card");
    std::fs::create_dir_all(&rules).unwrap();
    std::fs::write(rules.join("broken.sql"), "-- headline = \"A typing error\"\n--\nSELECT 1\n").unwrap();
    let output = run(&["rules", "check", folder.path().to_str().unwrap()]);
    assert_eq!(code(&output), 1);
    assert!(stdout(&output).contains("rules/card/broken.sql:1:"), "{}", stdout(&output));
}

#[test]
fn the_programs_own_log_goes_to_standard_error_in_the_form_asked_for() {
    let args = ["analyze", CAPTURE, "-v", "--log-format", "json", "--format", "json", "--rule", "unknown_skill"];
    let output = run(&args);
    assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok());
    let lines: Vec<serde_json::Value> =
        stderr(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["fields"]["source"] == CAPTURE), "{lines:?}");
}
