//! Broken input beside good input: each fault is counted with its reason and place, and costs nothing beside itself.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::program::{QUICK, Run, analyze, folder, quick};
use super::{Dice, capture};

const GOOD: &str = "a2a-python-1.3.0/jsonrpc.exchanges.ndjson";

/// Lines of the good capture, and what is found in it alone.
static ALONE: LazyLock<(Vec<String>, BTreeSet<String>)> = LazyLock::new(|| {
    let text = String::from_utf8(capture(GOOD)).unwrap();
    let run = quick(&[("good.ndjson", &text)]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    run.assert_rejects(&[]);
    (text.lines().map(str::to_owned).collect(), run.findings())
});

fn good() -> String {
    ALONE.0.join("\n") + "\n"
}

/// Asserts that a run found what is found in the good capture alone.
#[track_caller]
fn assert_nothing_lost(run: &Run) {
    assert_eq!((run.code, run.findings() == ALONE.1), (1, true), "{:?}\n{}", run.rejects(), run.stderr);
}

/// The good capture with a line of something else before its line `at`, counted from one.
fn with_line(at: usize, bad: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, line) in ALONE.0.iter().enumerate() {
        if number + 1 == at {
            bytes.extend_from_slice(bad);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

#[test]
fn a_line_cut_anywhere_costs_itself() {
    let mut dice = Dice(1);
    for _ in 0..6 {
        let line = dice.pick(&ALONE.0);
        let cut = &line[..line.floor_char_boundary(1 + dice.below(line.len() - 1))];
        let at = 2 + dice.below(40);
        let run = quick(&[("cut.ndjson", with_line(at, cut.as_bytes()))]);
        assert_nothing_lost(&run);
        let rejects = run.rejects();
        assert_eq!((rejects.len(), rejects[0].2.clone()), (1, format!("cut.ndjson:{at}")), "{cut}: {rejects:?}");
        assert!(["truncated", "bad-json"].contains(&&*rejects[0].0) && rejects[0].1 == 1, "{rejects:?}");
    }
}

#[test]
fn a_har_cut_anywhere_is_worth_its_whole_entries() {
    let har: Value = serde_json::from_slice(&capture("a2a-python-1.3.0/jsonrpc.har")).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    let open = |entries: &[Value]| format!("{{\"log\":{{\"version\":\"1.2\",\"entries\":[{}", join(entries));
    let mut dice = Dice(2);
    for lines in [false, true] {
        let kept = entries.len() / 2 + dice.below(entries.len() / 2);
        let whole = format!("{}]}}}}", open(&entries[..kept]));
        let last = entries[kept].to_string();
        let cut = &last[..last.floor_char_boundary(1 + dice.below(last.len() - 1))];
        let mut text = format!("{},{cut}", open(&entries[..kept]));
        if lines {
            text = text.replacen("[{", "[\n{", 1);
        }
        let (run, expected) = (quick(&[("a.har", &text)]), quick(&[("a.har", &whole)]));
        assert!((run.code, run.findings()) == (expected.code, expected.findings()), "{lines}: cut at {cut}");
        let rejects = run.rejects();
        assert_eq!((rejects.len(), &*rejects[0].0, rejects[0].1), (1, "truncated", 1), "{rejects:?}");
    }
}

fn join(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
}

#[test]
fn compression_cut_short_is_worth_what_was_whole() {
    let text = good();
    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let gzip = gzip(text.as_bytes());
    for (name, reason) in [("cut.gz", &gzip), ("cut.zst", &packed)] {
        let run = quick(&[(name, &reason[..reason.len() * 2 / 3]), ("good.ndjson", text.as_bytes())]);
        assert_nothing_lost(&run);
        let rejects = run.rejects();
        assert!(rejects.iter().any(|(reason, count, _)| (reason.as_str(), *count) == ("bad-compression", 1)));
        assert!(rejects.iter().all(|(_, _, at)| at.starts_with(name)), "{rejects:?}");
    }
}

pub fn gzip(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn formats_mixed_in_one_file_say_what_they_say_apart() {
    let parts = [
        ("a.ndjson", capture(GOOD)),
        ("b.jsonl", capture("a2a-python-1.3.0/jsonrpc.logs.otlp.jsonl")),
        ("c.har", capture("a2a-spec-0.1.0-handmade/v01.har")),
        ("d.log", capture("a2a-js-1.3.0/js.console.cri.log")),
        ("e.ndjson", capture("a2a-js-1.3.0/js.events.ndjson")),
        ("f.ndjson", capture("a2a-python-0.2.16/v02.exchanges.ndjson")),
    ];
    let mixed = parts.iter().map(|(_, bytes)| bytes.as_slice()).collect::<Vec<_>>().join(&b'\n');
    let (apart, together) = (quick(&parts), quick(&[("mixed", mixed)]));
    assert!((together.code, together.findings()) == (apart.code, apart.findings()), "{:?}", together.rejects());
    let facts = |run: &Run| run.report()["summary"]["facts"].clone();
    assert_eq!(facts(&together), facts(&apart));
}

#[test]
fn noise_beside_before_and_between_good_lines_costs_nothing() {
    let mut dice = Dice(3);
    let noise = dice.bytes(100_000);
    let run = quick(&[("noise.bin", noise.clone()), ("good.ndjson", good().into_bytes())]);
    assert_nothing_lost(&run);
    run.assert_rejects(&[("binary", 1, "noise.bin:byte 0")]);

    let line: Vec<u8> = noise.iter().copied().filter(|byte| *byte != b'\n').collect();
    let run = quick(&[("torn.ndjson", with_line(9, &line))]);
    assert_nothing_lost(&run);
    run.assert_rejects(&[("binary", 1, "torn.ndjson:9")]);

    let holed = [&[0; 70_000][..], good().as_bytes()].concat();
    let run = quick(&[("holed.ndjson", holed)]);
    assert_nothing_lost(&run);
    run.assert_rejects(&[("binary", 1, "holed.ndjson:byte 0")]);
}

#[test]
fn what_nests_a_hundred_thousand_deep_is_refused_by_name() {
    const DEEP: usize = 100_000;
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(DEEP), close.repeat(DEEP));
    let exchange = |body: Value| {
        json!({"startedDateTime": "2026-11-30T06:15:34Z",
            "request": {"method": "POST", "url": "http://deep:1/a2a", "headers": {}, "body": body},
            "response": {"status": 200, "headers": {}, "body": {"text": "{}"}}})
        .to_string()
    };
    for (what, line) in [
        ("lists", nested("[", "]")),
        ("lists open", "[".repeat(DEEP)),
        ("objects", nested("{\"a\":", "}")),
        ("objects open", "{\"a\":".repeat(DEEP)),
        ("a member of an exchange", exchange(json!("@@")).replace("\"@@\"", &nested("[", "]"))),
        ("spans", format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{}]}}]}}]}}", nested("{\"a\":", "}"))),
    ] {
        let run = quick(&[("deep.ndjson", with_line(5, line.as_bytes()))]);
        assert_nothing_lost(&run);
        let rejects = run.rejects();
        assert_eq!((rejects.len(), &*rejects[0].0, rejects[0].1), (1, "too-deep", 1), "{what}: {rejects:?}");
        assert_eq!(rejects[0].2, "deep.ndjson:5", "{what}");
    }
    // Inside a string it is text until somebody reads it as the body that it is.
    for (what, body) in [
        ("a body", json!({ "text": nested("[", "]") })),
        (
            "a JSON-RPC body",
            json!({ "text": format!("{{\"method\":\"SendMessage\",\"params\":{}}}", nested("{\"a\":", "}")) }),
        ),
        ("a Python repr", json!({ "text": nested("{'a':", "}") })),
    ] {
        assert_nothing_lost(&quick(&[("deep.ndjson", with_line(5, exchange(body).as_bytes()))]));
        _ = what;
    }
    let mut escaped = "{}".to_owned();
    for _ in 0..14 {
        escaped = json!({ "body": escaped, "event": "a2a.exchange" }).to_string();
    }
    assert_nothing_lost(&quick(&[("deep.ndjson", with_line(5, escaped.as_bytes()))]));
}

