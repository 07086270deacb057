//! The way of a body from the socket to whoever reads it, and of the answer back: the same for all protocols.
//!
//! In: a body as a stream. Out: an answer, or a refusal. Limits on size, time and memory are held here; never decodes.

use std::sync::Arc;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use chrono::Utc;
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::budget::{Budget, Held};
use super::counters::{ListenCounters, Route};
use super::delivery::{Answer, Delivery, Encoding};
use super::media::Compression;
use super::refusal::{Reason, Refusal};
use super::settings::ListenSettings;
use super::unpack::Unpacker;
use crate::instant::Instant;
use crate::token::Token;

/// What all requests share.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) settings: ListenSettings,
    pub(super) counters: Arc<ListenCounters>,
    pub(super) token: Option<Token>,
    queue: mpsc::Sender<Delivery>,
    pub(super) budget: Arc<Budget>,
    unpacker: Unpacker,
}

/// What came in with an answer.
#[derive(Debug)]
pub(super) struct Taken {
    /// Items taken.
    pub(super) accepted: u64,
    /// Items that cannot be taken.
    pub(super) rejected: u64,
    /// What the sender should know.
    pub(super) message: String,
}

/// A body in memory.
pub(super) struct Whole {
    bytes: Bytes,
    held: Held,
}

impl Whole {
    /// Another view of the same memory.
    pub(super) fn map(self, view: impl FnOnce(Bytes) -> Result<Bytes, Refusal>) -> Result<Self, Refusal> {
        Ok(Self { bytes: view(self.bytes)?, held: self.held })
    }
}

/// Who sends what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender<'a> {
    /// The route taken.
    pub(super) route: Route,
    /// What the body is written in.
    pub(super) encoding: Encoding,
    /// Address of the sender.
    pub(super) peer: &'a str,
}

impl Gate {
    /// A gate that delivers to `queue`.
    pub(super) fn new(mut settings: ListenSettings, queue: mpsc::Sender<Delivery>) -> Self {
        let token = settings.bearer_token.take().map(|token| Token::new(&token));
        // A largest body is in memory twice while it is inflated. A budget below would refuse it for ever.
        let least = settings.max_wire_bytes.saturating_add(settings.max_inflated_bytes);
        let budget = Budget::new(settings.max_in_flight_bytes.max(least));
        let unpacker = Unpacker::new(settings.max_inflated_bytes);
        Self { token, queue, budget, unpacker, counters: Arc::default(), settings }
    }

    /// Reads a body to its end. One that says beforehand that it is too large is not read at all.
    pub(super) async fn read(&self, body: &mut Body, limit: usize) -> Result<Whole, Refusal> {
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(Refusal::new(Reason::TooLarge));
        }
        if !self.budget.has_room(announced) {
            return Err(self.passing(Reason::NoMemory));
        }
        match timeout(self.settings.body_timeout, self.collect(body, limit)).await {
            Ok(whole) => whole,
            Err(_) => Err(Refusal::new(Reason::BodyTimeout)),
        }
    }

    async fn collect(&self, body: &mut Body, limit: usize) -> Result<Whole, Refusal> {
        let mut held = self.budget.open();
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Refusal::new(Reason::BodyBroken))?.into_data() else { continue };
            if first.len() + all.len() + data.len() > limit {
                return Err(Refusal::new(Reason::TooLarge));
            }
            if !held.grow(data.len()) {
                return Err(self.passing(Reason::NoMemory));
            }
            // Most bodies come in one piece, and need no copy.
            if first.is_empty() && all.is_empty() {
                first = data;
            } else {
                all.extend_from_slice(&std::mem::take(&mut first));
                all.extend_from_slice(&data);
            }
        }
        let bytes = if all.is_empty() { first } else { all.freeze() };
        Ok(Whole { bytes, held })
    }

    /// Inflates a body, delivers it and waits for the answer.
    pub(super) async fn deliver(
        &self,
        body: Whole,
        compression: Compression,
        sender: Sender<'_>,
    ) -> Result<Taken, Refusal> {
        let counters = self.counters.route(sender.route);
        let wire_bytes = body.bytes.len() as u64;
        let unpacked = self.unpacker.unpack(body.bytes, body.held, self.budget.open(), compression).await;
        let (body, held) = unpacked.map_err(|refusal| match refusal.reason {
            reason if reason.is_passing() => self.passing(reason),
            _ => refusal,
        })?;
        counters.wire_bytes.add(wire_bytes);
        counters.inflated_bytes.add(body.len() as u64);
        let taken = self.answer(body, sender).await?;
        drop(held);
        counters.accepted.add(1);
        counters.rejected_items.add(taken.rejected);
        Ok(taken)
    }

    async fn answer(&self, body: Bytes, sender: Sender<'_>) -> Result<Taken, Refusal> {
        let (answer, answered) = oneshot::channel();
        let delivery = Delivery {
            receiver: sender.route.receiver,
            signal: sender.route.signal,
            encoding: sender.encoding,
            body,
            peer: sender.peer.to_owned(),
            received_at: Instant(Utc::now().timestamp_nanos_opt().unwrap_or_default()),
            answer,
        };
        self.queue.try_send(delivery).map_err(|error| {
            let is_full = matches!(error, mpsc::error::TrySendError::Full(_));
            self.passing(if is_full { Reason::QueueFull } else { Reason::Closing })
        })?;
        match timeout(self.settings.answer_timeout, answered).await {
            Err(_) => Err(self.passing(Reason::NoAnswer)),
            Ok(Err(_)) => Err(self.passing(Reason::Closing)),
            Ok(Ok(Answer::Malformed { message })) => Err(Refusal::saying(Reason::Malformed, message)),
            Ok(Ok(Answer::Overloaded { retry_after })) => {
                Err(Refusal::new(Reason::Overloaded).retry_after(retry_after))
            }
            Ok(Ok(Answer::Accepted { accepted, rejected, message })) => Ok(Taken { accepted, rejected, message }),
        }
    }

    /// A refusal that says when to come again. Exporters give up after some tries: where nobody was answered for long, they
    /// are not to use them up at once.
    fn passing(&self, reason: Reason) -> Refusal {
        let ListenSettings { retry_after, answer_timeout, .. } = self.settings;
        let wait = if matches!(reason, Reason::NoAnswer) { retry_after.max(answer_timeout) } else { retry_after };
        Refusal::new(reason).retry_after(wait)
    }
}
