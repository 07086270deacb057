//! Both encodings over the captures, and over what hostile or careless emitters send.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::logs::v1 as logs;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use prost::Message;
use serde_json::{Value, json};

use super::{json, proto};
use crate::decode::record::{
    Attributes, LogRecord, Origin, Position, Record, Reject, RejectReason, Sink, Span, SpanKind,
};
use crate::instant::Instant;

/// What a decoder delivered.
#[derive(Default)]
struct Collected {
    records: Vec<Record>,
    rejects: Vec<Reject>,
    formats: Vec<&'static str>,
}

impl Sink for Collected {
    fn record(&mut self, record: Record) {
        self.records.push(record);
    }
    fn reject(&mut self, reject: Reject) {
        self.rejects.push(reject);
    }
    fn recognised(&mut self, _: &Arc<str>, format: &'static str) {
        self.formats.push(format);
    }
}

impl Collected {
    fn spans(&self) -> Vec<&Span> {
        self.records.iter().filter_map(|r| if let Record::Span(span) = r { Some(&**span) } else { None }).collect()
    }
    fn logs(&self) -> Vec<&LogRecord> {
        self.records.iter().filter_map(|r| if let Record::Log(log) = r { Some(&**log) } else { None }).collect()
    }
    fn reasons(&self) -> Vec<RejectReason> {
        self.rejects.iter().map(|reject| reject.reason).collect()
    }
    /// The records with one origin, to compare encodings: places differ between them by nature.
    fn without_places(mut self) -> Vec<Record> {
        for record in &mut self.records {
            match record {
                Record::Span(span) => span.origin = origin(),
                Record::Log(log) => log.origin = origin(),
                other => panic!("{other:?}"),
            }
        }
        self.records
    }
}

fn origin() -> Origin {
    Origin { source: "test".into(), position: Position::Byte(0) }
}

fn from_json(value: Value) -> Collected {
    let mut sink = Collected::default();
    json::decode(value, &origin(), &mut sink);
    sink
}

fn from_bytes(bytes: &[u8]) -> (bool, Collected) {
    let mut sink = Collected::default();
    (proto::decode(bytes, &origin(), &mut sink), sink)
}

fn capture(path: &str) -> Vec<u8> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    std::fs::read(root.join(path)).unwrap()
}

