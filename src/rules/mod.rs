//! The rule corpus: read, checked, planned and evaluated over fact batches.
//!
//! In: SQL files and Arrow batches. Out: findings and coverage. All judgement is in the SQL; none is here.

mod problem;
mod source;

mod alerting;
mod header;
mod params;
mod template;

mod corpus;
mod dependency;
mod files;
mod query;

mod anchor;
mod check;
mod columns;
mod literals;
mod ordering;
mod shape;
mod subset;
mod typed;

mod evaluate;
mod kept;
mod mistake;
mod outcome;
mod plan;
mod prepared;
mod reach;
mod stack;

mod as_of;
mod ask;
mod cell;
mod evidence;
mod export;
mod fields;
mod gains;
mod generations;
mod needs;
mod rows;
mod sight;
mod words;

pub mod cases;
pub mod render;

pub use alerting::{Alerting, Span};
pub use ask::AskError;

pub use as_of::{AsOf, select};
pub use check::check;
pub use corpus::{Corpus, CorpusError, Rule, View};
pub use evaluate::{Engine, EngineError, Evaluation, Limits, Overrides, Rows};
pub(crate) use evidence::{FactIndex, named as evidence_ids};
pub use fields::{Advice, Emitter, Never, Setting};

pub use export::{ExportError, export};
pub(crate) use generations::{VIEW as GENERATIONS, read as read_generations};
pub(crate) use kept::{Kept, KeptPlans, Kind};
pub(crate) use reach::{BODY, Marked, Mask, Reach, Reading, time_of};
pub(crate) use rows::findings as judge;

pub use header::{Mark, RuleHeader, Status, Suspect, ViewHeader};
pub use needs::{Need, coverage};
pub use params::{Param, Params};
pub use prepared::Prepared;
pub use problem::Problem;
pub use query::Query;
pub use sight::sight;
pub use source::{SECTIONS, Section};
pub use template::Template;
pub use words::Words;

pub use crate::findings::RuleFailure;

#[cfg(test)]
pub(crate) mod tests;
