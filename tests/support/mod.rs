//! The stage on which rules are tried: raw captures made from real ones, the whole path of `analyze` over them, and
//! the comparison of what it found with what it had to find.
//!
//! In: `case.toml` files and tests/captures. Out: capture files as bytes, findings, and reports that say what differs.
//! Never decides what is right: that stands in the cases and in truth.toml.

#![allow(dead_code, reason = "each test binary uses its part")]

pub mod fleet;
pub mod healthy;
pub mod judge;
pub mod library;
pub mod mix;
pub mod shapes;
pub mod truth;

#[allow(unused_imports, reason = "each test binary uses its part")]
pub use a2a_drift::rules::cases::{Told, assemble, case, edit, expect, ids, times};
