//! Exchanges of home-made recorders and gateways: any object that holds a request and a response.
//!
//! In: an object and the [`KeyMap`]. Out: an [`Exchange`] if the object has a method, a url (or path and host) and a
//! status, under any known spelling, flat or nested; else nothing.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::Limits;
use super::access_log::{request_line, time_local, unescaped};
use super::exchange::{empty, ended, finish, implied_observer, instant, read_body, read_chunks, status};
use super::headers::{absolute_url, read as read_headers};
use super::key_map::{Field, KeyMap, plain};
use super::record::{Exchange, Headers, Observer, Origin, Sink};
use super::times;
use super::tree;

/// Levels of objects in which spellings are looked for.
const LEVELS: usize = 4;

/// Members looked at: a larger object is no exchange, and would cost memory.
const MEMBERS: usize = 512;

/// Longest key that may be one of the spellings, in bytes.
const KEY_BYTES: usize = 256;

/// Objects in which recorders wrap the exchange.
const WRAPPERS: [&str; 9] = ["", "http", "exchange", "data", "payload", "entry", "httprequest", "attributes", "fields"];

/// A call that lasts longer is none: the number is a time.
const MOST_SECONDS: f64 = 1e6;

/// Members that Envoy or nginx writes, and no recorder of somebody's making.
const PROXY_WORDS: [&str; 5] = ["responseflags", "upstreamcluster", "upstreamresponsetime", "timeiso8601", "timelocal"];

/// Names of members that are kept of a line.
const LINE_KEYS: usize = 64;

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

/// Reads an exchange, if the object is one.
pub(super) fn read(
    map: &Map<String, Value>,
    origin: &Origin,
    limits: &Limits,
    keys: &KeyMap,
    sink: &mut dyn Sink,
) -> Option<Exchange> {
    let found = Found::new(map, keys);
    let mut exchange = empty(origin);
    let line = found.text(Field::RequestLine);
    let (method, target) = line.as_deref().and_then(request_line).unzip();
    let method = found.text(Field::Method).or_else(|| method.map(str::to_owned));
    exchange.method = method.map(|m| m.to_ascii_uppercase()).filter(|m| METHODS.contains(&m.as_str()))?;
    exchange.status = found.get_where(Field::Status, |value| status(Some(value)));
    exchange.request_headers = found.get(Field::RequestHeaders).map(read_headers).unwrap_or_default();
    exchange.response_headers = found.get(Field::ResponseHeaders).map(read_headers).unwrap_or_default();
    for (field, name) in [(Field::Traceparent, "traceparent"), (Field::Version, "a2a-version")] {
        // Access logs write a dash for what is not there.
        if let Some(value) =
            found.text(field).filter(|value| value != "-" && exchange.request_headers.get(name).is_none())
        {
            exchange.request_headers.0.push((name.to_owned(), value));
        }
    }
    exchange.url = url(&found, &exchange.request_headers, target)?;
    let answered = exchange.status.is_some() || found.get(Field::ResponseBody).is_some();
    if !answered {
        return None;
    }
    read_times(&found, &mut exchange);
    if exchange.started_at.is_none()
        && let Some(said) = found.get_where(Field::Start, |time| times::is_meant(time).then(|| time.clone()))
    {
        times::note_bad("the time", Some(&said), origin, sink);
    }
    read_parties(&found, &mut exchange);
    exchange.truncated = found.flag(Field::Truncated);
    exchange.client_disconnected = found.flag(Field::ClientDisconnected);
    exchange.chunks = read_chunks(found.get(Field::Chunks).cloned(), exchange.started_at);
    let bodies = [(Field::RequestBody, &exchange.request_headers), (Field::ResponseBody, &exchange.response_headers)];
    let [request, response] =
        bodies.map(|(field, headers)| read_body(found.body(field), headers, origin, limits, sink));
    exchange.truncated |= request.truncated || response.truncated;
    (exchange.request_body, exchange.response_body) = (request.body, response.body);
    // nginx knows no bodies of answers.
    exchange.truncated |= is_proxy(&found) && found.get(Field::ResponseBody).is_none();
    if is_access_line(&found) {
        exchange.line_keys = map.keys().filter(|key| key.len() <= KEY_BYTES).take(LINE_KEYS).cloned().collect();
    }
    let trace_id = found.text(Field::TraceId).unwrap_or_default();
    finish(&mut exchange, &trace_id, sink).then_some(exchange)
}

