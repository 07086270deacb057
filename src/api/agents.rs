//! `GET /api/v1/agents`.
//!
//! In: the snapshot. Out: the agents, in order of their identities.

use std::ops::Bound;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde::Serialize;

use super::problem::Problem;
use super::query::Query;
use super::snapshot::{Agent, Card, Snapshot};
use super::{Api, answer};
use crate::findings::Severity;
use crate::instant::Instant;

#[derive(Serialize)]
struct Page<'a> {
    as_of: Option<String>,
    /// Agents on all pages.
    total: usize,
    agents: Vec<AgentOut<'a>>,
    /// What to give as `cursor` for the page after this; null on the last.
    next: Option<&'a str>,
}

#[derive(Serialize)]
struct AgentOut<'a> {
    agent: &'a str,
    open_tasks: u64,
    last_seen: Option<String>,
    findings: Counts,
    card: Option<CardOut<'a>>,
}

#[derive(Serialize)]
struct Counts {
    critical: u64,
    warning: u64,
    info: u64,
}

#[derive(Serialize)]
struct CardOut<'a> {
    version: &'a str,
    fingerprint: &'a str,
    since: String,
    generations: usize,
}

pub(super) async fn list(State(api): State<Api>, uri: Uri) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["limit", "cursor"])?;
    let limit = query.limit()?;
    let snapshot = api.snapshot.load();
    let start = query.one("cursor")?.map_or(Bound::Unbounded, Bound::Excluded);
    let mut rest = snapshot.agents.range::<str, _>((start, Bound::Unbounded));
    let shown: Vec<(&String, &Agent)> = rest.by_ref().take(limit).collect();
    let has_more = rest.next().is_some();
    let page = Page {
        as_of: snapshot.as_of.map(Instant::to_rfc3339),
        total: snapshot.agents.len(),
        next: shown.last().filter(|_| has_more).map(|(name, _)| name.as_str()),
        agents: shown.into_iter().map(|(name, agent)| AgentOut::of(name, agent, &snapshot)).collect(),
    };
    Ok(answer(StatusCode::OK, &page))
}

impl<'a> AgentOut<'a> {
    fn of(name: &'a str, agent: &'a Agent, snapshot: &Snapshot) -> Self {
        let count = |severity| snapshot.count(name, severity);
        Self {
            agent: name,
            open_tasks: agent.open_tasks,
            last_seen: agent.last_seen.map(Instant::to_rfc3339),
            findings: Counts {
                critical: count(Severity::Critical),
                warning: count(Severity::Warning),
                info: count(Severity::Info),
            },
            card: agent.cards.last().map(|card: &Card| CardOut {
                version: &card.generation.version,
                fingerprint: &card.fingerprint,
                since: card.generation.valid_from.to_rfc3339(),
                generations: agent.cards.len(),
            }),
        }
    }
}
