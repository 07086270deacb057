//! Findings to the outside: text for people, JSON for programs.
//!
//! In: `findings`. Out: bytes. Knows no table and no rule.
