//! The exchange line: one HTTP exchange as one JSON object, the shape that recorders of this program write.
//!
//! In: an object with `startedDateTime`, `request` and `response`. Out: an [`Exchange`]. Never guesses: other spellings
//! are for `home_made`.

use serde_json::{Map, Value};

use super::Limits;
use super::body::{self, ReadBody};
use super::headers::{absolute_url, hex_id, read as read_headers, trace_context};
use super::record::{Body, Chunk, Exchange, Headers, Observer, Origin, Reject, RejectReason, Sink};
use super::times;
use crate::instant::Instant;

/// Whether an object is an exchange line.
pub(super) fn is_exchange(map: &Map<String, Value>) -> bool {
    let has_time = map.contains_key("startedDateTime") || map.contains_key("start_unix_ns");
    has_time && has_both_sides(map)
}

/// Whether an object has a request and its answer, in the spelling of exchange lines.
pub(super) fn has_both_sides(map: &Map<String, Value>) -> bool {
    // A status under another name is a home-made line's; no answer is one too.
    let has_request = map.get("request").is_some_and(|r| r["method"].is_string() && r["url"].is_string());
    let response = map.get("response").unwrap_or(&Value::Null);
    has_request && (response.is_null() || response.get("status").is_some())
}

/// Reads an exchange line.
pub(super) fn read(
    mut map: Map<String, Value>,
    origin: &Origin,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Option<Exchange> {
    let mut exchange = empty(origin);
    read_times(&map, &mut exchange);
    note_time(&map, &exchange, sink);
    read_parties(&map, &mut exchange);
    exchange.chunks = read_chunks(map.remove("chunks"), exchange.started_at);
    exchange.client_disconnected = flag(&map, "client_disconnected");
    exchange.truncated = flag(&map, "truncated");
    if let Some(Value::Object(mut request)) = map.remove("request") {
        exchange.method = text(&request, "method").to_ascii_uppercase();
        exchange.request_headers = request.get("headers").map(read_headers).unwrap_or_default();
        let host = exchange.request_headers.get("host").unwrap_or_default();
        exchange.url = absolute_url(&text(&request, "url"), "", host);
        let read = read_body(request.remove("body"), &exchange.request_headers, origin, limits, sink);
        exchange.truncated |= read.truncated;
        exchange.request_body = read.body;
    }
    if let Some(Value::Object(mut response)) = map.remove("response") {
        exchange.status = status(response.get("status"));
        exchange.response_headers = response.get("headers").map(read_headers).unwrap_or_default();
        let read = read_body(response.remove("body"), &exchange.response_headers, origin, limits, sink);
        exchange.truncated |= read.truncated;
        exchange.response_body = read.body;
    }
    finish(&mut exchange, &text(&map, "trace_id"), sink).then_some(exchange)
}

fn read_times(map: &Map<String, Value>, exchange: &mut Exchange) {
    let precise = map.get("start_unix_ns").and_then(nanoseconds);
    exchange.started_at = precise.or_else(|| map.get("startedDateTime").and_then(instant));
    exchange.ended_at = ended(exchange.started_at, map.get("time_ms").and_then(Value::as_f64));
}

/// Turns a time that was given and is none into a reject; the exchange is kept. The precise time counts, whatever the other
/// says.
pub(super) fn note_time(map: &Map<String, Value>, exchange: &Exchange, sink: &mut dyn Sink) {
    let precise = map.get("start_unix_ns");
    if times::is_given(precise) && precise.and_then(nanoseconds).is_none() {
        times::note_bad("start_unix_ns", precise, &exchange.origin, sink);
    } else if exchange.started_at.is_none() && times::is_given(map.get("startedDateTime")) {
        times::note_bad("startedDateTime", map.get("startedDateTime"), &exchange.origin, sink);
    }
}

fn read_parties(map: &Map<String, Value>, exchange: &mut Exchange) {
    exchange.leg = text(map, "leg");
    exchange.client = text(map, "client");
    exchange.server = text(map, "server");
    exchange.observer = Observer::parse(&text(map, "observer")).or_else(|| implied_observer(exchange));
    exchange.observer_name = text(map, "observer_name");
    exchange.agent = text(map, "agent");
}

/// Who saw it, where the line does not say: rules.md, Observer.
pub(super) fn implied_observer(exchange: &Exchange) -> Option<Observer> {
    if exchange.leg == "webhook" {
        Some(Observer::Receiver)
    } else if !exchange.client.is_empty() && !exchange.server.is_empty() {
        Some(Observer::Gateway)
    } else {
        None
    }
}

/// An exchange of which nothing is known yet.
pub fn empty(origin: &Origin) -> Exchange {
    Exchange {
        origin: origin.clone(),
        started_at: None,
        ended_at: None,
        leg: String::new(),
        client: String::new(),
        server: String::new(),
        observer: None,
        observer_name: String::new(),
        agent: String::new(),
        trace_id: String::new(),
        span_id: String::new(),
        method: String::new(),
        url: String::new(),
        request_headers: Headers::default(),
        request_body: Body::Absent,
        status: None,
        response_headers: Headers::default(),
        response_body: Body::Absent,
        chunks: Vec::new(),
        client_disconnected: false,
        truncated: false,
        line_keys: Vec::new(),
    }
}

/// Fills in what follows from the rest; false, with a reject, if the exchange is of no use.
pub(super) fn finish(exchange: &mut Exchange, trace_id: &str, sink: &mut dyn Sink) -> bool {
    let mut reject = |reason, detail: &str| {
        sink.reject(Reject { origin: exchange.origin.clone(), reason, detail: detail.to_owned() });
    };
    if exchange.url.is_empty() {
        reject(RejectReason::MissingField, "exchange without url");
        return false;
    }
    let (header_trace, header_span) = trace_context(&exchange.request_headers);
    match hex_id::<32>(&trace_id.replace('-', "")) {
        Some(trace) => {
            exchange.trace_id = trace;
            // The parent belongs to the trace of the header, no other.
            if exchange.trace_id == header_trace {
                exchange.span_id = header_span;
            }
        }
        None => {
            if !trace_id.is_empty() {
                reject(RejectReason::BadField, "trace id is not 32 hex digits");
            }
            (exchange.trace_id, exchange.span_id) = (header_trace, header_span);
        }
    }
    if exchange.response_body == Body::Absent && !exchange.chunks.is_empty() {
        let joined: String = exchange.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        let read = body::of_text(joined);
        if let Some((reason, detail)) = read.problem {
            reject(reason, detail);
            // The pieces joined are what could not be read.
            exchange.chunks.clear();
        }
        exchange.truncated |= read.truncated;
        exchange.response_body = read.body;
    }
    true
}

/// Reads a body, and takes note of what is wrong with it.
pub(super) fn read_body(
    value: Option<Value>,
    headers: &Headers,
    origin: &Origin,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> ReadBody {
    let read = body::read(value.unwrap_or_default(), headers, limits.max_record_bytes);
    note_problem(&read, origin, sink);
    read
}

/// Turns the problem of a body into a reject.
pub(super) fn note_problem(read: &ReadBody, origin: &Origin, sink: &mut dyn Sink) {
    if let Some((reason, detail)) = read.problem {
        sink.reject(Reject { origin: origin.clone(), reason, detail: detail.to_owned() });
    }
}

/// Reads `[{t_ms, text}]`.
pub(super) fn read_chunks(value: Option<Value>, started_at: Option<Instant>) -> Vec<Chunk> {
    let Some(Value::Array(list)) = value else { return Vec::new() };
    let chunk = |value: Value| {
        let Value::Object(mut map) = value else { return None };
        let at = map.get("t_ms").and_then(Value::as_f64);
        let Some(Value::String(text)) = map.remove("text") else { return None };
        Some(Chunk { at: started_at.zip(at).map(|(start, ms)| start.plus_millis(ms)), text })
    };
    list.into_iter().filter_map(chunk).collect()
}

/// A time as text or as an epoch number of any unit.
pub(super) fn instant(value: &Value) -> Option<Instant> {
    match value {
        Value::String(text) => {
            Instant::parse_rfc3339(text).or_else(|| Instant::from_epoch_number(text.trim().parse().ok()?))
        }
        // A double holds no nanoseconds of today.
        Value::Number(number) => nanoseconds(value).or_else(|| Instant::from_epoch_number(number.as_f64()?)),
        _ => None,
    }
}

/// A whole number of nanoseconds since the epoch, as a number or in a string, of the years 2001 to 2199.
pub(super) fn nanoseconds(value: &Value) -> Option<Instant> {
    let number = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Instant::from_nanos(number).filter(|_| number >= 1_000_000_000_000_000_000)
}

/// The end by start and duration in milliseconds; recorders write -1 for unknown.
pub(super) fn ended(start: Option<Instant>, duration_ms: Option<f64>) -> Option<Instant> {
    let duration = duration_ms.filter(|ms| *ms >= 0.0)?;
    Some(start?.plus_millis(duration))
}

/// A status as a number or at the head of a string; recorders write 0 for a call without an answer.
pub(super) fn status(value: Option<&Value>) -> Option<u16> {
    let number = match value? {
        Value::Number(number) => {
            number.as_u64().or_else(|| number.as_f64().filter(|f| f.fract() == 0.0).map(|f| f as u64))?
        }
        Value::String(text) => text.split_whitespace().next()?.parse().ok()?,
        _ => return None,
    };
    u16::try_from(number).ok().filter(|code| (100..=599).contains(code))
}

/// A member as text; empty if it is none.
pub(super) fn text(map: &Map<String, Value>, key: &str) -> String {
    map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decode::framing::collect::Collected;

    fn one(value: Value) -> Exchange {
        let mut sink = Collected::default();
        let Value::Object(map) = value else { panic!("{value}") };
        assert!(is_exchange(&map));
        let exchange = read(map, &Collected::origin(), &Limits::default(), &mut sink).unwrap();
        assert_eq!(sink.rejects, vec![]);
        exchange
    }

    #[test]
    fn a_captured_line_is_read_field_by_field() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
        let text = std::fs::read_to_string(path).unwrap();
        let first = one(serde_json::from_str(text.lines().next().unwrap()).unwrap());
        assert_eq!(first.started_at, Some(Instant(1_796_019_334_786_335_680)));
        // time_ms is 35.555.
        assert_eq!(first.ended_at, Some(Instant(1_796_019_334_786_335_680 + 35_555_000)));
        assert_eq!(
            (first.leg.as_str(), first.client.as_str(), first.server.as_str()),
            ("agent", "127.0.0.1:57340", "127.0.0.1:41001")
        );
        assert_eq!(first.observer, Some(Observer::Gateway));
        assert_eq!((first.method.as_str(), first.status), ("GET", Some(200)));
        assert_eq!(first.url, "http://127.0.0.1:41001/.well-known/agent-card.json");
        assert_eq!(
            (first.trace_id.as_str(), first.span_id.as_str()),
            ("26f39c4f951581bb9a62238268576327", "dec341acd2f7b58e")
        );
        assert_eq!(first.response_headers.get("content-length"), Some("690"));
        assert_eq!(first.response_body.as_text().map(str::len), Some(690));
        assert_eq!(first.request_body, Body::Absent);
    }

    #[test]
    fn the_observer_is_explicit_else_implied_by_leg_and_addresses() {
        let line = |extra: Value| {
            let mut line = json!({"startedDateTime": "2026-11-30T06:00:00Z", "request": {"method": "post", "url": "http://a/"}, "response": null});
            line.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            one(line)
        };
        assert_eq!(line(json!({"observer": "server", "client": "c", "server": "s"})).observer, Some(Observer::Server));
        assert_eq!(line(json!({"leg": "webhook", "client": "c", "server": "s"})).observer, Some(Observer::Receiver));
        assert_eq!(line(json!({"client": "c", "server": "s"})).observer, Some(Observer::Gateway));
        assert_eq!(line(json!({"client": "c"})).observer, None);
        let plain = line(json!({}));
        assert_eq!((plain.method.as_str(), plain.status), ("POST", None));
    }

    #[test]
    fn chunks_are_timed_from_the_start_and_make_the_body_that_was_not_recorded() {
        let exchange = one(json!({
            "startedDateTime": "2026-11-30T06:00:00Z",
            "time_ms": -1,
            "request": {"method": "POST", "url": "/a", "headers": {"Host": "h:1"}},
            "response": {"status": 200, "headers": []},
            "chunks": [{"t_ms": 1.5, "text": "data: 1\n\n"}, {"text": "data: 2\n\n"}],
            "client_disconnected": true,
        }));
        let start = Instant::parse_rfc3339("2026-11-30T06:00:00Z").unwrap();
        assert_eq!(
            exchange.chunks.iter().map(|c| c.at).collect::<Vec<_>>(),
            [Some(Instant(start.0 + 1_500_000)), None]
        );
        assert_eq!(exchange.response_body, Body::Text("data: 1\n\ndata: 2\n\n".into()));
        assert_eq!(
            (exchange.url.as_str(), exchange.ended_at, exchange.client_disconnected),
            ("http://h:1/a", None, true)
        );
    }

    #[test]
    fn impossible_trace_ids_are_rejected_and_the_header_stands() {
        let mut sink = Collected::default();
        let header = "00-26f39c4f951581bb9a62238268576327-dec341acd2f7b58e-03";
        let line = json!({"start_unix_ns": 1_796_019_334_786_335_680_i64, "trace_id": "xyz", "request": {"method": "GET", "url": "http://a/", "headers": {"traceparent": header}}});
        let exchange =
            read(line.as_object().unwrap().clone(), &Collected::origin(), &Limits::default(), &mut sink).unwrap();
        assert_eq!(sink.rejects.iter().map(|r| r.reason).collect::<Vec<_>>(), [RejectReason::BadField]);
        assert_eq!(exchange.span_id, "dec341acd2f7b58e");
    }

    #[test]
    fn nanoseconds_that_no_clock_shows_are_reported_and_the_written_time_stands() {
        for (given, rejects) in [
            (json!(0), 0),
            (json!(-5), 1),
            (json!(u64::MAX), 1),
            (json!(7_258_118_400_000_000_000_i64), 1),
            (json!("soon"), 1),
            (json!(null), 0),
            (json!(1_796_019_334_786_335_680_i64), 0),
            (json!("1796019334786335680"), 0),
        ] {
            let mut sink = Collected::default();
            let line = json!({"start_unix_ns": given, "startedDateTime": "2026-11-30T06:15:34Z", "request": {"method": "GET", "url": "http://a/"}});
            let read =
                read(line.as_object().unwrap().clone(), &Collected::origin(), &Limits::default(), &mut sink).unwrap();
            assert!(read.started_at.is_some_and(|at| at.0 / 1_000_000_000 == 1_796_019_334), "{given}");
            let reasons: Vec<_> = sink.rejects.iter().map(|reject| reject.reason).collect();
            assert_eq!(reasons, vec![RejectReason::BadTime; rejects], "{given}");
        }
    }

    #[test]
    fn an_exchange_of_two_bad_times_is_told_once() {
        let line = json!({"start_unix_ns": -5, "startedDateTime": "2026-11-31T06:15:34Z", "request": {"method": "GET", "url": "http://a/"}});
        let mut sink = Collected::default();
        let read =
            read(line.as_object().unwrap().clone(), &Collected::origin(), &Limits::default(), &mut sink).unwrap();
        let reasons: Vec<_> = sink.rejects.iter().map(|reject| reject.reason).collect();
        assert_eq!((read.started_at, reasons), (None, vec![RejectReason::BadTime]));
    }

    #[test]
    fn impossible_statuses_and_times_are_unknown() {
        for value in [json!(0), json!(99), json!(-1), json!(1e300), json!("abc"), json!(70000), json!(null)] {
            assert_eq!(status(Some(&value)), None, "{value}");
        }
        assert_eq!((status(Some(&json!("204 No Content"))), status(Some(&json!(200.0)))), (Some(204), Some(200)));
        for value in [json!(-5), json!(1e300), json!(12), json!("soon"), json!(null)] {
            assert_eq!(instant(&value), None, "{value}");
        }
    }
}
