//! Times that a record was given and that are none.
//!
//! In: what stands where the time of a record does. Out: whether a time was given at all, whether one was meant, and the
//! reject of one that cannot be read. The record is kept, with what else is known of its time; reads no time itself.

use serde_json::Value;

use super::record::{Origin, Reject, RejectReason, Sink};

/// Numbers below this count nothing since the epoch that anybody keeps: they are durations, or times since a start.
const LEAST_EPOCH: f64 = 1e8;

/// Fewest digits of a text that means a time.
const FEWEST_DIGITS: usize = 4;

/// What Go prints for a time that was never set.
const NEVER: &str = "0001-01-01";

/// Longest text that means a time, in bytes.
const LONGEST: usize = 64;

/// Whether a member says a time, readable or not. Null, nothing, a dash and zero say none, and neither does the year 1, which
/// Go prints for a time that was never set.
pub(super) fn is_given(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => {
            let text = text.trim();
            !matches!(text, "" | "-" | "0") && !text.starts_with(NEVER)
        }
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        _ => false,
    }
}

/// Whether a member that may be something else, such as a duration, means a time: digits with what stands between them in
/// dates and times of day, or a number as large as those since the epoch.
pub(super) fn is_meant(value: &Value) -> bool {
    let is_epoch = |number: f64| !(0.0..LEAST_EPOCH).contains(&number);
    match value {
        Value::Number(number) => number.as_f64().is_some_and(is_epoch),
        Value::String(text) => is_time_like(text) || text.trim().parse().is_ok_and(is_epoch),
        _ => false,
    }
}

/// Whether a text has the look of a date or a time of day.
pub(super) fn is_time_like(text: &str) -> bool {
    let text = text.trim();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    text.len() <= LONGEST
        && !text.starts_with(NEVER)
        && begins
        && digits >= FEWEST_DIGITS
        && text.contains(['-', '/', ':'])
}

/// Whether a text has no other signs than times in digits: keys and ids have letters.
fn is_spelled_as_time(text: &str) -> bool {
    text.trim().bytes().all(|b| b.is_ascii_digit() || b"-/:.,+ TZ".contains(&b))
}

