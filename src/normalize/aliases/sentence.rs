//! Sentences of SDK logs and of error texts: what their pieces are.
//!
//! In: nothing. Out: the types. The sentences are in `queries/aliases.toml`.

use regex::Regex;

/// What a log sentence gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are explained in aliases.toml")]
pub enum Gives {
    Card,
    CardFailed,
    PushSent,
    PushFailed,
    PushRejected,
    RequestError,
    TaskFailed,
    VersionMismatch,
    Call,
    HttpCall,
}

/// A sentence of an SDK's log.
#[derive(Debug, Clone)]
pub(super) struct Sentence {
    pub(super) loggers: Vec<String>,
    pub(super) text: Regex,
    pub(super) gives: Gives,
}

/// A sentence found, with its named groups.
#[derive(Debug, Clone)]
pub struct Said<'t> {
    /// What it gives.
    pub gives: Gives,
    pub(super) groups: Vec<(String, &'t str)>,
}

impl<'t> Said<'t> {
    /// A named group.
    pub fn group(&self, name: &str) -> Option<&'t str> {
        self.groups.iter().find(|(n, _)| n == name).map(|(_, text)| *text)
    }
}

/// What an error's text tells beside its class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorText {
    /// Task named.
    pub task_id: String,
    /// Context named.
    pub context_id: String,
    /// JSON-RPC code.
    pub code: Option<i64>,
    /// Name of a gRPC status.
    pub grpc: String,
    /// HTTP status.
    pub status: Option<i64>,
}
