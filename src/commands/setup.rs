//! What a configuration says, made into what the stages take.
//!
//! In: [`Config`]. Out: word lists, limits, key maps, names, the engine. Reads the files that the configuration names, and
//! judges nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::corpus::{corpus, known_rule};
use crate::config::{Config, LimitSettings, shown};
use crate::decode::Limits;
use crate::decode::key_map::KeyMap;
use crate::normalize::NormalizerSettings;
use crate::normalize::aliases::Aliases;
use crate::normalize::identity::{self, IdentitySettings};
use crate::normalize::patterns::Patterns;
use crate::rules::{self, Engine};
use crate::tables::Facts;

/// References that are told to lead to nothing.
const MOST_UNMET: usize = 3;

/// How records become facts: by the words of emitters, those of the folder of rules where it has any, else the built-in ones,
/// after the configured ones.
pub(super) fn vocabulary(config: &Config) -> anyhow::Result<NormalizerSettings> {
    let patterns = words(
        config.queries.as_ref().map(|folder| folder.join("patterns.toml")),
        config.vocabulary.patterns.as_deref(),
        (Patterns::embedded, Patterns::extended_by, Patterns::replaced_by),
    )?;
    let aliases = words(
        config.queries.as_ref().map(|folder| folder.join("aliases.toml")),
        config.vocabulary.aliases.as_deref(),
        (Aliases::embedded, Aliases::extended_by, Aliases::replaced_by),
    )?;
    let max_stream_bytes = limits(&config.limits).max_record_bytes;
    Ok(NormalizerSettings { patterns, aliases, max_stream_bytes })
}

/// Ways to come by a list of words: the built-in one, one that is tried before it, one instead of it.
type Ways<T, E> = (fn() -> T, fn(&str) -> Result<T, E>, fn(&str) -> Result<T, E>);

fn words<T, E>(own: Option<PathBuf>, more: Option<&Path>, ways: Ways<T, E>) -> anyhow::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let (embedded, extended_by, replaced_by) = ways;
    match (own.filter(|file| file.is_file()), more) {
        (None, None) => Ok(embedded()),
        (None, Some(more)) => read(more, extended_by),
        (Some(own), None) => read(&own, replaced_by),
        (Some(own), Some(_)) => bail!("[vocabulary]: put the words into {}, which is read instead", own.display()),
    }
}

fn read<T, E>(path: &Path, parse: impl Fn(&str) -> Result<T, E>) -> anyhow::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    parse(&text).with_context(|| path.display().to_string())
}

/// What decoding may cost.
pub(super) fn limits(settings: &LimitSettings) -> Limits {
    let built_in = Limits::default();
    Limits {
        max_record_bytes: settings.max_record_bytes.unwrap_or(built_in.max_record_bytes),
        max_depth: settings.max_depth.unwrap_or(built_in.max_depth),
    }
}

/// The spellings of home-made recorders, those of the configuration first.
pub(super) fn key_map(configured: &BTreeMap<String, Vec<String>>) -> anyhow::Result<KeyMap> {
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
pub(super) fn identities(config: &Config) -> IdentitySettings {
    let by_reference = |names: &BTreeMap<String, Vec<String>>| {
        let pairs =
            names.iter().flat_map(|(name, references)| references.iter().map(move |reference| (reference, name)));
        let spelled = pairs.flat_map(|(reference, name)| {
            let place = identity::as_place(reference);
            // What is no url may be a name that looks like a host.
            let given = Some(reference.clone()).filter(|_| place.is_none() || !reference.contains("://"));
            [given, place].into_iter().flatten().map(|spelling| (spelling, name.clone()))
        });
        spelled.collect()
    };
    IdentitySettings { agents: by_reference(&config.agents), clients: by_reference(&config.clients) }
}

/// What to say of references of the configuration that no fact has: one may be misspelt.
pub(super) fn unmet(config: &Config, facts: &Facts) -> Option<String> {
    let met = identity::met(facts, &identities(config));
    let is_met = |met: &BTreeSet<String>, text: &String| {
        met.contains(text) || identity::as_place(text).is_some_and(|place| met.contains(&place))
    };
    let of = |section: &'static str, names: &BTreeMap<String, Vec<String>>, met: &BTreeSet<String>| -> Vec<String> {
        let references = names.iter().flat_map(|(name, references)| references.iter().map(move |text| (name, text)));
        let unmet = references.filter(|(_, text)| !is_met(met, text));
        unmet.map(|(name, text)| format!("\"{}\" of [{section}] {name}", shown(text))).collect()
    };
    let mut unmet = of("agents", &config.agents, &met.agents);
    unmet.extend(of("clients", &config.clients, &met.clients));
    let more = unmet.len().saturating_sub(MOST_UNMET);
    unmet.truncate(MOST_UNMET);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!unmet.is_empty()).then(|| format!("nothing here is called {}{more}\n", unmet.join(", ")))
}

/// Where a configuration gives params: `file:line: [params.rule]`.
fn params_of(config: &Config, query: &str) -> String {
    let place = config.params_at.get(query).map(|place| format!("{place}: ")).unwrap_or_default();
    format!("{place}[params.{query}]")
}

/// The rules, with the thresholds of the configuration, ready to judge.
pub(super) fn engine(config: &Config) -> anyhow::Result<Engine> {
    let corpus = corpus(config)?;
    for id in &config.rules {
        known_rule(id, &corpus)?;
    }
    for suppression in &config.suppressions {
        if let Some(id) = &suppression.rule {
            known_rule(id, &corpus).with_context(|| format!("{}: [[suppress]]", suppression.place))?;
        }
    }
    let mut overrides = rules::Overrides::new();
    for (query, values) in &config.params {
        let params = values.iter().map(|(name, value)| Ok((name.clone(), value.clone().try_into()?)));
        let params = params.collect::<Result<_, toml::de::Error>>();
        overrides.insert(query.clone(), params.with_context(|| params_of(config, query))?);
    }
    let made = Engine::new(corpus, &overrides);
    let engine = made.map_err(|error| {
        let of = error.query().map(|query| params_of(config, query));
        anyhow::Error::new(error).context(of.unwrap_or_else(|| "[params]".to_owned()))
    })?;
    Ok(if config.rules.is_empty() { engine } else { engine.only(&config.rules)? })
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