/// Takes note of the time of a record that cannot be read; to be called once a record. What was said is told if it has the
/// look of a time: anything else may be what nobody should read.
pub(super) fn note_bad(member: &str, said: Option<&Value>, origin: &Origin, sink: &mut dyn Sink) {
    let said = match said {
        Some(Value::Number(number)) => format!(" ({number})"),
        Some(Value::String(text)) if is_time_like(text) && is_spelled_as_time(text) => format!(" ({:?})", text.trim()),
        _ => String::new(),
    };
    let detail =
        format!("{member}{said} is no time, or none of the years 1970 to 2199; the record was kept without one");
    sink.reject(Reject { origin: origin.clone(), reason: RejectReason::BadTime, detail });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::decode::framing::collect::Collected;
    use crate::decode::record::{Position, Record};
    use crate::decode::{Limits, decode};
    use crate::instant::Instant;

    const BAD: &str = "2026-11-31T10:00:00Z";

    fn read(text: &str) -> Collected {
        let mut sink = Collected::default();
        decode(&Arc::from("test"), Box::new(text.as_bytes()), &Limits::default(), &mut sink);
        sink
    }

    fn at(record: &Record) -> Option<Instant> {
        match record {
            Record::Exchange(exchange) => exchange.started_at,
            Record::Span(span) => span.started_at,
            Record::Log(log) => log.at,
            Record::Document(document) => document.at,
        }
    }

    /// A line of each format, with a place for its time.
    fn lines(time: &str) -> Vec<String> {
        let call = r#"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"message/send\",\"params\":{}}"#;
        let half = r#""request":{"method":"GET","url":"http://h/","headers":[]}"#;
        [
            r#"{"startedDateTime":"TIME",HALF,"response":{"status":200}}"#,
            r#"{"startedDateTime":"TIME","time":5,HALF,"response":{"status":200,"content":{}},"cache":{},"timings":{}}"#,
            r#"{"timestamp":"TIME","method":"GET","url":"http://h/","status":200,"response_body":"x"}"#,
            r#"{"timestamp":"TIME","method":"GET","url":"http://h/","status":200}"#,
            r#"{"time_iso8601":"TIME","request":"POST / HTTP/1.1","status":"200","http_host":"h","request_time":"0.1","request_body":"CALL"}"#,
            r#"{"level":"info","time":"TIME","scope":"request","http.method":"GET","http.host":"h","http.path":"/","http.status":200}"#,
            "TIME\tinfo\trequest http.method=GET http.host=h http.path=/ http.status=200",
            r#"{"latencies":{"request":5},"request":{"method":"GET","url":"http://h/"},"response":{"status":200},"started_at":"TIME"}"#,
            r#"[TIME] "GET / HTTP/1.1" 200 - 0 5 3 1 "-" "curl" "id" "h" "127.0.0.1:80""#,
            r#"{"time":"TIME","level":"info","msg":"said"}"#,
            r#"{"event":"a2a.task.state","time":"TIME","a2a.task.id":"t"}"#,
            "time=TIME level=INFO msg=\"a2a call failed\" method=GetTask",
            "TIME INFO httpx said",
            r#"{"log":"CALL\n","stream":"stdout","time":"TIME"}"#,
            "TIME stdout F {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"message/send\",\"params\":{}}",
            r#"{"name":"s","context":{"trace_id":"0x0123456789abcdef0123456789abcdef","span_id":"0x0123456789abcdef"},"kind":"SpanKind.SERVER","parent_id":null,"start_time":"TIME","end_time":"TIME","status":{"status_code":"UNSET"},"attributes":{},"events":[],"links":[],"resource":{"attributes":{}}}"#,
        ]
        .map(|line| line.replace("TIME", time).replace("CALL", call).replace("HALF", half) + "\n")
        .to_vec()
    }

    #[test]
    fn what_was_said_instead_of_a_time_is_told_if_it_looks_like_one() {
        let told = |time: &str| {
            let line = format!("{{\"event\":\"a2a.task.state\",\"time\":{time},\"a2a.task.id\":\"t\"}}\n");
            read(&line).rejects.remove(0).detail
        };
        let rest = " is no time, or none of the years 1970 to 2199; the record was kept without one";
        assert_eq!(told("\"2026-11-31T10:00:00Z\""), format!("time (\"2026-11-31T10:00:00Z\"){rest}"));
        assert_eq!(told("-5"), format!("time (-5){rest}"));
        for secret in
            ["Bearer abcdefgh12345678", "sk-live-12345678", "user:pass1234", "9c858901-8a57-4791-81fe-4c455b099bc9"]
        {
            assert_eq!(told(&format!("\"{secret}\"")), format!("time{rest}"), "whatever it is");
        }
    }

    #[test]
    fn a_bad_time_is_told_once_with_its_place_and_costs_no_format_its_record() {
        for line in lines(BAD) {
            let sink = read(&line);
            let told: Vec<_> = sink.rejects.iter().map(|reject| (reject.reason, reject.origin.position)).collect();
            assert_eq!(told, [(RejectReason::BadTime, Position::Line(1))], "{line}");
            assert_eq!(sink.records.iter().map(at).collect::<Vec<_>>(), [None], "{line}");
        }
        for line in lines("2026-11-30T10:00:00Z") {
            let sink = read(&line);
            assert_eq!((sink.records.len(), sink.rejects.len()), (1, 0), "{line}");
            assert!(sink.records.iter().all(|record| at(record).is_some()), "{line}");
        }
    }

    #[test]
    fn no_time_is_no_bad_time() {
        for line in lines("-").into_iter().chain(lines("0001-01-01T00:00:00Z")) {
            let sink = read(&line);
            assert!(sink.rejects.iter().all(|reject| reject.reason != RejectReason::BadTime), "{line}");
        }
    }

    #[test]
    fn what_a_carrier_says_stands_in_for_a_bad_time() {
        let line = json!({"log": format!("{{\"time\":\"{BAD}\",\"level\":\"info\",\"msg\":\"said\"}}\n"), "stream": "stdout", "time": "2026-11-30T10:00:00Z"});
        let sink = read(&line.to_string());
        assert_eq!(sink.rejects.iter().map(|reject| reject.reason).collect::<Vec<_>>(), [RejectReason::BadTime]);
        assert_eq!(sink.records.iter().map(at).collect::<Vec<_>>(), [Instant::parse_rfc3339("2026-11-30T10:00:00Z")]);
        // And what was logged has a time of its own.
        let line = json!({"log": "{\"time\":\"2026-11-30T10:00:00Z\",\"level\":\"info\",\"msg\":\"said\"}\n", "stream": "stdout", "time": BAD});
        let sink = read(&line.to_string());
        assert_eq!((sink.records.len(), sink.rejects.len()), (1, 0));
    }

    #[test]
    fn nothing_zero_and_the_year_one_are_no_times_that_were_given() {
        for value in
            [json!(null), json!(""), json!(" "), json!("-"), json!(0), json!("0"), json!("0001-01-01T00:00:00Z")]
        {
            assert!(!is_given(Some(&value)), "{value}");
        }
        assert!(!is_given(None));
        for value in [json!("soon"), json!(-1), json!(12), json!("2026-11-31T10:00:00Z")] {
            assert!(is_given(Some(&value)), "{value}");
        }
    }

    #[test]
    fn dates_times_of_day_and_large_numbers_mean_times_and_durations_do_not() {
        for value in [
            json!("2026-11-31T10:00:00Z"),
            json!("31/Nov/2026:10:00:00 +0000"),
            json!("Mon, 31 Nov 2026 10:00:00 GMT"),
            json!("25:00:00"),
            json!(1e300),
            json!(-5),
            json!("99999999999999999999"),
        ] {
            assert!(is_meant(&value), "{value}");
        }
        for value in [
            json!("12ms"),
            json!("0.003"),
            json!(12.5),
            json!(99_999_999),
            json!("yesterday"),
            json!("a-b"),
            json!("1:2"),
            json!("x".repeat(80)),
            json!("0001-01-01T00:00:00Z"),
            json!({}),
        ] {
            assert!(!is_meant(&value), "{value}");
        }
    }
}
