//! Coverage for programs: one JSON object, described by `coverage.schema.json`.
//!
//! In: coverage. Out: JSON. As with `analyze`, the types here are the published contract; members are only ever added within
//! one `schema_version`.

use serde::Serialize;

use crate::findings::coverage::{Coverage, Gain, Missing, Sight, State, Told, Unseen};
use crate::publish::json::write;

/// Version of the form; raised when a member changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 1;
/// JSON Schema of the form.
pub const SCHEMA: &str = include_str!("coverage.schema.json");

/// Coverage as JSON.
///
/// # Errors
/// When it cannot be written as JSON, which would be a defect of the types here.
pub fn render(coverage: &Coverage) -> Result<String, serde_json::Error> {
    let number = |state| coverage.of(state).count();
    write(&Output {
        schema_version: SCHEMA_VERSION,
        summary: Summary {
            rules: coverage.rules.len(),
            able: number(State::Able),
            partly: number(State::Partly),
            blind: number(State::Blind),
            records: coverage.intake.records().saturating_sub(coverage.intake.kept()),
            kept_facts: coverage.intake.kept(),
            facts: coverage.intake.facts,
            rejects: coverage.intake.rejected(),
        },
        agents: &coverage.agents,
        emitters: coverage.emitters.iter().map(|Told { id, title }| EmitterOut { id, title }).collect(),
        sources: sources(coverage),
        rules: coverage.rules.iter().map(RuleOut::of).collect(),
        turn_on: coverage.gains.iter().map(GainOut::of).collect(),
    })
}

#[derive(Serialize)]
struct Output<'a> {
    schema_version: u32,
    summary: Summary,
    agents: &'a [String],
    emitters: Vec<EmitterOut<'a>>,
    sources: Vec<SourceOut<'a>>,
    rules: Vec<RuleOut<'a>>,
    turn_on: Vec<GainOut<'a>>,
}

#[derive(Serialize)]
struct EmitterOut<'a> {
    id: &'a str,
    title: &'a str,
}

#[derive(Serialize)]
struct Summary {
    rules: usize,
    able: usize,
    partly: usize,
    blind: usize,
    records: u64,
    kept_facts: u64,
    facts: u64,
    rejects: u64,
}

#[derive(Serialize)]
struct SourceOut<'a> {
    source: &'a str,
    formats: &'a [&'static str],
    emitters: &'a [String],
    records: u64,
    kept_facts: u64,
    rejects: u64,
    facts: std::collections::BTreeMap<&'static str, u64>,
}

fn sources(coverage: &Coverage) -> Vec<SourceOut<'_>> {
    let sources = coverage.intake.sources.iter().enumerate();
    sources
        .map(|(at, source)| SourceOut {
            source: &source.name,
            formats: &source.formats,
            emitters: &source.emitters,
            records: source.records.saturating_sub(source.kept),
            kept_facts: source.kept,
            rejects: source.rejects,
            facts: coverage.yields.get(at).into_iter().flatten().copied().collect(),
        })
        .collect()
}

#[derive(Serialize)]
struct RuleOut<'a> {
    rule: &'a str,
    state: &'static str,
    missing: Vec<MissingOut<'a>>,
    unseen_agents: Vec<UnseenOut<'a>>,
    sees_nameless: bool,
}

impl<'a> RuleOut<'a> {
    fn of(sight: &'a Sight) -> Self {
        Self {
            rule: &sight.rule,
            state: sight.state.as_str(),
            missing: sight.missing.iter().map(MissingOut::of).collect(),
            sees_nameless: sight.nameless,
            unseen_agents: sight.unseen.iter().map(UnseenOut::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct MissingOut<'a> {
    field: &'a str,
    has_other: bool,
    advice: &'a str,
    not_seen: Option<&'a str>,
    never: &'a [String],
}

impl<'a> MissingOut<'a> {
    fn of(missing: &'a Missing) -> Self {
        let Missing { need, has_other, advice, unseen, never } = missing;
        Self { field: need, has_other: *has_other, advice, not_seen: unseen.as_deref(), never }
    }
}

#[derive(Serialize)]
struct UnseenOut<'a> {
    agent: &'a str,
    missing: &'a [String],
}

impl<'a> UnseenOut<'a> {
    fn of(unseen: &'a Unseen) -> Self {
        Self { agent: &unseen.agent, missing: &unseen.missing }
    }
}

#[derive(Serialize)]
struct GainOut<'a> {
    emitter: Option<&'a str>,
    setting: Option<&'a str>,
    note: &'a str,
    source: Option<&'a str>,
    fills: &'a [String],
    wakes: &'a [String],
    perhaps: &'a [String],
    if_said: &'a [String],
    helps: &'a [String],
}

impl<'a> GainOut<'a> {
    fn of(gain: &'a Gain) -> Self {
        let known = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        let Gain { emitter, set, note, source, fills, wakes, perhaps, if_said, helps } = gain;
        let (emitter, setting, source) = (known(emitter), known(set), known(source));
        Self { emitter, setting, note, source, fills, wakes, perhaps, if_said, helps }
    }
}
