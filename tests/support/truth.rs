//! The truth of the captures: which runs there are, in which representations, and what must be said of each.
//!
//! In: tests/captures and its truth*.toml. Out: files of a representation, and expectations for it. How they read is
//! said at the head of truth.toml; a key that it does not say is an error.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::case::Expect;
use super::judge::Files;
use super::{Told, library};

/// Names of the representations, in the order in which they give severity and confidence.
pub const REPRESENTATIONS: [&str; 10] =
    ["exchanges", "har", "traces", "logs", "exchanges_logs", "pb", "draft", "kong", "events", "exchanges_events"];

/// Run whose calls the synthetic files hold.
const SYNTHETIC_OF: &str = "jsonrpc";

/// One finding that must appear in a run.
#[derive(Debug, Clone, Deserialize)]
pub struct Entry {
    /// Run.
    pub run: String,
    /// Step of the run that causes it.
    pub step: String,
    /// Rule.
    pub rule: String,
    severity: String,
    confidence: Option<String>,
    entity: BTreeMap<String, String>,
    why: String,
    /// `true` or a reason by representation, `severity_X` and `confidence_X`.
    #[serde(flatten)]
    by_representation: BTreeMap<String, Value>,
}

/// Reads every truth*.toml.
///
/// # Errors
/// When one is not of the shape that the head of truth.toml says, or leaves a representation out that exists.
pub fn entries() -> Told<Vec<Entry>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Truth {
        finding: Vec<Entry>,
    }
    let runs = runs();
    let mut entries = Vec::new();
    for file in library::files().iter().filter(|file| file.starts_with("truth") && file.ends_with(".toml")) {
        let text = String::from_utf8(library::bytes(file)?).map_err(|e| e.to_string())?;
        let truth: Truth = toml::from_str(&text).map_err(|e| format!("{file}: {e}"))?;
        for entry in &truth.finding {
            let told = |why: String| format!("{file}: {} {} {:?}: {why}", entry.run, entry.rule, entry.entity);
            let representations = runs.get(&entry.run).ok_or_else(|| told("no such run".to_owned()))?;
            entry.check(representations).map_err(told)?;
        }
        entries.extend(truth.finding);
    }
    Ok(entries)
}

impl Entry {
    fn check(&self, representations: &BTreeSet<&str>) -> Told<()> {
        for (key, value) in &self.by_representation {
            let of = key.strip_prefix("severity_").or_else(|| key.strip_prefix("confidence_"));
            let name = of.unwrap_or(key);
            if !representations.contains(name) {
                return Err(format!("`{key}`: the run has {representations:?}"));
            }
            match (of, value) {
                (Some(_), Value::String(_)) if self.is_in(name) => {}
                (None, Value::Bool(true) | Value::String(_)) => {}
                _ => return Err(format!("`{key}` = {value}")),
            }
        }
        let left_out = representations.iter().find(|name| !self.by_representation.contains_key(**name));
        match left_out {
            Some(name) => Err(format!("says nothing of {name}")),
            None if self.why.trim().is_empty() || !REPRESENTATIONS.iter().any(|name| self.is_in(name)) => {
                Err("says no reason, or is nowhere".to_owned())
            }
            None => Ok(()),
        }
    }

    /// Whether the finding must be there in a representation.
    pub fn is_in(&self, representation: &str) -> bool {
        self.by_representation.get(representation) == Some(&Value::Bool(true))
    }

    /// What must be found in a representation.
    pub fn expect(&self, representation: &str) -> Expect {
        let instead = |what: &str| {
            self.by_representation.get(&format!("{what}_{representation}")).and_then(Value::as_str).map(str::to_owned)
        };
        Expect {
            rule: self.rule.clone(),
            severity: instead("severity").unwrap_or_else(|| self.severity.clone()),
            confidence: instead("confidence").or_else(|| self.confidence.clone()),
            entity: self.entity.clone(),
            ..Expect::default()
        }
    }
}

/// Runs and their representations.
pub fn runs() -> BTreeMap<String, BTreeSet<&'static str>> {
    let stem = |file: &String| {
        let name = file.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".steps.ndjson").map(str::to_owned)
    };
    let runs = library::files().iter().filter_map(stem);
    runs.map(|run| {
        let has = REPRESENTATIONS.into_iter().filter(|name| !names(&run, name).is_empty()).collect();
        (run, has)
    })
    .collect()
}

/// Files of a representation of a run.
///
/// # Errors
/// When one cannot be read.
pub fn files(run: &str, representation: &str) -> Told<Files> {
    names(run, representation).into_iter().map(|file| Ok((file.to_owned(), library::bytes(file)?))).collect()
}

fn names(run: &str, representation: &str) -> Vec<&'static str> {
    let all = library::files().iter().map(String::as_str);
    let of_run = |suffix: &'static str| {
        let starts = format!("{run}.");
        all.clone().filter(move |file| {
            let name = file.rsplit('/').next().unwrap_or_default();
            name.starts_with(&starts) && name.ends_with(suffix) && !name.contains("unthinned")
        })
    };
    let synthetic = |name: &'static str| {
        let of_run = run == SYNTHETIC_OF;
        all.clone().filter(move |file| of_run && file.starts_with("synthetic-conventions/") && file.contains(name))
    };
    match representation {
        "exchanges" => of_run(".exchanges.ndjson").collect(),
        "har" => of_run(".har").collect(),
        "traces" => of_run(".otlp.jsonl").filter(|file| file.contains(".traces")).collect(),
        "logs" => of_run(".logs.otlp.jsonl").collect(),
        "exchanges_logs" => both(run, "exchanges", "logs"),
        "events" => of_run(".events.ndjson").collect(),
        "exchanges_events" => both(run, "exchanges", "events"),
        "pb" => of_run(".pb").collect(),
        "draft" => synthetic("draft-semconv").collect(),
        "kong" => synthetic("kong").collect(),
        _ => Vec::new(),
    }
}

/// Two representations at once, where there are both.
fn both(run: &str, one: &str, other: &str) -> Vec<&'static str> {
    let (one, other) = (names(run, one), names(run, other));
    if one.is_empty() || other.is_empty() { Vec::new() } else { [one, other].concat() }
}
