//! The page at `/`, runbooks, and `/metrics`.
//!
//! In: requests. Out: links to what there is; pages that were made before; the exporter's text. The first page holds no word
//! from outside.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use super::Api;
use super::problem::Problem;

const PAGE: &str = concat!(
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>a2a-drift</title></head>\n<body>\n",
    "<h1>a2a-drift ",
    env!("CARGO_PKG_VERSION"),
    "</h1>\n<ul>\n",
    "<li><a href=\"/api/v1/findings\">What is drifting now</a>, worst first; ",
    "<a href=\"/api/v1/findings?severity=critical\">critical only</a></li>\n",
    "<li><a href=\"/api/v1/agents\">Agents</a>: open tasks, findings, cards. The generations of an agent's card are at ",
    "<code>/api/v1/cards/AGENT</code></li>\n",
    "<li><a href=\"/queries/README.md\">Rules</a> and the <a href=\"/dashboards/README.md\">alerts on the service</a>: ",
    "what they mean, and what to do</li>\n",
    "<li><a href=\"/metrics\">Metrics</a> for Prometheus</li>\n",
    "<li><a href=\"/healthz\">Health</a> and <a href=\"/readyz\">readiness</a></li>\n",
    "</ul>\n</body>\n</html>\n"
);

pub(super) async fn index() -> Html<&'static str> {
    Html(PAGE)
}

/// What to do about findings and alerts, as pages. They stand where the repository has them, so that whatever names a runbook by
/// its path finds it here.
#[derive(Debug, Default)]
pub struct Runbooks {
    /// Of the rules that are in force.
    pub rules: String,
    /// Of the alerts on the service.
    pub service: String,
}

/// `GET /queries/README.md`.
pub(super) async fn rules(State(api): State<Api>) -> Html<String> {
    Html(api.runbooks.load().rules.clone())
}

/// `GET /dashboards/README.md`.
pub(super) async fn service(State(api): State<Api>) -> Html<String> {
    Html(api.runbooks.load().service.clone())
}

/// `GET /metrics`, in the format that the scraper asks for.
pub(super) async fn metrics(State(api): State<Api>, headers: HeaderMap) -> Result<Response, Problem> {
    let accept: Vec<&str> = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    match api.exporter.render(&accept.join(",")) {
        Ok(rendered) => Ok(([(header::CONTENT_TYPE, rendered.content_type)], rendered.text).into_response()),
        Err(error) => {
            tracing::error!(%error, "metrics cannot be written");
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the metrics cannot be written"))
        }
    }
}
