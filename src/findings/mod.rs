//! Findings as plain types, and their grouping into incidents.
//!
//! In: rows judged by `rules`. Out: what `publish` renders. Reads no table and no clock.

mod finding;

pub use finding::{Confidence, Evidence, Finding, Generation, RuleCoverage, Severity};
