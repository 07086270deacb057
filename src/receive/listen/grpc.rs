//! OTLP/gRPC: one message in, one message out.
//!
//! In: the body of a unary call. Out: an `Export*ServiceResponse` or a status in trailers. The frame is undone here
//! rather than by a generated service: the message stays bytes, and size, time and memory are held to the same limits as
//! over HTTP, with the codes that OTLP wants.

use axum::body::Body;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response, Version, header};
use http_body_util::{BodyExt, Full};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse};
use prost::Message;
use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt};

use super::gate::{Gate, Sender, Taken};
use super::media::Compression;
use super::refusal::{Reason, Refusal};

/// A flag and a length.
const FRAME_HEADER: usize = 5;

/// Compressions that messages may have.
const ENCODINGS: HeaderValue = HeaderValue::from_static("identity,gzip,zstd,deflate");

/// Takes one call.
pub(super) async fn take(
    gate: &Gate,
    sender: Sender<'_>,
    request: &Request<()>,
    body: &mut Body,
) -> Result<Response<Body>, Refusal> {
    if request.version() < Version::HTTP_2 {
        return Err(Refusal::new(Reason::WrongProtocol));
    }
    let Some(named) = Compression::of(request.headers().get("grpc-encoding")) else {
        return Err(Refusal::new(Reason::UnknownEncoding));
    };
    let whole = gate.read(body, gate.settings.max_wire_bytes.saturating_add(FRAME_HEADER)).await?;
    let mut compression = Compression::Identity;
    let message = whole.map(|bytes| {
        let (is_compressed, message) = unframe(bytes)?;
        if is_compressed {
            compression = named;
        }
        Ok(message)
    })?;
    let taken = gate.deliver(message, compression, sender).await?;
    Ok(succeeded(&export_response(&taken)))
}

/// The one message of a unary call, and whether it is compressed.
fn unframe(mut bytes: Bytes) -> Result<(bool, Bytes), Refusal> {
    let wrong = |what: &str| Err(Refusal::saying(Reason::Malformed, format!("not one gRPC message: {what}")));
    if bytes.len() < FRAME_HEADER {
        return wrong("its frame is cut short");
    }
    let flag = bytes.get_u8();
    let length = usize::try_from(bytes.get_u32()).unwrap_or(usize::MAX);
    match flag {
        0 | 1 if bytes.len() == length => Ok((flag == 1, bytes)),
        0 | 1 if bytes.len() < length => wrong("it is shorter than its frame says"),
        0 | 1 => wrong("something follows it"),
        _ => wrong("its frame has an unknown flag"),
    }
}

/// The response message. Those of all three signals have one shape: field 1 holds a count in 1 and a text in 2. Without
/// anything to say the field is unset, and the message empty.
pub(super) fn export_response(taken: &Taken) -> Vec<u8> {
    let has_news = taken.rejected > 0 || !taken.message.is_empty();
    let partial_success = has_news.then(|| ExportTracePartialSuccess {
        rejected_spans: i64::try_from(taken.rejected).unwrap_or(i64::MAX),
        error_message: taken.message.clone(),
    });
    ExportTraceServiceResponse { partial_success }.encode_to_vec()
}

fn succeeded(message: &[u8]) -> Response<Body> {
    let mut frame = BytesMut::with_capacity(FRAME_HEADER + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.put_slice(message);
    let trailers = HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]);
    let body = Full::new(frame.freeze()).with_trailers(async { Some(Ok(trailers)) });
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// A status without a message.
pub(super) fn refused(refusal: &Refusal) -> Response<Body> {
    let (code, message) = (refusal.reason.grpc(), refusal.message.clone());
    let status = match refusal.retry_after {
        None => Status::new(code, message),
        wait => Status::with_error_details(code, message, ErrorDetails::with_retry_info(wait)),
    };
    let mut response = status.into_http::<Body>();
    if refusal.reason == Reason::UnknownEncoding {
        response.headers_mut().insert("grpc-accept-encoding", ENCODINGS);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_holds_exactly_one_message() {
        let frame = |bytes: &'static [u8]| unframe(Bytes::from_static(bytes));
        assert_eq!(frame(b"\0\0\0\0\x02hi").unwrap(), (false, Bytes::from_static(b"hi")));
        assert_eq!(frame(b"\x01\0\0\0\0").unwrap(), (true, Bytes::new()));
        for wrong in [&b""[..], b"\0\0\0\0", b"\0\0\0\0\x03hi", b"\0\0\0\0\x01hi", b"\x02\0\0\0\x02hi"] {
            assert_eq!(frame(wrong).unwrap_err().reason, Reason::Malformed, "{wrong:?}");
        }
    }

    #[test]
    fn a_response_with_nothing_to_say_is_empty_and_one_with_news_carries_them() {
        let taken = |rejected, message: &str| Taken { accepted: 1, rejected, message: message.to_owned() };
        assert_eq!(export_response(&taken(0, "")), b"");
        // By the protobuf wire format: field 1 of four bytes more than the text, in it field 1 varint 3, field 2 "no".
        assert_eq!(export_response(&taken(3, "no")), b"\x0a\x06\x08\x03\x12\x02no");
        assert_eq!(export_response(&taken(0, "no")), b"\x0a\x04\x12\x02no");
    }
}
