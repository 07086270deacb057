//! Framing from end to end: captures, mixtures, and input made to hurt.

use std::path::{Path, PathBuf};

use super::collect::Collected;
use super::*;
use crate::decode::record::{Beginning, Body, Record};
use crate::decode::{Limits, decode};

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

fn read(bytes: impl AsRef<[u8]>) -> Collected {
    read_with(bytes.as_ref(), &Limits::default())
}

fn read_with(bytes: &[u8], limits: &Limits) -> Collected {
    let mut sink = Collected::default();
    decode(&Arc::from("test"), Box::new(bytes), limits, &mut sink);
    sink
}

/// Reads, and tells how large the buffer grew.
fn read_measured<'a>(reader: impl Read + 'a, limits: &Limits) -> (Collected, usize) {
    let mut sink = Collected::default();
    let source = Arc::from("test");
    let capacity = {
        let mut framer = Framer::new(&source, Box::new(reader), limits, KeyMap::built_in(), &mut sink);
        framer.run();
        framer.window.capacity()
    };
    (sink, capacity)
}

/// Small limits, so that a test need not be large to exceed them.
fn small() -> Limits {
    Limits { max_record_bytes: 4096, max_depth: 100 }
}

fn reasons(sink: &Collected) -> Vec<(RejectReason, Position)> {
    sink.rejects.iter().map(|r| (r.reason, r.origin.position)).collect()
}

/// JSON-RPC ids of the documents, and where each was.
fn ids(sink: &Collected) -> Vec<(u64, Position)> {
    let id = |record: &Record| match record {
        Record::Document(d) => (d.value["id"].as_u64().unwrap(), d.origin.position),
        other => panic!("{other:?}"),
    };
    sink.records.iter().map(id).collect()
}

fn call(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"kind":"task"}}}}"#)
}

fn entry(number: usize, body: &str) -> String {
    format!(
        r#"{{"startedDateTime":"2026-11-30T06:00:00Z","time":1,"request":{{"method":"GET","url":"http://h/{number}","headers":[]}},"response":{{"status":200,"headers":[],"content":{{"size":1,"text":"{body}"}}}},"cache":{{}},"timings":{{}}}}"#
    )
}

const LINE: fn(u64) -> Position = Position::Line;

#[test]
fn every_line_of_the_captured_exchanges_is_one_exchange() {
    // Counted with `wc -l`.
    for (file, lines) in [
        ("a2a-python-1.3.0/jsonrpc", 102),
        ("a2a-python-1.3.0/rest", 98),
        ("a2a-python-1.3.0/grpc", 22),
        ("a2a-python-1.3.0/headers", 29),
        ("a2a-python-0.3.26/v03", 94),
        ("a2a-python-0.2.16/v02", 38),
        ("a2a-rust-0.15.0/rust", 64),
        ("a2a-spec-0.1.0-handmade/v01", 30),
    ] {
        let sink = read(std::fs::read(captures().join(format!("{file}.exchanges.ndjson"))).unwrap());
        assert_eq!(sink.rejects, vec![], "{file}");
        assert_eq!((sink.records.len(), sink.exchanges().len()), (lines, lines), "{file}");
        assert_eq!(sink.formats, ["exchange-ndjson"], "{file}");
        for (n, exchange) in sink.exchanges().iter().enumerate() {
            assert_eq!(exchange.origin.position, LINE(n as u64 + 1));
            assert!(exchange.started_at.is_some() && exchange.ended_at > exchange.started_at, "{file}");
            assert!(exchange.observer.is_some() && exchange.status.is_some(), "{file}");
        }
    }
}

