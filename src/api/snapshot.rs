//! What is known at one instant.
//!
//! In: findings, agents and cards, as the service gathers them. Out: the same, in the order in which they are shown.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::findings::incident::reading_order;
use crate::findings::{Finding, Severity};
use crate::instant::Instant;
use crate::measures::cards::Shown;

/// What is known at one instant. It is never changed, only replaced.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The instant; none before the first look.
    pub(super) as_of: Option<Instant>,
    /// What fires, in reading order.
    pub(super) findings: Vec<Finding>,
    /// Places in `findings`, by id.
    by_id: HashMap<String, usize>,
    /// Agents by identity.
    pub(super) agents: BTreeMap<String, Agent>,
    /// Number of findings by agent and severity.
    counts: HashMap<(String, Severity), u64>,
}

/// An agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// Tasks that were seen and have not ended.
    pub open_tasks: u64,
    /// Event time of the newest fact about it.
    pub last_seen: Option<Instant>,
    /// The cards that it showed, as `measures` orders them.
    pub cards: Arc<Vec<Shown>>,
}

impl Snapshot {
    /// Puts everything in order. Agents that only findings name are agents too.
    pub fn new(as_of: Instant, mut findings: Vec<Finding>, mut agents: BTreeMap<String, Agent>) -> Self {
        findings.sort_by(|a, b| reading_order(a).cmp(&reading_order(b)));
        let by_id = findings.iter().enumerate().map(|(place, finding)| (finding.id.clone(), place)).collect();
        let mut counts = HashMap::new();
        for finding in findings.iter().filter(|finding| !finding.agent.is_empty()) {
            *counts.entry((finding.agent.clone(), finding.severity)).or_default() += 1;
            agents.entry(finding.agent.clone()).or_default();
        }
        Self { as_of: Some(as_of), findings, by_id, agents, counts }
    }

    /// A finding by its id.
    pub(super) fn finding(&self, id: &str) -> Option<&Finding> {
        self.findings.get(*self.by_id.get(id)?)
    }

    /// How many findings of a severity an agent has.
    pub(super) fn count(&self, agent: &str, severity: Severity) -> u64 {
        self.counts.get(&(agent.to_owned(), severity)).copied().unwrap_or_default()
    }
}
