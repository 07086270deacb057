//! What A2A says, whatever the version or binding: operations, states, payloads, requests, errors.
//!
//! In: names and JSON as on the wire. Out: one model. Knows no HTTP exchange, no span and no table.

pub(crate) mod error;
pub mod operation;
pub(crate) mod outcome;
pub(crate) mod payload;
pub(crate) mod push_config;
pub(crate) mod request;
pub mod skill;
pub mod state;
