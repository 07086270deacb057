//! The machine's form: one JSON object, described by `analyze.schema.json`.
//!
//! In: a report. Out: JSON. The types here are the published contract and stand apart from the domain's, so that neither
//! changes the other by accident; members are only ever added within one `schema_version`.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use super::words::is_unseen;
use crate::findings::incident::tasks_touched;
use crate::findings::{
    Evidence, Finding, Incident, Intake, RejectCount, Report, RuleCoverage, RuleFailure, Severity, SourceIntake,
    Verdict,
};
use crate::instant::Instant;

/// Version of the form; raised when a member changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;
/// JSON Schema of the form.
pub const SCHEMA: &str = include_str!("analyze.schema.json");

/// The report as JSON.
///
/// # Errors
/// When the report cannot be written as JSON, which would be a defect of the types here.
pub fn render(report: &Report) -> Result<String, serde_json::Error> {
    write(&Output::of(report))
}

/// A value as text that ends in a line break and does nothing to the terminal on which it is shown.
///
/// # Errors
/// When the value cannot be written as JSON.
pub fn write<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(escaped(text))
}

/// Findings alone, one JSON object a line.
///
/// # Errors
/// As [`render`].
pub fn render_lines(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&serde_json::to_string(&FindingOut::of(finding))?);
        text.push('\n');
    }
    Ok(escaped(text))
}

/// One finding, as in the whole report.
pub fn finding(finding: &Finding) -> impl Serialize + '_ {
    FindingOut::of(finding)
}

/// JSON in which every character that a terminal would act on is an escape: serde_json writes only those of ASCII so, and
/// outside of strings there are none but line breaks.
pub(super) fn escaped(text: String) -> String {
    let acts = |c: char| c != '\n' && is_unseen(c);
    if !text.contains(acts) {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) {
            // Writing to a String cannot fail.
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(safe, "\\u{unit:04x}"));
        } else {
            safe.push(c);
        }
    }
    safe
}

#[derive(Serialize)]
struct Output<'a> {
    schema_version: u32,
    summary: Summary,
    incidents: Vec<IncidentOut<'a>>,
    findings: Vec<FindingOut<'a>>,
    coverage: Vec<CoverageOut<'a>>,
    failures: Vec<FailureOut<'a>>,
    sources: Vec<SourceOut<'a>>,
    rejects: Vec<RejectOut<'a>>,
}

impl<'a> Output<'a> {
    fn of(report: &'a Report) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            summary: Summary::of(report),
            incidents: report.incidents.iter().map(|incident| IncidentOut::of(incident, &report.findings)).collect(),
            findings: report.findings.iter().map(FindingOut::of).collect(),
            coverage: report.coverage.iter().map(|rule| CoverageOut::of(rule, report)).collect(),
            failures: report.failures.iter().map(FailureOut::of).collect(),
            sources: report.intake.sources.iter().map(SourceOut::of).collect(),
            rejects: report.intake.rejects.iter().map(RejectOut::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct Summary {
    verdict: &'static str,
    as_of: Option<String>,
    since: Option<String>,
    until: Option<String>,
    critical: usize,
    warning: usize,
    info: usize,
    accepted: usize,
    outside_window: usize,
    agents: usize,
    tasks: usize,
    clients: usize,
    rules: usize,
    blind_rules: usize,
    failed_rules: usize,
    records: u64,
    kept_facts: u64,
    facts: u64,
    rejects: u64,
    names_no_client: bool,
}

impl Summary {
    fn of(report: &Report) -> Self {
        let Intake { facts, names_no_client, .. } = report.intake;
        Self {
            verdict: match report.verdict() {
                Verdict::Clean => "clean",
                Verdict::Drift => "drift",
                Verdict::Incomplete => "incomplete",
                Verdict::Unjudged => "unjudged",
            },
            as_of: report.as_of.map(Instant::to_rfc3339),
            since: report.since.map(Instant::to_rfc3339),
            until: report.until.map(Instant::to_rfc3339),
            critical: report.count(Severity::Critical),
            warning: report.count(Severity::Warning),
            info: report.count(Severity::Info),
            accepted: report.accepted.baseline + report.accepted.suppressed,
            outside_window: report.outside,
            agents: report.agents().len(),
            tasks: tasks_touched(report.findings.iter()),
            clients: report.clients().len(),
            rules: report.coverage.len(),
            blind_rules: report.blind().count(),
            failed_rules: report.failures.len(),
            records: report.intake.records().saturating_sub(report.intake.kept()),
            kept_facts: report.intake.kept(),
            facts,
            rejects: report.intake.rejected(),
            names_no_client,
        }
    }
}

#[derive(Serialize)]
struct IncidentOut<'a> {
    agent: Option<&'a str>,
    card: Option<CardOut<'a>>,
    severity: &'static str,
    since: String,
    last_seen: String,
    tasks: Vec<&'a str>,
    clients: Vec<&'a str>,
    findings: Vec<&'a str>,
}

#[derive(Serialize)]
struct CardOut<'a> {
    version: &'a str,
    contract_sha256: &'a str,
    valid_from: String,
    valid_to: Option<String>,
}

impl<'a> IncidentOut<'a> {
    fn of(incident: &'a Incident, findings: &'a [Finding]) -> Self {
        Self {
            agent: known(&incident.agent),
            card: incident.generation.as_ref().map(|generation| CardOut {
                version: &generation.version,
                contract_sha256: &generation.contract_sha256,
                valid_from: generation.valid_from.to_rfc3339(),
                valid_to: generation.valid_to.map(Instant::to_rfc3339),
            }),
            severity: incident.severity.as_str(),
            since: incident.since.to_rfc3339(),
            last_seen: incident.last_seen.to_rfc3339(),
            tasks: incident.tasks.iter().map(String::as_str).collect(),
            clients: incident.clients.iter().map(String::as_str).collect(),
            findings: incident.findings.iter().map(|&place| findings[place].id.as_str()).collect(),
        }
    }
}

#[derive(Serialize)]
struct FindingOut<'a> {
    id: &'a str,
    rule: &'a str,
    category: &'a str,
    severity: &'static str,
    confidence: &'static str,
    suspect: &'a str,
    because: &'a str,
    agent: Option<&'a str>,
    client: Option<&'a str>,
    skill_id: Option<&'a str>,
    task_id: Option<&'a str>,
    url: Option<&'a str>,
    entity: &'a BTreeMap<String, String>,
    first_seen: String,
    last_seen: String,
    observed_at: String,
    due_at: String,
    until_at: Option<String>,
    over_at: Option<String>,
    count: u64,
    summary: &'a str,
    next_step: &'a str,
    runbook: &'a str,
    evidence: Vec<EvidenceOut<'a>>,
    details: &'a BTreeMap<String, Value>,
}

