//! What emitters write besides the letter of OTLP/JSON.

use super::*;

const TRACE: &str = "0123456789abcdef0123456789abcdef";
const SPAN: &str = "0123456789abcdef";

fn one_span(span: Value) -> Span {
    let read = from_json(json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}));
    assert_eq!(read.reasons(), []);
    read.spans()[0].clone()
}

fn one_log(log: Value) -> LogRecord {
    let read = from_json(json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}));
    assert_eq!(read.reasons(), []);
    read.logs()[0].clone()
}

#[test]
fn times_are_read_as_strings_numbers_and_floats() {
    for (time, expected) in [
        (json!("1796019334820672512"), Some(1_796_019_334_820_672_512)),
        (json!(1_796_019_334_820_672_512_u64), Some(1_796_019_334_820_672_512)),
        (json!(1.796_019_334_820_672_5e18), Some(1_796_019_334_820_672_512)),
        (json!("1.7960193348206725e18"), Some(1_796_019_334_820_672_512)),
        (json!("0"), None),
        (json!(""), None),
        (json!(null), None),
        (json!({}), None),
    ] {
        let span = one_span(json!({"traceId": TRACE, "spanId": SPAN, "startTimeUnixNano": time}));
        assert_eq!(span.started_at, expected.map(Instant), "{time}");
    }
}

#[test]
fn a_time_that_is_none_is_told_once_a_record_and_the_record_is_kept() {
    let bad = [json!(-5), json!("NaN"), json!("18446744073709551615"), json!(1e300), json!("2026-11-30T06:15:34Z")];
    for time in bad {
        let span = json!({"traceId": TRACE, "spanId": SPAN, "startTimeUnixNano": time, "endTimeUnixNano": time});
        let read = from_json(json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}));
        assert_eq!((read.spans().len(), read.reasons()), (1, vec![RejectReason::BadTime]), "{time}");
        let observed = json!("1796019334820672512");
        for (log, reasons) in [
            (json!({"timeUnixNano": time, "observedTimeUnixNano": observed}), 1),
            (json!({"timeUnixNano": observed, "observedTimeUnixNano": time}), 0),
            (json!({"timeUnixNano": time, "observedTimeUnixNano": time}), 1),
        ] {
            let read = from_json(json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}));
            assert_eq!(read.reasons(), vec![RejectReason::BadTime; reasons], "{time}");
            assert_eq!(read.logs().len(), 1);
        }
    }
}

#[test]
fn enums_are_read_as_numbers_and_names() {
    for kind in [json!(2), json!("2"), json!(2.0), json!("SPAN_KIND_SERVER"), json!("SERVER"), json!("server")] {
        let span = one_span(json!({"traceId": TRACE, "spanId": SPAN, "kind": kind}));
        assert_eq!(span.kind, SpanKind::Server, "{kind}");
    }
    for kind in [json!(99), json!("SPAN_KIND_NEW"), json!(null), json!([]), json!(-1)] {
        let span = one_span(json!({"traceId": TRACE, "spanId": SPAN, "kind": kind}));
        assert_eq!(span.kind, SpanKind::Unspecified, "{kind}");
    }
    for code in [json!(2), json!("STATUS_CODE_ERROR"), json!("Error")] {
        assert!(one_span(json!({"traceId": TRACE, "spanId": SPAN, "status": {"code": code}})).is_error, "{code}");
    }
    for (number, word) in
        [(json!(13), "WARN"), (json!("SEVERITY_NUMBER_WARN2"), "WARN"), (json!(24), "FATAL"), (json!(0), "")]
    {
        assert_eq!(one_log(json!({"severityNumber": number})).severity, word, "{number}");
    }
}

#[test]
fn missing_null_empty_and_wrong_members_are_defaults() {
    let bare = one_span(json!({"traceId": TRACE, "spanId": SPAN}));
    let odd = json!({
        "traceId": TRACE, "spanId": SPAN, "parentSpanId": "", "name": null, "kind": null, "attributes": null, "events": {},
        "status": null, "links": 7, "unknownMember": {"deep": [1]}
    });
    assert_eq!(one_span(odd), bare);
    let zero_parent = json!({"traceId": TRACE, "spanId": SPAN, "parentSpanId": "0000000000000000"});
    assert_eq!(one_span(zero_parent), bare);
    let log = one_log(
        json!({"body": {}, "attributes": [{}, null, 5, {"key": "k", "value": null}, {"key": "bare", "value": "text"}]}),
    );
    assert_eq!(log.body, Value::Null);
    assert_eq!(log.attributes.0, [("k".to_owned(), Value::Null), ("bare".to_owned(), json!("text"))]);
    for empty in
        [json!({"resourceSpans": []}), json!({"resourceSpans": [{}]}), json!({"resourceSpans": [{"scopeSpans": [{}]}]})]
    {
        assert!(json::is_otlp(&empty).is_some());
        let read = from_json(empty);
        assert!(read.records.is_empty() && read.rejects.is_empty());
    }
}

