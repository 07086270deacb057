//! `GET /api/v1/cards/{agent}`: the generations of an agent's card, and what changed from each to the next.
//!
//! In: the snapshot. Out: generations, oldest first. Says what differs, not whether it matters: that is the rules' business.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::problem::Problem;
use super::snapshot::{Card, Skill};
use super::{Api, answer};
use crate::instant::Instant;

#[derive(Serialize)]
struct Cards<'a> {
    agent: &'a str,
    generations: Vec<GenerationOut<'a>>,
}

#[derive(Serialize)]
struct GenerationOut<'a> {
    version: &'a str,
    contract_sha256: &'a str,
    fingerprint: &'a str,
    valid_from: String,
    valid_to: Option<String>,
    name: &'a str,
    protocol_versions: &'a BTreeSet<String>,
    endpoints: &'a BTreeSet<String>,
    streaming: Option<bool>,
    push_notifications: Option<bool>,
    security_schemes: &'a BTreeSet<String>,
    signature_kids: &'a BTreeSet<String>,
    skills: BTreeMap<&'a str, SkillOut<'a>>,
    /// What is other than in the generation before; null for the first.
    diff: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct SkillOut<'a> {
    input_modes: &'a BTreeSet<String>,
    output_modes: &'a BTreeSet<String>,
}

/// The agent is all that follows, slashes included, since its identity may have a path.
pub(super) async fn of_agent(State(api): State<Api>, Path(agent): Path<String>) -> Result<Response, Problem> {
    let snapshot = api.snapshot.load();
    let Some(known) = snapshot.agents.get(&agent) else {
        return Err(Problem::not_found("no agent has this identity; /api/v1/agents lists them"));
    };
    let before = std::iter::once(None).chain(known.cards.iter().map(Some));
    let generations = known.cards.iter().zip(before).map(|(card, before)| GenerationOut::of(card, before)).collect();
    Ok(answer(StatusCode::OK, &Cards { agent: &agent, generations }))
}

impl<'a> GenerationOut<'a> {
    fn of(card: &'a Card, before: Option<&Card>) -> Self {
        let skill = |skill: &'a Skill| SkillOut { input_modes: &skill.input_modes, output_modes: &skill.output_modes };
        Self {
            version: &card.generation.version,
            contract_sha256: &card.generation.contract_sha256,
            fingerprint: &card.fingerprint,
            valid_from: card.generation.valid_from.to_rfc3339(),
            valid_to: card.generation.valid_to.map(Instant::to_rfc3339),
            name: &card.name,
            protocol_versions: &card.protocol_versions,
            endpoints: &card.endpoints,
            streaming: card.streaming,
            push_notifications: card.push_notifications,
            security_schemes: &card.security_schemes,
            signature_kids: &card.signature_kids,
            skills: card.skills.iter().map(|(id, of_id)| (id.as_str(), skill(of_id))).collect(),
            diff: before.map(|before| diff(before, card)),
        }
    }
}

/// What differs: `from` and `to` of what has one value, `added` and `removed` of what has many. What is equal is left out.
fn diff(before: &Card, after: &Card) -> Map<String, Value> {
    let sets = [
        ("protocol_versions", &before.protocol_versions, &after.protocol_versions),
        ("endpoints", &before.endpoints, &after.endpoints),
        ("security_schemes", &before.security_schemes, &after.security_schemes),
        ("signature_kids", &before.signature_kids, &after.signature_kids),
    ];
    let values = [
        ("version", value(&before.generation.version, &after.generation.version)),
        ("name", value(&before.name, &after.name)),
        ("streaming", value(before.streaming, after.streaming)),
        ("push_notifications", value(before.push_notifications, after.push_notifications)),
        ("skills", skills(&before.skills, &after.skills)),
    ];
    let sets = sets.into_iter().map(|(name, before, after)| (name, set(before, after)));
    let changed = values.into_iter().chain(sets).filter_map(|(name, change)| Some((name.to_owned(), change?)));
    changed.collect()
}

fn value<T: PartialEq + Serialize>(before: T, after: T) -> Option<Value> {
    (before != after).then(|| json!({"from": before, "to": after}))
}

fn set(before: &BTreeSet<String>, after: &BTreeSet<String>) -> Option<Value> {
    let added: Vec<_> = after.difference(before).collect();
    let removed: Vec<_> = before.difference(after).collect();
    (before != after).then(|| json!({"added": added, "removed": removed}))
}

fn skills(before: &BTreeMap<String, Skill>, after: &BTreeMap<String, Skill>) -> Option<Value> {
    let added: Vec<_> = after.keys().filter(|id| !before.contains_key(*id)).collect();
    let removed: Vec<_> = before.keys().filter(|id| !after.contains_key(*id)).collect();
    let in_both = after.iter().filter_map(|(id, skill)| Some((id, before.get(id)?, skill)));
    let changed: Map<String, Value> =
        in_both.filter_map(|(id, before, after)| Some((id.clone(), redefined(before, after)?))).collect();
    (before != after).then(|| json!({"added": added, "removed": removed, "changed": changed}))
}

fn redefined(before: &Skill, after: &Skill) -> Option<Value> {
    let changes = [
        ("input_modes", set(&before.input_modes, &after.input_modes)),
        ("output_modes", set(&before.output_modes, &after.output_modes)),
        ("security_sha256", value(&before.security_sha256, &after.security_sha256)),
    ];
    let changes: Map<String, Value> =
        changes.into_iter().filter_map(|(name, change)| Some((name.to_owned(), change?))).collect();
    (!changes.is_empty()).then_some(Value::Object(changes))
}
