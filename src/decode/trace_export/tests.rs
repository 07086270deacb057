//! Documents as the formats' own descriptions and other people's stores have them, beside those of tests/formats/traces.

use std::io::Cursor;

use serde_json::{Value, json};

use crate::decode::framing::collect::Collected;
use crate::decode::record::{Position, Record, RejectReason, Span, SpanKind};
use crate::decode::{Limits, decode};
use crate::instant::Instant;

fn read_limited(bytes: &[u8], limits: &Limits) -> Collected {
    let mut all = Collected::default();
    decode(&"test".into(), Box::new(Cursor::new(bytes)), limits, &mut all);
    all
}

fn read(bytes: &[u8]) -> Collected {
    read_limited(bytes, &Limits::default())
}

fn spans(text: &str) -> (Vec<Span>, Collected) {
    let mut all = read(text.as_bytes());
    let records = std::mem::take(&mut all.records);
    let spans = records.into_iter().map(|record| match record {
        Record::Span(span) => *span,
        other => panic!("{other:?}"),
    });
    (spans.collect(), all)
}

/// After Jaeger's own test of its converter (internal/uimodel/converter/v1/json/fixtures/ui_01.json) and the model it
/// converts to (internal/uimodel/model.go).
fn jaeger_trace() -> Value {
    json!({
        "traceID": "1",
        "spans": [
            {
                "traceID": "1", "spanID": "2", "operationName": "call", "references": [],
                "startTime": 1_485_467_191_639_875_u64, "duration": 5,
                "tags": [
                    {"key": "span.kind", "type": "string", "value": "server"},
                    {"key": "error", "type": "bool", "value": true},
                    {"key": "temperature", "type": "float64", "value": 72.5},
                    {"key": "javascript_limit", "type": "int64", "value": "9223372036854775222"},
                    {"key": "blob", "type": "binary", "value": "AAAwOQ=="},
                    {"key": "list", "type": "string", "value": "[\"a\",\"b\"]"},
                ],
                "logs": [{
                    "timestamp": 1_485_467_191_639_876_u64,
                    "fields": [
                        {"key": "event", "type": "string", "value": "some-event"},
                        {"key": "x", "type": "string", "value": "y"},
                    ],
                }],
                "processID": "p1", "warnings": null,
            },
            {
                "traceID": "1", "spanID": "4", "operationName": "references",
                "references": [
                    {"refType": "FOLLOWS_FROM", "traceID": "1", "spanID": "7"},
                    {"refType": "CHILD_OF", "traceID": "ff", "spanID": "ff"},
                    {"refType": "CHILD_OF", "traceID": "1", "spanID": "2"},
                ],
                "startTime": 1_485_467_191_639_875_u64, "duration": 5, "tags": [], "logs": [], "processID": "p2",
            },
        ],
        "processes": {
            "p1": {"serviceName": "service-x", "tags": [{"key": "hostname", "type": "string", "value": "a"}]},
            "p2": {"serviceName": "service-y", "tags": []},
        },
        "warnings": ["some trace warning"],
    })
}

#[test]
fn a_trace_of_jaeger_gives_its_spans_however_it_is_wrapped() {
    let trace = jaeger_trace();
    let answer = json!({"data": [trace], "total": 0, "limit": 0, "offset": 0, "errors": null});
    for text in [
        trace.to_string(),
        answer.to_string(),
        serde_json::to_string_pretty(&trace).unwrap(),
        serde_json::to_string_pretty(&answer).unwrap(),
    ] {
        let (spans, all) = spans(&text);
        assert!(all.rejects.is_empty() && all.formats.contains(&"jaeger-json"), "{:?}", all.rejects);
        let [first, second] = spans.as_slice() else { panic!("{}", spans.len()) };
        assert_eq!(first.trace_id, "00000000000000000000000000000001");
        assert_eq!((first.span_id.as_str(), first.parent_span_id.as_str()), ("0000000000000002", ""));
        assert_eq!((first.kind, first.is_error), (SpanKind::Server, true));
        assert_eq!(first.started_at, Some(Instant(1_485_467_191_639_875_000)));
        assert_eq!(first.ended_at, Some(Instant(1_485_467_191_639_880_000)));
        assert_eq!(first.resource.text("service.name").as_deref(), Some("service-x"));
        assert_eq!(first.resource.text("hostname").as_deref(), Some("a"));
        assert_eq!(first.attributes.get("javascript_limit"), Some(&json!(9_223_372_036_854_775_222_i64)));
        assert_eq!(first.attributes.get("list"), Some(&json!(["a", "b"])));
        assert_eq!(first.attributes.get("blob"), Some(&json!("AAAwOQ==")));
        assert_eq!((first.events[0].name.as_str(), first.events[0].attributes.0.len()), ("some-event", 1));
        assert_eq!(second.parent_span_id, "0000000000000002");
        assert_eq!(second.resource.text("service.name").as_deref(), Some("service-y"));
    }
}

