//! OTLP. Placeholder of this branch.

pub mod json;
pub mod proto;
