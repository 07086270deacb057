//! The program as a person or a script meets it: arguments, exit codes, streams.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The program, with nothing of the surrounding environment that would change what it prints.
fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_a2a-drift"));
    program.current_dir(env!("CARGO_MANIFEST_DIR"));
    for (name, _) in std::env::vars() {
        if name.starts_with("A2A_DRIFT_") || name.starts_with("CLICOLOR") || ["NO_COLOR", "RUST_LOG"].contains(&&*name)
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

#[test]
fn help_says_what_can_be_done() {
    insta::assert_snapshot!("help", stdout(&run(&["--help"])));
    insta::assert_snapshot!("help_analyze", stdout(&run(&["analyze", "--help"])));
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
