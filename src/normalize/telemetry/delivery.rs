//! Deliveries to webhooks, from spans that hold no body and from log sentences.
//!
//! In: POSTs that are no A2A call, and [`Note`]s. Out: `push_deliveries`, one row a delivery and observer. The request on
//! the wire, the sender's log sentence and the receiver's span are one delivery; the sentence gives the task. Never takes
//! an agent's other POSTs, to models and tools, for deliveries.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::decode::record::{Observer, Position};
use crate::instant::Instant;
use crate::normalize::aliases::Aliases;
use crate::tables::{Facts, PushDeliveryColumns, PushDeliveryRow};

use super::Around;
use super::hook::{HookUrls, Hooks, is_same_hook};
use super::http::Http;
use super::knowledge::{Knowledge, hook_urls};
use super::node::{Node, Side};
use super::row::{Seen, call_id, service_ref};
use super::said::Calls;
use super::sentence::{CLOSE_NANOS, HttpLines, MAX_NEIGHBOURS, Notes, SLACK_NANOS};
use super::taped::Taped;
use super::trace::Call;

/// Steps up a trace to the call that a delivery belongs to.
const MAX_STEPS: usize = 32;

/// What a log record says of a delivery. Empty texts are unknown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) seen: Seen,
    pub(super) observer: Observer,
    #[serde(default)]
    pub(super) task_id: String,
    #[serde(default)]
    pub(super) url: String,
    #[serde(default)]
    pub(super) config_id: String,
    pub(super) status: Option<i64>,
    pub(super) failed: bool,
    #[serde(default)]
    pub(super) scheme: String,
    #[serde(default)]
    pub(super) kid: String,
    #[serde(default)]
    pub(super) signature: String,
    #[serde(default)]
    pub(super) state: String,
    #[serde(default)]
    pub(super) agent_ref: String,
}

impl Note {
    /// What orders notes and tells them apart.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (self.seen.order(), &self.url, &self.task_id, self.status, self.failed)
    }

    /// What orders those that are not told apart.
    pub(super) fn place(&self) -> (&str, Position) {
        self.seen.place()
    }
}

/// What tells deliveries from other POSTs.
pub(super) struct Deliveries<'a> {
    nodes: &'a [Node],
    by_id: HashMap<(&'a str, &'a str), usize>,
    /// Services that answer A2A calls.
    agents: HashSet<&'a str>,
    /// Traces in which one does.
    traces: HashSet<&'a str>,
    /// Calls that are no A2A calls.
    considered: Vec<usize>,
    /// Nodes of A2A calls -> the agent called.
    called: HashMap<usize, String>,
    aliases: &'a Aliases,
    known: &'a Knowledge,
}

/// A delivery that a span shows.
struct Shown {
    node: usize,
    /// The span by which all observers know it.
    call_id: String,
    url: String,
    note: Option<usize>,
}

impl<'a> Deliveries<'a> {
    pub(super) fn new(nodes: &'a [Node], around: &Around<'a>) -> Self {
        let answering = || nodes.iter().filter(|node| node.answers());
        Self {
            nodes,
            by_id: nodes
                .iter()
                .enumerate()
                .map(|(i, node)| ((node.seen.trace_id.as_str(), node.seen.span_id.as_str()), i))
                .collect(),
            agents: answering().map(|node| node.seen.service.as_str()).collect(),
            traces: answering().map(|node| node.seen.trace_id.as_str()).collect(),
            considered: Vec::new(),
            called: HashMap::new(),
            aliases: around.context.aliases,
            known: around.known,
        }
    }

    /// Takes note of a call that is no A2A call.
    pub(super) fn consider(&mut self, call: usize) {
        self.considered.push(call);
    }

    /// Takes note of the agent that a call's span is about.
    pub(super) fn called(&mut self, node: usize, agent_ref: String) {
        self.called.insert(node, agent_ref);
    }

    /// Adds the rows.
    pub(super) fn facts(&self, calls: &[Call], notes: &Notes, around: &Around<'_>, facts: &mut Facts) {
        let mut open = HookUrls::default();
        notes.hook_urls().chain(hook_urls(facts)).chain(hook_urls(around.open)).for_each(|url| open.add(url));
        let hooks = Hooks::of(self.known.hooks(), &open);
        let (senders, receivers) = self.shown(calls, &hooks);
        let (senders, rest) = self.match_notes(senders, &notes.deliveries);
        let (receivers, more) = self.match_receipts(receivers, &notes.receipts);
        let tasks = Calls::of(around.said, facts);
        let lines = HttpLines::of(notes);
        let by_call: HashMap<&str, &Shown> = senders.iter().map(|shown| (shown.call_id.as_str(), shown)).collect();
        let mut taped = Taped::new(around.said);
        let mut rows = Vec::new();
        for shown in &senders {
            let note = shown.note.and_then(|index| notes.deliveries.get(index));
            rows.extend(self.row(shown, note, None, &tasks));
        }
        for shown in &receivers {
            let sent = by_call.get(shown.call_id.as_str()).and_then(|sent| notes.deliveries.get(sent.note?));
            let receipt = shown.note.and_then(|index| notes.receipts.get(index));
            rows.extend(self.row(shown, receipt, sent, &tasks));
        }
        for note in rest.iter().filter_map(|i| notes.deliveries.get(*i)) {
            rows.push(note_row(note, lines.status_before(note), taped.call_of(note), &hooks));
        }
        for note in more.iter().filter_map(|i| notes.receipts.get(*i)) {
            // A receipt without an url is only a remark on a delivery seen elsewhere.
            if !note.url.is_empty() {
                rows.push(note_row(note, None, taped.call_of(note), &hooks));
            }
        }
        for row in rows {
            facts.push_push_delivery(row);
        }
    }