/// Whether request and response stand side by side: then no member beside them makes the object a document.
pub(super) fn has_both_halves(map: &Map<String, Value>) -> bool {
    let has = |names: &[&str]| map.iter().any(|(key, value)| value.is_object() && names.contains(&plain(key).as_str()));
    has(&["request", "req"]) && has(&["response", "res", "resp", "reply"])
}

fn url(found: &Found<'_>, headers: &Headers, target: Option<&str>) -> Option<String> {
    let header = |name: &str| headers.get(name).map(str::to_owned);
    let host = found.text(Field::Host).or_else(|| header("host")).or_else(|| header(":authority")).unwrap_or_default();
    let scheme = found.text(Field::Scheme).filter(|s| s.starts_with("http") && !s.contains('/'));
    let scheme = scheme.or_else(|| header("x-forwarded-proto")).unwrap_or_default();
    let is_url = |text: &String| text.contains("://") || text.starts_with('/');
    let named = found.text(Field::Url).filter(is_url);
    let path = found.text(Field::Path).filter(|path| path.starts_with('/') || path.contains("://"));
    let path = path.or_else(|| target.map(str::to_owned));
    let url = match (named, path) {
        (Some(url), Some(path)) if url.contains("://") && !path.contains("://") && is_bare(&url) => {
            absolute_url(&path, "", &url)
        }
        (Some(url), _) => absolute_url(&url, &scheme, &host),
        (None, Some(path)) if !host.is_empty() => absolute_url(&path, &scheme, &host),
        (None, _) => return None,
    };
    (!url.is_empty()).then_some(url)
}

/// A url without a path, beside which the path stands apart.
fn is_bare(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| !rest.trim_end_matches('/').contains('/'))
}

fn read_times(found: &Found<'_>, exchange: &mut Exchange) {
    let time = |value: &Value| instant(value).or_else(|| time_local(value.as_str()?));
    exchange.started_at =
        found.get_where(Field::Start, time).or_else(|| found.get_where(Field::RequestSeconds, instant));
    let scaled = |field, factor: f64| found.get_where(field, milliseconds).map(|number| number * factor);
    let duration = scaled(Field::DurationSeconds, 1e3)
        .or_else(|| scaled(Field::DurationMicros, 1e-3))
        .or_else(|| scaled(Field::DurationNanos, 1e-6))
        .or_else(|| scaled(Field::Duration, 1.0));
    let end = found.get_where(Field::End, instant).filter(|end| exchange.started_at.is_none_or(|start| start <= *end));
    exchange.ended_at = end.or_else(|| ended(exchange.started_at, duration));
    if let Some(seconds) = found.get_where(Field::RequestSeconds, request_seconds) {
        // nginx writes the line, and every time in it, when the call is over.
        exchange.ended_at = exchange.started_at;
        exchange.started_at = exchange.ended_at.map(|end| end.plus_millis(-seconds * 1e3));
    }
}

/// nginx's `$request_time`.
fn request_seconds(value: &Value) -> Option<f64> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (0.0..MOST_SECONDS).contains(&seconds).then_some(seconds)
}

/// A number, or text with a unit: `2ms`, `1.5s`, `300us`.
fn milliseconds(value: &Value) -> Option<f64> {
    let Value::String(text) = value else { return value.as_f64() };
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    let factor = match unit.trim() {
        "" | "ms" => 1.0,
        "s" => 1e3,
        "us" | "µs" => 1e-3,
        "ns" => 1e-6,
        _ => return None,
    };
    text[..text.len() - unit.len()].parse::<f64>().ok().map(|number| number * factor)
}

fn read_parties(found: &Found<'_>, exchange: &mut Exchange) {
    let text = |field| found.text(field).unwrap_or_default();
    exchange.leg = Some(text(Field::Leg)).filter(|leg| matches!(leg.as_str(), "agent" | "webhook")).unwrap_or_default();
    exchange.client = found.address(Field::Client);
    exchange.server = found.address(Field::Server);
    exchange.agent = text(Field::Agent);
    exchange.observer_name = text(Field::ObserverName);
    let implied = implied_observer(exchange).or(is_proxy(found).then_some(Observer::Gateway));
    exchange.observer = Observer::parse(&text(Field::Observer)).or(implied);
}

/// Whether a proxy wrote the line: Envoy's and nginx's words.
fn is_proxy(found: &Found<'_>) -> bool {
    found.members.contains_key("responseflags") || found.get_where(Field::RequestSeconds, request_seconds).is_some()
}

