//! Lines within carriers: values over several lines, events, and what is made to hurt.

use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use crate::decode::framing::collect::Collected;
use crate::decode::record::{Position, Record, RejectReason};
use crate::decode::{Limits, decode};

const AT: &str = "2026-11-30T06:15:34Z";

fn read(text: &str) -> Collected {
    read_with(text, &Limits::default())
}

fn read_with(text: &str, limits: &Limits) -> Collected {
    let mut sink = Collected::default();
    decode(&Arc::from("test"), Box::new(text.as_bytes()), limits, &mut sink);
    sink
}

fn small() -> Limits {
    Limits { max_record_bytes: 1 << 16, max_depth: 100 }
}

/// Lines as a container runtime writes them.
fn cri(stream: &str, text: &str) -> String {
    text.split('\n').map(|line| format!("{AT} {stream} F {line}\n")).collect()
}

/// Ids of the documents and where each was.
fn ids(sink: &Collected) -> Vec<(u64, Position)> {
    let id = |record: &Record| match record {
        Record::Document(d) => (d.value["id"].as_u64().unwrap(), d.origin.position),
        other => panic!("{other:?}"),
    };
    sink.records.iter().map(id).collect()
}

fn reasons(sink: &Collected) -> Vec<(RejectReason, Position)> {
    sink.rejects.iter().map(|r| (r.reason, r.origin.position)).collect()
}

fn call(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"kind":"task"}}}}"#)
}

fn pretty(id: u64) -> String {
    serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&call(id)).unwrap()).unwrap()
}

const LINE: fn(u64) -> Position = Position::Line;

#[test]
fn values_over_several_lines_are_joined_within_their_stream() {
    let (one, two) = (cri("stdout", &pretty(1)), cri("stderr", &pretty(2)));
    let mixed: String = one.lines().zip(two.lines()).flat_map(|(a, b)| [a, "\n", b, "\n"]).collect();
    let sink =
        read(&format!("{mixed}{}{}", cri("stdout", &format!("{},{}", call(3), call(4))), cri("stdout", "words")));
    assert_eq!(ids(&sink), [(1, LINE(1)), (2, LINE(2)), (3, LINE(15)), (4, LINE(15))]);
    assert_eq!(reasons(&sink), [(RejectReason::UnknownText, LINE(16))]);
}

#[test]
fn a_value_that_is_not_continued_costs_its_first_line() {
    for cut in ["{\"a\":", "{\"a\":[1,", "{\"jsonrpc\":\"2.0\",", "[{\"a\":1},"] {
        let sink = read(&cri("stdout", &format!("{cut}\n{}\n{}\nwords", call(1), call(2))));
        assert_eq!(ids(&sink).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2], "{cut}");
        assert_eq!(reasons(&sink)[0], (RejectReason::Truncated, LINE(1)), "{cut}");
    }
    let sink = read(&cri("stdout", &format!("{{\"a\":\"x\n{}\n{{\"b\" 1}}\n{}\n{{\"c\":", call(1), call(2))));
    assert_eq!(ids(&sink), [(1, LINE(2)), (2, LINE(4))]);
    let expected =
        [(RejectReason::Truncated, LINE(1)), (RejectReason::BadJson, LINE(3)), (RejectReason::Truncated, LINE(5))];
    assert_eq!(reasons(&sink), expected);
}

#[test]
fn objects_as_node_prints_them_are_text() {
    let printed = "{\n  jsonrpc: '2.0',\n  result: { kind: 'task' }\n}\n[\n  'x'\n]";
    let sink = read(&cri("stdout", &format!("{printed}\n{}", call(1))));
    assert_eq!(ids(&sink), [(1, LINE(8))]);
    assert!(sink.rejects.iter().all(|reject| reject.reason == RejectReason::UnknownText), "{:?}", sink.rejects);
}

#[test]
fn events_of_a_stream_are_joined_and_keep_their_time() {
    let stream = format!("event: x\ndata: {{\"jsonrpc\":\"2.0\",\ndata: \"id\":1}}\n\n: ping\ndata: {}\n", call(2));
    let sink = read(&cri("stdout", &stream));
    assert_eq!(ids(&sink), [(1, LINE(1)), (2, LINE(6))]);
    assert!(sink.records.iter().all(|r| matches!(r, Record::Document(d) if d.at.is_some())));
    assert_eq!(sink.rejects, vec![]);
}

#[test]
fn several_lines_in_one_record_are_lines() {
    let log = format!("INFO:httpx:one\nTraceback\n{}\r\n{}\ndata: {}\n\n", pretty(1), call(2), call(3));
    let record = serde_json::json!({"log": log, "date": AT}).to_string();
    let sink = read(&record);
    let others: Vec<u64> = sink.records[1..]
        .iter()
        .map(|r| if let Record::Document(d) = r { d.value["id"].as_u64().unwrap() } else { 0 })
        .collect();
    assert_eq!(others, [1, 2, 3]);
    assert_eq!(reasons(&sink), [(RejectReason::UnknownText, LINE(1))]);
    // Lambda's line ends.
    let record =
        serde_json::json!({"message": pretty(4).replace('\n', "\r"), "timestamp": 1, "eventId": "e"}).to_string();
    assert_eq!(ids(&read(&record)), [(4, LINE(1))]);
}

