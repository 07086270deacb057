//! What is read of a stream of which more may follow, and what is waited for.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::framing::collect::Collected;
use super::key_map::KeyMap;
use super::record::{Beginning, Origin, Position, Record, RejectReason};
use super::{Limits, WAITS_FOR_NOTHING, decode_so_far};

const AT: &str = "2026-11-30T06:15:34Z";
const WAITS: u64 = 1;

/// What was read, with places in the whole, and from which line on it is to be read again.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    records: BTreeSet<String>,
    /// Line and reason; lines that no format claims are counted in runs, which a cut divides.
    rejects: BTreeSet<(u64, &'static str)>,
}

impl Seen {
    fn read(&mut self, text: &[u8], lines_before: u64, waits_from: u64) -> Option<u64> {
        let mut sink = Collected::default();
        let limits = Limits::default();
        let from =
            decode_so_far(&Arc::from("test"), Box::new(text), &limits, KeyMap::built_in(), waits_from, &mut sink);
        for mut record in sink.records {
            move_down(origin(&mut record), lines_before);
            self.records.insert(format!("{record:?}"));
        }
        for mut reject in sink.rejects {
            move_down(&mut reject.origin, lines_before);
            if !matches!(reject.reason, RejectReason::UnknownText | RejectReason::Binary) {
                self.rejects.insert((line_of(&reject.origin), reject.reason.as_str()));
            }
        }
        from
    }

    fn whole(text: &[u8]) -> Self {
        let mut seen = Self::default();
        assert_eq!(seen.read(text, 0, WAITS_FOR_NOTHING), None);
        seen
    }

    /// Reads it as a follower does, to whom it grows up to these ends; at last nothing is waited for.
    fn growing(text: &[u8], ends: &[usize]) -> Self {
        let mut seen = Self::default();
        let (mut start, mut lines) = (0, 0);
        for end in ends {
            let from = seen.read(&text[start..*end], lines, WAITS);
            let at = from.map_or(*end, |line| start + nth_line(&text[start..*end], line));
            assert!((start..=*end).contains(&at));
            lines += newlines(&text[start..at]);
            start = at;
        }
        seen.read(&text[start..], lines, WAITS_FOR_NOTHING);
        seen
    }
}

fn origin(record: &mut Record) -> &mut Origin {
    match record {
        Record::Exchange(exchange) => &mut exchange.origin,
        Record::Span(span) => &mut span.origin,
        Record::Log(log) => &mut log.origin,
        Record::Document(document) => &mut document.origin,
    }
}

fn line_of(origin: &Origin) -> u64 {
    match origin.position {
        Position::Line(line) | Position::Entry { begins: Beginning::Line(line), .. } => line,
        Position::Byte(_) | Position::Entry { begins: Beginning::Byte(_), .. } => 1,
    }
}

fn move_down(origin: &mut Origin, lines: u64) {
    if lines > 0 {
        let line = line_of(origin) + lines;
        origin.position = match origin.position {
            Position::Entry { index, .. } => Position::Entry { index, begins: Beginning::Line(line) },
            Position::Line(_) | Position::Byte(_) => Position::Line(line),
        };
    }
}

fn newlines(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Where a line begins.
fn nth_line(text: &[u8], line: u64) -> usize {
    if line == 1 {
        return 0;
    }
    line_ends(text).nth(line as usize - 2).unwrap_or_else(|| panic!("line {line} of {}", newlines(text)))
}

fn line_ends(text: &[u8]) -> impl Iterator<Item = usize> {
    text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1)
}

fn call(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"kind":"task"}}}}"#)
}

fn pretty(id: u64) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&call(id)).unwrap()).unwrap()
}

fn cri(stream: &str, tag: &str, text: &str) -> String {
    format!("{AT} {stream} {tag} {text}\n")
}

fn docker(text: &str) -> String {
    format!("{}\n", serde_json::json!({"log": text, "stream": "stdout", "time": AT}))
}

