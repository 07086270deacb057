//! What of a run is healthy: the steps without a planted fault, cut out of its captures by time.
//!
//! In: the steps files, tests/corpus/healthy/steps.toml, captures. Out: captures with only the records of those steps.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::assemble::{retain_records, start};
use super::judge::Files;
use super::{Told, library, truth};

/// Which steps are healthy.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Healthy {
    /// Beginnings of step names.
    steps: Vec<String>,
    /// Steps of a run that are not, though they are listed: why, by run and step.
    #[serde(default)]
    except: BTreeMap<String, BTreeMap<String, String>>,
    /// Representations in which no healthy step was recorded, by run.
    #[serde(default)]
    nothing: BTreeMap<String, Vec<String>>,
}

fn healthy() -> Told<Healthy> {
    let path = library::tests().join("corpus/healthy/steps.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Whether a representation of a run has a healthy part.
///
/// # Errors
/// When steps.toml does not read.
pub fn has(run: &str, representation: &str) -> Told<bool> {
    Ok(!healthy()?.nothing.get(run).is_some_and(|nothing| nothing.iter().any(|name| name == representation)))
}

/// Spans of time in nanoseconds, `(from, to]`.
pub struct Windows(Vec<(i64, i64)>);

impl Windows {
    /// The healthy spans of a run: a step lasts from the end of the one before to its own.
    ///
    /// # Errors
    /// When a file does not read.
    pub fn of(run: &str) -> Told<Self> {
        let healthy = healthy()?;
        let except = healthy.except.get(run).cloned().unwrap_or_default();
        let mut windows = Vec::new();
        let mut from = i64::MIN;
        for line in library::lines(library::find(&format!("{run}.steps.ndjson"))?)? {
            let step: Value = serde_json::from_str(&line).map_err(|e| e.to_string())?;
            let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
            let to = (step.get("t").and_then(Value::as_f64).ok_or("a step without time")? * 1e9) as i64;
            let name = text("step");
            let listed = healthy.steps.iter().any(|wanted| name == wanted);
            if listed && !text("what").starts_with("FAULT") && !except.contains_key(name) {
                windows.push((from, to));
            }
            from = to;
        }
        Ok(Self(windows))
    }

    fn hold(&self, at: i64) -> bool {
        self.0.iter().any(|(from, to)| *from < at && at <= *to)
    }
}

/// The healthy part of a representation of a run.
///
/// # Errors
/// When a file does not read, or nothing is left.
pub fn files(run: &str, representation: &str) -> Told<Files> {
    let windows = Windows::of(run)?;
    let mut files = Files::new();
    for name in truth::files(run, representation)?.into_keys() {
        let mut kept = String::new();
        for line in library::lines(&name)? {
            if let Some(line) = healthy_line(&line, &windows)? {
                kept += &line;
                kept.push('\n');
            }
        }
        if !kept.is_empty() {
            files.insert(name, kept.into_bytes());
        }
    }
    if files.is_empty() { Err("nothing healthy is left".to_owned()) } else { Ok(files) }
}

fn healthy_line(text: &str, windows: &Windows) -> Told<Option<String>> {
    let mut line: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    if line.get("resourceSpans").is_none() && line.get("resourceLogs").is_none() {
        return Ok(windows.hold(start(text)?).then(|| text.to_owned()));
    }
    let time = |record: &Value| {
        let at = ["startTimeUnixNano", "timeUnixNano", "observedTimeUnixNano"].iter().find_map(|key| record.get(key));
        // 64-bit integers of OTLP-JSON are strings, but some exporters write numbers.
        at.and_then(|at| at.as_i64().or_else(|| at.as_str()?.parse().ok())).unwrap_or_default()
    };
    Ok(retain_records(&mut line, |record| windows.hold(time(record))).then(|| line.to_string()))
}