#[test]
fn the_captured_hars_hold_the_same_calls_as_their_exchange_files() {
    for (file, entries) in [("a2a-python-1.3.0/jsonrpc", 102), ("a2a-spec-0.1.0-handmade/v01", 30)] {
        let har_bytes = std::fs::read(captures().join(format!("{file}.har"))).unwrap();
        let har = read(&har_bytes);
        let lines = read(std::fs::read(captures().join(format!("{file}.exchanges.ndjson"))).unwrap());
        assert_eq!((har.rejects.len(), har.formats.as_slice()), (0, &["har"][..]));
        let calls = |sink: &Collected| {
            let call = |e: &&crate::decode::record::Exchange| (e.method.clone(), e.url.clone(), e.status);
            sink.exchanges().iter().map(call).collect::<Vec<_>>()
        };
        assert_eq!(calls(&har), calls(&lines));
        assert_eq!(calls(&har).len(), entries);
        for (number, (a, b)) in (0..).zip(har.exchanges().iter().zip(lines.exchanges())) {
            assert_eq!((&a.request_body, &a.response_body), (&b.request_body, &b.response_body));
            assert_eq!((&a.trace_id, &a.span_id), (&b.trace_id, &b.span_id));
            // The file is one line: places are bytes, and each is where an entry begins.
            let Position::Entry { index, begins: Beginning::Byte(byte) } = a.origin.position else {
                panic!("{:?}", a.origin)
            };
            assert_eq!(index, number);
            assert!(har_bytes[byte as usize..].starts_with(b"{\"startedDateTime\""));
        }
    }
}

#[test]
fn the_truth_files_beside_the_captures_are_objects_of_no_known_shape() {
    let sink = read(std::fs::read(captures().join("a2a-python-1.3.0/jsonrpc.steps.ndjson")).unwrap());
    assert!(sink.records.is_empty());
    assert!(sink.rejects.iter().all(|r| r.reason == RejectReason::UnknownShape));
    assert!(sink.rejects[0].detail.contains("binding") && !sink.rejects[0].detail.contains("summarize"));
}

#[test]
fn a_truncated_line_costs_itself_only() {
    let text = format!("{}\n{}\n{}\n", call(1), &call(2)[..30], call(3));
    let sink = read(text);
    assert_eq!(ids(&sink), [(1, LINE(1)), (3, LINE(3))]);
    assert_eq!(reasons(&sink), [(RejectReason::Truncated, LINE(2))]);
}

#[test]
fn a_line_cut_at_any_byte_leaves_its_neighbours_alone() {
    for line in [call(2), format!("[{}]", call(2)), r#"{"log":{"entries":[]}}"#.to_owned()] {
        for cut in 1..line.len() {
            for repeated in [1, 2] {
                let cut_lines = format!("{}\n", &line[..cut]).repeat(repeated);
                let text = format!("{}\n{cut_lines}{}\n{}\n", call(1), call(3), call(4));
                let sink = read(&text);
                let found: Vec<u64> = ids(&sink).iter().map(|(id, _)| *id).filter(|id| *id != 2).collect();
                assert_eq!(found, [1, 3, 4], "{text}");
                assert!(!sink.rejects.is_empty(), "{text}");
            }
        }
    }
}

#[test]
fn documents_over_many_lines_stand_among_lines() {
    let pretty =
        |id| serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&call(id)).unwrap()).unwrap();
    let text = format!(
        "\u{feff}INFO:x:y\r\n{}\r\n\r\n{}\n{},\n{}\nwords\n\u{1e}{}\n",
        call(1),
        pretty(2),
        call(3),
        pretty(4),
        call(5)
    );
    let sink = read(text);
    // Pretty printing writes seven lines.
    assert_eq!(ids(&sink), [(1, LINE(2)), (2, LINE(4)), (3, LINE(11)), (4, LINE(12)), (5, LINE(20))]);
    assert_eq!(reasons(&sink), [(RejectReason::UnknownText, LINE(1)), (RejectReason::UnknownText, LINE(19))]);
}

#[test]
fn a_pretty_har_in_the_middle_gives_its_entries_with_their_lines() {
    let har = format!(
        "{{\n  \"log\": {{\n    \"pages\": [{{\"id\": 1}}],\n    \"entries\": [\n      {},\n      {}\n    ]\n  }}\n}}",
        entry(1, "a"),
        entry(2, "b")
    );
    let sink = read(format!("{}\n{har}\n{}\n", call(1), call(2)));
    assert_eq!(sink.rejects, vec![]);
    let places: Vec<String> = sink.exchanges().iter().map(|e| e.origin.position.to_string()).collect();
    assert_eq!(places, ["log.entries[0] at line 6", "log.entries[1] at line 7"]);
    assert_eq!(sink.records.len(), 4);
}

