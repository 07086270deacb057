//! What is kept of a span until its trace is read.
//!
//! In: a [`Span`]. Out: a [`Node`], if the span tells of a call, a task, a card or a delivery. Keeps no text.

use serde::{Deserialize, Serialize};

use crate::decode::record::{Attributes, Observer, Span, SpanKind};
use crate::instant::Instant;
use crate::normalize::aliases::{Carrier, Key};

use super::Context;
use super::failure::Failure;
use super::http::{self, Http};
use super::row::Seen;
use super::statement::Statement;

/// Which end of a call a span stands at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Side {
    /// Makes the call.
    Client,
    /// Answers it.
    Server,
    /// Passes it on.
    Gateway,
    /// Neither: work within a process.
    Inside,
}

/// A span that tells something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Node {
    /// Where it was read, when it began, of which service, trace and span.
    pub(super) seen: Seen,
    #[serde(default)]
    pub(super) parent: String,
    pub(super) ended: Option<Instant>,
    pub(super) side: Side,
    /// The request on the wire, if the span is one.
    pub(super) wire: Option<Box<Http>>,
    /// What its attributes say of a call or task.
    pub(super) statement: Option<Box<Statement>>,
    /// The host and port that it names as the server's.
    #[serde(default)]
    pub(super) server: String,
    /// It is an A2A SDK's own span.
    pub(super) sdk: bool,
    /// The operation that its name stands for.
    #[serde(default)]
    pub(super) sdk_operation: String,
    /// Its failure is that of the call, although its name says no operation.
    pub(super) sdk_error: bool,
    /// The binding that its name stands for.
    #[serde(default)]
    pub(super) sdk_binding: String,
    /// It is a POST to a path that looks like that of A2A calls.
    pub(super) call_path: bool,
    /// POSTs inside are deliveries to webhooks.
    pub(super) delivers: bool,
    /// It is a delivery to a webhook, by a user's word.
    #[serde(default)]
    pub(super) webhook: bool,
    pub(super) failure: Option<Box<Failure>>,
}

impl Node {
    /// Reads a span; none if it tells nothing here, or not when.
    pub(super) fn read(span: &Span, context: &Context<'_>) -> Option<Self> {
        let aliases = context.aliases;
        if aliases.is_dropped(&span.name) {
            return None;
        }
        let at = span.started_at.or(span.ended_at)?;
        let mut carrier = Carrier {
            attributes: &span.attributes,
            body: None,
            resource: &span.resource,
            scope: &span.scope,
            evidence: false,
        };
        carrier.evidence = aliases.is_evidence(&carrier);
        let statement = Statement::read(aliases, &carrier);
        let sdk = aliases.is_sdk_scope(&span.scope);
        let sdk_operation = if sdk { aliases.span_operation(&span.name).unwrap_or_default() } else { "" };
        let side = side(span, statement.as_ref(), sdk_operation);
        let wire = match side {
            Side::Inside => None,
            _ => Http::read(aliases, &carrier, side).filter(|wire| is_ours(wire, &carrier)),
        };
        let delivers = aliases.is_webhook_span(&span.name);
        let tells = wire.is_some() || statement.is_some() || (sdk && side != Side::Inside) || delivers;
        tells.then(|| Self {
            seen: Seen {
                origin: span.origin.clone(),
                at,
                service: service(&span.resource, context),
                trace_id: span.trace_id.clone(),
                span_id: span.span_id.clone(),
            },
            parent: span.parent_span_id.clone(),
            ended: span.ended_at,
            side,
            call_path: wire.as_ref().is_some_and(|wire| wire.method == "POST" && aliases.is_call_path(&wire.path)),
            server: if statement.is_some() { http::server(aliases, &carrier) } else { String::new() },
            wire: wire.map(Box::new),
            statement: statement.map(Box::new),
            sdk,
            sdk_operation: sdk_operation.to_owned(),
            sdk_error: sdk && aliases.is_error_span(&span.name),
            sdk_binding: if sdk { binding_by_name(&span.name) } else { "" }.to_owned(),
            delivers,
            webhook: false,
            failure: failure(span, sdk, &carrier, context).map(Box::new),
        })
    }

