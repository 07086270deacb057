//! What is wrong with a request, as JSON.
//!
//! In: a status and words. Out: `{"error": {"code", "message"}}`. Words are this program's own, or of the caller's own
//! making.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::answer;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    more: Option<(HeaderName, HeaderValue)>,
}

#[derive(Serialize)]
struct Shown<'a> {
    error: Words<'a>,
}

#[derive(Serialize)]
struct Words<'a> {
    code: &'static str,
    message: &'a str,
}

impl Problem {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), more: None }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// Of a path that is no UTF-8.
    pub(super) fn not_text() -> Self {
        Self::bad_request("the path is not UTF-8")
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(super) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path takes another method")
    }

    pub(super) fn unauthorized() -> Self {
        let challenge = HeaderValue::from_static("Bearer realm=\"a2a-drift\"");
        let message = "a bearer token is needed, and this was none or another";
        Self {
            more: Some((header::WWW_AUTHENTICATE, challenge)),
            ..Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
        }
    }

    pub(super) fn retry_later(code: &'static str, message: &str) -> Self {
        let more = Some((header::RETRY_AFTER, HeaderValue::from_static("1")));
        Self { more, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let words = Words { code: self.code, message: &self.message };
        let mut response = answer(self.status, &Shown { error: words });
        if let Some((name, value)) = self.more {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
