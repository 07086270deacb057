//! The house rules of ARCHITECTURE.md, held over the source text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use walkdir::WalkDir;

/// What each room may name beside itself: the output of the room on its left, what it makes, and plain types.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("instant", &[]),
    ("page", &[]),
    ("token", &[]),
    ("tls", &[]),
    ("receive", &["instant", "token", "tls"]),
    ("decode", &["receive", "instant"]),
    ("normalize", &["decode", "tables", "instant"]),
    ("tables", &["instant"]),
    ("rules", &["tables", "findings", "instant", "page"]),
    ("live", &["rules", "tables", "findings", "instant"]),
    ("store", &["tables", "instant"]),
    ("findings", &["instant"]),
    ("measures", &["tables", "findings", "instant"]),
    ("publish", &["findings", "measures", "instant", "page"]),
    ("api", &["findings", "measures", "publish", "instant", "token", "tls"]),
    ("config", &["findings", "instant"]),
    ("cli", &["config", "instant"]),
    ("telemetry", &[]),
    (
        "commands",
        &[
            "cli",
            "config",
            "telemetry",
            "receive",
            "decode",
            "normalize",
            "tables",
            "store",
            "rules",
            "live",
            "findings",
            "measures",
            "publish",
            "api",
            "instant",
            "page",
            "token",
            "tls",
        ],
    ),
    ("main", &["cli", "commands"]),
    ("lib", &[]),
];

/// Longest file, tests not counted.
const MAX_LINES: usize = 400;

/// A source file without its tests.
struct Source {
    path: PathBuf,
    room: String,
    text: String,
}

/// All of `src/`, without what only tests use: modules declared under `#[cfg(test)]`.
fn sources() -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files: Vec<(PathBuf, String)> = WalkDir::new(&src)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| (path.strip_prefix(&src).unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    let for_tests: Vec<PathBuf> = files.iter().flat_map(|(path, text)| modules_for_tests(path, text)).collect();
    let is_for_tests = |path: &Path| for_tests.iter().any(|module| path.with_extension("").starts_with(module));
    let sources: Vec<Source> = files
        .into_iter()
        .filter(|(path, _)| !is_for_tests(path))
        .map(|(path, text)| Source {
            room: path.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned(),
            text: text.split("\n#[cfg(test)]\nmod tests").next().unwrap().to_owned(),
            path: Path::new("src").join(path),
        })
        .collect();
    assert!(!sources.is_empty());
    sources
}

/// Paths, without extension, of the modules that a file declares for tests only.
fn modules_for_tests(path: &Path, text: &str) -> Vec<PathBuf> {
    let declared = Regex::new(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))?\s+)?mod\s+(\w+);").unwrap();
    let folder = match path.file_stem().unwrap().to_string_lossy().as_ref() {
        "mod" | "lib" | "main" => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    };
    declared.captures_iter(text).map(|module| folder.join(&module[1])).collect()
}

/// Rooms that a text names: after `crate::` or the crate's name, braces included, comments not.
fn rooms_named(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect();
    let path = Regex::new(r"\b(?:\$?crate|a2a_drift)::(?:(\w+)|\{([^;]*?)\}\s*;)").unwrap();
    let first = Regex::new(r"(?:^|,)\s*(\w+)").unwrap();
    let nested = Regex::new(r"\{[^{}]*\}").unwrap();
    let mut rooms = BTreeSet::new();
    for found in path.captures_iter(&code) {
        if let Some(room) = found.get(1) {
            rooms.insert(room.as_str().to_owned());
        }
        if let Some(group) = found.get(2) {
            let mut group = group.as_str().to_owned();
            while nested.is_match(&group) {
                group = nested.replace_all(&group, "").into_owned();
            }
            rooms.extend(first.captures_iter(&group).map(|room| room[1].to_owned()));
        }
    }
    rooms
}

#[test]
fn a_room_names_only_the_output_of_the_room_on_its_left() {
    let mut wrong = Vec::new();
    for Source { path, room, text } in sources() {
        let Some((_, may_name)) = MAY_NAME.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("{}: the room `{room}` is not in the plan", path.display()));
            continue;
        };
        for named in rooms_named(&text) {
            let is_room = MAY_NAME.iter().any(|(name, _)| *name == named);
            if is_room && named != room && !may_name.contains(&named.as_str()) {
                wrong.push(format!("{}: `{room}` must not name `{named}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rooms_are_seen_however_they_are_imported() {
    let text = "use crate::{decode::{self, Limits}, tables::Facts};\n// crate::cli\nfn f() { crate::rules::check() }\nuse a2a_drift::cli;";
    assert_eq!(rooms_named(text), ["cli", "decode", "rules", "tables"].map(str::to_owned).into());
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = sources().into_iter().filter(|s| !s.text.starts_with("//! ")).map(|s| s.path).collect();
    assert!(silent.is_empty(), "these files do not begin with `//!`: {silent:?}");
}

#[test]
fn no_file_is_longer_than_one_can_keep_in_mind() {
    let long: Vec<_> = sources().into_iter().filter(|s| s.text.lines().count() > MAX_LINES).map(|s| s.path).collect();
    assert!(long.is_empty(), "more than {MAX_LINES} lines: {long:?}");
}

#[test]
fn files_are_named_after_what_they_hold() {
    let vague = ["utils", "util", "common", "types", "traits", "enums", "helpers", "misc"];
    let named: Vec<_> = sources()
        .into_iter()
        .map(|source| source.path)
        .filter(|path| path.file_stem().is_some_and(|stem| vague.contains(&stem.to_string_lossy().as_ref())))
        .collect();
    assert!(named.is_empty(), "{named:?}");
}

#[test]
fn stages_have_errors_of_their_own() {
    let loose: Vec<_> = sources()
        .into_iter()
        .filter(|source| source.room != "commands" && source.room != "main" && source.text.contains("anyhow::"))
        .map(|source| source.path)
        .collect();
    assert!(loose.is_empty(), "anyhow is for commands alone: {loose:?}");
}
