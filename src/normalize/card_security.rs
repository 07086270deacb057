//! What a card asks of callers, in one model for all dialects.
//!
//! In: a card. Out: schemes and requirements such that equal meaning in A2A 0.3 and 1.0 shape, in any order, gives an
//! equal hash. Never keeps a credential: the `credentials` of a 0.1 card is not read, and of a scheme only what the
//! protocol defines is.
//!
//! Left out, so that the two shapes that one agent serves agree: descriptions of schemes and scopes, `pkceRequired`,
//! and the device code flow. A2A 0.3 has no place for the last two, and the SDKs drop them when they serve that shape.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{canonical, host};

/// One way to be let in: names of schemes, all of them needed, each with its scopes.
type Alternative = BTreeMap<String, BTreeSet<String>>;

/// Ways to be let in, any of them enough; none where nothing is asked.
pub(super) type Requirements = BTreeSet<Alternative>;

/// Member names by which A2A 1.0 (and 0.3's REST binding) says what kind a scheme is, and the `type` of A2A 0.2 and
/// 0.3.
const WRAPPERS: [(&str, &str); 5] = [
    ("apiKeySecurityScheme", "apiKey"),
    ("httpAuthSecurityScheme", "http"),
    ("oauth2SecurityScheme", "oauth2"),
    ("openIdConnectSecurityScheme", "openIdConnect"),
    ("mtlsSecurityScheme", "mutualTLS"),
];

/// The OAuth flows that both 0.3 and 1.0 have.
const FLOWS: [&str; 4] = ["authorizationCode", "clientCredentials", "implicit", "password"];

/// Security of a whole card, without that of its skills.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Security {
    /// Neutral form of each scheme by name.
    schemes: BTreeMap<String, Value>,
    /// Requirements of the card.
    requirements: Requirements,
}

impl Security {
    /// Reads `securitySchemes`, `security`, `securityRequirements` and the `authentication` of A2A 0.1.
    pub(super) fn read(card: &Map<String, Value>) -> Self {
        let mut security = Self { requirements: requirements_of(card), ..Self::default() };
        if let Some(schemes) = card.get("securitySchemes").and_then(Value::as_object) {
            security.schemes.extend(schemes.iter().map(|(name, scheme)| (name.clone(), neutral_scheme(scheme))));
        }
        let words = card.get("authentication").and_then(|authentication| authentication.get("schemes"));
        for word in texts(words) {
            // A word such as `Bearer` names both scheme and requirement; words of HTTP schemes know no case (RFC 9110
            // 11.1).
            let word = word.to_lowercase();
            security.schemes.insert(word.clone(), json!({ "type": "word" }));
            security.requirements.insert(Alternative::from([(word, BTreeSet::new())]));
        }
        security
    }

    /// Names of the schemes, sorted.
    pub(super) fn scheme_names(&self) -> impl Iterator<Item = &str> {
        self.schemes.keys().map(String::as_str)
    }

    /// What the card asks of callers, in words.
    pub(super) fn required(&self) -> Vec<String> {
        in_words(&self.requirements)
    }

    /// Hash of schemes and requirements, of the card and of its skills that ask for something of their own. A card that
    /// asks for nothing has a hash too, the same for all.
    pub(super) fn sha256<'a>(&self, skills: impl Iterator<Item = (&'a str, &'a Requirements)>) -> String {
        let of_skills: Vec<Value> = skills
            .filter(|(_, requirements)| !requirements.is_empty())
            .map(|(id, requirements)| json!([id, requirements_material(requirements)]))
            .collect();
        canonical::sha256(&json!({
            "schemes": self.schemes.iter().map(|(name, scheme)| json!([name, scheme])).collect::<Vec<_>>(),
            "requirements": requirements_material(&self.requirements),
            "skills": of_skills,
        }))
    }
}

/// Requirements of a card or a skill: `security` of A2A 0.2 and 0.3 together with `securityRequirements` of 1.0, which
/// are the same thing where a body holds both.
pub(super) fn requirements_of(holder: &Map<String, Value>) -> Requirements {
    let mut requirements: Requirements = ["security", "securityRequirements"]
        .iter()
        .filter_map(|member| holder.get(*member).and_then(Value::as_array))
        .flatten()
        .filter_map(Value::as_object)
        .map(alternative)
        .collect();
    // `[{}]` asks for nothing, as an absent list does; beside others an empty alternative means "or nothing", and
    // counts.
    if requirements.iter().all(Alternative::is_empty) {
        requirements.clear();
    }
    requirements
}

/// Ways to be let in that are told, schemes of a way, scopes of a scheme, and bytes of a name; of more the number is told.
const MOST_WAYS: usize = 32;
const MOST_SCHEMES: usize = 8;
const MOST_SCOPES: usize = 16;
const LONGEST_NAME: usize = 80;

/// The ways to be let in, as a person says them, sorted: `oauth(run) and mtls`.
pub(super) fn in_words(requirements: &Requirements) -> Vec<String> {
    let mut ways: Vec<String> = told(requirements.iter().map(way), MOST_WAYS);
    ways.sort();
    ways
}

fn way(alternative: &Alternative) -> String {
    let schemes = told(alternative.iter().map(|(scheme, scopes)| with_scopes(scheme, scopes)), MOST_SCHEMES);
    if schemes.is_empty() { "nothing".to_owned() } else { schemes.join(" and ") }
}

fn with_scopes(scheme: &str, scopes: &BTreeSet<String>) -> String {
    let scopes = told(scopes.iter().map(|scope| name(scope)), MOST_SCOPES);
    if scopes.is_empty() { name(scheme) } else { format!("{}({})", name(scheme), scopes.join(", ")) }
}