/// Whether the object is a line of an access log, whatever bodies it holds: by words that only a proxy has, or by nginx's
/// duration where nothing of the answer stands beside it, which nginx alone does not know.
fn is_access_line(found: &Found<'_>) -> bool {
    let has_word = || PROXY_WORDS.iter().any(|word| found.members.contains_key(*word));
    let has_answer = || found.get(Field::ResponseBody).or_else(|| found.get(Field::ResponseHeaders)).is_some();
    has_word() || (found.get_where(Field::RequestSeconds, request_seconds).is_some() && !has_answer())
}

/// The members of an object by their plain path, down to [`LEVELS`].
struct Found<'a> {
    members: HashMap<String, &'a Value>,
    keys: &'a KeyMap,
}

impl<'a> Found<'a> {
    fn new(map: &'a Map<String, Value>, keys: &'a KeyMap) -> Self {
        let mut found = Self { members: HashMap::new(), keys };
        found.add(map, "", LEVELS);
        found
    }

    fn add(&mut self, map: &'a Map<String, Value>, prefix: &str, levels: usize) {
        for (key, value) in map {
            if self.members.len() >= MEMBERS {
                return;
            }
            if key.len() > KEY_BYTES {
                continue;
            }
            let path = format!("{prefix}{}", plain(key));
            self.members.entry(path.clone()).or_insert(value);
            if let Value::Object(inner) = value
                && levels > 1
            {
                self.add(inner, &path, levels - 1);
            }
        }
    }

    /// First value that `read` understands, in order of spellings.
    fn get_where<T>(&self, field: Field, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let mut candidates = WRAPPERS.iter().flat_map(|wrapper| {
            self.keys.spellings(field).iter().filter_map(move |name| self.members.get(&format!("{wrapper}{name}")))
        });
        candidates.find_map(|value| read(value))
    }

