//! Sentences of SDK logs, and what is kept of them until it is known which call they are about.
//!
//! In: a log's text. Out: [`Notes`], and rows for those that no span or exchange explains. Keeps no text.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::decode::record::{Headers, Observer};
use crate::instant::Instant;
use crate::normalize::card::{self, CardLook};
use crate::tables::{ExchangeColumns, ExchangeRow, Facts};

use super::Around;
use super::delivery::Note;
use super::failure::{Circumstances, Failure};
use super::node::{Node, Side};
use super::row::{Seen, call_id, service_ref};
use super::said::Calls;
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
    pub(super) resolved: Vec<ResolvedNote>,
}

/// A call that a server refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ErrorNote {
    pub(super) seen: Seen,
    #[serde(default)]
    pub(super) rpc_id: String,
    /// `A2A-Version` of the request, if it was refused for that.
    #[serde(default)]
    pub(super) version: String,
    pub(super) failure: Failure,
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CallNote {
    pub(super) seen: Seen,
    /// The agent's url, where a client names it.
    #[serde(default)]
    pub(super) url: String,
    pub(super) statement: Statement,
    pub(super) failure: Option<Failure>,
}

/// A call that an HTTP client logged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HttpNote {
    pub(super) seen: Seen,
    #[serde(default)]
    pub(super) method: String,
    #[serde(default)]
    pub(super) url: String,
    pub(super) status: Option<i64>,
}

/// A card that a resolver logged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ResolvedNote {
    pub(super) seen: Seen,
    #[serde(default)]
    pub(super) url: String,
}

impl ResolvedNote {
    fn key(&self) -> (&str, &str, Instant) {
        (&self.seen.service, &self.url, self.seen.at)
    }
}

impl Notes {
    /// Orders the notes and drops what was delivered twice.
    pub(super) fn make_set(&mut self) {
        for notes in [&mut self.deliveries, &mut self.receipts] {
            notes.sort_by(|a, b| (a.order(), a.place()).cmp(&(b.order(), b.place())));
            notes.dedup_by(|a, b| a.order() == b.order());
        }
        self.errors.sort_by(|a, b| {
            (a.seen.order(), &a.rpc_id, a.seen.place()).cmp(&(b.seen.order(), &b.rpc_id, b.seen.place()))
        });
        self.errors.dedup_by(|a, b| (a.seen.order(), &a.rpc_id) == (b.seen.order(), &b.rpc_id));
        self.http
            .sort_by(|a, b| (a.seen.order(), &a.url, a.seen.place()).cmp(&(b.seen.order(), &b.url, b.seen.place())));
        self.http.dedup_by(|a, b| (a.seen.order(), &a.url) == (b.seen.order(), &b.url));
        self.resolved.sort_by(|a, b| a.key().cmp(&b.key()));
        self.resolved.dedup_by(|a, b| a.key() == b.key());
    }

    /// Urls of webhooks that notes name.
    pub(super) fn hook_urls(&self) -> impl Iterator<Item = &String> {
        self.deliveries.iter().chain(&self.receipts).map(|note| &note.url).filter(|url| !url.is_empty())
    }
}

/// What servers logged of failed calls, by trace and service, in the order of time.
pub(super) struct Errors<'a> {
    notes: &'a [ErrorNote],
    by_trace: HashMap<(&'a str, &'a str), Vec<usize>>,
    /// Those that are about a call that spans show.
    used: HashSet<usize>,
}

impl<'a> Errors<'a> {
    pub(super) fn of(notes: &'a Notes) -> Self {
        let notes = notes.errors.as_slice();
        let mut by_trace: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
        for (index, error) in notes.iter().enumerate().filter(|(_, error)| !error.seen.trace_id.is_empty()) {
            by_trace.entry((&error.seen.trace_id, &error.seen.service)).or_default().push(index);
        }
        Self { notes, by_trace, used: HashSet::new() }
    }

