//! Findings as plain types, and their grouping into incidents.
//!
//! In: rows judged by `rules`. Out: what `publish` renders. Reads no table and no clock.

mod finding;
pub mod incident;
mod report;
#[cfg(test)]
pub(crate) mod samples;

pub use finding::{Confidence, Evidence, Finding, Generation, RuleCoverage, Severity};
pub use incident::Incident;
pub use report::{Intake, RejectCount, Report, RuleFailure, SourceIntake, Unjudged, Verdict};
