//! The raw capture of a case: lines picked, edited and re-stamped.
//!
//! In: a case and the captures. Out: files of lines, each line knowing where it came from. Whatever an author wrote that
//! has no effect (a pick of nothing, a pointer to nothing, a replacement of nothing) is an error.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::Told;
use super::case::{At, CaseText, Lines};
use super::edit::{Edit, edit};
use super::ids::{Fresh, rename};
use super::shelf::Shelf;
use super::times::{Timeline, duration, instant, move_times, times_in};

/// A line of the case's capture.
#[derive(Debug, Clone)]
pub struct Line {
    /// Group, from 1.
    pub group: usize,
    /// Its number in the capture it was picked from, or in `raw`, from 1.
    pub number: usize,
    /// Copy, from 1.
    pub copy: u32,
    /// File of the case.
    pub file: String,
    /// Its line in that file, from 1.
    pub position: usize,
    /// The line.
    pub text: String,
}

/// What keeps a case from having a capture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .group.map_or(String::new(), |at| format!("[[lines]] no. {}: ", at + 1)))]
pub struct Bad {
    /// Group of lines, from 0.
    pub group: Option<usize>,
    /// What is wrong with it.
    pub message: String,
}

impl From<Bad> for String {
    fn from(bad: Bad) -> Self {
        bad.to_string()
    }
}

/// Copies of a group that a case may ask for.
const MOST_COPIES: u32 = 10_000;

/// The raw capture of a case.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    /// Its lines, in order.
    pub lines: Vec<Line>,
}

impl Capture {
    /// Assembles the capture of a case.
    ///
    /// # Errors
    /// As the module says.
    pub fn of(case: &CaseText, shelf: &Shelf) -> Result<Self, Bad> {
        let mut capture = Self::default();
        for (at, lines) in case.lines.iter().enumerate() {
            group(&mut capture, at + 1, lines, shelf).map_err(|message| Bad { group: Some(at), message })?;
        }
        Ok(capture)
    }

    /// Its files, as bytes, by name.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for line in &self.lines {
            let file = files.entry(line.file.clone()).or_default();
            file.extend_from_slice(line.text.as_bytes());
            file.push(b'\n');
        }
        files
    }

    fn push(&mut self, group: usize, lines: &Lines, number: usize, copy: u32, text: String) {
        let file = lines.file.clone().unwrap_or_else(|| "capture.ndjson".to_owned());
        let position = self.lines.iter().filter(|line| line.file == file).count() + 1;
        self.lines.push(Line { group, number, copy, file, position, text });
    }
}

type Numbered = (usize, String);

fn group(capture: &mut Capture, group: usize, lines: &Lines, shelf: &Shelf) -> Told<()> {
    let picked = replaced(kept(picked(lines, shelf)?, lines)?, lines)?;
    if lines.repeat.is_some_and(|copies| copies > MOST_COPIES) {
        return Err(format!("`repeat` is {MOST_COPIES} at most"));
    }
    let edits = edits(lines)?;
    if let Some((number, _, _)) =
        edits.iter().find(|(of, _, _)| of.is_some_and(|n| picked.iter().all(|(have, _)| *have != n)))
    {
        return Err(format!("line {} is edited but not picked", number.unwrap_or_default()));
    }
    let every = lines.every.as_deref().map(duration).transpose()?.unwrap_or_default();
    if lines.every.is_some() && lines.repeat.is_none() {
        return Err("`every` without `repeat`".to_owned());
    }
    if lines.fresh != Fresh::All && lines.ids.is_none() && lines.repeat.is_none() {
        return Err("`fresh` without `ids` or `repeat`".to_owned());
    }
    let timeline = timeline(lines, &picked)?;
    for copy in 1..=lines.repeat.unwrap_or(1) {
        let seed = match (&lines.ids, copy) {
            (None, 1) => None,
            (Some(seed), 1) => Some(seed.clone()),
            (seed, copy) => Some(format!("{}#{copy}", seed.as_deref().unwrap_or_default())),
        };
        for (own, (number, text)) in picked.iter().enumerate() {
            let text = seed.as_ref().map_or_else(|| text.clone(), |seed| rename(text, seed, lines.fresh));
            let later = every.saturating_mul(i64::from(copy - 1));
            let text = match &timeline {
                Some(timeline) => move_times(&text, |stamp| timeline.place(own, stamp).saturating_add(later)),
                None => text,
            };
            let text = stretched(text, lines.stretch.unwrap_or(1.0));
            let text = edited(capture, text, *number, &edits)?;
            capture.push(group, lines, *number, copy, text);
        }
    }
    Ok(())
}

