//! Log carriers: what stands around a line that a program wrote, on its way from the program to a file.
//!
//! In: an object or a line. Out: what the carrier says of it (time, labels, trace) and what it carries, which is looked at
//! anew. A closed list of carriers, tried in order; each is told by keys of its own. Joins nothing, and never says what the
//! line is about.

mod beats;
mod cloud_logging;
mod cloudwatch;
mod cri;
mod docker;
mod fluent;
mod labels;
mod loki;
mod shipper;
mod timed;
mod vector;

use serde_json::{Map, Value};

use super::frame::Said;
use super::scanner::Container;
pub(super) use cri::read as cri;
pub(super) use timed::read as line;

/// One thing that a carrier carries.
#[derive(Debug, Default)]
pub(super) struct Wrapped {
    /// What the carrier says of it.
    pub(super) said: Said,
    /// The thing.
    pub(super) payload: Payload,
}

/// What is carried.
#[derive(Debug)]
pub(super) enum Payload {
    /// Text as it was written, or a piece of it.
    Text(String, GoesOn),
    /// A value that the carrier's writer took apart.
    Value(Value),
}

impl Default for Payload {
    fn default() -> Self {
        Self::Text(String::new(), GoesOn::No)
    }
}

/// Whether a text goes on in the next of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoesOn {
    /// It is whole.
    No,
    /// It lacks a line end, which some writers leave out.
    Perhaps,
    /// It is said to go on.
    Yes,
}

/// A carrier that is an object.
struct Carrier {
    /// Its name in the account of what was recognised.
    name: &'static str,
    is: fn(&Map<String, Value>) -> bool,
    open: fn(Map<String, Value>) -> Vec<Wrapped>,
}

/// The closed list, those with the surest marks first.
const CARRIERS: [Carrier; 11] = [
    Carrier { name: "docker-json-file", is: docker::is, open: docker::open },
    Carrier { name: "cloud-logging", is: cloud_logging::is_list, open: cloud_logging::open_list },
    Carrier { name: "cloud-logging", is: cloud_logging::is, open: cloud_logging::open },
    Carrier { name: "cloudwatch", is: cloudwatch::is_document, open: cloudwatch::open_document },
    Carrier { name: "cloudwatch", is: cloudwatch::is_single, open: cloudwatch::open_single },
    Carrier { name: "loki", is: loki::is_document, open: loki::open_document },
    Carrier { name: "loki", is: loki::is_line, open: loki::open_line },
    Carrier { name: "elasticsearch", is: beats::is_hits, open: beats::open_hits },
    Carrier { name: "filebeat", is: beats::is, open: beats::open },
    Carrier { name: "vector", is: vector::is, open: vector::open },
    Carrier { name: "fluent", is: fluent::is, open: fluent::open },
];

/// Opens an object if it is a carrier: its name, and what it carries; else gives it back.
pub(super) fn object(map: Map<String, Value>) -> Result<(&'static str, Vec<Wrapped>), Map<String, Value>> {
    match CARRIERS.iter().find(|carrier| (carrier.is)(&map)) {
        Some(carrier) => Ok((carrier.name, (carrier.open)(map))),
        None => Err(map),
    }
}

/// Whether an element is what a list of this kind holds. The keys on the way to a list are words that others use as well.
pub(super) fn is_element(list: Container, element: &Value) -> bool {
    match list {
        Container::LogEvents => cloudwatch::is_event(element),
        Container::InsightsRows => cloudwatch::is_row(element),
        Container::Hits => element.as_object().is_some_and(beats::is_hit),
        Container::LogEntries => element.as_object().is_some_and(cloud_logging::is),
        Container::LokiStreams => loki::is_stream(element),
        Container::LokiValues => loki::is_value(element),
        _ => false,
    }
}

/// What the document around a list says of its elements, as far as it stands before the list. Read once for all of them.
#[derive(Debug, Default)]
pub(super) enum Head {
    /// Nothing.
    #[default]
    None,
    /// The document.
    Document(Value),
    /// A stream of Loki's.
    Stream(loki::Stream),
}

impl Head {
    /// Of a document, or of an element of one, up to a list.
    pub(super) fn of(list: Container, document: Value) -> Self {
        match list {
            Container::LokiValues => Self::Stream(loki::Stream::of(&document)),
            _ => Self::Document(document),
        }
    }
}

/// Opens an element of a list.
pub(super) fn element(list: Container, element: Value, head: &Head) -> (&'static str, Vec<Wrapped>) {
    match (list, element) {
        (Container::LogEvents, Value::Object(event)) => {
            let around = if let Head::Document(document) = head { document } else { &Value::Null };
            ("cloudwatch", cloudwatch::open_event(event, around))
        }
        (Container::InsightsRows, row) => ("cloudwatch", cloudwatch::open_row(row)),
        (Container::Hits, Value::Object(hit)) => ("elasticsearch", beats::open_hit(hit)),
        (Container::LogEntries, Value::Object(entry)) => ("cloud-logging", cloud_logging::open(entry)),
        (Container::LokiStreams, stream) => ("loki", loki::open_stream(stream)),
        (Container::LokiValues, value) => {
            let opened = match head {
                Head::Stream(stream) => loki::open_value(value, stream),
                _ => loki::open_value(value, &loki::Stream::default()),
            };
            ("loki", opened.into_iter().collect())
        }
        (_, element) => ("", vec![Wrapped { payload: Payload::Value(element), ..Wrapped::default() }]),
    }
}

/// A member as text; empty when it is none.
fn text<'m>(map: &'m Map<String, Value>, name: &str) -> &'m str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Takes a member that is text.
fn take_text(map: &mut Map<String, Value>, name: &str) -> Option<String> {
    if !map.get(name)?.is_string() {
        return None;
    }
    match map.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// A member that is a list.
fn list<'m>(map: &'m Map<String, Value>, name: &str) -> Option<&'m Vec<Value>> {
    map.get(name).and_then(Value::as_array)
}

#[cfg(test)]
mod tests;
