//! Placeholder until the card branch is merged.

use serde_json::Value;

use crate::decode::record::Headers;
use crate::tables::{CardColumns, CardRow, Common, Facts};

/// A look at a card.
pub struct CardLook<'a> {
    /// Common columns.
    pub common: Common,
    /// Where it was fetched.
    pub url: &'a str,
    /// `fetch`, `call`, `log`, `file`.
    pub origin: &'static str,
    /// HTTP status.
    pub http_status: Option<u16>,
    /// Response headers.
    pub headers: &'a Headers,
    /// The authenticated extended card.
    pub extended: bool,
    /// Card, if one was read.
    pub body: Option<&'a Value>,
    /// Its bytes.
    pub raw: Option<&'a [u8]>,
}

/// Adds the facts of a look.
pub fn facts(look: &CardLook<'_>, facts: &mut Facts) {
    let own = CardColumns {
        url: look.url.to_owned(),
        origin: look.origin.to_owned(),
        http_status: look.http_status.map(i64::from),
        not_modified: Some(look.http_status == Some(304)),
        etag: look.headers.get("etag").unwrap_or_default().to_owned(),
        extended: Some(look.extended),
        body_sha256: if look.body.is_some() {
            format!("{} bytes", look.raw.map_or(0, <[u8]>::len))
        } else {
            String::new()
        },
        ..CardColumns::default()
    };
    facts.push_card(CardRow { common: look.common.clone(), own });
}

/// Whether it is a card.
pub fn is_card(value: &Value) -> bool {
    value.get("skills").is_some_and(Value::is_array)
        && ["url", "supportedInterfaces", "capabilities"].iter().any(|name| value.get(name).is_some())
}

/// Whether cards are served there.
pub fn is_card_path(path: &str) -> bool {
    path.ends_with("/.well-known/agent.json") || path.ends_with("/.well-known/agent-card.json")
}
