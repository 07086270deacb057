//! Lines of JSON loggers and gateways to log records.
//!
//! In: an object that no other reader claims, and what its framing said. Out: a log record whose body is the object, if
//! something about it is that of a log line: a time, a level, a sentence, a logger. Never says what the line is about, and
//! leaves every other object alone.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::exchange::instant;
use super::frame::Frame;
use super::headers::hex_id;
use super::record::{Attributes, LogRecord, Origin};
use super::times;
use crate::instant::Instant;

/// Names of the time, the surest first.
const TIME_KEYS: [&str; 15] = [
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "Timestamp",
    "@t",
    "asctime",
    "time_iso8601",
    "datetime",
    "eventTime",
    "start_time",
    "started_at",
    "occurred_at",
    "date",
    "msec",
];
/// Names of the level.
const LEVEL_KEYS: [&str; 9] =
    ["level", "severity", "LogLevel", "log.level", "levelname", "lvl", "loglevel", "severity_text", "@l"];
/// Names of the sentence.
const MESSAGE_KEYS: [&str; 7] = ["message", "msg", "Message", "@m", "@mt", "RenderedMessage", "event"];
/// Names of the logger.
const LOGGER_KEYS: [&str; 8] =
    ["logger", "logger_name", "log.logger", "Category", "SourceContext", "target", "scope", "name"];
/// Names of the trace id.
const TRACE_KEYS: [&str; 7] =
    ["trace_id", "trace.id", "traceId", "TraceId", "otelTraceID", "@tr", "logging.googleapis.com/trace"];
/// Names of the span id.
const SPAN_KEYS: [&str; 7] =
    ["span_id", "span.id", "spanId", "SpanId", "otelSpanID", "@sp", "logging.googleapis.com/spanId"];
/// Objects in which loggers put what the program gave them, and whose members stand for themselves.
const HOLDERS: [&str; 4] = ["fields", "State", "extra", "attributes"];
/// Lists of such objects: those around the line (`tracing`'s spans, .NET's scopes).
const LISTS: [&str; 2] = ["spans", "Scopes"];
/// Members taken out of [`HOLDERS`] and [`LISTS`]: more is no log line of a person's making.
const MEMBERS: usize = 256;

/// Reads a log line; gives the object back if it is none.
pub(super) fn read(
    mut map: Map<String, Value>,
    origin: &Origin,
    frame: &Frame<'_>,
) -> Result<LogRecord, Map<String, Value>> {
    let own_time = TIME_KEYS.iter().filter_map(|key| map.get(*key)).find_map(time);
    let level = LEVEL_KEYS.iter().find_map(|key| map.get(*key)).and_then(level);
    let logger = first_text(&map, &LOGGER_KEYS).unwrap_or_default().to_owned();
    let is_said = first_text(&map, &MESSAGE_KEYS).is_some() || map.get("fields").is_some_and(Value::is_object);
    let has_bad_time = || bad_time(&map).is_some_and(|key| map.get(key).is_some_and(Value::is_string));
    let is_timed = own_time.or(frame.at).is_some() || has_bad_time();
    let is_line = if is_timed {
        let other_than_time = |key: &String| !TIME_KEYS.contains(&key.as_str());
        map.iter().any(|(key, value)| other_than_time(key) && !value.is_object() && !value.is_array())
    } else {
        level.is_some() && (is_said || !logger.is_empty())
    };
    if !is_line {
        return Err(map);
    }
    let mut attributes = Vec::new();
    lift(&mut map, &mut attributes);
    if let Some(text) = first_text(&map, &MESSAGE_KEYS)
        && !attributes.iter().any(|(key, _)| key == "message")
    {
        attributes.push(("message".to_owned(), Value::from(text)));
    }
    let attributes = Attributes(attributes);
    let (trace_id, span_id) = trace_context(&map, &attributes);
    Ok(LogRecord {
        origin: origin.clone(),
        at: own_time.or(frame.at),
        event_name: first_text(&map, &["event.name", "eventName", "event_name"]).unwrap_or_default().to_owned(),
        severity: level.unwrap_or_default(),
        body: Value::Object(map),
        scope: logger,
        attributes,
        resource: Arc::default(),
        trace_id,
        span_id,
    })
}

/// The member that means the time of a line, of which none can be read.
pub(super) fn bad_time(map: &Map<String, Value>) -> Option<&'static str> {
    let given = || TIME_KEYS.iter().filter_map(|key| Some((*key, map.get(*key)?)));
    let is_known = given().any(|(_, value)| time(value).is_some());
    given().find(|(_, value)| !is_known && times::is_meant(value)).map(|(key, _)| key)
}

/// First text that is not empty, by any of its names.
fn first_text<'m>(map: &'m Map<String, Value>, names: &[&str]) -> Option<&'m str> {
    names.iter().filter_map(|name| map.get(*name)?.as_str()).find(|text| !text.is_empty())
}

