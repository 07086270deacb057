//! Looks at cards: fetches, extended card calls, resolver logs, card files.
//!
//! In: one look and the body it saw. Out: a `cards` row, the skills and endpoints of the body, the key ids of its
//! signatures. Keeps no credential, and of urls neither user information nor query. Judges nothing.

use std::collections::BTreeSet;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use super::card_model::{CardModel, Interface};
use super::{canonical, card_security, fingerprint, host};
use crate::decode::record::Headers;
use crate::decode::tree;
use crate::tables::{
    CardColumns, CardEndpointColumns, CardEndpointRow, CardRow, CardSkillColumns, CardSkillRow, Common, Facts,
    SigningKeyColumns, SigningKeyRow,
};

/// Skills of one body that become rows: more than any card lists, since one left out would be taken for one not offered.
const MAX_SKILLS: usize = 65_536;
/// Bytes of modes in the skill rows of one body. A card's defaults are copied into every skill without modes of its
/// own, so that a small card could ask for much; skills beyond have null modes.
const MAX_MODE_BYTES: usize = 1 << 20;
/// Longest `max-age` in seconds, ten years; RFC 9111 (1.2.2) lets recipients cut what they cannot count with.
const LONGEST_AGE_S: i64 = 315_360_000;
/// Signatures of one card; rotation needs two.
const MAX_SIGNATURES: usize = 64;
/// Bytes of a signature's protected header that are read.
const MAX_PROTECTED_BYTES: usize = 64 * 1024;

/// base64url as RFC 7515 has it, and with the padding that it forbids.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// One look at a card.
#[derive(Debug)]
pub struct CardLook<'a> {
    /// Common columns of the look.
    pub common: Common,
    /// Where it was fetched; `''` when unknown.
    pub url: &'a str,
    /// `fetch`, `call`, `log`, `file`.
    pub origin: &'static str,
    /// HTTP status; none for logs and files, 0 where a log says that there was no answer.
    pub http_status: Option<u16>,
    /// Response headers.
    pub headers: &'a Headers,
    /// The authenticated extended card was asked for.
    pub extended: bool,
    /// The card, or the JSON-RPC response that holds it.
    pub body: Option<&'a Value>,
    /// Bytes of the body, where it was not read as JSON.
    pub raw: Option<&'a [u8]>,
}

/// Whether a document is a card: it says skills or capabilities, and where or who the agent is.
pub fn is_card(document: &Value) -> bool {
    let Some(members) = document.as_object() else { return false };
    let has = |name: &str, is: fn(&Value) -> bool| members.get(name).is_some_and(is);
    let skills = has("skills", Value::is_array);
    let capabilities = has("capabilities", Value::is_object);
    let addressed = has("supportedInterfaces", Value::is_array) || has("url", Value::is_string);
    !members.contains_key("jsonrpc") && ((skills && (addressed || capabilities)) || (capabilities && addressed))
}

/// Whether a path, with whatever base and tenant before it, is one at which cards are served.
pub fn is_card_path(path: &str) -> bool {
    let path = without_query(path);
    ["/.well-known/agent-card.json", "/.well-known/agent.json"].iter().any(|end| path.ends_with(end))
        || is_extended_card_path(path)
}

/// Whether a path is one at which the authenticated extended card is served.
pub fn is_extended_card_path(path: &str) -> bool {
    let path = without_query(path);
    ["/extendedAgentCard", "/agent/authenticatedExtendedCard", "/v1/card"].iter().any(|end| path.ends_with(end))
}

fn without_query(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/')
}

/// Adds the facts of one look.
pub fn facts(look: &CardLook<'_>, facts: &mut Facts) {
    let parsed: Option<Value> = if look.body.is_none() {
        look.raw.and_then(|bytes| tree::read(std::str::from_utf8(bytes).ok()?).ok())
    } else {
        None
    };
    let body = look.body.or(parsed.as_ref());
    let mut row = look_columns(look);
    if let Some((value, card)) = body.filter(|_| succeeded(look)).and_then(card_in) {
        let model = CardModel::read(card);
        // Of the body's content rather than its bytes: a log and a recorder that keeps JSON saw the same card as a
        // fetch.
        row.body_sha256 = canonical::sha256(value);
        row.fingerprint = fingerprint::skill_fingerprint(value);
        row.signature_kids = Some(signature_kids(card));
        describe(&model, &mut row);
        push_skills(&model, look, &row.body_sha256, facts);
        push_endpoints(&model, look, &row.body_sha256, facts);
        push_signing_keys(look, &row, facts);
    }
    facts.push_card(CardRow { common: look.common.clone(), own: row });
}

fn succeeded(look: &CardLook<'_>) -> bool {
    look.http_status.is_none_or(|status| (200..300).contains(&status))
}

/// The card in a body: the body itself, or a JSON-RPC result. Whoever fetched it asked for a card, so that skills alone
/// are enough.
fn card_in(body: &Value) -> Option<(&Value, &Map<String, Value>)> {
    let card = match body.get("result") {
        Some(result) if body.get("jsonrpc").is_some() => result,
        _ => body,
    };
    let members = card.as_object()?;
    let looks_like_one = is_card(card) || members.get("skills").is_some_and(Value::is_array);
    (looks_like_one && canonical::is_shallow(card)).then_some((card, members))
}

