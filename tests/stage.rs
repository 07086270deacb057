//! The stage's own tests: edits, times, fresh ids and comparison do what tests/rules/README.md says.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use support::assemble::Capture;
use support::case::CaseText;
use support::edit::body_json;
use support::times::times_in;

use serde_json::{Value, json};

fn assemble(text: &str) -> Result<Capture, String> {
    let case = toml::from_str::<CaseText>(&format!("why = 'x'\n{text}")).map_err(|e| e.to_string())?;
    Capture::of(&case, support::library::shelf()).map_err(String::from)
}

fn lines(text: &str) -> Vec<Value> {
    assemble(text).unwrap().lines.iter().map(|line| serde_json::from_str(&line.text).unwrap()).collect()
}

#[test]
fn an_unedited_pick_is_the_line_byte_for_byte() {
    let capture = assemble("[[lines]]\nfrom = 'jsonrpc'\npick = [1, '46-48']").unwrap();
    let shelf = support::library::lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson").unwrap();
    let expected: Vec<&String> = [0, 45, 46, 47].iter().map(|at| &shelf[*at]).collect();
    assert_eq!(capture.lines.iter().map(|line| &line.text).collect::<Vec<_>>(), expected);
    assert_eq!(capture.files()["capture.ndjson"].iter().filter(|b| **b == b'\n').count(), 4);
}

#[test]
fn shift_moves_every_spelling_of_a_time_by_the_same() {
    // jsonrpc:2 has startedDateTime, start_unix_ns, a Date header and a status timestamp; it ran 06:15:34.830852460Z.
    let [line] = lines("[[lines]]\nfrom = 'jsonrpc'\npick = [2]\nshift = '2h'").try_into().unwrap();
    assert_eq!(line["startedDateTime"], "2026-11-30T08:15:34.830852Z");
    let unix = line["start_unix_ns"].as_i64().unwrap();
    assert!((unix - (1_796_019_334_830_852_460 + 7_200_000_000_000)).abs() < 1000, "cut as startedDateTime is");
    assert!(line["response"]["headers"].to_string().contains("Mon, 30 Nov 2026 08:15:34 GMT"));
    let body = body_json(&line, "response").unwrap();
    assert_eq!(body.pointer("/result/task/status/timestamp").unwrap(), "2026-11-30T08:15:34.843353Z");
}

#[test]
fn offsets_and_separators_of_times_stay_as_they_are() {
    let raw = r#"[[lines]]
raw = '''
{"a":"2026-11-30T06:15:34.786+01:00","b":"2026-11-30 23:59:59,500","timeUnixNano":"1796019334000000000","n":17960193}
'''
shift = "1s""#;
    let capture = assemble(raw).unwrap();
    let expected = r#"{"a":"2026-11-30T06:15:35.786+01:00","b":"2026-12-01 00:00:00,500","timeUnixNano":"1796019335000000000","n":17960193}"#;
    assert_eq!(capture.lines[0].text, expected);
}

#[test]
fn a_status_time_stays_with_the_call_that_made_the_status() {
    // jsonrpc:2 completes a task, jsonrpc:10 reads it again: both carry the same status time.
    let text = "[[lines]]\nfrom = 'jsonrpc'\npick = [2, 10]\nat = ['2026-12-01T00:00:00Z', '2026-12-01T05:00:00Z']";
    let [send, poll] = lines(text).try_into().unwrap();
    let sent = body_json(&send, "response").unwrap().pointer("/result/task/status/timestamp").cloned().unwrap();
    let read = body_json(&poll, "response").unwrap().pointer("/result/status/timestamp").cloned().unwrap();
    assert_eq!(send["startedDateTime"], "2026-12-01T00:00:00.000000Z");
    assert_eq!(poll["startedDateTime"], "2026-12-01T05:00:00.000000Z");
    assert!(poll["response"]["headers"].to_string().contains("Tue, 01 Dec 2026 04:59:58"), "Date, 1.149 s before");
    // 843.353 ms - 830.852 ms after the call began.
    assert_eq!(sent, "2026-12-01T00:00:00.012501Z");
    assert_eq!(read, sent);
}

