//! Placeholder for the exchange reader, which another branch delivers.

use serde_json::Value;

use super::record::{Body, Exchange, Headers, Origin};

/// An exchange line's members, as far as the tests of this branch need them.
pub fn from_value(value: &Value, origin: &Origin) -> Option<Exchange> {
    let request = value.get("request")?;
    let text = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Exchange {
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
        method: text("method"),
        url: text("url"),
        request_headers: Headers::default(),
        request_body: Body::Absent,
        status: None,
        response_headers: Headers::default(),
        response_body: Body::Absent,
        chunks: Vec::new(),
        client_disconnected: false,
        truncated: false,
    })
}
