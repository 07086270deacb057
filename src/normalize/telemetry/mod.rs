//! OTLP spans and log records of every emitter, and our own events, to facts.
//!
//! In: [`Span`]s and [`LogRecord`]s. Out: [`Facts`]: calls, task states, webhook deliveries, looks at cards. What one
//! record says alone becomes facts at once; what takes the neighbours in its trace (which spans are one call, which POST
//! is a delivery, which task it was about) waits for [`Telemetry::finish`]. Never keeps a text: texts are classified.

mod body;
mod call;
mod delivery;
mod failure;
mod hook;
mod http;
mod log;
mod look;
mod node;
mod own_event;
mod row;
mod sentence;
mod state;
mod statement;
mod taped;
mod trace;

#[cfg(test)]
mod tests;

use crate::decode::record::{Exchange, LogRecord, Span};
use crate::normalize::aliases::Aliases;
use crate::normalize::patterns::Patterns;
use crate::tables::Facts;

use delivery::Deliveries;
use node::Node;
use sentence::Notes;

/// What reading takes beside the record.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Names of every emitter.
    pub aliases: &'a Aliases,
    /// Classes of texts.
    pub patterns: &'a Patterns,
}

/// Reads spans and log records one at a time. Keeps what tells of calls until all is read: memory follows the number of
/// HTTP and A2A spans, some hundred bytes each, not what flows by.
#[derive(Debug, Default)]
pub struct Telemetry {
    nodes: Vec<Node>,
    notes: Notes,
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

    /// Adds the facts that took more than one record. Facts of taped exchanges that are there already give the urls of
    /// webhooks and the calls that log sentences belong to, so exchanges go first.
    pub fn finish(&mut self, context: &Context<'_>, facts: &mut Facts) {
        let mut nodes = std::mem::take(&mut self.nodes);
        let mut notes = std::mem::take(&mut self.notes);
        // Batches may come in any order and twice; what follows depends on neither.
        nodes.sort_by(|a, b| a.order().cmp(&b.order()));
        nodes.dedup_by(|a, b| a.is_same_span(b));
        notes.make_set();
        let calls = trace::calls(&nodes);
        let mut deliveries = Deliveries::new(&nodes, context);
        call::facts(&nodes, &calls, &mut notes, &mut deliveries, context, facts);
        deliveries.facts(&calls, &notes, facts);
        sentence::facts(&nodes, &notes, facts);
    }
}
