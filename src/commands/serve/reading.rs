//! Bodies to records, by what their request or file says they are.
//!
//! In: work. Out: its records and rejects, or that it is malformed as a whole; of lines that are read once more, those that
//! are new. Keeps nothing.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use super::complaints::Rejected;
use super::work::Work;
use crate::commands::setup::{key_map, limits};
use crate::config::{Config, ObserverBySource};
use crate::decode::key_map::KeyMap;
use crate::decode::record::{Origin, Position, Record, Reject, Sink};
use crate::decode::request::{Malformed, Received, decode_request};
use crate::decode::{self, Limits};
use crate::receive::{Grown, Incomplete};

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
    /// The file, or the receiver.
    pub(super) source: Arc<str>,
    /// What was not understood, by reason.
    pub(super) rejects: BTreeMap<&'static str, Rejected>,
    /// What the sender should hear.
    pub(super) outcome: Result<Received, Malformed>,
    /// What of a followed file's lines is not complete.
    pub(super) incomplete: Option<Incomplete>,
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
        let mut incomplete = None;
        let (source, outcome): (Arc<str>, _) = match work {
            Work::Request(delivery) => {
                let source = Arc::from(delivery.receiver.as_str());
                let what = (delivery.signal, delivery.encoding);
                let outcome = decode_request(what, &delivery.body, &source, &self.limits, &self.keys, &mut buffer);
                (source, outcome)
            }
            Work::Grown(grown, _) => {
                let source = Arc::from(grown.path.to_string_lossy());
                incomplete = self.lines(grown, &source, &mut buffer);
                (source, Ok(Received::default()))
            }
        };
        let Buffer { mut records, mut rejects, placed, .. } = buffer;
        placed.into_iter().flatten().for_each(|(_, reason, rejected)| add(&mut rejects, reason, rejected));
        if outcome.is_err() {
            records.clear();
        }
        let fits = |tap: &&ObserverBySource| glob::Pattern::new(&tap.source).is_ok_and(|glob| glob.matches(&source));
        if let Some(tap) = self.observers.iter().find(fits) {
            records.iter_mut().for_each(|record| tap.mark(record));
        }
        Decoded { source, records, rejects, outcome, incomplete }
    }

    /// Reads lines of a followed file: what was not read of them before, and what of them is not complete.
    fn lines(&self, grown: &Grown, source: &Arc<str>, buffer: &mut Buffer) -> Option<Incomplete> {
        (buffer.lines_before, buffer.placed) = (grown.lines_before, Some(Vec::new()));
        let reader = Box::new(grown.bytes.as_slice());
        let from = decode::decode_so_far(source, reader, &self.limits, &self.keys, grown.waits_from, buffer);
        if from.is_none() && grown.known.is_empty() {
            return None;
        }
        let first = from.map(|line| grown.lines_before + line);
        let mut known = HashSet::new();
        let mut is_new = |line: u64, hash: u64| {
            if first.is_some_and(|first| line >= first) {
                known.insert(hash);
            }
            !grown.known.contains(&hash)
        };
        buffer.records.retain(|record| is_new(line_of(origin(record)), hash_of(record)));
        buffer
            .placed
            .iter_mut()
            .for_each(|placed| placed.retain(|reject| is_new(reject.0, hash_of(&(reject.0, reject.1)))));
        from.map(|from| Incomplete { from, known })
    }
}

