//! A card of any dialect as one model, and the hashes that tell which of its sides changed.
//!
//! In: a card body of A2A 0.1, 0.2, 0.3 or 1.0, or one that holds two shapes at once. Out: skills with the modes in
//! effect, interfaces, capabilities, hashes. Total: a member of a wrong type counts as absent. Never judges a change.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::card_security::{self, Requirements, Security};
use super::{canonical, media_type};

/// Longest mode that is kept: RFC 6838 4.2 allows 127 characters on either side of the slash.
const MAX_MODE_BYTES: usize = 255;
/// Modes of one list that are kept, the first in order of name.
const MAX_MODES: usize = 256;
/// Interfaces that are kept; a card advertises a handful.
const MAX_INTERFACES: usize = 64;

/// Modes of a skill, as far as they are its own.
#[derive(Debug, Clone, PartialEq, Default)]
struct Modes {
    own: BTreeSet<String>,
    /// The card's defaults are in effect: the skill (or, of several with one id, one of them) has no modes of its own.
    defaults: bool,
}

impl Modes {
    /// An empty list is no list: one SDK writes empty members, another leaves them out.
    fn add(&mut self, given: Option<&Value>) {
        let given = modes(given);
        self.defaults |= given.is_empty();
        self.own.extend(given);
    }

    fn effective<'a>(&'a self, defaults: &'a BTreeSet<String>) -> impl Iterator<Item = &'a str> {
        let defaults = if self.defaults { Some(defaults) } else { None };
        self.own.iter().chain(defaults.into_iter().flatten()).map(String::as_str)
    }
}

/// A skill: all entries of a card that have one id, taken together.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Skill {
    input: Modes,
    output: Modes,
    /// The skill's own security requirements.
    pub requirements: Requirements,
}

/// An address at which a card says the agent can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interface {
    /// Url, or `host:port` of a gRPC service, as in the card.
    pub url: String,
    /// `jsonrpc`, `http+json`, `grpc`, else as in the card.
    pub binding: String,
    /// Protocol version spoken there, as in the card; `''` when not said.
    pub protocol_version: String,
    /// Member that says so: `supportedInterfaces`, `url`, `additionalInterfaces`.
    pub field: &'static str,
}

/// A card in terms that all dialects share.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CardModel<'a> {
    card: &'a Map<String, Value>,
    /// Shape: `0.1`, `0.3` (also 0.2), `1.0`, `0.3+1.0`; `''` for a card without any address.
    pub dialect: &'static str,
    /// Skills by id; `''` holds those without one.
    pub skills: BTreeMap<String, Skill>,
    /// `capabilities.streaming`.
    pub streaming: bool,
    /// `capabilities.pushNotifications`.
    pub push_notifications: bool,
    /// Schemes and requirements of the card.
    pub security: Security,
    default_input: BTreeSet<String>,
    default_output: BTreeSet<String>,
}

impl<'a> CardModel<'a> {
    /// Reads a card body.
    pub(super) fn read(card: &'a Map<String, Value>) -> Self {
        let dialect = dialect(card);
        let default = |member| match modes(card.get(member)) {
            // Only A2A 0.1 has a default for the default.
            none if none.is_empty() && dialect == "0.1" => BTreeSet::from(["text".to_owned()]),
            given => given,
        };
        let mut skills: BTreeMap<String, Skill> = BTreeMap::new();
        for entry in skill_entries(card) {
            let skill = skills.entry(scalar_text(entry.get("id"))).or_default();
            skill.input.add(entry.get("inputModes"));
            skill.output.add(entry.get("outputModes"));
            skill.requirements.extend(card_security::requirements_of(entry));
        }
        let capability =
            |name| card.get("capabilities").and_then(|all| all.get(name)).and_then(Value::as_bool) == Some(true);
        Self {
            card,
            dialect,
            skills,
            streaming: capability("streaming"),
            push_notifications: capability("pushNotifications"),
            security: Security::read(card),
            default_input: default("defaultInputModes"),
            default_output: default("defaultOutputModes"),
        }
    }

    /// Input modes in effect for a skill of this card, canonical, sorted, distinct.
    pub(super) fn input_modes<'s>(&'s self, skill: &'s Skill) -> BTreeSet<&'s str> {
        skill.input.effective(&self.default_input).collect()
    }

