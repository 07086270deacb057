//! A finding: one judgement of one rule about one entity, with its evidence.
//!
//! Plain types. They come out of `rules`, are grouped by `incident`, and are rendered by `publish`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::instant::Instant;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Context.
    Info,
    /// Look today.
    Warning,
    /// Page now.
    Critical,
}

impl Severity {
    /// The word in output, metrics and headers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "info" => Some(Self::Info),
            "warning" => Some(Self::Warning),
            "critical" => Some(Self::Critical),
            _ => None,
        }
    }
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// A hint; never above info.
    Possible,
    /// One side inferred.
    Likely,
    /// Both sides seen.
    Confirmed,
}

impl Confidence {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Confirmed => "confirmed",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "possible" => Some(Self::Possible),
            "likely" => Some(Self::Likely),
            "confirmed" => Some(Self::Confirmed),
            _ => None,
        }
    }
}

/// One judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Hash of rule and entity values, 32 hex digits: the same wherever and whenever it is found.
    pub id: String,
    /// Rule id.
    pub rule: String,
    /// Folder of the rule.
    pub category: String,
    /// The row's severity, at most the header's.
    pub severity: Severity,
    /// The row's confidence.
    pub confidence: Confidence,
    /// Whose fault it looks like: `client-cache`, `card-publisher`, `remote-runtime`, `webhook-receiver`, `webhook-sender`, `gateway`,
    /// `client`, `operator`.
    pub suspect: String,
    /// Why that one, in a sentence.
    pub because: String,
    /// Values of the entity columns, by column.
    pub entity: BTreeMap<String, String>,
    /// Agent; `''` where the rule has none.
    pub agent: String,
    /// Client; none where the rule has none.
    pub client: Option<String>,
    /// Skill.
    pub skill_id: Option<String>,
    /// Task.
    pub task_id: Option<String>,
    /// Webhook or card url.
    pub url: Option<String>,
    /// Event time of the judgement.
    pub observed_at: Instant,
    /// Fires from this instant on.
    pub due_at: Instant,
    /// Stops firing at this instant.
    pub until_at: Option<Instant>,
    /// When the condition that it is about was seen to have ended. It still tells what was: a service that runs ends it.
    pub over_at: Option<Instant>,
    /// When the fault began: as the rule says, else the event time of the judgement.
    pub first_seen: Instant,
    /// When it was seen last.
    pub last_seen: Instant,
    /// Number of occurrences, as the rule counts them.
    pub count: u64,
    /// One line, from the header's template.
    pub summary: String,
    /// What to do next, from the header's template.
    pub next_step: String,
    /// The facts it rests on.
    pub evidence: Vec<Evidence>,
    /// Other columns of the row.
    pub details: BTreeMap<String, Value>,
    /// Anchor of the runbook in `queries/README.md`.
    pub runbook: String,
}

/// A fact that a finding rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Its part in the finding: the evidence column's name without `_fact_id(s)`.
    pub role: String,
    /// Fact.
    pub fact_id: String,
    /// Table of the fact.
    pub table: String,
    /// Who saw it.
    pub observer: String,
    /// Event time.
    pub observed_at: Instant,
    /// Source name.
    pub source: String,
    /// Line, byte, or entry of a HAR and where it begins, in the source.
    pub position: String,
    /// Trace id, `''` when unknown.
    pub trace_id: String,
    /// Span id, `''` when unknown.
    pub span_id: String,
    /// Client of the fact.
    pub client: String,
    /// Task of the fact, `''` when it has none.
    pub task_id: String,
    /// It shows how things were otherwise, before or after: its task and client are not among those that the finding is about.
    pub beside: bool,
    /// What the fact says, in a few words made of its columns (never message text): `completed (poll)`, `401`, `card 1.0.0`.
    pub says: String,
}

/// Whether a rule could have fired on this input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCoverage {
    /// Rule id.
    pub rule: String,
    /// Needs that no fact fills, as written in the header; empty when the rule sees.
    pub missing: Vec<String>,
}

/// A generation of an agent's card, for grouping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    /// Agent.
    pub agent: String,
    /// Card version.
    pub version: String,
    /// Contract hash.
    pub contract_sha256: String,
    /// First look that saw it.
    pub valid_from: Instant,
    /// First look that saw the next one.
    pub valid_to: Option<Instant>,
}
