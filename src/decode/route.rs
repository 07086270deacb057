//! JSON values to records, by shape.
//!
//! In: values with their origin, from any framing. Out: records and rejects. It decides which reader a value goes to and
//! reads nothing itself; values inside framings come back through [`Router::payload`].

use serde_json::{Map, Value, json};

use super::frame::{Delivery, Frame, Framed};
use super::json::{self, Fault, Parsed};
use super::key_map::KeyMap;
use super::record::{Document, LogRecord, Origin, Record, Reject, RejectReason, Sink};
use super::scanner::Container;
use super::streams::{Event, Streams};
use super::{
    Limits, access_log, document, exchange, har, home_made, json_log, otlp, own_event, times, trace_export, wrapper,
};

/// Keys of an unknown object that its reject names.
const KEYS_NAMED: usize = 8;

/// Longest key that is named, in bytes.
const KEY_BYTES: usize = 40;

/// Hands values to their readers.
pub(super) struct Router<'a> {
    pub(super) limits: &'a Limits,
    keys: &'a KeyMap,
    pub(super) delivery: Delivery<'a>,
    /// What is open in streams of lines.
    pub(super) streams: Streams,
    /// What was last advised.
    pub(super) advised: Option<&'static str>,
    /// Bytes of lines that were read, and those of them that were joined in vain.
    pub(super) passed: u64,
    pub(super) wasted: u64,
}

impl<'a> Router<'a> {
    /// A router into `sink`.
    pub(super) fn new(limits: &'a Limits, keys: &'a KeyMap, sink: &'a mut dyn Sink) -> Self {
        let streams = Streams::new(limits.max_record_bytes);
        Self { limits, keys, delivery: Delivery::new(sink), streams, advised: None, passed: 0, wasted: 0 }
    }

    /// Where records and rejects go, for readers of other than JSON.
    pub(super) fn sink(&mut self) -> &mut dyn Sink {
        &mut self.delivery
    }

    /// Takes note of something unread.
    pub(super) fn reject(&mut self, origin: &Origin, reason: RejectReason, detail: &str) {
        self.delivery.reject(Reject { origin: origin.clone(), reason, detail: detail.to_owned() });
    }

    /// Takes note of text that is no JSON value.
    pub(super) fn fault(&mut self, origin: &Origin, fault: Fault) {
        match fault {
            Fault::Incomplete => self.reject(origin, RejectReason::Truncated, "ends inside a JSON value"),
            Fault::TooDeep => self.reject(origin, RejectReason::TooDeep, "nested deeper than the limit"),
            Fault::TooHeavy => self.reject(origin, RejectReason::TooLarge, "JSON value of too many parts"),
            Fault::Bad(detail) => self.reject(origin, RejectReason::BadJson, &detail),
        }
    }

    /// A value that stands for itself.
    pub(super) fn parsed(&mut self, parsed: Parsed, origin: &Origin, frame: &Frame<'_>) {
        self.note_repair(&parsed, origin);
        self.value(parsed.value, origin, frame);
    }

    /// An object that was printed in another notation.
    pub(super) fn printed(&mut self, value: Value, origin: &Origin) {
        self.value(value, origin, &Frame::default());
    }

    /// An element cut out of a container, and the document around it as far as it stands before the container.
    pub(super) fn element(&mut self, parsed: Parsed, container: Container, head: &wrapper::Head, origin: &Origin) {
        self.note_repair(&parsed, origin);
        let (value, frame) = (parsed.value, Frame::default());
        match container {
            Container::HarEntries => self.har_entry(value, origin, &frame),
            // A line cut behind its opening bracket takes the next line in; that is whole.
            _ if otlp::json::is_otlp(&value).is_some() => self.otlp(value, origin, &frame),
            Container::ResourceSpans => self.otlp(json!({ "resourceSpans": [value] }), origin, &frame),
            Container::ResourceLogs => self.otlp(json!({ "resourceLogs": [value] }), origin, &frame),
            _ if wrapper::is_element(container, &value) => {
                let opened = wrapper::element(container, value, head);
                self.opened(opened, origin, &frame);
            }
            _ => self.value(value, origin, &frame),
        }
    }

    /// A server-sent event.
    pub(super) fn event(&mut self, event: Event) {
        let Event { origin, frame, name, data, too_large } = event;
        if too_large {
            return self.reject(&origin, RejectReason::TooLarge, "event longer than the record limit");
        }
        self.delivery.recognised(&origin.source, "sse");
        let data = data.trim();
        if !data.starts_with(['{', '[']) {
            return self.reject(&origin, RejectReason::UnknownText, "text of no format known here");
        }
        match json::parse(data.as_bytes(), self.limits.max_depth) {
            Ok(parsed) => self.value(parsed.value, &origin, &frame.with_event(&name)),
            Err(fault) => self.fault(&origin, fault),
        }
    }

    /// What a log carrier carries.
    fn opened(&mut self, opened: (&'static str, Vec<wrapper::Wrapped>), origin: &Origin, frame: &Frame<'_>) {
        let (format, wrapped) = opened;
        self.delivery.recognised(&origin.source, format);
        for one in wrapped {
            self.unwrap(one, origin, frame);
        }
    }

    /// The way for what stands within a frame.
    fn within<'f>(&'f mut self, frame: &'f Frame<'f>) -> Framed<'f, 'a> {
        self.delivery.within(frame)
    }

