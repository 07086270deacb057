//! Who may ask, and what browsers are told.
//!
//! In: requests and answers. Out: the same, or a refusal.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;
use crate::token::Token;

/// Paths that ask for no token: those who look after processes have none, and there is nothing to learn.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];
/// Nothing is loaded, run, sent or framed: the one page is text and links.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Lets a request through, or refuses it.
pub(super) async fn admit(State(token): State<Option<Token>>, request: Request, next: Next) -> Response {
    let is_open = OPEN.contains(&request.uri().path());
    let knows = token.is_none_or(|token| token.is_borne(request.headers()));
    if !is_open && !knows {
        return Problem::unauthorized().into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) && is_of_another_site(request.headers()) {
        let message = "a page of another site may not ask for this";
        return Problem::new(StatusCode::FORBIDDEN, "cross_site", message).into_response();
    }
    next.run(request).await
}

/// Whether a browser sends this for a page that is not ours: without a token, any page that somebody looks at on this
/// machine could have rules reloaded.
fn is_of_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| !matches!(site, b"same-origin" | b"none")) {
        return true;
    }
    let Some(origin) = headers.get(header::ORIGIN).map(HeaderValue::as_bytes) else { return false };
    let host = headers.get(header::HOST).map_or(&b""[..], HeaderValue::as_bytes);
    origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://")) != Some(host)
}

/// Adds what keeps browsers from doing anything with an answer but show it.
pub(super) async fn harden(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