    /// Deliveries as senders and as receivers see them, each in the order of time.
    fn shown(&self, calls: &[Call], hooks: &Hooks<'_>) -> (Vec<Shown>, Vec<Shown>) {
        let posts = self.considered.iter().filter_map(|call| {
            let node = *calls.get(*call)?.nodes.first()?;
            let http = self.nodes.get(node)?.http()?;
            (http.method == "POST").then_some((node, http))
        });
        let posts: Vec<(usize, &Http)> = posts.collect();
        let mut senders = Vec::new();
        for (index, http) in &posts {
            let Some(node) = self.nodes.get(*index).filter(|node| node.side == Side::Client) else { continue };
            if self.is_sent(*index, node, http, hooks) {
                let url = hooks.full(&http.url);
                senders.push(Shown { node: *index, call_id: call_id(&node.seen.span_id), url, note: None });
            }
        }
        let sent: HashMap<String, String> =
            senders.iter().map(|shown| (shown.call_id.clone(), shown.url.clone())).collect();
        let mut receivers = Vec::new();
        for (index, http) in &posts {
            // A gateway before the receiver sees what it sees.
            let Some(node) = self.nodes.get(*index).filter(|node| matches!(node.side, Side::Server | Side::Gateway))
            else {
                continue;
            };
            let call_id = call_id(&node.parent);
            let url = sent.get(&call_id);
            let told = node.webhook || http.token.is_some() || hooks.knows(&http.url);
            let looks = self.traces.contains(node.seen.trace_id.as_str()) && self.aliases.is_webhook_path(&http.path);
            if url.is_some() || told || looks {
                // The receiver knows itself by the address it listens on; the sender's url is that of the push config.
                let url = url.cloned().unwrap_or_else(|| hooks.full(&http.url));
                receivers.push(Shown { node: *index, call_id, url, note: None });
            }
        }
        let by_end = |a: &Shown, b: &Shown| self.end(a.node).cmp(&self.end(b.node));
        senders.sort_by(by_end);
        receivers.sort_by(by_end);
        (senders, receivers)
    }

    fn is_sent(&self, index: usize, node: &Node, http: &Http, hooks: &Hooks<'_>) -> bool {
        let service = node.seen.service.as_str();
        hooks.knows(&http.url)
            || ((self.agents.contains(service) || self.known.is_agent(service))
                && (self.above(index).any(|above| self.nodes.get(above).is_some_and(|node| node.delivers))
                    || self.aliases.is_webhook_path(&http.path)))
    }

    fn end(&self, node: usize) -> Instant {
        self.nodes.get(node).map(Node::end).unwrap_or_default()
    }

    /// Spans of the same service above a span, innermost first.
    fn above(&self, index: usize) -> impl Iterator<Item = usize> {
        let service = self.nodes.get(index).map(|node| node.seen.service.as_str());
        let up = |index: &usize| {
            let node = self.nodes.get(*index)?;
            self.by_id.get(&(node.seen.trace_id.as_str(), node.parent.as_str())).copied()
        };
        std::iter::successors(up(&index), up)
            .take(MAX_STEPS)
            .take_while(move |index| self.nodes.get(*index).map(|node| node.seen.service.as_str()) == service)
    }

    /// Gives each sentence to the request that it is about: of the same service, made by the span that wrote the
    /// sentence, to the same url, ended last before. What is left over has no span.
    fn match_notes(&self, mut senders: Vec<Shown>, notes: &[Note]) -> (Vec<Shown>, Vec<usize>) {
        let mut buckets: HashMap<(&str, &str, &str), Vec<usize>> = HashMap::new();
        for (position, shown) in senders.iter().enumerate() {
            let Some(node) = self.nodes.get(shown.node) else { continue };
            let (service, trace) = (node.seen.service.as_str(), node.seen.trace_id.as_str());
            buckets.entry((service, trace, node.parent.as_str())).or_default().push(position);
            // Console logs have no trace.
            buckets.entry((service, "", "")).or_default().push(position);
        }
        let mut rest = Vec::new();
        for (index, note) in notes.iter().enumerate() {
            let key = (note.seen.service.as_str(), note.seen.trace_id.as_str(), note.seen.span_id.as_str());
            let bucket = buckets.get(&key).map(Vec::as_slice).unwrap_or_default();
            let limit = note.seen.at.0.saturating_add(SLACK_NANOS);
            let ended = |position: &usize| senders.get(*position).map_or(i64::MAX, |shown| self.end(shown.node).0);
            let end = bucket.partition_point(|position| ended(position) <= limit);
            let before = bucket.get(..end).unwrap_or_default().iter().rev().take(MAX_NEIGHBOURS);
            let found = before
                .take_while(|position| limit.saturating_sub(ended(position)) <= CLOSE_NANOS + SLACK_NANOS)
                .find(|position| {
                    senders.get(**position).is_some_and(|s| s.note.is_none() && is_same_hook(&s.url, &note.url))
                })
                .copied();
            match found.and_then(|position| senders.get_mut(position)) {
                Some(shown) => shown.note = Some(index),
                None => rest.push(index),
            }
        }
        (senders, rest)
    }

