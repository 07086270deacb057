//! What became of findings since the last look: which opened, which changed, which ended.
//!
//! In: lists of the findings that fire, one after the other, each with the instant of the look. Out: the changes, the open
//! findings with when they opened, and how many opened so far. Reads no clock and judges nothing: what is not in a list has
//! ended.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Finding, Severity};
use crate::instant::Instant;

/// A rule, as far as its findings are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Rule id.
    pub rule: String,
    /// Folder of the rule.
    pub category: String,
    /// The highest severity that its findings may have.
    pub severity: Severity,
}

/// What findings are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// Rule id.
    pub rule: String,
    /// Folder of the rule.
    pub category: String,
    /// Severity of the finding.
    pub severity: Severity,
}

/// A finding that fires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// Id of the finding.
    pub id: String,
    /// Rule id.
    pub rule: String,
    /// Folder of the rule.
    pub category: String,
    /// Severity now.
    #[serde(with = "severity_word")]
    pub severity: Severity,
    /// The highest severity since it opened: each is counted once.
    #[serde(with = "severity_word")]
    pub worst: Severity,
    /// Whose fault it looks like.
    pub suspect: String,
    /// Agent; `''` where the rule has none.
    pub agent: String,
    /// The look at which it opened.
    #[serde(with = "nanos")]
    pub since: Instant,
    /// When the fault began.
    #[serde(with = "nanos")]
    pub first_seen: Instant,
    /// One line.
    pub summary: String,
    /// What to do next.
    pub next_step: String,
    /// Anchor of the runbook.
    pub runbook: String,
}

/// A finding that was not there at the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The finding.
    pub open: Open,
    /// From the arrival of the newest of its evidence to this look, with the rule's patience in it; none when it is not
    /// known when the evidence arrived.
    pub since_received: Option<Duration>,
    /// From the first instant at which it could fire, with its evidence here and its deadline passed, to this look.
    pub since_due: Option<Duration>,
    /// A trace of its evidence, the newest that has one; `''` when none has.
    pub trace_id: String,
}

/// What happened between two looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// What was not there before.
    pub opened: Vec<Opened>,
    /// What is there as before, with another severity, suspect or id.
    pub changed: Vec<Open>,
    /// What is not there any more, as it was.
    pub ended: Vec<Open>,
}

/// What has to be remembered so that a restarted program goes on where it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The findings that were open.
    pub open: Vec<Open>,
}

/// Follows findings from look to look.
#[derive(Debug, Clone, Default)]
pub struct Tracker {
    open: BTreeMap<String, Open>,
    opened: BTreeMap<Class, u64>,
}

