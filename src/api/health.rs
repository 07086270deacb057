//! Whether the service lives, and whether it can do its work.
//!
//! In: what its parts say of themselves, and that they go on saying it. Out: 200, or 503 with the reasons. Asks no part itself:
//! one that hangs could not answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as Stopwatch};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::{Api, answer};

/// How long a part may be silent after its next turn was due.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// What keeps the service from its work, by part.
#[derive(Debug, Default)]
pub struct Readiness {
    parts: Mutex<BTreeMap<&'static str, Part>>,
}

/// What a part said of itself last.
#[derive(Debug, Default)]
struct Part {
    /// Why it cannot do its work.
    reason: Option<String>,
    /// When it should end its next turn.
    next: Option<Stopwatch>,
}

impl Part {
    fn reason(&self, now: Stopwatch) -> Option<String> {
        let silent = self.next.map(|next| now.saturating_duration_since(next));
        let silent = silent.filter(|silent| *silent > LONGEST_SILENCE);
        self.reason.clone().or_else(|| Some(format!("hangs: {} s late", silent?.as_secs())))
    }
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
    /// The part that takes in.
    pub const INTAKE: &'static str = "intake";
    /// The part that judges.
    pub const RULES: &'static str = "rules";

    /// Parts that have yet to say that they are ready.
    pub fn starting(parts: &[&'static str]) -> Self {
        let readiness = Self::default();
        parts.iter().for_each(|part| readiness.not_ready(part, "starting"));
        readiness
    }

    /// A part can do its work.
    pub fn ready(&self, part: &'static str) {
        self.parts().entry(part).or_default().reason = None;
    }

    /// A part cannot do its work, and why: anybody may read it.
    pub fn not_ready(&self, part: &'static str, reason: impl Into<String>) {
        self.parts().entry(part).or_default().reason = Some(reason.into());
    }

    /// A part ended a turn of its work, and is to end the next within some time. Once it has said so it has to go on: silence is
    /// a reason. Being slow is none: what is taken in is safe, and how far behind its judgement is, metrics tell.
    pub fn turned(&self, part: &'static str, within: Duration) {
        // After a time without end nothing is late.
        self.parts().entry(part).or_default().next = Stopwatch::now().checked_add(within);
    }

    /// What keeps the service from its work now, by part; empty when nothing does.
    pub fn reasons(&self) -> BTreeMap<&'static str, String> {
        self.reasons_at(Stopwatch::now())
    }

    /// As [`Readiness::reasons`], at another time.
    pub fn reasons_at(&self, now: Stopwatch) -> BTreeMap<&'static str, String> {
        self.parts().iter().filter_map(|(name, part)| Some((*name, part.reason(now)?))).collect()
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<&'static str, Part>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;

    const PART: &str = "intake";

    #[test]
    fn a_part_that_has_turned_and_falls_silent_hangs_until_it_turns_again() {
        let readiness = Readiness::starting(&[PART]);
        let began = Stopwatch::now();
        let in_an_hour = began + Duration::from_secs(3600);
        readiness.ready(PART);
        assert_eq!(readiness.reasons_at(in_an_hour), [].into(), "it never said that it would turn");
        readiness.turned(PART, Duration::ZERO);
        assert_eq!(readiness.reasons_at(began + LONGEST_SILENCE), [].into());
        let reasons = readiness.reasons_at(in_an_hour);
        assert!(reasons[PART].starts_with("hangs: 36") || reasons[PART].starts_with("hangs: 35"), "{reasons:?}");
        // A turn that begins later is not late before.
        readiness.turned(PART, Duration::from_secs(3600));
        assert_eq!(readiness.reasons_at(in_an_hour), [].into());
        // What it says itself counts first.
        readiness.turned(PART, Duration::ZERO);
        readiness.not_ready(PART, "no disk");
        assert_eq!(readiness.reasons_at(in_an_hour), [(PART, "no disk".to_owned())].into());
    }
}