    /// Output modes in effect for a skill of this card, canonical, sorted, distinct.
    pub(super) fn output_modes<'s>(&'s self, skill: &'s Skill) -> BTreeSet<&'s str> {
        skill.output.effective(&self.default_output).collect()
    }

    /// The card's default output modes, canonical, sorted, distinct.
    pub(super) fn default_output_modes(&self) -> Vec<String> {
        self.default_output.iter().map(|mode| (*mode).clone()).collect()
    }

    /// Hash of what callers negotiate on: ids and modes in effect of the skills, streaming, push. Order, repetitions,
    /// empty members and the shape do not show.
    pub(super) fn contract_sha256(&self) -> String {
        // Defaults are hashed once, not once a skill, so that the work stays linear in the size of the card.
        let hash = |modes: &Modes, defaults: &BTreeSet<String>, of_defaults: &str| {
            if modes.defaults && modes.own.is_empty() {
                of_defaults.to_owned()
            } else {
                modes_sha256(modes.effective(defaults))
            }
        };
        let sha256_of = |set: &BTreeSet<String>| modes_sha256(set.iter().map(String::as_str));
        let (of_input, of_output) = (sha256_of(&self.default_input), sha256_of(&self.default_output));
        let skills: Vec<Value> = self
            .skills
            .iter()
            .map(|(id, skill)| {
                let input = hash(&skill.input, &self.default_input, &of_input);
                let output = hash(&skill.output, &self.default_output, &of_output);
                json!([id, input, output])
            })
            .collect();
        canonical::sha256(&json!({ "skills": skills, "streaming": self.streaming, "push": self.push_notifications }))
    }

    /// Hash of what is said to people: names, descriptions, provider, links, and the skills' words.
    pub(super) fn descriptive_sha256(&self) -> String {
        let mut words = worded(self.card, &["name", "description", "documentationUrl", "iconUrl"]);
        if let Some(provider) = self.card.get("provider").and_then(Value::as_object) {
            words.push(json!(["provider", worded(provider, &["organization", "url"])]));
        }
        let skills: BTreeSet<String> = skill_entries(self.card)
            .map(|entry| {
                let said = worded(entry, &["name", "description"]);
                let lists = ["tags", "examples"].map(|name| text_set(entry.get(name)));
                canonical::json(&json!([scalar_text(entry.get("id")), said, lists]))
            })
            .collect();
        canonical::sha256(&json!([words, skills]))
    }

    /// Hash of schemes and requirements, see [`Security::sha256`].
    pub(super) fn security_sha256(&self) -> String {
        self.security.sha256(self.skills.iter().map(|(id, skill)| (id.as_str(), &skill.requirements)))
    }

    /// A top-level member that is text or a number, as text; `''` otherwise.
    pub(super) fn text(&self, member: &str) -> String {
        scalar_text(self.card.get(member))
    }

    /// Addresses in order of the card's preference, without repetitions.
    pub(super) fn interfaces(&self) -> Vec<Interface> {
        let version = self.text("protocolVersion");
        let mut interfaces = listed(self.card, "supportedInterfaces");
        let url = self.text("url");
        if !url.is_empty() {
            // A2A 0.2 and 0.3 take JSON-RPC where no transport is named, and 0.1 knows no other.
            let binding = match binding(&self.text("preferredTransport")) {
                unnamed if unnamed.is_empty() => "jsonrpc".to_owned(),
                named => named,
            };
            interfaces.push(Interface { url, binding, protocol_version: version.clone(), field: "url" });
        }
        for mut further in listed(self.card, "additionalInterfaces") {
            if further.protocol_version.is_empty() {
                further.protocol_version.clone_from(&version);
            }
            interfaces.push(further);
        }
        let mut distinct: Vec<Interface> = Vec::new();
        for interface in interfaces {
            if distinct.len() < MAX_INTERFACES && !distinct.contains(&interface) {
                distinct.push(interface);
            }
        }
        distinct
    }

    /// Protocol versions that the card names, of its own or of an interface, sorted, distinct.
    pub(super) fn protocol_versions(&self) -> Vec<String> {
        let of_interfaces = self.interfaces().into_iter().map(|interface| interface.protocol_version);
        let all: BTreeSet<String> = of_interfaces.chain([self.text("protocolVersion")]).collect();
        all.into_iter().filter(|version| !version.is_empty()).collect()
    }
}