#[test]
fn stretch_moves_calls_bodies_and_chunks_alike() {
    let [line] = lines("[[lines]]\nfrom = 'jsonrpc'\npick = [9]\nat = '2026-12-01T00:00:00Z'\nstretch = 100.0")
        .try_into()
        .unwrap();
    let [original] = lines("[[lines]]\nfrom = 'jsonrpc'\npick = [9]").try_into().unwrap();
    for (chunk, was) in line["chunks"].as_array().unwrap().iter().zip(original["chunks"].as_array().unwrap()) {
        assert!((chunk["t_ms"].as_f64().unwrap() - 100.0 * was["t_ms"].as_f64().unwrap()).abs() < 1e-6);
    }
    let times = |line: &Value| times_in(line["response"]["body"]["text"].as_str().unwrap());
    let start = original["start_unix_ns"].as_i64().unwrap();
    let begin = line["start_unix_ns"].as_i64().unwrap();
    for (moved, was) in times(&line).iter().zip(times(&original)) {
        assert!((moved - begin - 100 * (was - start)).abs() < 2_000_000, "milli- or microseconds are cut, no more");
    }
    assert!(times(&line).len() >= 2);
}

#[test]
fn apart_spaces_the_starts() {
    let text = "[[lines]]\nfrom = 'jsonrpc'\npick = ['37-39']\nat = '2026-12-01T00:00:00Z'\napart = '5m'";
    let starts: Vec<_> = lines(text).iter().map(|line| line["startedDateTime"].clone()).collect();
    assert_eq!(starts, ["2026-12-01T00:00:00.000000Z", "2026-12-01T00:05:00.000000Z", "2026-12-01T00:10:00.000000Z"]);
}

#[test]
fn fresh_ids_keep_joins_between_lines_and_groups() {
    let text =
        "[[lines]]\nfrom = 'jsonrpc'\npick = [18]\nids = 'b'\n[[lines]]\nfrom = 'jsonrpc'\npick = [20]\nids = 'b'";
    let capture = assemble(text).unwrap();
    let task = capture.resolve("@1:18.task").unwrap();
    assert_ne!(task, "4761aaf7-b2ee-4dc5-8cbe-5ca7d12835e8");
    assert_eq!(task.len(), 36);
    assert_eq!(capture.resolve("@2:20.task").unwrap(), task);
    assert_eq!(capture.resolve("@2:20.context").unwrap(), capture.resolve("@1:18.context").unwrap());
    let line: Value = serde_json::from_str(&capture.lines[1].text).unwrap();
    assert_eq!(body_json(&line, "request").unwrap().pointer("/params/message/taskId").unwrap(), &json!(task));
    let was: Value =
        serde_json::from_str(&support::library::lines("a2a-python-1.3.0/jsonrpc.exchanges.ndjson").unwrap()[19])
            .unwrap();
    assert_ne!(line["request"]["headers"].to_string(), was["request"]["headers"].to_string(), "a new trace");
    assert_eq!(line["response"]["headers"].to_string().len(), was["response"]["headers"].to_string().len());
}

#[test]
fn fresh_calls_are_other_calls_about_the_same_task() {
    let text = "[[lines]]\nfrom = 'jsonrpc'\npick = [14]\nrepeat = 3\nevery = '10s'\nfresh = 'calls'";
    let capture = assemble(text).unwrap();
    let bodies: Vec<Value> = lines(text).iter().map(|line| body_json(line, "request").unwrap()).collect();
    assert_eq!(bodies[0]["params"], bodies[2]["params"]);
    assert_ne!(bodies[0]["id"], bodies[1]["id"]);
    assert_ne!(bodies[1]["id"], bodies[2]["id"]);
    assert_eq!(
        capture.resolve("@1:14#3.task").unwrap(),
        "ad540445-".to_owned() + &capture.resolve("@1:14.task").unwrap()[9..]
    );
    let starts: Vec<_> = lines(text).iter().map(|line| line["start_unix_ns"].as_i64().unwrap()).collect();
    assert_eq!(starts[2] - starts[0], 20_000_000_000);
}

#[test]
fn a_poll_without_a_body_stays_about_its_task() {
    // rest:14 is GET /rest/tasks/e8b3d1fd-….
    let text = "[[lines]]\nfrom = 'rest'\npick = [14]\nids = 'b'\nfresh = 'calls'";
    let [line] = lines(text).try_into().unwrap();
    assert!(line["request"]["url"].as_str().unwrap().ends_with("/tasks/e8b3d1fd-80ed-4976-99b8-1c7235cafe76"));
    assert_eq!(assemble(text).unwrap().resolve("@1:14.task").unwrap(), "e8b3d1fd-80ed-4976-99b8-1c7235cafe76");
    let [was] = lines("[[lines]]\nfrom = 'rest'\npick = [14]").try_into().unwrap();
    assert_ne!(line["request"]["headers"], was["request"]["headers"], "another trace");
}

