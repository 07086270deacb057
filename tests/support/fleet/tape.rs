//! What a recording proxy in front of a fleet would write: exchange lines in the order of time.

use serde_json::{Map, Value, json};

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
/// Nanoseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Nanoseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;

/// Lines with their times.
#[derive(Default)]
pub struct Tape {
    lines: Vec<(i64, Value)>,
    ids: u64,
}

/// A request and its answer, as the proxy saw them.
pub struct Taped<'a> {
    pub at: i64,
    pub took_ms: f64,
    pub caller: &'a str,
    pub method: &'a str,
    pub url: &'a str,
    pub request_headers: Vec<(&'a str, String)>,
    pub request: Option<Value>,
    pub status: u16,
    pub response_headers: Vec<(&'a str, String)>,
    pub response: Option<Value>,
    pub leg: &'a str,
    pub client_left: bool,
}

impl<'a> Taped<'a> {
    /// A quick exchange of an agent's leg.
    pub fn new(at: i64, caller: &'a str, method: &'a str, url: &'a str) -> Self {
        Self {
            at,
            took_ms: 25.0,
            caller,
            method,
            url,
            request_headers: Vec::new(),
            request: None,
            status: 200,
            response_headers: Vec::new(),
            response: None,
            leg: "agent",
            client_left: false,
        }
    }
}

impl Tape {
    /// A fresh id in the form of a UUID; the same run of a generator gives the same ids.
    pub fn id(&mut self) -> String {
        self.ids += 1;
        let mixed = self.ids.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            mixed >> 32,
            (mixed >> 16) & 0xffff,
            mixed & 0xfff,
            self.ids & 0xfff,
            self.ids
        )
    }

    /// Records an exchange.
    pub fn write(&mut self, taped: Taped<'_>) {
        let headers = |given: &[(&str, String)], body: bool| {
            let mut pairs: Vec<Value> = given.iter().map(|(name, value)| json!([name, value])).collect();
            if body && !given.iter().any(|(name, _)| *name == "content-type") {
                pairs.push(json!(["content-type", "application/json"]));
            }
            pairs
        };
        let body = |body: &Option<Value>| match body {
            Some(Value::String(text)) => json!({ "text": text }),
            Some(value) => json!({ "text": value.to_string() }),
            None => Value::Null,
        };
        let server = taped.url.split('/').nth(2).unwrap_or_default();
        let server = if server.contains(':') { server.to_owned() } else { format!("{server}:443") };
        let mut line = Map::new();
        line.insert("startedDateTime".to_owned(), json!(rfc3339(taped.at)));
        line.insert("time_ms".to_owned(), json!(taped.took_ms));
        line.insert("leg".to_owned(), json!(taped.leg));
        line.insert("client".to_owned(), json!(taped.caller));
        line.insert("server".to_owned(), json!(server));
        line.insert(
            "request".to_owned(),
            json!({
                "method": taped.method, "url": taped.url,
                "headers": headers(&taped.request_headers, taped.request.is_some()), "body": body(&taped.request),
            }),
        );
        line.insert(
            "response".to_owned(),
            json!({
                "status": taped.status,
                "headers": headers(&taped.response_headers, taped.response.is_some()), "body": body(&taped.response),
            }),
        );
        if taped.client_left {
            line.insert("client_disconnected".to_owned(), json!(true));
        }
        self.lines.push((taped.at, Value::Object(line)));
    }

    /// Writes all lines from a place on a second time.
    pub fn repeat(&mut self, from: usize) {
        self.lines.extend_from_within(from..);
    }

    /// Writes a line of another form (an own event).
    pub fn raw(&mut self, at: i64, line: Value) {
        self.lines.push((at, line));
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// NDJSON in the order of time.
    pub fn into_ndjson(mut self) -> Vec<u8> {
        self.lines.sort_by_key(|(at, _)| *at);
        let mut text = String::new();
        for (_, line) in self.lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        text.into_bytes()
    }
}

/// RFC 3339 in microseconds, as the captures have it.
pub fn rfc3339(at: i64) -> String {
    a2a_drift::instant::Instant(at - at.rem_euclid(1000)).to_rfc3339()
}
