//! OTLP protobuf requests to span and log records, bare or several in a row behind length prefixes.
//!
//! In: the bytes of a file or stream. Out: records and rejects. The outer layers are walked in place and only single
//! spans and log records are given to prost, so that a request cut short yields what came before the cut, one bad span
//! costs no other, and tiny hostile messages cannot grow into memory all at once.

use std::sync::Arc;

use base64::Engine;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{Span, span};
use prost::Message;
use serde_json::Value;

use super::assemble::{
    BASE64, Id, LogParts, SPAN_ID, Shared, SpanParts, TRACE_ID, double, instant, is_bad_time, object,
};
use super::budget;
use super::reject;
use super::wire::{Broken, Content, Fields, Signal, Sniff, data_points, number, sniff};
use crate::decode::record::{Attributes, Origin, Position, RejectReason, Sink, SpanEvent};
use crate::decode::tree::TOO_MANY_PARTS;

/// Largest single span, log record or resource that is decoded: a decoded message can take some thirty times its
/// bytes. Collectors refuse whole requests of 4 MiB (gRPC) or 20 MiB (HTTP) by default.
const MAX_MESSAGE: usize = 8 << 20;

/// How messages follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// One message and nothing else: the body of an OTLP/HTTP request.
    Bare,
    /// gRPC: a flag byte, zero for no compression, and a big-endian length.
    Grpc,
    /// A big-endian length: the Collector's file exporter.
    Length,
}

impl Framing {
    /// Bytes before each message.
    fn header(self) -> usize {
        match self {
            Self::Bare => 0,
            Self::Grpc => 5,
            Self::Length => 4,
        }
    }

    /// The framing under which the bytes are OTLP, by the first message that tells.
    fn detect(bytes: &[u8]) -> Option<Self> {
        let is_otlp = |framing: &Self| {
            let decided = Frames { bytes, at: 0, framing: *framing }.map(|frame| match frame {
                Frame::Message(part) => sniff(part.bytes),
                Frame::Broken { .. } => Sniff::Foreign,
            });
            matches!(decided.into_iter().find(|sniff| *sniff != Sniff::Undecided), Some(Sniff::Request(_)))
        };
        [Self::Bare, Self::Grpc, Self::Length].into_iter().find(is_otlp)
    }
}

/// A message, or as much of it as there is, and where it starts in the source's bytes.
#[derive(Clone, Copy)]
struct Part<'a> {
    bytes: &'a [u8],
    start: usize,
    ending: Ending,
}

/// Whether all of a message is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// As long as its length says.
    Complete,
    /// Shorter than its length says.
    Cut,
    /// Without a length: it may be cut, but only what is inside can tell.
    Unknown,
}

impl Ending {
    fn of(is_complete: bool) -> Self {
        if is_complete { Self::Complete } else { Self::Cut }
    }
}

/// A message in its frame, or what is in a frame's place.
enum Frame<'a> {
    Message(Part<'a>),
    Broken { start: usize, reason: RejectReason, detail: &'static str },
}

/// Walks over frames; ends after the first broken one.
struct Frames<'a> {
    bytes: &'a [u8],
    at: usize,
    framing: Framing,
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let frame_start = self.at;
        let start = self.at + self.framing.header();
        self.at = self.bytes.len();
        let Some(header) = rest.get(..self.framing.header()) else {
            let (reason, detail) = (RejectReason::Truncated, "ends within the length of a message");
            return Some(Frame::Broken { start: frame_start, reason, detail });
        };
        let length = match (self.framing, header) {
            (Framing::Bare, _) => rest.len(),
            (Framing::Grpc, [0, a, b, c, d]) | (Framing::Length, [a, b, c, d]) => {
                usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX)
            }
            (Framing::Grpc, [1, ..]) => {
                let detail = "compressed gRPC message; record it uncompressed";
                return Some(Frame::Broken { start: frame_start, reason: RejectReason::NeedsConversion, detail });
            }
            _ => {
                let detail = "no message where one should start";
                return Some(Frame::Broken { start: frame_start, reason: RejectReason::BadProtobuf, detail });
            }
        };
        let end = start.saturating_add(length);
        self.at = end.min(self.bytes.len());
        let ending = match self.framing {
            Framing::Bare => Ending::Unknown,
            _ => Ending::of(end <= self.bytes.len()),
        };
        Some(Frame::Message(Part { bytes: &self.bytes[start..self.at], start, ending }))
    }
}

