//! Records of all carriers and dialects to facts of one model.
//!
//! In: [`crate::decode::record`]. Out: [`crate::tables::Facts`]. Secrets and message text end here: a hash, a key id, a scheme,
//! a class or a length goes on. Judges nothing: it says what was seen.

pub mod aliases;
mod artifact;
pub mod canonical;
#[cfg(test)]
mod captured;
pub mod card;
mod card_model;
mod card_security;
mod clocks;
mod credential;
mod document;
pub mod emitters;
pub mod exchange;
pub mod fingerprint;
mod hook_url;
mod host;
pub mod identity;
mod json;
pub mod jwks;
pub mod media_type;
pub mod open;
pub mod patterns;
mod place;
pub mod protocol;
mod task;
pub mod telemetry;

use std::collections::HashSet;
use std::sync::Arc;

use self::aliases::Aliases;
use self::clocks::Clocks;
pub use self::clocks::{Arrival, date_what_came_first};
use self::document::Documents;
use self::exchange::Understood;
use self::patterns::Patterns;
pub use self::telemetry::EVENTS;
use self::telemetry::{Context, Telemetry};
use crate::decode::Limits;
use crate::decode::record::{Exchange, Record, Reject};
use crate::tables::{ExchangeRow, Facts, bound};

/// Bytes of a url that are read; servers refuse longer ones.
const MOST_URL: usize = 16 << 10;

/// What normalising depends on beside the records.
#[derive(Debug, Clone)]
pub struct NormalizerSettings {
    /// Classes of texts and paths to skill ids.
    pub patterns: Patterns,
    /// Names of every emitter.
    pub aliases: Aliases,
    /// Bytes of events of one stream of bare JSON-RPC, and of all that are open together.
    pub max_stream_bytes: usize,
}

impl Default for NormalizerSettings {
    fn default() -> Self {
        Self {
            patterns: Patterns::embedded(),
            aliases: Aliases::embedded(),
            max_stream_bytes: Limits::default().max_record_bytes,
        }
    }
}

/// Records to facts, all at once. The facts do not depend on the order of records of different sources. What goes on
/// without an end is for [`open::OpenNormalizer`].
#[derive(Debug)]
pub struct Normalizer {
    settings: Arc<NormalizerSettings>,
    facts: Facts,
    counts: Counts,
    documents: Documents,
    telemetry: Telemetry,
    unsure: Vec<ExchangeRow>,
    /// For records that have no time.
    clocks: Clocks,
}

/// How many records of each carrier came, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// HTTP exchanges.
    pub exchanges: u64,
    /// JSON documents without a carrier.
    pub documents: u64,
    /// Spans.
    pub spans: u64,
    /// Log records.
    pub logs: u64,
    /// Exchanges and documents that are no A2A: health probes, icons, other protocols.
    pub not_a2a: u64,
    /// Spans and log records that tell of no call, and of nothing else about agents.
    pub passed_over: u64,
    /// Answers that stood in a member that no version of the protocol has.
    pub unknown_wrappers: u64,
}

/// What normalising yields.
#[derive(Debug, Clone, Default)]
pub struct Normalized {
    /// Rows, identities not yet resolved.
    pub facts: Facts,
    /// What became of the records.
    pub counts: Counts,
}

impl Default for Normalizer {
    fn default() -> Self {
        Self::new(NormalizerSettings::default())
    }
}