/// A time in any of the forms of exchanges, or as Python's `asctime` writes it: a comma before the milliseconds.
fn time(value: &Value) -> Option<Instant> {
    instant(value).or_else(|| Instant::parse_rfc3339(&value.as_str()?.replacen(',', ".", 1)))
}

/// A level as a word in upper case; bunyan and pino count in tens.
fn level(value: &Value) -> Option<String> {
    const LONGEST: usize = 16;
    match value {
        Value::String(word) if (1..=LONGEST).contains(&word.len()) => Some(word.to_ascii_uppercase()),
        Value::Number(number) => {
            let words = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];
            let tens = number.as_u64().filter(|level| level % 10 == 0)? / 10;
            words.get(usize::try_from(tens).ok()?.checked_sub(1)?).map(|word| (*word).to_owned())
        }
        _ => None,
    }
}

/// Takes the members of [`HOLDERS`] and [`LISTS`] out of the object.
fn lift(map: &mut Map<String, Value>, attributes: &mut Vec<(String, Value)>) {
    let mut take = |members: Map<String, Value>| {
        let room = MEMBERS.saturating_sub(attributes.len());
        attributes.extend(members.into_iter().take(room));
    };
    for name in HOLDERS {
        if map.get(name).is_some_and(Value::is_object)
            && let Some(Value::Object(members)) = map.remove(name)
        {
            take(members);
        }
    }
    for name in LISTS {
        if map.get(name).is_some_and(Value::is_array)
            && let Some(Value::Array(items)) = map.remove(name)
        {
            // The innermost stands last and says most of the line.
            items.into_iter().rev().for_each(|item| {
                if let Value::Object(members) = item {
                    take(members);
                }
            });
        }
    }
}

