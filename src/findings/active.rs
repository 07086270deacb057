//! Open findings as one alerts on them: how many, by rule, severity, suspect and agent.
//!
//! In: open findings. Out: groups, in which only so many agents have a name of their own. Both `/metrics` and what is pushed
//! to Alertmanager are made of these, so that an alert has the same labels on either way.

use std::collections::{BTreeMap, BTreeSet};

use super::Severity;
use super::track::Open;
use crate::instant::Instant;

/// The agent of what is beyond the cap.
pub const OTHER: &str = "__other__";
/// Agents that have a name of their own, unless configured: with the corpus's rules and severities some thousand series.
pub const MOST_AGENTS: usize = 200;
/// Characters of an agent's name that are shown. Names are whatever a peer sent.
const MOST_CHARACTERS: usize = 200;
/// Findings of a group that are told in words.
const MOST_TOLD: usize = 5;

/// What tells groups apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels {
    /// Rule id.
    pub rule: String,
    /// Folder of the rule.
    pub category: String,
    /// Severity.
    pub severity: Severity,
    /// Whose fault it looks like.
    pub suspect: String,
    /// Agent, [`OTHER`] beyond the cap, or `''` where the rule has none.
    pub agent: String,
}

/// Open findings of one rule, severity, suspect and agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Active {
    /// What tells it from others.
    pub labels: Labels,
    /// Number of findings.
    pub count: u64,
    /// When the first of them opened.
    pub since: Instant,
    /// When the first of the faults began.
    pub first_seen: Instant,
    /// Summaries of the oldest few.
    pub summaries: Vec<String>,
    /// What to do next about the oldest.
    pub next_step: String,
    /// Anchor of the runbook.
    pub runbook: String,
}

/// Groups open findings. Of more agents than `most_agents`, those whose findings opened first keep their names: what has a
/// name keeps it as long as anything of it is open, and no alert ends because another agent fails as well.
pub fn group<'a>(open: impl IntoIterator<Item = &'a Open>, most_agents: usize) -> Vec<Active> {
    let mut open: Vec<&Open> = open.into_iter().collect();
    open.sort_by(|a, b| (a.since, &a.agent, a.first_seen, &a.id).cmp(&(b.since, &b.agent, b.first_seen, &b.id)));
    let mut named = BTreeSet::from([String::new()]);
    let mut groups: BTreeMap<Labels, Active> = BTreeMap::new();
    for finding in open {
        let agent = apart(shown(&finding.agent), OTHER);
        let has_name = named.contains(&agent) || (named.len() <= most_agents && named.insert(agent.clone()));
        let labels = Labels {
            rule: finding.rule.clone(),
            category: finding.category.clone(),
            severity: finding.severity,
            suspect: finding.suspect.clone(),
            agent: if has_name { agent } else { OTHER.to_owned() },
        };
        groups.entry(labels).and_modify(|group| group.add(finding)).or_insert_with_key(|l| Active::of(l, finding));
    }
    groups.into_values().collect()
}

/// A name from outside, cut where it is too long for a label.
fn shown(agent: &str) -> String {
    match agent.char_indices().nth(MOST_CHARACTERS) {
        None => agent.to_owned(),
        Some((end, _)) => format!("{}…", agent.get(..end).unwrap_or_default()),
    }
}

/// A name from outside as a label that has words of its own: a name that is such a word, or begins as what that is made into,
/// gets one `_` more, so that no two names become one.
pub fn apart(name: String, reserved: &str) -> String {
    let is_like = name.strip_suffix(reserved).is_some_and(|before| before.bytes().all(|byte| byte == b'_'));
    if is_like { format!("_{name}") } else { name }
}

impl Active {
    fn of(labels: &Labels, finding: &Open) -> Self {
        Self {
            labels: labels.clone(),
            count: 1,
            since: finding.since,
            first_seen: finding.first_seen,
            summaries: vec![finding.summary.clone()],
            next_step: finding.next_step.clone(),
            runbook: finding.runbook.clone(),
        }
    }

    fn add(&mut self, finding: &Open) {
        self.count += 1;
        self.first_seen = self.first_seen.min(finding.first_seen);
        if self.summaries.len() < MOST_TOLD {
            self.summaries.push(finding.summary.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Tracker;
    use crate::findings::samples::finding;

    fn at(seconds: i64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    /// One finding of each agent, opened one second after the other.
    fn opened_in_turn(agents: &[&str]) -> Tracker {
        let mut tracker = Tracker::default();
        let mut firing = Vec::new();
        for (second, agent) in (1..).zip(agents) {
            firing.push(finding("orphaned", agent, &format!("t{second}"), Severity::Warning, at(second)));
            tracker.look(&firing, at(10 + second), |_| None);
        }
        tracker
    }

    fn agents(groups: &[Active]) -> Vec<(&str, u64)> {
        groups.iter().map(|group| (group.labels.agent.as_str(), group.count)).collect()
    }

    #[test]
    fn findings_of_one_rule_severity_and_agent_are_one_group_as_old_as_the_oldest() {
        let tracker = opened_in_turn(&["a", "b", "a"]);
        let groups = group(tracker.open(), 10);
        assert_eq!(agents(&groups), [("a", 2), ("b", 1)]);
        assert_eq!((groups[0].since, groups[0].first_seen), (at(11), at(1)));
        assert_eq!(groups[0].summaries, ["t1 on a is not what it seems", "t3 on a is not what it seems"]);
    }

    #[test]
    fn agents_beyond_the_cap_are_one_and_those_that_were_first_keep_their_names() {
        let tracker = opened_in_turn(&["z", "y", "b", "a", "z"]);
        assert_eq!(agents(&group(tracker.open(), 2)), [("__other__", 2), ("y", 1), ("z", 2)]);
        assert_eq!(agents(&group(tracker.open(), 0)), [("__other__", 5)]);
    }

    #[test]
    fn an_agent_that_is_called_as_those_beyond_the_cap_is_told_from_them() {
        let names = ["__other__", "___other__", "x__other__", "b"];
        assert_eq!(
            agents(&group(opened_in_turn(&names).open(), 3)),
            [("____other__", 1), ("___other__", 1), ("__other__", 1), ("x__other__", 1)]
        );
    }

    #[test]
    fn no_agent_is_not_an_agent_beyond_the_cap() {
        assert_eq!(agents(&group(opened_in_turn(&["a", "", "b"]).open(), 1)), [("", 1), ("__other__", 1), ("a", 1)]);
    }

    #[test]
    fn a_name_of_any_length_is_a_short_label() {
        let long = "ä".repeat(10_000);
        let groups = group(opened_in_turn(&[&long]).open(), 5);
        assert_eq!(groups[0].labels.agent.chars().count(), 201);
    }
}