fn picked(lines: &Lines, shelf: &Shelf) -> Told<Vec<Numbered>> {
    let shelf = match (&lines.from, &lines.raw) {
        (Some(from), None) => shelf.lines(shelf.find(from)?)?,
        (None, Some(raw)) => raw.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
        _ => return Err("say either `from` or `raw`".to_owned()),
    };
    let all = || shelf.iter().enumerate().map(|(at, line)| (at + 1, line.clone()));
    if let Some(matching) = &lines.matching {
        if !lines.pick.is_empty() {
            return Err("say either `pick` or `match`".to_owned());
        }
        let matching = Regex::new(matching).map_err(|e| e.to_string())?;
        let picked: Vec<_> = all().filter(|(_, line)| matching.is_match(line)).collect();
        return if picked.is_empty() { Err("`match` matches no line".to_owned()) } else { Ok(picked) };
    }
    if lines.raw.is_some() && lines.pick.is_empty() {
        return Ok(all().collect());
    }
    let mut picked = Vec::new();
    for pick in &lines.pick {
        for number in pick.lines()? {
            let line = number.checked_sub(1).and_then(|at| shelf.get(at));
            picked.push((number, line.ok_or_else(|| format!("no line {number}: there are {}", shelf.len()))?.clone()));
        }
    }
    if picked.is_empty() { Err("`pick` or `match` the lines wanted".to_owned()) } else { Ok(picked) }
}

/// Leaves in OTLP lines only the spans and log records that are wanted.
fn kept(picked: Vec<Numbered>, lines: &Lines) -> Told<Vec<Numbered>> {
    let Some(records) = &lines.records else { return Ok(picked) };
    let wanted = Regex::new(records).map_err(|e| e.to_string())?;
    let mut kept = Vec::new();
    for (number, text) in picked {
        let mut line: Value = serde_json::from_str(&text).map_err(|e| format!("line {number}: {e}"))?;
        if retain_records(&mut line, |record| wanted.is_match(&record.to_string())) {
            kept.push((number, line.to_string()));
        }
    }
    if kept.is_empty() { Err("`records` matches no span and no log record".to_owned()) } else { Ok(kept) }
}

/// Leaves in an OTLP line only the spans and log records that are wanted; whether any are left.
pub fn retain_records(line: &mut Value, wanted: impl Fn(&Value) -> bool) -> bool {
    let mut any = false;
    for (resources, scopes, records) in
        [("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")]
    {
        let resources = line.get_mut(resources).and_then(Value::as_array_mut).into_iter().flatten();
        for scope in resources.filter_map(|r| r.get_mut(scopes)?.as_array_mut()).flatten() {
            if let Some(list) = scope.get_mut(records).and_then(Value::as_array_mut) {
                list.retain(&wanted);
                any |= !list.is_empty();
            }
        }
    }
    any
}

fn replaced(mut picked: Vec<Numbered>, lines: &Lines) -> Told<Vec<Numbered>> {
    for (old, new) in &lines.replace {
        if old == new || !picked.iter().any(|(_, text)| text.contains(old.as_str())) {
            return Err(format!("replace: `{old}` is in none of the lines, or stays the same"));
        }
        for (_, text) in &mut picked {
            *text = text.replace(old.as_str(), new);
        }
    }
    Ok(picked)
}

/// When a line starts: its own word, else its earliest time.
pub fn start(text: &str) -> Told<i64> {
    let line: Value = serde_json::from_str(text).unwrap_or_default();
    let own = line.get("startedDateTime").and_then(Value::as_str).and_then(|at| instant(at).ok());
    // The one is rounded, the other is not: the earlier is in the line's span, and so is the later.
    let exact = line.get("start_unix_ns").and_then(Value::as_i64);
    let own = own.map(|at| exact.map_or(at, |exact| exact.min(at)));
    own.or_else(|| times_in(text).into_iter().min()).ok_or_else(|| format!("no time in the line {text:.80}"))
}