/// The first words, and how many there are beside them.
fn told(words: impl ExactSizeIterator<Item = String>, most: usize) -> Vec<String> {
    let more = words.len().saturating_sub(most);
    words.take(most).chain((more > 0).then(|| format!("{more} more"))).collect()
}

/// A name; in quotes where it could be taken for another word, short, and without what may be secret in it.
fn name(name: &str) -> String {
    let name = host::name_without_secrets(name);
    let is_plain =
        name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c)) && !WORDS.contains(&name.as_str());
    let short: String = name.chars().take(LONGEST_NAME).collect();
    let cut = if short.len() < name.len() { "…" } else { "" };
    if is_plain && !name.is_empty() { format!("{short}{cut}") } else { format!("\"{short}{cut}\"") }
}

/// Words that join names, and that stand for no name.
const WORDS: [&str; 4] = ["nothing", "and", "or", "more"];

/// Hash of the requirements of one skill; the same for all that ask for nothing.
pub(super) fn requirements_sha256(requirements: &Requirements) -> String {
    canonical::sha256(&requirements_material(requirements))
}

fn requirements_material(requirements: &Requirements) -> Value {
    json!(requirements.iter().map(|alternative| alternative.iter().collect::<Vec<_>>()).collect::<Vec<_>>())
}

/// `{"oauth": ["run"]}` or `{"schemes": {"oauth": {"list": ["run"]}}}`.
fn alternative(requirement: &Map<String, Value>) -> Alternative {
    let schemes = match requirement.get("schemes").and_then(Value::as_object) {
        Some(schemes) if requirement.len() == 1 => schemes,
        _ => requirement,
    };
    let scopes = |value: &Value| texts(Some(value.get("list").unwrap_or(value))).map(str::to_owned).collect();
    schemes.iter().map(|(name, value)| (name.clone(), scopes(value))).collect()
}

/// A scheme by its kind and what the kind defines, whichever way it is spelled.
fn neutral_scheme(scheme: &Value) -> Value {
    let wrapped = WRAPPERS.iter().find_map(|(wrapper, kind)| {
        // The JS SDK 1.3.0 serves its inner form of a oneof: {"scheme":{"$case":<wrapper>,"value":{..}}}.
        let inner = scheme.get("scheme").filter(|inner| text(inner, "$case") == *wrapper);
        Some((*kind, scheme.get(*wrapper).or_else(|| inner?.get("value"))?))
    });
    let (kind, members) = wrapped.unwrap_or_else(|| (text(scheme, "type"), scheme));
    let mut neutral = Map::new();
    neutral.insert("type".to_owned(), Value::from(kind));
    let mut keep = |name: &str, value: String| {
        if !value.is_empty() {
            neutral.insert(name.to_owned(), Value::from(value));
        }
    };
    match kind {
        "apiKey" => {
            let location = text(members, "location");
            let location = if location.is_empty() { text(members, "in") } else { location };
            keep("in", location.to_lowercase());
            keep("name", text(members, "name").to_owned());
        }
        "http" => {
            keep("scheme", text(members, "scheme").to_lowercase());
            keep("bearerFormat", text(members, "bearerFormat").to_owned());
        }
        "oauth2" => {
            keep("oauth2MetadataUrl", text(members, "oauth2MetadataUrl").to_owned());
            keep("flows", canonical::json(&neutral_flows(members.get("flows").unwrap_or(&Value::Null))));
        }
        "openIdConnect" => keep("openIdConnectUrl", text(members, "openIdConnectUrl").to_owned()),
        _ => {}
    }
    Value::Object(neutral)
}

fn neutral_flows(flows: &Value) -> Value {
    let neutral_flow = |flow: &Value| {
        let scopes: BTreeSet<&String> =
            flow.get("scopes").and_then(Value::as_object).into_iter().flat_map(Map::keys).collect();
        json!([text(flow, "authorizationUrl"), text(flow, "tokenUrl"), text(flow, "refreshUrl"), scopes])
    };
    FLOWS
        .iter()
        .filter_map(|name| Some(json!([name, neutral_flow(flows.get(*name).filter(|flow| flow.is_object())?)])))
        .collect()
}

/// A member that is text; `''` where it is absent or something else.
fn text<'a>(holder: &'a Value, name: &str) -> &'a str {
    holder.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The texts of a list that are not empty.
fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(security: &Value) -> Vec<String> {
        in_words(&requirements_of(json!({ "security": security }).as_object().unwrap()))
    }

    #[test]
    fn requirements_are_cut_short_and_never_to_nothing() {
        let long = "s".repeat(3000);
        let way = words(&json!([{ "oauth": [long] }]));
        assert_eq!(way, [format!("oauth({}…)", "s".repeat(LONGEST_NAME))]);
        let scopes: Vec<String> = (0..40).map(|nth| format!("s{nth:02}")).collect();
        let way = words(&json!([{ "oauth": scopes }]));
        assert!(way[0].starts_with("oauth(s00, s01, ") && way[0].ends_with(", s15, 24 more)"), "{way:?}");
        let ways: Vec<Value> = (0..100).map(|nth| json!({ format!("k{nth:03}"): [] })).collect();
        let ways = words(&json!(ways));
        assert_eq!((ways.len(), ways[0].as_str()), (MOST_WAYS + 1, "68 more"));
    }

    #[test]
    fn names_are_not_taken_for_words_and_keep_no_password() {
        let way = words(&json!([{ "nothing": ["a, b"] }, {}]));
        assert_eq!(way, ["\"nothing\"(\"a, b\")", "nothing"]);
        assert_eq!(words(&json!([{ "https://user:hunter2@x.example/?token=hunter2": [] }])), ["https://x.example/"]);
    }
}
