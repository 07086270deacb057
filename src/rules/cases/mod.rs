//! Cases of rules: raw captures made from lines of real ones, and everything that must be found in them.
//!
//! In: `case.toml` files, captures on a [`shelf`]. Out: files of bytes; whether what was found in them is what had to be, with
//! a report for a person that says what differs. Never decides what is right, and judges nothing: who runs a case brings
//! the verdict. tests/rules/README.md says how cases are written.

pub mod assemble;
pub mod case;
pub mod edit;
pub mod expect;
pub mod fit;
pub mod ids;
pub mod place;
pub mod refer;
pub mod run;
pub mod shelf;
pub mod stream;
pub mod times;

use regex::Regex;

/// What is wrong with a case is told to its author in words.
pub type Told<T> = Result<T, String>;

/// A pattern that stands in this program; a test holds that all can be read.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}