impl Tracker {
    /// Nothing is open, and nothing was counted.
    pub fn new<'a>(rules: impl IntoIterator<Item = &'a Counted>) -> Self {
        let mut tracker = Self::default();
        tracker.count_from_zero(rules);
        tracker
    }

    /// Goes on from a remembered state. What is open in it is not counted again; counts begin at zero, as those who read
    /// counters expect of a program that was restarted.
    pub fn restore<'a>(rules: impl IntoIterator<Item = &'a Counted>, state: State) -> Self {
        let open = state.open.into_iter().map(|open| (open.id.clone(), open)).collect();
        Self { open, ..Self::new(rules) }
    }

    /// Makes counts of rules that there were not: a count that appears with its first finding would hide that one from
    /// every query for an increase.
    pub fn count_from_zero<'a>(&mut self, rules: impl IntoIterator<Item = &'a Counted>) {
        for Counted { rule, category, severity } in rules {
            let possible =
                [Severity::Info, Severity::Warning, Severity::Critical].into_iter().filter(|s| s <= severity);
            for severity in possible {
                self.opened.entry(Class { rule: rule.clone(), category: category.clone(), severity }).or_default();
            }
        }
    }

    /// What is to be remembered.
    pub fn state(&self) -> State {
        State { open: self.open.values().cloned().collect() }
    }

    /// Takes a look: the findings that fire at an instant. `received_at` says when the newest evidence of a finding
    /// arrived, by the same clock as `now`.
    pub fn look(
        &mut self,
        firing: &[Finding],
        now: Instant,
        received_at: impl Fn(&Finding) -> Option<Instant>,
    ) -> Changes {
        let fires: BTreeMap<&str, &Finding> = firing.iter().map(|finding| (finding.id.as_str(), finding)).collect();
        let mut gone: Vec<Open> =
            self.open.extract_if(.., |id, _| !fires.contains_key(id.as_str())).map(|(_, open)| open).collect();
        let mut changes = Changes::default();
        for (id, finding) in fires {
            let before = self.open.remove(id).or_else(|| take_same(&mut gone, finding));
            let open = Open::of(finding, before.as_ref(), now);
            if before.as_ref().is_none_or(|before| open.worst > before.worst) {
                *self.opened.entry(open.class()).or_default() += 1;
            }
            match before {
                None => changes.opened.push(Opened::of(open.clone(), finding, received_at(finding), now)),
                Some(before) if before.is_other(&open) => changes.changed.push(open.clone()),
                Some(_) => {}
            }
            self.open.insert(open.id.clone(), open);
        }
        changes.ended = gone;
        changes
    }

    /// What is open, by id.
    pub fn open(&self) -> impl Iterator<Item = &Open> {
        self.open.values()
    }

    /// How many findings opened, by what they are counted by. One whose severity rises is counted under each.
    pub fn opened(&self) -> &BTreeMap<Class, u64> {
        &self.opened
    }
}

/// Of findings that are gone, the one that another is by a new name: when it becomes known who called, what was found of an
/// address is found of a client, at the same look and since the same instant.
fn take_same(gone: &mut Vec<Open>, finding: &Finding) -> Option<Open> {
    let is_same =
        |open: &Open| (&open.rule, &open.agent, open.first_seen) == (&finding.rule, &finding.agent, finding.first_seen);
    let is_of_client = finding.entity.contains_key("client");
    gone.iter().position(|open| is_of_client && is_same(open)).map(|at| gone.remove(at))
}

impl Open {
    /// Whether what is told of it is not what was told before.
    fn is_other(&self, now: &Self) -> bool {
        (&self.id, self.severity, &self.suspect) != (&now.id, now.severity, &now.suspect)
    }

    fn of(finding: &Finding, before: Option<&Self>, now: Instant) -> Self {
        Self {
            id: finding.id.clone(),
            rule: finding.rule.clone(),
            category: finding.category.clone(),
            severity: finding.severity,
            worst: before.map_or(finding.severity, |before| before.worst.max(finding.severity)),
            suspect: finding.suspect.clone(),
            agent: finding.agent.clone(),
            since: before.map_or(now, |before| before.since),
            first_seen: finding.first_seen,
            summary: finding.summary.clone(),
            next_step: finding.next_step.clone(),
            runbook: finding.runbook.clone(),
        }
    }

    /// What it is counted by.
    fn class(&self) -> Class {
        Class { rule: self.rule.clone(), category: self.category.clone(), severity: self.severity }
    }
}

impl Opened {
    fn of(open: Open, finding: &Finding, received_at: Option<Instant>, now: Instant) -> Self {
        let traced = finding.evidence.iter().filter(|fact| !fact.trace_id.is_empty());
        Self {
            open,
            since_received: received_at.map(|received| between(received, now)),
            since_due: received_at.map(|received| between(received.max(finding.due_at), now)),
            trace_id: traced.max_by_key(|fact| fact.observed_at).map(|fact| fact.trace_id.clone()).unwrap_or_default(),
        }
    }
}

/// The time from one instant to another; none when it runs backwards, as clocks that are set do.
fn between(from: Instant, to: Instant) -> Duration {
    Duration::from_nanos(u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0))
}

/// Severities as the words of output.
mod severity_word {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::findings::Severity;

