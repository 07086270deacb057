//! Sentences of SDK logs, and what is kept of them until it is known which call they are about.
//!
//! In: a log's text. Out: [`Notes`], and rows for those that no span or exchange explains. Keeps no text.

use std::collections::HashMap;

use crate::decode::record::{Headers, Observer};
use crate::instant::Instant;
use crate::normalize::card::{self, CardLook};
use crate::tables::{ExchangeColumns, ExchangeRow, Facts};

use super::delivery::Note;
use super::failure::{Circumstances, Failure};
use super::node::{Node, Side};
use super::row::{Seen, call_id, service_ref};
use super::statement::Statement;

/// A log line and the end of its call are this close; exporters and clocks of one process add little.
pub(super) const CLOSE_NANOS: i64 = 1_000_000_000;
/// A log line may stand before the end of the span around it, which is written last.
pub(super) const SLACK_NANOS: i64 = 50_000_000;
/// Neighbours in time that are looked at for the one that a record is about.
pub(super) const MAX_NEIGHBOURS: usize = 64;

/// What sentences told.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Deliveries to webhooks.
    pub(super) deliveries: Vec<Note>,
    /// What receivers of webhooks said of deliveries.
    pub(super) receipts: Vec<Note>,
    /// Calls that a server refused.
    pub(super) errors: Vec<ErrorNote>,
    /// Calls that an SDK mentioned.
    pub(super) calls: Vec<CallNote>,
    /// Calls that an HTTP client logged.
    pub(super) http: Vec<HttpNote>,
    /// Cards that a resolver logged.
    pub(super) resolved: Vec<(String, String, Instant)>,
    errors_by_trace: HashMap<(String, String), Vec<usize>>,
}

/// A call that a server refused.
#[derive(Debug, Clone)]
pub(super) struct ErrorNote {
    pub(super) seen: Seen,
    pub(super) rpc_id: String,
    /// `A2A-Version` of the request, if it was refused for that.
    pub(super) version: String,
    pub(super) failure: Failure,
    pub(super) used: bool,
}

impl ErrorNote {
    /// Takes what another line about the same call knows and this one does not.
    fn fill(&mut self, other: &Self) {
        self.failure.fill(&other.failure);
        for (mine, theirs) in [(&mut self.rpc_id, &other.rpc_id), (&mut self.version, &other.version)] {
            if mine.is_empty() {
                mine.clone_from(theirs);
            }
        }
    }
}

/// A call that an SDK mentioned.
#[derive(Debug, Clone)]
pub(super) struct CallNote {
    pub(super) seen: Seen,
    /// The agent's url, where a client names it.
    pub(super) url: String,
    pub(super) statement: Statement,
    pub(super) failure: Option<Failure>,
}

/// A call that an HTTP client logged.
#[derive(Debug, Clone)]
pub(super) struct HttpNote {
    pub(super) seen: Seen,
    pub(super) method: String,
    pub(super) url: String,
    pub(super) status: Option<i64>,
}

impl Notes {
    /// Orders the notes and drops what was delivered twice.
    pub(super) fn make_set(&mut self) {
        for notes in [&mut self.deliveries, &mut self.receipts] {
            notes.sort_by(|a, b| a.order().cmp(&b.order()));
            notes.dedup_by(|a, b| a.order() == b.order());
        }
        self.errors.sort_by(|a, b| (a.seen.order(), &a.rpc_id).cmp(&(b.seen.order(), &b.rpc_id)));
        self.errors.dedup_by(|a, b| (a.seen.order(), &a.rpc_id) == (b.seen.order(), &b.rpc_id));
        self.http.sort_by(|a, b| (a.seen.order(), &a.url).cmp(&(b.seen.order(), &b.url)));
        self.http.dedup_by(|a, b| (a.seen.order(), &a.url) == (b.seen.order(), &b.url));
        self.resolved.sort();
        self.resolved.dedup();
        for (index, error) in self.errors.iter().enumerate().filter(|(_, error)| !error.seen.trace_id.is_empty()) {
            let key = (error.seen.trace_id.clone(), error.seen.service.clone());
            self.errors_by_trace.entry(key).or_default().push(index);
        }
    }

