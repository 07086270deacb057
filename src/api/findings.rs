//! `GET /api/v1/findings` and `/api/v1/findings/{id}`.
//!
//! In: the snapshot, filters, a place to go on from. Out: findings as in `--format json`. Pages hold when the snapshot is
//! replaced between them: a place is not a number but the last finding shown.

use std::cmp::Reverse;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;

use super::problem::Problem;
use super::query::Query;
use super::{Api, answer};
use crate::findings::incident::reading_order;
use crate::findings::{Finding, Severity};
use crate::instant::Instant;
use crate::publish::json;

/// What can be asked for.
const PARAMETERS: [&str; 10] =
    ["rule", "category", "severity", "suspect", "agent", "task_id", "since", "state", "limit", "cursor"];

#[derive(Serialize)]
struct Page<F> {
    schema_version: u32,
    as_of: Option<String>,
    /// Findings that pass the filters, on all pages.
    total: usize,
    findings: Vec<F>,
    /// What to give as `cursor` for the page after this; null on the last.
    next: Option<String>,
}

#[derive(Serialize)]
struct One<F> {
    schema_version: u32,
    as_of: Option<String>,
    finding: F,
}

pub(super) async fn list(State(api): State<Api>, uri: Uri) -> Result<Response, Problem> {
    let query = Query::of(&uri, &PARAMETERS)?;
    let filter = Filter::of(&query)?;
    let limit = query.limit()?;
    let cursor = query.one("cursor")?.map(Cursor::decode).transpose()?;
    let snapshot = api.snapshot.load();
    let total = snapshot.findings.iter().filter(|finding| filter.passes(finding)).count();
    let start = cursor.map_or(0, |cursor| {
        snapshot.findings.partition_point(|finding| reading_order(finding) <= cursor.reading_order())
    });
    let rest = snapshot.findings.iter().skip(start).filter(|finding| filter.passes(finding));
    let mut shown: Vec<&Finding> = rest.take(limit + 1).collect();
    let has_more = shown.len() > limit;
    shown.truncate(limit);
    let page = Page {
        schema_version: json::SCHEMA_VERSION,
        as_of: snapshot.as_of.map(Instant::to_rfc3339),
        total,
        next: shown.last().filter(|_| has_more).map(|last| Cursor::after(last).encode()),
        findings: shown.into_iter().map(json::finding).collect(),
    };
    Ok(answer(StatusCode::OK, &page))
}

pub(super) async fn one(State(api): State<Api>, id: Result<Path<String>, PathRejection>) -> Result<Response, Problem> {
    let Path(id) = id.map_err(|_| Problem::not_text())?;
    let snapshot = api.snapshot.load();
    let finding = snapshot.finding(&id).ok_or_else(|| Problem::not_found("no finding that fires now has this id"))?;
    let as_of = snapshot.as_of.map(Instant::to_rfc3339);
    Ok(answer(StatusCode::OK, &One { schema_version: json::SCHEMA_VERSION, as_of, finding: json::finding(finding) }))
}

/// What findings must be to be shown. Several values of one name are alternatives; those that are a program's own words may
/// stand in a list with commas, names from outside may have commas in them.
struct Filter<'a> {
    rules: Vec<&'a str>,
    categories: Vec<&'a str>,
    severities: Vec<Severity>,
    suspects: Vec<&'a str>,
    agents: Vec<&'a str>,
    tasks: Vec<&'a str>,
    since: Option<Instant>,
}

impl<'a> Filter<'a> {
    fn of(query: &'a Query) -> Result<Self, Problem> {
        let severity = |word: &str| {
            let words = "info, warning and critical";
            let wrong = || Problem::bad_request(format!("there is no severity `{word}`; there are {words}"));
            Severity::parse(word).ok_or_else(wrong)
        };
        if let Some(other) = query.all("state").into_iter().find(|state| *state != "firing") {
            let message = format!("there is no state `{other}`: only findings that are `firing` are shown");
            return Err(Problem::bad_request(message));
        }
        Ok(Self {
            rules: query.words("rule")?,
            categories: query.words("category")?,
            severities: query.words("severity")?.into_iter().map(severity).collect::<Result<_, _>>()?,
            suspects: query.all("suspect"),
            agents: query.all("agent"),
            tasks: query.all("task_id"),
            since: query.instant("since")?,
        })
    }

    fn passes(&self, finding: &Finding) -> bool {
        let any = |wanted: &[&str], value: &str| wanted.is_empty() || wanted.contains(&value);
        any(&self.rules, &finding.rule)
            && any(&self.categories, &finding.category)
            && (self.severities.is_empty() || self.severities.contains(&finding.severity))
            && any(&self.suspects, &finding.suspect)
            && any(&self.agents, &finding.agent)
            && any(&self.tasks, finding.task_id.as_deref().unwrap_or_default())
            && self.since.is_none_or(|since| since <= finding.last_seen)
    }
}

/// The last finding of a page, as far as its place in the order depends on it.
struct Cursor {
    severity: Severity,
    rule: String,
    observed_at: Instant,
    id: String,
}

impl Cursor {
    fn after(finding: &Finding) -> Self {
        let Finding { severity, rule, observed_at, id, .. } = finding;
        Self { severity: *severity, rule: rule.clone(), observed_at: *observed_at, id: id.clone() }
    }

    fn reading_order(&self) -> (Reverse<Severity>, &str, Instant, &str) {
        (Reverse(self.severity), &self.rule, self.observed_at, &self.id)
    }

    fn encode(&self) -> String {
        let parts = (self.severity.as_str(), &self.rule, self.observed_at.0, &self.id);
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::json!(parts).to_string())
    }

    fn decode(text: &str) -> Result<Self, Problem> {
        let read = || {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
            let (severity, rule, observed_at, id): (String, String, i64, String) =
                serde_json::from_slice(&bytes).ok()?;
            Some(Self { severity: Severity::parse(&severity)?, rule, observed_at: Instant(observed_at), id })
        };
        read().ok_or_else(|| Problem::bad_request("`cursor` is none that an answer gave as `next`"))
    }
}