    /// A gateway's access log as the span that it might have been; the record's time is the end of the call. `parent`: the
    /// caller's span, if the line tells it.
    pub(super) fn of_access_log(
        seen: Seen,
        parent: String,
        statement: Option<Statement>,
        carrier: &Carrier<'_>,
        context: &Context<'_>,
    ) -> Self {
        let aliases = context.aliases;
        let ended = seen.at;
        let lasted = aliases.find(Key::Duration, carrier, http::duration_nanos).unwrap_or(0);
        let failure = Failure::of_attributes(carrier, context);
        let wire = Http::read(aliases, carrier, Side::Gateway).or_else(|| Http::of_status(aliases, carrier));
        Self {
            // A line without a time stands at the beginning of the count, and nothing began before that.
            seen: Seen { at: Instant::from_nanos(ended.0.saturating_sub(lasted)).unwrap_or(ended), ..seen },
            parent,
            ended: Some(ended),
            side: Side::Gateway,
            server: http::server(aliases, carrier),
            call_path: wire.as_ref().is_some_and(|wire| wire.method == "POST" && aliases.is_call_path(&wire.path)),
            wire: wire.map(Box::new),
            statement: statement.map(Box::new),
            sdk: false,
            sdk_operation: String::new(),
            sdk_error: false,
            sdk_binding: String::new(),
            delivers: false,
            webhook: false,
            failure: failure.map(Box::new),
        }
    }

    /// Order of nodes: by trace, then by time.
    pub(super) fn order(&self) -> (&str, Instant, &str, Side, &str, &str, crate::decode::record::Position) {
        let seen = &self.seen;
        (&seen.trace_id, seen.at, &seen.span_id, self.side, &seen.service, &seen.origin.source, seen.origin.position)
    }

    /// The same span, delivered again. Zipkin's two ends of a call share an id, and are two.
    pub(super) fn is_same_span(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.seen, &other.seen);
        !mine.span_id.is_empty()
            && (&mine.trace_id, &mine.span_id, &mine.service, self.side)
                == (&theirs.trace_id, &theirs.span_id, &theirs.service, other.side)
    }

    /// Whether it answers an A2A call.
    pub(super) fn answers(&self) -> bool {
        let grpc = self.http().is_some_and(Http::is_grpc);
        self.side == Side::Server && (self.sdk || self.statement.is_some() || grpc || self.call_path)
    }

    /// When it ended; its start, if that is not known.
    pub(super) fn end(&self) -> Instant {
        self.ended.unwrap_or(self.seen.at)
    }

    /// The request on the wire, if it is one.
    pub(super) fn http(&self) -> Option<&Http> {
        self.wire.as_deref()
    }
}

/// What went wrong, by what the span says, or by its being there at all.
fn failure(span: &Span, sdk: bool, carrier: &Carrier<'_>, context: &Context<'_>) -> Option<Failure> {
    let told = Failure::of_span(span, carrier, context);
    let by_name = || (sdk && context.aliases.is_error_span(&span.name)).then(Failure::unexplained);
    told.or_else(by_name)
}

/// gRPC spans of other services are none of ours, and cost memory.
fn is_ours(wire: &Http, carrier: &Carrier<'_>) -> bool {
    !wire.is_grpc() || carrier.evidence
}

fn service(resource: &Attributes, context: &Context<'_>) -> String {
    let carrier = Carrier { attributes: resource, body: None, resource, scope: "", evidence: false };
    context.aliases.text(Key::Service, &carrier).unwrap_or_default()
}

/// The end that a span stands at: what it says itself, else its kind.
fn side(span: &Span, statement: Option<&Statement>, sdk_operation: &str) -> Side {
    if statement.is_some_and(|statement| statement.gateway) {
        return Side::Gateway;
    }
    match span.kind {
        SpanKind::Client | SpanKind::Producer => return Side::Client,
        SpanKind::Server | SpanKind::Consumer => return Side::Server,
        SpanKind::Internal | SpanKind::Unspecified => {}
    }
    match statement.filter(|statement| statement.is_call()).map(|statement| statement.observer) {
        Some(Some(Observer::Client)) => Side::Client,
        Some(Some(Observer::Gateway)) => Side::Gateway,
        Some(_) => Side::Server,
        None if sdk_operation.is_empty() => Side::Inside,
        None if span.name.to_ascii_lowercase().contains("client") => Side::Client,
        None => Side::Server,
    }
}

/// Classes of a2a-python are named after the binding that they serve.
fn binding_by_name(name: &str) -> &'static str {
    let name = name.to_ascii_lowercase();
    if name.contains("jsonrpc") {
        "jsonrpc"
    } else if name.contains("grpc") {
        "grpc"
    } else if name.contains(".rest") {
        "http+json"
    } else {
        ""
    }
}