#[test]
fn a_span_of_jaegers_store_holds_its_process() {
    // As in Jaeger's fixtures of its Elasticsearch model (es_01.json).
    let stored = json!({
        "traceID": "0000000000000000000000000000000a", "spanID": "b", "parentSpanID": "c", "flags": 1,
        "operationName": "op", "startTime": 1_485_467_191_639_875_u64, "duration": 5, "logs": [],
        "tags": [{"key": "n", "type": "int64", "value": "7"}, {"key": "b", "type": "bool", "value": "true"}],
        "process": {"serviceName": "s", "tags": []},
    });
    let (spans, _) = spans(&stored.to_string());
    assert_eq!((spans[0].parent_span_id.as_str(), spans[0].span_id.as_str()), ("000000000000000c", "000000000000000b"));
    assert_eq!(spans[0].attributes.0, [("n".to_owned(), json!(7)), ("b".to_owned(), json!(true))]);
}

#[test]
fn traces_of_a_long_answer_are_cut_and_a_bad_one_costs_itself() {
    let one = jaeger_trace().to_string();
    let bad = r#"{"traceID":"2","spans":[{"traceID":"2","spanID":"no id"}],"processes":{}}"#;
    let limits = Limits { max_record_bytes: 4096, ..Default::default() };
    let list = format!("{{\"data\":[{}]}}", [one.as_str(), bad, &one].join(",\n"));
    let all = read_limited(list.as_bytes(), &limits);
    assert_eq!(all.records.len(), 4);
    let [reject] = all.rejects.as_slice() else { panic!("{:?}", all.rejects) };
    assert_eq!((reject.reason, reject.origin.position), (RejectReason::BadField, Position::Line(2)));
    // Longer altogether than any record may be.
    let long = format!("{{\"data\":[{}],\"total\":0}}", vec![one.as_str(); 100].join(","));
    let all = read_limited(long.as_bytes(), &limits);
    assert_eq!((all.records.len(), all.rejects.len()), (200, 0));
}

#[test]
fn a_document_with_other_data_stays_one() {
    let task = json!({
        "data": [{"text": "no trace"}], "id": "t-1", "contextId": "c-1", "kind": "task",
        "status": {"state": "completed"},
    });
    let all = read(serde_json::to_string_pretty(&task).unwrap().as_bytes());
    assert!(matches!(all.records.as_slice(), [Record::Document(_)]), "{:?}", all.rejects);
}

#[test]
fn answers_of_tempo_give_spans_and_a_search_gives_advice() {
    // After the answer in Tempo's guide "Push spans with HTTP" (grafana/tempo pull request 427), and the second API.
    let batch = r#"{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shell"}}]},
        "instrumentationLibrarySpans":[{"spans":[{"traceId":"AAAAAAAAAAABI0VniavN7w==","spanId":"AAAAAAAAEjQ=",
        "name":"span","kind":"SPAN_KIND_SERVER","startTimeUnixNano":"1608239395286533000",
        "endTimeUnixNano":"1608239395386533000","status":{"code":"STATUS_CODE_ERROR"}}]}]}"#;
    for text in [
        format!("{{\"batches\":[{batch}]}}"),
        format!("{{\"trace\":{{\"batches\":[{batch}]}}}}"),
        format!("{{\"trace\":{{\"resourceSpans\":[{batch}]}},\"metrics\":{{}}}}"),
        format!("{{\"result\":{{\"resourceSpans\":[{batch}]}}}}"),
        // Java's OtlpJsonLoggingSpanExporter prints a resource a line.
        batch.to_owned(),
    ] {
        for text in [text.clone(), text.replace('\n', "")] {
            let (spans, all) = spans(&text);
            let [span] = spans.as_slice() else { panic!("{text}: {:?}", all.rejects) };
            assert_eq!(span.trace_id, "00000000000000000123456789abcdef");
            assert_eq!((span.span_id.as_str(), span.kind, span.is_error), ("0000000000001234", SpanKind::Server, true));
        }
    }
    // After the example of "Search" in Tempo's API documentation.
    let search = r#"{"traces":[{"traceID":"2f3e0cee77ae5dc9c17ade3689eb2e54","rootServiceName":"shop","rootTraceName":
        "update","startTimeUnixNano":"1684778327699392724","durationMs":557}],"metrics":{"totalBlocks":13}}"#;
    let (none, all) = spans(search);
    assert!(none.is_empty());
    assert_eq!(all.rejects[0].reason, RejectReason::NeedsConversion);
    assert!(all.rejects[0].detail.contains("/api/traces/"));
}

