//! `analyze`: captures in, verdict out.
//!
//! In: paths and settings. Out: the report on standard output; a diagnosis on standard error when there is no verdict.
//! Every stage of a run is called from here.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};

use super::corpus::{corpus, known_rule};
use super::intake::{Account, Gathering};
use super::kept::Peeked;
use super::progress::Progress;
use super::{Outcome, configure, page_width, print, say};
use crate::cli::{Analyze, Global};
use crate::config::{Config, Format, LimitSettings, Overrides};
use crate::decode::key_map::KeyMap;
use crate::decode::{self, Limits};
use crate::findings::{Report, Unjudged};
use crate::normalize::identity::{self, IdentitySettings};
use crate::normalize::patterns::Patterns;
use crate::normalize::{Normalizer, NormalizerSettings};
use crate::publish::table::Detail;
use crate::publish::{clean, diagnosis, json, table};
use crate::receive::{self, Input};
use crate::rules::{self, AsOf, Engine};
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
    let inputs = receive::inputs(&args.paths)?;

    // Log lines and a moving line would overwrite each other.
    let progress = Progress::start(!global.quiet && global.verbose == 0);
    let (facts, account) = gather(&inputs, &config, &progress)?;
    if let Some(folder) = &args.export {
        rules::export(&facts.batches()?, folder)?;
    }
    progress.doing(format!("judging {} facts", facts.len()));
    let report = judge(&facts, account, &engine, &config)?;
    drop(progress);

    publish(&report, &config, detail(global))?;
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
fn gather(inputs: &[Input], config: &Config, progress: &Progress) -> anyhow::Result<(Facts, Account)> {
    let limits = limits(&config.limits);
    let keys = key_map(&config.exchange_keys)?;
    let mut normalizer = Normalizer::new(vocabulary(config)?);
    let mut account = Account::default();
    let mut kept = Facts::default();
    for input in inputs {
        let name = clean(&input.name);
        progress.doing(format!("reading {name}"));
        tracing::info!(source = %name, bytes = input.bytes_on_disk, "reading");
        let mut sink = Gathering::of(&input.name, &config.observers, &mut normalizer, &mut account);
        let opened = match config.limits.max_inflated_bytes {
            Some(most) => input.open_limited(most),
            None => input.open(),
        };
        match opened {
            Ok(reader) => match Peeked::new(reader) {
                file if file.is_parquet() => kept.append(sink.kept(&input.name, file.facts())),
                reader => decode::decode_with(&input.name, Box::new(reader), &limits, &keys, &mut sink),
            },
            Err(refusal) => sink.unreadable(&input.name, &refusal),
        }
    }
    let mut facts = normalizer.finish().facts;
    facts.append(kept);
    identity::resolve(&mut facts, &identities(config));
    facts.make_set();
    Ok((facts, account))
}

/// The words of emitters: those of the folder of rules where it has any, else the built-in ones, after the configured ones.
fn vocabulary(config: &Config) -> anyhow::Result<NormalizerSettings> {
    let own = config.queries.as_ref().map(|folder| folder.join("patterns.toml")).filter(|file| file.is_file());
    let patterns = match (own, &config.vocabulary.patterns) {
        (None, None) => Patterns::embedded(),
        (None, Some(more)) => read(more, Patterns::extended_by)?,
        (Some(own), None) => read(&own, Patterns::replaced_by)?,
        (Some(own), Some(_)) => bail!("[vocabulary]: put the patterns into {}, which is read instead", own.display()),
    };
    Ok(NormalizerSettings { patterns, ..NormalizerSettings::default() })
}

fn read<T, E>(path: &Path, parse: impl Fn(&str) -> Result<T, E>) -> anyhow::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

fn limits(settings: &LimitSettings) -> Limits {
    let built_in = Limits::default();
    Limits {
        max_record_bytes: settings.max_record_bytes.unwrap_or(built_in.max_record_bytes),
        max_depth: settings.max_depth.unwrap_or(built_in.max_depth),
    }
}