#[test]
fn an_entry_of_a_har_keeps_its_number_whatever_was_not_understood_before_it() {
    let broken = "{\"startedDateTime\": 1}";
    let har = format!("{{\"log\": {{\"entries\": [{}, {broken}, 7,\n{}]}}}}", entry(1, "a"), entry(2, "b"));
    let sink = read(&har);
    let exchanges = sink.exchanges();
    let indices = exchanges.iter().map(|e| match e.origin.position {
        Position::Entry { index, .. } => index,
        other => panic!("{other:?}"),
    });
    assert_eq!(indices.collect::<Vec<_>>(), [0, 3]);
    assert!(sink.rejects.len() >= 2, "{:?}", sink.rejects);
}

#[test]
fn lists_of_records_are_read_in_every_layout() {
    for text in [
        format!("[{},{}]", call(1), call(2)),
        format!("[\n{},\n{}\n]\n", call(1), call(2)),
        format!("[\n{},\n{},\n]\n", call(1), call(2)),
        format!("[{}\n,{}]", call(1), call(2)),
        format!("{},\n{}", call(1), call(2)),
        format!("{}{}", call(1), call(2)),
        format!("{} , {}\n", call(1), call(2)),
        format!("[[{}],[{}]]", call(1), call(2)),
    ] {
        let sink = read(&text);
        assert_eq!(ids(&sink).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2], "{text}");
        assert_eq!(sink.rejects, vec![], "{text}");
    }
}

#[test]
fn a_document_cut_short_gives_its_whole_elements_and_one_reject() {
    let har = format!("{{\"log\": {{\"entries\": [\n{},\n{}", entry(1, "a"), entry(2, "b"));
    for (text, whole) in [(&har[..har.len() - 9], 1), (&har[..], 2)] {
        let sink = read(text);
        assert_eq!(sink.exchanges().len(), whole);
        assert_eq!(sink.rejects.iter().map(|r| r.reason).collect::<Vec<_>>(), [RejectReason::Truncated]);
    }
}

#[test]
fn memory_for_a_har_of_any_size_is_that_of_an_entry() {
    let limits = small();
    for newline in ["", "\n"] {
        let mut text = String::from("{\"log\":{\"version\":\"1.2\",\"entries\":[");
        let entries = 20_000;
        for n in 0..entries {
            text.push_str(&entry(n, &"x".repeat(n % 3000)));
            text.push_str(if n + 1 < entries { "," } else { "]}}" });
            text.push_str(newline);
        }
        let (sink, capacity) = read_measured(text.as_bytes(), &limits);
        assert!(capacity <= 2 * CHUNK, "{capacity}");
        assert_eq!((sink.exchanges().len(), sink.rejects.len()), (entries, 0));
    }
}

#[test]
fn memory_for_an_answer_of_a_log_store_is_that_of_a_line_of_it() {
    let lines = 4_000;
    let call = |n: usize| serde_json::Value::from(format!("{} {}", call(n as u64), "x".repeat(n % 1000)));
    let time = "2026-11-30T06:15:34Z";
    let value = |n| format!("[\"1796019334786336001\",{}]", call(n));
    let event = |n| format!("{{\"timestamp\":1796019334786,\"message\":{}}}", call(n));
    let row = |n| format!("[{{\"field\":\"@message\",\"value\":{}}}]", call(n));
    let entry =
        |n| format!("{{\"logName\":\"projects/p/logs/x\",\"timestamp\":\"{time}\",\"textPayload\":{}}}", call(n));
    let hit = |n| format!("{{\"_id\":\"{n}\",\"_source\":{{\"log\":{}}}}}", call(n));
    type Case<'a> = (&'a str, &'a str, &'a dyn Fn(usize) -> String, &'a str);
    let cases: [Case<'_>; 8] = [
        (
            "loki",
            "{\"status\":\"success\",\"data\":{\"resultType\":\"streams\",\"result\":[{\"stream\":{\"pod\":\"p\"},\"values\":[",
            &value,
            "]}]}}",
        ),
        ("push", "{\"streams\":[{\"stream\":{\"pod\":\"p\"},\"values\":[", &value, "]}]}"),
        ("events", "{\"events\":[", &event, "],\"searchedLogStreams\":[]}"),
        ("subscription", "{\"messageType\":\"DATA_MESSAGE\",\"logGroup\":\"g\",\"logEvents\":[", &event, "]}"),
        ("insights", "{\"results\":[", &row, "],\"status\":\"Complete\"}"),
        ("entries", "{\"entries\":[", &entry, "]}"),
        ("gcloud", "[", &entry, "]"),
        ("hits", "{\"took\":5,\"hits\":{\"total\":{\"value\":1},\"hits\":[", &hit, "]}}"),
    ];
    for (name, head, element, tail) in cases {
        for newline in ["", "\n"] {
            let mut text = format!("{head}{newline}");
            for n in 0..lines {
                text.push_str(&element(n));
                text.push_str(if n + 1 < lines { "," } else { tail });
                text.push_str(newline);
            }
            let (sink, capacity) = read_measured(text.as_bytes(), &small());
            assert!(capacity <= 2 * CHUNK, "{name}: {capacity}");
            assert_eq!(sink.records.len(), lines, "{name}: {:?}", sink.rejects.first());
            let place = |record: &Record| if let Record::Document(d) = record { d.origin.position } else { LINE(0) };
            let places: std::collections::BTreeSet<_> = sink.records.iter().map(place).collect();
            assert_eq!(places.len(), lines, "{name}: each line has a place of its own");
        }
    }
}

