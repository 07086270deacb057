//! Kong's line for a request, as all its logging plugins write it.
//!
//! In: an object with `latencies` and `started_at`. Out: the record. What plugins put into `ai` stays in the body, and so do
//! the names of consumer, service and route; headers go but for two, as do the tries.

use serde_json::{Map, Value};

use super::super::exchange::{instant, status};
use super::super::frame::Frame;
use super::super::headers::read as read_headers;
use super::super::record::{LogRecord, Origin};
use super::{HEADERS, Line};

pub(super) fn is_line(map: &Map<String, Value>) -> bool {
    let is_object = |key: &str| map.get(key).is_some_and(Value::is_object);
    is_object("latencies") && is_object("request") && map.contains_key("started_at")
}

pub(super) fn read(mut map: Map<String, Value>, origin: &Origin, frame: &Frame<'_>) -> LogRecord {
    let mut take = |key: &str| map.remove(key).unwrap_or_default();
    let [request, response, latencies, tries] = ["request", "response", "latencies", "tries"].map(&mut take);
    let (service, route, client) = (take("service"), take("route"), take("client_ip"));
    let started = map.get("started_at").and_then(instant);
    let lasted = latencies.get("request").and_then(Value::as_f64).filter(|ms| *ms >= 0.0);
    let upstream = upstream(&tries);
    let line = Line {
        method: text(&request, "method"),
        url: text(&request, "url").to_owned(),
        status: status(response.get("status")),
        client: client.as_str().unwrap_or_default(),
        upstream: &upstream,
        started,
        ended: started.zip(lasted).map(|(started, ms)| started.plus_millis(ms)),
    };
    let method = line.method.to_ascii_uppercase();
    for (key, named) in [("kong.service", &service), ("kong.route", &route)] {
        if let Some(name) = named.get("name").filter(|name| name.is_string()) {
            map.insert(key.to_owned(), name.clone());
        }
    }
    let headers = request.get("headers").map(read_headers).unwrap_or_default();
    let mut record = Line { method: &method, ..line }.record(Value::Object(map), origin, frame);
    for name in HEADERS {
        if let Some(value) = headers.get(name) {
            record.attributes.0.push((format!("http.request.header.{name}"), value.into()));
        }
    }
    record
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The address that was tried last.
fn upstream(tries: &Value) -> String {
    let last = tries.as_array().and_then(|tries| tries.last());
    let Some(ip) = last.and_then(|last| last.get("ip")?.as_str()) else { return String::new() };
    match last.and_then(|last| last.get("port")?.as_u64()) {
        Some(port) => format!("{ip}:{port}"),
        None => ip.to_owned(),
    }
}