/// Decodes OTLP requests for traces or logs; metrics are recognised and left alone. False, and nothing delivered, if
/// the bytes are none.
pub fn decode(bytes: &[u8], origin: &Origin, sink: &mut dyn Sink) -> bool {
    let Some(framing) = Framing::detect(bytes) else { return false };
    let mut walk = Walk { origin, sink, items: 0, broken: None };
    for frame in (Frames { bytes, at: 0, framing }) {
        match frame {
            Frame::Message(part) => walk.request(part),
            Frame::Broken { start, reason, detail } => {
                let place = walk.place(start);
                reject(walk.sink, &place, reason, detail);
            }
        }
    }
    true
}

/// Decodes the body of a request that its path says to be of `signal`; how many items it holds: spans, log records, data
/// points of metrics, which are only counted.
///
/// # Errors
/// When the body as a whole is no such request. What was delivered until then has no meaning.
pub(in crate::decode) fn decode_request(
    bytes: &[u8],
    signal: Signal,
    origin: &Origin,
    sink: &mut dyn Sink,
) -> Result<u64, &'static str> {
    match sniff(bytes) {
        Sniff::Request(found) if found != signal => return Err("the body is an OTLP request for another signal"),
        Sniff::Foreign => return Err("the body is no OTLP request in protobuf"),
        Sniff::Request(_) | Sniff::Undecided => {}
    }
    if budget::is_crowded(bytes) {
        return Err(TOO_MANY_PARTS);
    }
    let mut walk = Walk { origin, sink, items: 0, broken: None };
    walk.groups(Part { bytes, start: 0, ending: Ending::Complete }, signal);
    walk.broken.map_or(Ok(walk.items), Err)
}

/// A walk over the outer layers of requests.
struct Walk<'s> {
    origin: &'s Origin,
    sink: &'s mut dyn Sink,
    /// Items met.
    items: u64,
    /// Why the request as a whole is wrong, for those who take all of a request or nothing.
    broken: Option<&'static str>,
}

