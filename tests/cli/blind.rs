//! What is said where rules are blind, where something was mistyped, and where there is nothing to look at.

use serde_json::Value;

use super::*;

/// Access log lines of a cluster: only one rule can judge by them.
const FEW: &str = "tests/formats/cri/containerd.log";
/// Spans by which `task_id_reused` fires without the field that it needs.
const SPANS: &str = "tests/formats/traces/jaeger.json";

#[test]
fn a_clean_verdict_names_the_rules_that_it_is_of() {
    let output = run(&["analyze", FEW]);
    assert_eq!(code(&output), 0);
    let page = stdout(&output);
    let mut lines = page.lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with("CLEAN  by 1 of ") && first.contains(" rules (") && first.ends_with(" are blind"),
        "{page}"
    );
    assert!(lines.next().unwrap().starts_with("`a2a-drift coverage` "), "{page}");
    assert!(page.contains("\nnothing found; "), "{page}");
}

#[test]
fn a_rule_that_must_see_and_does_not_is_no_verdict() {
    let (report, _) = json(&["analyze", FEW]);
    let coverage = report["coverage"].as_array().unwrap();
    let sees = coverage.iter().find(|rule| rule["missing"] == Value::Array(vec![])).unwrap()["rule"].as_str().unwrap();
    assert_eq!(json(&["analyze", FEW, "--need", sees]).1, 0);
    assert_eq!(json(&["analyze", FEW, "--rule", sees, "--need", "all"]).1, 0);
    for needed in ["split_brain", "all", &format!("{sees},split_brain")] {
        let output = run(&["analyze", FEW, "--need", needed]);
        assert_eq!(code(&output), 2, "{needed}");
        assert!(stdout(&output).starts_with("INCOMPLETE  nothing found\n"), "{}", stdout(&output));
        assert!(stderr(&output).contains("could not judge: a rule that --need names is blind"), "{}", stderr(&output));
    }
    let output = run(&["analyze", FEW, "--need", "split_brian"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    assert!(stderr(&output).contains("--need: no rule is called \"split_brian\""), "{}", stderr(&output));
    let output = run(&["analyze", FEW, "--rule", sees, "--need", "split_brain"]);
    assert!(stderr(&output).contains("--need split_brain: it is not among the rules of --rule"), "{}", stderr(&output));
}

fn json(args: &[&str]) -> (Value, i32) {
    let output = run(&[args, &["--format", "json"]].concat());
    (serde_json::from_slice(&output.stdout).unwrap(), code(&output))
}

#[test]
fn a_rule_that_has_a_finding_is_not_called_blind() {
    let (report, code) = json(&["analyze", SPANS, "--rule", "task_id_reused"]);
    assert_eq!((&report["summary"]["info"], &report["summary"]["blind_rules"], code), (&1.into(), &0.into(), 0));
    let (coverage, code) = json(&["coverage", SPANS, "--rule", "task_id_reused"]);
    assert_eq!((&coverage["rules"][0]["state"], code), (&"partly".into(), 0));
}

#[test]
fn one_look_at_a_card_is_nothing_to_compare() {
    let folder = tempfile::tempdir().unwrap();
    let card = folder.path().join("card.json");
    std::fs::write(
        &card,
        r#"{"name": "A", "version": "1", "url": "http://a.example/", "skills": [], "capabilities": {}}"#,
    )
    .unwrap();
    let output = run(&["card", "diff", card.to_str().unwrap()]);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    assert!(
        stderr(&output).contains("card.json: only one look at one card: nothing to compare"),
        "{}",
        stderr(&output)
    );
}

/// Three looks of the Rust client at the agent's card: twice the same body, and once 304.
#[test]
fn looks_that_saw_the_same_card_are_compared_and_nothing_changed() {
    let output = run(&["card", "diff", "tests/captures/a2a-rust-0.15.0/rust.exchanges.ndjson"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (0, "nothing changed\n"));
}

#[test]
fn a_suppression_of_a_rule_that_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a2a-drift.toml");
    std::fs::write(&config, "[[suppress]]\nrule = \"split_brian\"\nreason = \"r\"\nexpires = 2099-01-01\n").unwrap();
    for command in [&["analyze", CAPTURE][..], &["serve", "--check"]] {
        let output = run(&[command, &["--config", config.to_str().unwrap()]].concat());
        assert_eq!((code(&output), stdout(&output).as_str()), (2, ""), "{command:?}");
        let said = "a2a-drift.toml:1: [[suppress]]: no rule is called \"split_brian\"; did you mean split_brain or ";
        assert!(stderr(&output).contains(said), "{command:?}: {}", stderr(&output));
    }
}

#[test]
fn a_suppression_that_fits_no_finding_is_told_where_it_stands_and_one_that_does_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a2a-drift.toml");
    let table = |agent: &str| {
        format!(
            "[[suppress]]\nrule = \"unknown_skill\"\nagent = \"{agent}\"\nreason = \"OPS-1\"\nexpires = 2099-01-01\n"
        )
    };
    std::fs::write(&config, format!("{}{}", table("127.0.0.1:41001"), table("127.0.0.1:4100"))).unwrap();
    let told = |options: &[&str]| {
        let output = run(&[&["analyze", CAPTURE, "--config", config.to_str().unwrap()], options].concat());
        let lines: Vec<String> =
            stderr(&output).lines().filter(|line| line.contains("suppression")).map(str::to_owned).collect();
        lines.into_iter().map(|line| line.rsplit('/').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&[]), ["a2a-drift.toml:6: a suppression fits no finding: OPS-1"]);
    assert!(told(&["--rules", "unknown_skill"]).is_empty(), "it may fit elsewhere");
}

#[test]
fn a_param_that_is_wrong_is_told_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a2a-drift.toml");
    let cases = [
        (
            "[params.orphaned]\nsilense = \"2 hours\"\n",
            ":2: [params.orphaned]: `orphaned` has no param `silense` (did you mean `silence`?)",
        ),
        (
            "[params.orfaned]\nsilence = \"2 hours\"\n",
            ":2: [params.orfaned]: no rule or view `orfaned` (did you mean `orphaned`?)",
        ),
        (
            "[params.orphaned]\nsilence = [1]\n",
            ":2: [params.orphaned]: a param must be a string, a number or a boolean",
        ),
    ];
    for (text, wanted) in cases {
        std::fs::write(&config, format!("fail_on = \"info\"\n{text}")).unwrap();
        let output = run(&["analyze", CAPTURE, "--config", config.to_str().unwrap()]);
        assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
        assert!(stderr(&output).contains(&format!("a2a-drift.toml{wanted}")), "{}", stderr(&output));
    }
}

