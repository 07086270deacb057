//! `coverage`: which rules these sources can feed, and what would let the others see.
//!
//! In: paths and settings. Out: what each source was taken for and yields, what each rule sees, what to turn on. Judges no
//! agent: it says what a verdict could rest on.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::analyze::gather;
use super::progress::Progress;
use super::setup::engine;
use super::window::Window;
use super::{Outcome, configure, page_width, print, say};
use crate::cli::{Coverage as Args, CoverageFormat, Global};
use crate::config::Overrides;
use crate::findings::coverage::{Coverage, Sight, State, Told};
use crate::findings::{Intake, Report};
use crate::publish::{coverage as render, diagnosis};
use crate::rules::{self, Advice, Engine};
use crate::tables::Facts;

/// Facts of each table.
type Batches = [(&'static str, arrow::array::RecordBatch)];

/// Runs `coverage`.
pub(super) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    if args.print_schema {
        print(render::SCHEMA)?;
        return Ok(Outcome::Clean);
    }
    let config = configure(global, Overrides { rules: args.rules, ..Overrides::default() })?;
    let engine = engine(&config)?;
    let progress = Progress::start(!global.quiet && global.verbose == 0);
    let (mut facts, account) = gather(&args.paths, &config, &progress)?;
    let window = Window::of(args.when.since, args.when.until, config.as_of, &facts)?;
    let window_is_empty = window.is_empty(&facts);
    cut(&mut facts, window);

    let intake = account.close_with(&facts);
    let batches = facts.batches()?;
    let advice = Advice::embedded().beyond(&intake.shown()).shown_by(&intake.sources, &batches);
    let in_use = intake.emitters();
    let wanted = |rule: &str| config.rules.is_empty() || config.rules.iter().any(|id| id == rule);
    let sight = |fired: &_| rules::sight(engine.corpus(), wanted, fired, &batches, &in_use, &advice);
    let by_needs = sight(&BTreeMap::new()).0;
    let (rules, agents, gains) = sight(&fired(&engine, &by_needs, &batches)?);
    drop(progress);

    let called = advice.emitters().iter().filter(|emitter| in_use.contains(&emitter.id));
    let coverage = Coverage {
        yields: yields(&intake, &facts),
        emitters: called.map(|emitter| Told { id: emitter.id.clone(), title: emitter.title.clone() }).collect(),
        clients: intake.names_no_client.then(|| advice.on_clients().to_owned()),
        intake,
        agents,
        rules,
        gains,
    };
    let understood = coverage.intake.facts > 0;
    match args.format {
        CoverageFormat::Json => print(&render::json(&coverage)?)?,
        CoverageFormat::Markdown => print(&render::markdown(&coverage))?,
        CoverageFormat::Table => print(&render::page(&coverage, page_width(), global.quiet || !understood))?,
    }
    if !understood {
        let report = Report {
            intake: coverage.intake,
            window_is_empty,
            since: window.since,
            until: window.until,
            ..Report::default()
        };
        diagnosis::render(&report).iter().for_each(|diagnosis| say(diagnosis));
        return Ok(Outcome::Unjudged);
    }
    Ok(if coverage.of(State::Blind).next().is_some() { Outcome::Found } else { Outcome::Clean })
}

/// Rules that lack something, of all agents or of some, and the agents of which they yield a row all the same.
fn fired(engine: &Engine, sights: &[Sight], batches: &Batches) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let lacking = sights.iter().filter(|sight| sight.state != State::Able);
    let lacking: Vec<&str> = lacking.map(|sight| sight.rule.as_str()).collect();
    let mut fired: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    if lacking.is_empty() || batches.iter().all(|(_, batch)| batch.num_rows() == 0) {
        return Ok(fired);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let evaluation = runtime.block_on(engine.clone().only(&lacking)?.evaluate(batches.to_vec()))?;
    for finding in evaluation.findings {
        fired.entry(finding.rule).or_default().insert(finding.agent);
    }
    Ok(fired)
}

/// Leaves the facts that were observed in a window. What a card body says has no time of its own: it was there when the card
/// was shown.
fn cut(facts: &mut Facts, window: Window) {
    let shown = facts.cards.iter().filter(|card| window.holds(card.common.observed_at));
    let bodies: HashSet<String> = shown.map(|card| card.own.body_sha256.clone()).collect();
    let (mut skills, mut endpoints) =
        (std::mem::take(&mut facts.card_skills), std::mem::take(&mut facts.card_endpoints));
    skills.retain(|skill| bodies.contains(&skill.own.body_sha256));
    endpoints.retain(|endpoint| bodies.contains(&endpoint.own.body_sha256));
    facts.retain(|common| window.holds(common.observed_at));
    (facts.card_skills, facts.card_endpoints) = (skills, endpoints);
}

/// Facts of each source by table. Facts that were kept name the sources that they came from first: they are counted for what they
/// were kept in.
fn yields(intake: &Intake, facts: &Facts) -> Vec<Vec<(&'static str, u64)>> {
    let mut by_source: BTreeMap<&str, BTreeMap<&'static str, u64>> = BTreeMap::new();
    for (table, common) in facts.by_table() {
        *by_source.entry(&common.source).or_default().entry(table).or_default() += 1;
    }
    let of = |name: &String| by_source.get(name.as_str()).cloned().unwrap_or_default().into_iter().collect();
    let mut yields: Vec<Vec<(&'static str, u64)>> = intake.sources.iter().map(|source| of(&source.name)).collect();
    let mut kept: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (_, tables) in by_source.iter().filter(|(name, _)| intake.sources.iter().all(|source| source.name != **name)) {
        tables.iter().for_each(|(table, rows)| *kept.entry(table).or_default() += rows);
    }
    let holds_kept = |at: &usize| yields[*at].is_empty() && intake.sources[*at].records > 0;
    if let Some(at) = (0..yields.len()).find(holds_kept) {
        yields[at] = kept.into_iter().collect();
    }
    yields
}
