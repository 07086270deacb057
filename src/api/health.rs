//! Whether the service lives, and whether it can do its work.
//!
//! In: what its parts say of themselves. Out: 200, or 503 with the reasons. Asks no part itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::{Api, answer};

/// What keeps the service from its work, by part.
#[derive(Debug, Default)]
pub struct Readiness {
    reasons: Mutex<BTreeMap<&'static str, String>>,
}

#[derive(Serialize)]
struct Health<'a> {
    status: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reasons: &'a [Reason<'a>],
}

#[derive(Serialize)]
struct Reason<'a> {
    part: &'static str,
    reason: &'a str,
}

impl Readiness {
    /// Parts that have yet to say that they are ready.
    pub fn starting(parts: &[&'static str]) -> Self {
        let reasons = parts.iter().map(|part| (*part, "starting".to_owned())).collect();
        Self { reasons: Mutex::new(reasons) }
    }

    /// A part can do its work.
    pub fn ready(&self, part: &'static str) {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).remove(part);
    }

    /// A part cannot do its work, and why: anybody may read it.
    pub fn not_ready(&self, part: &'static str, reason: impl Into<String>) {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).insert(part, reason.into());
    }

    /// What keeps the service from its work, by part; empty when nothing does.
    pub fn reasons(&self) -> BTreeMap<&'static str, String> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> Response {
    answer(StatusCode::OK, &Health { status: "alive", reasons: &[] })
}

/// `GET /readyz`: it takes telemetry and judges it.
pub(super) async fn ready(State(api): State<Api>) -> Response {
    let reasons = api.readiness.reasons();
    let reasons: Vec<Reason<'_>> = reasons.iter().map(|(part, reason)| Reason { part, reason }).collect();
    match reasons.as_slice() {
        [] => answer(StatusCode::OK, &Health { status: "ready", reasons: &[] }),
        reasons => answer(StatusCode::SERVICE_UNAVAILABLE, &Health { status: "not ready", reasons }),
    }
}
