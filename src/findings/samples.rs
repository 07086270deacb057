//! Hand-made findings for the tests of `findings` and `publish`.

use std::collections::BTreeMap;

use super::{Confidence, Evidence, Finding, Generation, Severity};
use crate::instant::Instant;

/// A finding about one task, with one piece of evidence by `client`, that lasts a second.
pub(crate) fn finding(rule: &str, agent: &str, task: &str, severity: Severity, at: Instant) -> Finding {
    Finding {
        id: format!("{rule}-{task}"),
        rule: rule.into(),
        category: "lifecycle".into(),
        severity,
        confidence: Confidence::Confirmed,
        suspect: "remote-runtime".into(),
        because: "both sides were seen".into(),
        entity: BTreeMap::from([("agent".into(), agent.into()), ("task_id".into(), task.into())]),
        agent: agent.into(),
        client: None,
        skill_id: None,
        task_id: Some(task.into()),
        url: None,
        observed_at: at,
        due_at: at,
        until_at: None,
        over_at: None,
        first_seen: at,
        last_seen: Instant(at.0 + 1_000_000_000),
        count: 1,
        summary: format!("{task} on {agent} is not what it seems"),
        next_step: "Ask the agent for the task.".into(),
        evidence: vec![evidence("call", "working (poll)", at, task)],
        details: BTreeMap::new(),
        runbook: rule.into(),
    }
}

/// A fact seen by `client`.
pub(crate) fn evidence(role: &str, says: &str, at: Instant, task: &str) -> Evidence {
    Evidence {
        role: role.into(),
        fact_id: format!("{role}-{}", at.0),
        table: "task_events".into(),
        observer: "client".into(),
        observed_at: at,
        source: "day.ndjson".into(),
        position: "12".into(),
        trace_id: String::new(),
        span_id: String::new(),
        client: "watcher".into(),
        task_id: task.into(),
        beside: false,
        says: says.into(),
    }
}

/// A card generation whose contract hash repeats its version.
pub(crate) fn generation(agent: &str, version: &str, from: Instant, to: Option<Instant>) -> Generation {
    Generation {
        agent: agent.into(),
        version: version.into(),
        contract_sha256: format!("{version}-contract"),
        valid_from: from,
        valid_to: to,
    }
}
