//! Common columns of facts from spans and log records.
//!
//! In: where and when something was seen. Out: [`Common`]. Never resolves an identity: references stay as given.

use crate::decode::record::{LogRecord, Observer, Origin};
use crate::instant::Instant;
use crate::normalize::aliases::{Carrier, Key};
use crate::tables::Common;

use super::Context;

/// Where and when something was seen, and by which service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) origin: Origin,
    pub(super) at: Instant,
    pub(super) service: String,
    pub(super) trace_id: String,
    pub(super) span_id: String,
}

impl Seen {
    /// Of a log record; none without a time, which every fact must have.
    pub(super) fn of_log(record: &LogRecord, carrier: &Carrier<'_>, context: &Context<'_>) -> Option<Self> {
        Some(Self {
            origin: record.origin.clone(),
            at: record.at?,
            service: context.aliases.text(Key::Service, carrier).unwrap_or_default(),
            trace_id: record.trace_id.clone(),
            span_id: record.span_id.clone(),
        })
    }

    /// Columns of a fact from a span. The service is the tap.
    pub(super) fn of_span(&self, observer: Observer) -> Common {
        let record_id = format!("span/{}/{}", self.trace_id, self.span_id);
        Common { record_id, ..self.common(observer) }
    }

    /// Columns of a fact from a log record. A line may hold several records, and so may the span that was active.
    pub(super) fn of_record(&self, observer: Observer) -> Common {
        let Origin { source, position } = &self.origin;
        let record_id = format!("log/{source}:{position}/{}/{}", self.at.0, self.span_id);
        Common { record_id, ..self.common(observer) }
    }

    fn common(&self, observer: Observer) -> Common {
        let (source, position) = (self.origin.source.to_string(), self.origin.position.to_string());
        Common {
            observed_at: self.at,
            observer: observer.as_str().to_owned(),
            observer_name: self.service.clone(),
            trace_id: self.trace_id.clone(),
            span_id: self.span_id.clone(),
            source,
            position,
            ..Common::default()
        }
    }

    /// What orders and tells apart records, wherever they were read.
    pub(super) fn order(&self) -> (Instant, &str, &str, &str) {
        (self.at, &self.trace_id, &self.span_id, &self.service)
    }
}

/// The key under which all observers of a call know it: the caller's span.
pub(super) fn call_id(caller_span: &str) -> String {
    if caller_span.is_empty() { String::new() } else { format!("span:{caller_span}") }
}

/// The agent as a service names itself.
pub(super) fn service_ref(service: &str) -> String {
    if service.is_empty() { String::new() } else { format!("service:{service}") }
}

/// The first reference that is not empty.
pub(super) fn first(references: impl IntoIterator<Item = String>) -> String {
    references.into_iter().find(|reference| !reference.is_empty()).unwrap_or_default()
}
