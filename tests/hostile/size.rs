//! Input of great size: memory follows the facts that are kept, and never what was read.

use std::io::{BufWriter, Write};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::bad::gzip;
use super::capture;
use super::program::{QUICK, Run, analyze, folder, quick};

const GOOD: &str = "a2a-python-1.3.0/jsonrpc.exchanges.ndjson";

const MIB: u64 = 1 << 20;
const GIB: usize = 1 << 30;

/// Window of the longest record (`Limits::max_record_bytes`), its text once more, and what allocators keep.
const RECORD: u64 = 160 * MIB;
/// `decode::tree::MOST_BYTES`, beside the text that it is made from.
const TREE: u64 = 512 * MIB + RECORD;

/// The good capture, how many findings are in it alone, and what memory that takes.
static ALONE: LazyLock<(Vec<u8>, usize, u64)> = LazyLock::new(|| {
    let good = capture(GOOD);
    let run = quick(&[("good.ndjson", &good)]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    (good, run.findings().len(), run.peak)
});

/// Asserts that a run found what is in the good capture alone, within so much more memory.
#[track_caller]
fn assert_bounded(what: &str, run: &Run, more: u64) {
    let (_, findings, alone) = &*ALONE;
    println!("{what}: peak {} MiB, alone {} MiB, {:?}", run.peak / MIB, alone / MIB, run.rejects());
    assert_eq!((run.code, run.findings().len()), (1, *findings), "{what}: {:?}", run.rejects());
    assert!(run.peak <= alone + more, "{what}: {} MiB over {} MiB", run.peak / MIB, alone / MIB);
}

/// A gibibyte of one byte in about a megabyte: members of gzip, or frames of zstd, in a row.
fn bomb(byte: u8, pack: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    const PIECE: usize = 16 << 20;
    pack(&vec![byte; PIECE]).repeat(GIB / PIECE)
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

fn gzip_best(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_gibibyte_of_zeros_in_a_megabyte_costs_no_memory() {
    let good = &ALONE.0;
    let plain = bomb(0, gzip_best);
    assert!(plain.len() < 1100 << 10, "{}", plain.len());
    let run = quick(&[("bomb.gz", plain.as_slice()), ("good.ndjson", good)]);
    assert_bounded("gzip", &run, 8 * MIB);
    run.assert_rejects(&[("binary", 1, "bomb.gz:byte 0")]);

    let run = quick(&[("bomb.zst", bomb(0, zstd).as_slice()), ("good.ndjson", good)]);
    assert_bounded("zstd", &run, 8 * MIB);

    let run = quick(&[("bomb.gz.gz", gzip(&plain).as_slice()), ("good.ndjson", good)]);
    assert_bounded("gzip in gzip", &run, 8 * MIB);

    // Good lines before and behind are read all the same.
    let (head, tail) = good.split_at(good.iter().rposition(|byte| *byte == b'\n').unwrap() / 2);
    let end = head.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let around = [gzip(&good[..end]), bomb(0, gzip), gzip(b"\n"), gzip(&good[end..])].concat();
    let run = quick(&[("around.gz", around)]);
    assert_bounded("gzip around", &run, RECORD);
    let line = bytecount(&good[..end]) + 1;
    run.assert_rejects(&[("too-large", 1, &format!("around.gz:{line}"))]);
    assert!(!tail.is_empty());
}

fn bytecount(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn inflation_stops_where_the_user_says() {
    let folder = folder(&[("a.gz", bomb(b' ', gzip_best)), ("good.ndjson", ALONE.0.clone())]);
    let config = folder.path().join(".limits.toml");
    std::fs::write(&config, "[limits]\nmax_inflated_bytes = 50000000\n").unwrap();
    let run = analyze().args(QUICK).arg("--config").arg(config).arg(folder.path()).run();
    assert_bounded("limited", &run, RECORD);
    assert_eq!(run.rejects()[0].0, "inflated-too-large");
}

/// Writes a gigabyte between two pieces.
fn long_line(open: &'static str, of: &'static str, close: &'static str, bytes: usize) -> Run {
    let good = ALONE.0.clone();
    let feed = move |stdin: &mut std::process::ChildStdin| {
        let mut stdin = BufWriter::with_capacity(1 << 20, stdin);
        let block = of.repeat((1 << 20) / of.len());
        stdin.write_all(open.as_bytes())?;
        for _ in 0..bytes / block.len() {
            stdin.write_all(block.as_bytes())?;
        }
        stdin.write_all(close.as_bytes())?;
        stdin.write_all(b"\n")?;
        stdin.write_all(&good)?;
        stdin.flush()
    };
    analyze().args(QUICK).feed(feed).run()
}

#[test]
fn a_line_of_a_gigabyte_is_refused_whatever_it_is() {
    let run = long_line("INFO ", "x", "", 1_000_000_000);
    assert_bounded("text", &run, RECORD);
    run.assert_rejects(&[("too-large", 1, "-:1")]);

    let run = long_line("{\"a\":\"", "x", "\"}", 1_000_000_000);
    assert_bounded("one string", &run, RECORD);
    run.assert_rejects(&[("too-large", 1, "-:1")]);
}

#[test]
fn long_lines_of_many_parts_are_refused() {
    for (what, open, of, close) in [
        ("members", "{\"a\":[", "1,", "1]}"),
        ("escapes", "{\"a\":\"", "\\\\", "\"}"),
        ("open brackets", "", "[", ""),
        ("quotes never closed", "{\"", "\\\"", ""),
    ] {
        let run = long_line(open, of, close, 70_000_000);
        assert_bounded(what, &run, RECORD);
        let rejects = run.rejects();
        let reasons: Vec<_> =
            rejects.iter().map(|(reason, count, at)| (reason.as_str(), *count, at.as_str())).collect();
        assert!(reasons == [("too-large", 1, "-:1")] || reasons == [("too-deep", 1, "-:1")], "{what}: {rejects:?}");
    }
    // A list is no record, and neither are its elements: each is refused for itself.
    let run = long_line("[", "{},", "{}]", 3_000_000);
    assert_bounded("a list", &run, RECORD);
}

#[test]
fn small_texts_that_make_great_trees_are_refused() {
    let exchange = |body: Value| {
        json!({"startedDateTime": "2026-11-30T06:15:34Z",
            "request": {"method": "POST", "url": "http://heavy:1/a2a", "headers": {}, "body": body},
            "response": {"status": 200, "headers": {}, "body": {"text": "{}"}}})
        .to_string()
    };
    let list = |bytes: usize| format!("[{}{{}}]", "{},".repeat(bytes / 3));
    let inside = list(40_000_000);
    for (what, line) in [
        ("objects in a member", exchange(json!("@@")).replace("\"@@\"", &inside)),
        ("objects in a body", exchange(json!({ "text": inside }))),
        ("objects in an event", json!({"event": "a2a.exchange", "time": 1_796_019_334, "body": inside}).to_string()),
        ("objects in a log", json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1796019334786335680", "body": {"stringValue": inside}}]}]}]}).to_string()),
        ("objects in SSE", format!("data: {inside}\n")),
        ("members", exchange(json!("@@")).replace("\"@@\"", &format!("[{}1]", "1,".repeat(20_000_000)))),
    ] {
        let bytes = [line.as_bytes(), b"\n", &ALONE.0].concat();
        let run = quick(&[("heavy.ndjson", bytes)]);
        assert_bounded(what, &run, TREE);
    }
}

#[test]
fn what_many_members_share_is_not_kept_once_for_each() {
    let named = |name: usize, members: usize| {
        let members: Map<String, Value> = (0..members).map(|n| (format!("m{n}"), json!(n))).collect();
        json!({ "k".repeat(name): members })
    };
    let with = |mut line: Value, more: Value| {
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let calls = vec![json!({"method": "message/send", "task_id": "t"}); 256];
    let kong = json!({"latencies": {"request": 5}, "request": {"method": "POST", "url": "http://h:1/a2a"}, "response": {"status": 200},
        "started_at": 1_796_019_334_000_i64, "ai": {"a2a": {"rpc": calls, "text": "x".repeat(8 << 20)}}});
    for (what, line) in [
        (
            "name of an own event",
            with(json!({"event": "a2a.task.state", "time": 1_796_019_334}), named(64 << 10, 20_000)),
        ),
        ("name of an object", named(4 << 20, 500)),
        ("name of a log line", with(json!({"level": "info", "msg": "x", "a2a.task.id": "t"}), named(4 << 20, 500))),
        ("what a gateway says of calls", kong),
    ] {
        let bytes = [line.to_string().as_bytes(), b"\n", &ALONE.0].concat();
        let run = quick(&[("shared.ndjson", bytes)]);
        assert_bounded(what, &run, RECORD);
    }
}

/// The first card of the good capture, with more skills.
fn card_of(skills: usize) -> Vec<u8> {
    let text = String::from_utf8(ALONE.0.clone()).unwrap();
    let mut line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let mut card: Value = serde_json::from_str(line["response"]["body"]["text"].as_str().unwrap()).unwrap();
    card["skills"] = (0..skills)
        .map(|n| json!({"id": format!("skill-{n}"), "name": "x", "description": "y", "tags": ["t"], "outputModes": ["text/markdown"]}))
        .collect();
    line["response"]["body"]["text"] = json!(card.to_string());
    line["request"]["url"] = json!("http://many:1/.well-known/agent-card.json");
    line["server"] = json!("many:1");
    line.to_string().into_bytes()
}

#[test]
fn a_card_of_ten_thousand_skills_is_read() {
    let good = &ALONE.0;
    let run = quick(&[("card.ndjson", card_of(10_000)), ("good.ndjson", good.clone())]);
    assert_bounded("skills", &run, RECORD);
    run.assert_rejects(&[]);
    assert!(run.report()["summary"]["facts"].as_u64().unwrap() > 10_000);
}

#[test]
fn a_stream_of_a_hundred_thousand_events_is_read() {
    let event = |n: usize| {
        let state = if n == 99_999 { "TASK_STATE_COMPLETED" } else { "TASK_STATE_WORKING" };
        format!(
            "data: {{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{{\"statusUpdate\":{{\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{{\"state\":\"{state}\"}}}}}}}}\r\n\r\n"
        )
    };
    let body: String = (0..100_000).map(event).collect();
    let request = json!({"jsonrpc": "2.0", "id": "1", "method": "SendStreamingMessage", "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}});
    let line = json!({"startedDateTime": "2026-11-30T06:15:34Z", "client": "c", "server": "stream:1",
        "request": {"method": "POST", "url": "http://stream:1/a2a", "headers": {}, "body": request},
        "response": {"status": 200, "headers": {"content-type": "text/event-stream"}, "body": {"text": body}}});
    let run = quick(&[("stream.ndjson", line.to_string().into_bytes()), ("good.ndjson", ALONE.0.clone())]);
    assert_bounded("events in a body", &run, TREE);
    run.assert_rejects(&[]);

    let run = quick(&[("stream.sse", body.into_bytes()), ("good.ndjson", ALONE.0.clone())]);
    assert_bounded("events in a file", &run, TREE);
    run.assert_rejects(&[]);
}

#[test]
fn a_hundred_thousand_agents_take_memory_for_their_facts() {
    let call = |n: usize| {
        json!({"startedDateTime": "2026-11-30T06:15:34Z", "client": "c", "server": format!("agent-{n}:1"),
            "request": {"method": "POST", "url": format!("http://agent-{n}:1/a2a"), "headers": {}, "body": {"jsonrpc": "2.0", "id": n, "method": "GetTask", "params": {"id": format!("t-{n}")}}},
            "response": {"status": 200, "headers": {}, "body": {"jsonrpc": "2.0", "id": n, "result": {"id": format!("t-{n}"), "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}}})
        .to_string()
    };
    let good = ALONE.0.clone();
    let feed = move |stdin: &mut std::process::ChildStdin| {
        let mut stdin = BufWriter::with_capacity(1 << 20, stdin);
        for n in 0..100_000 {
            stdin.write_all(call(n).as_bytes())?;
            stdin.write_all(b"\n")?;
        }
        stdin.write_all(&good)?;
        stdin.flush()
    };
    let run = analyze().args(QUICK).feed(feed).run();
    // Two facts a call, each as a row, in batches and in the plans of rules: three kilobytes.
    assert_bounded("agents", &run, 1024 * MIB);
    run.assert_rejects(&[]);
}