    /// What the server logged of a failed call, if this is its side of it.
    pub(super) fn errors_of(&mut self, node: &Node) -> Option<ErrorNote> {
        if node.side != Side::Server {
            return None;
        }
        let key = (node.seen.trace_id.clone(), node.seen.service.clone());
        let errors = self.errors_by_trace.get(&key)?;
        let start = errors.partition_point(|i| self.errors.get(*i).is_some_and(|e| e.seen.at < node.seen.at));
        let mut found: Option<ErrorNote> = None;
        for index in errors.get(start..).unwrap_or_default().iter().take(MAX_NEIGHBOURS) {
            let Some(error) = self.errors.get_mut(*index) else { continue };
            if error.seen.at.0 > node.end().0.saturating_add(SLACK_NANOS) {
                break;
            }
            error.used = true;
            match &mut found {
                Some(found) => found.fill(error),
                None => found = Some(error.clone()),
            }
        }
        found
    }

    /// Status that the HTTP client logged just before a note about the same request.
    pub(super) fn status_before(&self, note: &Note) -> Option<i64> {
        let end = self.http.partition_point(|line| line.seen.at <= note.seen.at);
        let before = self.http.get(..end).unwrap_or_default().iter().rev().take(MAX_NEIGHBOURS);
        before
            .take_while(|line| note.seen.at.0.saturating_sub(line.seen.at.0) <= CLOSE_NANOS)
            .find(|line| {
                line.method == "POST"
                    && line.url == note.url
                    && line.seen.span_id == note.seen.span_id
                    && line.seen.service == note.seen.service
            })
            .and_then(|line| line.status)
    }
}

/// Adds rows for what no span explained.
pub(super) fn facts(nodes: &[Node], notes: &Notes, facts: &mut Facts) {
    mentioned_calls(notes, facts);
    unexplained_errors(notes, facts);
    card_lines(nodes, notes, facts);
}

/// Calls that an SDK's log mentions in passing. That is the least there is to know, so it counts only where nothing else
/// tells of calls.
fn mentioned_calls(notes: &Notes, facts: &mut Facts) {
    if !facts.exchanges.is_empty() {
        return;
    }
    for call in &notes.calls {
        let said = &call.statement;
        let Some(operation) = said.operation() else { continue };
        let is_client = !call.url.is_empty();
        let mut common = call.seen.of_record(if is_client { Observer::Client } else { Observer::Server });
        common.agent_ref = if is_client { call.url.clone() } else { service_ref(&call.seen.service) };
        common.client_ref = if is_client { call.seen.service.clone() } else { String::new() };
        let around =
            Circumstances { status: None, method: &said.operation_raw, operation: Some(operation), dialect: None };
        let failure = call.failure.as_ref();
        facts.push_exchange(ExchangeRow {
            common,
            own: ExchangeColumns {
                operation: operation.as_str().to_owned(),
                operation_raw: said.operation_raw.clone(),
                rpc_id: said.rpc_id.clone(),
                request_task_id: said.task_id.clone(),
                task_id: said.task_id.clone(),
                context_id: said.context_id.clone(),
                message_id: said.message_id.clone(),
                error_code: failure.and_then(|failure| failure.code),
                error_reason: failure.map(|failure| failure.canonical_reason(None)).unwrap_or_default(),
                error_text_class: failure.map(|failure| failure.class.clone()).unwrap_or_default(),
                outcome: failure.map(|failure| failure.outcome(&around)).unwrap_or_default().to_owned(),
                streaming: said.streaming,
                ..ExchangeColumns::default()
            },
        });
    }
}

/// Refused calls that only a log tells of: lines of one trace close together are one call.
fn unexplained_errors(notes: &Notes, facts: &mut Facts) {
    let mut calls: Vec<ErrorNote> = Vec::new();
    for error in notes.errors.iter().filter(|error| !error.used) {
        let same = calls.iter_mut().rev().take(MAX_NEIGHBOURS).find(|call| {
            !error.seen.trace_id.is_empty()
                && (&call.seen.trace_id, &call.seen.service) == (&error.seen.trace_id, &error.seen.service)
                && error.seen.at.0.saturating_sub(call.seen.at.0) <= CLOSE_NANOS
        });
        match same {
            Some(call) => call.fill(error),
            None => calls.push(error.clone()),
        }
    }
    let taped = taped_calls(facts);
    for call in &calls {
        let row = refused_call(call, taped.get(call.seen.trace_id.as_str()));
        facts.push_exchange(row);
    }
}

