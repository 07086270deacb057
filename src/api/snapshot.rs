//! What is known at one instant.
//!
//! In: findings, agents and cards, as the service gathers them. Out: the same, in the order in which they are shown.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::findings::incident::reading_order;
use crate::findings::{Finding, Generation, Severity};
use crate::instant::Instant;

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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agent {
    /// Tasks that were seen and have not ended.
    pub open_tasks: u64,
    /// Event time of the newest fact about it.
    pub last_seen: Option<Instant>,
    /// Generations of its card, in any order.
    pub cards: Vec<Card>,
}

/// One generation of an agent's card, with what the card says.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Which, from when, until when.
    pub generation: Generation,
    /// Skill fingerprint of the card as served.
    pub fingerprint: String,
    /// Name of the agent.
    pub name: String,
    /// Versions of the protocol.
    pub protocol_versions: BTreeSet<String>,
    /// Interface urls.
    pub endpoints: BTreeSet<String>,
    /// Whether it streams, if it says so.
    pub streaming: Option<bool>,
    /// Whether it pushes, if it says so.
    pub push_notifications: Option<bool>,
    /// Names of security schemes.
    pub security_schemes: BTreeSet<String>,
    /// Ids of the keys that signed it.
    pub signature_kids: BTreeSet<String>,
    /// Skills by id.
    pub skills: BTreeMap<String, Skill>,
}

/// A skill of a card.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skill {
    /// Effective input modes.
    pub input_modes: BTreeSet<String>,
    /// Effective output modes.
    pub output_modes: BTreeSet<String>,
    /// Hash of what it demands of callers; `''` when nothing.
    pub security_sha256: String,
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
        for agent in agents.values_mut() {
            agent.cards.sort_by_key(|card| card.generation.valid_from);
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
