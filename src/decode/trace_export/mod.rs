//! Traces as their stores and SDKs write them out, to the spans that OTLP would have carried.
//!
//! In: a JSON object. Out: spans through a [`Sink`], or a refusal with advice. What a carrier loses of a span is said at
//! its reader; nothing is made up for it. Never interprets an attribute, and never joins the spans of a trace.

mod console;
mod jaeger;
mod tags;
mod tempo;
mod value;
mod zipkin;

use std::mem;

use serde_json::{Map, Value};

use super::record::{Origin, Reject, RejectReason, Sink};
use super::scanner::Container;

/// Decodes an object of one of the formats. False, and the object as it was, if it is none.
pub(super) fn decode(map: &mut Map<String, Value>, origin: &Origin, sink: &mut dyn Sink) -> bool {
    let (format, read): (_, Reader) = if jaeger::is_export(map) {
        ("jaeger-json", jaeger::decode)
    } else if console::is_span(map) {
        ("otel-console", console::decode)
    } else if zipkin::is_span(map) {
        ("zipkin-json", zipkin::decode)
    } else if tempo::is_search_result(map) {
        ("tempo-json", tempo::refuse)
    } else {
        return false;
    };
    sink.recognised(&origin.source, format);
    read(mem::take(map), origin, sink);
    true
}

/// Whether a value is an element of one of the formats' lists.
pub(super) fn is_element(list: Container, element: &Value) -> bool {
    list == Container::Traces && element.as_object().is_some_and(jaeger::is_export)
}

pub(super) use console::advice;

/// Reads what was recognised.
type Reader = fn(Map<String, Value>, &Origin, &mut dyn Sink);

/// Notes something unread.
fn reject(sink: &mut dyn Sink, origin: &Origin, reason: RejectReason, detail: &str) {
    sink.reject(Reject { origin: origin.clone(), reason, detail: detail.to_owned() });
}

#[cfg(test)]
mod tests;
