//! Where OTLP's two encodings meet: the parts of a span or log record to the record itself.
//!
//! In: parts whose encoding is undone, but whose meaning is unchecked. Out: records, or a reject for an impossible id.
//! Never drops a record for anything but an id that makes it useless.

use std::sync::Arc;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Number, Value};

use super::{deliver_log, reject};
use crate::decode::record::{Attributes, LogRecord, Origin, Record, RejectReason, Sink, Span, SpanEvent, SpanKind};
use crate::decode::times;
use crate::instant::Instant;

/// Bytes of a trace id.
pub(in crate::decode) const TRACE_ID: usize = 16;
/// Bytes of a span id.
pub(in crate::decode) const SPAN_ID: usize = 8;

/// Standard base64; emitters with and without padding exist.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A trace or span id as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::decode) enum Id {
    /// Missing, empty or all zero: OTLP's ways of saying none.
    Absent,
    /// Lower-case hex digits of the right number.
    Known(String),
    /// Neither hex nor base64, or of the wrong length.
    Bad,
}

impl Id {
    /// An id of `width` bytes as protobuf carries it.
    pub(super) fn from_bytes(bytes: &[u8], width: usize) -> Self {
        if bytes.iter().all(|byte| *byte == 0) {
            Self::Absent
        } else if bytes.len() == width {
            Self::Known(hex::encode(bytes))
        } else {
            Self::Bad
        }
    }

    /// An id of `width` bytes as JSON carries it: hex digits in any case by the OTLP specification, base64 by the
    /// general protobuf mapping, which Tempo's API follows. The lengths differ, so neither can pass for the other.
    pub(super) fn from_text(text: &str, width: usize) -> Self {
        let text = text.trim();
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let bytes = if digits.len() == 2 * width || digits.bytes().all(|byte| byte == b'0') {
            hex::decode(digits).ok()
        } else {
            BASE64.decode(text).ok()
        };
        bytes.map_or(Self::Bad, |bytes| Self::from_bytes(&bytes, width))
    }

    /// The digits, if there are good ones.
    fn into_digits(self) -> String {
        match self {
            Self::Known(digits) => digits,
            Self::Absent | Self::Bad => String::new(),
        }
    }
}

/// Nanoseconds of the wire to an instant; zero means not given.
pub(in crate::decode) fn instant(nanos: u64) -> Option<Instant> {
    i64::try_from(nanos).ok().filter(|nanos| *nanos != 0).and_then(Instant::from_nanos)
}

/// Whether nanoseconds of the wire were given, and are no time.
pub(super) fn is_bad_time(nanos: u64) -> bool {
    nanos != 0 && instant(nanos).is_none()
}

/// A double as JSON. What JSON has no number for becomes the word that the protobuf mapping has for it.
pub(super) fn double(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => Value::from("NaN"),
        None if value > 0.0 => Value::from("Infinity"),
        None => Value::from("-Infinity"),
    }
}

/// A key-value list as a JSON object; of equal keys the first counts, as for attributes.
pub(super) fn object(pairs: Vec<(String, Value)>) -> Value {
    let mut map = Map::new();
    for (key, value) in pairs {
        map.entry(key).or_insert(value);
    }
    Value::Object(map)
}

/// What the records of one scope share.
#[derive(Debug, Clone, Default)]
pub(in crate::decode) struct Shared {
    /// Resource attributes.
    pub(in crate::decode) resource: Arc<Attributes>,
    /// Scope name.
    pub(in crate::decode) scope: String,
}

/// A span, decoded but unchecked.
#[derive(Debug)]
pub(in crate::decode) struct SpanParts {
    pub(in crate::decode) trace_id: Id,
    pub(in crate::decode) span_id: Id,
    pub(in crate::decode) parent_span_id: Id,
    pub(in crate::decode) name: String,
    pub(in crate::decode) kind: i64,
    pub(in crate::decode) started_at: Option<Instant>,
    pub(in crate::decode) ended_at: Option<Instant>,
    /// Begin or end was given, and is no time.
    pub(in crate::decode) has_bad_time: bool,
    pub(in crate::decode) status_code: i64,
    pub(in crate::decode) status_message: String,
    pub(in crate::decode) attributes: Attributes,
    pub(in crate::decode) events: Vec<SpanEvent>,
}

