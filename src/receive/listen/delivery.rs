//! What the listeners hand over, and what they want to hear about it.
//!
//! In: nothing. Out: plain types. A [`Delivery`] is the body of one request, inflated and otherwise untouched; its
//! sender waits until it is answered.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::instant::Instant;

/// Which of the listeners' protocols a request came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Receiver {
    /// OTLP/gRPC.
    OtlpGrpc,
    /// OTLP/HTTP.
    OtlpHttp,
    /// Exchange lines or HAR over HTTP.
    Exchanges,
}

impl Receiver {
    /// The word, as used in metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OtlpGrpc => "otlp-grpc",
            Self::OtlpHttp => "otlp-http",
            Self::Exchanges => "exchanges",
        }
    }
}

/// What a request is about: its path says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Log records.
    Logs,
    /// Metrics, which nobody here takes: to be refused as data, not as a request.
    Metrics,
    /// HTTP exchanges.
    Exchanges,
}

impl Signal {
    /// The word, as used in metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
            Self::Exchanges => "exchanges",
        }
    }
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// The protobuf message of the signal's `Export` request.
    Protobuf,
    /// One JSON value.
    Json,
    /// Text: lines of JSON, or JSON after all.
    Text,
}

/// The body of one request, for whoever makes sense of it. Its answer is the acknowledgement: it is to be given once
/// the content is safe. Dropping it unanswered tells the sender to come again.
#[derive(Debug)]
pub struct Delivery {
    /// The protocol it came by.
    pub receiver: Receiver,
    /// What its path says it is about.
    pub signal: Signal,
    /// What its content type says it is written in.
    pub encoding: Encoding,
    /// Inflated, and not longer than the limit.
    pub body: Bytes,
    /// Address and port of the sender.
    pub peer: String,
    /// When the last byte had come, by the clock of this machine.
    pub received_at: Instant,
    /// Takes the answer. Whether the sender is still there for it does not matter.
    pub answer: oneshot::Sender<Answer>,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What could be read is safe.
    Accepted {
        /// Items taken: spans, log records or exchanges.
        accepted: u64,
        /// Items that cannot be taken, now or ever. The sender must not send them again.
        rejected: u64,
        /// In English, for the sender's operator: why items were rejected, or a warning if none was. Empty when there
        /// is nothing to say.
        message: String,
    },
    /// Nothing of it can be read, ever.
    Malformed {
        /// In English, without content of the body: what is wrong with it.
        message: String,
    },
    /// Nothing of it was kept, and the same body can be taken later.
    Overloaded {
        /// How long the sender should wait.
        retry_after: Duration,
    },
}
