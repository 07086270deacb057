//! What is told of the fleet beside findings: counts, states, cards.
//!
//! In: facts. Out: plain data. Judges nothing.

pub mod cards;
