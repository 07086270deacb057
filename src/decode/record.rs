//! What decoding yields: the carriers of A2A evidence, still in the carrier's own terms, and what could not be read.
//!
//! Nothing here knows A2A. A record says where it came from, so that every finding can be traced back to a file and
//! line, or to a trace and span.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::position::{Beginning, Position};
use super::tree;
use crate::instant::Instant;

/// Where a record was read: the evidence trail of every fact made from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Path as the user named it, or `-` for standard input.
    pub source: Arc<str>,
    /// Place within the source: a line, a byte (binary, or a document on one line), an entry of a HAR.
    pub position: Position,
}

/// One decoded carrier.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// An HTTP exchange: exchange NDJSON, HAR entry, home-made recorder.
    Exchange(Box<Exchange>),
    /// An OTLP span.
    Span(Box<Span>),
    /// An OTLP log record, or an own event written as an NDJSON line.
    Log(Box<LogRecord>),
    /// A JSON document without a carrier: JSON-RPC message, push body, SSE data, agent card file.
    Document(Box<Document>),
}

/// Who saw a fact (design.md, Facts).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Observer {
    /// The calling side.
    Client,
    /// The called agent.
    Server,
    /// A party between them that sees both addresses.
    Gateway,
    /// The receiver of webhook calls.
    Receiver,
}

impl Observer {
    /// The canonical word, as it stands in the `observer` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Gateway => "gateway",
            Self::Receiver => "receiver",
        }
    }

    /// Reads the canonical word, in any case.
    pub fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "client" => Some(Self::Client),
            "server" => Some(Self::Server),
            "gateway" | "proxy" => Some(Self::Gateway),
            "receiver" => Some(Self::Receiver),
            _ => None,
        }
    }
}

/// One HTTP request and what came back, as one tap saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Where it was read.
    pub origin: Origin,
    /// When the request was sent, by the tap's clock.
    pub started_at: Option<Instant>,
    /// When the response was complete or given up.
    pub ended_at: Option<Instant>,
    /// What the recorder says the exchange is: `agent`, `webhook`; empty when it does not say.
    pub leg: String,
    /// Caller's address or name as recorded; empty when unknown.
    pub client: String,
    /// Callee's address as recorded; empty when unknown.
    pub server: String,
    /// Who saw it, when the record says so, or the format implies it (a HAR is a client's).
    pub observer: Option<Observer>,
    /// Name of the tap; empty when unknown.
    pub observer_name: String,
    /// Agent as the record names it; empty when it does not.
    pub agent: String,
    /// 32 lower-case hex digits; empty when unknown. From an explicit member, else the traceparent header.
    pub trace_id: String,
    /// 16 lower-case hex digits: parent id of the traceparent header, that is the caller's span; empty when unknown.
    pub span_id: String,
    /// HTTP method, upper case.
    pub method: String,
    /// Absolute url where known, else path.
    pub url: String,
    /// Request headers.
    pub request_headers: Headers,
    /// Request body, after removal of content codings.
    pub request_body: Body,
    /// HTTP status; none when no response was seen.
    pub status: Option<u16>,
    /// Response headers.
    pub response_headers: Headers,
    /// Response body, after removal of content codings.
    pub response_body: Body,
    /// Arrival of the pieces of a streamed response, in order; empty when not recorded. The texts joined are the body.
    pub chunks: Vec<Chunk>,
    /// The caller went away before the response was complete.
    pub client_disconnected: bool,
    /// The recorder cut a body short (`truncated`, a size limit): its JSON may be incomplete.
    pub truncated: bool,
    /// Names of the members of the line, where a gateway's access log held the bodies: they tell whose log it is. Empty
    /// for what others recorded.
    pub line_keys: Vec<String>,
}

/// A piece of a streamed response.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// When it arrived.
    pub at: Option<Instant>,
    /// Its text.
    pub text: String,
}

/// A message body.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Body {
    /// None was recorded, or it was empty.
    #[default]
    Absent,
    /// Text of any kind: JSON, an event stream.
    Text(String),
    /// A recorder that stored the body as JSON.
    Json(Value),
    /// Bytes that are not text (gRPC frames).
    Bytes(Vec<u8>),
}

impl Body {
    /// The body as JSON, if it is some.
    pub fn to_json(&self) -> Option<Value> {
        match self {
            Self::Json(value) => Some(value.clone()),
            Self::Text(text) => tree::read(text).ok(),
            Self::Bytes(bytes) => tree::read(std::str::from_utf8(bytes).ok()?).ok(),
            Self::Absent => None,
        }
    }

    /// The body's text, if it was recorded as text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// HTTP headers in order of appearance; names are lower case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// First value of a header, by lower-case name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// Attributes of a span, record, scope or resource, in order. Values are JSON; byte values are base64 strings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes(pub Vec<(String, Value)>);

impl Attributes {
    /// First value of an attribute.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// First value of an attribute as text: strings as they are, numbers and booleans written out, a list's first
    /// element (captured headers are lists); none for objects and null.
    pub fn text(&self, key: &str) -> Option<String> {
        fn text_of(value: &Value) -> Option<String> {
            match value {
                Value::String(s) => Some(s.clone()),
                Value::Number(n) => Some(n.to_string()),
                Value::Bool(b) => Some(b.to_string()),
                Value::Array(list) => list.first().and_then(text_of),
                _ => None,
            }
        }
        self.get(key).and_then(text_of)
    }
}

/// Kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpanKind {
    /// Not given.
    #[default]
    Unspecified,
    /// Inside a process.
    Internal,
    /// Answering a call.
    Server,
    /// Making a call.
    Client,
    /// Sending a message.
    Producer,
    /// Receiving a message.
    Consumer,
}

