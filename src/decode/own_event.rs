//! Own events written as NDJSON lines to log records.
//!
//! In: a JSON object with `event` and `time` (rules.md, Our own event names). Out: a log record with the other keys as
//! attributes, or the exchange that an `a2a.exchange` event carries. Never interprets a key beyond time and trace.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::otlp::{EXCHANGE_EVENT, deliver_log};
use super::record::{Attributes, LogRecord, Origin, Sink};
use super::times;
use crate::instant::Instant;

/// Start of every own event's name; lines with other events are not ours.
const NAME_PREFIX: &str = "a2a.";
/// Nesting beyond which an object is kept as a value instead of being flattened.
const MAX_DEPTH: usize = 16;
/// Longest name, in bytes, that stands before those of an object's members: they all repeat it.
const LONGEST_NAME: usize = 256;

/// Decodes an own event line. False, and nothing delivered, if it is none.
pub fn decode(value: &Value, origin: &Origin, sink: &mut dyn Sink) -> bool {
    let Some(members) = value.as_object() else { return false };
    let Some(name) = text(members, &["event"]).filter(|name| name.starts_with(NAME_PREFIX)) else { return false };
    let mut attributes = Vec::new();
    for (key, member) in members.iter().filter(|(key, _)| !CARRIER_KEYS.contains(&key.as_str())) {
        flatten(key, member, MAX_DEPTH, &mut attributes);
    }
    let log = LogRecord {
        origin: origin.clone(),
        at: TIME_KEYS.iter().find_map(|key| members.get(*key)).and_then(instant),
        event_name: name.to_owned(),
        severity: text(members, &["severity"]).unwrap_or_default().to_owned(),
        // An exchange may stand in the line itself, as other events do.
        body: members.get("body").unwrap_or(if name == EXCHANGE_EVENT { value } else { &Value::Null }).clone(),
        scope: String::new(),
        attributes: Attributes(attributes),
        resource: Arc::default(),
        trace_id: text(members, &TRACE_KEYS).and_then(|id| digits(id, 32)).unwrap_or_default(),
        span_id: text(members, &SPAN_KEYS).and_then(|id| digits(id, 16)).unwrap_or_default(),
    };
    sink.recognised(&origin.source, "own-event");
    let given = TIME_KEYS.iter().find(|key| times::is_given(members.get(**key)));
    if let Some(key) = given.filter(|_| log.at.is_none()) {
        times::note_bad(key, members.get(*key), origin, sink);
    }
    deliver_log(log, sink);
    true
}

/// Names of the event time.
const TIME_KEYS: [&str; 2] = ["time", "timestamp"];
/// Names of the trace id.
const TRACE_KEYS: [&str; 2] = ["trace_id", "traceId"];
/// Names of the span id.
const SPAN_KEYS: [&str; 2] = ["span_id", "spanId"];
/// Keys that belong to the record itself and are no attributes.
const CARRIER_KEYS: [&str; 9] =
    ["event", "time", "timestamp", "severity", "body", "trace_id", "traceId", "span_id", "spanId"];

/// First text member by any of its names.
fn text<'v>(members: &'v Map<String, Value>, names: &[&str]) -> Option<&'v str> {
    names.iter().find_map(|name| members.get(*name)).and_then(Value::as_str)
}

/// Hex digits of an id in lower case; none if they are not `count` digits, or all zero.
fn digits(id: &str, count: usize) -> Option<String> {
    let is_id = id.len() == count && id.bytes().all(|b| b.is_ascii_hexdigit()) && id.bytes().any(|b| b != b'0');
    is_id.then(|| id.to_ascii_lowercase())
}

/// Joins the keys of nested objects with dots, as attributes are named.
fn flatten(key: &str, value: &Value, levels: usize, attributes: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if levels > 0 && key.len() <= LONGEST_NAME => {
            for (inner, value) in members {
                flatten(&format!("{key}.{inner}"), value, levels - 1, attributes);
            }
        }
        other => attributes.push((key.to_owned(), other.clone())),
    }
}

