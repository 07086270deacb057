//! What the README shows is what the program does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::path::Path;
use std::process::Command;

const BEGIN: &str = "<!-- example: begin; UPDATE=1 cargo test --test readme -->\n";
const END: &str = "<!-- example: end -->";

#[test]
fn the_example_is_a_real_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (example, after) = rest.split_once(END).unwrap();

    let command = example.lines().find_map(|line| line.strip_prefix("$ a2a-drift ")).unwrap();
    let program = env!("CARGO_BIN_EXE_a2a-drift");
    let output = Command::new(program).args(command.split_whitespace()).current_dir(root).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let real = format!("```console\n$ a2a-drift {command}\n{shown}```\n");

    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root.join("README.md"), format!("{before}{BEGIN}{real}{END}{after}")).unwrap();
    } else {
        assert_eq!(example, real, "UPDATE=1 cargo test --test readme rewrites it");
    }
}