/// Caller's spans of taped calls by trace, where a trace has one.
fn taped_calls(facts: &Facts) -> HashMap<String, Option<String>> {
    let mut spans: HashMap<String, Option<String>> = HashMap::new();
    for common in facts.exchanges.iter().map(|row| &row.common).filter(|common| !common.span_id.is_empty()) {
        let span = spans.entry(common.trace_id.clone()).or_insert_with(|| Some(common.span_id.clone()));
        if span.as_ref().is_some_and(|known| *known != common.span_id) {
            *span = None;
        }
    }
    spans
}

fn refused_call(call: &ErrorNote, caller: Option<&Option<String>>) -> ExchangeRow {
    let mut common = call.seen.of_record(Observer::Server);
    common.call_id = caller.cloned().flatten().map(|span| call_id(&span)).unwrap_or_default();
    common.agent_ref = service_ref(&call.seen.service);
    let failure = &call.failure;
    let around = Circumstances { status: None, method: "", operation: None, dialect: None };
    ExchangeRow {
        common,
        own: ExchangeColumns {
            declared_version: call.version.clone(),
            rpc_id: call.rpc_id.clone(),
            request_task_id: failure.task_id.clone(),
            task_id: failure.task_id.clone(),
            context_id: failure.context_id.clone(),
            error_code: failure.code,
            error_reason: failure.canonical_reason(None),
            error_text_class: failure.class.clone(),
            outcome: failure.outcome(&around).to_owned(),
            reply_kind: "error".to_owned(),
            ..ExchangeColumns::default()
        },
    }
}

/// Looks at cards that only the HTTP client's log tells of: a 304, a failure, a fetch that no resolver logged.
fn card_lines(nodes: &[Node], notes: &Notes, facts: &mut Facts) {
    let mut lines = CardLines::of(notes);
    for (service, url, at) in &notes.resolved {
        lines.explain(service, url, *at, |line| &mut line.by_sentence);
    }
    for node in nodes.iter().filter(|node| node.side == Side::Client) {
        if let Some(http) = node.http().filter(|http| http.method == "GET") {
            lines.explain(&node.seen.service, &http.url, node.end(), |line| &mut line.by_span);
        }
    }
    for line in lines.0.values().flatten().filter(|line| !line.by_span && !line.by_sentence) {
        push_look(line.note, facts);
    }
}

/// Lines about cards by service and url, in the order of time. A line is explained by the span or the resolver's sentence
/// nearest to it; each of these explains one.
struct CardLines<'a>(HashMap<(&'a str, &'a str), Vec<CardLine<'a>>>);

struct CardLine<'a> {
    note: &'a HttpNote,
    by_span: bool,
    by_sentence: bool,
}

impl<'a> CardLines<'a> {
    fn of(notes: &'a Notes) -> Self {
        let mut lines: HashMap<(&str, &str), Vec<CardLine<'_>>> = HashMap::new();
        for note in notes.http.iter().filter(|note| note.method == "GET" && card::is_card_path(&note.url)) {
            let key = (note.seen.service.as_str(), note.url.as_str());
            lines.entry(key).or_default().push(CardLine { note, by_span: false, by_sentence: false });
        }
        Self(lines)
    }

    fn explain(
        &mut self,
        service: &'a str,
        url: &'a str,
        at: Instant,
        mark: impl for<'l> Fn(&'l mut CardLine<'a>) -> &'l mut bool,
    ) {
        let Some(lines) = self.0.get_mut(&(service, url)) else { return };
        let start = lines.partition_point(|line| line.note.seen.at.0 < at.0.saturating_sub(CLOSE_NANOS));
        let distance = |line: &CardLine<'_>| line.note.seen.at.0.saturating_sub(at.0).saturating_abs();
        let near = lines.iter_mut().skip(start).take(MAX_NEIGHBOURS).filter(|line| distance(line) <= CLOSE_NANOS);
        let mut free: Vec<&mut CardLine<'a>> = near.filter_map(|line| (!*mark(line)).then_some(line)).collect();
        if let Some(nearest) = free.iter_mut().min_by_key(|line| distance(line)) {
            *mark(nearest) = true;
        }
    }
}

fn push_look(line: &HttpNote, facts: &mut Facts) {
    let mut common = line.seen.of_record(Observer::Client);
    common.agent_ref.clone_from(&line.url);
    common.client_ref.clone_from(&line.seen.service);
    let look = CardLook {
        common,
        url: &line.url,
        origin: "log",
        http_status: line.status.and_then(|status| u16::try_from(status).ok()),
        headers: &Headers::default(),
        extended: card::is_extended_card_path(&line.url),
        body: None,
        raw: None,
    };
    card::facts(&look, facts);
}