/// The lines of a capture, decoded as JSON values.
fn capture_lines(path: &str) -> Vec<Value> {
    String::from_utf8(capture(path)).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// OTLP/JSON captures with the numbers of spans and of log records in them, counted over the JSON by other means.
const CAPTURES: [(&str, usize, usize); 22] = [
    ("a2a-python-0.2.16/v02.logs.otlp.jsonl", 0, 51),
    ("a2a-python-0.2.16/v02.traces.otlp.jsonl", 254, 0),
    ("a2a-python-0.3.26/v03.logs.otlp.jsonl", 0, 165),
    ("a2a-python-0.3.26/v03.traces-1.otlp.jsonl", 520, 0),
    ("a2a-python-0.3.26/v03.traces-2.otlp.jsonl", 223, 0),
    ("a2a-python-1.3.0/grpc.logs.otlp.jsonl", 0, 63),
    ("a2a-python-1.3.0/grpc.traces.otlp.jsonl", 341, 0),
    ("a2a-python-1.3.0/headers.logs.otlp.jsonl", 0, 48),
    ("a2a-python-1.3.0/headers.traces.otlp.jsonl", 169, 0),
    ("a2a-python-1.3.0/jsonrpc.logs.otlp.jsonl", 0, 181),
    ("a2a-python-1.3.0/jsonrpc.traces-1.otlp.jsonl", 488, 0),
    ("a2a-python-1.3.0/jsonrpc.traces-2.otlp.jsonl", 92, 0),
    ("a2a-python-1.3.0/jsonrpc.traces-unthinned-sample.otlp.jsonl", 226, 0),
    ("a2a-python-1.3.0/oldsemconv.traces.otlp.jsonl", 266, 0),
    ("a2a-python-1.3.0/rest.logs.otlp.jsonl", 0, 183),
    ("a2a-python-1.3.0/rest.traces-1.otlp.jsonl", 473, 0),
    ("a2a-python-1.3.0/rest.traces-2.otlp.jsonl", 94, 0),
    ("a2a-python-1.3.0/sdkonly.traces.otlp.jsonl", 204, 0),
    ("a2a-rust-0.15.0/rust.logs.otlp.jsonl", 0, 176),
    ("a2a-rust-0.15.0/rust.traces.otlp.jsonl", 112, 0),
    ("synthetic-conventions/draft-semconv-195.traces.otlp.jsonl", 122, 0),
    ("synthetic-conventions/kong-a2a.traces.otlp.jsonl", 61, 0),
];

/// Protobuf captures with the number of their records, counted with the Python bindings of OTLP.
const PB_CAPTURES: [(&str, &str, usize); 8] = [
    ("a2a-python-1.3.0/jsonrpc.logs.0.otlp-grpc.pb", "otlp-protobuf-logs", 30),
    ("a2a-python-1.3.0/jsonrpc.logs.0.otlp-http.pb", "otlp-protobuf-logs", 3),
    ("a2a-python-1.3.0/jsonrpc.logs.1.otlp-grpc.pb", "otlp-protobuf-logs", 32),
    ("a2a-python-1.3.0/jsonrpc.logs.1.otlp-http.pb", "otlp-protobuf-logs", 14),
    ("a2a-python-1.3.0/jsonrpc.traces.0.otlp-grpc.pb", "otlp-protobuf-traces", 121),
    ("a2a-python-1.3.0/jsonrpc.traces.0.otlp-http.pb", "otlp-protobuf-traces", 10),
    ("a2a-python-1.3.0/jsonrpc.traces.1.otlp-grpc.pb", "otlp-protobuf-traces", 303),
    ("a2a-python-1.3.0/jsonrpc.traces.1.otlp-http.pb", "otlp-protobuf-traces", 54),
];

mod captures {
    use super::*;

    #[test]
    fn every_span_and_log_record_of_a_json_capture_is_read() {
        for (path, spans, logs) in CAPTURES {
            let (mut span_count, mut log_count) = (0, 0);
            for line in capture_lines(path) {
                let format = if spans > 0 { "otlp-json-traces" } else { "otlp-json-logs" };
                assert_eq!(json::is_otlp(&line), Some(format), "{path}");
                let read = from_json(line);
                assert_eq!(read.reasons(), [], "{path}");
                span_count += read.spans().len();
                log_count += read.logs().len();
            }
            assert_eq!((span_count, log_count), (spans, logs), "{path}");
        }
    }

    #[test]
    fn every_record_of_a_protobuf_capture_is_read() {
        for (path, format, count) in PB_CAPTURES {
            let (is_otlp, read) = from_bytes(&capture(path));
            assert!(is_otlp, "{path}");
            assert_eq!(read.formats, [format], "{path}");
            assert_eq!(read.reasons(), [], "{path}");
            assert_eq!(read.records.len(), count, "{path}");
        }
    }

    /// Read off `a2a-python-1.3.0/jsonrpc.traces.0.otlp-http.pb` with the Python bindings.
    #[test]
    fn the_first_client_span_of_a_protobuf_capture_is_as_sent() {
        let (_, read) = from_bytes(&capture("a2a-python-1.3.0/jsonrpc.traces.0.otlp-http.pb"));
        let span = read.spans()[0];
        assert_eq!(span.trace_id, "36cd83c8e79d3372d08c3ea7537b09df");
        assert_eq!(span.span_id, "a32f1960cdfd6adf");
        assert_eq!(span.parent_span_id, "dac30fe07b3ca0a3");
        assert_eq!((span.name.as_str(), span.kind, span.is_error), ("POST", SpanKind::Client, false));
        assert_eq!(span.started_at, Some(Instant(1_796_019_348_531_833_015)));
        assert_eq!(span.ended_at, Some(Instant(1_796_019_348_544_262_485)));
        assert_eq!(span.scope, "opentelemetry.instrumentation.httpx");
        let keys: Vec<&str> = span.attributes.0.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(
            keys,
            [
                "http.request.method",
                "url.full",
                "server.address",
                "network.peer.address",
                "server.port",
                "network.peer.port",
                "http.response.status_code",
                "network.protocol.version"
            ]
        );
        assert_eq!(span.attributes.get("url.full"), Some(&json!("http://127.0.0.1:41001/a2a")));
        assert_eq!(span.attributes.get("server.port"), Some(&json!(41001)));
        assert_eq!(span.resource.get("service.name"), Some(&json!("orchestrator")));
    }

    /// Read off the first bytes of `jsonrpc.logs.0.otlp-http.pb` with the Python bindings.
    #[test]
    fn the_log_records_of_a_protobuf_capture_are_as_sent() {
        let (_, read) = from_bytes(&capture("a2a-python-1.3.0/jsonrpc.logs.0.otlp-http.pb"));
        let logs = read.logs();
        assert_eq!(
            logs.iter().map(|log| log.scope.as_str()).collect::<Vec<_>>(),
            ["httpx", "httpx", "a2a.client.card_resolver"]
        );
        assert_eq!(logs[0].at, Some(Instant(1_796_019_342_716_389_632)));
        assert_eq!(logs[0].severity, "INFO");
        assert_eq!(logs[0].body, "HTTP Request: GET http://127.0.0.1:41001/.well-known/jwks.json \"HTTP/1.1 200 OK\"");
        assert_eq!((logs[0].trace_id.as_str(), logs[0].event_name.as_str()), ("", ""));
    }

    /// Read off the file: the cancel of step s05 that was refused.
    #[test]
    fn a_span_with_an_exception_keeps_status_and_event() {
        let read = from_all("a2a-python-1.3.0/jsonrpc.traces-1.otlp.jsonl");
        let span = *read.spans().iter().find(|span| span.span_id == "35fde059646868aa").unwrap();
        assert_eq!(span.trace_id, "b0682a9e09f811c7107131162645973a");
        assert_eq!(span.parent_span_id, "7a8ea89919c2f1ee");
        assert_eq!(
            (span.kind, span.is_error, span.status_message.as_str()),
            (SpanKind::Server, true, "Task cannot be canceled")
        );
        assert_eq!(span.scope, "a2a-python-sdk");
        assert_eq!(span.events.len(), 1);
        assert_eq!(span.events[0].name, "exception");
        assert_eq!(span.events[0].at, Some(Instant(1_796_019_335_627_470_028)));
        assert_eq!(
            span.events[0].attributes.text("exception.type").unwrap(),
            "a2a.utils.errors.TaskNotCancelableError"
        );
    }

    /// Counted over the JSON: kinds, errors, parents and events of one file.
    #[test]
    fn kinds_errors_parents_and_events_are_counted_as_in_the_file() {
        let read = from_all("a2a-python-1.3.0/jsonrpc.traces-1.otlp.jsonl");
        let count = |f: fn(&Span) -> bool| read.spans().iter().filter(|span| f(span)).count();
        assert_eq!(count(|span| span.kind == SpanKind::Server), 319);
        assert_eq!(count(|span| span.kind == SpanKind::Client), 169);
        assert_eq!(count(|span| span.is_error), 61);
        assert_eq!(count(|span| !span.parent_span_id.is_empty()), 418);
        assert_eq!(read.spans().iter().map(|span| span.events.len()).sum::<usize>(), 52);
        assert_eq!(read.spans().iter().map(|span| span.attributes.0.len()).sum::<usize>(), 1536);
    }

    /// Read off the file: the bridge of Rust's `tracing` gives an observed time only, and a place as event name.
    #[test]
    fn a_log_record_without_its_own_time_takes_the_observed_one() {
        let read = from_all("a2a-rust-0.15.0/rust.logs.otlp.jsonl");
        let log = read.logs()[1];
        assert_eq!(log.at, Some(Instant(1_796_020_150_653_288_530)));
        assert_eq!(log.event_name, "event /home/app:122");
        assert_eq!(log.body, "handling send message");
        assert_eq!(log.scope, "a2a_protocol_server::handler::messaging");
        assert_eq!(log.attributes.get("streaming"), Some(&json!(false)));
        assert_eq!(log.trace_id, "ff2a45241f53d4df5046c1042a89d650");
        assert_eq!(log.span_id, "d6835e2bee74ef41");
        assert_eq!(log.resource.get("service.name"), Some(&json!("summary-agent-rs")));
    }

    #[test]
    fn captured_headers_are_lists() {
        let read = from_all("a2a-python-1.3.0/headers.traces.otlp.jsonl");
        let span = *read.spans().iter().find(|span| span.span_id == "cad1e5f42bfe807d").unwrap();
        assert_eq!(span.attributes.get("http.request.header.user_agent"), Some(&json!(["curl/7.88.1"])));
    }

    fn from_all(path: &str) -> Collected {
        let mut sink = Collected::default();
        for line in capture_lines(path) {
            json::decode(line, &origin(), &mut sink);
        }
        sink
    }
}

/// A second, strict reading of OTLP/JSON into the generated types, to encode a request as protobuf.
mod encode {
    use super::*;

    fn text(value: &Value, key: &str) -> String {
        value.get(key).map(|text| text.as_str().unwrap().to_owned()).unwrap_or_default()
    }

    fn list<T>(value: &Value, key: &str, each: fn(&Value) -> T) -> Vec<T> {
        value.get(key).map(|list| list.as_array().unwrap().iter().map(each).collect()).unwrap_or_default()
    }

    fn id(value: &Value, key: &str) -> Vec<u8> {
        hex::decode(text(value, key)).unwrap()
    }

    fn nanos(value: &Value, key: &str) -> u64 {
        value.get(key).map(|text| text.as_str().unwrap().parse().unwrap()).unwrap_or_default()
    }

    fn small(value: &Value, key: &str) -> i32 {
        value.get(key).map(|number| i32::try_from(number.as_i64().unwrap()).unwrap()).unwrap_or_default()
    }

    pub(super) fn any(value: &Value) -> common::AnyValue {
        use common::any_value::Value as Kind;
        let kind = value.as_object().unwrap().iter().next().map(|(kind, value)| match kind.as_str() {
            "stringValue" => Kind::StringValue(value.as_str().unwrap().to_owned()),
            "boolValue" => Kind::BoolValue(value.as_bool().unwrap()),
            "intValue" => Kind::IntValue(value.as_str().unwrap().parse().unwrap()),
            "doubleValue" => Kind::DoubleValue(match value.as_str() {
                Some(word) => word.parse().unwrap(),
                None => value.as_f64().unwrap(),
            }),
            "arrayValue" => Kind::ArrayValue(common::ArrayValue { values: list(value, "values", any) }),
            "kvlistValue" => Kind::KvlistValue(common::KeyValueList { values: list(value, "values", pair) }),
            "bytesValue" => {
                let text = value.as_str().unwrap();
                Kind::BytesValue(base64::engine::general_purpose::STANDARD.decode(text).unwrap())
            }
            other => panic!("{other}"),
        });
        common::AnyValue { value: kind }
    }

    fn pair(value: &Value) -> common::KeyValue {
        common::KeyValue { key: text(value, "key"), value: value.get("value").map(any), ..Default::default() }
    }

    fn resource(value: &Value) -> Option<Resource> {
        let resource = value.get("resource")?;
        Some(Resource { attributes: list(resource, "attributes", pair), ..Default::default() })
    }

    fn scope(value: &Value) -> Option<common::InstrumentationScope> {
        let scope = value.get("scope")?;
        Some(common::InstrumentationScope {
            name: text(scope, "name"),
            version: text(scope, "version"),
            ..Default::default()
        })
    }

    fn span(value: &Value) -> trace::Span {
        trace::Span {
            trace_id: id(value, "traceId"),
            span_id: id(value, "spanId"),
            parent_span_id: id(value, "parentSpanId"),
            name: text(value, "name"),
            kind: small(value, "kind"),
            start_time_unix_nano: nanos(value, "startTimeUnixNano"),
            end_time_unix_nano: nanos(value, "endTimeUnixNano"),
            attributes: list(value, "attributes", pair),
            events: list(value, "events", |event| trace::span::Event {
                time_unix_nano: nanos(event, "timeUnixNano"),
                name: text(event, "name"),
                attributes: list(event, "attributes", pair),
                ..Default::default()
            }),
            status: value
                .get("status")
                .map(|status| trace::Status { message: text(status, "message"), code: small(status, "code") }),
            ..Default::default()
        }
    }

    fn log(value: &Value) -> logs::LogRecord {
        logs::LogRecord {
            time_unix_nano: nanos(value, "timeUnixNano"),
            observed_time_unix_nano: nanos(value, "observedTimeUnixNano"),
            severity_number: small(value, "severityNumber"),
            severity_text: text(value, "severityText"),
            event_name: text(value, "eventName"),
            body: value.get("body").map(any),
            attributes: list(value, "attributes", pair),
            trace_id: id(value, "traceId"),
            span_id: id(value, "spanId"),
            ..Default::default()
        }
    }

    /// A request of either signal as the protobuf message that an exporter would send.
    pub(super) fn request(value: &Value) -> Vec<u8> {
        if value.get("resourceLogs").is_some() {
            let resource_logs = list(value, "resourceLogs", |group| logs::ResourceLogs {
                resource: resource(group),
                scope_logs: list(group, "scopeLogs", |group| logs::ScopeLogs {
                    scope: scope(group),
                    log_records: list(group, "logRecords", log),
                    ..Default::default()
                }),
                ..Default::default()
            });
            return ExportLogsServiceRequest { resource_logs }.encode_to_vec();
        }
        let resource_spans = list(value, "resourceSpans", |group| trace::ResourceSpans {
            resource: resource(group),
            scope_spans: list(group, "scopeSpans", |group| trace::ScopeSpans {
                scope: scope(group),
                spans: list(group, "spans", span),
                ..Default::default()
            }),
            ..Default::default()
        });
        ExportTraceServiceRequest { resource_spans }.encode_to_vec()
    }
}

mod both {
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
}

mod leniency {
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
            (json!(-5), None),
            (json!("NaN"), None),
            (json!("18446744073709551615"), None),
            (json!(1e300), None),
            (json!(null), None),
            (json!({}), None),
        ] {
            let span = one_span(json!({"traceId": TRACE, "spanId": SPAN, "startTimeUnixNano": time}));
            assert_eq!(span.started_at, expected.map(Instant), "{time}");
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
        for empty in [
            json!({"resourceSpans": []}),
            json!({"resourceSpans": [{}]}),
            json!({"resourceSpans": [{"scopeSpans": [{}]}]}),
        ] {
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
            (
                "otlp-json-traces",
                json!({"resource_spans": [{"scope_spans": [{"scope": {"name": "s"}, "spans": [span]}]}]}),
            ),
            (
                "otlp-json-traces",
                json!({"resourceSpans": [{"instrumentationLibrarySpans": [{"instrumentationLibrary": {"name": "s"}, "spans": [span]}]}]}),
            ),
            (
                "tempo-json",
                json!({"batches": [{"ilSpans": [{"instrumentationLibrary": {"name": "s"}, "spans": [span]}]}]}),
            ),
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
}

mod framings {
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
}

mod hostile {
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
}