#[test]
fn lists_with_the_names_of_a_log_stores_are_read_as_the_values_they_are() {
    // A span as SDKs print it, a list of cards, and answers that hold something else.
    for value in [
        serde_json::json!({"jsonrpc": "2.0", "id": 1, "events": [{"name": "exception", "timestamp": "2026-11-30T06:15:34Z"}]}),
        serde_json::json!({"events": [], "jsonrpc": "2.0", "id": 1}),
        serde_json::json!({"results": [[1, 2], {"a": []}], "jsonrpc": "2.0", "id": 1}),
        serde_json::json!({"data": {"result": [{"metric": {}, "values": [[1, "2"]]}]}, "jsonrpc": "2.0", "id": 1}),
        serde_json::json!({"hits": {"hits": [{"x": {"values": [1]}}]}, "streams": [{"values": [[]]}], "jsonrpc": "2.0", "id": 1}),
        serde_json::json!({"entries": [null, "x"], "jsonrpc": "2.0", "id": 1}),
    ] {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let sink = read(format!("{text}\n{}\n", call(2)));
            assert_eq!(ids(&sink).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2], "{text}");
            assert_eq!(sink.rejects, vec![], "{text}");
        }
    }
}

#[test]
fn an_element_beyond_the_limit_costs_itself_only() {
    let text = format!("[{},{},{}]", call(1), entry(1, &"x".repeat(300_000)), call(2));
    let sink = read_with(text.as_bytes(), &small());
    assert_eq!(ids(&sink).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(sink.rejects.iter().map(|r| r.reason).collect::<Vec<_>>(), [RejectReason::TooLarge]);
}

/// Gives `head`, then `count` times `fill`, then `tail`, without ever holding it.
struct Synthetic<'a> {
    head: &'a [u8],
    fill: u8,
    count: u64,
    tail: &'a [u8],
}

impl Read for Synthetic<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.head.is_empty() {
            return self.head.read(buffer);
        }
        if self.count > 0 {
            let length = buffer.len().min(usize::try_from(self.count).unwrap_or(usize::MAX));
            buffer[..length].fill(self.fill);
            self.count -= length as u64;
            return Ok(length);
        }
        self.tail.read(buffer)
    }
}

#[test]
fn a_line_of_a_gigabyte_is_one_reject_in_constant_memory_and_the_next_line_is_read() {
    let limits = Limits { max_record_bytes: 1 << 20, max_depth: 100 };
    let next = format!("\n{}\n", call(1));
    let unfinished = format!("{{\"a\":1\n{}\n", call(1));
    let finished = format!("\"}}\n{}\n", call(1));
    let (whole, part) = (1 << 30, 1 << 26);
    for (head, fill, count, tail, reason) in [
        ("one\nINFO ", b'x', whole, &next, RejectReason::TooLarge),
        ("one\n{\"a\":\"", b'x', whole, &next, RejectReason::TooLarge),
        ("one\n{\"a\":\"", b'x', part, &finished, RejectReason::TooLarge),
        ("one\n{\"a\":", b' ', part, &next, RejectReason::TooLarge),
        ("one\n", b' ', part, &unfinished, RejectReason::Truncated),
        ("one\n{\"a\":[", b'[', part, &next, RejectReason::TooDeep),
        ("one\n[", b'[', part, &next, RejectReason::TooDeep),
    ] {
        let reader = Synthetic { head: head.as_bytes(), fill, count, tail: tail.as_bytes() };
        let (sink, capacity) = read_measured(reader, &limits);
        assert!(capacity <= (1 << 20) + CHUNK, "{head}: {capacity}");
        assert_eq!(ids(&sink), [(1, LINE(3))], "{head}");
        assert_eq!(reasons(&sink)[1..], [(reason, LINE(2))], "{head}");
    }
}

