//! Calls to rows: one a call and observer, with the task state that the answer told.
//!
//! In: calls as linked by `trace`. Out: `exchanges`, `task_events`, `cards`. Never invents an id: a call whose spans name
//! no task has none.

use std::collections::HashSet;

use crate::decode::record::Observer;
use crate::normalize::aliases::{Aliases, PathCall};
use crate::normalize::card;
use crate::normalize::place;
use crate::normalize::protocol::operation::{Dialect, Operation};
use crate::normalize::protocol::state;
use crate::tables::{Common, ExchangeColumns, ExchangeRow, Facts};

use super::delivery::Deliveries;
use super::failure::{Circumstances, Failure};
use super::http::Http;
use super::knowledge::Knowledge;
use super::look::push_look;
use super::node::{Node, Side};
use super::row::{call_id, first, service_ref};
use super::sentence::Errors;
use super::state::{End, Judged, push_executor_ends, task_event};
use super::statement::Statement;
use super::trace::Call;
use super::{Around, Context};

/// Adds the rows of all calls; POSTs that are none go to the deliveries.
pub(super) fn facts(
    nodes: &[Node],
    calls: &[Call],
    errors: &mut Errors<'_>,
    deliveries: &mut Deliveries<'_>,
    around: &Around<'_>,
    facts: &mut Facts,
) -> Judged {
    let (context, known) = (around.context, around.known);
    let on_wire: HashSet<(&str, Side)> =
        nodes.iter().filter(|node| node.wire.is_some()).map(|node| (node.seen.service.as_str(), node.side)).collect();
    let views: Vec<Option<View<'_>>> =
        calls.iter().map(|call| View::new(nodes, call, context).map(|view| view.with_log(errors))).collect();
    let (sure, bases) = known_bases(calls, &views);
    let mut ends = Vec::new();
    for (index, view) in views.iter().enumerate() {
        let Some(view) = view else { continue };
        let other = view.counterpart.and_then(|other| views.get(other)?.as_ref());
        if let Some(http) = view.first.http().filter(|http| http.method == "GET" && card::is_card_path(&http.path)) {
            push_look(view.first, http, other.and_then(|other| other.first.http()), facts);
        }
        if view.first.webhook || !view.is_call(other, &bases, known) {
            deliveries.consider(index);
        } else if view.on_wire || view.spoke || view.stands_alone(&on_wire, known) {
            let node = calls.get(index).and_then(|call| call.nodes.first().copied()).unwrap_or_default();
            ends.extend(push_call(node, view, other, context, facts));
            let agent_ref = view.agent_ref(other, context.aliases);
            calls.get(index).into_iter().flat_map(|call| &call.nodes).for_each(|node| {
                deliveries.called(*node, agent_ref.clone());
            });
        }
    }
    push_executor_ends(nodes, &ends, known, facts);
    Judged { bases: sure, ends }
}

/// All that the spans of a call say together.
struct View<'a> {
    first: &'a Node,
    on_wire: bool,
    counterpart: Option<usize>,
    said: Statement,
    /// Attributes of A2A were among them.
    spoke: bool,
    /// Spans of an A2A SDK were among them.
    sdk: bool,
    operation: Option<Operation>,
    binding: &'static str,
    path: Option<PathCall>,
    failure: Option<Failure>,
}

impl<'a> View<'a> {
    fn new(nodes: &'a [Node], call: &Call, context: &Context<'_>) -> Option<Self> {
        let mut members: Vec<&Node> = call.nodes.iter().filter_map(|index| nodes.get(*index)).collect();
        let first = *members.first()?;
        // Outermost first: it says most of the call, and what went wrong inside came out through it.
        members.sort_by_key(|node| (node.seen.at, node.seen.span_id.as_str()));
        let mut said = Statement::default();
        let mut failure: Option<Failure> = None;
        for node in &members {
            if let Some(statement) = &node.statement {
                said.fill(statement);
            }
            let named = node.sdk_error || !node.sdk_operation.is_empty();
            let counts = node.wire.is_some() || node.statement.is_some() || named;
            if let Some(told) = node.failure.as_deref().filter(|_| counts) {
                failure.get_or_insert_default().fill(told);
            }
        }
        let around = call.around.iter().filter_map(|index| nodes.get(*index));
        let by_name = members.iter().copied().chain(around).find(|node| !node.sdk_operation.is_empty());
        let path = first.http().and_then(|http| http.path_call(context.aliases));
        let operation = said
            .operation()
            .or_else(|| Operation::from_name(&by_name?.sdk_operation))
            .or_else(|| Operation::from_name(&first.http()?.grpc_method))
            .or_else(|| Operation::from_name(&path.as_ref()?.operation));
        Some(Self {
            binding: binding(first, &said, &members, path.is_some()),
            spoke: said.is_call() || !said.task_id.is_empty(),
            sdk: members.iter().any(|node| node.sdk),
            first,
            on_wire: call.on_wire,
            counterpart: call.counterpart,
            said,
            operation,
            path,
            failure,
        })
    }