#[test]
fn older_and_snake_case_names_are_read() {
    let span = json!({"trace_id": TRACE, "span_id": SPAN, "name": "n", "start_time_unix_nano": 5,
        "attributes": [{"key": "k", "value": {"int_value": 1}}]});
    for (format, request) in [
        ("otlp-json-traces", json!({"resource_spans": [{"scope_spans": [{"scope": {"name": "s"}, "spans": [span]}]}]})),
        (
            "otlp-json-traces",
            json!({"resourceSpans": [{"instrumentationLibrarySpans": [{"instrumentationLibrary": {"name": "s"}, "spans": [span]}]}]}),
        ),
        ("tempo-json", json!({"batches": [{"ilSpans": [{"instrumentationLibrary": {"name": "s"}, "spans": [span]}]}]})),
        (
            "tempo-json",
            json!({"trace": {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "s"}, "spans": [span]}]}]}}),
        ),
        (
            "otlp-json-traces",
            json!({"result": {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "s"}, "spans": [span]}]}]}}),
        ),
    ] {
        assert_eq!(json::is_otlp(&request), Some(format), "{request}");
        let read = from_json(request.clone());
        assert_eq!(read.reasons(), [], "{request}");
        let span = read.spans()[0];
        assert_eq!(
            (span.trace_id.as_str(), span.span_id.as_str(), span.scope.as_str()),
            (TRACE, SPAN, "s"),
            "{request}"
        );
        assert_eq!(span.started_at, Some(Instant(5)), "{request}");
        assert_eq!(span.attributes.get("k"), Some(&json!(1)), "{request}");
    }
}

#[test]
fn tempos_base64_ids_and_enum_names_are_read() {
    let read = from_json(json!({"batches": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [{
        "traceId": "ASNFZ4mrze8BI0VniavN7w==", "spanId": "ASNFZ4mrze8=", "parentSpanId": "ASNFZ4mrze4=", "kind": "SPAN_KIND_SERVER",
        "startTimeUnixNano": "7", "status": {"code": "STATUS_CODE_ERROR"}
    }]}]}]}));
    let span = read.spans()[0];
    assert_eq!((span.trace_id.as_str(), span.span_id.as_str()), (TRACE, SPAN));
    assert_eq!(span.parent_span_id, "0123456789abcdee");
    assert!(span.kind == SpanKind::Server && span.is_error);
}

#[test]
fn integers_and_doubles_are_read_in_every_form() {
    for (value, expected) in [
        (json!({"intValue": "41001"}), json!(41001)),
        (json!({"intValue": 41001}), json!(41001)),
        (json!({"intValue": "41001.0"}), json!(41001)),
        (json!({"intValue": 41001.0}), json!(41001)),
        (json!({"doubleValue": "2.5"}), json!(2.5)),
        (json!({"doubleValue": 2}), json!(2.0)),
        (json!({"doubleValue": "-Infinity"}), json!("-Infinity")),
        (json!({"boolValue": "true"}), json!(true)),
        (json!({"bytesValue": "AP8"}), json!("AP8=")),
        (json!({"futureValue": 1}), Value::Null),
    ] {
        assert_eq!(one_log(json!({"body": value})).body, expected, "{value}");
    }
}

#[test]
fn a_span_with_an_impossible_id_costs_no_other() {
    let good = json!({"traceId": TRACE, "spanId": SPAN});
    for (bad, reason) in [
        (json!({"traceId": "01", "spanId": SPAN}), RejectReason::BadField),
        (json!({"traceId": "zz23456789abcdef0123456789abcdef", "spanId": SPAN}), RejectReason::BadField),
        (json!({"traceId": 5, "spanId": SPAN}), RejectReason::BadField),
        (json!({"traceId": TRACE, "spanId": TRACE}), RejectReason::BadField),
        (json!({"traceId": "", "spanId": SPAN}), RejectReason::MissingField),
        (json!({"traceId": TRACE}), RejectReason::MissingField),
        (json!("no object"), RejectReason::BadField),
    ] {
        let read = from_json(json!({"resourceSpans": [7, {"scopeSpans": [{"spans": [good, bad, good]}]}]}));
        assert_eq!(read.reasons(), [RejectReason::BadField, reason], "{bad}");
        assert_eq!(read.spans().len(), 2, "{bad}");
    }
    let read = from_json(
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": TRACE, "spanId": SPAN, "parentSpanId": "x"}]}]}]}),
    );
    assert_eq!((read.spans().len(), read.reasons()), (1, vec![RejectReason::BadField]));
    let read = from_json(json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "x"}]}]}]}));
    assert_eq!((read.logs().len(), read.reasons()), (1, vec![RejectReason::BadField]));
}

#[test]
fn other_json_is_not_otlp_and_metrics_yield_nothing() {
    for other in [
        json!({}),
        json!([]),
        json!("resourceSpans"),
        json!({"resourceSpans": {}}),
        json!({"batches": [1, {"x": []}]}),
        json!({"result": {"id": "task"}}),
        json!({"trace": "projects/p/traces/t"}),
    ] {
        assert_eq!(json::is_otlp(&other), None, "{other}");
    }
    let metrics = json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m"}]}]}]});
    assert_eq!(json::is_otlp(&metrics), Some("otlp-json-metrics"));
    let read = from_json(metrics);
    assert!(read.records.is_empty() && read.rejects.is_empty());
}
