//! What an open normaliser holds, and how often it could not be what the batch is.
//!
//! In: counts. Out: [`Load`], as a service shows it.

/// What is open, and what went wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Spans and log records held.
    pub pieces: usize,
    /// Traces held; a span or record without a trace is its own.
    pub groups: usize,
    /// Calls held that may be A2A or not.
    pub unsure: usize,
    /// Bare requests and streams that something may still come for.
    pub waiting: usize,
    /// Facts told of what is open.
    pub joined: usize,
    /// Pieces that came for a trace that was settled.
    pub late: u64,
    /// Pieces that came again when they were gone.
    pub again: u64,
    /// Answers to bare requests that were read before a restart.
    pub torn: u64,
    /// Calls of addresses that did not turn out to speak A2A.
    pub given_up: u64,
}
