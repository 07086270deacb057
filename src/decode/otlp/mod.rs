//! OTLP requests, as JSON or protobuf, to span and log records.
//!
//! In: a JSON value or the bytes of a file. Out: [`Record`]s and [`Reject`]s through a [`Sink`]. The two encodings meet
//! in `assemble`, so that one request gives equal records in either. Metrics are recognised and left alone. Never
//! interprets an attribute; the one event name known here is `a2a.exchange`, whose body is another carrier.

pub mod json;
pub mod proto;

pub(in crate::decode) mod assemble;
mod budget;
pub(in crate::decode) mod lenient;
mod survey;
mod wire;

pub(in crate::decode) use survey::survey;
pub(in crate::decode) use wire::Signal;

use super::carried;
use super::record::{LogRecord, Origin, Record, Reject, RejectReason, Sink};

/// The event whose body is an exchange line (rules.md, Our own event names).
pub(in crate::decode) const EXCHANGE_EVENT: &str = "a2a.exchange";

/// Delivers a log record, or the exchange that it carries. Trace, span and time of the carrier stand in where the
/// exchange names none.
pub(in crate::decode) fn deliver_log(log: LogRecord, sink: &mut dyn Sink) {
    if log.event_name != EXCHANGE_EVENT {
        sink.record(Record::Log(Box::new(log)));
        return;
    }
    let Some(mut exchange) = carried::exchange(log.body, &log.origin, sink) else {
        reject(sink, &log.origin, RejectReason::UnknownShape, "the body of an a2a.exchange event is no exchange");
        return;
    };
    if exchange.trace_id.is_empty() {
        exchange.trace_id = log.trace_id;
        exchange.span_id = log.span_id;
    }
    exchange.started_at = exchange.started_at.or(log.at);
    sink.record(Record::Exchange(Box::new(exchange)));
}

/// Notes something unread.
fn reject(sink: &mut dyn Sink, origin: &Origin, reason: RejectReason, detail: impl Into<String>) {
    sink.reject(Reject { origin: origin.clone(), reason, detail: detail.into() });
}

#[cfg(test)]
mod tests;
