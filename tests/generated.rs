//! Files made of others are as they would be made now. `UPDATE=1 cargo test --test generated` makes them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::fs;
use std::path::Path;

use a2a_drift::rules::{Corpus, render};

#[path = "support/grafana/mod.rs"]
mod grafana;
#[path = "support/promtool.rs"]
mod promtool;

/// Marks in README.md between which the table of rules stands.
const BEGIN: &str = "<!-- rules: begin; UPDATE=1 cargo test --test generated -->\n";
const END: &str = "<!-- rules: end -->";

/// The rules as they lie in the tree, which may be newer than those in the binary.
fn corpus() -> Corpus {
    Corpus::from_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("queries")).unwrap()
}

/// Compares a file with what it is made of, or rewrites it.
fn is_fresh(path: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let kept = fs::read_to_string(&file).unwrap_or_default();
    if kept == made {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(&file, made).unwrap();
    }
    let line = kept.lines().zip(made.lines()).take_while(|(kept, made)| kept == made).count() + 1;
    panic!("{path} is stale from line {line} on; this makes it anew:\n\n    UPDATE=1 cargo test --test generated\n");
}

#[test]
fn the_page_beside_the_rules_is_made_of_them() {
    is_fresh("queries/README.md", &render::readme(&corpus()));
}

#[test]
fn the_table_in_the_readme_is_made_of_the_rules() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    is_fresh("README.md", &format!("{before}{BEGIN}\n{}\n{END}{after}", render::table(&corpus())));
}

#[test]
fn the_alerts_and_their_tests_are_made_of_the_rules() {
    is_fresh("dashboards/prometheus/alerts.yaml", &render::alerts(&corpus(), ""));
    is_fresh("dashboards/prometheus/alerts_test.yaml", &promtool::alerts_test(&corpus()));
}

#[test]
fn the_dashboards_are_as_the_tests_make_them() {
    for (name, made) in grafana::dashboards() {
        is_fresh(&format!("dashboards/grafana/{name}.json"), &made);
    }
}
