//! Lines of access logs: what a proxy or gateway writes of a call that it passed on.
//!
//! In: objects and texts in the forms of agentgateway, Kong, Envoy, nginx and Apache, or by the key map. Out: a log record
//! named [`EVENT`] at the end of the call, with the attributes of OTel's HTTP conventions beside what the line says in its
//! own words. Never says what the call was about. A line with bodies is an exchange, and none of these.

mod agentgateway;
mod combined;
mod envoy;
mod kong;
mod words;

pub(super) use combined::time_local;
pub(super) use words::unescaped;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::frame::Frame;
use super::json_log;
use super::record::{Attributes, Body, Exchange, LogRecord, Origin, Position};
use crate::instant::Instant;

/// Event name of the records made here.
pub const EVENT: &str = "http.access";

/// Attribute of the address to which the call was passed on.
pub const UPSTREAM: &str = "upstream.address";

/// Attribute of how long the call took, as text with a unit.
pub const DURATION: &str = "duration";

/// Attribute that says `webhook` where a user knows that agents call webhooks there.
pub const LEG: &str = "a2a.leg";

/// Headers of the request that say to which call and to which version of a protocol it belongs.
const HEADERS: [&str; 2] = ["traceparent", "a2a-version"];

/// What an access log says of a call.
#[derive(Debug, Default)]
struct Line<'l> {
    method: &'l str,
    /// Absolute, or a path.
    url: String,
    status: Option<u16>,
    client: &'l str,
    upstream: &'l str,
    started: Option<Instant>,
    ended: Option<Instant>,
}

/// Reads an object of a gateway whose form is known; gives it back if it is none.
pub(super) fn of_gateway(
    map: Map<String, Value>,
    origin: &Origin,
    frame: &Frame<'_>,
) -> Result<(LogRecord, &'static str), Map<String, Value>> {
    if agentgateway::is_line(&map) {
        let record = json_log::read(map, origin, frame)?;
        return Ok((LogRecord { event_name: EVENT.to_owned(), ..record }, "agentgateway"));
    }
    if kong::is_line(&map) {
        return Ok((kong::read(map, origin, frame), "kong-log"));
    }
    Err(map)
}

/// Whether an exchange of a home-made form is a line of an access log: nobody kept bodies or headers.
pub(super) fn is_line(exchange: &Exchange) -> bool {
    let bodies = [&exchange.request_body, &exchange.response_body];
    let headers = [&exchange.request_headers, &exchange.response_headers];
    bodies.iter().all(|body| **body == Body::Absent)
        && headers.iter().all(|headers| headers.0.iter().all(|(name, _)| HEADERS.contains(&name.as_str())))
        && exchange.chunks.is_empty()
        && exchange.leg.is_empty()
        && exchange.observer.is_none_or(|observer| observer == super::record::Observer::Gateway)
}

/// The line as which an exchange was written, with all that the object says.
pub(super) fn of_exchange(map: Map<String, Value>, exchange: &Exchange, frame: &Frame<'_>) -> LogRecord {
    let line = Line {
        method: &exchange.method,
        url: exchange.url.clone(),
        status: exchange.status,
        client: &exchange.client,
        upstream: &exchange.server,
        started: exchange.started_at,
        ended: exchange.ended_at,
    };
    let mut record = line.record(Value::Object(map), &exchange.origin, frame);
    for (name, value) in &exchange.request_headers.0 {
        record.attributes.0.push((format!("http.request.header.{name}"), value.as_str().into()));
    }
    // The caller's span stands in the traceparent; that of the line itself is not known.
    LogRecord { trace_id: exchange.trace_id.clone(), ..record }
}

/// `POST /a2a HTTP/1.1`: method and target.
pub(super) fn request_line(text: &str) -> Option<(&str, &str)> {
    let (method, rest) = text.split_once(' ')?;
    let (target, protocol) = rest.rsplit_once(' ')?;
    let is_request = !method.is_empty() && method.len() <= 16 && method.bytes().all(|byte| byte.is_ascii_uppercase());
    (is_request && protocol.starts_with("HTTP/") && !target.is_empty()).then_some((method, target))
}

/// A line of text.
pub(super) struct TextLine {
    pub(super) record: LogRecord,
    pub(super) format: &'static str,
    /// Its time is none.
    pub(super) has_bad_time: bool,
}

/// Reads a line of text. All of these have a time: one that cannot be read costs the time only.
pub(super) fn of_text(text: &str, origin: &Origin, frame: &Frame<'_>) -> Option<TextLine> {
    if let Some(map) = agentgateway::of_text(text) {
        let (record, format) = of_gateway(map, origin, frame).ok()?;
        let has_bad_time = record.body.as_object().and_then(json_log::bad_time).is_some();
        return Some(TextLine { record, format, has_bad_time });
    }
    let ((record, has_bad_time), format) = match envoy::of_text(text, origin, frame) {
        Some(read) => (read, "envoy-text"),
        None => (combined::of_text(text, origin, frame)?, "combined-log"),
    };
    Some(TextLine { record, format, has_bad_time })
}

/// Whether a text is such a line.
pub(super) fn is_one(text: &str) -> bool {
    let origin = Origin { source: Arc::from(""), position: Position::Line(0) };
    of_text(text, &origin, &Frame::default()).is_some()
}

impl Line<'_> {
    fn record(self, body: Value, origin: &Origin, frame: &Frame<'_>) -> LogRecord {
        let mut attributes = Vec::new();
        let mut add = |name: &str, value: Value| {
            if value.as_str() != Some("") && !value.is_null() {
                attributes.push((name.to_owned(), value));
            }
        };
        add("http.request.method", self.method.into());
        add(if self.url.contains("://") { "url.full" } else { "url.path" }, self.url.into());
        add("http.response.status_code", self.status.into());
        add("client.address", self.client.into());
        add(UPSTREAM, self.upstream.into());
        let lasted = self.started.zip(self.ended).map(|(started, ended)| ended.0.saturating_sub(started.0));
        add(DURATION, lasted.map(|nanos| format!("{nanos}ns")).into());
        LogRecord {
            origin: origin.clone(),
            at: self.ended.or(self.started).or(frame.at),
            event_name: EVENT.to_owned(),
            severity: String::new(),
            body,
            scope: String::new(),
            attributes: Attributes(attributes),
            resource: Arc::default(),
            trace_id: String::new(),
            span_id: String::new(),
        }
    }
}