#[test]
fn lines_of_other_programs_are_one_reject_a_run() {
    let noise = cri("stdout", "one\ntwo\n  File \"x.py\"\nthree");
    let docker: String = (0..5)
        .map(|n| format!("{}\n", serde_json::json!({"log": format!("{n}\n"), "stream": "stdout", "time": AT})))
        .collect();
    let sink = read(&format!("{noise}{docker}{}{noise}", cri("stdout", &call(1))));
    let details: Vec<&str> = sink.rejects.iter().map(|reject| reject.detail.as_str()).collect();
    let run = |lines: u64| format!("{lines} line{}: text of no format known here", if lines == 1 { "" } else { "s" });
    assert_eq!(details, [run(9), run(4)]);
    assert_eq!(ids(&sink), [(1, LINE(10))]);
}

#[test]
fn a_line_in_pieces_without_end_is_one_reject_and_the_next_is_read() {
    let limits = small();
    let piece = "x".repeat(1000);
    let mut text = String::new();
    for _ in 0..5000 {
        text.push_str(&format!("{AT} stdout P {piece}\n"));
    }
    text.push_str(&format!("{AT} stdout F {piece}\n{AT} stdout F {}\n", call(1)));
    let sink = read_with(&text, &limits);
    assert_eq!(ids(&sink), [(1, LINE(5002))]);
    assert_eq!(reasons(&sink), [(RejectReason::TooLarge, LINE(1))]);
    // One that fits and is never completed is read at the end.
    let sink = read_with(&format!("{AT} stderr P {}\n{AT} stdout P {}\n", call(1), call(2)), &limits);
    assert_eq!(ids(&sink), [(1, LINE(1)), (2, LINE(2))]);
    assert_eq!(sink.rejects, vec![]);
}

#[test]
fn a_piece_is_joined_even_if_it_looks_like_a_line() {
    let line = "INFO:a2a.x:{\"a\":{}}{\"b\":1} INFO:httpx:y";
    for cut in 1..line.len() {
        let sink = read(&format!("{AT} stdout P {}\n{AT} stdout F {}\n", &line[..cut], &line[cut..]));
        let [Record::Log(log)] = &sink.records[..] else { panic!("{cut}: {:?}", sink.records) };
        assert_eq!(log.body, "{\"a\":{}}{\"b\":1} INFO:httpx:y", "{cut}");
    }
}

#[test]
fn streams_without_number_are_given_up_in_their_order_and_lose_nothing_whole() {
    let pods = 20_000;
    let record = |pod: u64| {
        format!(
            "{}\n",
            serde_json::json!({"log": call(pod), "logtag": "P", "kubernetes": {"pod_name": format!("p{pod}")}})
        )
    };
    let text: String = (0..pods).map(record).collect();
    let sink = read_with(&text, &small());
    assert_eq!(ids(&sink).iter().map(|(id, _)| *id).collect::<Vec<_>>(), (0..pods).collect::<Vec<_>>());
    assert_eq!(sink.rejects, vec![]);
}

#[test]
fn carriers_without_number_around_a_line_are_refused_at_once() {
    let prefix = format!("{AT} stdout F ");
    let sink = read(&format!("{}x\n{}\n", prefix.repeat(1_000_000), call(1)));
    assert_eq!(reasons(&sink), [(RejectReason::TooDeep, LINE(1))]);
    assert_eq!(ids(&sink), [(1, LINE(2))]);
    // Times alone are no carrier.
    let sink = read(&format!("{}x\n{}\n", format!("{AT} ").repeat(100_000), call(1)));
    assert_eq!(reasons(&sink), [(RejectReason::UnknownText, LINE(1))]);
    let mut nested = serde_json::json!({"log": call(1), "date": AT});
    for _ in 0..40 {
        nested = serde_json::json!({"message": nested, "kubernetes": {}});
    }
    let sink = read(&format!("{nested}\n{}\n", call(2)));
    assert_eq!(reasons(&sink), [(RejectReason::TooDeep, LINE(1))]);
    assert_eq!(ids(&sink), [(2, LINE(2))]);
}

#[test]
fn time_stays_linear_when_every_carried_line_looks_like_the_beginning_of_a_value() {
    for line in ["[", "{\"a\":", "{\"a\":[", "[[1],", "{", "[\"x\",", "{\"a\":1,", "data: {", "{}{}", "{\"a\":\"b"] {
        let line = format!("{AT} stdout F {line}\n");
        let text = line.repeat((2 << 20) / line.len());
        let begun = Clock::now();
        let sink = read(&format!("{text}\n{}\n", call(1)));
        assert!(begun.elapsed() < Duration::from_secs(60), "{line}: {:?}", begun.elapsed());
        assert!(!sink.rejects.is_empty());
    }
    // Values in a row, and a great one, on one line.
    let begun = Clock::now();
    let sink = read(&cri("stdout", &format!("{}{}", "{}".repeat(500_000), call(1))));
    assert_eq!(sink.records.len(), 1);
    let great = serde_json::json!({"jsonrpc": "2.0", "id": 2, "x": "y".repeat(20 << 20)}).to_string();
    let sink = read(&format!("{}\n", serde_json::json!({"log": great + "\n", "stream": "stdout", "time": AT})));
    assert_eq!(ids(&sink), [(2, LINE(1))]);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn impossible_times_are_none() {
    let event = |time: &str| {
        format!("{{\"message\":{},\"timestamp\":{time},\"eventId\":\"e\"}}\n", serde_json::Value::from(call(1)))
    };
    for time in ["-1", "-62135596800000", "9223372036854775807", "1e300", "0.5"] {
        let sink = read(&event(time));
        assert!(matches!(&sink.records[0], Record::Document(d) if d.at.is_none()), "{time}");
    }
    let sink = read(&format!("0001-01-01T00:00:00Z stdout F {}\n9999-99-99T stdout F {}\n", call(1), call(2)));
    assert_eq!(ids(&sink).len(), 2);
    assert!(sink.records.iter().all(|r| matches!(r, Record::Document(d) if d.at.is_none())));
}
