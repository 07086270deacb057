//! A sink for tests: keeps everything.

use std::sync::Arc;

use crate::decode::record::{Exchange, Origin, Position, Record, Reject, Sink};

/// What was delivered.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) records: Vec<Record>,
    pub(crate) rejects: Vec<Reject>,
    pub(crate) formats: Vec<&'static str>,
}

impl Collected {
    pub(crate) fn origin() -> Origin {
        Origin { source: Arc::from("test"), position: Position::Line(1) }
    }

    pub(crate) fn exchanges(&self) -> Vec<&Exchange> {
        fn exchange(record: &Record) -> Option<&Exchange> {
            match record {
                Record::Exchange(exchange) => Some(exchange),
                _ => None,
            }
        }
        self.records.iter().filter_map(exchange).collect()
    }
}

impl Sink for Collected {
    fn record(&mut self, record: Record) {
        self.records.push(record);
    }

    fn reject(&mut self, reject: Reject) {
        self.rejects.push(reject);
    }

    fn recognised(&mut self, _: &Arc<str>, format: &'static str) {
        self.formats.push(format);
    }
}
