//! What is in the captures is what is delivered.

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
    assert_eq!(span.events[0].attributes.text("exception.type").unwrap(), "a2a.utils.errors.TaskNotCancelableError");
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
