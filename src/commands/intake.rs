//! Taking in what `decode` delivers, with an account of what was understood.
//!
//! In: records and rejects of one source after another. Out: records to the normalizer, and the account that the report
//! shows. Keeps the first reject of each reason, not all.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::kept::Kept;
use crate::config::{LegWord, ObserverBySource, ObserverWord};
use crate::decode::access_log;
use crate::decode::record::{Attributes, Observer, Origin, Position, Record, Reject, RejectReason, Sink};
use crate::findings::{Intake, RejectCount, SourceIntake};
use crate::instant::Instant;
use crate::normalize::Normalizer;
use crate::normalize::emitters::{Emitters, Met};
use crate::receive::ReceiveError;
use crate::tables::{Facts, TIMELESS};

/// Takes what `decode` delivers of one source: records go on to the normalizer, everything is counted.
pub(super) struct Gathering<'a> {
    normalizer: &'a mut Normalizer,
    account: &'a mut Account,
    /// Who taped the source, by the configuration.
    tap: Option<&'a ObserverBySource>,
}

/// What was read so far.
#[derive(Debug)]
pub(super) struct Account {
    emitters: Emitters,
    sources: Vec<SourceIntake>,
    /// Emitters met in each source.
    met: Vec<Met>,
    rejects: BTreeMap<RejectReason, RejectCount>,
    /// Inputs that could not be opened, each with why.
    unread: Vec<String>,
    /// Folders of `serve` in which nothing is stored yet.
    unfilled: Vec<String>,
    /// Kept facts that were counted, by table and id.
    known: HashSet<(&'static str, String)>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            emitters: Emitters::embedded(),
            sources: Vec::new(),
            met: Vec::new(),
            rejects: BTreeMap::new(),
            unread: Vec::new(),
            unfilled: Vec::new(),
            known: HashSet::new(),
        }
    }
}

impl<'a> Gathering<'a> {
    /// Begins with a source.
    pub(super) fn of(
        name: &Arc<str>,
        observers: &'a [ObserverBySource],
        normalizer: &'a mut Normalizer,
        account: &'a mut Account,
    ) -> Self {
        let fits = |tap: &&ObserverBySource| glob::Pattern::new(&tap.source).is_ok_and(|glob| glob.matches(name));
        account.met.push(Met::default());
        account.sources.push(SourceIntake { name: name.to_string(), ..SourceIntake::default() });
        Self { normalizer, account, tap: observers.iter().find(fits) }
    }
}

impl Gathering<'_> {
    /// Counts what a file of facts held; its facts pass by the normalizer, which made them.
    pub(super) fn kept(
        &mut self,
        name: &Arc<str>,
        kind: &'static str,
        read: Result<Kept, (RejectReason, String)>,
    ) -> Facts {
        self.recognised(name, kind);
        let mut reject = |byte: usize, reason, detail| {
            let origin = Origin { source: name.clone(), position: Position::Byte(byte as u64) };
            self.reject(Reject { origin, reason, detail });
        };
        match read {
            Ok(Kept { facts, damage }) => {
                for lost in damage {
                    let detail = format!("{} bytes are damaged: what was written there is lost", lost.len());
                    reject(lost.start, RejectReason::Unreadable, detail);
                }
                if let Some(source) = self.account.sources.last_mut() {
                    // What was sent again, or stands in the lake as well, is one fact.
                    let known = &mut self.account.known;
                    let new = facts.by_table().filter(|(table, fact)| known.insert((*table, fact.fact_id.clone())));
                    let new = new.count() as u64;
                    source.records += new;
                    source.kept += new;
                }
                facts
            }
            Err((reason, detail)) => {
                reject(0, reason, detail);
                Facts::default()
            }
        }
    }

    /// Counts the source itself as not understood: it could not be opened.
    pub(super) fn unreadable(&mut self, name: &Arc<str>, refusal: &ReceiveError) {
        let origin = Origin { source: name.clone(), position: Position::Byte(0) };
        // The path is the source's name already.
        let detail = refusal.source().map_or_else(|| refusal.to_string(), ToString::to_string);
        self.account.unread.push(format!("{name}: {detail}"));
        self.reject(Reject { origin, reason: RejectReason::Unreadable, detail });
    }
}

