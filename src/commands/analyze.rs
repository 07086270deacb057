//! `analyze`: captures in, verdict out.
//!
//! In: paths and settings. Out: the report on standard output; a diagnosis on standard error when there is no verdict.
//! Every stage of a run is called from here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context;
use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use super::baseline::baseline;
use super::corpus::known_rule;
use super::intake::{Account, Gathering};
use super::kept::{Peeked, Places, places};
use super::progress::Progress;
use super::setup::{engine, identities, key_map, limits, unmet, vocabulary};
use super::window::Window;
use super::{Outcome, configure, page_width, print, say};
use crate::cli::{Analyze, Global};
use crate::config::{Config, Format, Overrides};
use crate::decode;
use crate::findings::{Accepted, Report, Suppression, Unjudged};
use crate::instant::Instant;
use crate::normalize::{Normalizer, date_what_came_first, identity};
use crate::publish::table::Detail;
use crate::publish::{clean, diagnosis, json, junit, markdown, sarif, table};
use crate::receive::{self, Input};
use crate::rules::{self, AsOf, Corpus, Engine};
use crate::tables::Facts;

/// Runs `analyze`.
pub(super) fn run(args: Analyze, global: &Global) -> anyhow::Result<Outcome> {
    if args.print_schema {
        print(json::SCHEMA)?;
        return Ok(Outcome::Clean);
    }
    let given = Overrides {
        format: args.format,
        fail_on: args.fail_on,
        rules: args.rules,
        as_of: args.as_of,
        ..Overrides::default()
    };
    let config = configure(global, given)?;
    let engine = engine(&config)?;
    let needed = needed(&args.needed, &config, engine.corpus())?;
    let accepted =
        Accepted { baseline: baseline(args.baseline.as_deref())?, suppressions: config.suppressions.clone() };
    // Log lines and a moving line would overwrite each other.
    let progress = Progress::start(!global.quiet && global.verbose == 0);
    let (facts, account) = gather(&args.paths, &config, &progress)?;
    if let Some(unmet) = unmet(&config, &facts).filter(|_| !global.quiet && !facts.is_empty()) {
        say(&unmet);
    }
    if let Some(folder) = &args.export {
        rules::export(&facts.batches()?, folder)?;
    }
    let window = Window::of(args.when.since, args.when.until, config.as_of, &facts)?;
    progress.doing(format!("judging {} facts", facts.len()));
    let report = Report { needed, ..judge(&facts, account, &engine, &config, &accepted, window)? };
    drop(progress);

    publish(&report, &config, engine.corpus(), detail(global))?;
    let unjudged = diagnosis::render(&report);
    if let Some(diagnosis) = &unjudged {
        say(diagnosis);
    }
    Ok(match unjudged {
        Some(_) => Outcome::Unjudged,
        None if config.fail_on.fails(report.worst()) => Outcome::Found,
        None => Outcome::Clean,
    })
}

/// Reads every input into one set of facts.
pub(super) fn gather(paths: &[PathBuf], config: &Config, progress: &Progress) -> anyhow::Result<(Facts, Account)> {
    let limits = limits(&config.limits);
    let keys = key_map(&config.exchange_keys)?;
    let mut normalizer = Normalizer::new(vocabulary(config)?);
    let mut account = Account::default();
    let mut kept = Facts::default();
    let Places { logs, others, unfilled } = places(paths)?;
    account.unfilled(&unfilled);
    let mut read = |input: &Input, is_last: bool| {
        let name = clean(&input.name);
        progress.doing(format!("reading {name}"));
        tracing::info!(source = %name, bytes = input.bytes_on_disk, "reading");
        let mut sink = Gathering::of(&input.name, &config.observers, &mut normalizer, &mut account);
        let opened = match config.limits.max_inflated_bytes {
            Some(most) => input.open_limited(most),
            None => input.open(),
        };
        match opened {
            Ok(reader) => {
                let file = Peeked::new(reader);
                match file.kind() {
                    Some(kind) => kept.append(sink.kept(&input.name, kind, file.facts(is_last))),
                    None => decode::decode_with(&input.name, Box::new(file), &limits, &keys, &mut sink),
                }
            }
            Err(refusal) => sink.unreadable(&input.name, &refusal),
        }
    };
    logs.iter().filter(|log| log.input.is_there()).for_each(|log| read(&log.input, log.is_last));
    receive::inputs(&others)?.iter().for_each(|input| read(input, true));
    let mut facts = normalizer.finish().facts;
    date_what_came_first(&mut facts);
    facts.append(kept);
    identity::resolve(&mut facts, &identities(config));
    facts.make_set();
    Ok((facts, account))
}