/// Where the group's times go; none where they stay.
fn timeline(lines: &Lines, picked: &[Numbered]) -> Told<Option<Timeline>> {
    let stretch = lines.stretch.unwrap_or(1.0);
    if lines.at.is_none() && lines.shift.is_none() && lines.apart.is_none() && lines.stretch.is_none() {
        return if lines.every.is_some() { Ok(Some(unmoved(picked)?)) } else { Ok(None) };
    }
    if lines.at.is_some() && lines.shift.is_some() {
        return Err("say either `at` or `shift`".to_owned());
    }
    if !(stretch > 0.0 && stretch.is_finite()) {
        return Err("`stretch` is a positive factor".to_owned());
    }
    let starts = picked.iter().map(|(_, text)| start(text)).collect::<Told<Vec<i64>>>()?;
    let origin = match (&lines.at, &lines.shift) {
        (Some(At::Each(each)), _) => {
            if lines.apart.is_some() || lines.stretch.is_some() || each.len() != starts.len() {
                return Err(format!(
                    "`at` as a list is one instant for each of the {} lines, without `apart` or `stretch`",
                    starts.len()
                ));
            }
            let targets = each.iter().map(|at| instant(at)).collect::<Told<Vec<i64>>>()?;
            return Ok(Some(Timeline::new(&starts, &targets, 1.0)));
        }
        (Some(At::First(at)), _) => instant(at)?,
        (None, shift) => starts[0] + shift.as_deref().map(duration).transpose()?.unwrap_or_default(),
    };
    if let Some(apart) = &lines.apart {
        if lines.stretch.is_some() {
            return Err("say either `apart` or `stretch`".to_owned());
        }
        let apart = duration(apart)?;
        let targets: Vec<i64> = (0..).map(|n| origin + n * apart).take(starts.len()).collect();
        return Ok(Some(Timeline::new(&starts, &targets, 1.0)));
    }
    // One anchor for all: what lies before or between the lines keeps its (stretched) distance too.
    Ok(Some(Timeline::new(&vec![starts[0]; starts.len()], &vec![origin; starts.len()], stretch)))
}

fn unmoved(picked: &[Numbered]) -> Told<Timeline> {
    let starts = picked.iter().map(|(_, text)| start(text)).collect::<Told<Vec<i64>>>()?;
    Ok(Timeline::new(&starts, &starts, 1.0))
}

/// Durations that are no instants: the length of a call and the arrival of its chunks.
fn stretched(text: String, stretch: f64) -> String {
    let Ok(mut line) = serde_json::from_str::<Value>(&text) else { return text };
    if stretch == 1.0 {
        return text;
    }
    let longer = |value: &mut Value| {
        if let Some(millis) = value.as_f64() {
            *value = Value::from(millis * stretch);
        }
    };
    line.get_mut("time_ms").map(longer);
    for chunk in line.get_mut("chunks").and_then(Value::as_array_mut).into_iter().flatten() {
        chunk.get_mut("t_ms").map(longer);
    }
    line.to_string()
}

type LineEdit = (Option<usize>, String, Edit);

/// The edits, each for one line (`"46:/pointer"`) or for all.
fn edits(lines: &Lines) -> Told<Vec<LineEdit>> {
    let sets = lines.set.iter().map(|(pointer, value)| (pointer, Edit::Set(value.clone())));
    let adds = lines.add.iter().map(|(pointer, value)| (pointer, Edit::Add(value.clone())));
    let removes = lines.remove.iter().map(|pointer| (pointer, Edit::Remove));
    sets.chain(adds)
        .chain(removes)
        .map(|(pointer, edit)| match pointer.split_once(":/") {
            Some((number, rest)) if !pointer.starts_with('/') => {
                let number =
                    number.parse().map_err(|_| format!("`{pointer}`: before the colon stands a line number"))?;
                Ok((Some(number), format!("/{rest}"), edit))
            }
            _ => Ok((None, pointer.clone(), edit)),
        })
        .collect()
}

fn edited(capture: &Capture, text: String, number: usize, edits: &[LineEdit]) -> Told<String> {
    let mut mine = edits.iter().filter(|(of, _, _)| of.is_none_or(|of| of == number)).peekable();
    if mine.peek().is_none() {
        return Ok(text);
    }
    let mut line: Value = serde_json::from_str(&text).map_err(|e| format!("line {number} is no JSON: {e}"))?;
    for (_, pointer, what) in mine {
        let what = match what {
            Edit::Set(Value::String(name)) if name.starts_with('@') => Edit::Set(capture.resolve(name)?.into()),
            Edit::Add(Value::String(name)) if name.starts_with('@') => Edit::Add(capture.resolve(name)?.into()),
            other => other.clone(),
        };
        edit(&mut line, pointer, &what).map_err(|why| format!("line {number}: {why}"))?;
    }
    Ok(line.to_string())
}
