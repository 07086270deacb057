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
use crate::decode::framing::collect::Collected;
use crate::decode::record::{
    Attributes, LogRecord, Origin, Position, Record, Reject, RejectReason, Sink, Span, SpanKind,
};
use crate::instant::Instant;

mod both;
mod captures;
mod encode;
mod framings;
mod hostile;
mod leniency;

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
