//! How a call failed, from whatever a span or log record says about it.
//!
//! In: error attributes, exceptions, texts. Out: a [`Failure`] and the outcome it makes. Keeps no text: texts are
//! classified, and known sentences give ids.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::decode::record::{Attributes, Span};
use crate::normalize::aliases::{Aliases, Carrier, Key};
use crate::normalize::protocol::error::{Refused, WireError, grpc_status_of_word};
use crate::normalize::protocol::operation::{Dialect, Operation};
use crate::normalize::protocol::outcome::Refusal;

use super::Context;
use super::row::first;

/// What is known of a failure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Failure {
    /// JSON-RPC code.
    pub(super) code: Option<i64>,
    /// Reason as in ErrorInfo; empty when unknown.
    pub(super) reason: String,
    /// Class of the text; empty without one.
    pub(super) class: String,
    /// Task that the text names.
    pub(super) task_id: String,
    /// Context that the text names.
    pub(super) context_id: String,
    /// gRPC status name; empty for other bindings.
    pub(super) grpc: String,
    /// HTTP status that the text names.
    pub(super) status: Option<i64>,
    /// The caller gave up waiting.
    pub(super) timed_out: bool,
    /// It failed, and nothing may say how.
    pub(super) failed: bool,
}

impl Failure {
    /// A failure of which nothing but itself is known.
    pub(super) fn unexplained() -> Self {
        Self { failed: true, ..Self::default() }
    }

    /// What a span says; none if it says nothing of a failure.
    pub(super) fn of_span(span: &Span, carrier: &Carrier<'_>, context: &Context<'_>) -> Option<Self> {
        let mut failure = Self::of_attributes(carrier, context).unwrap_or_default();
        let exceptions = span.events.iter().filter(|event| event.name == "exception").map(|event| &event.attributes);
        let exceptions: Vec<&Attributes> = exceptions.collect();
        for exception in exceptions.iter().filter(|attributes| !is_quiet(attributes, context.aliases)) {
            failure.add_exception(exception, carrier, context);
        }
        // The description of a status that an exception made repeats it behind the name of its type.
        if span.is_error && exceptions.is_empty() {
            failure.add_text(&span.status_message, context);
        }
        (failure != Self::default()).then_some(failure)
    }

    /// What attributes say by themselves.
    pub(super) fn of_attributes(carrier: &Carrier<'_>, context: &Context<'_>) -> Option<Self> {
        let aliases = context.aliases;
        let code = aliases.find(Key::ErrorCode, carrier, |value| {
            let code = value.as_i64().or_else(|| value.as_str()?.parse().ok())?;
            is_rpc_code(code).then_some(code)
        });
        let reason = aliases.find(Key::ErrorReason, carrier, |value| reason_word(value.as_str()?, aliases));
        let error_type = carrier.attributes.text("error.type").unwrap_or_default();
        let mut failure = Self {
            code,
            reason: reason.unwrap_or_default(),
            grpc: aliases.text(Key::GrpcStatus, carrier).map(|word| grpc_name(&word)).unwrap_or_default(),
            timed_out: is_timeout(&error_type),
            ..Self::default()
        };
        failure.add_text(&aliases.text(Key::ErrorText, carrier).unwrap_or_default(), context);
        // a2a-java writes the message into error.type.
        if error_type.contains(' ') {
            failure.add_text(&error_type, context);
        }
        (failure != Self::default()).then_some(failure)
    }

    fn add_exception(&mut self, exception: &Attributes, around: &Carrier<'_>, context: &Context<'_>) {
        let carrier = Carrier { attributes: exception, body: None, ..*around };
        let kind = exception.text("exception.type").unwrap_or_default();
        if self.reason.is_empty() {
            self.reason = context.aliases.reason(&kind).unwrap_or_default().to_owned();
        }
        self.timed_out |= is_timeout(&kind);
        self.add_text(&context.aliases.text(Key::ErrorText, &carrier).unwrap_or_default(), context);
        if self.class.is_empty() && self.timed_out {
            "timeout".clone_into(&mut self.class);
        }
        // An exception without a text is still one.
        self.failed = true;
    }

    /// Takes what a text tells: its class, the ids and codes in known sentences.
    pub(super) fn add_text(&mut self, text: &str, context: &Context<'_>) {
        // Gateways write the bare code where others write a text.
        if text.trim().is_empty() || text.trim().parse::<i64>().is_ok() {
            return;
        }
        // The innermost text comes first and says most; what wraps it adds only what it left open.
        if self.class.is_empty() || self.class == "other" {
            self.class = context.patterns.class(text).to_owned();
        }
        let told = context.aliases.error_text(text);
        for (mine, theirs) in
            [(&mut self.task_id, told.task_id), (&mut self.context_id, told.context_id), (&mut self.grpc, told.grpc)]
        {
            if mine.is_empty() {
                *mine = theirs;
            }
        }
        self.code = self.code.or(told.code.filter(|code| is_rpc_code(*code)));
        self.status = self.status.or(told.status);
    }

