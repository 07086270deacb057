//! Rows of a rule to findings.
//!
//! In: a rule, its rows, the facts they name. Out: findings, and what of the rows broke the rule contract.
//! Adds no judgement: a row's word is only cut down to what its header allows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use arrow::array::RecordBatch;
use sha2::{Digest, Sha256};

use super::cell::Cell;
use super::corpus::Rule;
use super::evidence::{self, FactIndex};
use super::header::Suspect;
use super::render;
use super::template::Template;
use crate::findings::{Confidence, Evidence, Finding, Severity};
use crate::instant::Instant;

/// Columns of a row that have a place of their own in a finding; the others are its details.
pub(super) const RESERVED: [&str; 16] = [
    "observed_at",
    "due_at",
    "until_at",
    "over_at",
    "severity",
    "confidence",
    "suspect",
    "because",
    "first_seen",
    "last_seen",
    "count",
    "agent",
    "client",
    "skill_id",
    "task_id",
    "url",
];

/// Findings of a rule, and what its rows did wrong.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) findings: Vec<Finding>,
    pub(crate) failures: Vec<String>,
}

/// Makes findings of a rule's rows, in the order of their ids.
pub(crate) fn findings(rule: &Rule, batch: &RecordBatch, facts: &FactIndex) -> Judged {
    let mut by_id: BTreeMap<String, Finding> = BTreeMap::new();
    let mut wrongs: BTreeMap<String, usize> = BTreeMap::new();
    for row in 0..batch.num_rows() {
        let mut wrong = |message: String| *wrongs.entry(message).or_default() += 1;
        let row = Row { rule, batch, row };
        let Some(finding) = row.finding(facts, &mut wrong) else { continue };
        match by_id.entry(finding.id.clone()) {
            Entry::Vacant(entry) => {
                entry.insert(finding);
            }
            Entry::Occupied(mut entry) => {
                wrong("rows share an entity; the worst was kept".to_owned());
                if rank(&finding) > rank(entry.get()) {
                    entry.insert(finding);
                }
            }
        }
    }
    let failures = wrongs.into_iter().map(|(message, rows)| match rows {
        1 => message,
        rows => format!("{message} ({rows} rows)"),
    });
    Judged { findings: by_id.into_values().collect(), failures: failures.collect() }
}

/// Worst last: severity, then confidence, then the earlier; the rest only makes the choice the same on every run.
fn rank(finding: &Finding) -> impl Ord {
    let facts: Vec<String> = finding.evidence.iter().map(|evidence| evidence.fact_id.clone()).collect();
    (finding.severity, finding.confidence, std::cmp::Reverse((finding.due_at, finding.observed_at, facts)))
}

struct Row<'a> {
    rule: &'a Rule,
    batch: &'a RecordBatch,
    row: usize,
}