impl Normalizer {
    /// A normaliser without records.
    pub fn new(settings: NormalizerSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            facts: Facts::default(),
            counts: Counts::default(),
            documents: Documents::default(),
            telemetry: Telemetry::default(),
            unsure: Vec::new(),
            clocks: Clocks::default(),
        }
    }

    /// Says when the records arrived that come from now on: one without a time in a source without any is of then, and not of
    /// the epoch.
    pub fn arrive(&mut self, arrival: Arrival) {
        self.clocks.arrival = Some(arrival);
    }

    /// Takes a record.
    pub fn record(&mut self, record: Record) {
        match record {
            Record::Exchange(exchange) => self.exchange(*exchange),
            Record::Document(document) => {
                self.counts.documents += 1;
                let mut document = *document;
                let source = document.origin.source.clone();
                let at = document.at.or_else(|| document::time_inside(&document.value));
                document.at = Some(self.clocks.time(&source, at));
                let NormalizerSettings { patterns, max_stream_bytes: most, .. } = &*self.settings;
                let done = self.documents.take(document, *most, patterns, &mut self.facts);
                let ended = self.documents.close_surplus(*most, patterns, &mut self.facts);
                self.count(done);
                ended.into_iter().for_each(|done| self.count(done));
            }
            Record::Span(mut span) => {
                self.counts.spans += 1;
                if self.clocks.arrival.is_some() && span.started_at.max(span.ended_at).is_none() {
                    span.started_at = Some(self.clocks.fall_back(&span.origin.source));
                }
                let context = Context { aliases: &self.settings.aliases, patterns: &self.settings.patterns };
                let kept = self.telemetry.len();
                match self.telemetry.span(&span, &context) {
                    Some(taped) => self.exchange(*taped),
                    None => self.counts.passed_over += u64::from(self.telemetry.len() == kept),
                }
            }
            Record::Log(mut log) => {
                self.counts.logs += 1;
                // Console logs may have no time of their own.
                log.at = Some(self.clocks.time(&log.origin.source.clone(), log.at));
                let context = Context { aliases: &self.settings.aliases, patterns: &self.settings.patterns };
                let kept = self.telemetry.len() + self.facts.len();
                let taped = self.telemetry.log(&log, &context, &mut self.facts);
                let is_kept = !taped.is_empty() || self.telemetry.len() + self.facts.len() > kept;
                self.counts.passed_over += u64::from(!is_kept);
                taped.into_iter().for_each(|taped| self.exchange(taped));
            }
        }
    }

    fn exchange(&mut self, mut exchange: Exchange) {
        self.counts.exchanges += 1;
        // A HAR writes 0 for no response.
        exchange.status = exchange.status.filter(|status| *status != 0);
        limit_names(&mut exchange);
        let source = exchange.origin.source.clone();
        let known = exchange.started_at.or(exchange.ended_at);
        let at = self.clocks.time(&source, known);
        if known.is_none() {
            exchange.started_at = Some(at);
        }
        let done = exchange::facts(&exchange, &self.settings.patterns, &mut self.facts);
        self.count(done);
    }

    fn count(&mut self, done: Understood) {
        match done {
            Understood::A2a { unknown_wrapper } => self.counts.unknown_wrappers += u64::from(unknown_wrapper),
            Understood::Unsure(row) => self.unsure.push(*row),
            Understood::NotA2a => self.counts.not_a2a += 1,
        }
    }

    /// What of the records could not be kept, since this was last asked.
    pub fn rejects(&mut self) -> Vec<Reject> {
        let mut rejects = self.documents.rejects();
        rejects.append(&mut self.telemetry.rejects());
        rejects
    }

    /// The facts of all records taken.
    pub fn finish(mut self) -> Normalized {
        let documents = std::mem::take(&mut self.documents);
        for done in documents.finish(&self.settings.patterns, &mut self.facts) {
            self.count(done);
        }
        let spoken: HashSet<String> = self.facts.exchanges.iter().map(address).collect();
        for row in std::mem::take(&mut self.unsure) {
            if spoken.contains(&address(&row)) {
                self.facts.push_exchange(row);
            } else {
                self.counts.not_a2a += 1;
            }
        }
        let context = Context { aliases: &self.settings.aliases, patterns: &self.settings.patterns };
        self.telemetry.finish(&context, &mut self.facts);
        Normalized { facts: self.facts, counts: self.counts }
    }
}

/// Prepares what is copied into every fact of an exchange: no secrets, and no more than a name has.
fn limit_names(exchange: &mut Exchange) {
    for name in [&mut exchange.client, &mut exchange.server, &mut exchange.agent, &mut exchange.observer_name] {
        *name = host::name_without_secrets(name);
        bound(name);
    }
    if place::agent_url(&exchange.agent).is_empty() {
        exchange.agent.clear();
    }
    exchange.url.truncate(exchange.url.floor_char_boundary(MOST_URL));
}

/// What a call was addressed to: the agent, else the source that it was read from.
fn address(row: &ExchangeRow) -> String {
    match row.common.agent_ref.as_str() {
        "" => format!("source {}", row.common.source),
        agent => agent.to_owned(),
    }
}