impl ObserverBySource {
    /// Says in a record who taped it: a user knows that better than the format does. Webhook calls stay with whom they
    /// are, since their observer follows from who received them.
    pub(super) fn mark(&self, record: &mut Record) {
        match record {
            Record::Exchange(exchange) if self.leg == LegWord::Webhook => {
                // Whoever stands before a receiver sees what it sees; only agents see what never arrives.
                let is_sender = self.observer == ObserverWord::Server;
                exchange.observer = Some(if is_sender { Observer::Server } else { Observer::Receiver });
                "webhook".clone_into(&mut exchange.leg);
            }
            Record::Log(log) if self.leg == LegWord::Webhook && log.event_name == access_log::EVENT => {
                log.attributes.0.push((access_log::LEG.to_owned(), Value::from("webhook")));
            }
            Record::Exchange(exchange) if exchange.leg != "webhook" => {
                exchange.observer = Observer::parse(self.observer.as_str());
                if !self.name.is_empty() {
                    exchange.observer_name.clone_from(&self.name);
                }
            }
            Record::Span(span) => self.mark_attributes(&mut span.attributes),
            Record::Log(log) => self.mark_attributes(&mut log.attributes),
            Record::Exchange(_) | Record::Document(_) => {}
        }
    }

    /// As own events say it; what they say themselves stands.
    fn mark_attributes(&self, attributes: &mut Attributes) {
        for (key, value) in [("a2a.observer", self.observer.as_str()), ("a2a.observer.name", &self.name)] {
            if !value.is_empty() && attributes.get(key).is_none() {
                attributes.0.push((key.to_owned(), Value::from(value)));
            }
        }
    }
}

impl Sink for Gathering<'_> {
    fn record(&mut self, mut record: Record) {
        if let Some(source) = self.account.sources.last_mut() {
            source.records += 1;
            source.logs += u64::from(matches!(record, Record::Log(_)));
        }
        if let Some(tap) = self.tap {
            tap.mark(&mut record);
        }
        let Account { emitters, met, .. } = &mut *self.account;
        met.iter_mut().last().into_iter().for_each(|met| emitters.look(&record, met));
        self.normalizer.record(record);
        for cut in self.normalizer.rejects() {
            self.reject(cut);
        }
    }

    fn reject(&mut self, reject: Reject) {
        if let Some(source) = self.account.sources.last_mut() {
            source.rejects += 1;
        }
        self.account.reject(reject);
    }

    fn recognised(&mut self, _source: &Arc<str>, format: &'static str) {
        if let Some(source) = self.account.sources.last_mut()
            && !source.formats.contains(&format)
        {
            source.formats.push(format);
            let Account { emitters, met, .. } = &mut *self.account;
            met.iter_mut().last().into_iter().for_each(|met| emitters.recognised(format, met));
        }
    }
}

impl Account {
    /// Notes folders of `serve` in which nothing is stored yet.
    pub(super) fn unfilled(&mut self, folders: &[PathBuf]) {
        self.unfilled.extend(folders.iter().map(|folder| folder.display().to_string()));
    }

    /// Counts something not understood.
    pub(super) fn reject(&mut self, reject: Reject) {
        let Reject { origin, reason, detail } = reject;
        let first = || RejectCount {
            reason: reason.as_str(),
            count: 0,
            source: origin.source.to_string(),
            position: origin.position.to_string(),
            detail,
        };
        self.rejects.entry(reason).or_insert_with(first).count += 1;
    }

    /// Closes the account.
    pub(super) fn close(mut self, facts: usize) -> Intake {
        for (source, met) in self.sources.iter_mut().zip(&self.met) {
            source.emitters = met.ids().map(str::to_owned).collect();
            source.shown = met.shown().map(str::to_owned).collect();
        }
        let mut rejects: Vec<RejectCount> = self.rejects.into_values().collect();
        rejects.sort_by(|a, b| b.count.cmp(&a.count).then(a.reason.cmp(b.reason)));
        let (sources, unread, unfilled) = (self.sources, self.unread, self.unfilled);
        Intake { sources, rejects, facts: facts as u64, names_no_client: false, is_untimed: false, unread, unfilled }
    }