impl Walk<'_> {
    /// The origin of what starts at an offset from where the bytes started.
    fn place(&self, offset: usize) -> Origin {
        let position = match self.origin.position {
            Position::Byte(base) => Position::Byte(base.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))),
            other => other,
        };
        Origin { source: Arc::clone(&self.origin.source), position }
    }

    /// Notes something unread at an offset.
    fn reject(&mut self, offset: usize, reason: RejectReason, detail: impl Into<String>) {
        let place = self.place(offset);
        reject(self.sink, &place, reason, detail);
    }

    fn request(&mut self, request: Part<'_>) {
        let signal = match sniff(request.bytes) {
            Sniff::Request(signal) => signal,
            Sniff::Undecided if request.ending == Ending::Complete => return,
            Sniff::Undecided => return self.reject(request.start, RejectReason::Truncated, "OTLP request"),
            Sniff::Foreign => return self.reject(request.start, RejectReason::BadProtobuf, "OTLP request"),
        };
        let format = match signal {
            Signal::Traces => "otlp-protobuf-traces",
            Signal::Logs => "otlp-protobuf-logs",
            Signal::Metrics => "otlp-protobuf-metrics",
        };
        self.sink.recognised(&self.origin.source, format);
        if signal != Signal::Metrics {
            self.groups(request, signal);
        }
    }

    fn groups(&mut self, request: Part<'_>, signal: Signal) {
        self.each(request, &[number::RESOURCE_GROUP], |walk, group| walk.resource_group(group, signal));
    }

    fn resource_group(&mut self, group: Part<'_>, signal: Signal) {
        let resource: Resource = self.shared_message(group, number::RESOURCE, "resource");
        let resource = Arc::new(attributes(resource.attributes));
        self.each(group, &[number::SCOPE_GROUP, number::LIBRARY_GROUP], |walk, group| {
            let scope: InstrumentationScope = walk.shared_message(group, number::SCOPE, "scope");
            let shared = Shared { resource: Arc::clone(&resource), scope: scope.name };
            walk.each(group, &[number::ITEM], |walk, item| walk.item(item, signal, &shared));
        });
    }

    /// Decodes the resource or scope of a group, which may stand behind what it applies to; empty if missing or bad.
    fn shared_message<M: Message + Default>(&mut self, group: Part<'_>, field: u32, what: &str) -> M {
        let part = parts(group).filter_map(Result::ok).filter(|(number, _)| *number == field).last();
        // A cut one is last in a cut group: nothing follows that it could apply to.
        match part {
            Some((_, part)) if part.ending == Ending::Complete => self.message(part, what).unwrap_or_default(),
            _ => M::default(),
        }
    }

    fn item(&mut self, item: Part<'_>, signal: Signal, shared: &Shared) {
        if item.ending == Ending::Cut {
            return self.reject(item.start, RejectReason::Truncated, "the request ends within a span or log record");
        }
        let place = self.place(item.start);
        self.items += if signal == Signal::Metrics { data_points(item.bytes) } else { 1 };
        match signal {
            Signal::Traces => {
                if let Some(span) = self.message::<Span>(item, "span") {
                    span_parts(span).deliver(shared, &place, self.sink);
                }
            }
            Signal::Logs => {
                if let Some(log) = self.message::<LogRecord>(item, "log record") {
                    log_parts(log).deliver(shared, &place, self.sink);
                }
            }
            Signal::Metrics => {}
        }
    }

    /// Decodes a complete message with prost, whose recursion limit bounds the stack.
    fn message<M: Message + Default>(&mut self, part: Part<'_>, what: &str) -> Option<M> {
        if part.bytes.len() > MAX_MESSAGE {
            self.reject(part.start, RejectReason::TooLarge, what);
            return None;
        }
        match M::decode(part.bytes) {
            Ok(message) => Some(message),
            Err(error) => {
                // The error names fields and wire types, never content; its kind is not public.
                let text = error.to_string();
                let is_too_deep = text.contains("recursion limit");
                if is_too_deep {
                    self.broken = Some("the body nests deeper than the limit");
                }
                let reason = if is_too_deep { RejectReason::TooDeep } else { RejectReason::BadProtobuf };
                self.reject(part.start, reason, format!("{what}: {text}"));
                None
            }
        }
    }

    /// Visits the messages in the fields numbered in `fields`; other fields are of newer versions, and left alone.
    /// A cut is noted once: by the innermost message that it goes through.
    fn each(&mut self, message: Part<'_>, fields: &[u32], mut visit: impl FnMut(&mut Self, Part<'_>)) {
        let mut is_cut = message.ending == Ending::Cut;
        let mut is_noted = false;
        for part in parts(message) {
            match part {
                Ok((_, part)) if part.ending == Ending::Cut && message.ending == Ending::Complete => {
                    self.broken = Some("the body is cut short or no protobuf");
                    return self.reject(part.start, RejectReason::BadProtobuf, "a field outruns its message");
                }
                Ok((number, part)) => {
                    let is_wanted = fields.contains(&number);
                    if part.ending == Ending::Cut {
                        (is_cut, is_noted) = (true, is_wanted);
                    }
                    if is_wanted {
                        visit(self, part);
                    }
                }
                Err(Broken::Truncated) if message.ending != Ending::Complete => is_cut = true,
                Err(_) => {
                    self.broken = Some("the body is cut short or no protobuf");
                    return self.reject(message.start, RejectReason::BadProtobuf, "a field that is none");
                }
            }
        }
        if is_cut && !is_noted {
            self.reject(message.start, RejectReason::Truncated, "the request ends early");
        }
    }
}