    pub(super) fn serialize<S: Serializer>(severity: &Severity, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(severity.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Severity, D::Error> {
        let word = String::deserialize(from)?;
        Severity::parse(&word).ok_or_else(|| D::Error::custom("not a severity"))
    }
}

/// Instants as nanoseconds.
mod nanos {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::instant::Instant;

    pub(super) fn serialize<S: Serializer>(at: &Instant, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(at.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
        i64::deserialize(from).map(Instant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples;

    fn at(seconds: i64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    fn finding(task: &str, severity: Severity) -> Finding {
        samples::finding("split_brain", "a", task, severity, at(100))
    }

    fn rule(severity: Severity) -> Counted {
        Counted { rule: "split_brain".into(), category: "lifecycle".into(), severity }
    }

    fn count(tracker: &Tracker, severity: Severity) -> Option<u64> {
        let class = Class { rule: "split_brain".into(), category: "lifecycle".into(), severity };
        tracker.opened().get(&class).copied()
    }

    fn ids<'a>(open: impl IntoIterator<Item = &'a Open>) -> Vec<&'a str> {
        open.into_iter().map(|open| open.id.as_str()).collect()
    }

    #[test]
    fn a_finding_opens_once_keeps_its_beginning_and_ends_once() {
        let mut tracker = Tracker::new(&[rule(Severity::Critical)]);
        let firing = [finding("t1", Severity::Critical)];
        let first = tracker.look(&firing, at(110), |_| None);
        assert_eq!((first.opened.len(), first.ended.len()), (1, 0));
        assert_eq!(tracker.look(&firing, at(120), |_| None), Changes::default());
        assert_eq!(tracker.open().map(|open| open.since).collect::<Vec<_>>(), [at(110)]);

        let last = tracker.look(&[], at(130), |_| None);
        assert_eq!((ids(&last.ended), last.ended[0].since), (vec!["split_brain-t1"], at(110)));
        assert_eq!(tracker.look(&[], at(140), |_| None), Changes::default());
        assert_eq!(count(&tracker, Severity::Critical), Some(1));
    }

    #[test]
    fn a_finding_by_another_name_is_the_same_if_it_takes_the_place_of_one_at_the_same_look() {
        let mut tracker = Tracker::new(&[rule(Severity::Critical)]);
        let of = |client: &str| {
            let mut found = finding(client, Severity::Critical);
            found.entity = BTreeMap::from([("client".into(), client.into())]);
            found
        };
        tracker.look(&[of("10.0.0.7")], at(110), |_| None);
        let named = tracker.look(&[of("planner")], at(120), |_| None);
        assert_eq!((ids(&named.changed), named.opened, named.ended), (vec!["split_brain-planner"], vec![], vec![]));
        assert_eq!(tracker.open().map(|open| open.since).collect::<Vec<_>>(), [at(110)]);
        assert_eq!(count(&tracker, Severity::Critical), Some(1));

        let mut later = of("planner, again");
        later.first_seen = at(119);
        let other = tracker.look(&[later], at(130), |_| None);
        assert_eq!((other.opened.len(), other.ended.len()), (1, 1));
    }

    #[test]
    fn counts_begin_at_zero_for_each_severity_that_a_rule_may_say() {
        let tracker = Tracker::new(&[rule(Severity::Warning)]);
        assert_eq!(count(&tracker, Severity::Info), Some(0));
        assert_eq!(count(&tracker, Severity::Warning), Some(0));
        assert_eq!(count(&tracker, Severity::Critical), None);
    }

    #[test]
    fn a_finding_that_comes_again_is_counted_again() {
        let mut tracker = Tracker::new(&[rule(Severity::Critical)]);
        for (second, firing) in [(1, true), (2, false), (3, true)] {
            let firing = if firing { vec![finding("t1", Severity::Critical)] } else { vec![] };
            tracker.look(&firing, at(second), |_| None);
        }
        assert_eq!(count(&tracker, Severity::Critical), Some(2));
        assert_eq!(tracker.open().next().unwrap().since, at(3));
    }

    #[test]
    fn a_severity_that_rises_is_counted_once_however_often_it_falls_back() {
        let mut tracker = Tracker::new(&[rule(Severity::Critical)]);
        let severities = [Severity::Warning, Severity::Critical, Severity::Warning, Severity::Critical];
        let changed: Vec<usize> = (1..)
            .zip(severities)
            .map(|(second, severity)| tracker.look(&[finding("t1", severity)], at(second), |_| None).changed.len())
            .collect();
        assert_eq!(changed, [0, 1, 1, 1]);
        assert_eq!((count(&tracker, Severity::Warning), count(&tracker, Severity::Critical)), (Some(1), Some(1)));
        assert_eq!(tracker.open().next().unwrap().since, at(1));
    }

    #[test]
    fn a_restart_neither_counts_what_is_still_open_nor_forgets_what_ended_meanwhile() {
        let mut before = Tracker::new(&[rule(Severity::Critical)]);
        before.look(&[finding("t1", Severity::Critical), finding("t2", Severity::Critical)], at(110), |_| None);
        let kept = serde_json::to_string(&before.state()).unwrap();

        let mut after = Tracker::restore(&[rule(Severity::Critical)], serde_json::from_str(&kept).unwrap());
        assert_eq!(ids(after.open()), ["split_brain-t1", "split_brain-t2"]);
        let changes = after.look(&[finding("t1", Severity::Critical)], at(200), |_| Some(at(105)));
        assert_eq!((changes.opened, ids(&changes.ended)), (vec![], vec!["split_brain-t2"]));
        assert_eq!(count(&after, Severity::Critical), Some(0));
        assert_eq!(after.open().next().unwrap().since, at(110));
    }

    #[test]
    fn the_delay_runs_from_the_newest_evidence_and_from_the_deadline_where_that_is_later() {
        let mut tracker = Tracker::default();
        let mut patient = finding("t1", Severity::Warning);
        patient.due_at = at(160);
        let changes = tracker.look(&[patient, finding("t2", Severity::Warning)], at(161), |_| Some(at(101)));
        let delays: Vec<_> = changes.opened.iter().map(|o| (o.since_received, o.since_due)).collect();
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(delays, [(seconds(60), seconds(1)), (seconds(60), seconds(60))]);
    }

    #[test]
    fn a_delay_that_nobody_knows_is_none_and_a_clock_that_was_set_back_gives_zero() {
        let mut tracker = Tracker::default();
        let firing = [finding("t1", Severity::Warning), finding("t2", Severity::Warning)];
        let changes = tracker.look(&firing, at(100), |f| f.id.ends_with('2').then_some(at(900)));
        let delays: Vec<_> = changes.opened.iter().map(|o| o.since_received).collect();
        assert_eq!(delays, [None, Some(Duration::ZERO)]);
    }

    #[test]
    fn the_trace_of_a_finding_is_that_of_its_newest_evidence_that_has_one() {
        let mut traced = finding("t1", Severity::Warning);
        let fact = |second, trace_id: &str| {
            let fact = samples::evidence("call", "working", at(second), "t1");
            super::super::Evidence { trace_id: trace_id.into(), ..fact }
        };
        traced.evidence = vec![fact(1, "aa"), fact(3, ""), fact(2, "bb")];
        let changes = Tracker::default().look(&[traced], at(100), |_| None);
        assert_eq!(changes.opened[0].trace_id, "bb");
    }

    #[test]
    fn a_finding_listed_twice_is_one() {
        let mut tracker = Tracker::new(&[rule(Severity::Critical)]);
        let twice = [finding("t1", Severity::Critical), finding("t1", Severity::Critical)];
        assert_eq!(tracker.look(&twice, at(1), |_| None).opened.len(), 1);
        assert_eq!(count(&tracker, Severity::Critical), Some(1));
    }
}
