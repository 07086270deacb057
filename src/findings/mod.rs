//! Findings as plain types, their grouping into incidents, and what becomes of them over time.
//!
//! In: rows judged by `rules`. Out: what `publish` renders. Reads no table and no clock.

mod accepted;
pub mod active;
pub mod coverage;
mod finding;
pub mod incident;
mod report;
#[cfg(test)]
pub(crate) mod samples;
pub mod track;

pub use accepted::{Accepted, AcceptedCount, Suppression};
pub use active::Active;
pub use finding::{Confidence, Evidence, Finding, Generation, RuleCoverage, Severity};
pub use incident::Incident;
pub use report::{Intake, KEPT_LOG, RejectCount, Report, RuleFailure, SourceIntake, Unjudged, Verdict};
pub use track::Tracker;
