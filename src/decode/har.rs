//! HAR 1.2, written by browsers, proxies and recorders.
//!
//! In: a HAR document's object, or one entry. Out: [`Exchange`]s as a client saw them. Members that begin with `_` are
//! extensions; those that name the parties are read, others not.

use serde_json::{Map, Value};

use super::Limits;
use super::body::{self, ReadBody};
use super::exchange::{empty, ended, finish, instant, note_time, read_body, read_chunks, status, text};
use super::headers::{absolute_url, read as read_headers};
use super::record::{Body, Chunk, Exchange, Observer, Origin, Reject, RejectReason, Sink};
use crate::instant::Instant;

/// Takes the entries out of a whole HAR document that came as one value.
pub(super) fn take_entries(map: &mut Map<String, Value>) -> Option<Vec<Value>> {
    match map.get_mut("log")?.get_mut("entries")?.take() {
        Value::Array(entries) => Some(entries),
        _ => None,
    }
}

/// Whether an object is a HAR entry, rather than an exchange line: it has what only HAR requires.
pub(super) fn is_entry(map: &Map<String, Value>) -> bool {
    let request = map.get("request").filter(|r| r["method"].is_string() && r["url"].is_string());
    let response = map.get("response").unwrap_or(&Value::Null);
    let typical = map.contains_key("timings") || map.contains_key("cache") || response.get("content").is_some();
    map.contains_key("startedDateTime") && typical && request.is_some()
}

/// Reads one entry.
pub(super) fn read(entry: Value, origin: &Origin, limits: &Limits, sink: &mut dyn Sink) -> Option<Exchange> {
    let Value::Object(mut map) = entry else {
        let detail = "HAR entry that is no object".to_owned();
        sink.reject(Reject { origin: origin.clone(), reason: RejectReason::UnknownShape, detail });
        return None;
    };
    let mut exchange = empty(origin);
    exchange.started_at = map.get("startedDateTime").and_then(instant);
    exchange.ended_at = ended(exchange.started_at, map.get("time").and_then(Value::as_f64));
    note_time(&map, &exchange, sink);
    read_parties(&map, &mut exchange);
    if let Some(Value::Object(request)) = map.remove("request") {
        read_request(request, &mut exchange, limits, sink);
    }
    if let Some(Value::Object(response)) = map.remove("response") {
        read_response(response, &mut exchange, limits, sink);
    }
    exchange.chunks = match map.remove("_eventSourceMessages") {
        Some(Value::Array(events)) => events.iter().filter_map(event_chunk).collect(),
        _ => read_chunks(map.remove("_chunks"), exchange.started_at),
    };
    finish(&mut exchange, &extension(&map, "trace_id"), sink).then_some(exchange)
}

fn read_parties(map: &Map<String, Value>, exchange: &mut Exchange) {
    exchange.leg = extension(map, "leg");
    exchange.client = extension(map, "client");
    exchange.server = extension(map, "server");
    if exchange.server.is_empty() {
        exchange.server = text(map, "serverIPAddress");
    }
    exchange.observer = Observer::parse(&extension(map, "observer")).or(Some(Observer::Client));
    exchange.observer_name = extension(map, "observer_name");
    exchange.agent = extension(map, "agent");
}

fn read_request(mut request: Map<String, Value>, exchange: &mut Exchange, limits: &Limits, sink: &mut dyn Sink) {
    exchange.method = text(&request, "method").to_ascii_uppercase();
    exchange.request_headers = request.get("headers").map(read_headers).unwrap_or_default();
    let header = |name| exchange.request_headers.get(name).unwrap_or_default();
    let host = if header("host").is_empty() { header(":authority") } else { header("host") };
    exchange.url = absolute_url(&text(&request, "url"), header(":scheme"), host);
    let read = match request.remove("postData") {
        Some(Value::Object(post)) if !post.contains_key("text") => of_params(post.get("params")),
        Some(Value::Object(post)) => {
            read_body(Some(without_metadata(post)), &exchange.request_headers, &exchange.origin, limits, sink)
        }
        _ => ReadBody::default(),
    };
    exchange.truncated |= read.truncated;
    exchange.request_body = read.body;
}

fn read_response(mut response: Map<String, Value>, exchange: &mut Exchange, limits: &Limits, sink: &mut dyn Sink) {
    exchange.status = status(response.get("status"));
    exchange.response_headers = response.get("headers").map(read_headers).unwrap_or_default();
    let Some(Value::Object(content)) = response.remove("content") else { return };
    let size = content.get("size").and_then(Value::as_u64);
    let read = read_body(Some(without_metadata(content)), &exchange.response_headers, &exchange.origin, limits, sink);
    exchange.truncated |= read.truncated || is_cut(&read.body, size);
    exchange.response_body = read.body;
}

/// The members that are the content; a writer may add others, which would make the object look like a JSON body.
fn without_metadata(mut map: Map<String, Value>) -> Value {
    map.retain(|key, _| matches!(key.as_str(), "text" | "encoding" | "truncated" | "base64"));
    map.entry("text").or_insert(Value::Null);
    Value::Object(map)
}

