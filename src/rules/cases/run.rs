//! A case run to its end: whether the verdict on its capture is the one that its author wrote.
//!
//! In: a case, its capture, a verdict. Out: nothing, or a report of what differs. The same for the cases of this program and
//! for those of its users.

use std::collections::BTreeMap;
use std::path::Path;

use super::assemble::Capture;
use super::case::{Case, CaseText, Expect};
use super::shelf::Shelf;
use super::{Told, expect};
use crate::findings::Finding;
use crate::instant::Instant;
use crate::rules::Problem;
use crate::rules::problem::listed;

/// Files of a capture: bytes by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What the program says of a capture.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Findings that fire.
    pub findings: Vec<Finding>,
    /// Records it refused: place, reason and detail.
    pub rejects: Vec<String>,
    /// Facts it judged by.
    pub facts: usize,
    /// Needs that no fact fills, by rule; rules that see are not in it.
    pub blind: BTreeMap<String, Vec<String>>,
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Every finding.
    All,
    /// The findings of the case's own rule.
    Own,
}

/// A case with its capture.
#[derive(Debug)]
pub struct Ready {
    /// The capture.
    pub capture: Capture,
    /// The instant of judgement, if the case says one.
    pub as_of: Option<Instant>,
}

impl Ready {
    /// Makes the capture of a case, and checks that all names in what it expects stand for something.
    ///
    /// # Errors
    /// The place in the file, and what is wrong there.
    pub fn of(case: &Case, shelf: &Shelf) -> Result<Self, Problem> {
        case.expects_its_rule()?;
        let text = &case.text;
        let wrong = |section, at, message| Problem::at(&case.path, case.place(section, at), message);
        let capture = Capture::of(text, shelf).map_err(|bad| match bad.group {
            Some(at) => wrong("lines", at, bad.message),
            None => wrong("lines", 0, bad.message),
        })?;
        let as_of = text.as_of.as_deref().map(|at| Instant::parse_rfc3339(at).ok_or(at)).transpose();
        let as_of =
            as_of.map_err(|at| wrong("as_of", 0, format!("as_of: `{at}` is no time: write 2026-11-30T07:00:00Z")))?;
        for (at, expected) in text.expect.iter().enumerate() {
            expect::names(expected, &capture).map_err(|why| wrong("expect", at, why))?;
        }
        Ok(Self { capture, as_of })
    }

    /// Holds a verdict against what the case expects.
    ///
    /// # Errors
    /// The report of what differs.
    pub fn holds(&self, case: &Case, expected: &[Expect], verdict: Verdict, look: Look) -> Told<()> {
        let CaseText { rejects, blind, .. } = &case.text;
        if verdict.rejects.len() != *rejects {
            let told = verdict.rejects.join("\n  ");
            return Err(format!("refused records: {}, not {rejects}:\n  {told}", verdict.rejects.len()));
        }
        match verdict.blind.get(&case.rule) {
            _ if verdict.facts == 0 => return Err("nothing of A2A was understood in its lines".to_owned()),
            Some(missing) if !blind => {
                let missing = missing.join(", ");
                return Err(format!("{} is blind here for want of {missing}: is `blind = true` the point?", case.rule));
            }
            None if *blind => return Err(format!("{} is not blind here", case.rule)),
            _ => {}
        }
        let (mut expected, mut findings) = (expected.to_vec(), verdict.findings);
        if look == Look::Own {
            expected.retain(|expect| expect.rule == case.rule);
            findings.retain(|finding| finding.rule == case.rule);
        }
        expect::compare(&expected, &self.capture, &findings)
    }
}

/// Line and column of the n-th table of a section, from 0; of a key, its own; else the beginning of the file.
pub(super) fn place(text: &str, section: &str, at: usize) -> (usize, usize) {
    let mut headers = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        let header = line.strip_prefix("[[").and_then(|rest| rest.split("]]").next());
        let key = line.split('=').next().filter(|_| line.contains('='));
        [header, key].into_iter().flatten().any(|name| name.trim() == section)
    });
    match headers.nth(at) {
        Some((number, line)) => (number + 1, line.len() - line.trim_start().len() + 1),
        None => (1, 1),
    }
}

/// The cases below a folder: `<rule>/<case>/case.toml`, in order of path. What cannot be read is a problem with its place.
pub fn below(folder: &Path) -> Vec<Result<Case, Problem>> {
    let found = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    let read = |entry: walkdir::DirEntry| match entry.file_type().is_dir() {
        true => without_case(entry.path()).map(Err),
        false => (entry.file_name() == "case.toml").then(|| Case::read(entry.path(), folder)),
    };
    found.filter_map(read).collect()
}

/// What is wrong with a folder that is called as those of cases are and holds none.
fn without_case(folder: &Path) -> Option<Problem> {
    let (name, case) = (folder.file_name()?.to_str()?, folder.join("case.toml"));
    let is_of_case = name.starts_with("fires_") || name.starts_with("quiet_");
    if !is_of_case || case.is_file() {
        return None;
    }
    let files = walkdir::WalkDir::new(folder).max_depth(1).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = files.filter(|entry| entry.file_type().is_file());
    let names: Vec<String> = files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let there = if names.is_empty() { "nothing".to_owned() } else { listed(names) };
    Some(Problem::at(&case, (1, 1), format!("no `case.toml` in this folder of a case; there is {there}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_found_by_its_number() {
        let text = "why = \"x\"\nas_of = \"y\"\n\n[[lines]]\nraw = '''\n'''\n  [[ expect ]]\n[[lines]]\n";
        assert_eq!(place(text, "lines", 0), (4, 1));
        assert_eq!(place(text, "lines", 1), (8, 1));
        assert_eq!(place(text, "expect", 0), (7, 3));
        assert_eq!(place(text, "as_of", 0), (2, 1));
        assert_eq!(place(text, "expect", 1), (1, 1));
    }
}
