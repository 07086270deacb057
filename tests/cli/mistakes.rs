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
            ":1: [params.orphaned]: param `silence` of `orphaned` is a span of time such as \"30 seconds\", which `5` is not",
        ),
        (
            "[params.orphaned]\nsilence = true\n",
            ":1: [params.orphaned]: param `silence` of `orphaned` is a span of time such as \"30 seconds\", which `true` is not",
        ),
        (
            "[params.orphaned]\nsilence = \"two hours\"\n",
            ":1: [params.orphaned]: param `silence` of `orphaned` is a span of time such as \"30 seconds\", which `\"two hours\"` is not",
        ),
        (
            "[params.stale_card_retry]\ncalls = \"2\"\n",
            ":1: [params.stale_card_retry]: param `calls` of `stale_card_retry` is a whole number, which `\"2\"` is not",
        ),
        (
            "[params.stale_card_retry]\ncalls = 2.5\n",
            ":1: [params.stale_card_retry]: param `calls` of `stale_card_retry` is a whole number, which `2.5` is not",
        ),
        (
            "[params.orphaned]\nsilence = \"-2 hours\"\n",
            ":1: [params.orphaned]: param `silence` of `orphaned` is a span of time such as \"30 seconds\", which `\"-2 hours\"` is not",
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

#[cfg(unix)]
#[test]
fn an_input_that_cannot_be_read_is_no_clean_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.ndjson");
    let text = std::fs::read_to_string(CAPTURE).unwrap();
    std::fs::write(&good, text.lines().take(3).fold(String::new(), |all, line| all + line + "\n")).unwrap();
    // Whoever is root reads what has no permission; a socket is opened by nobody.
    let broken = folder.path().join("broken.ndjson");
    let _socket = std::os::unix::net::UnixListener::bind(&broken).unwrap();
    let [good, broken] = [&good, &broken].map(|path| path.to_str().unwrap());
    let output = run(&["analyze", "--quiet", good, broken]);
    assert_eq!(code(&output), 2, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).starts_with("INCOMPLETE  "), "{}", stdout(&output));
    assert!(stderr(&output).contains("broken.ndjson: "), "{}", stderr(&output));
    assert_eq!(code(&run(&["analyze", "--quiet", good])), 0);
}

#[test]
fn a_capture_that_is_cut_off_says_so_beside_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, cut) = (folder.path().join("whole.har"), folder.path().join("cut.har"));
    let entry = |number: usize| {
        format!(
            "{{\"startedDateTime\":\"2026-11-30T06:00:0{number}Z\",\"time\":5,\"request\":{{\"method\":\"GET\",\"url\":\"http://h/.well-known/agent-card.json\",\"headers\":[]}},\"response\":{{\"status\":404,\"headers\":[],\"content\":{{}}}},\"cache\":{{}},\"timings\":{{}}}}"
        )
    };
    let text = format!("{{\"log\":{{\"version\":\"1.2\",\"entries\":[{},{}]}}}}", entry(1), entry(2));
    std::fs::write(&whole, &text).unwrap();
    std::fs::write(&cut, &text[..text.len() - 40]).unwrap();
    let said = |path: &std::path::Path| stdout(&run(&["analyze", "--quiet", path.to_str().unwrap()]));
    assert!(!said(&whole).contains("cut off"), "{}", said(&whole));
    assert!(said(&cut).contains("1 piece not understood (1 cut off: there was more)"), "{}", said(&cut));
}

#[test]
fn as_of_an_instant_nothing_is_known_of_what_came_later() {
    let calls = |args: &[&str]| {
        let output = run(&[&["analyze", CAPTURE, "--format", "json"], args].concat());
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let seen = report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["last_seen"].as_str().unwrap().to_owned());
        seen.max()
    };
    let instant = "2026-11-30T06:15:38.6Z";
    assert!(calls(&[]).unwrap().as_str() > instant);
    assert!(calls(&["--as-of", instant]).unwrap().as_str() <= instant);
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