    /// What the server logged of a failed call, if this is its side of it.
    pub(super) fn of_node(&mut self, node: &Node) -> Option<ErrorNote> {
        if node.side != Side::Server {
            return None;
        }
        let errors = self.by_trace.get(&(node.seen.trace_id.as_str(), node.seen.service.as_str()))?;
        let start = errors.partition_point(|i| self.notes.get(*i).is_some_and(|e| e.seen.at < node.seen.at));
        let mut found: Option<ErrorNote> = None;
        for index in errors.get(start..).unwrap_or_default().iter().take(MAX_NEIGHBOURS) {
            let Some(error) = self.notes.get(*index) else { continue };
            if error.seen.at.0 > node.end().0.saturating_add(SLACK_NANOS) {
                break;
            }
            self.used.insert(*index);
            match &mut found {
                Some(found) => found.fill(error),
                None => found = Some(error.clone()),
            }
        }
        found
    }

    /// Those that are about no call that spans show.
    fn unexplained(&self) -> impl Iterator<Item = &'a ErrorNote> {
        self.notes.iter().enumerate().filter(|(index, _)| !self.used.contains(index)).map(|(_, error)| error)
    }
}

/// Calls that an HTTP client logged, by service, span and url, in the order of time.
pub(super) struct HttpLines<'a>(HashMap<(&'a str, &'a str, &'a str), Vec<&'a HttpNote>>);

impl<'a> HttpLines<'a> {
    pub(super) fn of(notes: &'a Notes) -> Self {
        let mut lines: HashMap<(&str, &str, &str), Vec<&HttpNote>> = HashMap::new();
        for line in notes.http.iter().filter(|line| line.method == "POST") {
            lines.entry((&line.seen.service, &line.seen.span_id, &line.url)).or_default().push(line);
        }
        Self(lines)
    }

    /// Status that the HTTP client logged just before a note about the same request.
    pub(super) fn status_before(&self, note: &Note) -> Option<i64> {
        let lines = self.0.get(&(note.seen.service.as_str(), note.seen.span_id.as_str(), note.url.as_str()))?;
        let end = lines.partition_point(|line| line.seen.at <= note.seen.at);
        let last = lines.get(..end)?.last()?;
        let is_close = note.seen.at.0.saturating_sub(last.seen.at.0) <= CLOSE_NANOS;
        if is_close { last.status } else { None }
    }
}

/// Adds rows for what no span explained.
pub(super) fn facts(nodes: &[Node], notes: &Notes, errors: &Errors<'_>, around: &Around<'_>, facts: &mut Facts) {
    let no_calls = facts.exchanges.is_empty() && around.open.exchanges.is_empty() && !around.known.has_calls();
    if no_calls {
        mentioned_calls(notes, facts);
    }
    unexplained_errors(errors, around, facts);
    card_lines(nodes, notes, facts);
}

/// Calls that an SDK's log mentions in passing. That is the least there is to know, so it counts only where nothing else
/// tells of calls.
fn mentioned_calls(notes: &Notes, facts: &mut Facts) {
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
fn unexplained_errors(errors: &Errors<'_>, around: &Around<'_>, facts: &mut Facts) {
    let mut calls: Vec<ErrorNote> = Vec::new();
    // The last call of each trace and service.
    let mut last: HashMap<(&str, &str), usize> = HashMap::new();
    for error in errors.unexplained() {
        let key = (error.seen.trace_id.as_str(), error.seen.service.as_str());
        let index = last.get(&key).copied().filter(|_| !error.seen.trace_id.is_empty());
        let same = index
            .and_then(|index| calls.get_mut(index))
            .filter(|call| error.seen.at.0.saturating_sub(call.seen.at.0) <= CLOSE_NANOS);
        match same {
            Some(call) => call.fill(error),
            None => {
                last.insert(key, calls.len());
                calls.push(error.clone());
            }
        }
    }
    let told = Calls::of(around.said, facts);
    let rows: Vec<ExchangeRow> =
        calls.iter().map(|call| refused_call(call, told.caller(&call.seen.trace_id))).collect();
    rows.into_iter().for_each(|row| facts.push_exchange(row));
}

fn refused_call(call: &ErrorNote, caller: Option<&str>) -> ExchangeRow {
    let mut common = call.seen.of_record(Observer::Server);
    common.call_id = caller.map(call_id).unwrap_or_default();
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
    for note in &notes.resolved {
        lines.explain(&note.seen.service, &note.url, note.seen.at, |line| &mut line.by_sentence);
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