/// Of each kind of what spans lines: its name, and lines.
fn kinds() -> Vec<(&'static str, String)> {
    let (a, b) = (call(1), call(2));
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"x\":\"{}\"}}\n", "y".repeat(40_000));
    let (x, rest) = long.split_at(16 << 10);
    let (y, z) = rest.split_at(16 << 10);
    let printed = "{\n  jsonrpc: '2.0',\n  id: 7,\n  result: {\n    kind: 'task'\n  }\n}\n";
    let har_entry = |id: u64| {
        serde_json::json!({"startedDateTime": AT, "time": 1, "request": {"method": "POST", "url": "http://a.example/",
            "headers": [], "postData": {"mimeType": "application/json", "text": call(id)}},
            "response": {"status": 200, "headers": [], "content": {"text": call(id)}}})
    };
    let har = serde_json::json!({"log": {"version": "1.2", "entries": [har_entry(1), har_entry(2)]}});
    let lines = |text: &str| text.lines().map(|line| cri("stdout", "F", line)).collect::<String>();
    vec![
        ("pieces", [cri("stdout", "P", &a[..9]), cri("stdout", "P", &a[9..20]), cri("stdout", "F", &a[20..])].concat()),
        (
            "pieces of two streams",
            [
                cri("stdout", "P", &a[..9]),
                cri("stderr", "P", &b[..12]),
                cri("stdout", "F", &a[9..]),
                cri("stdout", "P", &call(3)[..12]),
                cri("stderr", "F", &b[12..]),
                cri("stderr", "F", &call(4)),
                cri("stdout", "F", &call(3)[12..]),
            ]
            .concat(),
        ),
        ("pieces of docker", [docker(x), docker(y), docker(z)].concat()),
        ("value over lines", format!("{}\n", pretty(1))),
        ("carried value over lines", lines(&pretty(1))),
        ("events", format!("event: x\ndata: {{\"jsonrpc\":\"2.0\",\ndata: \"id\":1}}\n\n: ping\ndata: {b}\n\n")),
        ("carried events", lines(&format!("data: {a}\n\ndata: {b}\n\n"))),
        ("printed by node", printed.to_owned()),
        ("har", format!("{}\n", serde_json::to_string_pretty(&har).unwrap())),
        (
            "traceback",
            "2026-11-30 06:15:34,123 - a2a.client - ERROR - failed\nTraceback (most recent call last):\n  File \"x.py\", \
             line 1, in f\n    raise X\n\nINFO:httpx:HTTP Request: POST http://a.example/ \"HTTP/1.1 200 OK\"\n"
                .to_owned(),
        ),
    ]
}

#[test]
fn wherever_a_stream_is_cut_the_same_is_read() {
    let kinds = kinds();
    for (name, before) in &kinds {
        for (other, after) in &kinds {
            let text = format!("{before}{after}{}\nINFO:a2a.x:last\n", call(9));
            let whole = Seen::whole(text.as_bytes());
            assert!(whole.records.len() >= 3, "{name}, {other}: {whole:?}");
            let ends: Vec<usize> = line_ends(text.as_bytes()).collect();
            for end in &ends {
                let seen = Seen::growing(text.as_bytes(), &[*end, text.len()]);
                assert_eq!(seen, whole, "{name}, {other}, cut at {end}");
            }
            assert_eq!(Seen::growing(text.as_bytes(), &ends), whole, "{name}, {other}, line by line");
        }
    }
}

#[test]
fn streams_of_lines_that_are_mixed_are_each_read_whole() {
    let lines = |stream: &str, text: &str| text.lines().map(|line| cri(stream, "F", line)).collect::<Vec<_>>();
    let pieces = |id| [cri("stderr", "P", &call(id)[..9]), cri("stderr", "P", &call(id)[9..20])].into_iter();
    let ends = |id| [cri("stderr", "F", &call(id)[20..])].into_iter();
    let values: Vec<String> = [1, 2, 3].into_iter().flat_map(|id| lines("stdout", &pretty(id))).collect();
    let others: Vec<String> = (11..16).flat_map(|id| pieces(id).chain(ends(id))).collect();
    let events = (21..25).map(|id| format!("data: {}\n\n", call(id))).collect::<String>();
    for (left, right) in [(&values, &others), (&others, &values), (&lines("stdout", &events), &others)] {
        for (n, m) in [(1, 1), (2, 3), (3, 2), (5, 1)] {
            let text = mixed(left, right, n, m);
            let whole = Seen::whole(text.as_bytes());
            assert_eq!(
                whole.records.len(),
                if left.iter().chain(right).any(|line| line.contains("data")) { 9 } else { 8 }
            );
            let ends: Vec<usize> = line_ends(text.as_bytes()).collect();
            for end in &ends {
                assert_eq!(
                    Seen::growing(text.as_bytes(), &[*end, text.len()]),
                    whole,
                    "{n}, {m}, cut at {end}: {text}"
                );
            }
            assert_eq!(Seen::growing(text.as_bytes(), &ends), whole, "{n}, {m}, line by line");
        }
    }
}