#[test]
fn counted_rpc_ids_and_client_made_task_ids_become_fresh_too() {
    // v01:2 is JSON-RPC id 1, task-001, in request and answer.
    let [line] = lines("[[lines]]\nfrom = 'v01'\npick = [2]\nids = 'b'").try_into().unwrap();
    let (request, answer) = (body_json(&line, "request").unwrap(), body_json(&line, "response").unwrap());
    assert!(request["id"].as_u64().unwrap() > 1000);
    assert_eq!(request["id"], answer["id"]);
    assert!(request["params"]["id"].as_str().unwrap().starts_with("task-"));
    assert_ne!(request["params"]["id"], "task-001");
    assert_eq!(request["params"]["id"], answer["result"]["id"]);
    assert_eq!(request["params"]["skillId"], "summarize-v2");
}

#[test]
fn an_edited_event_is_the_same_in_body_and_chunks() {
    for (run, line, pointer) in [
        ("jsonrpc", 9, "/response/event/6/result/statusUpdate/status/state"),
        ("rest", 9, "/response/event/6/statusUpdate/status/state"),
        ("v03", 7, "/response/event/6/result/status/state"),
        ("v03", 58, "/response/event/6/statusUpdate/status/state"),
        ("rust", 9, "/response/event/6/result/statusUpdate/status/state"),
        ("js", 10, "/response/event/6/result/statusUpdate/status/state"),
        ("js03", 53, "/response/event/6/statusUpdate/status/state"),
    ] {
        let text = format!("[[lines]]\nfrom = '{run}'\npick = [{line}]\nset = [['{pointer}', 'EDITED']]");
        let [edited] = lines(&text).try_into().unwrap();
        let body = edited["response"]["body"]["text"].as_str().unwrap();
        let chunks: String = edited["chunks"].as_array().unwrap().iter().map(|c| c["text"].as_str().unwrap()).collect();
        assert_eq!(body, chunks, "{run}:{line}");
        assert_eq!(body.matches("EDITED").count(), 1, "{run}:{line}");
        assert!(edited["chunks"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap().contains("EDITED"));
    }
}

#[test]
fn an_event_can_be_taken_away_or_added_at_the_end() {
    let text = "[[lines]]\nfrom = 'jsonrpc'\npick = [9]\nremove = ['/response/event/6']\nadd = [['/response/event/-', {late = 1}]]";
    let [edited] = lines(text).try_into().unwrap();
    let body = edited["response"]["body"]["text"].as_str().unwrap();
    assert_eq!(body.matches("data:").count(), 6);
    assert!(body.trim_end().ends_with(r#"data: {"late":1}"#));
    let [gone] = lines("[[lines]]\nfrom = 'jsonrpc'\npick = [9]\nremove = ['/response/event/6']").try_into().unwrap();
    assert_eq!(gone["chunks"].as_array().unwrap().len(), 5);
}

#[test]
fn bodies_headers_and_members_are_edited_where_they_are() {
    let text = "[[lines]]\nfrom = 'jsonrpc'\npick = [1, 2]
set = [['2:/request/json/params/message/metadata/skillId', 'x-v9'], ['1:/response/header/etag', 'W/\"2\"'], ['/response/status', 299]]
add = [['/observer', 'client'], ['2:/request/json/params/message/parts/-', {text = 'more'}]]
remove = ['2:/request/json/params/configuration', '/client']";
    let [card, send] = lines(text).try_into().unwrap();
    let body = body_json(&send, "request").unwrap();
    assert_eq!(body.pointer("/params/message/metadata/skillId").unwrap(), "x-v9");
    assert_eq!(body.pointer("/params/message/parts/1/text").unwrap(), "more");
    assert_eq!(body.pointer("/params/configuration"), None);
    assert!(card["response"]["headers"].to_string().contains(r#"["etag","W/\"2\""]"#));
    for line in [&card, &send] {
        assert_eq!(
            (&line["response"]["status"], &line["observer"], line.get("client")),
            (&json!(299), &json!("client"), None)
        );
    }
    let length = send["request"]["body"]["text"].as_str().unwrap().len();
    assert!(send["request"]["headers"].to_string().contains(&format!(r#"["content-length","{length}"]"#)));
}

#[test]
fn har_entries_are_lines_and_have_the_same_doors() {
    let text = "[[lines]]
from = 'jsrest.har'
pick = [1, 5, 7]
set = [['1:/response/json/version', '2.0.0'], ['1:/response/header/etag', 'W/2'], ['5:/request/json/message/metadata/skillId', 'x-v9'],
       ['7:/response/event/6/statusUpdate/status/state', 'EDITED']]";
    let [card, send, stream] = lines(text).try_into().unwrap();
    assert_eq!(body_json(&card, "response").unwrap()["version"], "2.0.0");
    let etag =
        card["response"]["headers"].as_array().unwrap().iter().find(|h| h["name"] == "ETag" || h["name"] == "etag");
    assert_eq!(etag.unwrap()["value"], "W/2");
    assert_eq!(body_json(&send, "request").unwrap().pointer("/message/metadata/skillId").unwrap(), "x-v9");
    assert_eq!(stream["response"]["content"]["text"].as_str().unwrap().matches("EDITED").count(), 1);
}

#[test]
fn what_has_no_effect_is_an_error() {
    for (edit, told) in [
        ("pick = [103]", "no line 103"),
        ("pick = ['9-7']", "no range"),
        ("pick = []", "`pick` or `match`"),
        ("match = 'nowhere to be found'", "matches no line"),
        ("pick = [1]\nreplace = [['nowhere', 'x']]", "in none of the lines"),
        ("pick = [1]\nset = [['/response/state', 1]]", "use `add`"),
        ("pick = [1]\nset = [['/response/status', 200]]", "this value already"),
        ("pick = [1]\nadd = [['/response/status', 1]]", "use `set`"),
        ("pick = [1]\nremove = ['/nothing']", "no `nothing`"),
        ("pick = [1]\nset = [['2:/response/status', 1]]", "edited but not picked"),
        ("pick = [1]\nset = [['/request/json/id', 1]]", "no JSON"),
        ("pick = [9]\nremove = ['/response/event/7']", "the stream has 6"),
        ("pick = [1]\nset = [['/response/header/x-none', '1']]", "no such header"),
        ("pick = [1]\nat = 'noon'", "no time"),
        ("pick = [1]\nshift = '2 hours'", "no duration"),
        ("pick = [1, 2]\nat = ['2026-12-01T00:00:00Z']", "one instant for each"),
        ("pick = [1]\nevery = '1s'", "without `repeat`"),
        ("pick = [1]\ncolour = 'red'", "unknown field"),
        ("pick = [1]\nset = [['/observer', '@1:9.task']]", "no such line"),
    ] {
        let error = assemble(&format!("[[lines]]\nfrom = 'jsonrpc'\n{edit}")).unwrap_err();
        assert!(error.contains(told), "{edit}: {error}");
    }
}

#[test]
fn names_reach_tasks_of_every_dialect() {
    for (run, line, what, value) in [
        ("jsonrpc", 46, "task", "f3afd69f-5c1f-4122-a603-ecf3d36df14a"),
        ("jsonrpc", 49, "task", "ab54bc1d-9e69-456d-ba49-56e87fcc76b9"),
        ("jsonrpc", 10, "artifact", "art-1"),
        ("rest", 14, "task", "e8b3d1fd-80ed-4976-99b8-1c7235cafe76"),
        ("v01", 10, "task", "task-005"),
        ("v02", 21, "task", "9850ab90-8524-462d-8dc5-86016b83809f"),
        ("jsonrpc", 37, "task", "00e9741e"),
        ("jsonrpc", 17, "task", "ad540445"),
        ("rest", 17, "task", "e8b3d1fd-80ed-4976-99b8-1c7235cafe76"),
    ] {
        let capture = assemble(&format!("[[lines]]\nfrom = '{run}'\npick = [{line}]")).unwrap();
        let found = capture.resolve(&format!("@1:{line}.{what}")).unwrap();
        assert!(found.starts_with(value), "{run}:{line} {found}");
    }
}

#[test]
fn records_leaves_only_the_spans_wanted() {
    let text = "[[lines]]\nfrom = 'rust.traces.otlp.jsonl'\nmatch = 'CancelTask'\nrecords = 'A2AService/CancelTask'";
    let capture = assemble(text).unwrap();
    let names: Vec<_> =
        capture.lines.iter().flat_map(|line| line.text.match_indices("\"spanId\"").map(|_| 1)).collect();
    let cancels: usize = capture.lines.iter().map(|line| line.text.matches("A2AService/CancelTask").count()).sum();
    assert!(!names.is_empty() && cancels >= names.len());
}

#[test]
fn the_examples_of_the_readme_assemble() {
    let readme = std::fs::read_to_string(support::library::cases().join("README.md")).unwrap();
    let blocks: Vec<&str> = readme.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let text = if block.starts_with("why") { block.to_owned() } else { format!("why = 'x'\n{block}") };
        let case: CaseText = toml::from_str(&text).unwrap();
        let capture = Capture::of(&case, support::library::shelf()).unwrap_or_else(|why| panic!("{why}"));
        assert!(capture.lines.len() >= case.lines.len());
    }
}
