//! A case as its author wrote it: which lines of which captures, what is changed in them, and what must be found.
//!
//! In: `case.toml`. Out: plain types. Every unknown key is an error. Reads no capture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use walkdir::WalkDir;

use super::ids::Fresh;
use super::{Told, library};

/// One case, with where it was read.
#[derive(Debug, Clone)]
pub struct Case {
    /// Rule whose case it is: its folder.
    pub rule: String,
    /// `fires_…` or `quiet_…`: its folder.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub text: CaseText,
}

/// The contents of `case.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseText {
    /// What the case shows, and by which clause of the rule.
    pub why: String,
    /// Instant of judgement; else that of the last fact.
    pub as_of: Option<String>,
    /// Records that the program must refuse; none, unless the case is about them.
    #[serde(default)]
    pub rejects: usize,
    /// Whether the case's rule is blind on this capture: what the case is about, or it shows nothing.
    #[serde(default)]
    pub blind: bool,
    /// The raw capture, group by group.
    pub lines: Vec<Lines>,
    /// Everything that must be found.
    #[serde(default)]
    pub expect: Vec<Expect>,
}

/// A group of lines with one timeline.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// Capture: run (`jsonrpc` means its exchanges), file name, or path below tests/captures.
    pub from: Option<String>,
    /// Line numbers from 1, and ranges: `[1, "46-48"]`, in the order wanted.
    #[serde(default)]
    pub pick: Vec<Pick>,
    /// All lines that a regular expression matches.
    #[serde(rename = "match")]
    pub matching: Option<String>,
    /// Of OTLP lines, only the spans and log records whose JSON a regular expression matches.
    pub records: Option<String>,
    /// Lines written here instead of picked, any format.
    pub raw: Option<String>,
    /// File of the case that the lines go to; `capture.ndjson` if not said.
    pub file: Option<String>,

    /// When the first line starts, the others at their distance; or one instant a line.
    pub at: Option<At>,
    /// Instead of `at`: moves every time by a duration.
    pub shift: Option<String>,
    /// Distance between the starts of the lines.
    pub apart: Option<String>,
    /// Factor on every distance, durations of calls and streams included.
    pub stretch: Option<f64>,

    /// Seed of fresh ids.
    pub ids: Option<String>,
    /// Which ids become fresh.
    #[serde(default)]
    pub fresh: Fresh,
    /// Number of copies of the group, each with fresh ids as `fresh` says.
    pub repeat: Option<u32>,
    /// Distance of the copies.
    pub every: Option<String>,

    /// Literal replacements in the raw lines.
    #[serde(default)]
    pub replace: Vec<(String, String)>,
    /// Values put in the place of others, by pointer.
    #[serde(default)]
    pub set: Vec<(String, Value)>,
    /// Values put where none are, by pointer.
    #[serde(default)]
    pub add: Vec<(String, Value)>,
    /// Values taken away, by pointer.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// One line or a range.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Pick {
    /// One line.
    Line(usize),
    /// `"46-48"`.
    Range(String),
}

impl Pick {
    /// The lines meant.
    ///
    /// # Errors
    /// When it is no range.
    pub fn lines(&self) -> Told<Vec<usize>> {
        match self {
            Self::Line(line) => Ok(vec![*line]),
            Self::Range(range) => {
                let ends =
                    range.split_once('-').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
                match ends {
                    Some((first, last)) if first <= last => Ok((first..=last).collect()),
                    _ => Err(format!("pick: `{range}` is no range of lines: write \"46-48\"")),
                }
            }
        }
    }
}

/// One instant, or one a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum At {
    /// Start of the first line.
    First(String),
    /// Start of each line.
    Each(Vec<String>),
}

/// A finding that must be there, once.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Rule id.
    pub rule: String,
    /// Severity of the row.
    pub severity: String,
    /// Confidence of the row; must be said for the rule whose case it is.
    pub confidence: Option<String>,
    /// Values of entity columns, those that matter; `"@2:46.task"` is the task id of line 46 of the second group.
    #[serde(default)]
    pub entity: BTreeMap<String, String>,
    /// Suspect.
    pub suspect: Option<String>,
    /// Number of occurrences that the finding counts.
    pub count: Option<u64>,
    /// Instant from which it fires.
    pub due_at: Option<String>,
    /// Instant from which it does so no longer.
    pub until_at: Option<String>,
    /// Instant at which its condition was seen to have ended; `never` where it was not.
    pub over_at: Option<String>,
    /// Lines that must be among its evidence, as `"@2:46"`.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Other columns of the row, those that matter.
    #[serde(default)]
    pub details: BTreeMap<String, Value>,
}

/// Reads every case below tests/rules, in order of path. What cannot be read is named by its path.
pub fn all() -> Vec<(PathBuf, Told<Case>)> {
    WalkDir::new(library::cases())
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name() == "case.toml")
        .map(|entry| (entry.path().to_owned(), read(entry.path())))
        .collect()
}

/// Reads a case.
///
/// # Errors
/// When it is no TOML of this shape, or says something that cannot be meant.
pub fn read(path: &Path) -> Told<Case> {
    let (rule, name) = names(path).ok_or("a case stands in tests/rules/<rule>/<case>/case.toml")?;
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let case = Case { rule, name, path: path.to_owned(), text: toml::from_str(&text).map_err(|e| e.to_string())? };
    case.check()?;
    Ok(case)
}

/// Rule and case that a path names.
pub fn names(path: &Path) -> Option<(String, String)> {
    let below = path.strip_prefix(library::cases()).ok()?;
    let parts: Vec<_> = below.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        [rule, case, "case.toml"] => Some(((*rule).to_owned(), (*case).to_owned())),
        _ => None,
    }
}

impl Case {
    /// Whether its rule must speak.
    pub fn fires(&self) -> bool {
        self.name.starts_with("fires_")
    }

    fn check(&self) -> Told<()> {
        if !self.fires() && !self.name.starts_with("quiet_") {
            return Err("the name of a case starts with fires_ or quiet_".to_owned());
        }
        if self.text.why.trim().is_empty() {
            return Err("`why` is empty".to_owned());
        }
        let own: Vec<_> = self.text.expect.iter().filter(|expect| expect.rule == self.rule).collect();
        if self.fires() == own.is_empty() {
            return Err(format!(
                "{} {} expect {}",
                self.name,
                if self.fires() { "must" } else { "must not" },
                self.rule
            ));
        }
        if own.iter().any(|expect| expect.confidence.is_none()) {
            return Err(format!("say the `confidence` of {}: it is the rule of this case", self.rule));
        }
        for expect in &self.text.expect {
            let word = |known: &[&str], word: &str| {
                known.contains(&word).then_some(()).ok_or_else(|| format!("`{word}` is none of {known:?}"))
            };
            word(&["info", "warning", "critical"], &expect.severity)?;
            word(&["possible", "likely", "confirmed"], expect.confidence.as_deref().unwrap_or("likely"))?;
        }
        Ok(())
    }

    /// Captures that its lines come from, by folder and run: its dialects.
    pub fn dialects(&self) -> Vec<String> {
        let mut dialects: Vec<String> = self.text.lines.iter().filter_map(Lines::dialect).collect();
        dialects.sort();
        dialects.dedup();
        dialects
    }
}

impl Lines {
    fn dialect(&self) -> Option<String> {
        let file = library::find(self.from.as_deref()?).ok()?;
        let (folder, name) = file.rsplit_once('/')?;
        Some(format!("{folder}/{}", name.split('.').next().unwrap_or(name)))
    }
}