#[test]
fn a_gigabyte_of_zeros_in_a_small_gzip_is_one_cheap_reject() {
    // Members of one megabyte each, of which gzip allows any number.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::copy(&mut io::repeat(0).take(1 << 20), &mut encoder).unwrap();
    let packed = encoder.finish().unwrap().repeat(1 << 10);
    let reader = crate::receive::inflate(Box::new(&packed[..]), 1 << 40).unwrap();
    let (sink, capacity) = read_measured(reader, &Limits::default());
    assert_eq!(capacity, CHUNK);
    assert_eq!(reasons(&sink), [(RejectReason::Binary, Position::Byte(0))]);
}

#[test]
fn broken_compression_keeps_the_lines_before_it() {
    let lines: String = (0..20_000).map(|n| format!("{}\n", call(n))).collect();
    let packed = zstd::encode_all(lines.as_bytes(), 1).unwrap();
    let mut sink = Collected::default();
    let reader = crate::receive::inflate(Box::new(&packed[..packed.len() - 9]), 1 << 40).unwrap();
    decode(&Arc::from("test"), reader, &Limits::default(), &mut sink);
    assert!(!sink.records.is_empty());
    assert_eq!(sink.rejects.last().map(|r| r.reason), Some(RejectReason::BadCompression));
    let mut sink = Collected::default();
    let reader = crate::receive::inflate(Box::new(&packed[..]), 1 << 16).unwrap();
    decode(&Arc::from("test"), reader, &Limits::default(), &mut sink);
    assert!(!sink.records.is_empty());
    assert_eq!(sink.rejects.last().map(|r| r.reason), Some(RejectReason::InflatedTooLarge));
}

#[test]
fn deep_nesting_is_rejected_wherever_it_stands() {
    let deep = |depth: usize| format!("{{\"jsonrpc\":\"2.0\",\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    for depth in [100, 126, 127, 10_000, 1_000_000] {
        let text = format!("{}\n{}\n{}\n[{},{}]\n", call(1), deep(depth), call(2), deep(depth), call(3));
        let sink = read(&text);
        assert_eq!(ids(&sink), [(1, LINE(1)), (2, LINE(3)), (3, LINE(4))], "{depth}");
        assert_eq!(reasons(&sink), [(RejectReason::TooDeep, LINE(2)), (RejectReason::TooDeep, LINE(4))], "{depth}");
    }
    let many_lines = format!("{}\n{}\n{}\n", "[\n".repeat(3000), "]\n".repeat(3000), call(1));
    let sink = read(&many_lines);
    assert_eq!((ids(&sink), sink.rejects.len()), (vec![(1, LINE(6003))], 1));
    assert_eq!(sink.rejects[0].reason, RejectReason::TooDeep);
}

#[test]
fn time_stays_linear_when_every_line_looks_like_the_beginning_of_a_document() {
    for line in ["[", "{\"a\":", "{\"a\":[", "[[1],", "{", "[\"x\",", "{\"a\":1,"] {
        let text = format!("{line}\n").repeat((2 << 20) / (line.len() + 1));
        let begun = std::time::Instant::now();
        let sink = read(format!("{text}\n{}\n", call(1)));
        assert!(begun.elapsed().as_secs() < 60, "{line}: {:?}", begun.elapsed());
        assert!(!sink.rejects.is_empty());
    }
}

