//! `POST /-/reload`: rules and settings are read again.
//!
//! In: a request. Out: whether the new ones are in force, and if not what is wrong with them. Reads no file itself: whoever
//! holds the other end of the channel does.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use super::problem::Problem;
use super::{Api, answer};

/// How long a reload may take: all rules are planned anew.
const PATIENCE: Duration = Duration::from_secs(60);

/// A wish for a reload.
#[derive(Debug)]
pub struct Reload {
    /// Takes how it went: which settings need a restart to come into force; or what is wrong with the new rules or settings,
    /// when the old ones stay.
    pub answer: oneshot::Sender<Result<Vec<String>, String>>,
}

#[derive(Serialize)]
struct Reloaded {
    status: &'static str,
    /// Settings that changed and are not in force.
    needs_restart: Vec<String>,
}

pub(super) async fn reload(State(api): State<Api>) -> Result<Response, Problem> {
    let (answer_to, result) = oneshot::channel();
    api.reload.try_send(Reload { answer: answer_to }).map_err(|error| match error {
        TrySendError::Full(_) => Problem::retry_later("busy", "another reload is under way"),
        TrySendError::Closed(_) => Problem::retry_later("stopping", "the service is stopping"),
    })?;
    match tokio::time::timeout(PATIENCE, result).await {
        Ok(Ok(Ok(needs_restart))) => Ok(answer(StatusCode::OK, &Reloaded { status: "reloaded", needs_restart })),
        Ok(Ok(Err(wrong))) => Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", wrong)),
        Ok(Err(_)) => Err(Problem::retry_later("stopping", "the service is stopping")),
        Err(_) => {
            let message = "the reload goes on; the metrics will tell how it ended";
            Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, "slow", message))
        }
    }
}
