//! Findings to the outside: text for people, JSON for programs.
//!
//! In: a [`crate::findings::Report`]. Out: text. Sees no table, no rule, no clock and no terminal: the caller says how wide
//! the page is, and strips colours where they are not wanted.

pub mod alertmanager;
pub mod coverage;
pub mod diagnosis;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod prometheus;
pub mod rows;
#[cfg(test)]
mod samples;
pub mod sarif;
pub mod table;
mod words;

pub use words::{clean, clean_lines, moment};