    /// Gives each receiver's remark to the request in whose span it was written.
    fn match_receipts(&self, mut receivers: Vec<Shown>, notes: &[Note]) -> (Vec<Shown>, Vec<usize>) {
        let spans: HashMap<(String, String), usize> = receivers
            .iter()
            .enumerate()
            .filter_map(|(position, shown)| {
                let seen = &self.nodes.get(shown.node)?.seen;
                Some(((seen.trace_id.clone(), seen.span_id.clone()), position))
            })
            .collect();
        let mut rest = Vec::new();
        for (index, note) in notes.iter().enumerate() {
            let key = (note.seen.trace_id.clone(), note.seen.span_id.clone());
            match spans.get(&key).and_then(|position| receivers.get_mut(*position)) {
                Some(shown) if !note.seen.span_id.is_empty() => shown.note = Some(index),
                _ => rest.push(index),
            }
        }
        (receivers, rest)
    }

    fn row(
        &self,
        shown: &Shown,
        note: Option<&Note>,
        sent: Option<&Note>,
        tasks: &Calls<'_>,
    ) -> Option<PushDeliveryRow> {
        let node = self.nodes.get(shown.node)?;
        let http = node.http()?;
        let observer = if node.side == Side::Client { Observer::Server } else { Observer::Receiver };
        let mut common = node.seen.of_span(observer);
        common.call_id.clone_from(&shown.call_id);
        let sender = match observer {
            Observer::Server => Some(shown.node),
            _ => self.by_id.get(&(node.seen.trace_id.as_str(), node.parent.as_str())).copied(),
        };
        common.agent_ref = sender.map(|sender| self.agent_of(sender)).unwrap_or_default();
        let told = |pick: fn(&Note) -> &String| {
            [note, sent].into_iter().flatten().map(pick).find(|text| !text.is_empty()).cloned()
        };
        let of_trace = || tasks.task(&node.seen.trace_id).map(str::to_owned);
        let kid = told(|note| &note.kid).unwrap_or_else(|| http.kid.clone());
        Some(PushDeliveryRow {
            common,
            own: PushDeliveryColumns {
                task_id: told(|note| &note.task_id).or_else(of_trace).unwrap_or_default(),
                url: shown.url.clone(),
                config_id: told(|note| &note.config_id).unwrap_or_default(),
                http_status: http.status,
                // A request that ended without an answer.
                failure_class: failure_class(http.status, true).to_owned(),
                scheme: told(|note| &note.scheme).unwrap_or_else(|| http.scheme.clone()),
                kid,
                signature: told(|note| &note.signature).unwrap_or_else(|| "unknown".to_owned()),
                token_present: http.token,
                state: told(|note| &note.state).unwrap_or_default(),
                payload: String::new(),
            },
        })
    }

    /// The agent that sent a delivery: as it was called in the same trace, else by its service's name.
    fn agent_of(&self, sender: usize) -> String {
        self.above(sender).find_map(|above| self.called.get(&above).cloned()).unwrap_or_else(|| {
            service_ref(self.nodes.get(sender).map(|node| node.seen.service.as_str()).unwrap_or_default())
        })
    }
}

/// A delivery that only a log tells of.
fn note_row(note: &Note, status_before: Option<i64>, call: String, hooks: &Hooks<'_>) -> PushDeliveryRow {
    let mut common = note.seen.of_record(note.observer);
    common.call_id = call;
    common.agent_ref = match note.observer {
        _ if !note.agent_ref.is_empty() => note.agent_ref.clone(),
        Observer::Server => service_ref(&note.seen.service),
        _ => String::new(),
    };
    let status = note.status.or(status_before);
    PushDeliveryRow {
        common,
        own: PushDeliveryColumns {
            task_id: note.task_id.clone(),
            url: hooks.full(&note.url),
            config_id: note.config_id.clone(),
            http_status: status,
            failure_class: failure_class(status, note.failed).to_owned(),
            scheme: note.scheme.clone(),
            kid: note.kid.clone(),
            signature: if note.signature.is_empty() { "unknown".to_owned() } else { note.signature.clone() },
            token_present: None,
            state: note.state.clone(),
            payload: String::new(),
        },
    }
}

/// The class of an answer, or of none.
fn failure_class(status: Option<i64>, failed: bool) -> &'static str {
    match status {
        Some(200..=299) => "",
        Some(401 | 403) => "auth",
        Some(500..) => "server-error",
        Some(400..) => "client-error",
        Some(_) => "transport",
        None if failed => "transport",
        None => "",
    }
}
