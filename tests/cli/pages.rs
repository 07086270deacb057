//! Completions and manual pages are what shells and readers of manuals take.

use std::process::{Command, Stdio};

use super::*;

#[test]
fn the_completions_of_bash_are_a_script_of_bash() {
    let output = run(&["completions", "bash"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(&output.stdout).unwrap();
    let checked = bash.wait_with_output().unwrap();
    assert!(checked.status.success(), "{}", stderr(&checked));
    // Asked as bash asks: after `a2a-drift cov` and a tabulator.
    let asked = "source /dev/stdin; COMP_WORDS=(a2a-drift cov); COMP_CWORD=1; _a2a__drift a2a-drift cov a2a-drift; echo \"${COMPREPLY[@]}\"";
    let mut bash =
        Command::new("bash").args(["-c", asked]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(&output.stdout).unwrap();
    assert_eq!(stdout(&bash.wait_with_output().unwrap()), "coverage\n");
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(&run(&["completions", shell]));
        assert!(script.contains("coverage") && script.contains("fail-on"), "{shell}");
    }
    assert_eq!(code(&run(&["completions", "dos"])), 2);
}

/// Whether a page is one: its parts are there, and `groff` has nothing to say against it, where there is one.
fn is_a_page(text: &str, name: &str) {
    for part in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"] {
        assert!(text.contains(part), "{name}: no {part}");
    }
    let mut groff = Command::new("groff");
    groff
        .args(["-man", "-ww", "-Tascii", "-P-cbou"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let Ok(mut groff) = groff.spawn() else { return };
    groff.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let shown = groff.wait_with_output().unwrap();
    assert_eq!(stderr(&shown), "", "{name}");
    assert!(stdout(&shown).contains("SYNOPSIS"), "{name}");
}

#[test]
fn there_is_a_manual_page_for_the_program_and_for_each_command() {
    is_a_page(&stdout(&run(&["man"])), "man");
    let folder = tempfile::tempdir().unwrap();
    let output = run(&["man", folder.path().to_str().unwrap()]);
    assert_eq!((code(&output), stdout(&output).as_str()), (0, ""));
    for name in ["a2a-drift", "a2a-drift-analyze", "a2a-drift-coverage", "a2a-drift-rules-test", "a2a-drift-serve"] {
        let page = std::fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
        is_a_page(&page, name);
        assert!(page.contains(&format!(".TH {name} 1")), "{page:.200}");
    }
}
