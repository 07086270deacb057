//! The service over HTTP, for people and programs that ask: findings, agents, cards, metrics, health, reload.
//!
//! In: snapshots that the service replaces as a whole, and requests. Out: JSON, the text of the exporter, pages.
//! Computes no finding and holds no lock while it answers: who asks a lot slows down nobody but itself.

mod agents;
mod cards;
mod findings;
mod guard;
mod health;
mod page;
mod problem;
mod query;
mod reload;
mod serve;
mod snapshot;

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Serialize;
use tokio::sync::mpsc;

use self::problem::Problem;
use crate::publish::json;
use crate::publish::prometheus::Exporter;
use crate::token::Token;

pub use self::health::Readiness;
pub use self::page::Runbooks;
pub use self::reload::Reload;
pub use self::serve::{Limits, serve};
pub use self::snapshot::{Agent, Snapshot};

/// What the service shows and takes over HTTP.
#[derive(Clone)]
pub struct Api {
    /// What is known now.
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    /// What is counted.
    pub exporter: Arc<Exporter>,
    /// What to do about findings.
    pub runbooks: Arc<ArcSwap<Runbooks>>,
    /// Whether the service can do its work.
    pub readiness: Arc<Readiness>,
    /// Where wishes for a reload go.
    pub reload: mpsc::Sender<Reload>,
    /// What callers must know, for all but health; none for no such demand.
    pub token: Option<Token>,
}

impl Api {
    /// All routes.
    pub fn router(self) -> Router {
        let guard = axum::middleware::from_fn_with_state(self.token.clone(), guard::admit);
        Router::new()
            .route("/", get(page::index))
            .route("/metrics", get(page::metrics))
            .route("/queries/README.md", get(page::rules))
            .route("/dashboards/README.md", get(page::service))
            .route("/api/v1/findings", get(findings::list))
            .route("/api/v1/findings/{id}", get(findings::one))
            .route("/api/v1/agents", get(agents::list))
            .route("/api/v1/cards/{*agent}", get(cards::of_agent))
            .route("/healthz", get(health::alive))
            .route("/readyz", get(health::ready))
            .route("/-/reload", post(reload::reload))
            .fallback(async || Problem::not_found("there is nothing at this path"))
            .method_not_allowed_fallback(async || Problem::method_not_allowed())
            .layer(guard)
            .layer(axum::middleware::map_response(guard::harden))
            .with_state(self)
    }
}

/// An answer in JSON.
fn answer<T: Serialize>(status: StatusCode, value: &T) -> Response {
    match json::write(value) {
        Ok(text) => {
            let content_type = HeaderValue::from_static("application/json; charset=utf-8");
            (status, [(header::CONTENT_TYPE, content_type)], text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
