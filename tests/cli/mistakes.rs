//! What is said to who mistypes a word, and what input that never ends or was never meant costs.

use super::*;

/// What the program says to an argument that it refuses.
fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""), "{args:?}");
    stderr(&output)
}

#[test]
fn a_table_that_is_not_there_is_told_with_the_name_that_is_meant_and_all_names_in_order() {
    let said = refused(&["query", "--tables", "deliverys"]);
    let (before, names) = said.trim_end().split_once("; there are ").unwrap();
    assert_eq!(before, "a2a-drift: error: there is no table or view `deliverys` (did you mean `deliveries`?)");
    let names: Vec<&str> = names.split(", ").map(|name| name.trim_matches('`')).collect();
    assert!(names.len() > 40 && names.is_sorted(), "{names:?}");
    assert_eq!(refused(&["query", "SELECT 1 FROM deliverys", CAPTURE]), said);
}

#[test]
fn mistakes_in_a_question_are_told_where_they_are_and_in_words() {
    let said = refused(&["query", "SELECT agent,\n  count(*)\nFROM exchanges", CAPTURE]);
    assert_eq!(
        said,
        "a2a-drift: error: line 1, column 8: `exchanges.agent` may differ within a group: write it behind GROUP BY, or take one \
         value of it, such as `max(exchanges.agent)`\n  SELECT agent,\n         ^\n"
    );
    let said = refused(&["query", "SELECT agent\nFROM exchanges\nORDER BY agnt", CAPTURE]);
    assert!(
        said.starts_with("a2a-drift: error: line 3, column 10: no column `agnt` (did you mean `agent`?); of "),
        "{said}"
    );
    assert!(
        said.ends_with("; `a2a-drift query --tables exchanges` tells all\n  ORDER BY agnt\n           ^\n"),
        "{said}"
    );
}

#[test]
fn a_threshold_of_a_wrong_type_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a2a-drift.toml");
    for (text, complaint) in [
        (
            "[params.orphaned]\nsilence = 5\n",
            "[params]: param `silence` of `orphaned` is a span of time such as \"30 seconds\", not a whole number",
        ),
        (
            "[params.orphaned]\nsilence = true\n",
            "[params]: param `silence` of `orphaned` is a span of time such as \"30 seconds\", not a boolean",
        ),
        (
            "[params.orphaned]\nsilence = \"two hours\"\n",
            "[params]: param `silence` of `orphaned` is a span of time such as \"30 seconds\", not a string",
        ),
        (
            "[params.stale_card_retry]\ncalls = \"2\"\n",
            "[params]: param `calls` of `stale_card_retry` is a whole number, not a string",
        ),
        (
            "[params.stale_card_retry]\ncalls = 2.5\n",
            "[params]: param `calls` of `stale_card_retry` is a whole number, not a number",
        ),
        (
            "[params.stale_card_retry]\ncalls = [2]\n",
            "[params.stale_card_retry]: a param must be a string, a number or a boolean",
        ),
    ] {
        std::fs::write(&config, text).unwrap();
        let said = refused(&["analyze", CAPTURE, "--config", config.to_str().unwrap()]);
        assert!(said.contains(complaint), "{text}: {said}");
    }
}

#[test]
fn a_baseline_that_never_ends_or_is_no_result_is_refused() {
    let said = refused(&["analyze", CAPTURE, "--baseline", CAPTURE]);
    assert!(said.contains("expected a result of `a2a-drift analyze --format json` or `ndjson`: "), "{said}");
    if std::path::Path::new("/dev/zero").exists() {
        let said = refused(&["analyze", CAPTURE, "--baseline", "/dev/zero"]);
        assert!(said.contains("--baseline /dev/zero: expected a result of "), "{said}");
    }
}

#[test]
fn manual_pages_make_the_folder_that_is_named_and_none_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("nosuch/x");
    let said = refused(&["man", below.to_str().unwrap()]);
    assert!(said.contains("nosuch/x: there is no folder ") && said.ends_with("nosuch; make it first\n"), "{said}");
    assert!(!folder.path().join("nosuch").exists());
    for _ in ["made", "there"] {
        let output = run(&["man", folder.path().join("x").to_str().unwrap()]);
        assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    }
    assert!(folder.path().join("x/a2a-drift.1").is_file());
}