/// The spellings of home-made recorders, those of the configuration first.
fn key_map(configured: &BTreeMap<String, Vec<String>>) -> anyhow::Result<KeyMap> {
    let mut keys = KeyMap::built_in().clone();
    for (field, paths) in configured {
        for path in paths.iter().rev() {
            if !keys.prefer(field, path) {
                let known: Vec<&str> = KeyMap::field_names().collect();
                bail!("[exchange_keys]: there is no field \"{field}\"; there are {}", known.join(", "));
            }
        }
    }
    Ok(keys)
}

/// Who is who by the configuration, turned round: there it is told by name, here it is looked up by reference.
fn identities(config: &Config) -> IdentitySettings {
    let by_reference = |names: &BTreeMap<String, Vec<String>>| {
        let pairs = names.iter().flat_map(|(name, references)| {
            references.iter().map(|reference| (bare(reference).to_owned(), name.clone()))
        });
        pairs.collect()
    };
    IdentitySettings { agents: by_reference(&config.agents), clients: by_reference(&config.clients) }
}

/// A reference without scheme and closing slash, as references are compared: people paste urls.
fn bare(reference: &str) -> &str {
    reference.split_once("://").map_or(reference, |(_, rest)| rest).trim_end_matches('/')
}

/// The rules, with the thresholds of the configuration, ready to judge.
fn engine(config: &Config) -> anyhow::Result<Engine> {
    let corpus = corpus(config.queries.as_deref())?;
    for id in &config.rules {
        known_rule(id, &corpus)?;
    }
    let mut overrides = rules::Overrides::new();
    for (query, values) in &config.params {
        let params = values.iter().map(|(name, value)| Ok((name.clone(), value.clone().try_into()?)));
        let params = params.collect::<Result<_, toml::de::Error>>();
        overrides.insert(query.clone(), params.with_context(|| format!("[params.{query}]"))?);
    }
    let engine = Engine::new(corpus, &overrides).context("[params]")?;
    Ok(if config.rules.is_empty() { engine } else { engine.only(&config.rules)? })
}

/// Evaluates the rules that are wanted.
fn judge(facts: &Facts, account: Account, engine: &Engine, config: &Config) -> anyhow::Result<Report> {
    let wanted = |rule: &str| config.rules.is_empty() || config.rules.iter().any(|id| id == rule);
    let batches = facts.batches()?;
    let mut coverage = rules::coverage(engine.corpus(), &batches);
    coverage.retain(|rule| wanted(&rule.rule));
    coverage.sort_by(|a, b| a.rule.cmp(&b.rule));

    let as_of = config.as_of.map_or_else(|| AsOf::last_fact(&batches), AsOf::Fixed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tracing::info!(facts = facts.len(), rules = coverage.len(), "judging");
    let evaluation = runtime.block_on(engine.evaluate(batches))?;
    let findings = rules::select(evaluation.findings, &as_of);
    // A view that failed blinds rules that read it, so every failure counts.
    let failures = evaluation.failures;
    let intake = account.close(facts.len());
    Ok(Report { coverage, failures, intake, as_of: config.as_of, ..Report::new(findings, &evaluation.generations) })
}

/// Prints the report. Where nothing was judged there is none: the diagnosis says why.
fn publish(report: &Report, config: &Config, detail: Detail) -> anyhow::Result<()> {
    match config.format {
        Format::Json => print(&json::render(report)?),
        Format::Table if report.unjudged() == Some(Unjudged::NoFacts) => Ok(()),
        Format::Table => print(&table::render(report, page_width(), detail)),
    }
}

fn detail(global: &Global) -> Detail {
    match (global.quiet, global.verbose) {
        (true, _) => Detail::Brief,
        (false, 0) => Detail::Normal,
        (false, _) => Detail::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_who_is_looked_up_by_reference_without_scheme() {
        let agents = BTreeMap::from([(
            "summaries".to_owned(),
            vec!["https://a.example/a2a/".to_owned(), "Summary Agent".to_owned()],
        )]);
        let settings = identities(&Config { agents, ..Config::default() });
        let expected = [("Summary Agent", "summaries"), ("a.example/a2a", "summaries")];
        assert_eq!(settings.agents, BTreeMap::from(expected.map(|(r, n)| (r.to_owned(), n.to_owned()))));
    }
}