#[test]
fn protobuf_that_nests_a_hundred_thousand_deep_costs_only_its_span() {
    // AnyValue { array_value { values { ... } } }, written from the inside out and backwards.
    let mut backwards: Vec<u8> = Vec::new();
    let wrap = |backwards: &mut Vec<u8>, field: u8| {
        let mut length = backwards.len();
        let mut varint = Vec::new();
        loop {
            let more = if length > 0x7f { 0x80 } else { 0 };
            varint.push((length & 0x7f) as u8 | more);
            length >>= 7;
            if length == 0 {
                break;
            }
        }
        backwards.extend(varint.iter().rev());
        backwards.push(field << 3 | 2);
    };
    for _ in 0..100_000 {
        wrap(&mut backwards, 1);
        wrap(&mut backwards, 5);
    }
    // KeyValue.value and Span.attributes, beside its ids and its start; then ScopeSpans.spans, ResourceSpans.scope_spans
    // and the request.
    [2, 9].iter().for_each(|field| wrap(&mut backwards, *field));
    let ids = [&[0x0a, 16][..], &[1; 16], &[0x12, 8], &[2; 8], &[0x39], &5_u64.to_le_bytes()].concat();
    backwards.extend(ids.iter().rev());
    [2, 2, 1].iter().for_each(|field| wrap(&mut backwards, *field));
    backwards.reverse();
    let run = quick(&[("deep.pb", backwards), ("good.ndjson", good().into_bytes())]);
    assert_nothing_lost(&run);
    run.assert_rejects(&[("too-deep", 1, "deep.pb:byte 12")]);
}