#[test]
fn help_and_manual_say_how_a_comparison_of_cards_ends() {
    let said = "Exit codes: 0 nothing changed, 1 something did, 2 there are no two cards to compare.";
    assert!(stdout(&run(&["card", "diff", "--help"])).contains(said));
}

#[test]
fn the_list_of_rules_fits_the_width_that_is_told_and_keeps_its_lines_whole_where_none_is() {
    let list = |columns: Option<&str>| {
        let mut program = program();
        program.args(["rules", "list"]);
        columns.map(|columns| program.env("COLUMNS", columns));
        stdout(&program.output().unwrap())
    };
    let whole = list(None);
    assert!(whole.lines().any(|line| line.chars().count() > 80));
    let narrow = list(Some("80"));
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&narrow), words(&whole));
}

#[test]
fn where_no_time_can_be_read_there_is_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("agent.log");
    let event = |time: &str, task: &str| {
        format!(
            "{{\"time\":\"{time}\",\"event\":\"a2a.task.state\",\"a2a.task.id\":\"{task}\",\"a2a.task.state\":\"working\"}}\n"
        )
    };
    std::fs::write(&log, event("2026-11-31T10:00:00Z", "t1")).unwrap();
    let output = run(&["analyze", log.to_str().unwrap()]);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    let said = stderr(&output);
    assert!(said.starts_with("a2a-drift: could not judge: no record says when it was\n"), "{said}");
    assert!(said.contains("agent.log:1: time (\"2026-11-31T10:00:00Z\") is no time"), "{said}");
    // One that has a time is judged, and the other is told; it is not the oldest of all, and no task waits since 1970.
    std::fs::write(&log, event("2026-11-31T10:00:00Z", "t1") + &event("2026-11-30T10:00:00Z", "t2")).unwrap();
    let output = run(&["analyze", log.to_str().unwrap()]);
    assert_eq!(code(&output), 0);
    assert!(
        stdout(&output).contains("1 bad-time, first agent.log:1: time (\"2026-11-31T10:00:00Z\")"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn the_ending_of_a_file_names_the_form_of_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    for (name, begins) in
        [("a.csv", "x\n1\n"), ("a.JSON", "{\"x\":1}\n"), ("a.parquet", "PAR1"), ("a.txt", "+---+\n| x |")]
    {
        let path = folder.path().join(name);
        let output = run(&["query", "SELECT 1 AS x", CAPTURE, "-o", path.to_str().unwrap()]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(std::fs::read(&path).unwrap().starts_with(begins.as_bytes()), "{name}");
    }
}

#[test]
fn a_reference_of_the_configuration_that_leads_to_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a2a-drift.toml");
    let said = |text: &str| {
        std::fs::write(&config, text).unwrap();
        let args = ["analyze", CAPTURE, "--config", config.to_str().unwrap()];
        assert_eq!(stderr(&run(&[&args[..], &["--quiet"]].concat())), "");
        stderr(&run(&args))
    };
    // The agent's own address is in the capture, as a client pasted it and by the name of its card.
    let met = "[agents]\na = [\"http://127.0.0.1:41001/.well-known/agent-card.json\", \"Summary Agent\"]\n";
    assert_eq!(said(met), "");
    let one = "[agents]\na = [\"127.0.0.1:41001/no-such\"]\nb = [\"127.0.0.1:41001\"]\n";
    assert_eq!(said(one), "a2a-drift: nothing here is called \"127.0.0.1:41001/no-such\" of [agents] a\n");
    let many = "[agents]\na = [\"h1\", \"h2\", \"h3\"]\n[clients]\nc = [\"10.9.9.9\", \"nobody\"]\n";
    assert_eq!(
        said(many),
        "a2a-drift: nothing here is called \"h1\" of [agents] a, \"h2\" of [agents] a, \"h3\" of [agents] a and 2 more\n"
    );
}