impl Row<'_> {
    fn cell(&self, column: &str) -> Cell {
        Cell::named(self.batch, column, self.row)
    }

    fn text(&self, column: &str) -> Option<String> {
        self.cell(column).into_text()
    }

    fn time(&self, column: &str) -> Option<Instant> {
        self.cell(column).as_time()
    }

    fn finding(&self, facts: &FactIndex, wrong: &mut impl FnMut(String)) -> Option<Finding> {
        let Some(observed_at) = self.time("observed_at") else {
            wrong("a row without `observed_at` was dropped".to_owned());
            return None;
        };
        let word = self.text("confidence").unwrap_or_default();
        let Some(confidence) = Confidence::parse(&word) else {
            wrong(format!("a row with confidence `{word}` was dropped; it is `possible`, `likely` or `confirmed`"));
            return None;
        };
        let header = &self.rule.header;
        let evidence = self.evidence(facts, wrong);
        let fill = |template: &Template| template.fill(|column| Some(self.cell(column).phrase()));
        Some(Finding {
            id: self.id(),
            rule: self.rule.id.clone(),
            category: self.rule.category.clone(),
            severity: self.severity(confidence, wrong),
            confidence,
            suspect: self.suspect(wrong).as_str().to_owned(),
            because: self.text("because").unwrap_or_else(|| fill(&header.because)),
            entity: header.entity.iter().map(|name| (name.clone(), self.cell(name).to_string())).collect(),
            agent: self.text("agent").unwrap_or_default(),
            client: self.text("client"),
            skill_id: self.text("skill_id"),
            task_id: self.text("task_id"),
            url: self.text("url"),
            observed_at,
            due_at: self.time("due_at").unwrap_or(observed_at),
            until_at: self.time("until_at"),
            over_at: self.time("over_at"),
            first_seen: self.time("first_seen").unwrap_or(observed_at),
            last_seen: self.time("last_seen").unwrap_or(observed_at),
            count: self.count(),
            summary: fill(&header.summary),
            next_step: fill(&header.next),
            details: self.details(),
            runbook: render::link(&self.rule.id),
            evidence,
        })
    }

    /// Hash of rule and entity: each part with its length, so that no two lists of parts read the same.
    fn id(&self) -> String {
        let mut hash = Sha256::new();
        let values = self.rule.header.entity.iter().map(|column| self.cell(column).to_string());
        for part in std::iter::once(self.rule.id.clone()).chain(values) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hex::encode(&hash.finalize()[..16])
    }

    fn severity(&self, confidence: Confidence, wrong: &mut impl FnMut(String)) -> Severity {
        let most = self.rule.header.severity;
        let said = match self.text("severity") {
            None => None,
            Some(word) => {
                let parsed = Severity::parse(&word);
                if parsed.is_none() {
                    wrong(format!("severity `{word}` is none; the header's was taken"));
                }
                parsed
            }
        };
        let severity = said.unwrap_or(most);
        if severity > most {
            wrong(format!(
                "severity `{}` is above the header's `{}`, which was taken",
                severity.as_str(),
                most.as_str()
            ));
        }
        if confidence == Confidence::Possible && severity > Severity::Info {
            wrong("a row that is only `possible` cannot be above `info`, which was taken".to_owned());
            return Severity::Info;
        }
        severity.min(most)
    }

    fn suspect(&self, wrong: &mut impl FnMut(String)) -> Suspect {
        match self.text("suspect") {
            None => self.rule.header.suspect,
            Some(word) => Suspect::parse(&word).unwrap_or_else(|| {
                wrong(format!("suspect `{word}` is none; the header's was taken"));
                self.rule.header.suspect
            }),
        }
    }

    fn count(&self) -> u64 {
        match self.cell("count") {
            Cell::Int(count) => u64::try_from(count).unwrap_or(1),
            _ => 1,
        }
    }

    fn evidence(&self, facts: &FactIndex, wrong: &mut impl FnMut(String)) -> Vec<Evidence> {
        let mut found: Vec<Evidence> = Vec::new();
        for (field, column) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            let Some(role) = evidence::role(field.name()) else { continue };
            for id in evidence::ids(Cell::of(column, self.row)) {
                if found.iter().any(|e| e.fact_id == id && e.role == role) {
                    continue;
                }
                match facts.evidence(role, &id) {
                    Some(evidence) => {
                        let beside = self.rule.header.beside.iter().any(|other| other == role);
                        found.push(Evidence { beside, ..evidence });
                    }
                    None => wrong(format!("`{}` names a fact that is in no table", field.name())),
                }
            }
        }
        if found.is_empty() {
            wrong("a row has no evidence".to_owned());
        }
        facts.tell_apart(&mut found);
        found
    }

    fn details(&self) -> BTreeMap<String, serde_json::Value> {
        let schema = self.batch.schema();
        let columns = schema.fields().iter().zip(self.batch.columns());
        columns
            .filter(|(field, _)| {
                let name = field.name();
                !RESERVED.contains(&name.as_str())
                    && evidence::role(name).is_none()
                    && !self.rule.header.entity.contains(name)
            })
            .map(|(field, column)| (field.name().clone(), Cell::of(column, self.row).into_json()))
            .collect()
    }
}
