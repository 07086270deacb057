//! A case as its author wrote it: which lines of which captures, what is changed in them, and what must be found.
//!
//! In: `case.toml`. Out: plain types. Every unknown key is an error, with its place. Reads no capture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::Told;
use super::ids::Fresh;
use super::place::{self, Step};
use super::run;
use super::shelf::Shelf;
use crate::rules::Problem;
use crate::rules::problem::{listed, near};

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
    /// As it is written.
    pub source: String,
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
    /// Capture: run (`jsonrpc` means its exchanges), file name, or path below the captures.
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
    /// Its line, word for word.
    pub summary: Option<String>,
    /// Why that suspect, word for word.
    pub because: Option<String>,
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

/// Rule and case that a path below a folder of cases names.
pub fn names(path: &Path, folder: &Path) -> Option<(String, String)> {
    let below = path.strip_prefix(folder).ok()?;
    let parts: Vec<_> = below.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        [rule, case, "case.toml"] => Some(((*rule).to_owned(), (*case).to_owned())),
        _ => None,
    }
}

/// What to say of a case that stands where it is not looked for.
fn misplaced(path: &Path, folder: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let first = below.iter().next().and_then(|first| first.to_str()).unwrap_or_default();
    let near = near(first, std::iter::once("cases"));
    format!("a case stands in RULE/CASE/case.toml below {}, not in {}{near}", folder.display(), below.display())
}

impl Case {
    /// Reads a case below a folder of cases.
    ///
    /// # Errors
    /// When it is no TOML of this shape, or says something that cannot be meant; with the place in the file.
    pub fn read(path: &Path, folder: &Path) -> Result<Self, Problem> {
        let wrong = |place, message: String| Problem::at(path, place, message);
        let (rule, name) = names(path, folder).ok_or_else(|| wrong((1, 1), misplaced(path, folder)))?;
        let source = std::fs::read_to_string(path).map_err(|error| wrong((1, 1), error.to_string()))?;
        let text = toml::from_str(&source).map_err(|error| {
            wrong(place::at(&source, error.span().map_or(0, |span| span.start)), error.message().to_owned())
        })?;
        let case = Self { rule, name, path: path.to_owned(), text, source };
        case.check().map_err(|(place, message)| wrong(place, message))?;
        Ok(case)
    }

    /// Line and column of the n-th table of a section, from 0; of a key, its own.
    pub fn place(&self, section: &str, at: usize) -> (usize, usize) {
        run::place(&self.source, section, at)
    }

    /// Whether its rule must speak.
    pub fn fires(&self) -> bool {
        self.name.starts_with("fires_")
    }

    /// Checks that a case which fires expects its rule, and that a quiet one does not.
    ///
    /// # Errors
    /// Where it expects another.
    pub fn expects_its_rule(&self) -> Result<(), Problem> {
        let expect = &self.text.expect;
        let own = expect.iter().position(|expect| expect.rule == self.rule);
        if self.fires() != own.is_none() {
            return Ok(());
        }
        let must = if self.fires() { "must" } else { "must not" };
        let mut message = format!("{} {must} expect {}, the rule whose folder it is in", self.name, self.rule);
        let place = match own.or((!expect.is_empty()).then_some(0)) {
            Some(at) => place::of_value(&self.source, &[Step::Key("expect"), Step::Item(at), Step::Key("rule")]),
            None => {
                message.push_str(&format!(": add [[expect]] with `rule = \"{}\"`", self.rule));
                (self.source.lines().count().max(1), 1)
            }
        };
        Err(Problem::at(&self.path, place, message))
    }

    fn check(&self) -> Result<(), ((usize, usize), String)> {
        let CaseText { why, expect, .. } = &self.text;
        if !self.fires() && !self.name.starts_with("quiet_") {
            let (sort, rest) = self.name.split_once('_').unwrap_or((&self.name, "NAME"));
            let meant = near(sort, ["fires", "quiet"].into_iter()).replace("`?", &format!("_{rest}`?"));
            return Err((
                (1, 1),
                format!("the folder of a case is fires_NAME or quiet_NAME, not `{}`{meant}", self.name),
            ));
        }
        if why.trim().is_empty() {
            return Err((self.place("why", 0), "`why` is empty".to_owned()));
        }
        for (at, expect) in expect.iter().enumerate() {
            if expect.rule == self.rule && expect.confidence.is_none() {
                let here = self.place("expect", at);
                return Err((here, format!("say the `confidence` of {}: it is the rule of this case", self.rule)));
            }
            let word = |what: &str, known: &[&str], word: &str| match known.contains(&word) {
                true => Ok(()),
                false => {
                    let here = place::of_value(&self.source, &[Step::Key("expect"), Step::Item(at), Step::Key(what)]);
                    Err((
                        here,
                        format!("no {what} `{word}`{}; there are {}", near(word, known.iter().copied()), listed(known)),
                    ))
                }
            };
            word("severity", &["info", "warning", "critical"], &expect.severity)?;
            let confidence = expect.confidence.as_deref().unwrap_or("likely");
            word("confidence", &["possible", "likely", "confirmed"], confidence)?;
        }
        Ok(())
    }

    /// Captures that its lines come from, by folder and run: its dialects.
    pub fn dialects(&self, shelf: &Shelf) -> Vec<String> {
        let mut dialects: Vec<String> = self.text.lines.iter().filter_map(|lines| lines.dialect(shelf)).collect();
        dialects.sort();
        dialects.dedup();
        dialects
    }
}

impl Lines {
    fn dialect(&self, shelf: &Shelf) -> Option<String> {
        let file = shelf.find(self.from.as_deref()?).ok()?;
        let (folder, name) = file.rsplit_once('/')?;
        Some(format!("{folder}/{}", name.split('.').next().unwrap_or(name)))
    }
}