/// Trace and span that were active, from the line itself or from what was around it.
fn trace_context(map: &Map<String, Value>, attributes: &Attributes) -> (String, String) {
    let find = |names: &[&str], inside: &str| {
        let nested = || map.get(inside)?.get("id")?.as_str();
        let lifted = || names.iter().find_map(|name| attributes.get(name)?.as_str());
        // Cloud Logging writes `projects/P/traces/T`.
        let text = first_text(map, names).or_else(nested).or_else(lifted)?;
        Some(text.rsplit('/').next().unwrap_or(text).replace('-', ""))
    };
    let trace = find(&TRACE_KEYS, "trace").and_then(|text| hex_id::<32>(&text)).unwrap_or_default();
    let span = find(&SPAN_KEYS, "span").and_then(|text| hex_id::<16>(&text)).unwrap_or_default();
    (trace, span)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decode::framing::collect::Collected;

    fn line(value: Value, frame: &Frame<'_>) -> Option<LogRecord> {
        let Value::Object(map) = value else { panic!("{value}") };
        let before = map.clone();
        match read(map, &Collected::origin(), frame) {
            Ok(record) => Some(record),
            Err(map) => {
                assert_eq!(map, before, "an object that is no log line is given back whole");
                None
            }
        }
    }

    fn own(value: Value) -> LogRecord {
        line(value.clone(), &Frame::default()).unwrap_or_else(|| panic!("{value}"))
    }

    /// 2026-11-30T06:15:34.5Z
    const AT: Option<Instant> = Some(Instant(1_796_019_334_500_000_000));

    #[test]
    fn the_common_loggers_give_time_level_logger_and_sentence() {
        for (logger, value) in [
            (
                "slog",
                json!({"time": "2026-11-30T06:15:34.5Z", "level": "INFO", "msg": "said", "logger": "l", "taskID": "t"}),
            ),
            (
                "zap",
                json!({"level": "info", "ts": 1_796_019_334.5, "logger": "l", "caller": "x.go:1", "msg": "said", "taskID": "t"}),
            ),
            (
                "pino",
                json!({"level": 30, "time": 1_796_019_334_500_i64, "pid": 1, "name": "l", "msg": "said", "taskID": "t"}),
            ),
            (
                "python-json-logger",
                json!({"asctime": "2026-11-30 06:15:34,500", "levelname": "INFO", "name": "l", "message": "said", "taskID": "t"}),
            ),
            (
                "structlog",
                json!({"event": "said", "level": "info", "logger": "l", "timestamp": "2026-11-30T06:15:34.500000Z", "taskID": "t"}),
            ),
            (
                "tracing",
                json!({"timestamp": "2026-11-30T06:15:34.500000Z", "level": "INFO", "fields": {"message": "said", "taskID": "t"}, "target": "l"}),
            ),
            (
                ".NET",
                json!({"Timestamp": "2026-11-30T06:15:34.500Z", "EventId": 0, "LogLevel": "Info", "Category": "l", "Message": "said", "State": {"Message": "said", "taskID": "t"}}),
            ),
            (
                "ECS",
                json!({"@timestamp": "2026-11-30T06:15:34.500Z", "log.level": "info", "log.logger": "l", "message": "said", "taskID": "t"}),
            ),
        ] {
            let record = own(value);
            assert_eq!((record.at, record.severity.as_str(), record.scope.as_str()), (AT, "INFO", "l"), "{logger}");
            assert_eq!(record.attributes.text("message").as_deref(), Some("said"), "{logger}");
            let task = record.attributes.get("taskID").or_else(|| record.body.get("taskID"));
            assert_eq!(task, Some(&json!("t")), "{logger}");
        }
    }

    #[test]
    fn a_line_without_a_time_is_one_by_its_level_and_sentence_and_takes_the_frames_time() {
        let console = json!({"EventId": 0, "LogLevel": "Information", "Category": "A2A", "Message": "said"});
        assert_eq!(own(console.clone()).at, None);
        let frame = Frame { at: AT, ..Frame::default() };
        assert_eq!(line(console, &frame).unwrap().at, AT);
        assert_eq!(line(json!({"x": 1}), &frame).unwrap().at, AT, "what stands in a log is a line of it");
        let earlier = json!({"time": "2026-11-30T06:15:34.5Z", "x": 1});
        assert_eq!(line(earlier, &Frame { at: Some(Instant(5)), ..Frame::default() }).unwrap().at, AT);
    }

    #[test]
    fn objects_without_a_sign_of_a_log_line_are_given_back() {
        for value in [
            json!({}),
            json!({"x": 1, "y": "z"}),
            json!({"t": 1.5, "step": "s01", "what": "card fetched"}),
            json!({"time": "2026-11-30T06:15:34Z"}),
            json!({"time": "2026-11-30T06:15:34Z", "spec": {}}),
            json!({"time": "soon", "x": 1}),
            json!({"time": -1, "x": 1}),
            json!({"time": 1e300, "x": 1}),
            json!({"level": "info"}),
            json!({"level": 35, "msg": "m"}),
            json!({"level": {}, "msg": "m"}),
            json!({"msg": "m"}),
            json!({"kind": "Deployment", "name": "n"}),
        ] {
            assert_eq!(line(value.clone(), &Frame::default()), None, "{value}");
        }
    }

    #[test]
    fn a_date_that_is_none_is_a_sign_as_well_and_another_time_stands_in_for_it() {
        let bad = own(json!({"time": "2026-11-31T06:15:34Z", "x": 1}));
        assert_eq!((bad.at, bad.body.as_object().and_then(bad_time)), (None, Some("time")));
        let known = own(json!({"time": "06:15:34", "timestamp": "2026-11-30T06:15:34.5Z", "x": 1}));
        assert_eq!((known.at, known.body.as_object().and_then(bad_time)), (AT, None));
        // Durations, and what was never set.
        for time in [json!(12.5), json!("12ms"), json!(null), json!("0001-01-01T00:00:00Z"), json!("-")] {
            let line = json!({"time": time, "level": "info", "msg": "m"});
            assert_eq!(bad_time(line.as_object().unwrap()), None, "{time}");
        }
    }

    #[test]
    fn the_active_trace_is_read_where_loggers_put_it() {
        let (trace, span) = ("b0682a9e09f811c7107131162645973a", "35fde059646868aa");
        for value in [
            json!({"trace_id": trace, "span_id": span}),
            json!({"trace.id": trace, "span.id": span}),
            json!({"trace": {"id": trace}, "span": {"id": span}}),
            json!({"otelTraceID": trace.to_uppercase(), "otelSpanID": span}),
            json!({"logging.googleapis.com/trace": format!("projects/p/traces/{trace}"), "logging.googleapis.com/spanId": span}),
            json!({"Scopes": [{"Message": "outer"}, {"TraceId": trace, "SpanId": span}]}),
            json!({"attributes": {"trace_id": trace, "span_id": span}}),
        ] {
            let mut value = value;
            value["time"] = json!("2026-11-30T06:15:34Z");
            value["level"] = json!("info");
            let record = own(value.clone());
            assert_eq!((record.trace_id.as_str(), record.span_id.as_str()), (trace, span), "{value}");
        }
        let bad = own(json!({"level": "info", "msg": "m", "trace_id": "12", "span_id": 5}));
        assert_eq!((bad.trace_id.as_str(), bad.span_id.as_str()), ("", ""));
    }

    #[test]
    fn members_that_are_lifted_are_bounded() {
        let many: Map<String, Value> = (0..2000).map(|i| (format!("k{i}"), json!(i))).collect();
        let record = own(json!({"level": "info", "msg": "m", "fields": many.clone(), "spans": [many]}));
        assert!(record.attributes.0.len() <= MEMBERS + 1);
    }
}