/// What a look is, whatever body it saw.
fn look_columns(look: &CardLook<'_>) -> CardColumns {
    let header = |name| look.headers.get(name).unwrap_or_default().to_owned();
    CardColumns {
        url: host::without_secrets(look.url),
        host_class: host::classify(&host::host_of(look.url)).to_owned(),
        origin: look.origin.to_owned(),
        http_status: look.http_status.filter(|status| matches!(status, 0 | 100..=599)).map(i64::from),
        not_modified: Some(look.http_status == Some(304)),
        etag: header("etag"),
        last_modified: header("last-modified"),
        max_age_s: max_age(look.headers),
        extended: Some(look.extended),
        ..CardColumns::default()
    }
}

/// `max-age` of `Cache-Control`; the first where it is said twice (RFC 9111 4.2.1). More than anybody can mean is as
/// long as rules can add to any instant.
fn max_age(headers: &Headers) -> Option<i64> {
    let lines = headers.0.iter().filter(|(name, _)| name == "cache-control").map(|(_, value)| value);
    let directives = lines.flat_map(|line| line.split(',')).filter_map(|directive| directive.split_once('='));
    let mut ages = directives.filter(|(name, _)| name.trim().eq_ignore_ascii_case("max-age")).map(|(_, age)| age);
    let digits = ages.next()?.trim().trim_matches('"');
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX).min(LONGEST_AGE_S))
}

/// What the card says.
fn describe(model: &CardModel<'_>, row: &mut CardColumns) {
    row.contract_sha256 = model.contract_sha256();
    row.descriptive_sha256 = model.descriptive_sha256();
    row.security_sha256 = model.security_sha256();
    row.name = model.text("name");
    row.version = model.text("version");
    row.protocol_versions = Some(model.protocol_versions());
    let mut endpoints: Vec<String> = Vec::new();
    for Interface { url, .. } in model.interfaces() {
        let url = host::without_secrets(&url);
        if !endpoints.contains(&url) {
            endpoints.push(url);
        }
    }
    row.endpoints = Some(endpoints);
    row.default_output_modes = Some(model.default_output_modes());
    row.streaming = Some(model.streaming);
    row.push_notifications = Some(model.push_notifications);
    row.security_schemes = Some(model.security.scheme_names().map(str::to_owned).collect());
    row.security_required = Some(model.security.required());
    row.dialect = model.dialect.to_owned();
}

/// Common columns of what a body says: the same whoever saw the body and when, so that it is one fact. Only the place
/// is kept.
fn body_common(look: &CardLook<'_>) -> Common {
    Common { source: look.common.source.clone(), position: look.common.position.clone(), ..Common::default() }
}

fn push_skills(model: &CardModel<'_>, look: &CardLook<'_>, body_sha256: &str, facts: &mut Facts) {
    let mut bytes_left = MAX_MODE_BYTES;
    let mut within_budget = |modes: BTreeSet<&str>| {
        bytes_left = bytes_left.saturating_sub(modes.iter().map(|mode| mode.len()).sum());
        (bytes_left > 0).then(|| modes.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    // A skill without id cannot be asked for, and must not be joined with calls that name none.
    for (id, skill) in model.skills.iter().filter(|(id, _)| !id.is_empty()).take(MAX_SKILLS) {
        facts.push_card_skill(CardSkillRow {
            common: body_common(look),
            own: CardSkillColumns {
                body_sha256: body_sha256.to_owned(),
                skill_id: id.clone(),
                input_modes: within_budget(model.input_modes(skill)),
                output_modes: within_budget(model.output_modes(skill)),
                security_sha256: card_security::requirements_sha256(&skill.requirements),
                security_required: Some(card_security::in_words(&skill.requirements)),
            },
        });
    }
}

fn push_endpoints(model: &CardModel<'_>, look: &CardLook<'_>, body_sha256: &str, facts: &mut Facts) {
    for (index, interface) in model.interfaces().into_iter().enumerate() {
        let host = host::host_of(&interface.url);
        facts.push_card_endpoint(CardEndpointRow {
            common: body_common(look),
            own: CardEndpointColumns {
                body_sha256: body_sha256.to_owned(),
                url: host::without_secrets(&interface.url),
                binding: interface.binding,
                protocol_version: interface.protocol_version,
                field: interface.field.to_owned(),
                scheme: host::scheme_of(&interface.url),
                host_class: host::classify(&host).to_owned(),
                host,
                preferred: Some(index == 0),
            },
        });
    }
}

fn push_signing_keys(look: &CardLook<'_>, row: &CardColumns, facts: &mut Facts) {
    for kid in row.signature_kids.iter().flatten() {
        facts.push_signing_key(SigningKeyRow {
            common: look.common.clone(),
            own: SigningKeyColumns {
                url: row.url.clone(),
                kid: kid.clone(),
                thumbprint: String::new(),
                origin: "card".to_owned(),
            },
        });
    }
}

/// Key ids of a card's signatures in their order, each once: of the protected header, else of the unprotected one.
fn signature_kids(card: &Map<String, Value>) -> Vec<String> {
    let mut kids: Vec<String> = Vec::new();
    for signature in card.get("signatures").and_then(Value::as_array).into_iter().flatten().take(MAX_SIGNATURES) {
        let protected = signature.get("protected").and_then(Value::as_str).and_then(protected_kid);
        let header = signature.get("header").and_then(|header| header.get("kid")).and_then(Value::as_str);
        match protected.or_else(|| header.map(str::to_owned)) {
            Some(kid) if !kid.is_empty() && !kids.contains(&kid) => kids.push(kid),
            _ => {}
        }
    }
    kids
}

fn protected_kid(protected: &str) -> Option<String> {
    if protected.len() > MAX_PROTECTED_BYTES {
        return None;
    }
    let header: Value = serde_json::from_slice(&BASE64URL.decode(protected.trim()).ok()?).ok()?;
    header.get("kid").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
pub(super) mod tests;