/// A number by which something is known again, as long as the program runs.
fn hash_of(what: &impl fmt::Debug) -> u64 {
    struct Written(DefaultHasher);
    impl fmt::Write for Written {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut written = Written(DefaultHasher::new());
    // Hashing does not fail.
    _ = fmt::Write::write_fmt(&mut written, format_args!("{what:?}"));
    written.0.finish()
}

fn origin(record: &Record) -> &Origin {
    match record {
        Record::Exchange(exchange) => &exchange.origin,
        Record::Span(span) => &span.origin,
        Record::Log(log) => &log.origin,
        Record::Document(document) => &document.origin,
    }
}

/// Adds what was rejected to what was before, whose place stays.
fn add(rejects: &mut BTreeMap<&'static str, Rejected>, reason: &'static str, rejected: Rejected) {
    let pieces = rejected.pieces;
    rejects.entry(reason).and_modify(|first| first.pieces += pieces).or_insert(rejected);
}

/// The line of a place; what is told by its byte is in the first.
fn line_of(origin: &Origin) -> u64 {
    if let Position::Line(line) = origin.position { line } else { 1 }
}

/// Keeps what is read until it is clear that all of it counts.
#[derive(Default)]
struct Buffer {
    records: Vec<Record>,
    rejects: BTreeMap<&'static str, Rejected>,
    /// Line and reason of those of lines that may be read once more.
    placed: Option<Vec<(u64, &'static str, Rejected)>>,
    /// Lines of the file before these bytes.
    lines_before: u64,
}

impl Buffer {
    /// The place in the file of a place in the bytes.
    fn move_down(&self, origin: &mut Origin) {
        match &mut origin.position {
            Position::Line(line) => *line += self.lines_before,
            // Told by its byte in the first line.
            place if self.lines_before > 0 => *place = Position::Line(self.lines_before + 1),
            _ => {}
        }
    }
}

impl Sink for Buffer {
    fn record(&mut self, mut record: Record) {
        self.move_down(match &mut record {
            Record::Exchange(exchange) => &mut exchange.origin,
            Record::Span(span) => &mut span.origin,
            Record::Log(log) => &mut log.origin,
            Record::Document(document) => &mut document.origin,
        });
        self.records.push(record);
    }

    fn reject(&mut self, Reject { mut origin, reason, detail }: Reject) {
        self.move_down(&mut origin);
        let rejected = Rejected { pieces: 1, position: origin.position.to_string(), detail };
        match &mut self.placed {
            Some(placed) => placed.push((line_of(&origin), reason.as_str(), rejected)),
            None => add(&mut self.rejects, reason.as_str(), rejected),
        }
    }

    fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;
    use crate::receive::Follower;

    fn call(id: u64) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"kind":"task"}}}}"#)
    }

    fn cri(stream: &str, tag: &str, text: &str) -> String {
        format!("2026-11-30T06:15:34Z {stream} {tag} {text}\n")
    }

    #[test]
    fn lines_that_are_read_once_more_yield_and_count_only_what_is_new() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut follower = Follower::new(vec![file.path().to_owned()], vec![], 1 << 20, Duration::from_secs(3600));
        let reading = Reading { limits: Limits::default(), keys: KeyMap::built_in().clone(), observers: Vec::new() };
        let bad = cri("stderr", "F", "{\"a\" 1}");
        let lines = [
            cri("stderr", "F", &call(1)) + &cri("stdout", "P", &call(2)[..9]) + &bad + &cri("stderr", "F", &call(3)),
            cri("stderr", "F", &call(4)) + &bad,
            cri("stdout", "F", &call(2)[9..]) + &cri("stderr", "F", &call(5)),
        ];
        let mut read = Vec::new();
        for text in lines {
            file.as_file().write_all(text.as_bytes()).unwrap();
            let grown = Arc::new(follower.poll().remove(0));
            let (answer, _) = oneshot::channel();
            let decoded = reading.decode(&Work::Grown(Arc::clone(&grown), answer));
            let ids = decoded.records.iter().map(|record| match record {
                Record::Document(document) => (line_of(&document.origin), document.value["id"].as_u64().unwrap()),
                other => panic!("{other:?}"),
            });
            read.push((ids.collect::<Vec<_>>(), decoded.rejects.values().map(|rejected| rejected.pieces).sum::<u64>()));
            follower.done(&grown, decoded.incomplete);
        }
        assert_eq!(read, [(vec![(1, 1), (4, 3)], 1), (vec![(5, 4)], 1), (vec![(2, 2), (8, 5)], 0)]);
        assert!(follower.poll().is_empty());
    }
}