#[test]
fn every_view_that_can_be_asked_can_be_shown_and_several_at_once() {
    let output = run(&["query", "--tables", "capability_failures"]);
    let first = "capability_failures  Refusals for lack of a capability, each once however often reported\n";
    assert!(stdout(&output).starts_with(first), "{}", stderr(&output));
    let kind = stdout(&output).lines().find(|line| line.starts_with("  kind ")).unwrap().to_owned();
    assert!(kind.contains("task: a task was accepted"), "{kind}");
    let output = run(&["query", "--tables", "tasks", "capability_failures", "exchanges"]);
    let names: Vec<String> =
        stdout(&output).lines().filter(|line| line.starts_with(char::is_alphabetic)).map(str::to_owned).collect();
    assert_eq!((names.len(), code(&output)), (3, 0), "{names:?}");
    let output = run(&["query", "--tables", "tasks", "no_such"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("there is no table or view `no_such`"), "{}", stderr(&output));
}

#[test]
fn an_emitter_is_not_taken_for_another() {
    let titles = |path: &str| {
        let (coverage, _) = json(&["coverage", path]);
        let emitters = coverage["emitters"].as_array().unwrap();
        emitters.iter().map(|emitter| emitter["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles("tests/formats/crewai/events.ndjson"), ["crewai"]);
    assert_eq!(titles("tests/formats/aisix/usage.ndjson"), ["aisix"]);
    assert_eq!(titles("tests/formats/traces/python.console.json"), ["otel-console"]);
}

#[test]
fn a_question_without_its_parts_says_which_one_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let output = program().args(["query", "SELECT 1"]).current_dir(&folder).output().unwrap();
    assert_eq!(code(&output), 2);
    let said = "no PATH given, and the service's folder a2a-drift-data is not there";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    let output = run(&["query", CAPTURE]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("the first argument is SQL"), "{}", stderr(&output));
}

#[test]
fn a_baseline_that_is_none_is_called_so() {
    for (path, why) in [("Cargo.toml", "expected value"), ("no/such.json", "No such file or directory")] {
        let output = run(&["analyze", CAPTURE, "--baseline", path]);
        assert_eq!((code(&output), stdout(&output).as_str()), (2, ""), "{path}");
        let said =
            format!("error: --baseline {path}: expected a result of `a2a-drift analyze --format json` or `ndjson`: ");
        assert!(stderr(&output).contains(&said), "{}", stderr(&output));
        assert_eq!(stderr(&output).matches(why).count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn what_the_system_says_is_said_once() {
    for args in [&["analyze", CAPTURE, "--config", "no/such.toml"][..], &["rules", "check", "no/such/folder"]] {
        let output = run(args);
        assert_eq!(stderr(&output).matches("No such file or directory").count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn an_empty_file_is_called_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("day.log");
    std::fs::write(&path, "").unwrap();
    let output = run(&["analyze", path.to_str().unwrap()]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("day.log: empty\n"), "{}", stderr(&output));
}
