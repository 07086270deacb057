//! JSON values to records, by shape.
//!
//! In: values with their origin, from any framing. Out: records and rejects. It decides which reader a value goes to and
//! reads nothing itself; values inside framings come back through [`Router::payload`].

use serde_json::{Map, Value, json};

use super::framing::{Container, Event};
use super::json::{self, Fault, Parsed};
use super::key_map::KeyMap;
use super::record::{Document, Origin, Record, Reject, RejectReason, Sink};
use super::{Limits, document, exchange, har, home_made, otlp, own_event, text_log, trace_export};
use crate::instant::Instant;

/// Keys of an unknown object that its reject names.
const KEYS_NAMED: usize = 8;

/// Longest key that is named, in bytes.
const KEY_BYTES: usize = 40;

/// What the framings around a value said about it.
#[derive(Debug, Default)]
pub(super) struct Frame<'a> {
    /// Time of a log prefix.
    pub(super) at: Option<Instant>,
    /// Name of the server-sent event.
    pub(super) sse_event: &'a str,
}

/// Hands values to their readers.
pub(super) struct Router<'a> {
    limits: &'a Limits,
    keys: &'a KeyMap,
    sink: &'a mut dyn Sink,
}

impl<'a> Router<'a> {
    /// A router into `sink`.
    pub(super) fn new(limits: &'a Limits, keys: &'a KeyMap, sink: &'a mut dyn Sink) -> Self {
        Self { limits, keys, sink }
    }

    /// Where records and rejects go, for readers of other than JSON.
    pub(super) fn sink(&mut self) -> &mut dyn Sink {
        self.sink
    }

    /// Takes note of something unread.
    pub(super) fn reject(&mut self, origin: &Origin, reason: RejectReason, detail: &str) {
        self.sink.reject(Reject { origin: origin.clone(), reason, detail: detail.to_owned() });
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
    pub(super) fn parsed(&mut self, parsed: Parsed, origin: &Origin) {
        self.note_repair(&parsed, origin);
        self.value(parsed.value, origin, &Frame::default());
    }

    /// An object that was printed in another notation.
    pub(super) fn printed(&mut self, value: Value, origin: &Origin) {
        self.value(value, origin, &Frame::default());
    }

    /// An element cut out of a container.
    pub(super) fn element(&mut self, parsed: Parsed, container: Container, origin: &Origin) {
        self.note_repair(&parsed, origin);
        let value = parsed.value;
        match container {
            Container::HarEntries => self.har_entry(value, origin),
            // A line cut behind its opening bracket takes the next line in; that is whole.
            _ if otlp::json::is_otlp(&value).is_some() => self.otlp(value, origin),
            Container::ResourceSpans => self.otlp(json!({ "resourceSpans": [value] }), origin),
            Container::ResourceLogs => self.otlp(json!({ "resourceLogs": [value] }), origin),
            Container::Array => self.value(value, origin, &Frame::default()),
        }
    }

    /// A server-sent event.
    pub(super) fn event(&mut self, event: Event) {
        if event.too_large {
            return self.reject(&event.origin, RejectReason::TooLarge, "event longer than the record limit");
        }
        self.sink.recognised(&event.origin.source, "sse");
        self.payload(&event.data, &event.origin, &Frame { at: None, sse_event: &event.name });
    }

    /// Text found inside a framing, looked at anew.
    pub(super) fn payload(&mut self, text: &str, origin: &Origin, frame: &Frame<'_>) {
        let text = text.trim();
        if text.starts_with(['{', '[']) {
            match json::parse(text.as_bytes(), self.limits.max_depth) {
                Ok(parsed) => self.value(parsed.value, origin, frame),
                Err(fault) => self.fault(origin, fault),
            }
        } else if !text_log::decode(text, frame.at, origin, self.sink) {
            self.reject(origin, RejectReason::UnknownText, "text of no format known here");
        }
    }

    fn note_repair(&mut self, parsed: &Parsed, origin: &Origin) {
        if parsed.replaced_bytes {
            self.reject(origin, RejectReason::InvalidUtf8, "bytes that are not UTF-8 were replaced");
        }
    }

    fn value(&mut self, value: Value, origin: &Origin, frame: &Frame<'_>) {
        if otlp::json::is_otlp(&value).is_some() {
            return self.otlp(value, origin);
        }
        match value {
            // The depth of a value is limited.
            Value::Array(list) => list.into_iter().for_each(|value| self.value(value, origin, frame)),
            Value::Object(map) => self.object(map, origin, frame),
            _ => self.reject(origin, RejectReason::UnknownShape, "a JSON value that is neither object nor list"),
        }
    }

    fn object(&mut self, map: Map<String, Value>, origin: &Origin, frame: &Frame<'_>) {
        let value = Value::Object(map);
        if value.get("event").is_some_and(Value::is_string) && own_event::decode(&value, origin, self.sink) {
            return;
        }
        let Value::Object(mut map) = value else { return };
        if let Some(entries) = har::take_entries(&mut map) {
            entries.into_iter().for_each(|entry| self.har_entry(entry, origin));
        } else if har::is_entry(&map) {
            self.har_entry(Value::Object(map), origin);
        } else if exchange::is_exchange(&map) {
            self.sink.recognised(&origin.source, "exchange-ndjson");
            if let Some(exchange) = exchange::read(map, origin, self.limits, self.sink) {
                self.sink.record(Record::Exchange(Box::new(exchange)));
            }
        } else if trace_export::decode(&mut map, origin, self.sink) {
            // Its spans have been delivered.
        } else if let Some(format) = document::format(&map).filter(|_| !home_made::has_both_halves(&map)) {
            self.sink.recognised(&origin.source, format);
            self.sink.record(Record::Document(Box::new(Document {
                origin: origin.clone(),
                at: frame.at,
                sse_event: frame.sse_event.to_owned(),
                value: Value::Object(map),
            })));
        } else if let Some(exchange) = home_made::read(&map, origin, self.limits, self.keys, self.sink) {
            self.sink.recognised(&origin.source, "home-made-exchange");
            self.sink.record(Record::Exchange(Box::new(exchange)));
        } else {
            self.reject(origin, RejectReason::UnknownShape, &keys_of(&map));
        }
    }

    fn har_entry(&mut self, entry: Value, origin: &Origin) {
        self.sink.recognised(&origin.source, "har");
        if let Some(exchange) = har::read(entry, origin, self.limits, self.sink) {
            self.sink.record(Record::Exchange(Box::new(exchange)));
        }
    }

    fn otlp(&mut self, value: Value, origin: &Origin) {
        if let Some(format) = otlp::json::is_otlp(&value) {
            self.sink.recognised(&origin.source, format);
        }
        otlp::json::decode(value, origin, self.sink);
    }
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
        (words, others) if words.is_empty() => format!("an object with {others} key(s)"),
        (words, others) => format!("an object with the keys {words} and {others} more"),
    }
}
