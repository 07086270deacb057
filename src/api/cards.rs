//! `GET /api/v1/cards/{agent}`: the generations of an agent's card, and what changed from each to the next.
//!
//! In: the snapshot. Out: generations, oldest first; those of the extended card after those of the public one. Says what
//! differs, not whether it matters: that is the rules' business.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::problem::Problem;
use super::{Api, answer};
use crate::measures::cards::{Change, Shown, Skill, changes};

#[derive(Serialize)]
struct Cards<'a> {
    agent: &'a str,
    generations: Vec<GenerationOut<'a>>,
}

#[derive(Serialize)]
struct GenerationOut<'a> {
    extended: bool,
    first_seen: String,
    last_seen: String,
    looks: usize,
    name: &'a str,
    version: &'a str,
    dialect: &'a str,
    fingerprint: &'a str,
    contract_sha256: &'a str,
    body_sha256: &'a str,
    protocol_versions: &'a BTreeSet<String>,
    endpoints: Vec<EndpointOut<'a>>,
    streaming: bool,
    push_notifications: bool,
    security_schemes: &'a BTreeSet<String>,
    /// Ways for callers to be let in; null where an older program stored the card.
    security_required: &'a Option<BTreeSet<String>>,
    signature_kids: &'a BTreeSet<String>,
    skills: BTreeMap<&'a str, SkillOut<'a>>,
    /// What is other than in the generation before, what clients rely on first; null for the first.
    changes: Option<Vec<ChangeOut>>,
}

#[derive(Serialize)]
struct EndpointOut<'a> {
    url: &'a str,
    binding: &'a str,
}

#[derive(Serialize)]
struct SkillOut<'a> {
    input_modes: &'a BTreeSet<String>,
    output_modes: &'a BTreeSet<String>,
}

#[derive(Serialize)]
struct ChangeOut {
    part: &'static str,
    says: String,
}

/// The agent is all that follows, slashes included, since its identity may have a path.
pub(super) async fn of_agent(
    State(api): State<Api>,
    agent: Result<Path<String>, PathRejection>,
) -> Result<Response, Problem> {
    let Path(agent) = agent.map_err(|_| Problem::not_text())?;
    let snapshot = api.snapshot.load();
    let Some(known) = snapshot.agents.get(&agent) else {
        return Err(Problem::not_found("no agent has this identity; /api/v1/agents lists them"));
    };
    let before = std::iter::once(None).chain(known.cards.iter().map(Some));
    let generations = known.cards.iter().zip(before).map(|(shown, before)| GenerationOut::of(shown, before)).collect();
    Ok(answer(StatusCode::OK, &Cards { agent: &agent, generations }))
}

impl<'a> GenerationOut<'a> {
    fn of(shown: &'a Shown, before: Option<&Shown>) -> Self {
        let Shown { card, extended, first_seen, last_seen, looks } = shown;
        // A public card and an extended one are meant to differ.
        let before = before.filter(|before| before.extended == *extended);
        let change = |change: Change| ChangeOut { part: change.part.as_str(), says: change.says };
        let skill = |skill: &'a Skill| SkillOut { input_modes: &skill.input_modes, output_modes: &skill.output_modes };
        Self {
            extended: *extended,
            first_seen: first_seen.to_rfc3339(),
            last_seen: last_seen.to_rfc3339(),
            looks: *looks,
            name: &card.name,
            version: &card.version,
            dialect: &card.dialect,
            fingerprint: &card.fingerprint,
            contract_sha256: &card.contract_sha256,
            body_sha256: &card.body_sha256,
            protocol_versions: &card.protocol_versions,
            endpoints: card.endpoints.iter().map(|(url, binding)| EndpointOut { url, binding }).collect(),
            streaming: card.streaming,
            push_notifications: card.push_notifications,
            security_schemes: &card.security_schemes,
            security_required: &card.security_required,
            signature_kids: &card.signature_kids,
            skills: card.skills.iter().map(|(id, of_id)| (id.as_str(), skill(of_id))).collect(),
            changes: before.map(|before| changes(&before.card, card).into_iter().map(change).collect()),
        }
    }
}
