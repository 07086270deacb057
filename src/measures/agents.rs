//! Agents and the labels that they are shown under.
//!
//! In: agents as they are seen. Out: a label for each: its name, or `__other__` when there are too many. First come, first
//! served, by the time of their first fact among those that came since the last snapshot; what an agent got it keeps while
//! it is known.

use std::collections::{BTreeMap, HashMap};

use super::ids::Word;
use super::snapshot::{OTHER, UNKNOWN};
use crate::findings::active::apart;
use crate::instant::Instant;

/// An agent while it is known; never given again.
pub(super) type AgentId = u64;

#[derive(Debug, Clone)]
pub(super) struct Agents {
    most: usize,
    ids: HashMap<Word, AgentId>,
    known: BTreeMap<AgentId, Agent>,
    next: AgentId,
    /// Agents with a label of their own.
    labelled: usize,
}

#[derive(Debug, Clone)]
struct Agent {
    name: Word,
    first: Instant,
    last: Instant,
    label: Option<Word>,
}

impl Agents {
    pub(super) fn new(most: usize) -> Self {
        Self { most, ids: HashMap::new(), known: BTreeMap::new(), next: 0, labelled: 0 }
    }

    /// The agent of a name, seen at an instant.
    pub(super) fn see(&mut self, name: &Word, first: Instant, last: Instant) -> AgentId {
        let next = self.next;
        let id = *self.ids.entry(name.clone()).or_insert(next);
        if id == next {
            self.next += 1;
        }
        let agent = self.known.entry(id).or_insert_with(|| Agent { name: name.clone(), first, last, label: None });
        agent.first = agent.first.min(first);
        agent.last = agent.last.max(last);
        id
    }

    /// Gives labels to those of `shown` that have none.
    pub(super) fn label(&mut self, shown: impl Fn(AgentId) -> bool) {
        let without = self.known.iter().filter(|(id, agent)| agent.label.is_none() && shown(**id));
        let mut coming: Vec<(Instant, Word, AgentId)> =
            without.map(|(id, agent)| (agent.first, agent.name.clone(), *id)).collect();
        coming.sort();
        for (_, name, id) in coming {
            let Some(agent) = self.known.get_mut(&id) else { continue };
            // What nobody knows the agent of is one series, whatever the cap.
            agent.label = Some(if name.is_empty() {
                UNKNOWN.into()
            } else if self.labelled < self.most {
                self.labelled += 1;
                [OTHER, UNKNOWN].into_iter().fold(name.to_string(), apart).into()
            } else {
                OTHER.into()
            });
        }
    }

    /// What an agent is shown as, once it has a label.
    pub(super) fn label_of(&self, id: AgentId) -> Option<&Word> {
        self.known.get(&id)?.label.as_ref()
    }

    /// Agents and their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (AgentId, &Word)> {
        self.known.iter().map(|(id, agent)| (*id, &agent.name))
    }

    /// Agents not seen since an instant.
    pub(super) fn unseen(&self, since: Instant) -> Vec<AgentId> {
        self.known.iter().filter(|(_, agent)| agent.last < since).map(|(id, _)| *id).collect()
    }

    /// Forgets an agent; its name and the label that it had.
    pub(super) fn forget(&mut self, id: AgentId) -> Option<(Word, Option<Word>)> {
        let agent = self.known.remove(&id)?;
        self.ids.remove(&agent.name);
        if !agent.name.is_empty() && agent.label.as_deref().is_some_and(|label| label != OTHER) {
            self.labelled = self.labelled.saturating_sub(1);
        }
        Some((agent.name, agent.label))
    }
}
