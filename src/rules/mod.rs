//! The rule corpus: read, checked, planned and evaluated over fact batches.
//!
//! In: SQL files and Arrow batches. Out: findings and coverage. All judgement is in the SQL; none is here.
