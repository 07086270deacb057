//! Looks at cards that HTTP spans show, without the card.
//!
//! In: a GET of a card. Out: a `cards` row with status and validators.

use crate::decode::record::Observer;
use crate::normalize::card::{self, CardLook};
use crate::tables::Facts;

use super::http::Http;
use super::node::{Node, Side};
use super::row::call_id;

/// Adds a look. The server's own is at the url that its caller knows, where that is seen.
pub(super) fn push_look(node: &Node, http: &Http, callers: Option<&Http>, facts: &mut Facts) {
    let is_client = node.side == Side::Client;
    let url = match callers.filter(|_| !is_client) {
        Some(callers) => &callers.url,
        None => &http.url,
    };
    let mut common = node.seen.of_span(match node.side {
        Side::Client => Observer::Client,
        Side::Gateway => Observer::Gateway,
        Side::Server | Side::Inside => Observer::Server,
    });
    common.call_id = call_id(if is_client { &node.seen.span_id } else { &node.parent });
    common.agent_ref.clone_from(url);
    common.client_ref = if is_client { node.seen.service.clone() } else { http.client_address.clone() };
    let look = CardLook {
        common,
        url,
        origin: "fetch",
        http_status: http.status.and_then(|status| u16::try_from(status).ok()),
        headers: &http.headers,
        extended: card::is_extended_card_path(&http.path),
        body: None,
        raw: None,
    };
    card::facts(&look, facts);
}