    /// Whether spans of an SDK alone are to be taken for a call: where its service's requests on the wire are seen, those
    /// are the calls, and this is a piece of one whose parents were not exported.
    fn stands_alone(&self, on_wire: &HashSet<(&str, Side)>, known: &Knowledge) -> bool {
        let (service, side) = (self.first.seen.service.as_str(), self.first.side);
        let instrumented = on_wire.contains(&(service, side)) || known.is_on_wire(service, side);
        !instrumented && (self.operation.is_some() || self.first.side == Side::Server)
    }

    /// Adds what the server logged of a refusal.
    fn with_log(mut self, errors: &mut Errors<'_>) -> Self {
        if let Some(told) = errors.of_node(self.first) {
            self.failure.get_or_insert_default().fill(&told.failure);
            self.said.fill(&Statement { rpc_id: told.rpc_id, protocol_version: told.version, ..Statement::default() });
        }
        self
    }

    /// Whether its spans tell how the call ended, were it well: errors of JSON-RPC and of streams travel as HTTP 200, and
    /// a2a-python's spans of streams end before the stream begins.
    fn looked(&self) -> bool {
        let streams = self.operation.is_some_and(Operation::streams);
        let grpc = self.first.http().is_some_and(Http::is_grpc);
        self.spoke || grpc || ((self.sdk || self.path.is_some()) && !streams)
    }

    /// How the call failed: as this side has it and, on the caller's, as the server explains it.
    fn failure_of_call(&self, other: Option<&Self>) -> Option<Failure> {
        let mut failure = self.failure.clone();
        let http = self.first.http();
        let status = http.and_then(|http| http.status);
        // The answer was good, and what an SDK made of it is its own affair.
        let is_own_affair = self.path.is_some() && status.is_some_and(|status| status < 400);
        if is_own_affair && !self.spoke && self.first.side == Side::Client {
            failure = failure.filter(|failure| failure.timed_out);
        }
        let told = other.filter(|other| self.first.side == Side::Client && other.first.side == Side::Server);
        let gave_up = failure.as_ref().is_some_and(|failure| failure.timed_out);
        if let Some(explained) = told.and_then(|other| other.failure.as_ref()).filter(|_| !gave_up) {
            failure.get_or_insert_default().fill(explained);
        }
        failure
    }

    /// Whether this is an A2A call by its own evidence.
    fn is_call_by_itself(&self) -> bool {
        let http = self.first.http();
        // A captured A2A-Version header; watchers of cards and keys send it as well.
        let versioned = !self.said.protocol_version.is_empty() && http.is_some_and(|http| http.method == "POST");
        let by_path = self.path.as_ref().is_some_and(|path| !path.plain);
        let evident = self.said.is_call()
            || versioned
            || self.first.call_path
            || self.sdk
            || by_path
            || http.is_some_and(Http::is_grpc);
        evident && !self.is_get_of_card()
    }

    /// Whether it is one, with what is known of its other side and of other calls.
    fn is_call(&self, other: Option<&Self>, bases: &HashSet<String>, known: &Knowledge) -> bool {
        let known = |base: &str| bases.contains(base) || known.is_base(base);
        self.is_call_by_itself()
            || other.is_some_and(Self::is_call_by_itself)
            || self.path.as_ref().is_some_and(|path| known(&path_base(self.first, path)))
    }

    fn is_get_of_card(&self) -> bool {
        self.first.http().is_some_and(|http| card::is_card_path(&http.path) && !card::is_extended_card_path(&http.path))
    }

    fn observer(&self) -> Observer {
        self.said.observer.unwrap_or(match self.first.side {
            Side::Client => Observer::Client,
            Side::Server | Side::Inside => Observer::Server,
            Side::Gateway => Observer::Gateway,
        })
    }

