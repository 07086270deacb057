//! The page at `/`, and `/metrics`.
//!
//! In: requests. Out: links to what there is; the exporter's text. The page holds no word from outside.

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
    "<li><a href=\"/metrics\">Metrics</a> for Prometheus</li>\n",
    "<li><a href=\"/healthz\">Health</a> and <a href=\"/readyz\">readiness</a></li>\n",
    "</ul>\n</body>\n</html>\n"
);

pub(super) async fn index() -> Html<&'static str> {
    Html(PAGE)
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
