//! Bodies to records, by what their request or file says they are.
//!
//! In: work. Out: its records and rejects, or that it is malformed as a whole. Keeps nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::intake::Work;
use crate::commands::setup::{key_map, limits};
use crate::config::{Config, ObserverBySource};
use crate::decode::key_map::KeyMap;
use crate::decode::record::{Origin, Position, Record, Reject, Sink};
use crate::decode::request::{Malformed, Received, decode_request};
use crate::decode::{self, Limits};

/// How bodies are read.
pub(super) struct Reading {
    pub(super) limits: Limits,
    pub(super) keys: KeyMap,
    /// Who taped which source.
    pub(super) observers: Vec<ObserverBySource>,
}

/// What a body held.
pub(super) struct Decoded {
    /// Records, in their order; none when the body is malformed.
    pub(super) records: Vec<Record>,
    /// What was not understood, by reason.
    pub(super) rejects: BTreeMap<&'static str, u64>,
    /// What the sender should hear.
    pub(super) outcome: Result<Received, Malformed>,
}

impl Reading {
    /// As a configuration says.
    ///
    /// # Errors
    /// When it names fields of exchanges that there are not.
    pub(super) fn of(config: &Config) -> anyhow::Result<Self> {
        let (limits, keys) = (limits(&config.limits), key_map(&config.exchange_keys)?);
        Ok(Self { limits, keys, observers: config.observers.clone() })
    }

    /// Reads a body.
    pub(super) fn decode(&self, work: &Work) -> Decoded {
        let mut buffer = Buffer::default();
        let (source, outcome): (Arc<str>, _) = match work {
            Work::Request(delivery) => {
                let source = Arc::from(delivery.receiver.as_str());
                let what = (delivery.signal, delivery.encoding);
                let outcome = decode_request(what, &delivery.body, &source, &self.limits, &self.keys, &mut buffer);
                (source, outcome)
            }
            Work::Grown(grown, _) => {
                let source = Arc::from(grown.path.to_string_lossy());
                buffer.lines_before = grown.lines_before;
                let reader = Box::new(grown.bytes.as_slice());
                decode::decode_with(&source, reader, &self.limits, &self.keys, &mut buffer);
                (source, Ok(Received::default()))
            }
        };
        let Buffer { mut records, rejects, .. } = buffer;
        if outcome.is_err() {
            records.clear();
        }
        let fits = |tap: &&ObserverBySource| glob::Pattern::new(&tap.source).is_ok_and(|glob| glob.matches(&source));
        if let Some(tap) = self.observers.iter().find(fits) {
            records.iter_mut().for_each(|record| tap.mark(record));
        }
        Decoded { records, rejects, outcome }
    }
}

/// Keeps what is read until it is clear that all of it counts.
#[derive(Default)]
struct Buffer {
    records: Vec<Record>,
    rejects: BTreeMap<&'static str, u64>,
    /// Lines of the file before these bytes.
    lines_before: u64,
}

impl Sink for Buffer {
    fn record(&mut self, mut record: Record) {
        let Origin { position, .. } = match &mut record {
            Record::Exchange(exchange) => &mut exchange.origin,
            Record::Span(span) => &mut span.origin,
            Record::Log(log) => &mut log.origin,
            Record::Document(document) => &mut document.origin,
        };
        if let Position::Line(line) = position {
            *line += self.lines_before;
        }
        self.records.push(record);
    }

    fn reject(&mut self, reject: Reject) {
        *self.rejects.entry(reject.reason.as_str()).or_default() += 1;
    }

    fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
}