#[test]
fn spans_of_zipkin_are_read_with_both_sides_of_a_shared_one() {
    // After the example of Zipkin's API (zipkin2-api.yaml) and its data model's page.
    let list = json!([[
        {
            "traceId": "5af7183fb1d4cf5f", "id": "352bff9a74ca9ad2", "parentId": "6b221d5bc9e6496c", "kind": "CLIENT",
            "name": "get /api", "timestamp": 1_556_604_172_355_737_u64, "duration": 1431,
            "localEndpoint": {"serviceName": "frontend", "ipv4": "192.168.99.1", "port": 3306},
            "remoteEndpoint": {"serviceName": "backend", "ipv4": "172.19.0.2", "port": 58648},
            "tags": {"http.method": "GET", "error": "no route", "k8s.pod.name": "p"},
            "annotations": [
                {"timestamp": 1_556_604_172_355_800_u64, "value": "retry"},
                {"timestamp": 1_556_604_172_355_900_u64, "value": "\"exception\":{\"exception.type\":\"E\"}"},
            ],
        },
        {
            "traceId": "5af7183fb1d4cf5f", "id": "352bff9a74ca9ad2", "kind": "SERVER", "name": "get /api",
            "timestamp": 1_556_604_172_356_000_u64, "duration": 900, "shared": true,
            "localEndpoint": {"serviceName": "backend"},
        },
    ]]);
    for text in [
        list.to_string(),
        serde_json::to_string_pretty(&list).unwrap(),
        list[0][0].to_string() + "\n" + &list[0][1].to_string(),
    ] {
        let (spans, all) = spans(&text);
        let [client, server] = spans.as_slice() else { panic!("{:?}", all.rejects) };
        assert_eq!(client.trace_id, "00000000000000005af7183fb1d4cf5f");
        assert_eq!(
            (client.kind, client.is_error, client.status_message.as_str()),
            (SpanKind::Client, true, "no route")
        );
        assert_eq!(client.resource.text("service.name").as_deref(), Some("frontend"));
        assert_eq!(client.resource.text("k8s.pod.name").as_deref(), Some("p"));
        assert_eq!(client.attributes.text("network.peer.address").as_deref(), Some("172.19.0.2"));
        assert_eq!(client.events[0].name, "retry");
        assert_eq!(client.events[1].name, "exception");
        assert_eq!(client.events[1].attributes.text("exception.type").as_deref(), Some("E"));
        assert_eq!(server.parent_span_id, client.span_id);
        assert_ne!(server.span_id, client.span_id);
    }
}

