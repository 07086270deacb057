//! What the framings around a value said of it, and the way from readers to the sink.
//!
//! In: records and rejects as readers deliver them. Out: the same, completed by what the log carriers around them knew:
//! time, labels, trace. Lines that no format claims are counted in runs, so that a log of other programs is one reject and
//! not one a line. Never changes what a record says itself.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::record::{Attributes, Origin, Record, Reject, RejectReason, Sink};
use super::times;
use crate::instant::Instant;

/// Log carriers that may stand around one another.
pub(super) const MOST_NESTED: u8 = 4;

/// What the framings around a value said about it.
#[derive(Debug, Default, Clone)]
pub(super) struct Frame<'a> {
    /// Time of a log prefix or carrier.
    pub(super) at: Option<Instant>,
    /// A carrier gave a time that is none.
    pub(super) has_bad_time: bool,
    /// Name of the server-sent event.
    pub(super) sse_event: &'a str,
    /// Where the carriers say it was written, as resource attributes.
    pub(super) labels: Arc<Attributes>,
    /// 32 lower-case hex digits; empty when no carrier names a trace.
    pub(super) trace_id: String,
    /// 16 lower-case hex digits; empty when no carrier names a span.
    pub(super) span_id: String,
    /// Carriers around it.
    pub(super) depth: u8,
    /// The stream of lines that it belongs to: lines are joined within one only.
    pub(super) stream: u64,
}

/// What one carrier says of what it carries.
#[derive(Debug, Default, Clone)]
pub(super) struct Said {
    /// When it was written.
    pub(super) at: Option<Instant>,
    /// It gave a time that is none.
    pub(super) has_bad_time: bool,
    /// Where it was written, as resource attributes.
    pub(super) labels: Attributes,
    /// 32 lower-case hex digits; empty when unknown.
    pub(super) trace_id: String,
    /// 16 lower-case hex digits; empty when unknown.
    pub(super) span_id: String,
    /// What tells the streams of lines of this carrier apart beside its labels.
    pub(super) stream: String,
}

impl Frame<'_> {
    /// The frame inside of one more carrier. What stands nearer to the value counts.
    pub(super) fn within(&self, said: Said) -> Frame<'static> {
        let mut hasher = DefaultHasher::new();
        (self.stream, self.depth, &said.stream).hash(&mut hasher);
        said.labels.0.iter().for_each(|(name, value)| (name, value.to_string()).hash(&mut hasher));
        let trace = if said.trace_id.is_empty() { &self.trace_id } else { &said.trace_id };
        let span = if said.trace_id.is_empty() { &self.span_id } else { &said.span_id };
        Frame {
            at: said.at.or(self.at),
            has_bad_time: said.has_bad_time || self.has_bad_time,
            sse_event: "",
            trace_id: trace.clone(),
            span_id: span.clone(),
            labels: merged(said.labels, &self.labels),
            depth: self.depth.saturating_add(1),
            stream: hasher.finish(),
        }
    }

    /// The frame without what it borrows, to be kept.
    pub(super) fn kept(&self) -> Frame<'static> {
        self.with_event("")
    }

    /// The frame of the data of a server-sent event.
    pub(super) fn with_event<'e>(&self, sse_event: &'e str) -> Frame<'e> {
        let Frame { at, has_bad_time, labels, trace_id, span_id, depth, stream, .. } = self.clone();
        Frame { at, has_bad_time, sse_event, labels, trace_id, span_id, depth, stream }
    }

    /// Gives a record what it lacks and the carriers know.
    fn complete(&self, record: &mut Record) {
        if self.depth == 0 {
            return;
        }
        match record {
            Record::Exchange(exchange) => {
                if exchange.started_at.is_none() && exchange.ended_at.is_none() {
                    exchange.started_at = self.at;
                }
                if exchange.trace_id.is_empty() {
                    // The span of the carrier is not the caller's.
                    exchange.trace_id.clone_from(&self.trace_id);
                }
            }
            Record::Log(log) => {
                log.at = log.at.or(self.at);
                if log.trace_id.is_empty() {
                    log.trace_id.clone_from(&self.trace_id);
                    log.span_id.clone_from(&self.span_id);
                }
                self.label(&mut log.resource);
            }
            Record::Span(span) => self.label(&mut span.resource),
            Record::Document(document) => document.at = document.at.or(self.at),
        }
    }

    fn label(&self, resource: &mut Arc<Attributes>) {
        if resource.0.is_empty() {
            resource.clone_from(&self.labels);
        }
    }
}

