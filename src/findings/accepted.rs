//! Findings that somebody knows of and accepts for now: those of a baseline, and those that a suppression names.
//!
//! In: findings. Out: those that are left, and how many were accepted why. A suppression has a reason and an end, so that
//! nothing is silent for ever because somebody forgot it.

use std::collections::BTreeSet;

use super::Finding;
use crate::instant::Instant;

/// Findings that are accepted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accepted {
    /// Ids of findings that were there before.
    pub baseline: BTreeSet<String>,
    /// What is accepted by name.
    pub suppressions: Vec<Suppression>,
}

/// Findings accepted by name: all that fit every value that is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// Rule; none for all.
    pub rule: Option<String>,
    /// Agent; none for all.
    pub agent: Option<String>,
    /// Client; none for all.
    pub client: Option<String>,
    /// Skill; none for all.
    pub skill_id: Option<String>,
    /// Task; none for all.
    pub task_id: Option<String>,
    /// Why; never empty.
    pub reason: String,
    /// From when on it accepts nothing any more.
    pub expires: Instant,
    /// Where it is written: `file:line`.
    pub place: String,
}

/// What was accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AcceptedCount {
    /// By the baseline.
    pub baseline: usize,
    /// By suppressions.
    pub suppressed: usize,
}

impl Accepted {
    /// Whether nothing is accepted.
    pub fn is_empty(&self) -> bool {
        self.baseline.is_empty() && self.suppressions.is_empty()
    }

    /// Takes away what is accepted now.
    pub fn take_from(&self, findings: &mut Vec<Finding>, now: Instant) -> AcceptedCount {
        let mut count = AcceptedCount::default();
        findings.retain(|finding| {
            let known = self.baseline.contains(&finding.id);
            let suppressed = !known && self.suppressions.iter().any(|s| now < s.expires && s.fits(finding));
            count.baseline += usize::from(known);
            count.suppressed += usize::from(suppressed);
            !known && !suppressed
        });
        count
    }

    /// Suppressions that are over: somebody has to look again.
    pub fn expired(&self, now: Instant) -> impl Iterator<Item = &Suppression> {
        self.suppressions.iter().filter(move |suppression| suppression.expires <= now)
    }

    /// Suppressions in force that fit none of these: a slip of the pen, or what they accepted is over.
    pub fn unused<'a>(&'a self, findings: &'a [Finding], now: Instant) -> impl Iterator<Item = &'a Suppression> {
        let in_force = self.suppressions.iter().filter(move |suppression| now < suppression.expires);
        in_force.filter(|suppression| !findings.iter().any(|finding| suppression.fits(finding)))
    }
}

impl Suppression {
    fn fits(&self, finding: &Finding) -> bool {
        let is = |wanted: &Option<String>, value: Option<&str>| wanted.as_deref().is_none_or(|it| Some(it) == value);
        is(&self.rule, Some(&finding.rule))
            && is(&self.agent, Some(&finding.agent))
            && is(&self.client, finding.client.as_deref())
            && is(&self.skill_id, finding.skill_id.as_deref())
            && is(&self.task_id, finding.task_id.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;
    use crate::findings::samples::finding;

    fn suppression(rule: Option<&str>, agent: Option<&str>) -> Suppression {
        Suppression {
            rule: rule.map(str::to_owned),
            agent: agent.map(str::to_owned),
            client: None,
            skill_id: None,
            task_id: None,
            reason: "known".to_owned(),
            expires: Instant(100),
            place: String::new(),
        }
    }

    fn left(accepted: &Accepted, now: i64) -> (Vec<String>, AcceptedCount) {
        let of = |rule: &str, agent: &str| finding(rule, agent, "t", Severity::Warning, Instant(1));
        let mut findings = vec![of("orphaned", "a"), of("orphaned", "b"), of("stream_cut", "a")];
        let count = accepted.take_from(&mut findings, Instant(now));
        (findings.iter().map(|finding| format!("{} {}", finding.rule, finding.agent)).collect(), count)
    }

    #[test]
    fn what_fits_every_value_given_is_accepted_until_the_end() {
        let accepted = Accepted { suppressions: vec![suppression(Some("orphaned"), Some("a"))], ..Accepted::default() };
        let count = AcceptedCount { suppressed: 1, ..AcceptedCount::default() };
        assert_eq!(left(&accepted, 99), (vec!["orphaned b".to_owned(), "stream_cut a".to_owned()], count));
        assert_eq!(left(&accepted, 100).0.len(), 3);
        assert_eq!((accepted.expired(Instant(99)).count(), accepted.expired(Instant(100)).count()), (0, 1));
    }

    #[test]
    fn a_suppression_that_fits_nothing_is_unused_while_it_is_in_force() {
        let suppressions = vec![suppression(Some("orphaned"), Some("a")), suppression(Some("orphaned"), Some("c"))];
        let accepted = Accepted { suppressions, ..Accepted::default() };
        let findings = [finding("orphaned", "a", "t", Severity::Warning, Instant(1))];
        let unused = |now| accepted.unused(&findings, Instant(now)).map(|it| it.agent.clone()).collect::<Vec<_>>();
        assert_eq!(unused(99), [Some("c".to_owned())]);
        assert!(unused(100).is_empty(), "that it is over is said already");
    }

    #[test]
    fn what_was_there_before_is_accepted_by_its_id() {
        let id = finding("stream_cut", "a", "t", Severity::Warning, Instant(1)).id;
        let accepted = Accepted { baseline: [id].into(), ..Accepted::default() };
        let (findings, count) = left(&accepted, 1);
        assert!(!findings.contains(&"stream_cut a".to_owned()), "{findings:?}");
        assert_eq!(count.baseline, 3 - findings.len());
    }
}
