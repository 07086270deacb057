//! The stage on which rules are tried: raw captures made from real ones, the whole path of `analyze` over them, and
//! the comparison of what it found with what it had to find.
//!
//! In: `case.toml` files and tests/captures. Out: capture files as bytes, findings, and reports that say what differs.
//! Never decides what is right: that stands in the cases and in truth.toml.

#![allow(dead_code, reason = "each test binary uses its part")]

pub mod assemble;
pub mod case;
pub mod edit;
pub mod expect;
pub mod fleet;
pub mod healthy;
pub mod ids;
pub mod judge;
pub mod library;
pub mod mix;
pub mod refer;
pub mod shapes;
pub mod stream;
pub mod times;
pub mod truth;

/// What goes wrong on the stage is told to the author of a case in words.
pub type Told<T> = Result<T, String>;
