//! Programs that tests run against, as `tests/tools/fetch/fetch` unpacks them.

use std::path::PathBuf;
use std::process::Command;

/// A program, of which there must be one: a test that cannot run has failed.
pub(crate) fn program(name: &str) -> PathBuf {
    // A test lies in TARGET/debug/deps.
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let tools = std::env::var_os("A2A_DRIFT_TOOLS").map_or_else(|| target.join("check-tools/servers"), PathBuf::from);
    let path = tools.join("bin").join(name);
    assert!(path.exists(), "{} is missing: tests/tools/fetch/fetch fetches it", path.display());
    path
}

/// Runs a program that must succeed, and returns what it says.
pub(crate) fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{said}");
    said
}
