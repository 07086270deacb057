//! How things are worded on a page: counts, times, places, and text that came from outside.
//!
//! In: values. Out: text that is safe to print. Decides no layout.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use chrono::{DateTime, NaiveDate, Utc};

use crate::findings::{Intake, Report};
use crate::instant::Instant;

/// Rules of a clean verdict that are named before they are only counted.
const NAMED: usize = 3;

/// What is not known where no client has a name.
pub(super) const NO_CLIENT: &str =
    "No client is named in this input: callers cannot be told apart, and which card a caller held is a guess";

/// How much was read: records, and facts where `serve` or an export kept those.
pub(super) fn amount(intake: &Intake) -> String {
    let (kept, facts) = (intake.kept(), || count(intake.kept(), "kept fact"));
    match intake.records().saturating_sub(kept) {
        0 if kept > 0 => facts(),
        records if kept > 0 => format!("{} and {}", count(records, "record"), facts()),
        records => count(records, "record"),
    }
}

/// Rules whose silence says something: named while they are few.
pub(super) fn by_whom(report: &Report) -> String {
    let judging: Vec<Cow<'_, str>> = report.judging().map(|rule| clean(&rule.rule)).collect();
    let named = match judging.len() {
        1..=NAMED => format!(" ({})", judging.join(", ")),
        _ => String::new(),
    };
    let (rules, blind) = (count(report.coverage.len(), "rule"), report.blind().count());
    let are = if blind == 1 { "is" } else { "are" };
    format!("by {} of {rules}{named}; {blind} {are} blind", judging.len())
}

/// `1 task`, `3 tasks`; irregular plurals are not needed.
pub(super) fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Counts of what there is any of: `3 tasks, 1 client`; empty when there is nothing.
pub(super) fn counts(numbers: &[(usize, &str)]) -> String {
    let present: Vec<String> =
        numbers.iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(*number, noun)).collect();
    present.join(", ")
}

/// Text from outside without anything that could move a cursor, recolour or reorder a terminal's text, or not be seen.
///
/// Names of agents, skills and tasks are whatever a peer sent. Such characters are written out, and line breaks become
/// blanks.
pub fn clean(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\r' | '\t').then_some(' '))
}

/// As [`clean`], for texts of several lines.
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n').then_some(c))
}

/// Text with characters that are not shown written out, but for those that are replaced.
fn escaped(text: &str, replace: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !is_unseen(c) => cleaned.push(c),
            // Writing to a String cannot fail.
            c => match replace(c) {
                Some(shown) => cleaned.push(shown),
                None => _ = write!(cleaned, "\\u{{{:x}}}", u32::from(c)),
            },
        }
    }
    Cow::Owned(cleaned)
}

/// Whether a character acts on a terminal or a text instead of standing in it: controls of C0 and C1, bidirectional
/// controls, line separators, what has no width, tags. The joiners U+200C and U+200D are letters' own.
pub(super) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The day of an instant, against which times nearby are shortened.
pub(super) fn day(at: Instant) -> NaiveDate {
    utc(at).date_naive()
}

/// Date and time to the second: `2026-11-30 06:15:34Z`.
pub(super) fn date_time(at: Instant) -> String {
    utc(at).format("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// Date and time as somebody gave it, with the part of a second if it has one: `2026-11-30 06:15:34.500Z`. The last instant of a
/// day is what a date alone means: `the end of 2026-11-30`.
pub fn moment(at: Instant) -> String {
    let next = Instant(at.0.saturating_add(1));
    if day(next) != day(at) {
        return format!("the end of {}", day(at));
    }
    utc(at).format("%Y-%m-%d %H:%M:%S%.fZ").to_string()
}

/// Time to the millisecond where it has any, with the date only where it is not the given day: `06:15:34.786Z`.
pub(super) fn time_on(day_of_page: NaiveDate, at: Instant) -> String {
    let at_utc = utc(at);
    let date = if day(at) == day_of_page { "" } else { "%Y-%m-%d " };
    let fraction = if at_utc.timestamp_subsec_millis() == 0 { "" } else { "%.3f" };
    at_utc.format(&format!("{date}%H:%M:%S{fraction}Z")).to_string()
}

/// The window in which findings must have been seen to be shown, and how many are left out for it.
pub(super) fn window(report: &Report) -> Option<String> {
    bounds(report).map(|bounds| format!("seen {bounds}, {} outside of that", count(report.outside, "finding")))
}

/// Begin and end of the window, as far as it has any: `since 2026-11-30 06:15:34Z until the end of 2026-11-30`.
pub(super) fn bounds(report: &Report) -> Option<String> {
    let since = report.since.map(|since| format!("since {}", moment(since)));
    let until = report.until.map(|until| format!("until {}", moment(until)));
    let bounds: Vec<String> = since.into_iter().chain(until).collect();
    (!bounds.is_empty()).then(|| bounds.join(" "))
}

/// A place that editors and people understand: `day.ndjson:12`, `day.pb at byte 4096`, `day.har log.entries[12]`. The folder
/// that all sources are in is left out.
pub(super) fn place(folder: &str, source: &str, position: &str) -> String {
    let source = match source {
        "-" => "stdin".into(),
        source => clean(source.strip_prefix(folder).unwrap_or(source)),
    };
    match position {
        "" => source.into_owned(),
        line if line.bytes().all(|b| b.is_ascii_digit()) => format!("{source}:{line}"),
        entry if entry.starts_with("log.entries[") => {
            format!("{source} {}", clean(entry.split(" at ").next().unwrap_or(entry)))
        }
        other => format!("{source} at {}", clean(other)),
    }
}

/// The folder, with its closing slash, that all sources are in; `''` when there is none.
pub(super) fn folder_of_all<'a>(sources: impl Iterator<Item = &'a str>) -> &'a str {
    let folder = |source: &'a str| source.rfind('/').map_or("", |slash| &source[..=slash]);
    let shared = |a: &'a str, b: &'a str| {
        let matching = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        a.as_bytes()[..matching].iter().rposition(|byte| *byte == b'/').map_or("", |slash| &a[..=slash])
    };
    sources.filter(|source| *source != "-").map(folder).reduce(shared).unwrap_or_default()
}