    fn note_repair(&mut self, parsed: &Parsed, origin: &Origin) {
        if parsed.replaced_bytes {
            self.reject(origin, RejectReason::InvalidUtf8, "bytes that are not UTF-8 were replaced");
        }
    }

    /// A value of any shape.
    pub(super) fn value(&mut self, value: Value, origin: &Origin, frame: &Frame<'_>) {
        if otlp::json::is_otlp(&value).is_some() {
            return self.otlp(value, origin, frame);
        }
        match value {
            // The depth of a value is limited.
            Value::Array(list) => list.into_iter().for_each(|value| self.value(value, origin, frame)),
            Value::Object(map) => self.object(map, origin, frame),
            _ => self.reject(origin, RejectReason::UnknownShape, "a JSON value that is neither object nor list"),
        }
    }

    fn object(&mut self, map: Map<String, Value>, origin: &Origin, frame: &Frame<'_>) {
        let map = match wrapper::object(map) {
            Ok(opened) => return self.opened(opened, origin, frame),
            Err(map) => map,
        };
        let (limits, keys) = (self.limits, self.keys);
        let mut sink = self.within(frame);
        let value = Value::Object(map);
        if value.get("event").is_some_and(Value::is_string) && own_event::decode(&value, origin, &mut sink) {
            return;
        }
        let Value::Object(map) = value else { return };
        let mut map = match access_log::of_gateway(map, origin, frame) {
            Ok((record, format)) => return deliver_timed(record, format, &mut sink),
            Err(map) => map,
        };
        if let Some(entries) = har::take_entries(&mut map) {
            for (index, entry) in (0..).zip(entries) {
                let origin = Origin { position: origin.position.entry(index), ..origin.clone() };
                self.har_entry(entry, &origin, frame);
            }
        } else if har::is_entry(&map) {
            self.har_entry(Value::Object(map), origin, frame);
        } else if exchange::is_exchange(&map) {
            sink.recognised(&origin.source, "exchange-ndjson");
            if let Some(exchange) = exchange::read(map, origin, limits, &mut sink) {
                sink.record(Record::Exchange(Box::new(exchange)));
            }
        } else if trace_export::decode(&mut map, origin, &mut sink) {
            // Its spans have been delivered.
        } else if let Some(format) = document::format(&map).filter(|_| !home_made::has_both_halves(&map)) {
            sink.recognised(&origin.source, format);
            sink.record(Record::Document(Box::new(Document {
                origin: origin.clone(),
                at: frame.at,
                sse_event: frame.sse_event.to_owned(),
                value: Value::Object(map),
            })));
        } else if let Some(exchange) = home_made::read(&map, origin, limits, keys, &mut sink) {
            if access_log::is_line(&exchange) {
                return deliver(access_log::of_exchange(map, &exchange, frame), "access-log", &mut sink);
            }
            let format = if exchange.line_keys.is_empty() { "home-made-exchange" } else { "access-log" };
            sink.recognised(&origin.source, format);
            sink.record(Record::Exchange(Box::new(exchange)));
        } else {
            match json_log::read(map, origin, frame) {
                Ok(record) => deliver_timed(record, "json-log", &mut sink),
                Err(map) => self.reject(origin, RejectReason::UnknownShape, &keys_of(&map)),
            }
        }
    }

    fn har_entry(&mut self, entry: Value, origin: &Origin, frame: &Frame<'_>) {
        let limits = self.limits;
        let mut sink = self.within(frame);
        sink.recognised(&origin.source, "har");
        if let Some(exchange) = har::read(entry, origin, limits, &mut sink) {
            sink.record(Record::Exchange(Box::new(exchange)));
        }
    }

    fn otlp(&mut self, value: Value, origin: &Origin, frame: &Frame<'_>) {
        let mut sink = self.within(frame);
        if let Some(format) = otlp::json::is_otlp(&value) {
            sink.recognised(&origin.source, format);
        }
        otlp::json::decode(value, origin, &mut sink);
    }
}

/// Delivers a log record that an object was, and takes note of a time of it that is none.
fn deliver_timed(record: LogRecord, format: &'static str, sink: &mut dyn Sink) {
    if let Some(member) = record.body.as_object().and_then(json_log::bad_time) {
        times::note_bad(member, record.body.get(member), &record.origin, sink);
    }
    deliver(record, format, sink);
}

/// Delivers a log record as a piece of a format.
pub(super) fn deliver(record: LogRecord, format: &'static str, sink: &mut dyn Sink) {
    sink.recognised(&record.origin.source, format);
    sink.record(Record::Log(Box::new(record)));
}

/// Names some keys, never values. Of an object that is a map, keys are values: what is no plain word is only counted.
fn keys_of(map: &Map<String, Value>) -> String {
    let is_word = |key: &&str| {
        (1..=KEY_BYTES).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.' | b'@'))
    };
    let shown: Vec<&str> = map.keys().map(String::as_str).filter(is_word).take(KEYS_NAMED).collect();
    match (shown.join(", "), map.len() - shown.len()) {
        (words, 0) => format!("an object with the keys {words}"),
        (words, 1) if words.is_empty() => "an object with 1 key".to_owned(),
        (words, others) if words.is_empty() => format!("an object with {others} keys"),
        (words, others) => format!("an object with the keys {words} and {others} more"),
    }
}
