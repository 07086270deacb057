//! What the README shows is what the program does, and its steps are taken as they stand there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use clap::CommandFactory;

/// A part of the README between two marks: what is before it, the part, what is after it.
fn part(readme: &str, begin: &str, end: &str) -> (String, String, String) {
    let at = readme.find(begin).unwrap();
    let from = at + readme[at..].find("-->\n").unwrap() + "-->\n".len();
    let to = from + readme[from..].find(end).unwrap();
    (readme[..from].to_owned(), readme[from..to].to_owned(), readme[to..].to_owned())
}

/// Compares a part of the README with what it must be, or rewrites it.
fn is_fresh(begin: &str, end: &str, make: impl Fn(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let (before, shown, after) = part(&std::fs::read_to_string(&path).unwrap(), begin, end);
    let made = make(&shown);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, format!("{before}{made}{after}")).unwrap();
        return;
    }
    let other = shown.lines().zip(made.lines()).find(|(shown, made)| shown != made);
    assert_eq!(
        other, None,
        "what README.md shows, and what is said; UPDATE=1 cargo test --test readme -- --test-threads 1 rewrites it"
    );
    assert_eq!(shown.len(), made.len(), "the one goes on where the other ends");
}

/// What a line of a shell says, with the built program as `a2a-drift`.
fn said(command: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_a2a-drift"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("exec 2>&1; {command}")]).current_dir(folder);
    shell
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .env_remove("COLUMNS")
        .env("NO_COLOR", "1");
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

/// Runs the commands of a console's text, and gives the text with what they really say.
fn console(text: &str, folder: &Path) -> String {
    let commands = text.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|command| format!("$ {command}\n{}", said(command, folder))).collect()
}

/// Takes every step of a part: writes the files that it shows, runs its consoles. Gives the part with what was really said.
fn taken(part: &str, folder: &Path) -> String {
    let mut made = String::new();
    let mut rest = part;
    while let Some((before, (language, body, after))) = block(rest) {
        made.push_str(before);
        let file = before.trim_end().lines().last().and_then(|line| line.strip_prefix('`')?.strip_suffix("`:"));
        if let Some(file) = file {
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, body).unwrap();
        }
        let body = if language == "console" { console(body, folder) } else { body.to_owned() };
        made.push_str(&format!("```{language}\n{body}```\n"));
        rest = after;
    }
    made + rest
}

/// The first block of code: what is before it, its language and text, what is after it.
fn block(text: &str) -> Option<(&str, (&str, &str, &str))> {
    let (before, rest) = text.split_once("```")?;
    let (language, rest) = rest.split_once('\n')?;
    let (body, after) = rest.split_once("```\n")?;
    Some((before, (language, body, after)))
}

#[test]
fn the_example_is_a_real_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    is_fresh("<!-- example: begin;", "<!-- example: end -->", |shown| taken(shown, root));
}

#[test]
fn the_page_of_coverage_is_a_real_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    is_fresh("<!-- coverage: begin;", "<!-- coverage: end -->", |shown| taken(shown, root));
}

#[test]
fn adding_a_rule_takes_the_six_steps_as_they_stand_there() {
    let folder = tempfile::tempdir().unwrap();
    is_fresh("<!-- six steps: begin;", "<!-- six steps: end -->", |shown| taken(shown, folder.path()));
}

/// Names of the environment variables that a command and those below it take.
fn variables(command: &clap::Command, found: &mut BTreeSet<String>) {
    let own = command.get_arguments().filter_map(|argument| argument.get_env());
    found.extend(own.map(|name| name.to_string_lossy().into_owned()));
    command.get_subcommands().for_each(|command| variables(command, found));
}

#[test]
fn every_variable_of_the_environment_is_named() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let words = readme.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named: BTreeSet<String> = words.filter(|word| word.starts_with("A2A_DRIFT_")).map(str::to_owned).collect();
    let mut taken = BTreeSet::new();
    variables(&a2a_drift::cli::Cli::command(), &mut taken);
    assert!(taken.len() > 10);
    assert_eq!(named, taken);
}

#[test]
fn the_configuration_is_one_that_the_program_takes() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, configuration) = readme.split_once("## Configuration").unwrap();
    let (_, (_, settings, _)) = block(configuration).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a2a-drift.toml"), settings).unwrap();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/a2a-python-1.3.0/jsonrpc.exchanges.ndjson");
    let said =
        said(&format!("a2a-drift analyze --config a2a-drift.toml --format ndjson --quiet {capture}"), folder.path());
    assert!(said.lines().count() > 0 && said.lines().all(|line| line.starts_with('{')), "{said}");
}