    fn get(&self, field: Field) -> Option<&'a Value> {
        self.get_where(field, |value| (!value.is_null()).then_some(value))
    }

    fn text(&self, field: Field) -> Option<String> {
        // Access logs write a dash for nothing.
        self.get_where(field, |value| value.as_str().filter(|text| !matches!(*text, "" | "-")).map(str::to_owned))
    }

    fn flag(&self, field: Field) -> bool {
        self.get_where(field, Value::as_bool).unwrap_or(false)
    }

    /// A party as text, or as an object with an address and a port.
    fn address(&self, field: Field) -> String {
        let read = |value: &Value| match value {
            Value::String(text) => Some(text.clone()).filter(|text| text != "-"),
            Value::Object(map) => {
                let first = |keys: [&str; 4]| keys.into_iter().find_map(|key| map.get(key));
                let host = first(["address", "ip", "host", "name"])?.as_str()?;
                let port = map.get("port").and_then(|p| p.as_u64().or_else(|| p.as_str()?.parse().ok()));
                Some(port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
            }
            _ => None,
        };
        self.get_where(field, read).unwrap_or_default()
    }

    /// A body in the form that `body` reads; text that the record calls base64 is marked so.
    fn body(&self, field: Field) -> Option<Value> {
        let value = self.get(field)?;
        let Value::String(text) = value else { return Some(value.clone()) };
        let by_name = self.keys.spellings(field).iter().filter(|name| name.ends_with("base64"));
        let by_name = by_name.filter_map(|name| self.members.get(name)).any(|other| std::ptr::eq(*other, value));
        let by_flag = self.get_where(Field::Base64, |value| {
            value.as_bool().or_else(|| value.as_str().map(|word| word.eq_ignore_ascii_case("base64")))
        });
        let looks_plain = text.trim_start().starts_with(['{', '[']);
        let is_base64 = by_name || (by_flag.unwrap_or(false) && !looks_plain);
        if is_base64 {
            return Some(json!({ "base64": text }));
        }
        match text.as_str() {
            // What nginx writes for no body.
            "-" => None,
            // Without `escape=json` nginx writes its own escapes into the text.
            escaped if escaped.contains("\\x22") && tree::read(escaped).is_err() => Some(unescaped(escaped).into()),
            _ => Some(value.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::framing::collect::Collected;
    use crate::decode::record::Body;
    use crate::instant::Instant;

    fn parse(value: &Value) -> Option<Exchange> {
        let mut sink = Collected::default();
        let exchange =
            read(value.as_object()?, &Collected::origin(), &Limits::default(), KeyMap::built_in(), &mut sink);
        assert_eq!(sink.rejects, vec![]);
        exchange
    }

    #[test]
    fn common_spellings_flat_and_nested_give_the_same_exchange() {
        let forms = [
            json!({"ts": 1_796_019_334.5, "request": {"method": "POST", "url": "http://h:1/a2a", "headers": {"Accept": "x"}, "body": "{}"}, "response": {"status": 200, "body": {"a": 1}}, "duration_ms": 12}),
            json!({"timestamp": "2026-11-30T06:15:34.500Z", "http": {"request": {"method": "post", "host": "h:1", "path": "/a2a", "headers": [["accept", "x"]], "body": "{}"}, "response": {"status_code": 200, "body": {"a": 1}}}, "elapsed": "12ms"}),
            json!({"@timestamp": 1_796_019_334_500_i64, "req": {"method": "POST", "url": "/a2a", "headers": {"host": "h:1", "accept": "x"}, "body": "{}"}, "res": {"statusCode": 200, "body": {"a": 1}}, "responseTimeMs": 12}),
            json!({"started_at": "2026-11-30T06:15:34.5", "request_method": "POST", "request-url": "http://h:1/a2a", "requestHeaders": {"accept": "x"}, "request_body_base64": "e30=", "response_status": "200", "response_body": {"a": 1}, "duration_seconds": 0.012}),
            json!({"time": 1_796_019_334_500_000_000_i64, "http.request.method": "POST", "http.host": "h:1", "http.path": "/a2a", "http.request.headers": {"accept": "x"}, "http.request.body": "{}", "http.status_code": 200, "http.response.body": {"a": 1}, "latency_us": 12_000}),
            json!({"exchange": {"startTime": "2026-11-30T06:15:34.5Z", "endTime": "2026-11-30T06:15:34.512Z", "Request": {"Method": "POST", "URL": "http://h:1/a2a", "Header": {"Accept": ["x"]}, "Body": "{}"}, "Response": {"StatusCode": 200, "Status": "200 OK", "Body": {"a": 1}}}}),
        ];
        for form in &forms {
            let exchange = parse(form).unwrap_or_else(|| panic!("{form}"));
            assert_eq!(
                (exchange.method.as_str(), exchange.url.as_str(), exchange.status),
                ("POST", "http://h:1/a2a", Some(200)),
                "{form}"
            );
            assert_eq!(exchange.request_headers.get("accept"), Some("x"), "{form}");
            assert_eq!(exchange.request_body, Body::Text("{}".into()), "{form}");
            assert_eq!(exchange.response_body, Body::Json(json!({"a": 1})), "{form}");
            assert_eq!(exchange.started_at, Some(Instant(1_796_019_334_500_000_000)), "{form}");
            assert_eq!(exchange.ended_at, Some(Instant(1_796_019_334_512_000_000)), "{form}");
        }
    }

    #[test]
    fn objects_that_hold_no_exchange_are_left_alone() {
        for value in [
            json!({"t": 1.5, "binding": "JSONRPC", "step": "s01", "what": "card fetched", "version": "1.0.0", "skills": ["summarize-v2"]}),
            json!({"method": "message/send", "url": "http://h/", "status": 200}),
            json!({"method": "GET", "url": "http://h/"}),
            json!({"method": "GET", "path": "/x", "status": 200}),
            json!({"method": "GET", "url": "not a url", "status": 200}),
            json!({"level": "info", "msg": "POST http://h/ 200"}),
        ] {
            assert_eq!(parse(&value), None, "{value}");
        }
    }

    #[test]
    fn parties_flags_and_observer_are_read() {
        let exchange = parse(&json!({
            "method": "GET", "url": "http://h/", "status": 204, "client": {"ip": "10.0.0.1", "port": 5}, "upstream_host": "10.0.0.2:80",
            "agent_name": "a", "side": "server", "truncated": true, "trace_id": "26F39C4F951581BB9A62238268576327",
        }))
        .unwrap();
        assert_eq!(
            (exchange.client.as_str(), exchange.server.as_str(), exchange.agent.as_str()),
            ("10.0.0.1:5", "10.0.0.2:80", "a")
        );
        assert_eq!((exchange.observer, exchange.truncated), (Some(Observer::Server), true));
        assert_eq!(exchange.trace_id, "26f39c4f951581bb9a62238268576327");
    }

    #[test]
    fn a_configured_key_is_found() {
        let mut keys = KeyMap::default();
        assert!(keys.prefer("method", "was.getan"));
        let value = json!({"was": {"getan": "GET"}, "url": "http://h/", "code": 200});
        let mut sink = Collected::default();
        let exchange = read(value.as_object().unwrap(), &Collected::origin(), &Limits::default(), &keys, &mut sink);
        assert_eq!(exchange.map(|e| e.method), Some("GET".to_owned()));
    }
}