    /// The agent called. It is known by where its callers reach it; a server knows only where it listens.
    fn agent_ref(&self, other: Option<&Self>, aliases: &Aliases) -> String {
        let node = self.first;
        let url = |view: &Self| view.first.http().map(|http| http.interface(aliases)).unwrap_or_default();
        let reached = || other.map(url).unwrap_or_default();
        let host = if place::is_authority(&node.server) { format!("//{}", node.server) } else { String::new() };
        let name =
            if self.said.agent_name.is_empty() { String::new() } else { format!("name:{}", self.said.agent_name) };
        let said = self.said.agent_url.clone();
        match node.side {
            Side::Client => first([url(self), said, host, name]),
            Side::Server => first([reached(), url(self), said, name, host, service_ref(&node.seen.service)]),
            Side::Gateway | Side::Inside => first([reached(), said, url(self), host, name]),
        }
    }

    fn common(&self, other: Option<&Self>, aliases: &Aliases) -> Common {
        let node = self.first;
        let caller = match node.side {
            Side::Client => node.seen.service.clone(),
            _ => node.http().map(|http| http.client_address.clone()).unwrap_or_default(),
        };
        let mut common = node.seen.of_span(self.observer());
        common.call_id = call_id(match node.side {
            Side::Client if self.on_wire || self.spoke => &node.seen.span_id,
            Side::Client => "",
            _ => &node.parent,
        });
        common.agent_ref = self.agent_ref(other, aliases);
        common.client_ref = first([self.said.client.clone(), caller]);
        common.tenant.clone_from(&self.said.tenant);
        common.principal.clone_from(&self.said.principal);
        if !self.said.observer_name.is_empty() {
            common.observer_name.clone_from(&self.said.observer_name);
        }
        common
    }
}

/// How the call travelled, by whoever says it.
fn binding(first: &Node, said: &Statement, members: &[&Node], rest_path: bool) -> &'static str {
    let by_name = members.iter().map(|node| node.sdk_binding.as_str()).find(|word| !word.is_empty());
    match said.binding.as_str() {
        "jsonrpc" => "jsonrpc",
        "http+json" => "http+json",
        "grpc" => "grpc",
        _ if first.http().is_some_and(Http::is_grpc) => "grpc",
        _ if rest_path => "http+json",
        _ => match by_name.unwrap_or_default() {
            "jsonrpc" => "jsonrpc",
            "http+json" => "http+json",
            "grpc" => "grpc",
            _ => "",
        },
    }
}