    /// Closes the account of what became these facts.
    pub(super) fn close_with(self, facts: &Facts) -> Intake {
        let intake = self.close(facts.len());
        let has_bad_times = intake.rejects.iter().any(|reject| reject.reason == RejectReason::BadTime.as_str());
        let may_be = has_bad_times || facts.task_events.iter().any(|row| row.own.origin == "log");
        Intake { names_no_client: names_no_client(facts), is_untimed: may_be && is_untimed(facts), ..intake }
    }
}

/// Tables whose facts have a client, if one is known.
const OF_CLIENTS: [&str; 2] = ["exchanges", "task_events"];

/// Whether nothing is known of when anything was. Bodies that somebody saved have no times, and say what they say; events
/// without them say nothing of what came before what.
fn is_untimed(facts: &Facts) -> bool {
    let mut timed =
        facts.by_table().filter(|(table, _)| !TIMELESS.contains(table)).map(|(_, common)| common).peekable();
    timed.peek().is_some() && timed.all(|common| common.observed_at == Instant::default())
}

/// Whether clients do something, and none has a name.
fn names_no_client(facts: &Facts) -> bool {
    let mut concerned = facts.by_table().filter(|(table, _)| OF_CLIENTS.contains(table)).peekable();
    concerned.peek().is_some() && facts.commons().all(|common| common.client.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::record::{Origin, Position};

    fn tap(source: &str, name: &str) -> ObserverBySource {
        ObserverBySource {
            source: source.into(),
            observer: ObserverWord::Gateway,
            name: name.into(),
            leg: LegWord::Agent,
        }
    }

    fn reject(reason: RejectReason, line: u64) -> Reject {
        let origin = Origin { source: "gateway/day.ndjson".into(), position: Position::Line(line) };
        Reject { origin, reason, detail: format!("line {line}") }
    }

    #[test]
    fn rejects_are_counted_by_reason_with_the_first_place_the_most_frequent_first() {
        let (mut normalizer, mut account) = (Normalizer::default(), Account::default());
        let mut sink = Gathering::of(&"gateway/day.ndjson".into(), &[], &mut normalizer, &mut account);
        sink.recognised(&"gateway/day.ndjson".into(), "ndjson");
        sink.recognised(&"gateway/day.ndjson".into(), "ndjson");
        sink.reject(reject(RejectReason::TooLarge, 3));
        sink.reject(reject(RejectReason::BadJson, 7));
        sink.reject(reject(RejectReason::BadJson, 9));
        let intake = account.close(4);
        let rejects: Vec<_> = intake.rejects.iter().map(|r| (r.reason, r.count, r.position.as_str())).collect();
        assert_eq!(rejects, [("bad-json", 2, "7"), ("too-large", 1, "3")]);
        assert_eq!((intake.sources[0].formats.as_slice(), intake.sources[0].rejects), (&["ndjson"][..], 3));
        assert_eq!((intake.rejected(), intake.facts), (3, 4));
    }

    #[test]
    fn the_first_glob_that_fits_says_who_taped_a_source() {
        let taps = [tap("edge/*", "edge-1"), tap("gateway/*.ndjson", "edge-2"), tap("*", "edge-3")];
        let (mut normalizer, mut account) = (Normalizer::default(), Account::default());
        let sink = Gathering::of(&"gateway/day.ndjson".into(), &taps, &mut normalizer, &mut account);
        assert_eq!(sink.tap.map(|tap| tap.name.as_str()), Some("edge-2"));
    }

    #[test]
    fn what_an_event_says_of_its_observer_stands() {
        let mut silent = Attributes::default();
        tap("*", "edge").mark_attributes(&mut silent);
        assert_eq!(silent.text("a2a.observer").as_deref(), Some("gateway"));
        assert_eq!(silent.text("a2a.observer.name").as_deref(), Some("edge"));

        let mut said = Attributes(vec![("a2a.observer".into(), "client".into())]);
        tap("*", "").mark_attributes(&mut said);
        assert_eq!(said.0.len(), 1);
        assert_eq!(said.text("a2a.observer").as_deref(), Some("client"));
    }
}
