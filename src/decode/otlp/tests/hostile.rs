//! Cut, flipped, random, deep and huge input.

use super::*;

fn wrap(field: u32, inner: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_key(field, prost::encoding::WireType::LengthDelimited, &mut out);
    prost::encoding::encode_varint(inner.len() as u64, &mut out);
    out.extend_from_slice(inner);
    out
}

fn span_bytes(extra: &[u8]) -> Vec<u8> {
    let span =
        trace::Span { trace_id: vec![1; 16], span_id: vec![2; 8], start_time_unix_nano: 5, ..Default::default() };
    [span.encode_to_vec(), extra.to_vec()].concat()
}

fn request_of(spans: &[Vec<u8>]) -> Vec<u8> {
    let spans: Vec<u8> = spans.iter().flat_map(|span| wrap(2, span)).collect();
    wrap(1, &wrap(2, &spans))
}

/// Pseudo-random bytes from a fixed seed (xorshift), so that a failure can be repeated.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

#[test]
fn a_request_cut_anywhere_yields_what_came_before_and_one_reject() {
    for path in ["a2a-python-1.3.0/jsonrpc.logs.0.otlp-http.pb", "a2a-python-1.3.0/jsonrpc.traces.0.otlp-http.pb"] {
        let bytes = capture(path);
        let (_, whole) = from_bytes(&bytes);
        let whole = whole.without_places();
        let mut seen = 0;
        for end in 0..bytes.len() {
            let (is_otlp, read) = from_bytes(&bytes[..end]);
            if is_otlp {
                assert_eq!(read.reasons(), [RejectReason::Truncated], "{path} cut at {end}");
            } else {
                assert!(read.records.is_empty() && read.rejects.is_empty(), "{path} cut at {end}");
                assert_eq!(seen, 0, "{path} cut at {end} is no longer recognised");
            }
            let records = read.without_places();
            assert!(records.len() >= seen && records == whole[..records.len()], "{path} cut at {end}");
            seen = records.len();
        }
        assert_eq!(seen, whole.len() - 1, "{path}: only the last record is lost by the last byte");
    }
}

#[test]
fn a_request_with_flipped_bytes_never_panics() {
    let original = capture("a2a-python-1.3.0/jsonrpc.logs.1.otlp-http.pb");
    for seed in 0..3000 {
        let mut next = noise(seed);
        let mut bytes = original.clone();
        for _ in 0..=next() % 4 {
            let at = usize::try_from(next()).unwrap() % bytes.len();
            bytes[at] = next().to_le_bytes()[0];
        }
        let (is_otlp, read) = from_bytes(&bytes);
        assert!(is_otlp || read.records.is_empty());
    }
}

#[test]
fn random_bytes_are_none() {
    for seed in 0..3000 {
        let mut next = noise(seed);
        let length = usize::try_from(next() % 400).unwrap();
        let bytes: Vec<u8> = (0..length).map(|_| next().to_le_bytes()[0]).collect();
        let (is_otlp, read) = from_bytes(&bytes);
        assert!(!is_otlp && read.records.is_empty() && read.rejects.is_empty(), "seed {seed}");
    }
    for byte in [0, 1, 10, 0x12, 0xff] {
        assert!(!from_bytes(&vec![byte; 100_000]).0, "{byte}");
    }
}

#[test]
fn json_and_text_are_not_protobuf() {
    for text in ["", "\n", "{\"resourceSpans\":[]}", "\n\n\n\n\n\n\n\n", "INFO:httpx:x"] {
        assert!(!from_bytes(text.as_bytes()).0, "{text:?}");
    }
    for (path, _, _) in CAPTURES {
        assert!(!from_bytes(&capture(path)).0, "{path}");
    }
}

#[test]
fn a_span_nested_too_deep_costs_no_other() {
    // AnyValue { array_value { values { array_value ... } } }, as an attribute's value.
    let mut value = Vec::new();
    for _ in 0..1000 {
        value = wrap(5, &wrap(1, &value));
    }
    let attribute = [wrap(1, b"k"), wrap(2, &value)].concat();
    let request = request_of(&[span_bytes(b""), span_bytes(&wrap(9, &attribute)), span_bytes(b"")]);
    let (_, read) = from_bytes(&request);
    assert_eq!((read.spans().len(), read.reasons()), (2, vec![RejectReason::TooDeep]));
}

#[test]
fn a_span_that_is_none_costs_no_other() {
    // A varint of eleven bytes; text that is not UTF-8 as the name; a known field of another wire type.
    for bad in [&b"\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..], b"\x2a\x02\xff\xfe", b"\x48\x01"] {
        let (_, read) = from_bytes(&request_of(&[span_bytes(b""), span_bytes(bad), span_bytes(b"")]));
        assert_eq!((read.spans().len(), read.reasons()), (2, vec![RejectReason::BadProtobuf]), "{bad:?}");
    }
}

#[test]
fn a_huge_span_is_refused_and_many_tiny_ones_are_decoded_one_by_one() {
    let huge = span_bytes(&wrap(9, &[]).repeat(5 << 20));
    let (_, read) = from_bytes(&request_of(&[huge, span_bytes(b"")]));
    assert_eq!((read.spans().len(), read.reasons()), (1, vec![RejectReason::TooLarge]));

    struct Count(usize);
    impl Sink for Count {
        fn record(&mut self, _: Record) {}
        fn reject(&mut self, _: Reject) {
            self.0 += 1;
        }
        fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
    }
    let mut spans = vec![vec![]; 200_000];
    spans.insert(0, span_bytes(b""));
    let mut count = Count(0);
    assert!(proto::decode(&request_of(&spans), &origin(), &mut count));
    assert_eq!(count.0, 200_000);
}

#[test]
fn json_of_any_depth_is_refused_without_overflow() {
    // Not by `json!`, which copies what it is given.
    let member = |name: &str, inner| Value::Object([(name.to_owned(), inner)].into_iter().collect());
    let mut value = Value::Null;
    for _ in 0..10_000 {
        value = member("arrayValue", member("values", Value::Array(vec![value])));
    }
    let mut request = member("body", value);
    for name in ["logRecords", "scopeLogs", "resourceLogs"] {
        request = member(name, Value::Array(vec![request]));
    }
    assert_eq!(json::is_otlp(&request), Some("otlp-json-logs"));
    let read = from_json(request);
    assert_eq!((read.records.len(), read.reasons()), (0, vec![RejectReason::TooDeep]));
}

#[test]
fn what_json_text_can_nest_is_read() {
    let mut value = json!({"intValue": 1});
    for _ in 0..35 {
        value = json!({"arrayValue": {"values": [value]}});
    }
    let request = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": value}]}]}]});
    let parsed: Value = serde_json::from_str(&request.to_string()).unwrap();
    let read = from_json(parsed);
    assert_eq!((read.logs().len(), read.reasons()), (1, vec![]));
}

#[test]
fn details_of_rejects_hold_no_content() {
    let mut span = trace::Span { trace_id: b"secret".to_vec(), span_id: vec![2; 8], ..Default::default() };
    span.name = "secret".to_owned();
    span.start_time_unix_nano = 1;
    let good = span_bytes(b"");
    let (_, read) = from_bytes(&request_of(&[good, span.encode_to_vec(), span_bytes(&wrap(3, b"secret\xff"))]));
    assert_eq!(read.reasons(), [RejectReason::BadField, RejectReason::BadProtobuf]);
    let details: BTreeMap<&str, ()> = read.rejects.iter().map(|reject| (reject.detail.as_str(), ())).collect();
    assert!(details.keys().all(|detail| !detail.contains("secret")), "{details:?}");
}