/// The shape of a card, by the members that only one dialect has.
fn dialect(card: &Map<String, Value>) -> &'static str {
    let given = |member: &str| card.get(member).is_some_and(|value| !is_empty(value));
    let in_capabilities =
        |member: &str| card.get("capabilities").is_some_and(|all| all.get(member).is_some_and(Value::is_boolean));
    let new = given("supportedInterfaces")
        || given("securityRequirements")
        || in_capabilities("extendedAgentCard")
        || skill_entries(card).any(|skill| skill.get("securityRequirements").is_some_and(|value| !is_empty(value)));
    let old = ["url", "preferredTransport", "additionalInterfaces"].into_iter().any(given);
    let since_0_2 = [
        "protocolVersion",
        "preferredTransport",
        "additionalInterfaces",
        "supportsAuthenticatedExtendedCard",
        "securitySchemes",
        "security",
        "iconUrl",
        "signatures",
    ];
    match (new, old) {
        (true, true) => "0.3+1.0",
        (true, false) => "1.0",
        (false, true) if given("authentication") => "0.1",
        (false, true) if since_0_2.into_iter().any(given) => "0.3",
        // A2A 0.1 alone lets the default modes out, and has words for modes.
        (false, true) => {
            let defaults = ["defaultInputModes", "defaultOutputModes"].map(|member| modes(card.get(member)));
            let of_0_1 =
                defaults.iter().any(|modes| modes.is_empty() || modes.iter().any(|mode| media_type::is_word(mode)));
            if of_0_1 { "0.1" } else { "0.3" }
        }
        (false, false) => "",
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn skill_entries(card: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    card.get("skills").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// The interfaces of a list.
fn listed(card: &Map<String, Value>, field: &'static str) -> Vec<Interface> {
    let items = card.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |item: &Value| {
        let url = scalar_text(item.get("url"));
        let named = item.get("protocolBinding").or_else(|| item.get("transport"));
        (!url.is_empty()).then(|| Interface {
            url,
            binding: binding(&scalar_text(named)),
            protocol_version: scalar_text(item.get("protocolVersion")),
            field,
        })
    };
    items.iter().filter_map(read).take(MAX_INTERFACES).collect()
}

fn binding(named: &str) -> String {
    match named.to_ascii_uppercase().as_str() {
        "JSONRPC" | "JSON-RPC" => "jsonrpc".to_owned(),
        "HTTP+JSON" | "REST" => "http+json".to_owned(),
        "GRPC" => "grpc".to_owned(),
        _ => named.to_owned(),
    }
}

/// Canonical modes of a list.
fn modes(list: Option<&Value>) -> BTreeSet<String> {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let canonical = items.iter().filter_map(Value::as_str).map(media_type::canonical);
    let distinct: BTreeSet<String> =
        canonical.filter(|mode| !mode.is_empty() && mode.len() <= MAX_MODE_BYTES).collect();
    if distinct.len() <= MAX_MODES { distinct } else { distinct.into_iter().take(MAX_MODES).collect() }
}

/// Hash of a set of modes in which the word `text` and the type `text/plain` are one: that is how the word was meant
/// (A2A issue 879), and an agent that goes over to the type has not changed what it takes. Other words name no single
/// type, and stay.
fn modes_sha256<'m>(modes: impl Iterator<Item = &'m str>) -> String {
    let meant: BTreeSet<&str> = modes.map(|mode| if mode == "text" { "text/plain" } else { mode }).collect();
    canonical::sha256(&json!(meant))
}

/// Name and value of each member that holds text.
fn worded(holder: &Map<String, Value>, members: &[&str]) -> Vec<Value> {
    let said = |name: &&str| holder.get(*name).and_then(Value::as_str).filter(|text| !text.is_empty());
    members.iter().filter_map(|name| Some(json!([name, said(name)?]))).collect()
}

fn text_set(list: Option<&Value>) -> BTreeSet<&str> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|text| !text.is_empty())
        .collect()
}

/// Text, or a number written out; `''` for anything else.
fn scalar_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