#[test]
fn bytes_that_are_no_utf8_and_lone_surrogates_cost_no_record() {
    let text = good();
    let odd = text.replacen("please summarise", "please \\ud800 summarise \\udc00", 1).into_bytes();
    let at = odd.windows(9).position(|window| window == b"summarise").unwrap();
    let mut bytes = odd;
    bytes.splice(at..at, *b"\xff\xfe\xc3\x28\xed\xa0\x80");
    let run = quick(&[("odd.ndjson", bytes)]);
    assert_eq!(run.rejects().iter().map(|r| (&*r.0, r.1)).collect::<Vec<_>>(), [("invalid-utf8", 1)]);
    // The texts themselves are no part of what is found, but for the hash of a message.
    assert_eq!((run.code, run.findings().len()), (1, ALONE.1.len()));
}

#[test]
fn clocks_that_run_backwards_and_lines_delivered_twice_change_nothing() {
    let lines = &ALONE.0;
    let backwards: Vec<&str> = lines.iter().rev().map(String::as_str).collect();
    let twice: Vec<&str> = lines.iter().chain(lines).map(String::as_str).collect();
    for (what, lines) in [("backwards", backwards), ("twice", twice)] {
        let run = quick(&[("day.ndjson", lines.join("\n"))]);
        assert_nothing_lost(&run);
        assert!(run.rejects().is_empty(), "{what}");
    }
    // Each call ends before it began, and each next one begins before the last.
    let odd: Vec<String> = (lines.iter().enumerate())
        .map(|(number, line)| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            value["start_unix_ns"] = json!(1_796_019_334_786_335_680_u64 - number as u64 * 1_000_000_000);
            value["time_ms"] = json!(-5000.0 * number as f64);
            value["ended_unix_ns"] = json!(1_796_019_000_000_000_000_u64);
            value.to_string()
        })
        .collect();
    let run = quick(&[("odd.ndjson", odd.join("\n"))]);
    assert!(run.rejects().is_empty(), "{:?}", run.rejects());
}

#[test]
fn numbers_that_nothing_can_be_are_taken_for_absent() {
    let numbers = [
        "1e999",
        "-1e999",
        "-1",
        "18446744073709551616",
        "9223372036854775807",
        "-9223372036854775808",
        "1e-400",
        "0.5",
        "99999999999999999999999999999999999999",
    ];
    let line = |number: &str| {
        format!(
            r#"{{"startedDateTime":{number},"start_unix_ns":{number},"time_ms":{number},"client":"c","server":"odd:1","chunks":[{{"t_ms":{number},"text":"x"}}],"request":{{"method":"POST","url":"http://odd:1/a2a","headers":{{"content-length":"{number}"}},"body":{{"jsonrpc":"2.0","id":{number},"method":"SendMessage","params":{{"message":{{"messageId":{number},"parts":[{{"text":"x"}}]}},"configuration":{{"historyLength":{number}}}}}}}}},"response":{{"status":{number},"headers":{{"cache-control":"max-age={number}","age":"{number}"}},"body":{{"jsonrpc":"2.0","id":{number},"error":{{"code":{number},"message":"x"}},"result":{{"task":{{"id":{number},"generation":{number},"status":{{"state":{number},"timestamp":{number}}},"artifacts":[{{"index":{number},"artifactId":{number},"parts":[{{"kind":{number}}}]}}]}}}}}}}}}}"#
        )
    };
    let span = |number: &str| {
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"scope":{{"name":"a2a"}},"spans":[{{"traceId":"26f39c4f951581bb9a62238268576327","spanId":"dec341acd2f7b58e","name":"a2a.client","kind":{number},"startTimeUnixNano":{number},"endTimeUnixNano":"{number}","status":{{"code":{number}}},"attributes":[{{"key":"a2a.method","value":{{"stringValue":"SendMessage"}}}},{{"key":"http.response.status_code","value":{{"intValue":{number}}}}},{{"key":"rpc.jsonrpc.error_code","value":{{"intValue":"{number}"}}}},{{"key":"a2a.task.generation","value":{{"doubleValue":{number}}}}}]}}]}}]}}]}}"#
        )
    };
    let mut text = good();
    for number in numbers {
        for line in [line(number), span(number), line(&format!("\"{number}\"")), span(&format!("\"{number}\""))] {
            text.push_str(&line);
            text.push('\n');
        }
    }
    let run = quick(&[("odd.ndjson", text)]);
    let of_good = |finding: &&String| !finding.contains("odd:1");
    let findings: BTreeSet<String> = run.findings().iter().filter(of_good).cloned().collect();
    assert!(findings == ALONE.1, "{:?}", run.rejects());
    let known = ["bad-json", "bad-field", "bad-time", "missing-field"];
    assert!(run.rejects().iter().all(|(reason, ..)| known.contains(&reason.as_str())), "{:?}", run.rejects());
}