/// One OTLP span.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Where it was read.
    pub origin: Origin,
    /// 32 lower-case hex digits.
    pub trace_id: String,
    /// 16 lower-case hex digits.
    pub span_id: String,
    /// 16 lower-case hex digits; empty for a root.
    pub parent_span_id: String,
    /// Span name.
    pub name: String,
    /// Kind as the emitter gave it (a2a-python's mislead, see a2a-wire.md 2.1).
    pub kind: SpanKind,
    /// Start, by the emitter's clock.
    pub started_at: Option<Instant>,
    /// End, by the emitter's clock.
    pub ended_at: Option<Instant>,
    /// True for status ERROR.
    pub is_error: bool,
    /// Status description; may hold message text, so it is only ever classified.
    pub status_message: String,
    /// Instrumentation scope name.
    pub scope: String,
    /// Span attributes.
    pub attributes: Attributes,
    /// Resource attributes, shared by the spans of one export.
    pub resource: Arc<Attributes>,
    /// Span events (exceptions among them).
    pub events: Vec<SpanEvent>,
}

/// An event inside a span.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanEvent {
    /// When.
    pub at: Option<Instant>,
    /// Event name.
    pub name: String,
    /// Event attributes.
    pub attributes: Attributes,
}

/// One OTLP log record, or an own event line.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRecord {
    /// Where it was read.
    pub origin: Origin,
    /// Event time, else observed time (emitters exist that give only the latter).
    pub at: Option<Instant>,
    /// Event name (the field, or the older attribute `event.name`); empty when none.
    pub event_name: String,
    /// Severity text or the word for its number; empty when none.
    pub severity: String,
    /// Body as JSON: a string for a sentence, an object for a map.
    pub body: Value,
    /// Instrumentation scope name: the logger.
    pub scope: String,
    /// Record attributes.
    pub attributes: Attributes,
    /// Resource attributes, shared by the records of one export.
    pub resource: Arc<Attributes>,
    /// 32 lower-case hex digits; empty when none.
    pub trace_id: String,
    /// 16 lower-case hex digits; empty when none.
    pub span_id: String,
}

/// A JSON document without a carrier.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Where it was read.
    pub origin: Origin,
    /// Time that the framing gave (a log prefix), if any.
    pub at: Option<Instant>,
    /// SSE event name, when the document was an event's data.
    pub sse_event: String,
    /// The document.
    pub value: Value,
}

/// Something that could not be read, counted by reason and shown with its first place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reject {
    /// Where it began.
    pub origin: Origin,
    /// Why, as one of a closed list of kebab-case words.
    pub reason: RejectReason,
    /// For a person: what was wrong, without any content of the input.
    pub detail: String,
}

/// Why something was not read. The words are metric label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RejectReason {
    /// The file or stream could not be read further.
    Unreadable,
    /// Broken compression.
    BadCompression,
    /// Inflated to more than the limit.
    InflatedTooLarge,
    /// A line or element longer than the limit.
    TooLarge,
    /// Nested deeper than the limit.
    TooDeep,
    /// Ends in the middle of a value.
    Truncated,
    /// Looks like JSON and is none.
    BadJson,
    /// Looks like protobuf and is none.
    BadProtobuf,
    /// Bytes that are no text and no format known here.
    Binary,
    /// Bytes that are not UTF-8 were replaced; the record was kept.
    InvalidUtf8,
    /// JSON, but of no shape known here.
    UnknownShape,
    /// Text of no format known here.
    UnknownText,
    /// A known shape without what makes it useful (no time, no url).
    MissingField,
    /// A known field with an impossible value (a trace id of one byte).
    BadField,
    /// A format that another program converts; the detail gives its command.
    NeedsConversion,
    /// A time of a record that cannot be read; the record was kept, with what else is known of its time.
    BadTime,
    /// A time that is yet to come, by more than clocks differ.
    FutureTime,
}

impl RejectReason {
    /// The word, as used in output and metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::BadCompression => "bad-compression",
            Self::InflatedTooLarge => "inflated-too-large",
            Self::TooLarge => "too-large",
            Self::TooDeep => "too-deep",
            Self::Truncated => "truncated",
            Self::BadJson => "bad-json",
            Self::BadProtobuf => "bad-protobuf",
            Self::Binary => "binary",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::UnknownShape => "unknown-shape",
            Self::UnknownText => "unknown-text",
            Self::MissingField => "missing-field",
            Self::BadField => "bad-field",
            Self::NeedsConversion => "needs-conversion",
            Self::BadTime => "bad-time",
            Self::FutureTime => "future-time",
        }
    }
}

/// Where decoding delivers to. Records arrive one at a time, so that memory follows what is kept, not what is read.
pub trait Sink {
    /// Takes a decoded record.
    fn record(&mut self, record: Record);
    /// Takes note of something unread.
    fn reject(&mut self, reject: Reject);
    /// Takes note that a framing or format was recognised, for the diagnosis of a capture that yields nothing
    /// (`"har"`, `"exchange-ndjson"`, `"otlp-json"` ...).
    fn recognised(&mut self, source: &Arc<str>, format: &'static str);
}