    /// Takes what another record about the same call knows and this one does not.
    pub(super) fn fill(&mut self, other: &Self) {
        self.code = self.code.or(other.code);
        self.status = self.status.or(other.status);
        self.timed_out |= other.timed_out;
        self.failed |= other.failed;
        if self.class.is_empty() || (self.class == "other" && !other.class.is_empty()) {
            self.class.clone_from(&other.class);
        }
        for (mine, theirs) in [
            (&mut self.reason, &other.reason),
            (&mut self.task_id, &other.task_id),
            (&mut self.context_id, &other.context_id),
            (&mut self.grpc, &other.grpc),
        ] {
            if mine.is_empty() {
                mine.clone_from(theirs);
            }
        }
    }

    /// Whether the agent did not know the method, or the message's shape.
    pub(super) fn refused_form(&self) -> bool {
        matches!(self.code, Some(-32601 | -32600))
    }
}

/// Codes of JSON-RPC 2.0 and of A2A. HTTP statuses stand under the same names.
fn is_rpc_code(code: i64) -> bool {
    (-32768..=-32000).contains(&code)
}

/// A reason by the name of an exception, or as ErrorInfo writes it.
fn reason_word(word: &str, aliases: &Aliases) -> Option<String> {
    let is_reason = word.contains('_') && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    if is_reason && word != "_OTHER" { Some(word.to_owned()) } else { aliases.reason(word).map(str::to_owned) }
}

fn is_quiet(exception: &Attributes, aliases: &Aliases) -> bool {
    exception.text("exception.type").is_some_and(|kind| aliases.is_quiet_exception(&kind))
}

/// `httpx.ReadTimeout`, `A2AClientTimeoutError`, `TimeoutException`.
fn is_timeout(kind: &str) -> bool {
    kind.to_ascii_lowercase().contains("timeout")
}

/// The name of a gRPC status by its number or name; empty for OK.
fn grpc_name(word: &str) -> String {
    match word.parse::<i64>() {
        Ok(0) => String::new(),
        Ok(number) => WireError::of_grpc(number, "", &[]).reason,
        Err(_) => Some(grpc_status_of_word(word)).filter(|name| *name != "OK").unwrap_or_default().to_owned(),
    }
}

/// What a failure is judged by beside itself.
pub(super) struct Circumstances<'a> {
    pub(super) status: Option<i64>,
    /// Method as named; empty for bindings without.
    pub(super) method: &'a str,
    pub(super) operation: Option<Operation>,
    pub(super) dialect: Option<Dialect>,
}

impl Failure {
    /// The canonical reason: as said, else that of the code (as 0.2 and later have it, unless this is 0.1), else the name
    /// of the gRPC status.
    pub(super) fn canonical_reason(&self, dialect: Option<Dialect>) -> String {
        let by_code =
            self.code.map(|code| WireError::of_rpc(&json!({ "code": code }), dialect.or(Some(Dialect::V10))).reason);
        first([self.reason.clone(), by_code.unwrap_or_default(), self.grpc.clone()])
    }

    /// The word for what this failure makes of a call; empty where nothing tells.
    pub(super) fn outcome(&self, call: &Circumstances<'_>) -> &'static str {
        if self.timed_out {
            return "transport";
        }
        let reason = self.canonical_reason(call.dialect);
        let status = call.status.or(self.status).and_then(|status| u16::try_from(status).ok());
        let refused_by_status = status.is_some_and(|status| status >= 400);
        if !refused_by_status && self.code.is_none() && reason.is_empty() && self.class.is_empty() {
            return "";
        }
        // Without its text it may be one for a task that has ended, which says nothing of what the agent can do.
        if reason == "UNSUPPORTED_OPERATION" && self.class.is_empty() {
            return "invalid";
        }
        let unknown_method = self.code == Some(-32601) || reason == "METHOD_NOT_FOUND";
        let refused = if unknown_method { Refused::Method(Vec::new()) } else { Refused::Nothing };
        // Someone knew a reason or a code, so what refused the call speaks A2A.
        let readable = !reason.is_empty() || self.code.is_some();
        // An exception's name tells the code that the server answers.
        let code = self.code.or((reason == "INTERNAL_ERROR").then_some(-32603));
        let error = WireError { code, reason, text: String::new(), is_a2a: readable, refused };
        Refusal {
            error: &error,
            class: &self.class,
            http_status: status,
            method: call.method,
            operation: call.operation,
            readable,
        }
        .outcome()
    }
}