/// Interfaces under which calls happened that nothing else is like.
fn known_bases(calls: &[Call], views: &[Option<View<'_>>]) -> (Vec<(usize, String)>, HashSet<String>) {
    let of_view = |(call, view): (&Call, &Option<View<'_>>)| {
        let view = view.as_ref().filter(|view| view.is_call_by_itself())?;
        Some((*call.nodes.first()?, path_base(view.first, view.path.as_ref()?)))
    };
    let sure: Vec<(usize, String)> = calls.iter().zip(views).filter_map(of_view).collect();
    let bases = sure.iter().map(|(_, base)| base.clone()).collect();
    (sure, bases)
}

fn path_base(node: &Node, path: &PathCall) -> String {
    let http = node.http();
    let root = http.and_then(|http| http.url.strip_suffix(http.path.as_str())).unwrap_or_default();
    format!("{root}{}", path.base)
}

fn push_call(
    node: usize,
    view: &View<'_>,
    other: Option<&View<'_>>,
    context: &Context<'_>,
    facts: &mut Facts,
) -> Option<End> {
    let failure = view.failure_of_call(other);
    let common = view.common(other, context.aliases);
    let own = columns(view, other, failure.as_ref());
    let event = task_event(view.first, &view.said, &common, &own);
    facts.push_exchange(ExchangeRow { common, own });
    let event = event?;
    let end = End { node, task_id: event.own.task_id.clone(), state: state::canonical(&event.own.state) };
    facts.push_task_event(event);
    Some(end).filter(|end| state::is_terminal(end.state))
}

fn columns(view: &View<'_>, other: Option<&View<'_>>, failure: Option<&Failure>) -> ExchangeColumns {
    let (said, http) = (&view.said, view.first.http());
    let operation = view.operation.or_else(|| other?.operation);
    let path = view.path.as_ref();
    let status = http.and_then(|http| http.status);
    let told = |pick: fn(&Failure) -> &String| failure.map(pick).cloned().unwrap_or_default();
    let request_task = first([path.map(|path| path.task_id.clone()).unwrap_or_default(), told(|f| &f.task_id)]);
    let failed = failure.is_some() || status.is_some_and(|status| status >= 400);
    let answered = status.is_some() || http.is_none_or(Http::is_grpc);
    let dialect = dialect(view, failure);
    let binding = first([view.binding.to_owned(), other.map(|other| other.binding.to_owned()).unwrap_or_default()]);
    ExchangeColumns {
        ended_at: view.first.ended,
        operation: operation.map(Operation::as_str).unwrap_or_default().to_owned(),
        operation_raw: operation_raw(view),
        // JSON-RPC is what is left: nothing of it is seen on the outside but a POST.
        binding: if binding.is_empty() && http.is_some() { "jsonrpc".to_owned() } else { binding },
        dialect: dialect.map(Dialect::as_str).unwrap_or_default().to_owned(),
        declared_version: said.protocol_version.clone(),
        rpc_id: said.rpc_id.clone(),
        task_id: first([said.task_id.clone(), request_task.clone()]),
        request_task_id: request_task,
        context_id: first([said.context_id.clone(), told(|f| &f.context_id)]),
        message_id: said.message_id.clone(),
        reference_task_ids: said.reference_task_ids.clone(),
        skill_id: said.skill_id.clone(),
        skill_from: if said.skill_id.is_empty() { String::new() } else { "attribute".to_owned() },
        http_status: status,
        error_code: failure.and_then(|failure| failure.code),
        error_reason: failure.map(|failure| failure.canonical_reason(dialect)).unwrap_or_default(),
        error_text_class: told(|f| &f.class),
        outcome: outcome(view, other, failure, dialect).to_owned(),
        reply_kind: reply_kind(said, failed, answered),
        reply_state: if said.state_raw.is_empty() { "" } else { state::canonical(&said.state_raw) }.to_owned(),
        streaming: streaming(said, http, operation, failed),
        stream_events: said.stream_events,
        client_left: (view.first.side == Side::Client).then(|| failure.is_some_and(|failure| failure.timed_out)),
        push_url: said.push_url.clone(),
        push_config_id: first([
            said.push_config_id.clone(),
            path.map(|path| path.config_id.clone()).unwrap_or_default(),
        ]),
        server_address: http.map(|http| http.peer.clone()).unwrap_or_default(),
        ..ExchangeColumns::default()
    }
}

fn operation_raw(view: &View<'_>) -> String {
    let grpc = view.first.http().map(|http| http.grpc_method.clone()).unwrap_or_default();
    let path = view.path.as_ref().and(view.first.http()).map(|http| format!("{} {}", http.method, http.path));
    first([view.said.operation_raw.clone(), grpc, path.unwrap_or_default()])
}

/// The vocabulary of the call. A path that begins with `/v1` may be of 0.3, or of a 1.0 interface that was put there.
fn dialect(view: &View<'_>, failure: Option<&Failure>) -> Option<Dialect> {
    let grpc = view.first.http().map(|http| http.grpc_method.as_str()).unwrap_or_default();
    let of_path = view.path.as_ref().and_then(|path| match path.dialect.as_str() {
        "" if path.base.ends_with("/v1") => None,
        "" => Some(Dialect::V10),
        _ => Some(Dialect::V03),
    });
    view.said.dialect(failure.is_some_and(Failure::refused_form)).or(match grpc {
        grpc if grpc.starts_with("lf.a2a.v1.") => Some(Dialect::V10),
        grpc if grpc.starts_with("a2a.v1.") => Some(Dialect::V03),
        _ => of_path,
    })
}

/// How the call ended; nothing where nobody looked inside.
fn outcome(
    view: &View<'_>,
    other: Option<&View<'_>>,
    failure: Option<&Failure>,
    dialect: Option<Dialect>,
) -> &'static str {
    let status = view.first.http().and_then(|http| http.status);
    let refused = status.is_some_and(|status| status >= 400);
    if failure.is_some() || refused {
        let call = Circumstances {
            status,
            method: &view.said.operation_raw,
            operation: view.operation.or_else(|| other?.operation),
            dialect,
        };
        let told = failure.unwrap_or(&Failure::default()).outcome(&call);
        // A span that failed without saying how, around an answer that was good, says nothing of the call.
        if refused || !told.is_empty() {
            return told;
        }
    }
    if view.looked() || other.is_some_and(View::looked) { "ok" } else { "" }
}

fn reply_kind(said: &Statement, failed: bool, answered: bool) -> String {
    match said.state_raw.as_str() {
        _ if failed && answered => "error",
        _ if failed => "none",
        "" => "",
        _ => "task",
    }
    .to_owned()
}

fn streaming(said: &Statement, http: Option<&Http>, operation: Option<Operation>, failed: bool) -> Option<bool> {
    let told = said.streaming.or_else(|| http.and_then(|http| http.event_stream));
    told.or_else(|| operation.map(|operation| operation.streams() && !failed))
}
