//! Common columns of facts from spans and log records.
//!
//! In: where and when something was seen. Out: [`Common`]. Never resolves an identity: references stay as given.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::decode::record::{LogRecord, Observer, Origin, Position};
use crate::instant::Instant;
use crate::normalize::aliases::{Carrier, Key};
use crate::tables::Common;

use super::Context;

/// Where and when something was seen, and by which service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    #[serde(with = "place")]
    pub(super) origin: Origin,
    pub(super) at: Instant,
    #[serde(default)]
    pub(super) service: String,
    #[serde(default)]
    pub(super) trace_id: String,
    #[serde(default)]
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
        Common { record_id: self.span_record(), ..self.common(observer) }
    }

    fn span_record(&self) -> String {
        // An access log need not know of any span, and is not the only one.
        if self.span_id.is_empty() { self.log_record() } else { format!("span/{}/{}", self.trace_id, self.span_id) }
    }

    fn log_record(&self) -> String {
        let Origin { source, position } = &self.origin;
        format!("log/{source}:{position}/{}/{}", self.at.0, self.span_id)
    }

    /// What is read together: the trace of a span, else the span itself.
    pub(super) fn group_of_span(&self) -> Cow<'_, str> {
        if self.trace_id.is_empty() { self.span_record().into() } else { self.trace_id.as_str().into() }
    }

    /// As [`Seen::group_of_span`], of a log record.
    pub(super) fn group_of_record(&self) -> Cow<'_, str> {
        if self.trace_id.is_empty() { self.log_record().into() } else { self.trace_id.as_str().into() }
    }

    /// Columns of a fact from a log record. A line may hold several records, and so may the span that was active.
    pub(super) fn of_record(&self, observer: Observer) -> Common {
        Common { record_id: self.log_record(), ..self.common(observer) }
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

    /// Where it was read, as something that orders.
    pub(super) fn place(&self) -> (&str, Position) {
        (&self.origin.source, self.origin.position)
    }

    /// What orders and tells apart records, wherever they were read.
    pub(super) fn order(&self) -> (Instant, &str, &str, &str) {
        (self.at, &self.trace_id, &self.span_id, &self.service)
    }
}

/// A fact's group, as [`Seen::group_of_span`] and [`Seen::group_of_record`] have it.
pub(crate) fn group_of_fact(common: &Common) -> &str {
    if common.trace_id.is_empty() { &common.record_id } else { &common.trace_id }
}

/// An [`Origin`] as it is stored.
mod place {
    use serde::{Deserializer, Serializer};

    use super::{Arc, Deserialize, Origin, Position, Serialize};

    pub(super) fn serialize<S: Serializer>(origin: &Origin, to: S) -> Result<S::Ok, S::Error> {
        (&*origin.source, origin.position).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Origin, D::Error> {
        let (source, position) = <(String, Position)>::deserialize(from)?;
        Ok(Origin { source: Arc::from(source), position })
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