#[test]
fn a_span_that_go_printed_is_read() {
    // After the output of stdouttrace's example in its documentation; members by sdk/trace/tracetest.SpanStub.
    let span = json!({
        "Name": "Multiplication",
        "SpanContext": {"TraceID": "4bf92f3577b34da6a3ce929d0e0e4736", "SpanID": "00f067aa0ba902b7", "TraceFlags": "01",
            "TraceState": "", "Remote": false},
        "Parent": {"TraceID": "4bf92f3577b34da6a3ce929d0e0e4736", "SpanID": "00f067aa0ba902b8", "TraceFlags": "01"},
        "SpanKind": 3,
        "StartTime": "2026-11-30T06:15:34.786123456Z", "EndTime": "2026-11-30T07:15:35.786+01:00",
        "Attributes": [{"Key": "a2a.task.id", "Value": {"Type": "STRING", "Value": "t"}},
            {"Key": "n", "Value": {"Type": "INT64SLICE", "Value": [1, 2]}}],
        "Events": [{"Name": "exception", "Attributes": [{"Key": "exception.type", "Value": {"Type": "STRING",
            "Value": "E"}}], "DroppedAttributeCount": 0, "Time": "2026-11-30T06:15:35Z"}],
        "Links": null, "Status": {"Code": "Error", "Description": "refused"}, "DroppedAttributes": 0, "ChildSpanCount": 0,
        "Resource": [{"Key": "service.name", "Value": {"Type": "STRING", "Value": "agent"}}],
        "InstrumentationScope": {"Name": "a2a", "Version": "1", "SchemaURL": ""},
    });
    let (spans, all) = spans(&(serde_json::to_string_pretty(&span).unwrap() + "\n" + &span.to_string()));
    assert!(all.rejects.is_empty() && all.formats.contains(&"otel-console"));
    assert_eq!(spans.len(), 2);
    let read = &spans[0];
    assert_eq!((read.span_id.as_str(), read.parent_span_id.as_str()), ("00f067aa0ba902b7", "00f067aa0ba902b8"));
    assert_eq!((read.kind, read.is_error, read.scope.as_str()), (SpanKind::Client, true, "a2a"));
    assert_eq!(read.started_at, Some(Instant(1_796_019_334_786_123_456)));
    assert_eq!(read.ended_at, Some(Instant(1_796_019_335_786_000_000)));
    assert_eq!(read.attributes.get("n"), Some(&json!([1, 2])));
    assert_eq!(read.events[0].attributes.text("exception.type").as_deref(), Some("E"));
    assert_eq!(read.resource.text("service.name").as_deref(), Some("agent"));
}

#[test]
fn an_old_python_sdk_prints_its_resource_bare_and_no_scope() {
    let (spans, _) = spans(
        r#"{"name": "op", "context": {"trace_id": "0x8af80fe78aaccf5e2e561d089cac7f1e", "span_id": "0x1dc66df5c5388f11",
        "trace_state": "[]"}, "kind": "SpanKind.CLIENT", "parent_id": null, "start_time": "2026-11-30T06:15:38.942183Z",
        "end_time": null, "status": {"status_code": "ERROR", "description": "d"}, "attributes": {"n": 1}, "events": [],
        "links": [], "resource": {"service.name": "agent"}}"#,
    );
    assert_eq!((spans[0].kind, spans[0].is_error, spans[0].status_message.as_str()), (SpanKind::Client, true, "d"));
    assert_eq!(spans[0].resource.text("service.name").as_deref(), Some("agent"));
    assert_eq!((spans[0].ended_at, spans[0].parent_span_id.as_str()), (None, ""));
}

#[test]
fn printed_spans_that_are_no_objects_come_with_advice_once() {
    for (line, what) in [
        // OpenTelemetry Java documentation, LoggingSpanExporter.
        (
            "INFO: 'GET /' : 8af80fe78aaccf5e2e561d089cac7f1e 1dc66df5c5388f11 SERVER [tracer: t:1] AttributesMap{data={}}",
            "experimental-otlp/stdout",
        ),
        // OpenTelemetry .NET documentation, console exporter.
        ("Activity.TraceId:            8af80fe78aaccf5e2e561d089cac7f1e", "AddOtlpExporter"),
    ] {
        let all = read(format!("{line}\nother\n{line}\n").as_bytes());
        let advice = all.rejects.iter().filter(|reject| reject.reason == RejectReason::NeedsConversion);
        let advice: Vec<_> = advice.map(|reject| reject.detail.as_str()).collect();
        assert!(advice.len() == 1 && advice[0].contains(what), "{advice:?}");
    }
}

