//! Message bodies, in all the forms that recorders write, freed of content codings.
//!
//! In: JSON of a body and the headers beside it. Out: [`Body`]. Inflates no further than the record limit, and never
//! interprets content.

use std::io::{self, Read};

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use serde_json::{Map, Value};

use super::record::{Body, Headers, RejectReason};
use super::tree;

/// A body as read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ReadBody {
    /// The body.
    pub(super) body: Body,
    /// The recorder says that it cut it.
    pub(super) truncated: bool,
    /// Why it is not, or not all, what was sent.
    pub(super) problem: Option<(RejectReason, &'static str)>,
}

/// Members of an object that wraps a body. An object with any other member is the body.
const WRAPPER: [&str; 9] =
    ["text", "base64", "encoding", "mimeType", "mime_type", "size", "truncated", "comment", "compression"];

/// Reads a body: none, text, `{text}`, `{base64}`, `{text, encoding: "base64"}`, or JSON.
pub(super) fn read(value: Value, headers: &Headers, max_bytes: usize) -> ReadBody {
    match value {
        Value::Null => ReadBody::default(),
        Value::String(text) => of_text(text),
        Value::Object(map) if is_wrapper(&map) => unwrap(map, headers, max_bytes),
        json => ReadBody { body: Body::Json(json), ..ReadBody::default() },
    }
}

fn is_wrapper(map: &Map<String, Value>) -> bool {
    let has_content =
        ["text", "base64"].into_iter().any(|key| map.get(key).is_some_and(|v| v.is_string() || v.is_null()));
    has_content && map.keys().all(|key| WRAPPER.contains(&key.as_str()))
}

fn unwrap(mut map: Map<String, Value>, headers: &Headers, max_bytes: usize) -> ReadBody {
    let truncated = map.get("truncated").and_then(Value::as_bool).unwrap_or(false);
    let is_base64 = map.get("encoding").and_then(Value::as_str).is_some_and(|e| e.eq_ignore_ascii_case("base64"));
    let read = match (map.remove("base64"), map.remove("text")) {
        (Some(Value::String(encoded)), _) => of_base64(&encoded, headers, max_bytes),
        (_, Some(Value::String(encoded))) if is_base64 => of_base64(&encoded, headers, max_bytes),
        (_, Some(Value::String(text))) => of_text(text),
        _ => ReadBody::default(),
    };
    ReadBody { truncated: truncated || read.truncated, ..read }
}

/// A body recorded as text: any content coding was removed by the recorder. JSON that nobody could read is not kept, and
/// of an event stream no more than can be.
pub(super) fn of_text(mut text: String) -> ReadBody {
    if text.is_empty() {
        return ReadBody::default();
    }
    if text.trim_start().starts_with(['{', '[']) && tree::is_too_heavy(&text) {
        let problem = Some((RejectReason::TooLarge, "body of too many parts"));
        return ReadBody { body: Body::Absent, truncated: true, problem };
    }
    if let Some(end) = tree::heavy_from(&text) {
        text.truncate(end);
        let problem = Some((RejectReason::TooLarge, "event stream of too many parts: its end was left out"));
        return ReadBody { body: Body::Text(text), truncated: true, problem };
    }
    ReadBody { body: Body::Text(text), ..ReadBody::default() }
}

/// A body recorded as bytes.
pub(super) fn of_base64(encoded: &str, headers: &Headers, max_bytes: usize) -> ReadBody {
    match decode_base64(encoded) {
        Some(bytes) => of_bytes(bytes, headers, max_bytes),
        None => ReadBody { problem: Some((RejectReason::BadField, "body is not base64")), ..ReadBody::default() },
    }
}

/// Base64 in either alphabet, padded or not, with line ends in it or not.
fn decode_base64(encoded: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let dense: String = encoded.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let alphabet = if dense.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    GeneralPurpose::new(&alphabet, config).decode(dense).ok()
}

fn of_bytes(mut bytes: Vec<u8>, headers: &Headers, max_bytes: usize) -> ReadBody {
    let mut problem = None;
    let codings = headers.get("content-encoding").unwrap_or_default();
    // The last coding named was applied last.
    for coding in codings.split(',').rev().map(|c| c.trim().to_ascii_lowercase()).filter(|c| !c.is_empty()) {
        match uncode(&bytes, &coding, max_bytes) {
            Ok(Some(plain)) => bytes = plain,
            Ok(None) => {}
            Err(fault) => {
                problem = Some(fault);
                break;
            }
        }
    }
    let body = match String::from_utf8(bytes) {
        Ok(text) if text.is_empty() || is_readable(&text) => {
            let read = of_text(text);
            return ReadBody { problem: problem.or(read.problem), ..read };
        }
        // Read as text all the same, by whoever looks for events.
        Ok(text) => match of_text(text) {
            ReadBody { body: Body::Text(text), truncated, problem: heavy } => {
                let body = Body::Bytes(text.into_bytes());
                return ReadBody { body, truncated, problem: problem.or(heavy) };
            }
            read => return ReadBody { problem: problem.or(read.problem), ..read },
        },
        Err(error) => Body::Bytes(error.into_bytes()),
    };
    ReadBody { body, truncated: false, problem }
}