#[test]
fn time_stays_linear_when_a_line_holds_many_values() {
    // As stores write records that put no line end between them.
    for value in ["{}", "{\"x\":\"y\"} ", "[{}],"] {
        let begun = std::time::Instant::now();
        let sink = read(format!("{}{}\n{}\n", value.repeat((1 << 18) / value.len()), call(1), call(2)));
        assert!(begun.elapsed().as_secs() < 60, "{value}: {:?}", begun.elapsed());
        assert_eq!(ids(&sink), [(1, LINE(1)), (2, LINE(2))], "{value}");
    }
}

#[test]
fn objects_that_node_prints_and_nobody_reads_hide_no_span_behind_them() {
    let spans = std::fs::read(captures().join("../formats/traces/js.console.txt")).unwrap();
    let alone = read(&spans).records.len();
    let others = "{\n  url: URL {},\n  method: 'GET'\n}\n{\n  a: 1,\n".repeat(500);
    let sink = read([others.as_bytes(), &spans].concat());
    assert!(alone > 20);
    assert_eq!(sink.records.len(), alone);
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_and_the_record_is_kept() {
    let mut text = format!("{}\n", call(1)).into_bytes();
    let at = text.windows(4).position(|w| w == b"task").unwrap();
    text[at] = 0xff;
    text.extend_from_slice(b"caf\xe9 words\n");
    let sink = read(&text);
    assert_eq!(sink.records.len(), 1);
    assert_eq!(reasons(&sink), [(RejectReason::InvalidUtf8, LINE(1)), (RejectReason::UnknownText, LINE(2))]);
}

#[test]
fn a_body_that_is_compressed_and_does_not_say_so_is_told_what_to_say() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut encoder, call(1).as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    for (body, kind) in [(zipped, "gzip"), (zstd::encode_all(call(1).as_bytes(), 3).unwrap(), "zstd")] {
        let sink = read(&body);
        assert_eq!(reasons(&sink), [(RejectReason::Binary, Position::Byte(0))]);
        let said = &sink.rejects[0].detail;
        assert!(said.contains(kind) && said.contains("Content-Encoding"), "{said}");
    }
}

#[test]
fn a_first_line_with_zero_bytes_costs_itself_only() {
    let line = |id| format!("2026-11-30T06:15:34Z stdout F {}\n", call(id));
    let sink = read(format!("2026-11-30T06:15:33Z stdout F to\0\0\0rn\n{}{}", line(1), line(2)));
    assert_eq!(ids(&sink), [(1, LINE(2)), (2, LINE(3))]);
    assert_eq!(reasons(&sink), [(RejectReason::Binary, LINE(1))]);
}

