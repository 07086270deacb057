//! Folders of `serve` and of `--export`: what is read from them is facts, and there may be none yet.

use super::*;

/// The folder of a service to which nothing has come.
fn unfilled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("data/wal")).unwrap();
    std::fs::write(folder.path().join("data/wal/lock"), "").unwrap();
    folder
}

fn within(folder: &tempfile::TempDir, args: &[&str]) -> Output {
    program().args(args).current_dir(folder).output().unwrap()
}

#[test]
fn a_folder_of_serve_to_which_nothing_has_come_says_so_and_what_to_do() {
    let folder = unfilled();
    for args in
        [&["analyze", "data"][..], &["analyze", "data", "--format", "json"], &["query", "SELECT 1 FROM tasks", "data"]]
    {
        let output = within(&folder, args);
        assert_eq!(code(&output), 2, "{args:?}");
        let said = stderr(&output);
        assert!(
            said.contains(": nothing has been received yet\n  data: a folder of `a2a-drift serve` in which nothing is stored yet\n"),
            "{args:?}: {said}"
        );
        assert!(said.contains("\nwhat to do: send traffic or telemetry to the addresses that `serve` names"), "{said}");
    }
    // A lake makes it a folder in which something is stored.
    std::fs::create_dir_all(folder.path().join("data/lake/hour")).unwrap();
    assert!(stderr(&within(&folder, &["analyze", "data"])).contains("nothing has been received yet"));
    std::fs::write(folder.path().join("data/lake/hour/exchanges.parquet"), "PAR1").unwrap();
    assert!(stderr(&within(&folder, &["analyze", "data"])).contains("nothing of A2A was understood"));
}

#[test]
fn kept_facts_are_counted_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let export = folder.path().join("export");
    let export = export.to_str().unwrap();
    let rule = ["--rule", "unknown_skill"];
    let of_capture = run(&[&["analyze", CAPTURE, "--export", export, "--format", "json"], &rule[..]].concat());
    let of_capture: serde_json::Value = serde_json::from_slice(&of_capture.stdout).unwrap();
    let (records, facts) = (&of_capture["summary"]["records"], &of_capture["summary"]["facts"]);
    assert_eq!(of_capture["summary"]["kept_facts"], 0);

    let page = stdout(&run(&[&["analyze", export, "-q"], &rule[..]].concat()));
    assert!(page.lines().nth(1).unwrap().starts_with(&format!("{facts} kept facts from ")), "{page}");
    let page = stdout(&run(&[&["analyze", export, "--format", "markdown"], &rule[..]].concat()));
    assert!(page.contains(&format!("could judge {facts} kept facts.\n")), "{page}");
    let both = stdout(&run(&[&["analyze", export, CAPTURE, "-q"], &rule[..]].concat()));
    assert!(
        both.lines().nth(1).unwrap().starts_with(&format!("{records} records and {facts} kept facts from ")),
        "{both}"
    );

    let output = run(&[&["analyze", export, "--format", "json"], &rule[..]].concat());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["summary"]["records"], &json["summary"]["kept_facts"]), (&0.into(), facts));
    assert!(json["sources"].as_array().unwrap().iter().all(|source| source["records"] == 0), "{}", json["sources"]);
}

#[test]
fn facts_that_are_kept_twice_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    for export in [&one, &two] {
        run(&["analyze", CAPTURE, "--export", export, "-q"]);
    }
    let json = |args: &[&str]| serde_json::from_slice::<serde_json::Value>(&run(args).stdout).unwrap();
    for command in ["analyze", "coverage"] {
        let once = json(&[command, &one, "--format", "json"]);
        let twice = json(&[command, &one, &two, "--format", "json"]);
        let facts = &once["summary"]["facts"];
        for summary in [&once["summary"], &twice["summary"]] {
            assert_eq!((&summary["kept_facts"], &summary["facts"], &summary["records"]), (facts, facts, &0.into()));
        }
        assert!(facts.as_u64().unwrap() > 0);
    }
    let page = stdout(&run(&["coverage", &one, &two]));
    assert!(page.lines().nth(1).unwrap().contains(" kept facts of "), "{page}");
}