/// Writers cut long texts without saying so: shorter than the size, and JSON that does not close.
fn is_cut(body: &Body, size: Option<u64>) -> bool {
    let Body::Text(text) = body else { return false };
    let text = text.trim();
    let open = text.starts_with(['{', '[']) && !text.ends_with(['}', ']']);
    open && size.is_some_and(|size| size > text.len() as u64)
}

/// A form, as its text was before the writer took it apart (HAR 1.2, `params`).
fn of_params(params: Option<&Value>) -> ReadBody {
    let params = params.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for param in params {
        form.append_pair(param["name"].as_str().unwrap_or_default(), param["value"].as_str().unwrap_or_default());
    }
    body::of_text(form.finish())
}

/// Chrome keeps the events of an `EventSource` here, with times in seconds, instead of a body.
fn event_chunk(event: &Value) -> Option<Chunk> {
    let data = event["data"].as_str()?;
    let name = event["eventName"].as_str().filter(|name| !matches!(*name, "" | "message"));
    let mut text = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    data.split('\n').for_each(|line| text.extend(["data: ", line, "\n"]));
    text.push('\n');
    Some(Chunk { at: event["time"].as_f64().and_then(Instant::from_epoch_number), text })
}

/// A member outside HAR: with the underscore that HAR demands, or without.
fn extension(map: &Map<String, Value>, key: &str) -> String {
    let with_underscore = text(map, &format!("_{key}"));
    if with_underscore.is_empty() { text(map, key) } else { with_underscore }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decode::framing::collect::Collected;

    fn one(entry: Value) -> Exchange {
        let mut sink = Collected::default();
        let exchange = read(entry, &Collected::origin(), &Limits::default(), &mut sink).unwrap();
        assert_eq!(sink.rejects, vec![]);
        exchange
    }

    fn entry(response: Value) -> Value {
        json!({
            "startedDateTime": "2026-11-30T06:15:34.786336Z",
            "time": 35.5,
            "request": {"method": "POST", "url": "https://a.example/a2a", "headers": [], "postData": {"mimeType": "application/json", "text": "{}", "params": []}},
            "response": response,
            "cache": {}, "timings": {"send": 0, "wait": 35.5, "receive": 0},
            "serverIPAddress": "10.0.0.1", "connection": "52", "_client": "10.0.0.2:1", "_resourceType": "fetch",
        })
    }

    #[test]
    fn an_entry_is_what_a_client_saw() {
        let entry = entry(
            json!({"status": 200, "headers": [{"name": "ETag", "value": "x"}], "content": {"size": 2, "mimeType": "application/json", "text": "{}", "_x": 1}}),
        );
        assert!(is_entry(entry.as_object().unwrap()));
        let exchange = one(entry);
        assert_eq!(exchange.observer, Some(Observer::Client));
        assert_eq!((exchange.client.as_str(), exchange.server.as_str()), ("10.0.0.2:1", "10.0.0.1"));
        assert_eq!((exchange.request_body, exchange.response_body), (Body::Text("{}".into()), Body::Text("{}".into())));
        assert_eq!(exchange.ended_at.unwrap().0 - exchange.started_at.unwrap().0, 35_500_000);
        assert!(!exchange.truncated);
    }

    #[test]
    fn base64_content_forms_and_calls_without_an_answer_are_read() {
        let exchange =
            one(entry(json!({"status": 200, "content": {"size": 5, "text": "AAAAAAE=", "encoding": "base64"}})));
        assert_eq!(exchange.response_body, Body::Bytes(vec![0, 0, 0, 0, 1]));
        let exchange = one(entry(json!({"status": 0, "headers": [], "content": {"size": 0, "mimeType": "x-unknown"}})));
        assert_eq!((exchange.status, exchange.response_body), (None, Body::Absent));
        let mut form = entry(json!(null));
        form["request"]["postData"] =
            json!({"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "c&d"}]});
        assert_eq!(one(form).request_body, Body::Text("a+b=c%26d".into()));
    }

    #[test]
    fn content_that_was_cut_is_marked() {
        assert!(one(entry(json!({"status": 200, "content": {"size": 900, "text": "{\"jsonrpc\":\"2."}}))).truncated);
        assert!(!one(entry(json!({"status": 200, "content": {"size": 900, "text": "{}"}}))).truncated);
    }

    #[test]
    fn events_that_a_browser_kept_apart_become_the_body() {
        let mut streamed = entry(json!({"status": 200, "content": {"size": 0, "mimeType": "text/event-stream"}}));
        streamed["_eventSourceMessages"] = json!([{"time": 1_796_019_334.5, "eventName": "message", "eventId": "", "data": "{\n}"}, {"time": 1, "eventName": "error", "data": "x"}]);
        let exchange = one(streamed);
        assert_eq!(exchange.response_body.as_text(), Some("data: {\ndata: }\n\nevent: error\ndata: x\n\n"));
        assert_eq!(exchange.chunks[0].at, Some(Instant(1_796_019_334_500_000_000)));
    }
}
