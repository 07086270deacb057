//! What came back for a call, over any binding.
//!
//! In: the response of an exchange, or one of a batch of responses. Out: a result, an event stream, an error, or that
//! nothing readable came back.

use serde_json::Value;

use super::Seen;
use super::stream::StreamEvent;
use crate::normalize::json;
use crate::normalize::protocol::error::WireError;
use crate::normalize::protocol::operation::Dialect;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer<'a> {
    /// No response was seen.
    None,
    /// A response whose body was not recorded, was cut, or is no JSON.
    Unread,
    /// A result.
    Result(&'a Value),
    /// An event stream.
    Stream(&'a [StreamEvent]),
    /// A refusal.
    Error(WireError),
}

impl<'a> Answer<'a> {
    /// The answer that an exchange holds.
    pub(crate) fn of(seen: &'a Seen<'_>, dialect: Option<Dialect>) -> Self {
        if let Some(events) = &seen.events {
            return Self::Stream(events);
        }
        if !seen.was_answered() {
            return Self::None;
        }
        // 304 is a good answer to a conditional read of a card.
        let refused = seen.exchange.status.is_some_and(|status| status >= 300 && status != 304);
        match inside(&seen.response, dialect) {
            Some(Err(error)) => Self::Error(error),
            Some(Ok(result)) if !refused => Self::Result(result),
            None if !refused => Self::Unread,
            _ => {
                let plain =
                    seen.exchange.response_body.as_text().filter(|_| seen.response.is_null()).unwrap_or_default();
                Self::Error(WireError::of_http(seen.exchange.status, &seen.response, plain, dialect))
            }
        }
    }
}

/// The result or error inside a response or event: of JSON-RPC if it has that form, else the value itself. None when
/// there is nothing.
pub(crate) fn inside(value: &Value, dialect: Option<Dialect>) -> Option<Result<&Value, WireError>> {
    let error = json::object(value, &["error"]);
    if is_rpc_response(value) {
        return Some(match error {
            Some(error) => Err(WireError::of_rpc(error, dialect)),
            None => Ok(value.get("result").unwrap_or(&Value::Null)),
        });
    }
    match value {
        Value::Null => None,
        _ if error.is_some() => Some(Err(WireError::of_http(None, value, "", dialect))),
        _ => Some(Ok(value)),
    }
}

/// Whether a value is a response of JSON-RPC.
pub(crate) fn is_rpc_response(value: &Value) -> bool {
    value.get("jsonrpc").is_some()
        && (value.get("result").is_some() || value.get("error").is_some())
        && value.get("method").is_none()
}
