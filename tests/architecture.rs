//! The house rules of ARCHITECTURE.md, held over the source text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use walkdir::WalkDir;

/// What each room may name beside itself: the output of the room on its left, what it makes, and plain types.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("instant", &[]),
    ("page", &[]),
    ("token", &[]),
    ("tls", &[]),
    ("door", &["tls"]),
    ("receive", &["instant", "token", "tls", "door"]),
    ("decode", &["receive", "instant"]),
    ("normalize", &["decode", "tables", "instant"]),
    ("tables", &["instant"]),
    ("rules", &["tables", "findings", "instant", "page"]),
    ("live", &["rules", "tables", "findings", "instant"]),
    ("store", &["tables", "instant"]),
    ("findings", &["instant"]),
    ("measures", &["tables", "findings", "instant"]),
    ("publish", &["findings", "measures", "instant", "page"]),
    ("api", &["findings", "measures", "publish", "instant", "token", "tls", "door"]),
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

/// Folders in which modules that lie side by side still name each other in a circle. None is added here.
const KNOTS: &[&str] = &[
    "normalize",
    "normalize/exchange",
    "normalize/identity",
    "normalize/telemetry",
    "rules",
    "rules/cases",
    "store",
    "tables",
];

/// What is imported, and paths that are written out.
static IMPORTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").unwrap());
static WRITTEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").unwrap());

/// Paths that a text imports, each as its parts: `use`s with their braces taken apart, and paths within code.
fn paths_named(text: &str) -> Vec<Vec<String>> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect();
    let mut paths = Vec::new();
    IMPORTED.captures_iter(&code).for_each(|found| spread(&found[1], &[], &mut paths));
    WRITTEN.find_iter(&code).for_each(|found| spread(found.as_str(), &[], &mut paths));
    paths
}

/// Adds the paths of an import, those in its braces one by one.
fn spread(import: &str, before: &[String], paths: &mut Vec<Vec<String>>) {
    let parts = |text: &str| -> Vec<String> {
        let names = text.split("::").map(|part| part.split_whitespace().next().unwrap_or_default().to_owned());
        before.iter().cloned().chain(names.filter(|name| !name.is_empty())).collect()
    };
    let Some((head, inner)) = import.trim().split_once('{') else { return paths.push(parts(import)) };
    let (head, inner) = (parts(head), inner.trim_end().strip_suffix('}').unwrap_or(inner));
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth <= 0 => {
                spread(&inner[start..at], &head, paths);
                start = (at + 1).min(inner.len());
            }
            _ => {}
        }
    }
}

/// The module that a path leads to, as far as there are modules.
fn module_named(from: &[String], path: &[String], modules: &BTreeSet<Vec<String>>) -> Option<Vec<String>> {
    let inside = |name: &str| from.iter().cloned().chain([name.to_owned()]).collect::<Vec<String>>();
    let mut at = from.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (at, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        first if modules.contains(&inside(first)) => {}
        _ => return None,
    }
    for part in rest {
        at.push(part.clone());
        if !modules.contains(&at) {
            at.pop();
            break;
        }
    }
    Some(at)
}

/// Which neighbour names which, by folder.
fn neighbours(sources: &[(Vec<String>, String)]) -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
    let modules: BTreeSet<Vec<String>> = sources.iter().map(|(module, _)| module.clone()).collect();
    let mut all: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, text) in sources {
        for named in paths_named(text).iter().filter_map(|path| module_named(module, path, &modules)) {
            let same = module.iter().zip(&named).take_while(|(a, b)| a == b).count();
            if let (true, Some(from), Some(to)) = (same > 0, module.get(same), named.get(same)) {
                let folder = all.entry(module[..same].join("/")).or_default();
                folder.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    all
}

/// What is left of who names whom when all are taken away who name nobody that is left.
fn circle(mut names: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    loop {
        let left: BTreeSet<String> = names.keys().cloned().collect();
        names.values_mut().for_each(|named| named.retain(|name| left.contains(name)));
        let before = names.len();
        names.retain(|_, named| !named.is_empty());
        if names.len() == before {
            return names;
        }
    }
}

#[test]
fn modules_side_by_side_do_not_name_each_other_in_a_circle() {
    let module = |path: &Path| -> Vec<String> {
        let within = path.strip_prefix("src").unwrap().with_extension("");
        let parts = within.iter().map(|part| part.to_string_lossy().into_owned());
        parts.filter(|part| part != "mod").collect()
    };
    let sources: Vec<_> = sources().into_iter().map(|source| (module(&source.path), source.text)).collect();
    let circles: BTreeMap<String, _> =
        neighbours(&sources).into_iter().map(|(folder, names)| (folder, circle(names))).collect();
    let tied: Vec<&str> = circles.iter().filter(|(_, names)| !names.is_empty()).map(|(at, _)| at.as_str()).collect();
    assert_eq!(tied, KNOTS, "{circles:#?}");
}

#[test]
fn circles_are_seen_through_braces_and_paths_and_two_that_name_a_third_are_none() {
    let module = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<String>>();
    let named = |b: &str| {
        let text = [
            ("r", ""),
            ("r/a", "use super::{b::{self, X as Y}, d};\n// use super::c;\n"),
            ("r/b", b),
            ("r/c", "use crate::{r::d::Z, s};\n"),
            ("r/d", "use std::io;\n"),
            ("s", ""),
        ];
        let sources = text.map(|(path, text)| (module(path), text.to_owned()));
        circle(neighbours(&sources).remove("r").unwrap()).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(named("fn f() { super::c::g() }\n"), Vec::<String>::new());
    assert_eq!(named("fn f() { crate::r::a::g() }\n"), ["a", "b"]);
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