#[test]
fn lone_surrogates_and_duplicate_keys_lose_nothing() {
    let sink = read(r#"{"jsonrpc":"2.0","id":0,"id":1,"x":"\ud800"}"#);
    assert_eq!((ids(&sink), sink.rejects.len()), (vec![(1, LINE(1))], 0));
}

#[test]
fn raw_event_streams_give_a_document_an_event() {
    let stream = format!(
        ": hello\ndata: {}\n\nevent: error\nid: 7\ndata: {{\"jsonrpc\":\"2.0\",\ndata: \"id\":2}}\r\n\r\n: ping\n\ndata: [DONE]\n\ndata: {}",
        call(1),
        call(3)
    );
    let sink = read(stream);
    assert_eq!(ids(&sink), [(1, LINE(2)), (2, LINE(4)), (3, LINE(13))]);
    let names = sink.records.iter().map(|r| if let Record::Document(d) = r { d.sse_event.as_str() } else { "?" });
    assert_eq!(names.collect::<Vec<_>>(), ["", "error", ""]);
    // A comment before any event is no sign of a stream.
    assert_eq!(reasons(&sink), [(RejectReason::UnknownText, LINE(1)), (RejectReason::BadJson, LINE(11))]);
    assert_eq!(sink.formats, ["sse", "json-rpc"]);
}

#[test]
fn foreign_formats_are_named_with_their_conversion() {
    for bytes in
        [&b"2314:9:websocket;0:~8:response;1:x"[..], b"\xd4\xc3\xb2\xa1\x02\0\x04\0", b"PK\x03\x04...", b"\xff\xfe{\0"]
    {
        let sink = read(bytes);
        assert_eq!(reasons(&sink), [(RejectReason::NeedsConversion, Position::Byte(0))]);
    }
}

#[test]
fn empty_and_blank_input_is_nothing() {
    for bytes in ["", "\n", "  \r\n\n", "\u{feff}", "\u{feff}\n", ",\n"] {
        let sink = read(bytes);
        assert!(sink.records.is_empty() && sink.rejects.is_empty(), "{bytes:?}");
    }
}

#[test]
fn text_lines_that_begin_with_brackets_are_text() {
    let sink = read(format!("[2026-11-30 06:00] INFO x\n[main] y\n{{'a': 1}}\n{}\n", call(1)));
    assert_eq!(ids(&sink), [(1, LINE(4))]);
    assert_eq!(reasons(&sink), [(RejectReason::UnknownText, LINE(1))]);
}

#[test]
fn a_word_after_a_record_does_not_cost_the_record() {
    let sink = read(format!("{} trailing words\n{}\n", call(1), call(2)));
    assert_eq!(ids(&sink), [(1, LINE(1)), (2, LINE(2))]);
    assert_eq!(reasons(&sink), [(RejectReason::UnknownText, LINE(1))]);
}

#[test]
fn a_capture_cut_anywhere_gives_all_whole_records_before_the_cut() {
    for (file, separator) in [("v01.exchanges.ndjson", &b"\n"[..]), ("v01.har", b",{\"startedDateTime\"")] {
        let bytes = std::fs::read(captures().join("a2a-spec-0.1.0-handmade").join(file)).unwrap();
        for part in 0..200 {
            let cut = &bytes[..bytes.len() * part / 200];
            let whole = memchr::memmem::find_iter(cut, separator).count();
            let sink = read(cut);
            let found = sink.exchanges().len();
            // The last record may be whole without the separator that proves it.
            assert!(found == whole || found == whole + 1, "{file} {part}: {found} of {whole}");
            assert!(
                found == whole + 1 || !sink.rejects.is_empty() || cut.is_empty() || cut.ends_with(b"\n"),
                "{file} {part}"
            );
        }
    }
}

#[test]
fn flipped_bytes_cost_at_most_the_lines_they_are_in() {
    let clean = std::fs::read(captures().join("a2a-spec-0.1.0-handmade/v01.exchanges.ndjson")).unwrap();
    let har = std::fs::read(captures().join("a2a-spec-0.1.0-handmade/v01.har")).unwrap();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..300 {
        let mut bytes = clean.clone();
        let at = random(bytes.len());
        bytes[at] ^= 1 << random(8);
        let lost = 30 - read(&bytes).exchanges().len().min(30);
        // A line end that became something else joins two lines.
        assert!(lost <= if clean[at] == b'\n' { 2 } else { 1 }, "byte {at}: lost {lost}");
        let mut bytes = har.clone();
        let at = random(bytes.len());
        bytes[at] ^= 1 << random(8);
        read(&bytes);
    }
}

#[test]
fn whatever_the_bytes_are_reading_ends() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let alphabet = b"{}[]\",:\\\n 1atdu\xff\0\x1e\r";
    for round in 0..20_000 {
        let mut text = Vec::new();
        for _ in 0..(round % 60) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(alphabet[(state >> 40) as usize % alphabet.len()]);
        }
        text.extend_from_slice(b"\n\n");
        text.extend_from_slice(call(1).as_bytes());
        read(&text);
    }
}

#[test]
fn bodies_survive_from_file_to_record() {
    let sink = read(entry(1, "{\\\"a\\\":1}"));
    assert_eq!(sink.exchanges()[0].response_body, Body::Text("{\"a\":1}".into()));
    assert_eq!(sink.formats, ["har"]);
}

/// Ids of the spans, in order; there is nothing else.
fn spans(sink: &Collected) -> Vec<&str> {
    fn id(record: &Record) -> &str {
        match record {
            Record::Span(span) => &span.span_id,
            other => panic!("{other:?}"),
        }
    }
    sink.records.iter().map(id).collect()
}

