//! Messages behind length prefixes.

use super::*;

const SPANS: &str = "a2a-python-1.3.0/jsonrpc.traces.0.otlp-http.pb";
const LOGS: &str = "a2a-python-1.3.0/jsonrpc.logs.1.otlp-http.pb";

fn framed(messages: &[Vec<u8>], flag: Option<u8>) -> Vec<u8> {
    let frame = |message: &Vec<u8>| {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        [flag.as_slice(), &length, message].concat()
    };
    messages.iter().flat_map(frame).collect()
}

#[test]
fn several_messages_behind_grpc_and_collector_lengths_are_read() {
    for flag in [Some(0), None] {
        let bytes = framed(&[vec![], capture(SPANS), capture(LOGS), capture(SPANS)], flag);
        let (is_otlp, read) = from_bytes(&bytes);
        assert!(is_otlp, "{flag:?}");
        assert_eq!(read.reasons(), [], "{flag:?}");
        assert_eq!((read.spans().len(), read.logs().len()), (20, 14), "{flag:?}");
        assert_eq!(read.formats, ["otlp-protobuf-traces", "otlp-protobuf-logs", "otlp-protobuf-traces"]);
    }
}

#[test]
fn a_cut_or_foreign_message_costs_none_before_it() {
    let whole = framed(&[capture(LOGS), capture(SPANS)], Some(0));
    let first = 5 + capture(LOGS).len();
    let (_, read) = from_bytes(&whole[..first + 3]);
    assert_eq!((read.logs().len(), read.reasons()), (14, vec![RejectReason::Truncated]));
    let (_, read) = from_bytes(&whole[..first + 5 + 2]);
    assert_eq!((read.logs().len(), read.reasons()), (14, vec![RejectReason::Truncated]));
    let (_, read) = from_bytes(&whole[..whole.len() - 1]);
    assert_eq!((read.logs().len(), read.spans().len(), read.reasons()), (14, 9, vec![RejectReason::Truncated]));
    let foreign = [&whole[..first], b"\x07garbage"].concat();
    let (_, read) = from_bytes(&foreign);
    assert_eq!((read.logs().len(), read.reasons()), (14, vec![RejectReason::BadProtobuf]));
    let compressed = [&whole[..first], b"\x01\0\0\0\x02\x1f\x8b"].concat();
    let (_, read) = from_bytes(&compressed);
    assert_eq!((read.logs().len(), read.reasons()), (14, vec![RejectReason::NeedsConversion]));
}

/// The place of a record is the byte at which its message starts, so that a person can cut it out.
#[test]
fn a_record_says_at_which_byte_it_starts() {
    let bytes = framed(&[capture(LOGS)], None);
    let mut sink = Collected::default();
    let origin = Origin { source: "x".into(), position: Position::Byte(1000) };
    assert!(proto::decode(&bytes, &origin, &mut sink));
    let log = sink.logs()[3];
    let Position::Byte(at) = log.origin.position else { panic!() };
    let rest = &bytes[usize::try_from(at - 1000).unwrap()..];
    // Field 1, fixed64: the time.
    assert_eq!(rest[0], 0x09);
    assert_eq!(i64::from_le_bytes(rest[1..9].try_into().unwrap()), log.at.unwrap().0);
}

#[test]
fn metrics_are_recognised_and_left_alone() {
    // metric { name: "m" sum { } } in scope and resource groups.
    for metric in [&b"\x0a\x01m\x3a\x00"[..], b"\x0a\x10request.duration\x12\x08duration\x1a\x01s\x2a\x00"] {
        let wrap = |field: u8, inner: &[u8]| [&[field, u8::try_from(inner.len()).unwrap()], inner].concat();
        let request = wrap(0x0a, &wrap(0x12, &wrap(0x12, metric)));
        let (is_otlp, read) = from_bytes(&request);
        assert!(is_otlp);
        assert_eq!(read.formats, ["otlp-protobuf-metrics"]);
        assert!(read.records.is_empty() && read.rejects.is_empty());
    }
}
