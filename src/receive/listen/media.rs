//! What headers say about a body: its type, its compression.
//!
//! In: header values as senders write them. Out: what they mean here, or nothing. Never looks at a body.

use http::{HeaderMap, HeaderValue, header};

use super::delivery::{Encoding, Receiver};

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    /// Not at all.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// RFC 1950, and what some senders take the word for: RFC 1951.
    Deflate,
}

impl Compression {
    /// What a content coding or gRPC message encoding means. Two at once are not known here.
    pub(super) fn of(value: Option<&HeaderValue>) -> Option<Self> {
        let Some(value) = value else { return Some(Self::Identity) };
        match value.to_str().ok()?.trim().to_ascii_lowercase().as_str() {
            "" | "identity" | "none" => Some(Self::Identity),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            "deflate" => Some(Self::Deflate),
            _ => None,
        }
    }
}

/// The compression of an HTTP body; several header lines are one list.
pub(super) fn content_encoding(headers: &HeaderMap) -> Option<Compression> {
    let mut lines = headers.get_all(header::CONTENT_ENCODING).iter();
    let first = lines.next();
    if lines.next().is_some() { None } else { Compression::of(first) }
}

/// What a body is written in, if `receiver` takes that.
pub(super) fn encoding(receiver: Receiver, headers: &HeaderMap) -> Option<Encoding> {
    let essence = essence(headers);
    match (receiver, essence.as_str()) {
        (Receiver::OtlpGrpc, kind) => {
            let kind = kind.strip_prefix("application/grpc")?;
            matches!(kind, "" | "+proto").then_some(Encoding::Protobuf)
        }
        (Receiver::OtlpHttp, "application/x-protobuf" | "application/protobuf") => Some(Encoding::Protobuf),
        (Receiver::OtlpHttp, "application/json") => Some(Encoding::Json),
        (Receiver::OtlpHttp, _) => None,
        // What curl sends unless it is told otherwise.
        (Receiver::Exchanges, "" | "application/x-www-form-urlencoded" | "application/octet-stream") => {
            Some(Encoding::Text)
        }
        (Receiver::Exchanges, "application/json") => Some(Encoding::Json),
        (Receiver::Exchanges, kind) if kind.ends_with("+json") => Some(Encoding::Json),
        (Receiver::Exchanges, kind) => (kind.starts_with("text/") || kind.contains("json")).then_some(Encoding::Text),
    }
}

/// Whether the sender speaks gRPC.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    essence(headers).starts_with("application/grpc")
}

/// Whether a Status is best sent as protobuf: in the type of the request, and as JSON when that is neither.
pub(super) fn wants_protobuf(headers: &HeaderMap) -> bool {
    matches!(essence(headers).as_str(), "application/x-protobuf" | "application/protobuf")
}

/// The media type without parameters, in lower case; empty when there is none.
fn essence(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(receiver: Receiver, content_type: &str) -> Option<Encoding> {
        let value = HeaderValue::from_str(content_type).unwrap();
        encoding(receiver, &HeaderMap::from_iter([(header::CONTENT_TYPE, value)]))
    }

    #[test]
    fn a_media_type_is_read_without_its_parameters_and_in_any_case() {
        for text in ["application/json", "application/json; charset=utf-8", "Application/JSON ;charset=\"UTF-8\""] {
            assert_eq!(of(Receiver::OtlpHttp, text), Some(Encoding::Json), "{text}");
        }
        assert_eq!(of(Receiver::OtlpHttp, "application/x-protobuf"), Some(Encoding::Protobuf));
        assert_eq!(of(Receiver::OtlpHttp, "application/jsonp"), None);
        assert_eq!(encoding(Receiver::OtlpHttp, &HeaderMap::new()), None);
    }

    #[test]
    fn grpc_carries_protobuf_and_nothing_else() {
        assert_eq!(of(Receiver::OtlpGrpc, "application/grpc"), Some(Encoding::Protobuf));
        assert_eq!(of(Receiver::OtlpGrpc, "application/grpc+proto"), Some(Encoding::Protobuf));
        assert_eq!(of(Receiver::OtlpGrpc, "application/grpc+json"), None);
        assert_eq!(of(Receiver::OtlpGrpc, "application/grpc-web"), None);
    }

    #[test]
    fn exchanges_come_as_any_text_or_json() {
        for text in ["text/plain", "application/x-ndjson", "application/jsonl", "application/x-www-form-urlencoded"] {
            assert_eq!(of(Receiver::Exchanges, text), Some(Encoding::Text), "{text}");
        }
        for text in ["application/json", "application/har+json"] {
            assert_eq!(of(Receiver::Exchanges, text), Some(Encoding::Json), "{text}");
        }
        assert_eq!(of(Receiver::Exchanges, "image/png"), None);
    }

    #[test]
    fn compressions_are_known_by_name_and_never_stacked() {
        let of = |text: &str| Compression::of(Some(&HeaderValue::from_str(text).unwrap()));
        assert_eq!(Compression::of(None), Some(Compression::Identity));
        assert_eq!(of("GZIP"), Some(Compression::Gzip));
        assert_eq!(of("br"), None);
        assert_eq!(of("gzip, gzip"), None);
    }
}
