//! The body of one request to records, and what its sender should hear.
//!
//! In: a body and what its request says about it. Out: records and rejects through a [`Sink`], and counts with an English
//! sentence; or that the body as a whole cannot be read. A file is read as far as it goes; a request is not, as its
//! sender can be told. Never repeats content of the body.

use std::sync::Arc;

use super::json::Fault;
use super::key_map::KeyMap;
use super::otlp::{self, survey};
use super::record::{Origin, Position, Record, Reject, RejectReason, Sink};
use super::{Limits, decode_with, json, tree};
use crate::receive::listen::{Encoding, Signal};

/// What was read of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    /// Items read: spans, log records, exchanges.
    pub accepted: u64,
    /// Items that cannot be read, now or ever.
    pub rejected: u64,
    /// Why items were rejected, else what is unusual about the request; empty when there is nothing to say.
    pub message: String,
}

/// Nothing of a body can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    /// Why, for the sender.
    pub message: String,
}

/// Decodes the body of a request; `source` names its records, `keys` tells the spellings of home-made recorders.
///
/// # Errors
/// When the body as a whole is not what its request says. What the sink was given until then is to be thrown away.
pub fn decode_request(
    (signal, encoding): (Signal, Encoding),
    body: &[u8],
    source: &Arc<str>,
    limits: &Limits,
    keys: &KeyMap,
    sink: &mut dyn Sink,
) -> Result<Received, Malformed> {
    let mut tally = Tally { sink, records: 0, lost: 0, first: None };
    let origin = Origin { source: Arc::clone(source), position: Position::Byte(0) };
    let signal = match signal {
        Signal::Exchanges => {
            if tree::is_crowded(body, tree::MOST_OF_REQUEST) {
                return Err(malformed(tree::TOO_MANY_PARTS));
            }
            decode_with(source, Box::new(body), limits, keys, &mut tally);
            return exchanges(tally);
        }
        Signal::Traces => otlp::Signal::Traces,
        Signal::Logs => otlp::Signal::Logs,
        Signal::Metrics => otlp::Signal::Metrics,
    };
    match encoding {
        Encoding::Protobuf => protobuf(signal, body, &origin, tally),
        Encoding::Json | Encoding::Text => otlp_json(body, &origin, limits, tally),
    }
}

/// What metrics hear.
const NO_METRICS: &str = "metrics are not taken here; send traces and logs";

fn protobuf(signal: otlp::Signal, body: &[u8], origin: &Origin, mut tally: Tally<'_>) -> Result<Received, Malformed> {
    let items = otlp::proto::decode_request(body, signal, origin, &mut tally).map_err(malformed)?;
    match signal {
        otlp::Signal::Metrics => Ok(tally.received(0, items, Vec::new())),
        otlp::Signal::Traces | otlp::Signal::Logs => Ok(tally.received(items, 0, Vec::new())),
    }
}

fn otlp_json(body: &[u8], origin: &Origin, limits: &Limits, mut tally: Tally<'_>) -> Result<Received, Malformed> {
    let (parsed, duplicates) =
        json::parse_noting_duplicates(body, limits.max_depth).map_err(|fault| malformed(explain(fault)))?;
    let survey = survey(&parsed.value);
    if let Some(fault) = survey.fault {
        return Err(malformed(fault));
    }
    let mut warnings = Vec::new();
    let mut warn = |is_so: bool, reason: RejectReason, what: &str| {
        if is_so {
            warnings.push(what.to_owned());
            tally.reject(Reject { origin: origin.clone(), reason, detail: format!("{what}; the records were kept") });
        }
    };
    warn(parsed.replaced_bytes, RejectReason::InvalidUtf8, "bytes that are not UTF-8 were replaced");
    warn(parsed.repaired, RejectReason::InvalidUtf8, "lone surrogates or raw control characters were replaced");
    warn(duplicates > 0, RejectReason::BadField, "of duplicate keys of an object only the last counts");
    warn(survey.named_enums > 0, RejectReason::BadField, "enums are names; OTLP/JSON has integers");
    tally.first = None;
    otlp::json::decode(parsed.value, origin, &mut tally);
    Ok(tally.received(survey.items, survey.data_points, warnings))
}

/// What there is to say about lines and documents whose items only their decoder can count.
fn exchanges(tally: Tally<'_>) -> Result<Received, Malformed> {
    let message = tally.first.map(|detail| format!("not everything was understood: {detail}")).unwrap_or_default();
    if tally.records == 0 && tally.lost > 0 {
        return Err(Malformed { message });
    }
    Ok(Received { accepted: tally.records, rejected: tally.lost, message })
}