#[test]
fn objects_that_merely_resemble_are_none() {
    for text in [
        r#"{"data":[{"id":1,"spans":[]}]}"#,
        r#"{"traceID":"1","spans":"many"}"#,
        r#"{"traceId":"5af7183fb1d4cf5f","id":"order-1","tags":{}}"#,
        r#"{"traceId":"5af7183fb1d4cf5f","id":"352bff9a74ca9ad2","name":"get"}"#,
        r#"{"name":"x","context":{"trace_id":"none","span_id":"none"},"start_time":"now"}"#,
        r#"{"Name":"x","SpanContext":{}}"#,
        r#"{"traces":[{"id":1}]}"#,
        "{\n  name: 'x',\n  resource: { attributes: {} }\n}",
    ] {
        let (spans, all) = spans(text);
        assert!(spans.is_empty() && !all.rejects.is_empty(), "{text}");
        assert!(all.rejects.iter().all(|reject| reject.reason == RejectReason::UnknownShape), "{:?}", all.rejects);
    }
}

/// The documents of tests/formats/traces.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats/traces");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension != "md"));
    files
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn every_carrier_holds_the_same_spans() {
    let times = |spans: &[Span]| {
        let mut all: Vec<_> = spans
            .iter()
            .map(|span| {
                let ids = (span.trace_id.clone(), span.span_id.clone(), span.parent_span_id.clone());
                let service = span.resource.text("service.name");
                let events: Vec<_> = span.events.iter().map(|event| (event.name.clone(), event.at)).collect();
                (ids, span.name.clone(), span.kind, span.started_at, span.ended_at, span.is_error, service, events)
            })
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let fixtures = fixtures();
    let of = |name: &str| {
        let (_, bytes) = fixtures.iter().find(|(file, _)| file == name).unwrap();
        spans(std::str::from_utf8(bytes).unwrap()).0
    };
    let expected = of("scenario.otlp.jsonl");
    assert_eq!(expected.len(), 56);
    for (name, _) in &fixtures {
        let found = of(name);
        assert_eq!(times(&found), times(&expected), "{name}");
        if name != "python.console.json" {
            let scopes = |spans: &[Span]| {
                let mut all: Vec<_> = spans.iter().map(|span| (span.span_id.clone(), span.scope.clone())).collect();
                all.sort();
                all
            };
            assert_eq!(scopes(&found), scopes(&expected), "{name}");
        }
    }
}

#[test]
fn damaged_documents_cost_themselves_and_no_panic() {
    for (name, bytes) in fixtures() {
        // Large primes, so that the places differ from file to file.
        for cut in (0..bytes.len()).step_by(9973) {
            let all = read(&bytes[..cut]);
            assert!(cut < 10_000 || !all.records.is_empty(), "{name} cut at {cut}");
        }
        for seed in 0..8_usize {
            let mut damaged = bytes.clone();
            for at in (seed * 131..damaged.len()).step_by(4999) {
                damaged[at] = [b'{', b'"', b']', b'0', 0xff, b'\n', b',', b'-'][(at + seed) % 8];
            }
            read(&damaged);
        }
    }
}

#[test]
fn objects_of_node_stand_between_other_lines_and_a_broken_one_costs_itself() {
    let (_, bytes) = fixtures().into_iter().find(|(name, _)| name == "js.console.txt").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (one, rest) = text.split_once("\n}\n").map(|(one, rest)| (format!("{one}\n}}\n"), rest)).unwrap();
    let (two, _) = rest.split_once("\n}\n").map(|(two, rest)| (format!("{two}\n}}\n"), rest)).unwrap();
    let broken = one.replace("kind: 2", "kind: <ref *1> {}");
    let mixed = format!("listening on 8080\n{one}\n  {two}{broken}GET /a2a 200\n{{\n  resource: {{\n{two}");
    let all = read(mixed.as_bytes());
    assert_eq!(all.records.len(), 3, "{:?}", all.rejects);
    let lines: Vec<_> = all
        .records
        .iter()
        .map(|record| match record {
            Record::Span(span) => span.origin.position,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lines[0], Position::Line(2));
    // Of the broken one it is at least known what it was.
    let advised = all.rejects.iter().filter(|reject| reject.reason == RejectReason::NeedsConversion);
    assert_eq!(advised.count(), 1);
}

#[test]
fn openings_without_an_end_take_no_more_than_their_share() {
    let text = " {\n  a: 1,\n".repeat(200_000);
    let started = std::time::Instant::now();
    read(text.as_bytes());
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}
