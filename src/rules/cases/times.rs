//! Every time in a raw line, in every spelling the captures use, moved by one function.
//!
//! In: a line's text. Out: the same text with its times moved, each in its own spelling (fraction digits, offset, unit).
//! Never touches anything that is not a time.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::instant::Instant;
use chrono::{DateTime, NaiveDateTime, Offset, SecondsFormat, TimeDelta, Utc};
use regex::{Captures, Regex};

use super::{Told, pattern};

/// RFC 3339 with or without offset, HTTP dates, and epoch nanoseconds (`start_unix_ns`, `*UnixNano`).
static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?x)
        (?<day>\d{4}-\d\d-\d\d)(?<sep>[T\ ])(?<clock>\d\d:\d\d:\d\d)(?:(?<dot>[.,])(?<fraction>\d{1,9}))?(?<offset>Z|[+-]\d\d:?\d\d)?
        | (?<http>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),\ \d\d\ [A-Z][a-z]{2}\ \d{4}\ \d\d:\d\d:\d\d\ GMT)
        | \b(?<nanos>1[5-9]\d{17})\b",
    )
});

const HTTP_DATE: &str = "%a, %d %b %Y %H:%M:%S GMT";
const SECOND: i64 = 1_000_000_000;
const MICROSECOND: i64 = 1_000;

/// A time as written: nanoseconds, and how much its spelling cuts off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since the epoch.
    pub at: i64,
    /// Size of its last digit in nanoseconds.
    pub grain: i64,
}

/// Moves every time of a text.
pub fn move_times(text: &str, to: impl Fn(Stamp) -> i64) -> String {
    let Some(times) = TIME.as_ref() else { return text.to_owned() };
    times
        .replace_all(text, |found: &Captures<'_>| match read(found) {
            Some(stamp) => write(found, to(stamp)),
            None => found[0].to_owned(),
        })
        .into_owned()
}

/// Every time of a text, in order.
pub fn times_in(text: &str) -> Vec<i64> {
    let found = TIME.iter().flat_map(|times| times.captures_iter(text));
    found.filter_map(|found| read(&found)).map(|stamp| stamp.at).collect()
}

fn read(found: &Captures<'_>) -> Option<Stamp> {
    if let Some(nanos) = found.name("nanos") {
        return Some(Stamp { at: nanos.as_str().parse().ok()?, grain: 1 });
    }
    if let Some(date) = found.name("http") {
        // Servers renew the Date they send once a second: it may be older than the call by one more.
        let at = NaiveDateTime::parse_from_str(date.as_str(), HTTP_DATE).ok()?;
        return Some(Stamp { at: at.and_utc().timestamp_nanos_opt()?, grain: 2 * SECOND });
    }
    let fraction = found.name("fraction").map_or("", |f| f.as_str());
    let written = format!("{}T{}.{fraction:0<9}{}", &found["day"], &found["clock"], zone(found));
    let at = DateTime::parse_from_rfc3339(&written).ok()?.timestamp_nanos_opt()?;
    Some(Stamp { at, grain: 10_i64.pow(9 - fraction.len() as u32) })
}

/// The offset as RFC 3339 wants it; UTC where none is written.
fn zone(found: &Captures<'_>) -> String {
    match found.name("offset").map_or("Z", |o| o.as_str()) {
        offset if offset.len() == 5 => format!("{}:{}", &offset[..3], &offset[3..]),
        offset => offset.to_owned(),
    }
}

fn write(found: &Captures<'_>, at: i64) -> String {
    if found.name("nanos").is_some() {
        return at.to_string();
    }
    let utc = DateTime::from_timestamp_nanos(at);
    if found.name("http").is_some() {
        return utc.format(HTTP_DATE).to_string();
    }
    let offset = DateTime::parse_from_rfc3339(&format!("2000-01-01T00:00:00{}", zone(found)))
        .map_or_else(|_| Utc.fix(), |time| *time.offset());
    let nanos = utc.with_timezone(&offset).to_rfc3339_opts(SecondsFormat::Nanos, false);
    let mut text = format!("{}{}{}", &nanos[..10], &found["sep"], &nanos[11..19]);
    if let Some(fraction) = found.name("fraction") {
        text += &found["dot"];
        text += &nanos[20..20 + fraction.len()];
    }
    text + found.name("offset").map_or("", |o| o.as_str())
}

/// Where the times of a group of lines go. A time belongs to the line in whose span it lies, not to the line it is
/// written in: the status time in a poll stays with the call that made the status.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Original start of each line and where it goes, in the order of the lines.
    anchors: Vec<(i64, i64)>,
    /// Factor on distances within a line's span.
    stretch: f64,
}

impl Timeline {
    /// A timeline from the original starts of the lines and their new ones.
    pub fn new(starts: &[i64], targets: &[i64], stretch: f64) -> Self {
        Self { anchors: starts.iter().copied().zip(targets.iter().copied()).collect(), stretch }
    }

    /// Where a time written in line `own` goes.
    pub fn place(&self, own: usize, stamp: Stamp) -> i64 {
        // `startedDateTime` and `start_unix_ns` are one instant, cut to different grains and not always downwards.
        let grain = stamp.grain.max(MICROSECOND);
        let holds = |(start, _): &&(i64, i64)| *start < stamp.at + grain;
        let (start, target) = Some(&self.anchors[own])
            .filter(holds)
            .or_else(|| self.anchors.iter().filter(holds).max_by_key(|(start, _)| *start))
            .or_else(|| self.anchors.iter().min_by_key(|(start, _)| *start))
            .copied()
            .unwrap_or_default();
        match stamp.at - start {
            rest if rest.abs() < MICROSECOND => target,
            rest if self.stretch == 1.0 => target + rest,
            rest => target + (rest as f64 * self.stretch).round() as i64,
        }
    }
}

/// Reads a duration such as `250ms`, `10s`, `1h30m`, `-2d`: nanoseconds.
///
/// # Errors
/// When it is none.
pub fn duration(text: &str) -> Told<i64> {
    static PART: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\d+)(ms|s|m|h|d)"));
    let units = HashMap::from([("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]);
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let parts: Vec<_> = PART.iter().flat_map(|part| part.captures_iter(rest)).collect();
    if rest.is_empty() || parts.iter().map(|part| part[0].len()).sum::<usize>() != rest.len() {
        return Err(format!("`{text}` is no duration: write 250ms, 10s, 1h30m, -2d"));
    }
    let millis = |part: &Captures<'_>| part[1].parse::<i64>().ok()?.checked_mul(*units.get(&part[2])?);
    let sum = parts.iter().try_fold(0_i64, |sum, part| sum.checked_add(millis(part)?));
    let nanos = sum.and_then(TimeDelta::try_milliseconds).and_then(|time| time.num_nanoseconds());
    nanos.map(|nanos| sign * nanos).ok_or_else(|| format!("`{text}` is too long"))
}

/// Reads an instant.
///
/// # Errors
/// When it is none.
pub fn instant(text: &str) -> Told<i64> {
    Instant::parse_rfc3339(text)
        .map(|at| at.0)
        .ok_or_else(|| format!("`{text}` is no time: write 2026-11-30T07:00:00Z"))
}