impl<'a> FindingOut<'a> {
    fn of(finding: &'a Finding) -> Self {
        let optional = |value: &'a Option<String>| value.as_deref().and_then(known);
        Self {
            id: &finding.id,
            rule: &finding.rule,
            category: &finding.category,
            severity: finding.severity.as_str(),
            confidence: finding.confidence.as_str(),
            suspect: &finding.suspect,
            because: &finding.because,
            agent: known(&finding.agent),
            client: optional(&finding.client),
            skill_id: optional(&finding.skill_id),
            task_id: optional(&finding.task_id),
            url: optional(&finding.url),
            entity: &finding.entity,
            first_seen: finding.first_seen.to_rfc3339(),
            last_seen: finding.last_seen.to_rfc3339(),
            observed_at: finding.observed_at.to_rfc3339(),
            due_at: finding.due_at.to_rfc3339(),
            until_at: finding.until_at.map(Instant::to_rfc3339),
            over_at: finding.over_at.map(Instant::to_rfc3339),
            count: finding.count,
            summary: &finding.summary,
            next_step: &finding.next_step,
            runbook: &finding.runbook,
            evidence: finding.evidence.iter().map(EvidenceOut::of).collect(),
            details: &finding.details,
        }
    }
}

#[derive(Serialize)]
struct EvidenceOut<'a> {
    role: &'a str,
    says: &'a str,
    observer: Option<&'a str>,
    client: Option<&'a str>,
    task_id: Option<&'a str>,
    observed_at: String,
    source: Option<&'a str>,
    position: Option<&'a str>,
    trace_id: Option<&'a str>,
    span_id: Option<&'a str>,
    table: &'a str,
    fact_id: &'a str,
}

impl<'a> EvidenceOut<'a> {
    fn of(fact: &'a Evidence) -> Self {
        Self {
            role: &fact.role,
            says: &fact.says,
            observer: known(&fact.observer),
            client: known(&fact.client),
            task_id: known(&fact.task_id),
            observed_at: fact.observed_at.to_rfc3339(),
            source: known(&fact.source),
            position: known(&fact.position),
            trace_id: known(&fact.trace_id),
            span_id: known(&fact.span_id),
            table: &fact.table,
            fact_id: &fact.fact_id,
        }
    }
}

#[derive(Serialize)]
struct CoverageOut<'a> {
    rule: &'a str,
    blind: bool,
    missing: &'a [String],
    advice: Vec<&'a str>,
}

impl<'a> CoverageOut<'a> {
    fn of(rule: &'a RuleCoverage, report: &'a Report) -> Self {
        let mut advice: Vec<&str> = Vec::new();
        for how in rule.missing.iter().filter_map(|need| report.advice.get(need)) {
            if !advice.contains(&how.as_str()) {
                advice.push(how);
            }
        }
        Self { rule: &rule.rule, blind: !rule.missing.is_empty(), missing: &rule.missing, advice }
    }
}

#[derive(Serialize)]
struct FailureOut<'a> {
    rule: &'a str,
    message: &'a str,
}

impl<'a> FailureOut<'a> {
    fn of(failure: &'a RuleFailure) -> Self {
        Self { rule: &failure.rule, message: &failure.message }
    }
}

#[derive(Serialize)]
struct SourceOut<'a> {
    source: &'a str,
    formats: &'a [&'static str],
    emitters: &'a [String],
    records: u64,
    kept_facts: u64,
    rejects: u64,
}

impl<'a> SourceOut<'a> {
    fn of(source: &'a SourceIntake) -> Self {
        Self {
            source: &source.name,
            formats: &source.formats,
            emitters: &source.emitters,
            records: source.records.saturating_sub(source.kept),
            kept_facts: source.kept,
            rejects: source.rejects,
        }
    }
}

#[derive(Serialize)]
struct RejectOut<'a> {
    reason: &'a str,
    count: u64,
    first: FirstReject<'a>,
}

#[derive(Serialize)]
struct FirstReject<'a> {
    source: &'a str,
    position: &'a str,
    detail: &'a str,
}

impl<'a> RejectOut<'a> {
    fn of(reject: &'a RejectCount) -> Self {
        let first = FirstReject { source: &reject.source, position: &reject.position, detail: &reject.detail };
        Self { reason: reject.reason, count: reject.count, first }
    }
}

/// In facts `''` is unknown; outside, null is.
fn known(value: &str) -> Option<&str> {
    Some(value).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
