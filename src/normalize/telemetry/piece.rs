//! What is kept of records until it is known what they are about, one record's part at a time: to be stored, and read back.
//!
//! In: what [`Telemetry`] took from spans and log records. Out: [`Piece`]s, and back. Holds no text and no secret, as what
//! it is made of does not.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Telemetry;
use super::delivery::Note;
use super::node::Node;
use super::row::Seen;
use super::sentence::{CallNote, ErrorNote, HttpNote, Notes, ResolvedNote};
use crate::decode::record::Origin;

/// What one span or log record told that others may add to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Piece(Kind);

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Kind {
    Node(Box<Node>),
    Delivery(Box<Note>),
    Receipt(Box<Note>),
    Error(Box<ErrorNote>),
    Call(Box<CallNote>),
    Http(Box<HttpNote>),
    Resolved(Box<ResolvedNote>),
}

impl Piece {
    /// The pieces that are read together with this one: those of its trace, else none.
    pub(crate) fn group(&self) -> Cow<'_, str> {
        match &self.0 {
            Kind::Node(node) => node.seen.group_of_span(),
            _ => self.seen().group_of_record(),
        }
    }

    /// Takes out where it was read, so that the same piece read elsewhere is the same, and gives back what was there.
    pub(crate) fn replace_origin(&mut self, origin: Origin) -> Origin {
        std::mem::replace(&mut self.seen_mut().origin, origin)
    }

    fn seen(&self) -> &Seen {
        match &self.0 {
            Kind::Node(node) => &node.seen,
            Kind::Delivery(note) | Kind::Receipt(note) => &note.seen,
            Kind::Error(note) => &note.seen,
            Kind::Call(note) => &note.seen,
            Kind::Http(note) => &note.seen,
            Kind::Resolved(note) => &note.seen,
        }
    }

    fn seen_mut(&mut self) -> &mut Seen {
        match &mut self.0 {
            Kind::Node(node) => &mut node.seen,
            Kind::Delivery(note) | Kind::Receipt(note) => &mut note.seen,
            Kind::Error(note) => &mut note.seen,
            Kind::Call(note) => &mut note.seen,
            Kind::Http(note) => &mut note.seen,
            Kind::Resolved(note) => &mut note.seen,
        }
    }
}

impl Telemetry {
    /// Takes out what was kept of records.
    pub(crate) fn drain(&mut self) -> Vec<Piece> {
        let nodes = std::mem::take(&mut self.nodes);
        let Notes { deliveries, receipts, errors, calls, http, resolved } = std::mem::take(&mut self.notes);
        let pieces = (nodes.into_iter().map(|node| Kind::Node(Box::new(node))))
            .chain(deliveries.into_iter().map(|note| Kind::Delivery(Box::new(note))))
            .chain(receipts.into_iter().map(|note| Kind::Receipt(Box::new(note))))
            .chain(errors.into_iter().map(|note| Kind::Error(Box::new(note))))
            .chain(calls.into_iter().map(|note| Kind::Call(Box::new(note))))
            .chain(http.into_iter().map(|note| Kind::Http(Box::new(note))))
            .chain(resolved.into_iter().map(|note| Kind::Resolved(Box::new(note))));
        pieces.map(Piece).collect()
    }

    /// Keeps a piece.
    pub(crate) fn put(&mut self, piece: Piece) {
        match piece.0 {
            Kind::Node(node) => self.nodes.push(*node),
            Kind::Delivery(note) => self.notes.deliveries.push(*note),
            Kind::Receipt(note) => self.notes.receipts.push(*note),
            Kind::Error(note) => self.notes.errors.push(*note),
            Kind::Call(note) => self.notes.calls.push(*note),
            Kind::Http(note) => self.notes.http.push(*note),
            Kind::Resolved(note) => self.notes.resolved.push(*note),
        }
    }

    /// Number of pieces kept.
    pub(crate) fn len(&self) -> usize {
        let Self { nodes, notes: Notes { deliveries, receipts, errors, calls, http, resolved }, .. } = self;
        nodes.len() + deliveries.len() + receipts.len() + errors.len() + calls.len() + http.len() + resolved.len()
    }

    /// Takes out the pieces of some groups.
    pub(crate) fn split_off(&mut self, goes: impl Fn(&str) -> bool) -> Vec<Piece> {
        let mut gone = Self::default();
        let Self { nodes, notes: Notes { deliveries, receipts, errors, calls, http, resolved }, .. } = self;
        let of_record = |seen: &Seen| goes(&seen.group_of_record());
        gone.nodes = nodes.extract_if(.., |node| goes(&node.seen.group_of_span())).collect();
        gone.notes = Notes {
            deliveries: deliveries.extract_if(.., |note| of_record(&note.seen)).collect(),
            receipts: receipts.extract_if(.., |note| of_record(&note.seen)).collect(),
            errors: errors.extract_if(.., |note| of_record(&note.seen)).collect(),
            calls: calls.extract_if(.., |note| of_record(&note.seen)).collect(),
            http: http.extract_if(.., |note| of_record(&note.seen)).collect(),
            resolved: resolved.extract_if(.., |note| of_record(&note.seen)).collect(),
        };
        gone.drain()
    }
}