#[test]
fn a_card_is_compared_with_the_one_of_its_name_in_a_capture_of_several_agents() {
    let folder = tempfile::tempdir().unwrap();
    let card = |name: &str, skill: &str| {
        format!(
            "{{\"name\":\"{name}\",\"description\":\"d\",\"version\":\"1\",\"url\":\"http://{name}.example/\",\"capabilities\":{{}},\"defaultInputModes\":[\"text/plain\"],\"defaultOutputModes\":[\"text/plain\"],\"skills\":[{{\"id\":\"{skill}\",\"name\":\"s\",\"description\":\"d\",\"tags\":[]}}],\"protocolVersion\":\"0.3.0\"}}"
        )
    };
    let write = |file: &str, text: String| {
        let path = folder.path().join(file);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let look = |second: usize, name: &str, body: String| {
        serde_json::json!({
            "startedDateTime": format!("2026-11-30T06:00:0{second}Z"),
            "request": {"method": "GET", "url": format!("http://{name}.example/.well-known/agent-card.json"), "headers": []},
            "response": {"status": 200, "headers": [["content-type", "application/json"]], "body": {"text": body}},
        })
        .to_string()
    };
    let capture = write(
        "day.ndjson",
        [look(1, "billing", card("billing", "pay")), look(2, "orders", card("orders", "buy"))].join("\n"),
    );
    let same = write("same.json", card("billing", "pay"));
    let other = write("other.json", card("billing", "invoice"));
    let unknown = write("unknown.json", card("research", "pay"));
    assert_eq!(stdout(&run(&["card", "diff", &capture, &same])), "nothing changed\n");
    let said = stdout(&run(&["card", "diff", &capture, &other]));
    assert!(said.starts_with("  skills        skill pay is gone\n  skills        skill invoice is new\n"), "{said}");
    let said = refused(&["card", "diff", &capture, &unknown]);
    assert!(said.contains("it has cards of several agents (billing, orders)"), "{said}");
}

#[test]
fn what_an_event_of_ones_own_misspells_is_told_and_the_rest_of_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("agent.log");
    let said = |line: &str| {
        std::fs::write(&log, format!("{line}\n")).unwrap();
        let output = run(&["analyze", "--format", "json", log.to_str().unwrap()]);
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let rejects = report["rejects"].as_array().unwrap().clone();
        rejects
            .iter()
            .map(|reject| {
                format!("{} {}", reject["reason"].as_str().unwrap(), reject["first"]["detail"].as_str().unwrap())
            })
            .collect::<Vec<_>>()
    };
    let event = |name: &str, key: &str, state: &str| {
        format!(
            "{{\"time\":\"2026-11-30T10:00:00Z\",\"event\":\"{name}\",\"a2a.task.id\":\"t\",\"{key}\":\"{state}\",\"service.name\":\"s\",\"a2a.vendor.note\":\"x\"}}"
        )
    };
    assert_eq!(said(&event("a2a.task.state", "a2a.task.state", "TASK_STATE_FAILED")), [""; 0]);
    assert_eq!(said(&event("a2a.task.state", "a2a.task.state", "unknown")), [""; 0]);
    assert_eq!(
        said(&event("a2a.task.state", "a2a.task.sate", "failed")),
        ["bad-field nobody reads a2a.task.sate: did you mean a2a.task.state?"]
    );
    assert_eq!(
        said(&event("a2a.task.state", "a2a.task.state", "faild")),
        ["bad-field the state of the task is none of A2A's: did you mean failed?"]
    );
    assert_eq!(
        said(&event("a2a.task.state", "a2a.task.state", "hunter2")),
        ["bad-field the state of the task is none of A2A's"]
    );
    assert_eq!(
        said(&event("a2a.task.stat", "a2a.task.state", "failed")),
        ["bad-field the event a2a.task.stat is not known: did you mean a2a.task.state?"]
    );
}