impl SpanParts {
    /// Delivers the span. Without a trace and span id it is no span; a bad parent id only makes it a root.
    pub(in crate::decode) fn deliver(self, shared: &Shared, origin: &Origin, sink: &mut dyn Sink) {
        let (trace_id, span_id) = match (self.trace_id, self.span_id) {
            (Id::Known(trace_id), Id::Known(span_id)) => (trace_id, span_id),
            (Id::Bad, _) => return reject(sink, origin, RejectReason::BadField, "trace id of a span"),
            (_, Id::Bad) => return reject(sink, origin, RejectReason::BadField, "span id of a span"),
            (Id::Absent, _) => return reject(sink, origin, RejectReason::MissingField, "trace id of a span"),
            (_, Id::Absent) => return reject(sink, origin, RejectReason::MissingField, "span id of a span"),
        };
        if self.parent_span_id == Id::Bad {
            reject(sink, origin, RejectReason::BadField, "parent span id of a span; the span was kept");
        }
        if self.has_bad_time {
            times::note_bad("begin or end of a span", None, origin, sink);
        }
        sink.record(Record::Span(Box::new(Span {
            origin: origin.clone(),
            trace_id,
            span_id,
            parent_span_id: self.parent_span_id.into_digits(),
            name: self.name,
            kind: span_kind(self.kind),
            started_at: self.started_at,
            ended_at: self.ended_at,
            is_error: self.status_code == STATUS_ERROR,
            status_message: self.status_message,
            scope: shared.scope.clone(),
            attributes: self.attributes,
            resource: Arc::clone(&shared.resource),
            events: self.events,
        })));
    }
}

/// `STATUS_CODE_ERROR` of opentelemetry.proto.trace.v1.
const STATUS_ERROR: i64 = 2;

/// `SpanKind` of opentelemetry.proto.trace.v1; a number unknown here is no kind.
fn span_kind(number: i64) -> SpanKind {
    match number {
        1 => SpanKind::Internal,
        2 => SpanKind::Server,
        3 => SpanKind::Client,
        4 => SpanKind::Producer,
        5 => SpanKind::Consumer,
        _ => SpanKind::Unspecified,
    }
}

/// A log record, decoded but unchecked.
#[derive(Debug)]
pub(super) struct LogParts {
    pub(super) at: Option<Instant>,
    pub(super) observed_at: Option<Instant>,
    /// One of them was given, and is no time.
    pub(super) has_bad_time: bool,
    pub(super) severity_number: i64,
    pub(super) severity_text: String,
    pub(super) event_name: String,
    pub(super) body: Value,
    pub(super) attributes: Attributes,
    pub(super) trace_id: Id,
    pub(super) span_id: Id,
}

impl LogParts {
    /// Delivers the log record; a bad id is noted and taken for none, as most records have none anyway.
    pub(super) fn deliver(self, shared: &Shared, origin: &Origin, sink: &mut dyn Sink) {
        if self.trace_id == Id::Bad || self.span_id == Id::Bad {
            reject(sink, origin, RejectReason::BadField, "trace or span id of a log record; the record was kept");
        }
        if self.at.is_none() && self.has_bad_time {
            times::note_bad("time of a log record", None, origin, sink);
        }
        let event_name = match self.event_name {
            name if name.is_empty() => self.attributes.text("event.name").unwrap_or_default(),
            name => name,
        };
        let severity = match self.severity_text {
            text if text.is_empty() => severity_word(self.severity_number).to_owned(),
            text => text,
        };
        let log = LogRecord {
            origin: origin.clone(),
            at: self.at.or(self.observed_at),
            event_name,
            severity,
            body: self.body,
            scope: shared.scope.clone(),
            attributes: self.attributes,
            resource: Arc::clone(&shared.resource),
            trace_id: self.trace_id.into_digits(),
            span_id: self.span_id.into_digits(),
        };
        deliver_log(log, sink);
    }
}

/// Short name of a severity number (OpenTelemetry logs data model, Displaying Severity), without its grade.
fn severity_word(number: i64) -> &'static str {
    match number {
        1..=4 => "TRACE",
        5..=8 => "DEBUG",
        9..=12 => "INFO",
        13..=16 => "WARN",
        17..=20 => "ERROR",
        21..=24 => "FATAL",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_from_hex_of_any_case_and_from_base64() {
        let known = Id::Known("0102030405060708".to_owned());
        for text in ["0102030405060708", "0x0102030405060708", "AQIDBAUGBwg=", "AQIDBAUGBwg"] {
            assert_eq!(Id::from_text(text, SPAN_ID), known, "{text}");
        }
        assert_eq!(
            Id::from_text("ABCDEFABCDEFABCDEFABCDEFABCDEFAB", TRACE_ID),
            Id::Known("abcdefabcdefabcdefabcdefabcdefab".to_owned())
        );
    }

    #[test]
    fn an_id_that_is_missing_differs_from_one_that_is_wrong() {
        for text in ["", "0000000000000000", "AAAAAAAAAAA="] {
            assert_eq!(Id::from_text(text, SPAN_ID), Id::Absent, "{text}");
        }
        for text in ["12", "zz02030405060708", "0102030405060708090a", "not an id", "é"] {
            assert_eq!(Id::from_text(text, SPAN_ID), Id::Bad, "{text}");
        }
        assert_eq!(Id::from_bytes(&[1], SPAN_ID), Id::Bad);
    }

    #[test]
    fn a_time_of_zero_or_past_the_calendar_is_none() {
        assert_eq!(instant(0), None);
        assert_eq!(instant(u64::MAX), None);
        assert_eq!(instant(7), Some(Instant(7)));
    }
}