/// A time as RFC 3339, or as an epoch number of any unit, which may stand in a string.
fn instant(value: &Value) -> Option<Instant> {
    match value {
        Value::Number(number) => {
            number.as_i64().and_then(exact_nanos).or_else(|| number.as_f64().and_then(Instant::from_epoch_number))
        }
        Value::String(text) => match text.trim().parse::<i64>() {
            Ok(whole) => exact_nanos(whole).or_else(|| Instant::from_epoch_number(whole as f64)),
            Err(_) => {
                Instant::parse_rfc3339(text).or_else(|| text.trim().parse().ok().and_then(Instant::from_epoch_number))
            }
        },
        _ => None,
    }
}

/// An integer that can only be nanoseconds, which as a float would lose its last digits.
fn exact_nanos(number: i64) -> Option<Instant> {
    Instant::from_nanos(number).filter(|_| number >= 10_000_000_000_000_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decode::record::{Position, Record, Reject, RejectReason};

    #[derive(Default)]
    struct Collected(Vec<Record>, Vec<Reject>, Vec<&'static str>);

    impl Sink for Collected {
        fn record(&mut self, record: Record) {
            self.0.push(record);
        }
        fn reject(&mut self, reject: Reject) {
            self.1.push(reject);
        }
        fn recognised(&mut self, _: &Arc<str>, format: &'static str) {
            self.2.push(format);
        }
    }

    fn read(line: &Value) -> (bool, Collected) {
        let mut sink = Collected::default();
        let origin = Origin { source: "test".into(), position: Position::Line(3) };
        (decode(line, &origin, &mut sink), sink)
    }

    fn log(line: &Value) -> LogRecord {
        let (is_ours, sink) = read(line);
        assert!(is_ours, "{line}");
        assert!(sink.1.is_empty(), "{line}");
        assert_eq!(sink.2, ["own-event"], "{line}");
        match sink.0.into_iter().next() {
            Some(Record::Log(log)) => *log,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_event_line_is_a_log_record_with_its_other_keys_as_attributes() {
        let log = log(&json!({
            "event": "a2a.task.state", "time": "2026-11-30T06:15:34.786336Z", "a2a.task.id": "t1", "a2a.local": true,
            "service.name": "orchestrator", "a2a.task.artifact_ids": ["x", "y"],
            "trace_id": "B0682A9E09F811C7107131162645973A", "span_id": "35fde059646868aa"
        }));
        assert_eq!(log.event_name, "a2a.task.state");
        assert_eq!(log.at, Some(Instant(1_796_019_334_786_336_000)));
        assert_eq!(log.origin.position, Position::Line(3));
        assert_eq!(log.trace_id, "b0682a9e09f811c7107131162645973a");
        assert_eq!(log.span_id, "35fde059646868aa");
        assert_eq!(log.attributes.0.len(), 4);
        assert_eq!(log.attributes.get("a2a.local"), Some(&json!(true)));
        assert_eq!(log.attributes.get("service.name"), Some(&json!("orchestrator")));
        assert_eq!(log.attributes.get("a2a.task.artifact_ids"), Some(&json!(["x", "y"])));
    }

    #[test]
    fn nested_objects_are_flattened_with_dots() {
        let log = log(
            &json!({"event": "a2a.push.delivery", "a2a": {"task": {"id": "t1"}, "push": {"kid": "k"}}, "url": {"full": "u"}}),
        );
        assert_eq!(log.attributes.get("a2a.task.id"), Some(&json!("t1")));
        assert_eq!(log.attributes.get("a2a.push.kid"), Some(&json!("k")));
        assert_eq!(log.attributes.get("url.full"), Some(&json!("u")));
        assert_eq!(log.at, None);
    }

    #[test]
    fn the_time_is_read_in_any_unit_and_to_the_nanosecond() {
        for (time, nanos) in [
            (json!(1_796_019_334), 1_796_019_334_000_000_000),
            (json!(1_796_019_334.5), 1_796_019_334_500_000_000),
            (json!(1_796_019_334_786_i64), 1_796_019_334_786_000_000),
            (json!("1796019334786336"), 1_796_019_334_786_336_000),
            (json!(1_796_019_334_786_335_681_i64), 1_796_019_334_786_335_681),
            (json!("1796019334786335681"), 1_796_019_334_786_335_681),
            (json!("2026-11-30T07:15:34+01:00"), 1_796_019_334_000_000_000),
        ] {
            assert_eq!(log(&json!({"event": "a2a.task.state", "time": time})).at, Some(Instant(nanos)), "{time}");
        }
        for time in [json!(null), json!(""), json!([1]), json!(0)] {
            assert_eq!(log(&json!({"event": "a2a.task.state", "time": time})).at, None, "{time}");
        }
    }

    #[test]
    fn a_time_that_is_none_is_told_once_and_costs_the_event_nothing_else() {
        for time in [json!("soon"), json!(-1), json!(1e300), json!("NaN"), json!("2026-11-31T10:00:00Z")] {
            let (is_ours, sink) = read(&json!({"event": "a2a.task.state", "time": time, "a2a.task.id": "t1"}));
            let reasons: Vec<_> = sink.1.iter().map(|reject| (reject.reason, reject.origin.position)).collect();
            assert_eq!((is_ours, reasons), (true, vec![(RejectReason::BadTime, Position::Line(3))]), "{time}");
            let [Record::Log(log)] = sink.0.as_slice() else { panic!("{:?}", sink.0) };
            assert_eq!((log.at, log.attributes.get("a2a.task.id")), (None, Some(&json!("t1"))), "{time}");
        }
    }

    #[test]
    fn a_bad_trace_id_is_none() {
        for id in ["", "xyz", "00000000000000000000000000000000", "b0682a9e09f811c7107131162645973ä"] {
            assert_eq!(log(&json!({"event": "a2a.task.state", "trace_id": id})).trace_id, "", "{id}");
        }
    }

    #[test]
    fn lines_with_other_events_are_not_ours() {
        for line in
            [json!({"event": "login"}), json!({"event": 5}), json!({"time": 1}), json!(["a2a.task.state"]), json!(null)]
        {
            let (is_ours, sink) = read(&line);
            assert!(!is_ours && sink.0.is_empty() && sink.1.is_empty(), "{line}");
        }
    }

    #[test]
    fn an_exchange_event_yields_its_exchange_or_a_reject() {
        let exchange = json!({"request": {"method": "POST", "url": "http://a/x"}, "response": {"status": 200}});
        for body in [exchange.clone(), Value::from(exchange.to_string())] {
            let line = json!({"event": "a2a.exchange", "time": 1_796_019_334, "trace_id": "b0682a9e09f811c7107131162645973a", "body": body});
            let (_, sink) = read(&line);
            let Some(Record::Exchange(exchange)) = sink.0.first() else { panic!("{:?}", sink.1) };
            assert_eq!(exchange.url, "http://a/x");
            assert_eq!(exchange.started_at, Some(Instant(1_796_019_334_000_000_000)));
            assert_eq!(exchange.trace_id, "b0682a9e09f811c7107131162645973a");
        }
        let mut flat = exchange.clone();
        flat["event"] = json!("a2a.exchange");
        assert!(matches!(read(&flat).1.0.first(), Some(Record::Exchange(_))));
        let (is_ours, sink) = read(&json!({"event": "a2a.exchange", "body": "secret {"}));
        assert!(is_ours && sink.0.is_empty());
        assert_eq!(sink.1[0].reason, RejectReason::UnknownShape);
        assert!(!sink.1[0].detail.contains("secret"));
    }

    #[test]
    fn deep_objects_are_kept_as_values_below_the_limit() {
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!({ "k": deep });
        }
        let log = log(&json!({"event": "a2a.task.state", "deep": deep}));
        assert_eq!(log.attributes.0.len(), 1);
    }
}