/// The length-delimited fields of a message with their numbers.
fn parts(message: Part<'_>) -> impl Iterator<Item = Result<(u32, Part<'_>), Broken>> {
    Fields::new(message.bytes).filter_map(move |field| match field {
        Ok(field) => match field.content {
            Content::Bytes { bytes, start, is_complete } => {
                let ending = Ending::of(is_complete);
                Some(Ok((field.number, Part { bytes, start: message.start + start, ending })))
            }
            _ => None,
        },
        Err(broken) => Some(Err(broken)),
    })
}

fn span_parts(span: Span) -> SpanParts {
    let status = span.status.unwrap_or_default();
    SpanParts {
        trace_id: Id::from_bytes(&span.trace_id, TRACE_ID),
        span_id: Id::from_bytes(&span.span_id, SPAN_ID),
        parent_span_id: Id::from_bytes(&span.parent_span_id, SPAN_ID),
        name: span.name,
        kind: i64::from(span.kind),
        started_at: instant(span.start_time_unix_nano),
        ended_at: instant(span.end_time_unix_nano),
        has_bad_time: is_bad_time(span.start_time_unix_nano) || is_bad_time(span.end_time_unix_nano),
        status_code: i64::from(status.code),
        status_message: status.message,
        attributes: attributes(span.attributes),
        events: span.events.into_iter().map(event).collect(),
    }
}

fn event(event: span::Event) -> SpanEvent {
    SpanEvent { at: instant(event.time_unix_nano), name: event.name, attributes: attributes(event.attributes) }
}

fn log_parts(log: LogRecord) -> LogParts {
    LogParts {
        at: instant(log.time_unix_nano),
        observed_at: instant(log.observed_time_unix_nano),
        has_bad_time: is_bad_time(log.time_unix_nano) || is_bad_time(log.observed_time_unix_nano),
        severity_number: i64::from(log.severity_number),
        severity_text: log.severity_text,
        event_name: log.event_name,
        body: log.body.map_or(Value::Null, any_value),
        attributes: attributes(log.attributes),
        trace_id: Id::from_bytes(&log.trace_id, TRACE_ID),
        span_id: Id::from_bytes(&log.span_id, SPAN_ID),
    }
}

fn attributes(list: Vec<KeyValue>) -> Attributes {
    Attributes(pairs(list))
}

fn pairs(list: Vec<KeyValue>) -> Vec<(String, Value)> {
    let pair = |pair: KeyValue| (pair.key, pair.value.map_or(Value::Null, any_value));
    list.into_iter().filter(|pair| !pair.key.is_empty()).map(pair).collect()
}

/// An `AnyValue` as plain JSON. Recursion is bounded by prost's limit on what it decoded.
fn any_value(value: AnyValue) -> Value {
    match value.value {
        Some(any_value::Value::StringValue(text)) => Value::from(text),
        Some(any_value::Value::BoolValue(flag)) => Value::from(flag),
        Some(any_value::Value::IntValue(number)) => Value::from(number),
        Some(any_value::Value::DoubleValue(number)) => double(number),
        Some(any_value::Value::ArrayValue(list)) => Value::Array(list.values.into_iter().map(any_value).collect()),
        Some(any_value::Value::KvlistValue(list)) => object(pairs(list.values)),
        Some(any_value::Value::BytesValue(bytes)) => Value::from(BASE64.encode(bytes)),
        // An index into the string table of a profile, which traces and logs do not have.
        Some(any_value::Value::StringValueStrindex(_)) | None => Value::Null,
    }
}
