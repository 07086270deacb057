//! What is stored of records that are open.
//!
//! In: what was kept of a record, and when it arrived. Out: bytes, and back. The id of a piece is a hash of its content, so
//! that the same piece stored twice is one. Holds no secret and no text of a message.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::decode::record::{Origin, Position};
use crate::instant::Instant;
use crate::normalize::document::Waiting;
use crate::normalize::telemetry::{self, Lesson};
use crate::tables::{ExchangeRow, Table};

/// What was kept of one record, or learnt of many.
#[derive(Debug, Clone)]
pub struct Piece {
    id: PieceId,
    arrived: Instant,
    body: Body,
}

/// Hash of what makes a piece itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PieceId(pub [u8; 16]);

/// Why bytes are no piece.
#[derive(Debug, Error)]
#[error("not a piece as this version stores it")]
pub struct PieceError(#[from] serde_json::Error);

#[derive(Serialize, Deserialize)]
struct Stored<B> {
    arrived: Instant,
    body: B,
}

/// What a piece holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Body {
    /// What a span or log record told.
    Telemetry(telemetry::Piece),
    /// A call that may be A2A or not.
    Unsure(Box<ExchangeRow>),
    /// A bare request, or stream, as it stands.
    Waiting(Box<Waiting>),
    /// The last time seen in a source.
    Clock {
        /// Its name.
        source: String,
        /// The time.
        at: Instant,
    },
    /// What a trace taught.
    Lesson(Lesson),
    /// An address that speaks A2A.
    Spoken(String),
}

impl Piece {
    /// A piece that arrived at a time.
    pub(super) fn new(arrived: Instant, mut body: Body) -> Self {
        if let Body::Unsure(row) = &mut body {
            **row = std::mem::take(&mut **row).seal();
        }
        Self { id: body.id(), arrived, body }
    }

    /// What tells it from others.
    pub fn id(&self) -> PieceId {
        self.id
    }

    /// When it arrived.
    pub fn arrived(&self) -> Instant {
        self.arrived
    }

    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    /// As it is stored: JSON, without what is empty.
    ///
    /// # Errors
    /// When a piece cannot be written, which would be a defect of its declaration.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PieceError> {
        let mut value = serde_json::to_value(Stored { arrived: self.arrived, body: &self.body })?;
        drop_empty(&mut value);
        Ok(serde_json::to_vec(&value)?)
    }

    /// As it was stored.
    ///
    /// # Errors
    /// When the bytes are of something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PieceError> {
        let Stored { arrived, body } = serde_json::from_slice::<Stored<Body>>(bytes)?;
        Ok(Self::new(arrived, body))
    }
}

impl Body {
    /// The clock of a source.
    pub(super) fn clock(source: &str, at: Instant) -> Self {
        Self::Clock { source: source.to_owned(), at }
    }

    /// What tells it from others: where it was read is not content.
    pub(super) fn id(&self) -> PieceId {
        match self {
            Self::Telemetry(piece) => {
                let mut piece = piece.clone();
                piece.replace_origin(Origin { source: Arc::from(""), position: Position::Byte(0) });
                PieceId::of("telemetry", &piece)
            }
            Self::Unsure(row) => PieceId::of_unsure(row.fact_id()),
            Self::Waiting(waiting) => PieceId::of_waiting(&waiting.key),
            Self::Clock { source, .. } => PieceId::of("clock", source),
            Self::Lesson(lesson) => PieceId::of("lesson", lesson),
            Self::Spoken(address) => PieceId::of("spoken", address),
        }
    }
}

impl PieceId {
    pub(super) fn of_waiting(key: &str) -> Self {
        Self::of("waiting", key)
    }

    pub(super) fn of_unsure(fact_id: &str) -> Self {
        Self::of("unsure", fact_id)
    }

    fn of(kind: &str, content: &(impl Serialize + ?Sized)) -> Self {
        let mut hash = Sha256::new();
        hash.update(kind.as_bytes());
        // All members have names, so there is nothing that cannot be written.
        hash.update(serde_json::to_vec(content).unwrap_or_default());
        let mut id = [0; 16];
        id.copy_from_slice(&hash.finalize()[..16]);
        Self(id)
    }
}

impl std::fmt::Display for PieceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// Drops members without a value: reading gives them theirs again.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| {
                drop_empty(member);
                !matches!(member, Value::Null) && member.as_str() != Some("")
            });
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
