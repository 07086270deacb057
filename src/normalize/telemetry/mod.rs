//! OTLP spans and log records of every emitter, and our own events, to facts.
//!
//! In: [`Span`]s and [`LogRecord`]s. Out: [`Facts`]: calls, task states, webhook deliveries, looks at cards. What one
//! record says alone becomes facts at once; what takes the neighbours in its trace (which spans are one call, which POST
//! is a delivery, which task it was about) waits for [`Telemetry::finish`]. Never keeps a text: texts are classified.

mod access;
mod body;
mod call;
mod delivery;
mod event;
mod failure;
mod hook;
mod http;
mod knowledge;
mod log;
mod look;
mod misspelt;
mod node;
mod own_event;
mod piece;
mod row;
mod said;
mod sentence;
mod state;
mod statement;
mod taped;
mod trace;

pub use self::own_event::EVENTS;

#[cfg(test)]
mod tests;

use crate::decode::record::{Exchange, LogRecord, Reject, Span};
use crate::normalize::aliases::Aliases;
use crate::normalize::patterns::Patterns;
use crate::tables::Facts;

pub(crate) use knowledge::{Added, Knowledge, Learnt, Lesson, Recent};
pub(crate) use piece::Piece;
pub(crate) use row::group_of_fact;
pub(crate) use said::Said;

use delivery::Deliveries;
use node::Node;
use sentence::{Errors, Notes};
use state::Judged;

/// What reading takes beside the record.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Names of every emitter.
    pub aliases: &'a Aliases,
    /// Classes of texts.
    pub patterns: &'a Patterns,
}

/// What is known beside the pieces that are joined.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    /// What reading takes.
    pub(crate) context: &'a Context<'a>,
    /// What records told by themselves of the traces.
    pub(crate) said: &'a Said,
    /// What traces taught that are gone.
    pub(crate) known: &'a Knowledge,
    /// Facts beside these that are not final.
    pub(crate) open: &'a Facts,
}

/// What pieces tell together.
pub(crate) struct Joined {
    /// Facts.
    pub(crate) facts: Facts,
    judged: Judged,
}

/// Reads spans and log records one at a time. Keeps what tells of calls until all is read: memory follows the number of
/// HTTP and A2A spans, some hundred bytes each, not what flows by.
#[derive(Debug, Default)]
pub struct Telemetry {
    nodes: Vec<Node>,
    notes: Notes,
    /// What events said in words that nobody reads.
    rejects: Vec<Reject>,
}

impl Telemetry {
    /// Takes a span. Its facts come with [`Telemetry::finish`], but for a call whose bodies it holds: that is given back
    /// as an exchange, and says more than the span.
    pub fn span(&mut self, span: &Span, context: &Context<'_>) -> Option<Box<Exchange>> {
        let node = Node::read(span, context)?;
        let taped = body::of_span(span, &node, context);
        if taped.is_none() {
            self.nodes.push(node);
        }
        taped
    }

    /// Takes a log record, and adds what it says by itself. A call whose bodies it holds is given back as an exchange.
    pub fn log(&mut self, record: &LogRecord, context: &Context<'_>, facts: &mut Facts) -> Vec<Exchange> {
        log::read(record, context, self, facts)
    }

    /// What of the records could not be read, since this was last asked.
    pub(crate) fn rejects(&mut self) -> Vec<Reject> {
        std::mem::take(&mut self.rejects)
    }

    /// Adds the facts that took more than one record. Facts of taped exchanges that are there already give the urls of
    /// webhooks and the calls that log sentences belong to, so exchanges go first.
    pub fn finish(&mut self, context: &Context<'_>, facts: &mut Facts) {
        let (mut said, mut known) = (Said::default(), Knowledge::unbounded());
        said.add(facts);
        Knowledge::of_facts(facts).for_each(|lesson| drop(known.learn(lesson)));
        let around = Around { context, said: &said, known: &known, open: &Facts::default() };
        let joined = std::mem::take(self).join(&around);
        facts.append(joined.facts);
    }

    /// The facts that take more than one record, as far as the records are there. What is kept becomes a set.
    pub(crate) fn join(&mut self, around: &Around<'_>) -> Joined {
        let Self { nodes, notes, .. } = self;
        // Batches may come in any order and twice; what follows depends on neither.
        nodes.sort_by(|a, b| a.order().cmp(&b.order()));
        nodes.dedup_by(|a, b| a.is_same_span(b));
        notes.make_set();
        let mut facts = Facts::default();
        let calls = trace::calls(nodes);
        let mut errors = Errors::of(notes);
        let mut deliveries = Deliveries::new(nodes, around);
        let judged = call::facts(nodes, &calls, &mut errors, &mut deliveries, around, &mut facts);
        deliveries.facts(&calls, notes, around, &mut facts);
        sentence::facts(nodes, notes, &errors, around, &mut facts);
        Joined { facts, judged }
    }

    /// What the pieces of some groups teach for those that come when these are gone.
    pub(crate) fn lessons(&self, joined: &Joined, of: impl Fn(&str) -> bool) -> Vec<Lesson> {
        let wanted = |node: usize| self.nodes.get(node).is_some_and(|node| of(&node.seen.group_of_span()));
        let mut lessons = Vec::new();
        for node in self.nodes.iter().filter(|node| of(&node.seen.group_of_span())) {
            if node.wire.is_some() {
                lessons.push(Lesson::OnWire(node.seen.service.clone(), node.side));
            }
            if node.answers() {
                lessons.push(Lesson::Agent(node.seen.service.clone()));
            }
        }
        for note in self.notes.deliveries.iter().chain(&self.notes.receipts) {
            if !note.url.is_empty() && of(&note.seen.group_of_record()) {
                lessons.push(Lesson::Hook(note.url.clone()));
            }
        }
        let Judged { bases, ends } = &joined.judged;
        lessons.extend(bases.iter().filter(|base| wanted(base.0)).map(|(_, base)| Lesson::Base(base.clone())));
        let ends = ends.iter().filter(|end| wanted(end.node));
        lessons.extend(ends.map(|end| Lesson::End(end.task_id.clone(), end.state.to_owned())));
        lessons
    }
}
