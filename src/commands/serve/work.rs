//! What there is to take in, from the listeners and the followed files.
//!
//! In: deliveries, pieces of files. Out: the same in one queue, each with a place for its answer. Reads no body.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::instant::Instant;
use crate::receive::listen::{Answer, Delivery};
use crate::receive::{Grown, Incomplete};
use crate::telemetry;

/// Something to take in.
pub(super) enum Work {
    /// The body of a request.
    Request(Box<Delivery>),
    /// What was added to a followed file; the answer is what of it is not complete. Without one it was not taken in.
    Grown(Arc<Grown>, oneshot::Sender<Option<Incomplete>>),
}

impl Work {
    /// Bytes of its body.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Request(delivery) => delivery.body.len(),
            Self::Grown(grown, _) => grown.bytes.len(),
        }
    }

    /// Whether nobody waits for the answer any more.
    pub(super) fn is_given_up(&self) -> bool {
        match self {
            Self::Request(delivery) => delivery.answer.is_closed(),
            Self::Grown(_, taken) => taken.is_closed(),
        }
    }

    /// When it arrived; what was written to a file, when it was read.
    pub(super) fn arrived(&self, now: Instant) -> Instant {
        match self {
            Self::Request(delivery) => delivery.received_at.min(now),
            Self::Grown(..) => now,
        }
    }

    /// Whether it is telemetry of this program, which came home: a span about it would come home again.
    pub(super) fn is_own(&self) -> bool {
        match self {
            Self::Request(delivery) => {
                memchr::memmem::find(&delivery.body, telemetry::instance_id().as_bytes()).is_some()
            }
            Self::Grown(..) => false,
        }
    }

    /// Answers; a sender that went away has no use for it.
    pub(super) fn answer(self, incomplete: Option<Incomplete>, answer: &Answer) {
        match self {
            Self::Request(delivery) => _ = delivery.answer.send(answer.clone()),
            // A piece that cannot be read will not be better the next time.
            Self::Grown(_, taken) if matches!(answer, Answer::Overloaded { .. }) => drop(taken),
            Self::Grown(_, taken) => _ = taken.send(incomplete),
        }
    }
}