fn malformed(message: impl Into<String>) -> Malformed {
    Malformed { message: message.into() }
}

fn explain(fault: Fault) -> String {
    match fault {
        Fault::Incomplete => "the body ends inside a JSON value".to_owned(),
        Fault::TooDeep => "the body nests deeper than the limit".to_owned(),
        Fault::TooHeavy => "the body is a JSON value of too many parts".to_owned(),
        Fault::Bad(detail) => format!("the body is no JSON: {detail}"),
    }
}

/// Passes everything on and counts.
struct Tally<'a> {
    sink: &'a mut dyn Sink,
    records: u64,
    /// Rejects that cost a record; of exchanges only, as OTLP's are told by their items.
    lost: u64,
    /// What the first reject says.
    first: Option<String>,
}

impl Tally<'_> {
    /// The result for OTLP, where every item is one record or none.
    fn received(self, items: u64, data_points: u64, mut notes: Vec<String>) -> Received {
        let rejected = items.saturating_sub(self.records);
        notes.splice(0..0, self.first);
        if data_points > 0 {
            notes.insert(0, NO_METRICS.to_owned());
        }
        let message = notes.join("; ");
        Received { accepted: self.records, rejected: rejected + data_points, message }
    }
}

impl Sink for Tally<'_> {
    fn record(&mut self, record: Record) {
        self.records += 1;
        self.sink.record(record);
    }

    fn reject(&mut self, reject: Reject) {
        // A bad field costs an exchange that field only, as a bad time and replaced bytes do.
        let is_kept =
            matches!(reject.reason, RejectReason::InvalidUtf8 | RejectReason::BadField | RejectReason::BadTime);
        self.lost += u64::from(!is_kept);
        if self.first.is_none() {
            self.first = Some(format!("{}: {}", reject.reason.as_str(), reject.detail));
        }
        self.sink.reject(reject);
    }

    fn recognised(&mut self, source: &Arc<str>, format: &'static str) {
        self.sink.recognised(source, format);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::framing::collect::Collected;

    const EXCHANGES: (Signal, Encoding) = (Signal::Exchanges, Encoding::Text);

    fn decoded(what: (Signal, Encoding), body: &[u8]) -> (Result<Received, Malformed>, usize) {
        let mut sink = Collected::default();
        let keys = KeyMap::built_in();
        let result = decode_request(what, body, &Arc::from("exchanges"), &Limits::default(), keys, &mut sink);
        (result, sink.records.len() + sink.rejects.len())
    }

    /// A field of protobuf that holds bytes.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2];
        let mut length = content.len();
        while length > 127 {
            field.push(length as u8 | 0x80);
            length >>= 7;
        }
        field.push(length as u8);
        field.extend(content);
        field
    }

    #[test]
    fn a_body_of_countless_parts_is_refused_before_anything_of_it_is_decoded() {
        const COUNTLESS: usize = 4 << 20;
        let lines = "{}\n".repeat(COUNTLESS).into_bytes();
        let list = format!("[{}{{}}]", "{},".repeat(COUNTLESS)).into_bytes();
        let texts = "x y\n".repeat(COUNTLESS).into_bytes();
        let json = format!("{{\"resourceSpans\":[{}{{}}]}}", "{},".repeat(COUNTLESS)).into_bytes();
        let spans = field(1, &field(2, &[0x12, 0].repeat(COUNTLESS)));
        let groups = [0x0a, 0].repeat(COUNTLESS);
        let attributes = field(1, &field(2, &field(2, &[0x4a, 0].repeat(COUNTLESS / 2)).repeat(16)));
        let (traces, logs) = (Signal::Traces, Signal::Logs);
        for (what, body) in [
            (EXCHANGES, &lines),
            (EXCHANGES, &list),
            (EXCHANGES, &texts),
            ((traces, Encoding::Json), &json),
            ((traces, Encoding::Protobuf), &spans),
            ((logs, Encoding::Protobuf), &spans),
            ((traces, Encoding::Protobuf), &groups),
            ((traces, Encoding::Protobuf), &attributes),
        ] {
            let (result, handed_over) = decoded(what, body);
            let message = result.unwrap_err().message;
            assert!(message.contains("too many parts"), "{what:?}: {message}");
            assert_eq!(handed_over, 0, "{what:?}");
        }
    }

    #[test]
    fn a_full_body_of_traffic_is_not_of_too_many_parts() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
        let capture = std::fs::read(path).unwrap();
        let body = capture.repeat((64 << 20) / capture.len());
        assert!(
            !tree::is_crowded(&body, tree::MOST_OF_REQUEST / 4),
            "a quarter of the room is enough for exchange lines"
        );
    }
}