#[test]
fn names_cannot_act_on_a_terminal() {
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}drow\u{2066}ssap\u{200f}\u{8}\u{7f}\r\u{85}";
    let spoilt = |line: &str| {
        let mut text = line.to_owned();
        for name in ["Summary Agent", "summarize-v2", "8ee5177a-5a48-4d9c-ac3d-bf8beab0be23", "text/markdown", "1.0.0"]
        {
            for depth in [1, 2] {
                let mut escaped = format!("{name}{evil}");
                (0..depth).for_each(|_| escaped = json!(escaped).to_string().trim_matches('"').to_owned());
                let quote = if depth == 1 { "\"" } else { "\\\"" };
                text = text.replace(&format!("{quote}{name}{quote}"), &format!("{quote}{escaped}{quote}"));
            }
        }
        text
    };
    let mut text: String = ALONE.0.iter().map(|line| spoilt(line) + "\n").collect();
    assert!(text.contains("\\u001b") || text.contains("\\\\u001b"));
    text.push_str("{\"a\\u001b[31m\": 1}\n");
    let folder = folder(&[("evil\u{1b}[31m\u{202e}.ndjson", text)]);
    let is_evil = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    let few = ["--rule", "unknown_skill,mode_mismatch"];
    for args in
        [&["-v", few[0], few[1]][..], &few, &["-q", few[0], few[1]], &["-vv", few[0], few[1]], &["--format=json"]]
    {
        let run = analyze().args(args).arg(folder.path()).env("RUST_LOG", "trace").run();
        assert_eq!(run.code, 1, "{}", run.stderr);
        let stdout = String::from_utf8(run.stdout).unwrap();
        assert_eq!(stdout.chars().find(|c| is_evil(*c)), None, "{args:?}");
        assert_eq!(run.stderr.chars().find(|c| is_evil(*c)), None, "{args:?}: {}", run.stderr.escape_debug());
        let shown = ["Summary Agent", "summarize-v2"].map(|name| format!("{name}\u{fffd}"));
        assert!(shown.iter().any(|name| stdout.contains(name)), "{stdout}");
    }
    // In colour, nothing but colours.
    let run = analyze().arg("-v").args(few).arg(folder.path()).env("CLICOLOR_FORCE", "1").run();
    let stdout = String::from_utf8(run.stdout).unwrap();
    let plain = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap().replace_all(&stdout, "").into_owned();
    assert!(plain.len() < stdout.len());
    assert_eq!(plain.chars().find(|c| is_evil(*c)), None);
}

#[cfg(unix)]
#[test]
fn links_in_circles_pipes_devices_and_what_cannot_be_read_cost_no_neighbour() {
    use std::os::unix::fs::symlink;
    let folder = folder(&[("good.ndjson", good())]);
    let at = |name: &str| folder.path().join(name);
    symlink(folder.path(), at("above")).unwrap();
    symlink(at("self"), at("self")).unwrap();
    symlink(at("nothing"), at("dangling")).unwrap();
    symlink(at("good.ndjson"), at("again.ndjson")).unwrap();
    symlink("/dev/zero", at("device")).unwrap();
    std::fs::create_dir(at("folder.ndjson")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let run = analyze().args(QUICK).arg(folder.path()).run();
    assert_nothing_lost(&run);
    // Of two links the loop of `self` alone is a file that is there and cannot be opened.
    assert!(
        run.rejects().iter().all(|(reason, _, at)| (reason.as_str(), at.as_str()) == ("unreadable", "self:byte 0"))
    );

    let run = analyze().args(QUICK).arg(at("*.ndjson")).run();
    assert_nothing_lost(&run);

    // Opened, and never read: no address of the reader's own memory is 0.
    #[cfg(target_os = "linux")]
    {
        let run = analyze().args(QUICK).arg("/proc/self/mem").arg(at("good.ndjson")).run();
        assert_nothing_lost(&run);
        run.assert_rejects(&[("unreadable", 1, "mem:byte 0")]);
    }
    for named in ["folder.ndjson", "dangling"] {
        let run = analyze().args(QUICK).arg(at(named)).run();
        assert_eq!(run.code, 2, "{named}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_a_reject() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(&[("good.ndjson", good()), ("closed.ndjson", good())]);
    let closed = folder.path().join("closed.ndjson");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&closed).is_ok() {
        return; // Nothing is closed to root.
    }
    let run = analyze().args(QUICK).arg(folder.path()).run();
    assert_nothing_lost(&run);
    run.assert_rejects(&[("unreadable", 1, "closed.ndjson:byte 0")]);
}
