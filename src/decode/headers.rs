//! HTTP headers and trace context, in all the forms that recorders write.
//!
//! In: JSON. Out: [`Headers`] with lower-case names; trace and span ids. Never drops a header, and never judges one.

use serde_json::Value;

use super::record::Headers;

/// Reads headers: `[[name, value]]`, `[{name, value}]`, `{name: value}`, `{name: [value]}`, `[name, value, ...]` or the
/// text of a header block.
pub(super) fn read(value: &Value) -> Headers {
    let mut headers = Headers::default();
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| add(&mut headers, name, value)),
        Value::String(block) => {
            for (name, value) in block.lines().filter_map(|line| line.split_once(':')) {
                headers.0.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        Value::Array(list) if list.iter().all(Value::is_string) => {
            list.chunks_exact(2).for_each(|pair| add(&mut headers, pair[0].as_str().unwrap_or_default(), &pair[1]));
        }
        Value::Array(list) => list.iter().for_each(|header| add_one(&mut headers, header)),
        _ => {}
    }
    headers
}

fn add_one(headers: &mut Headers, header: &Value) {
    match header {
        Value::Array(pair) => {
            if let [Value::String(name), value] = pair.as_slice() {
                add(headers, name, value);
            }
        }
        Value::Object(map) => {
            let first = |keys: [&str; 2]| keys.into_iter().find_map(|key| map.get(key));
            let name = first(["name", "key"]).and_then(Value::as_str);
            if let (Some(name), Some(value)) = (name, first(["value", "val"])) {
                add(headers, name, value);
            }
        }
        _ => {}
    }
}

fn add(headers: &mut Headers, name: &str, value: &Value) {
    let mut push = |value: String| headers.0.push((name.trim().to_ascii_lowercase(), value));
    match value {
        Value::String(text) => push(text.clone()),
        Value::Number(number) => push(number.to_string()),
        Value::Bool(word) => push(word.to_string()),
        Value::Array(list) => list.iter().filter_map(Value::as_str).for_each(|text| push(text.to_owned())),
        Value::Null | Value::Object(_) => {}
    }
}

/// Trace id and parent span id of the `traceparent` header (W3C Trace Context 2.2); empty where there is none.
pub(super) fn trace_context(headers: &Headers) -> (String, String) {
    let read = || {
        let mut fields = headers.get("traceparent")?.trim().split('-');
        let version = fields.next()?;
        let (trace, span) = (hex_id::<32>(fields.next()?)?, hex_id::<16>(fields.next()?)?);
        (version.len() == 2 && version != "ff").then_some((trace, span))
    };
    read().unwrap_or_default()
}

/// An id of `DIGITS` hex digits, not all zero, in lower case.
pub(super) fn hex_id<const DIGITS: usize>(text: &str) -> Option<String> {
    let valid = text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit()) && text.bytes().any(|b| b != b'0');
    valid.then(|| text.to_ascii_lowercase())
}

/// An absolute url where the parts allow it. Without a known scheme it is taken as http: no rule tells the two apart by
/// a request's url alone.
pub(super) fn absolute_url(url: &str, scheme: &str, host: &str) -> String {
    // Several words are no host.
    if url.contains("://") || host.is_empty() || host.contains(char::is_whitespace) {
        return url.to_owned();
    }
    let scheme = if scheme.is_empty() { "http" } else { scheme };
    let host = host.trim_end_matches('/');
    let slash = if url.starts_with('/') { "" } else { "/" };
    if host.contains("://") { format!("{host}{slash}{url}") } else { format!("{scheme}://{host}{slash}{url}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_are_read_in_every_form_with_lower_case_names() {
        let expected = Headers(vec![("etag".into(), "W/\"1\"".into()), ("content-length".into(), "7".into())]);
        for form in [
            json!([["ETag", "W/\"1\""], ["Content-Length", "7"]]),
            json!([{"name": "ETag", "value": "W/\"1\""}, {"name": "Content-Length", "value": "7"}]),
            json!(["ETag", "W/\"1\"", "Content-Length", "7"]),
            json!("ETag: W/\"1\"\r\nContent-Length: 7\r\n"),
        ] {
            assert_eq!(read(&form), expected, "{form}");
        }
        let map = read(&json!({"ETag": ["W/\"1\""], "Content-Length": 7, "x": null}));
        assert_eq!((map.get("etag"), map.get("content-length"), map.0.len()), (Some("W/\"1\""), Some("7"), 2));
    }

    #[test]
    fn a_trace_context_is_read_only_when_it_is_one() {
        let of = |value: &str| trace_context(&Headers(vec![("traceparent".into(), value.into())]));
        let trace = "26f39c4f951581bb9a62238268576327";
        assert_eq!(of(&format!("00-{trace}-dec341acd2f7b58e-03")), (trace.into(), "dec341acd2f7b58e".into()));
        for bad in [
            "00-00000000000000000000000000000000-dec341acd2f7b58e-03",
            "00-26f39c4f951581bb9a62238268576327-0000000000000000-03",
            "00-26f39c4f951581bb9a62238268576327-xyz341acd2f7b58e-03",
            "ff-26f39c4f951581bb9a62238268576327-dec341acd2f7b58e-03",
            "26f39c4f951581bb9a62238268576327",
            "",
        ] {
            assert_eq!(of(bad), Default::default(), "{bad}");
        }
    }

    #[test]
    fn a_path_and_a_host_make_a_url() {
        assert_eq!(absolute_url("/a", "", "h:1"), "http://h:1/a");
        assert_eq!(absolute_url("/a", "https", "h"), "https://h/a");
        assert_eq!(absolute_url("a", "https", "http://h/"), "http://h/a");
        assert_eq!(absolute_url("/a", "https", ""), "/a");
        assert_eq!(absolute_url("https://x/a", "http", "h"), "https://x/a");
    }
}