/// The first characters of a hash, enough to tell two apart.
pub(super) fn short_hash(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

/// The first few of a list, and how many more there are: `a, b and 3 more`.
pub(super) fn first_few<'a>(items: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let mut items = items.into_iter();
    let shown: Vec<_> = items.by_ref().take(most).map(clean).collect();
    let more = items.count();
    let list = shown.join(", ");
    if more == 0 { list } else { format!("{list} and {more} more") }
}

fn utc(at: Instant) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(at.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::SourceIntake;

    #[test]
    fn text_from_outside_cannot_control_the_terminal() {
        assert_eq!(clean("skill\u{1b}[31m\u{7}\u{202e}x\ny"), "skill\\u{1b}[31m\\u{7}\\u{202e}x y");
        assert_eq!(clean("a\u{9b}31m\u{61c}\u{feff}\u{e0041}"), "a\\u{9b}31m\\u{61c}\\u{feff}\\u{e0041}");
        assert_eq!(clean_lines("a\u{1b}\nb\r\n"), "a\\u{1b}\nb\\u{d}\n");
        assert!(matches!(clean("zusammenfassen-ä"), Cow::Borrowed(_)));
    }

    #[test]
    fn the_date_is_left_out_only_on_its_own_day() {
        let at = Instant(1_796_019_334_786_336_000);
        assert_eq!(time_on(day(at), at), "06:15:34.786Z");
        assert_eq!(time_on(day(Instant(0)), at), "2026-11-30 06:15:34.786Z");
        assert_eq!(time_on(day(at), Instant(1_796_019_334_000_000_000)), "06:15:34Z");
        assert_eq!(date_time(at), "2026-11-30 06:15:34Z");
    }

    #[test]
    fn bounds_are_told_as_they_were_given() {
        let told = |text: &str| moment(Instant::parse_rfc3339(text).unwrap());
        assert_eq!(told("2026-11-30T00:00:00Z"), "2026-11-30 00:00:00Z");
        assert_eq!(told("2026-11-30T06:15:34.5Z"), "2026-11-30 06:15:34.500Z");
        assert_eq!(told("2026-11-30T06:15:34.786336Z"), "2026-11-30 06:15:34.786336Z");
        // What `--until 2026-11-30` is read as.
        assert_eq!(told("2026-11-30T23:59:59.999999999Z"), "the end of 2026-11-30");
        assert_eq!(told("2026-11-30T23:59:59.999Z"), "2026-11-30 23:59:59.999Z");
    }

    #[test]
    fn what_was_read_is_called_what_it_is() {
        let of = |records: u64, kept: u64| {
            let source = SourceIntake { records, kept, ..SourceIntake::default() };
            amount(&Intake { sources: vec![source], ..Intake::default() })
        };
        assert_eq!([of(0, 0), of(1, 0), of(2, 2)], ["0 records", "1 record", "2 kept facts"]);
        assert_eq!(of(3, 1), "2 records and 1 kept fact");
    }

    #[test]
    fn lines_are_written_as_editors_take_them() {
        assert_eq!(place("", "a.ndjson", "12"), "a.ndjson:12");
        assert_eq!(place("x/", "x/y/a.pb", "byte 4096"), "y/a.pb at byte 4096");
        assert_eq!(place("x/", "x/a.har", "log.entries[12] at byte 4096"), "a.har log.entries[12]");
        assert_eq!(place("", "a.pb", ""), "a.pb");
        assert_eq!(place("", "-", "3"), "stdin:3");
    }

    #[test]
    fn the_folder_of_all_sources_is_a_whole_folder() {
        assert_eq!(folder_of_all(["x/day-1/a", "x/day-2/b"].into_iter()), "x/");
        assert_eq!(folder_of_all(["x/y/a", "-", "x/y/z/b"].into_iter()), "x/y/");
        assert_eq!(folder_of_all(["ä/a", "å/a"].into_iter()), "");
        assert_eq!(folder_of_all(["a", "x/b"].into_iter()), "");
        assert_eq!(folder_of_all(["/a", "/b"].into_iter()), "/");
    }

    #[test]
    fn long_lists_say_how_much_was_left_out() {
        assert_eq!(first_few(["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(first_few(["a", "b"], 2), "a, b");
        assert_eq!((count(1, "task"), count(0, "task")), ("1 task".to_owned(), "0 tasks".to_owned()));
        assert_eq!(counts(&[(0, "task"), (2, "client")]), "2 clients");
    }
}