/// Whether it is known when a record was; spans have times of their own.
fn has_time(record: &Record) -> bool {
    match record {
        Record::Exchange(exchange) => exchange.started_at.or(exchange.ended_at).is_some(),
        Record::Log(log) => log.at.is_some(),
        Record::Document(document) => document.at.is_some(),
        Record::Span(_) => true,
    }
}

fn origin(record: &Record) -> &Origin {
    match record {
        Record::Exchange(exchange) => &exchange.origin,
        Record::Log(log) => &log.origin,
        Record::Document(document) => &document.origin,
        Record::Span(span) => &span.origin,
    }
}

/// Labels of an inner carrier, and those of the outer that it does not have.
fn merged(mut inner: Attributes, outer: &Arc<Attributes>) -> Arc<Attributes> {
    if inner.0.is_empty() {
        return outer.clone();
    }
    let more: Vec<_> = outer.0.iter().filter(|(name, _)| inner.get(name).is_none()).cloned().collect();
    inner.0.extend(more);
    Arc::new(inner)
}

/// A run of lines that no format claims: one reject, however long.
struct Unread {
    reason: RejectReason,
    origin: Origin,
    lines: u64,
}

/// The way to the sink.
pub(super) struct Delivery<'a> {
    sink: &'a mut dyn Sink,
    unread: Option<Unread>,
}

impl<'a> Delivery<'a> {
    /// A way to `sink`.
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink, unread: None }
    }

    /// The way for what stands within a frame.
    pub(super) fn within<'f>(&'f mut self, frame: &'f Frame<'f>) -> Framed<'f, 'a> {
        Framed { delivery: self, frame }
    }

    /// Counts a line that no format claims.
    pub(super) fn unread(&mut self, reason: RejectReason, origin: &Origin) {
        match &mut self.unread {
            Some(run) if run.reason == reason => run.lines += 1,
            _ => {
                self.end_unread();
                self.unread = Some(Unread { reason, origin: origin.clone(), lines: 1 });
            }
        }
    }

    /// Ends the run of lines that no format claims.
    pub(super) fn end_unread(&mut self) {
        if let Some(Unread { reason, origin, lines }) = self.unread.take() {
            let what = if reason == RejectReason::Binary { "no text" } else { "text of no format known here" };
            let noun = if lines == 1 { "line" } else { "lines" };
            self.sink.reject(Reject { origin, reason, detail: format!("{lines} {noun}: {what}") });
        }
    }
}

impl Sink for Delivery<'_> {
    fn record(&mut self, record: Record) {
        self.end_unread();
        self.sink.record(record);
    }

    fn reject(&mut self, reject: Reject) {
        self.end_unread();
        self.sink.reject(reject);
    }

    fn recognised(&mut self, source: &Arc<str>, format: &'static str) {
        self.sink.recognised(source, format);
    }
}

/// A [`Delivery`] that completes records by a frame.
pub(super) struct Framed<'f, 'a> {
    delivery: &'f mut Delivery<'a>,
    frame: &'f Frame<'f>,
}

impl Sink for Framed<'_, '_> {
    fn record(&mut self, mut record: Record) {
        self.frame.complete(&mut record);
        if self.frame.has_bad_time && !has_time(&record) {
            times::note_bad("time of a log's line", None, origin(&record), self.delivery);
        }
        self.delivery.record(record);
    }

    fn reject(&mut self, reject: Reject) {
        self.delivery.reject(reject);
    }

    fn recognised(&mut self, source: &Arc<str>, format: &'static str) {
        self.delivery.recognised(source, format);
    }
}
