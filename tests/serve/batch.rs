//! What `analyze` says of the same records.

use std::collections::BTreeSet;

use a2a_drift::findings::Finding;
use a2a_drift::instant::Instant;
use a2a_drift::normalize::identity::{self, IdentitySettings};
use a2a_drift::rules::{AsOf, select};

use super::host::{Findings, Serving, eventually};
use crate::support::judge::{self, Files};
use crate::support::library;

/// What is found in files, at any time.
pub(crate) struct Batch {
    findings: Vec<Finding>,
    pub(crate) facts: usize,
}

impl Batch {
    pub(crate) async fn of(files: &Files) -> Self {
        let (mut facts, rejects) = judge::facts(files);
        assert_eq!(rejects, [] as [&str; 0]);
        identity::resolve(&mut facts, &IdentitySettings::default());
        facts.make_set();
        let evaluation = judge::engine().unwrap().evaluate(facts.batches().unwrap()).await.unwrap();
        assert!(evaluation.failures.is_empty());
        Self { findings: evaluation.findings, facts: facts.len() }
    }

    /// What `--as-of` shows.
    pub(crate) fn at(&self, as_of: Instant) -> Findings {
        let line = |finding: Finding| {
            let words = [
                finding.rule.as_str(),
                finding.severity.as_str(),
                finding.confidence.as_str(),
                &finding.suspect,
                &finding.agent,
                finding.task_id.as_deref().unwrap_or_default(),
            ];
            (finding.id.clone(), words.join(" "))
        };
        select(self.findings.clone(), &AsOf::Fixed(as_of)).into_iter().map(line).collect()
    }

    /// Waits until a service says the same; how many findings that are.
    pub(crate) async fn is_said_by(&self, service: &Serving) -> usize {
        let mut last = String::new();
        let same = eventually("said by the service", async || {
            let (as_of, found) = service.findings().await;
            let expected = self.at(as_of);
            let facts = service.metric("a2a_drift_facts", "").await;
            let now = format!("{facts} facts of {}\n{}", self.facts, difference(&found, &expected));
            if now != last {
                println!("{now}");
                last = now;
            }
            (found == expected && facts as usize == self.facts).then_some(found.len())
        });
        let count = same.await;
        let rules: BTreeSet<String> = service.findings().await.1.into_values().filter_map(first_word).collect();
        for rule in rules {
            let blind = service.metric("a2a_drift_rule_blind", &format!("rule=\"{rule}\"")).await;
            assert_eq!(blind, 0.0, "{rule} fires");
        }
        count
    }
}

/// The rule of a line.
fn first_word(line: String) -> Option<String> {
    line.split(' ').next().map(str::to_owned)
}

fn difference(found: &Findings, expected: &Findings) -> String {
    let lines = |findings: &Findings| -> BTreeSet<String> {
        findings.iter().map(|(id, line)| format!("{id} {line}")).collect()
    };
    let (found, expected) = (lines(found), lines(expected));
    let only = |sign: &str, these: &BTreeSet<String>, those: &BTreeSet<String>| -> Vec<String> {
        these.difference(those).map(|line| format!("  {sign} {line}")).collect()
    };
    [only("service:", &found, &expected), only("analyze:", &expected, &found)].concat().join("\n")
}

/// Lines of a capture.
pub(crate) fn lines(file: &str) -> Vec<String> {
    library::lines(file).unwrap()
}

/// Files of lines.
pub(crate) fn files(of: &[(&str, &[String])]) -> Files {
    of.iter().map(|(name, lines)| ((*name).to_owned(), (lines.join("\n") + "\n").into_bytes())).collect()
}
