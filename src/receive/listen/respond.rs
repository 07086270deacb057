//! Requests to responses: who is let in, what goes where, and how results are written.
//!
//! In: HTTP requests of any version. Out: responses, in the type of the request. Holds what OTLP/HTTP and the exchange
//! route share; gRPC has a room of its own. Never decodes a body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use prost::Message;
use serde_json::json;
use tonic_types::pb;

use super::counters::Route;
use super::delivery::{Encoding, Receiver, Signal};
use super::gate::{Gate, Sender, Taken};
use super::media::{content_encoding, encoding, is_grpc, wants_protobuf};
use super::refusal::{Reason, Refusal};
use super::{browser, grpc};

/// How errors are written to a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// gRPC trailers.
    Grpc,
    /// A protobuf `google.rpc.Status`.
    Protobuf,
    /// The same as JSON.
    Json,
}

impl Style {
    fn of(request: &Request<Body>) -> Self {
        match request.headers() {
            headers if is_grpc(headers) && request.version() >= Version::HTTP_2 => Self::Grpc,
            headers if wants_protobuf(headers) => Self::Protobuf,
            _ => Self::Json,
        }
    }
}

/// Answers one request. `alive` is held until nothing of the request is left to do.
pub(super) async fn respond<G>(gate: Arc<Gate>, peer: &str, request: Request<Body>, alive: G) -> Response<Body>
where
    G: Send + 'static,
{
    let style = Style::of(&request);
    let origin = request.headers().get(header::ORIGIN).cloned();
    let route = Route::ALL.into_iter().find(|route| route.path() == request.uri().path());
    let expects_leave = request.headers().contains_key(header::EXPECT);
    let (parts, mut body) = request.into_parts();
    let request = Request::from_parts(parts, ());
    let result = match (admit(&gate, &request), route) {
        (Err(refusal), _) => Err(refusal),
        (Ok(Some(preflight)), _) => Ok(preflight),
        (Ok(None), None) => Err(Refusal::new(Reason::NotFound)),
        (Ok(None), Some(route)) => take(&gate, route, peer, &request, &mut body).await,
    };
    let mut response = result.unwrap_or_else(|refusal| {
        let counters = &gate.counters;
        route.map_or(&counters.unrouted, |route| &counters.route(route).refused).by(refusal.reason).add(1);
        let is_over = matches!(refusal.reason, Reason::BodyTimeout | Reason::BodyBroken);
        if !expects_leave && !is_over && !body.is_end_stream() {
            let most = gate.settings.max_wire_bytes.saturating_mul(2);
            tokio::spawn(drain(body, most, gate.settings.body_timeout, alive));
        }
        refused(style, &refusal)
    });
    browser::allow(&mut response, origin);
    response
}

/// Who may send at all; a browser's question before it sends is answered at once.
fn admit(gate: &Gate, request: &Request<()>) -> Result<Option<Response<Body>>, Refusal> {
    browser::check(request, &gate.settings.allowed_origins)?;
    if let Some(preflight) = browser::preflight(request) {
        return Ok(Some(preflight));
    }
    match &gate.token {
        Some(token) if !token.is_borne(request.headers()) => Err(Refusal::new(Reason::Unauthenticated)),
        _ => Ok(None),
    }
}

async fn take(
    gate: &Gate,
    route: Route,
    peer: &str,
    request: &Request<()>,
    body: &mut Body,
) -> Result<Response<Body>, Refusal> {
    if request.method() != Method::POST {
        return Err(Refusal::new(Reason::WrongMethod));
    }
    let Some(encoding) = encoding(route.receiver, request.headers()) else {
        return Err(Refusal::new(Reason::UnknownMedia));
    };
    let sender = Sender { route, encoding, peer };
    if route.receiver == Receiver::OtlpGrpc {
        return grpc::take(gate, sender, request, body).await;
    }
    let Some(compression) = content_encoding(request.headers()) else {
        return Err(Refusal::new(Reason::UnknownEncoding));
    };
    let whole = gate.read(body, gate.settings.max_wire_bytes).await?;
    let taken = gate.deliver(whole, compression, sender).await?;
    Ok(match (route.receiver, encoding) {
        (Receiver::Exchanges, _) => exchanges_taken(&taken),
        (_, Encoding::Protobuf) => protobuf(StatusCode::OK, grpc::export_response(&taken)),
        _ => otlp_taken_json(route.signal, &taken),
    })
}

/// Reads on what nobody wants, for a while: a sender whose connection is reset while it writes never sees why.
async fn drain<G>(mut body: Body, most: usize, longest: Duration, alive: G) {
    let all = async {
        let mut left = most;
        while let Some(Ok(frame)) = body.frame().await {
            let count = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(count) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // Whether it ended or not, the body is dropped now.
    let _ = tokio::time::timeout(longest, all).await;
    drop(alive);
}

/// Success in OTLP/JSON: `partialSuccess` is left out unless there is something to say; int64 is a string.
fn otlp_taken_json(signal: Signal, taken: &Taken) -> Response<Body> {
    let name = match signal {
        Signal::Logs => "rejectedLogRecords",
        Signal::Metrics => "rejectedDataPoints",
        Signal::Traces | Signal::Exchanges => "rejectedSpans",
    };
    if taken.rejected == 0 && taken.message.is_empty() {
        return written(StatusCode::OK, JSON, "{}".to_owned());
    }
    let partial = json!({ name: taken.rejected.to_string(), "errorMessage": taken.message });
    written(StatusCode::OK, JSON, json!({ "partialSuccess": partial }).to_string())
}

fn exchanges_taken(taken: &Taken) -> Response<Body> {
    let answer = json!({ "accepted": taken.accepted, "rejected": taken.rejected, "message": taken.message });
    written(StatusCode::OK, JSON, answer.to_string())
}

fn refused(style: Style, refusal: &Refusal) -> Response<Body> {
    let status = refusal.reason.http();
    let code = i32::from(refusal.reason.grpc());
    let mut response = match style {
        Style::Grpc => return grpc::refused(refusal),
        Style::Protobuf => {
            let message = pb::Status { code, message: refusal.message.clone(), details: Vec::new() };
            protobuf(status, message.encode_to_vec())
        }
        Style::Json => written(status, JSON, json!({ "code": code, "message": refusal.message }).to_string()),
    };
    let headers = response.headers_mut();
    if let Some(seconds) = refusal.retry_after_seconds() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    match refusal.reason {
        Reason::WrongMethod => headers.insert(header::ALLOW, HeaderValue::from_static("POST")),
        Reason::Unauthenticated => headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
        Reason::UnknownEncoding => {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, zstd, deflate, identity"))
        }
        // The rest of the body is not waited for.
        Reason::BodyTimeout => headers.insert(header::CONNECTION, HeaderValue::from_static("close")),
        _ => None,
    };
    response
}

const JSON: &str = "application/json";

fn protobuf(status: StatusCode, message: Vec<u8>) -> Response<Body> {
    written(status, "application/x-protobuf", message)
}

fn written(status: StatusCode, kind: &'static str, content: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(content.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