/// gRPC frames can be valid UTF-8; text holds no such control characters.
fn is_readable(text: &str) -> bool {
    !text.bytes().any(|b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
}

/// Removes one content coding; none if the recorder has removed it already.
fn uncode(bytes: &[u8], coding: &str, max_bytes: usize) -> Result<Option<Vec<u8>>, (RejectReason, &'static str)> {
    const BROKEN: (RejectReason, &str) = (RejectReason::BadCompression, "broken content coding of a body");
    let plain = match coding {
        "gzip" | "x-gzip" if bytes.starts_with(&[0x1f, 0x8b]) => read_limited(MultiGzDecoder::new(bytes), max_bytes),
        "zstd" if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
            zstd::stream::read::Decoder::with_buffer(bytes).and_then(|decoder| read_limited(decoder, max_bytes))
        }
        // Named after RFC 1950, sent by some as bare RFC 1951.
        "deflate" => read_limited(ZlibDecoder::new(bytes), max_bytes)
            .or_else(|_| read_limited(DeflateDecoder::new(bytes), max_bytes)),
        "identity" | "gzip" | "x-gzip" | "zstd" => return Ok(None),
        _ if is_plain(bytes) => return Ok(None),
        _ => return Err((RejectReason::BadField, "body in a content coding not known here")),
    };
    match plain {
        Ok(plain) if plain.len() > max_bytes => Err((RejectReason::TooLarge, "body inflates beyond the record limit")),
        Ok(plain) => Ok(Some(plain)),
        Err(_) if is_plain(bytes) => Ok(None),
        Err(_) => Err(BROKEN),
    }
}

fn is_plain(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(is_readable)
}

fn read_limited(decoder: impl Read, max_bytes: usize) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    decoder.take(max_bytes as u64 + 1).read_to_end(&mut plain)?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use serde_json::json;

    use super::*;

    fn encode(bytes: &[u8]) -> String {
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    fn coded(coding: &str, bytes: &[u8]) -> ReadBody {
        let headers = Headers(vec![("content-encoding".into(), coding.into())]);
        read(json!({"base64": encode(bytes)}), &headers, 1000)
    }

    #[test]
    fn a_body_is_read_in_every_form() {
        let none = Headers::default();
        let text = Body::Text("{}".into());
        for (form, expected) in [
            (json!(null), Body::Absent),
            (json!(""), Body::Absent),
            (json!({"text": null}), Body::Absent),
            (json!("{}"), text.clone()),
            (json!({"text": "{}", "mimeType": "application/json"}), text.clone()),
            (json!({"base64": "e30="}), text.clone()),
            (json!({"base64": "e30"}), text.clone()),
            (json!({"text": "e3\n0=", "encoding": "base64"}), text),
            (json!({"base64": "AAAAAAE="}), Body::Bytes(vec![0, 0, 0, 0, 1])),
            (json!({"jsonrpc": "2.0"}), Body::Json(json!({"jsonrpc": "2.0"}))),
            (
                json!({"text": "x", "mediaType": "text/plain"}),
                Body::Json(json!({"text": "x", "mediaType": "text/plain"})),
            ),
            (json!([1]), Body::Json(json!([1]))),
        ] {
            assert_eq!(read(form.clone(), &none, 1000).body, expected, "{form}");
        }
        assert_eq!(read(json!({"base64": "%"}), &none, 1000).problem.map(|p| p.0), Some(RejectReason::BadField));
        assert!(read(json!({"text": "{", "truncated": true}), &none, 1000).truncated);
    }

    #[test]
    fn content_codings_are_removed_in_reverse_order() {
        let plain = br#"{"a":1}"#;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(plain).unwrap();
        let gzip = gzip.finish().unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(plain).unwrap();
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::default());
        bare.write_all(plain).unwrap();
        let expected = Body::Text(r#"{"a":1}"#.into());
        assert_eq!(coded("GZIP", &gzip).body, expected);
        assert_eq!(coded("deflate", &zlib.finish().unwrap()).body, expected);
        assert_eq!(coded("deflate", &bare.finish().unwrap()).body, expected);
        assert_eq!(coded("zstd", &zstd::encode_all(&plain[..], 1).unwrap()).body, expected);
        assert_eq!(coded("gzip, zstd", &zstd::encode_all(&gzip[..], 1).unwrap()).body, expected);
        for coding in ["gzip", "deflate", "br", "identity"] {
            assert_eq!(coded(coding, plain), ReadBody { body: expected.clone(), ..ReadBody::default() }, "{coding}");
        }
    }

    #[test]
    fn a_body_that_inflates_beyond_the_limit_or_is_broken_says_so() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&[b'x'; 5000]).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(coded("gzip", &gzip).problem.map(|p| p.0), Some(RejectReason::TooLarge));
        assert_eq!(coded("gzip", &gzip[..12]).problem.map(|p| p.0), Some(RejectReason::BadCompression));
        assert_eq!(coded("br", &[0x8b, 0xff]).problem.map(|p| p.0), Some(RejectReason::BadField));
    }
}
