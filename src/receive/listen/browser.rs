//! Requests that a browser sends for a web page.
//!
//! In: headers, the origins that may send. Out: refusal, or the CORS headers that let the page see the answer. A page
//! can post text to any port of its visitor's machine without asking, so an origin that is not allowed is refused, not
//! only left without headers.

use axum::body::Body;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};

use super::refusal::{Reason, Refusal};

/// Seconds for which a browser may remember what it may send.
const MAX_AGE: &str = "600";

/// Refuses what a browser sends for a page that may not.
pub(super) fn check<B>(request: &Request<B>, allowed: &[String]) -> Result<(), Refusal> {
    let Some(origin) = request.headers().get(header::ORIGIN) else { return Ok(()) };
    let is_allowed = allowed.iter().any(|known| known == "*" || known.as_bytes() == origin.as_bytes());
    if is_allowed { Ok(()) } else { Err(Refusal::new(Reason::ForeignOrigin)) }
}

/// The answer to a browser's question whether it may send; none for any other request. The origin has been checked.
pub(super) fn preflight<B>(request: &Request<B>) -> Option<Response<Body>> {
    let headers = request.headers();
    let asks = request.method() == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let answers = response.headers_mut();
    answers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    answers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    Some(response)
}

/// Lets the page see the answer, unless it was refused for its origin.
pub(super) fn allow(response: &mut Response<Body>, origin: Option<HeaderValue>) {
    let Some(origin) = origin.filter(|_| response.status() != StatusCode::FORBIDDEN) else { return };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
}
