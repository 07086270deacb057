//! Records of all carriers and dialects to facts of one model.
//!
//! In: [`crate::decode::record`]. Out: [`crate::tables::Facts`]. Secrets and message text end here: a hash, a key id, a scheme,
//! a class or a length goes on. Judges nothing: it says what was seen.

pub mod canonical;
pub mod card;
pub mod card_model;
pub mod card_security;
pub mod fingerprint;
pub mod host;
pub mod jwks;
pub mod media_type;
