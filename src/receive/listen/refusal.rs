//! Why a request is refused, and what that is called in HTTP and gRPC.
//!
//! In: a reason. Out: status codes, the English sentence, and a word for metrics. Which refusals a sender may repeat is
//! decided here and nowhere else: HTTP 429, 502, 503 and 504, gRPC UNAVAILABLE and DEADLINE_EXCEEDED.

use std::time::Duration;

use http::StatusCode;
use tonic::Code;

/// A kind of refusal. The words are metric label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The body cannot be read as what it claims to be.
    Malformed,
    /// The body's compression is broken.
    BadCompression,
    /// Larger than a limit, as sent or inflated.
    TooLarge,
    /// A content type that is not taken here.
    UnknownMedia,
    /// A compression that is not known here.
    UnknownEncoding,
    /// Without the token, or with a wrong one.
    Unauthenticated,
    /// Sent by a browser for a page that may not.
    ForeignOrigin,
    /// No such path.
    NotFound,
    /// Another method than POST.
    WrongMethod,
    /// gRPC over HTTP/1.
    WrongProtocol,
    /// The body did not come in time.
    BodyTimeout,
    /// The sender went away within the body.
    BodyBroken,
    /// Too many bytes are in flight.
    NoMemory,
    /// The queue of deliveries is full.
    QueueFull,
    /// Whoever reads deliveries cannot take more.
    Overloaded,
    /// The answer did not come in time.
    NoAnswer,
    /// Nobody reads deliveries any more.
    Closing,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Malformed,
        Self::BadCompression,
        Self::TooLarge,
        Self::UnknownMedia,
        Self::UnknownEncoding,
        Self::Unauthenticated,
        Self::ForeignOrigin,
        Self::NotFound,
        Self::WrongMethod,
        Self::WrongProtocol,
        Self::BodyTimeout,
        Self::BodyBroken,
        Self::NoMemory,
        Self::QueueFull,
        Self::Overloaded,
        Self::NoAnswer,
        Self::Closing,
    ];

    /// The word, as used in metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::BadCompression => "bad-compression",
            Self::TooLarge => "too-large",
            Self::UnknownMedia => "unknown-media",
            Self::UnknownEncoding => "unknown-encoding",
            Self::Unauthenticated => "unauthenticated",
            Self::ForeignOrigin => "foreign-origin",
            Self::NotFound => "not-found",
            Self::WrongMethod => "wrong-method",
            Self::WrongProtocol => "wrong-protocol",
            Self::BodyTimeout => "body-timeout",
            Self::BodyBroken => "body-broken",
            Self::NoMemory => "no-memory",
            Self::QueueFull => "queue-full",
            Self::Overloaded => "overloaded",
            Self::NoAnswer => "no-answer",
            Self::Closing => "closing",
        }
    }

    /// What it is in HTTP.
    pub(super) fn http(self) -> StatusCode {
        match self {
            Self::Malformed | Self::BadCompression | Self::BodyBroken => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnknownMedia | Self::UnknownEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::WrongProtocol => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::NoMemory | Self::QueueFull | Self::Overloaded | Self::NoAnswer | Self::Closing => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// What it is in gRPC.
    pub(super) fn grpc(self) -> Code {
        match self {
            Self::Malformed | Self::BadCompression | Self::UnknownMedia => Code::InvalidArgument,
            // Clients repeat what is out of range, and do not repeat this.
            Self::TooLarge => Code::ResourceExhausted,
            Self::UnknownEncoding | Self::NotFound | Self::WrongMethod | Self::WrongProtocol => Code::Unimplemented,
            Self::Unauthenticated => Code::Unauthenticated,
            Self::ForeignOrigin => Code::PermissionDenied,
            Self::BodyTimeout => Code::DeadlineExceeded,
            Self::BodyBroken => Code::Cancelled,
            Self::NoMemory | Self::QueueFull | Self::Overloaded | Self::NoAnswer | Self::Closing => Code::Unavailable,
        }
    }

    /// Whether the same request can succeed later, so that the sender is told when.
    pub fn is_passing(self) -> bool {
        self.http() == StatusCode::SERVICE_UNAVAILABLE
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Malformed => "the body cannot be read",
            Self::BadCompression => "the body is not compressed as its encoding says",
            Self::TooLarge => "the body is larger than the limit",
            Self::UnknownMedia => {
                "this content type is not taken here: OTLP is application/x-protobuf or application/json, and exchanges are \
                 application/json, application/x-ndjson or application/har+json"
            }
            Self::UnknownEncoding => "this content encoding is not known here: use gzip, zstd, deflate or none",
            Self::Unauthenticated => "a bearer token is required",
            Self::ForeignOrigin => "requests of web pages are not taken from this origin",
            Self::NotFound => "no such path: /v1/traces, /v1/logs, /v1/metrics and /v1/a2a/exchanges are taken here",
            Self::WrongMethod => "only POST is taken here",
            Self::WrongProtocol => "gRPC needs HTTP/2",
            Self::BodyTimeout => "the body did not come in time",
            Self::BodyBroken => "the body ended early",
            Self::NoMemory => "too much is being received at once; come again",
            Self::QueueFull | Self::Overloaded => "too much is waiting to be stored; come again",
            Self::NoAnswer => "storing takes too long; come again",
            Self::Closing => "this receiver is closing; come again",
        }
    }
}

/// A refusal of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Its kind.
    pub(super) reason: Reason,
    /// The sentence for the sender.
    pub(super) message: String,
    /// How long the sender should wait, where that helps.
    pub(super) retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal that time does not mend, in the words of its reason.
    pub(super) fn new(reason: Reason) -> Self {
        Self { reason, message: reason.sentence().to_owned(), retry_after: None }
    }

    /// A refusal in words of its own.
    pub(super) fn saying(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), retry_after: None }
    }

    /// The same refusal with a time to come again.
    pub(super) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Whole seconds to wait, as `Retry-After` has them: at least one, since zero invites a storm.
    pub(super) fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(|wait| wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OTLP 1.11: what clients repeat.
    const RETRYABLE_HTTP: [u16; 4] = [429, 502, 503, 504];
    const RETRYABLE_GRPC: [Code; 6] =
        [Code::Cancelled, Code::DeadlineExceeded, Code::Aborted, Code::OutOfRange, Code::Unavailable, Code::DataLoss];

    #[test]
    fn what_passes_is_retried_and_what_stays_wrong_is_not() {
        // The sender itself ended these two: nothing hangs on what it is told.
        let own_end = [Reason::BodyTimeout, Reason::BodyBroken];
        for reason in Reason::ALL.into_iter().filter(|reason| !own_end.contains(reason)) {
            assert_eq!(RETRYABLE_HTTP.contains(&reason.http().as_u16()), reason.is_passing(), "{reason:?}");
            assert_eq!(RETRYABLE_GRPC.contains(&reason.grpc()), reason.is_passing(), "{reason:?}");
        }
    }

    #[test]
    fn words_of_reasons_are_distinct() {
        let words: std::collections::HashSet<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(words.len(), Reason::ALL.len());
    }

    #[test]
    fn a_wait_is_told_in_whole_seconds_and_never_as_zero() {
        for (millis, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (30_000, 30)] {
            let refusal = Refusal::new(Reason::QueueFull).retry_after(Duration::from_millis(millis));
            assert_eq!(refusal.retry_after_seconds(), Some(seconds));
        }
    }
}
