//! Which findings fire at an instant.
//!
//! In: findings of all instants. Out: those with `due_at <= as_of < until_at`. Reads no clock.

use std::collections::HashMap;

use arrow::array::RecordBatch;

use super::cell::Cell;
use crate::findings::Finding;
use crate::instant::Instant;

/// The instant at which findings are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AsOf {
    /// The same for all.
    Fixed(Instant),
    /// For each agent the last fact about it, so that the silence of a tap is not the silence of tasks.
    LastFactPerAgent {
        /// Last fact by agent.
        agents: HashMap<String, Instant>,
        /// Last fact of all, for findings about no agent of the map.
        overall: Instant,
    },
}

impl AsOf {
    /// For each agent its last fact of any table and observer.
    pub fn last_fact(batches: &[(&'static str, RecordBatch)]) -> Self {
        let mut agents: HashMap<String, Instant> = HashMap::new();
        let mut overall = None;
        for (_, batch) in batches {
            let (agent, observed_at) = (batch.column_by_name("agent"), batch.column_by_name("observed_at"));
            let (Some(agent), Some(observed_at)) = (agent, observed_at) else { continue };
            for row in 0..batch.num_rows() {
                let Some(at) = Cell::of(observed_at, row).as_time() else { continue };
                overall = overall.max(Some(at));
                let last = agents.entry(Cell::of(agent, row).to_string()).or_insert(at);
                *last = at.max(*last);
            }
        }
        Self::LastFactPerAgent { agents, overall: overall.unwrap_or_default() }
    }

    fn of(&self, agent: &str) -> Instant {
        match self {
            Self::Fixed(instant) => *instant,
            Self::LastFactPerAgent { agents, overall } => {
                let known = if agent.is_empty() { None } else { agents.get(agent) };
                *known.unwrap_or(overall)
            }
        }
    }
}

/// Findings that fire.
pub fn select(findings: Vec<Finding>, as_of: &AsOf) -> Vec<Finding> {
    let fires = |finding: &Finding| {
        let now = as_of.of(&finding.agent);
        finding.due_at <= now && finding.until_at.is_none_or(|until| now < until)
    };
    findings.into_iter().filter(fires).collect()
}