#[test]
fn an_otlp_request_gives_the_same_spans_on_one_line_over_many_and_in_every_wrapper() {
    let path = captures().join("a2a-rust-0.15.0/rust.traces.otlp.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let line = text.lines().max_by_key(|line| line.len()).unwrap();
    let request: serde_json::Value = serde_json::from_str(line).unwrap();
    let lists = request["resourceSpans"].clone();
    let one_line = read(line);
    assert!(spans(&one_line).len() > 10);
    assert!(one_line.records.iter().all(|r| matches!(r, Record::Span(s) if s.origin.position == LINE(1))));
    let pretty = |value: serde_json::Value| serde_json::to_string_pretty(&value).unwrap();
    for document in [
        pretty(request.clone()),
        pretty(serde_json::json!({ "batches": lists })),
        pretty(serde_json::json!({ "trace": { "resourceSpans": lists } })),
        pretty(serde_json::json!({ "result": { "resourceSpans": lists } })),
        pretty(serde_json::json!([request])),
        format!("{{{}\"resourceSpans\":{lists}}}", " ".repeat(SHORT_LINE)),
    ] {
        let sink = read(&document);
        assert_eq!(spans(&sink), spans(&one_line), "{}", &document[..60]);
        assert_eq!(sink.rejects, vec![]);
    }
}

#[test]
fn otlp_lines_cut_at_any_byte_leave_their_neighbours_alone() {
    let span = |id: u64| {
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"26f39c4f951581bb9a62238268576327","spanId":"{id:016x}","name":"x"}}]}}]}}]}}"#
        )
    };
    let line = span(2);
    for cut in 1..line.len() {
        let sink = read(format!("{}\n{}\n{}\n{}\n", span(1), &line[..cut], span(3), span(4)));
        let found: Vec<&str> = spans(&sink).into_iter().filter(|id| !id.ends_with('2')).collect();
        assert_eq!(found, ["0000000000000001", "0000000000000003", "0000000000000004"], "{}", &line[..cut]);
        assert!(!sink.rejects.is_empty(), "{cut}");
    }
}

#[test]
fn protobuf_bodies_are_read_whole() {
    let sink = read(std::fs::read(captures().join("a2a-python-1.3.0/jsonrpc.traces.1.otlp-grpc.pb")).unwrap());
    assert!(spans(&sink).len() > 100);
    assert_eq!(sink.rejects, vec![]);
}

#[test]
fn a_broken_value_between_others_on_a_line_costs_itself_only() {
    let (one, two, three) = (call(1), call(2), call(3));
    for broken in ["{\"a\":1]}", "{\"a\" 1}", "{\"a\":{\"b\":2}]}"] {
        for line in [
            format!("{one}{broken}{two}{three}"),
            format!("{one} {broken} {two}, {three}"),
            format!("{broken}{one}{two}{broken}{three}"),
        ] {
            // In a file, and in a log carrier.
            let carried = format!("2026-11-30T06:15:33Z stdout F {line}\n2026-11-30T06:15:33Z stdout F {}\n", call(4));
            for text in [format!("{line}\n{}\n", call(4)), carried] {
                let sink = read(&text);
                assert_eq!(ids(&sink), [(1, LINE(1)), (2, LINE(1)), (3, LINE(1)), (4, LINE(2))], "{text}");
                let expected = vec![(RejectReason::BadJson, LINE(1)); line.matches(broken).count()];
                assert_eq!(reasons(&sink), expected, "{text}");
            }
        }
    }
}

#[test]
fn where_it_is_not_safe_to_go_on_a_line_the_bytes_that_were_passed_over_are_told() {
    let broken = format!("{{\"a\" 1, \"list\":[{},{}]}}", call(2), call(3));
    let text = format!("{}{broken}\n{}\n", call(1), call(4));
    let sink = read(&text);
    assert_eq!(ids(&sink), [(1, LINE(1)), (4, LINE(2))]);
    let details: Vec<_> = sink.rejects.iter().map(|reject| reject.detail.as_str()).collect();
    assert_eq!(details, [format!("not JSON; {} bytes to the end of the line were passed over", broken.len())]);
}

#[test]
fn an_element_cut_short_with_its_line_leaves_the_next_lines_alone() {
    let text = format!("{{\"log\":{{\"entries\":[{},{{\"a\":\n{}\n{}\n", entry(1, "x"), call(2), call(3));
    let sink = read(&text);
    let documents: Vec<_> = sink.records.iter().filter(|record| matches!(record, Record::Document(_))).collect();
    assert_eq!((sink.exchanges().len(), documents.len()), (1, 2), "{:?}", sink.rejects);
}