/// Evaluates the rules that are wanted.
fn judge(
    facts: &Facts,
    account: Account,
    engine: &Engine,
    config: &Config,
    accepted: &Accepted,
    window: Window,
) -> anyhow::Result<Report> {
    let wanted = |rule: &str| config.rules.is_empty() || config.rules.iter().any(|id| id == rule);
    let batches = facts.batches()?;
    let mut coverage = rules::coverage(engine.corpus(), &batches);
    coverage.retain(|rule| wanted(&rule.rule));
    coverage.sort_by(|a, b| a.rule.cmp(&b.rule));

    let as_of = config.as_of.map_or_else(|| AsOf::last_fact(&batches), AsOf::Fixed);
    let intake = account.close_with(facts);
    let advice = rules::Advice::embedded().beyond(&intake.shown()).shown_by(&intake.sources, &batches);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tracing::info!(facts = facts.len(), rules = coverage.len(), "judging");
    let evaluation = runtime.block_on(engine.evaluate(known_by(facts, config.as_of)?.unwrap_or(batches)))?;
    Report::sees(&mut coverage, evaluation.findings.iter().map(|finding| finding.rule.as_str()));

    let in_use = intake.emitters();
    let needs = engine.corpus().rules.iter().filter(|rule| wanted(&rule.id)).flat_map(|rule| &rule.header.needs);
    let missing = needs.filter(|need| coverage.iter().any(|rule| rule.missing.contains(&need.text)));
    let advice = missing.filter_map(|need| Some((need.text.clone(), advice.sentence(need, &in_use)?))).collect();

    let mut findings = rules::select(evaluation.findings, &as_of);
    // Judged with all evidence, shown if they were seen in the window.
    let all = findings.len();
    findings.retain(|finding| window.touches(finding.first_seen, finding.last_seen));
    let outside = all - findings.len();
    let window_is_empty = findings.is_empty() && window.is_empty(facts);
    // A suppression ends on a day of the calendar of who reads the verdict, not of the capture.
    let now = Instant(chrono::Utc::now().timestamp_nanos_opt().unwrap_or_default());
    for over in accepted.expired(now) {
        let (since, Suppression { place, reason, .. }) = (over.expires.to_rfc3339(), over);
        say(&format!("{place}: a suppression is over since {since}: {reason}\n"));
    }
    // Of a part of time or of rules, what does not fit may fit elsewhere.
    if window.since.is_none() && window.until.is_none() && config.rules.is_empty() {
        for unused in accepted.unused(&findings, now) {
            say(&format!("{}: a suppression fits no finding: {}\n", unused.place, unused.reason));
        }
    }
    let accepted = accepted.take_from(&mut findings, now);
    // A view that failed blinds rules that read it, so every failure counts.
    let failures = evaluation.failures;
    Ok(Report {
        coverage,
        advice,
        failures,
        intake,
        accepted,
        as_of: config.as_of,
        since: window.since,
        until: window.until,
        outside,
        window_is_empty,
        ..Report::new(findings, &evaluation.generations)
    })
}

/// What was known at an instant: nobody knew then what came later.
fn known_by(facts: &Facts, as_of: Option<Instant>) -> Result<Option<Vec<(&'static str, RecordBatch)>>, ArrowError> {
    let Some(as_of) = as_of else { return Ok(None) };
    let mut known = facts.clone();
    known.retain(|common| common.observed_at <= as_of);
    known.batches().map(Some)
}

/// Rules that must see, by their ids or `all`; of those that were asked for.
fn needed(named: &[String], config: &Config, corpus: &Corpus) -> anyhow::Result<BTreeSet<String>> {
    let asked = |id: &String| config.rules.is_empty() || config.rules.contains(id);
    let mut needed = BTreeSet::new();
    for id in named {
        if id == "all" {
            needed.extend(corpus.rules.iter().map(|rule| rule.id.clone()).filter(asked));
            continue;
        }
        known_rule(id, corpus).context("--need")?;
        anyhow::ensure!(asked(id), "--need {id}: it is not among the rules of --rule");
        needed.insert(id.clone());
    }
    Ok(needed)
}

/// Prints the report. Where nothing was judged there is none: the diagnosis says why.
fn publish(report: &Report, config: &Config, corpus: &Corpus, detail: Detail) -> anyhow::Result<()> {
    match config.format {
        Format::Json => print(&json::render(report)?),
        Format::Ndjson => print(&json::render_lines(report)?),
        Format::Sarif => print(&sarif::render(report, &titles(corpus))?),
        Format::Junit => print(&junit::render(report, |finding| config.fail_on.fails(Some(finding.severity)))?),
        Format::Table | Format::Markdown
            if matches!(report.unjudged(), Some(Unjudged::NoFacts | Unjudged::NoTimes)) =>
        {
            Ok(())
        }
        Format::Markdown => print(&markdown::render(report)),
        Format::Table => print(&table::render(report, page_width(), detail)),
    }
}

/// Titles of rules, by id.
fn titles(corpus: &Corpus) -> BTreeMap<String, String> {
    corpus.rules.iter().map(|rule| (rule.id.clone(), rule.header.title.clone())).collect()
}

fn detail(global: &Global) -> Detail {
    match (global.quiet, global.verbose) {
        (true, _) => Detail::Brief,
        (false, 0) => Detail::Normal,
        (false, _) => Detail::Full,
    }
}
