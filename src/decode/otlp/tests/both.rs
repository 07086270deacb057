//! One request in both encodings gives equal records.

use super::*;

fn assert_same(value: Value, what: &str) {
    let (is_otlp, read) = from_bytes(&encode::request(&value));
    assert!(is_otlp, "{what}");
    assert_eq!(read.reasons(), [], "{what}");
    let of_json = from_json(value).without_places();
    assert!(!of_json.is_empty(), "{what}");
    assert_eq!(of_json, read.without_places(), "{what}");
}

#[test]
fn every_captured_request_gives_equal_records_in_json_and_protobuf() {
    for (path, _, _) in CAPTURES {
        for (at, line) in capture_lines(path).into_iter().enumerate() {
            // The thinning of the captures left requests without spans, which as bytes are of no signal.
            if !from_json(line.clone()).records.is_empty() {
                assert_same(line, &format!("{path} line {}", at + 1));
            }
        }
    }
}

#[test]
fn values_of_every_kind_are_equal_in_json_and_protobuf() {
    let value = json!({"kvlistValue": {"values": [
        {"key": "s", "value": {"stringValue": "é"}},
        {"key": "b", "value": {"boolValue": true}},
        {"key": "i", "value": {"intValue": "-9223372036854775808"}},
        {"key": "d", "value": {"doubleValue": 1}},
        {"key": "n", "value": {"doubleValue": "NaN"}},
        {"key": "p", "value": {"doubleValue": "Infinity"}},
        {"key": "a", "value": {"arrayValue": {"values": [{"intValue": "1"}, {}, {"arrayValue": {}}]}}},
        {"key": "k", "value": {"kvlistValue": {}}},
        {"key": "y", "value": {"bytesValue": "AP8="}},
        {"key": "e", "value": {}},
        {"key": "m"},
        {"key": "s", "value": {"stringValue": "second of its name"}},
    ]}});
    let request = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [
        {"timeUnixNano": "1", "severityNumber": 9, "body": value, "attributes": [{"key": "x", "value": value}]}
    ]}]}]});
    assert_same(request.clone(), "values");
    let read = from_json(request);
    let expected = json!({
        "s": "é", "b": true, "i": i64::MIN, "d": 1.0, "n": "NaN", "p": "Infinity", "a": [1, null, []], "k": {}, "y": "AP8=",
        "e": null, "m": null
    });
    assert_eq!(read.logs()[0].body, expected);
    assert_eq!(read.logs()[0].attributes, Attributes(vec![("x".to_owned(), expected)]));
    assert_eq!(read.logs()[0].severity, "INFO");
}

#[test]
fn an_event_name_may_be_a_field_or_an_attribute() {
    for (field, attribute, name) in [("f", "a", "f"), ("", "a", "a")] {
        let request = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [{
            "timeUnixNano": "5", "eventName": field, "attributes": [{"key": "event.name", "value": {"stringValue": attribute}}]
        }]}]}]});
        assert_eq!(from_json(request.clone()).logs()[0].event_name, name);
        assert_same(request, name);
    }
}

#[test]
fn an_exchange_event_yields_the_exchange_with_the_records_trace_and_time() {
    let text = r#"{"request":{"method":"POST","url":"http://agent/a2a"},"response":{"status":200}}"#;
    let map = json!({"kvlistValue": {"values": [
        {"key": "request", "value": {"kvlistValue": {"values": [
            {"key": "method", "value": {"stringValue": "POST"}}, {"key": "url", "value": {"stringValue": "http://agent/a2a"}}
        ]}}},
        {"key": "response", "value": {"kvlistValue": {"values": [{"key": "status", "value": {"intValue": "200"}}]}}}
    ]}});
    for body in [json!({"stringValue": text}), map] {
        let request = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [{
            "observedTimeUnixNano": "1796019339385718880", "eventName": "a2a.exchange", "body": body,
            "traceId": "b0682a9e09f811c7107131162645973a", "spanId": "35fde059646868aa"
        }]}]}]});
        let (_, of_bytes) = from_bytes(&encode::request(&request));
        for read in [from_json(request), of_bytes] {
            let Some(Record::Exchange(exchange)) = read.records.first() else { panic!("{:?}", read.rejects) };
            assert_eq!((exchange.method.as_str(), exchange.url.as_str()), ("POST", "http://agent/a2a"));
            assert_eq!(exchange.started_at, Some(Instant(1_796_019_339_385_718_880)));
            assert_eq!(exchange.trace_id, "b0682a9e09f811c7107131162645973a");
            assert_eq!(exchange.span_id, "35fde059646868aa");
        }
    }
}