/// So many lines of the one, so many of the other, in turn.
fn mixed(left: &[String], right: &[String], n: usize, m: usize) -> String {
    let (mut left, mut right) = (left.chunks(n), right.chunks(m));
    let mut text = String::new();
    loop {
        let (one, two) = (left.next(), right.next());
        if one.is_none() && two.is_none() {
            return text;
        }
        [one, two].into_iter().flatten().flatten().for_each(|line| text.push_str(line));
    }
}

#[test]
fn real_logs_that_grow_line_by_line_are_read_as_if_they_were_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = ["formats", "captures"].map(|name| walkdir::WalkDir::new(root.join(name)).sort_by_file_name());
    let mut read = 0;
    for entry in folders.into_iter().flatten().filter_map(Result::ok) {
        let name = entry.path().extension().unwrap_or_default();
        // Protobuf has no lines.
        if !entry.file_type().is_file() || ["md", "toml", "pb"].iter().any(|other| name == *other) {
            continue;
        }
        let bytes = std::fs::read(entry.path()).unwrap();
        let ends: Vec<usize> = line_ends(&bytes).collect();
        if ends.is_empty() || bytes.len() > 1 << 20 {
            continue;
        }
        // A file whose lines are all one document is read again with each.
        let step = ends.len() / 60 + 1;
        let ends: Vec<usize> = ends.into_iter().step_by(step).collect();
        assert_eq!(Seen::growing(&bytes, &ends), Seen::whole(&bytes), "{}", entry.path().display());
        read += 1;
    }
    assert!(read > 20, "{read} files");
}

#[test]
fn it_is_told_from_which_line_on_what_is_not_complete_is_to_be_read_again() {
    let whole = call(5) + "\n";
    let from = |text: &str| Seen::default().read(text.as_bytes(), 0, WAITS);
    assert_eq!(from(&whole), None);
    let cases = [
        cri("stdout", "P", "x"),
        docker(&"x".repeat(16 << 10)),
        "{\n  \"jsonrpc\":\n".to_owned(),
        "{\n".to_owned(),
        "{\n  jsonrpc: '2.0',\n  id: 1,\n".to_owned(),
        "event: x\n".to_owned(),
        format!("data: {}\n", call(1)),
        cri("stdout", "F", "{\"a\":"),
    ];
    for open in cases {
        assert_eq!(from(&format!("{whole}{open}")), Some(2), "{open}");
        assert_eq!(Seen::default().read(format!("{whole}{open}").as_bytes(), 0, WAITS_FOR_NOTHING), None);
    }
    // Nothing reaches over the line: the piece of the other stream ends behind it.
    let overlapping =
        [cri("stdout", "P", "a"), cri("stderr", "P", "b"), cri("stdout", "F", "a"), cri("stdout", "F", "c")].concat();
    assert_eq!(from(&format!("{whole}{overlapping}")), Some(2));
    assert_eq!(from(&format!("{whole}{overlapping}{}", cri("stderr", "F", "b"))), None);
}

#[test]
fn what_began_too_early_is_read_as_far_as_it_came_and_what_is_younger_is_waited_for() {
    let stuck = cri("stderr", "P", &call(1));
    let young = cri("stdout", "P", &call(2)[..9]);
    let text = format!("{stuck}{}\n{young}", call(3));
    let mut seen = Seen::default();
    assert_eq!((seen.read(text.as_bytes(), 0, 2), seen.records.len()), (Some(3), 2), "{seen:?}");
    let mut seen = Seen::default();
    assert_eq!((seen.read(text.as_bytes(), 0, 1), seen.records.len()), (Some(1), 1));
    // A document, too.
    let mut seen = Seen::default();
    assert_eq!(seen.read(b"{\n\"a\":\n", 0, 2), None);
    assert_eq!(seen.rejects, BTreeSet::from([(1, RejectReason::Truncated.as_str())]));
}
