//! Which findings fire at an instant.
//!
//! In: findings of all instants. Out: those with `due_at <= as_of < until_at`. Reads no clock.

use std::collections::HashMap;

use arrow::array::{RecordBatch, StringViewArray, TimestampNanosecondArray};

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
    /// For each agent its last fact of any table and observer, a call's end included.
    pub fn last_fact(batches: &[(&'static str, RecordBatch)]) -> Self {
        let mut agents: HashMap<String, Instant> = HashMap::new();
        let mut overall = None;
        for (_, batch) in batches {
            let agents_of = batch.column_by_name("agent").and_then(|a| a.as_any().downcast_ref::<StringViewArray>());
            // What an answer shows is known when it is complete.
            let times = ["observed_at", "ended_at"].into_iter().filter_map(|name| batch.column_by_name(name));
            for times in times.filter_map(|times| times.as_any().downcast_ref::<TimestampNanosecondArray>()) {
                for (agent, at) in agents_of.into_iter().flatten().zip(times) {
                    let (Some(agent), Some(at)) = (agent, at.map(Instant)) else { continue };
                    overall = overall.max(Some(at));
                    match agents.get_mut(agent) {
                        Some(last) => *last = at.max(*last),
                        None => {
                            agents.insert(agent.to_owned(), at);
                        }
                    }
                }
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
