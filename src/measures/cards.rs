//! The cards of agents over time, and what changed from one to the next.
//!
//! In: facts. Out: generations of cards, and their differences in words. Whether a change is a fault is the rules' business.

use std::collections::{BTreeMap, BTreeSet};

use crate::instant::Instant;
use crate::tables::{CardEndpointRow, CardRow, CardSkillRow, Facts};

/// What a card says, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Card {
    /// Hash of the body.
    pub body_sha256: String,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Shape: `0.1`, `0.3`, `1.0`, `0.3+1.0`.
    pub dialect: String,
    /// The skill fingerprint that clients log.
    pub fingerprint: String,
    /// Skills, modes and capabilities, neutral of dialects.
    pub contract_sha256: String,
    /// Names, descriptions, tags, examples.
    pub descriptive_sha256: String,
    /// Security of the card and its skills.
    pub security_sha256: String,
    /// Protocol versions that it names.
    pub protocol_versions: BTreeSet<String>,
    /// It offers streaming.
    pub streaming: bool,
    /// It offers push notifications.
    pub push_notifications: bool,
    /// Names of security schemes.
    pub security_schemes: BTreeSet<String>,
    /// Ways for callers to be let in, in words; none where an older program stored the card.
    pub security_required: Option<BTreeSet<String>>,
    /// Keys that signed it.
    pub signature_kids: BTreeSet<String>,
    /// Skills by id.
    pub skills: BTreeMap<String, Skill>,
    /// Interfaces: url and binding.
    pub endpoints: BTreeSet<(String, String)>,
}

/// A skill of a card.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skill {
    /// Media types that it takes.
    pub input_modes: BTreeSet<String>,
    /// Media types that it gives.
    pub output_modes: BTreeSet<String>,
    /// Its own security.
    pub security_sha256: String,
    /// It, in words; none where an older program stored the card.
    pub security_required: Option<BTreeSet<String>>,
}

/// A card that an agent showed for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The card.
    pub card: Card,
    /// It is the extended card, for those who sign in.
    pub extended: bool,
    /// First look that saw it.
    pub first_seen: Instant,
    /// Last look that saw it, before another card was seen.
    pub last_seen: Instant,
    /// Looks that saw it.
    pub looks: usize,
}

/// What an agent's cards were, in the order of time; those of its extended card after those of its public one. A card that
/// comes back is shown again.
pub fn shown(facts: &Facts) -> BTreeMap<String, Vec<Shown>> {
    let mut skills: BTreeMap<&str, Vec<&CardSkillRow>> = BTreeMap::new();
    facts.card_skills.iter().for_each(|row| skills.entry(&row.own.body_sha256).or_default().push(row));
    let mut endpoints: BTreeMap<&str, Vec<&CardEndpointRow>> = BTreeMap::new();
    facts.card_endpoints.iter().for_each(|row| endpoints.entry(&row.own.body_sha256).or_default().push(row));

    let mut looks: Vec<&CardRow> = facts.cards.iter().filter(|row| !row.own.body_sha256.is_empty()).collect();
    looks.sort_by_key(|row| (row.own.extended, row.common.observed_at, &row.common.fact_id));
    let mut shown: BTreeMap<String, Vec<Shown>> = BTreeMap::new();
    for row in looks {
        let (at, extended) = (row.common.observed_at, row.own.extended == Some(true));
        let of_agent = shown.entry(row.common.agent.clone()).or_default();
        match of_agent.last_mut() {
            Some(last) if last.card.body_sha256 == row.own.body_sha256 && last.extended == extended => {
                last.last_seen = at;
                last.looks += 1;
            }
            _ => {
                let body = row.own.body_sha256.as_str();
                let mut card = Card::of(row);
                card.add_skills(skills.get(body).into_iter().flatten().copied());
                card.add_endpoints(endpoints.get(body).into_iter().flatten().copied());
                of_agent.push(Shown { card, extended, first_seen: at, last_seen: at, looks: 1 });
            }
        }
    }
    shown
}

impl Card {
    fn of(row: &CardRow) -> Self {
        let own = &row.own;
        let texts = |texts: &Option<Vec<String>>| texts.iter().flatten().cloned().collect();
        Self {
            body_sha256: own.body_sha256.clone(),
            name: own.name.clone(),
            version: own.version.clone(),
            dialect: own.dialect.clone(),
            fingerprint: own.fingerprint.clone(),
            contract_sha256: own.contract_sha256.clone(),
            descriptive_sha256: own.descriptive_sha256.clone(),
            security_sha256: own.security_sha256.clone(),
            protocol_versions: texts(&own.protocol_versions),
            streaming: own.streaming == Some(true),
            push_notifications: own.push_notifications == Some(true),
            security_schemes: texts(&own.security_schemes),
            security_required: ways(&own.security_required),
            signature_kids: texts(&own.signature_kids),
            ..Self::default()
        }
    }

    fn add_skills<'a>(&mut self, rows: impl Iterator<Item = &'a CardSkillRow>) {
        for row in rows {
            let modes = |modes: &Option<Vec<String>>| modes.iter().flatten().cloned().collect();
            let skill = Skill {
                input_modes: modes(&row.own.input_modes),
                output_modes: modes(&row.own.output_modes),
                security_sha256: row.own.security_sha256.clone(),
                security_required: ways(&row.own.security_required),
            };
            self.skills.insert(row.own.skill_id.clone(), skill);
        }
    }

    fn add_endpoints<'a>(&mut self, rows: impl Iterator<Item = &'a CardEndpointRow>) {
        self.endpoints.extend(rows.map(|row| (row.own.url.clone(), row.own.binding.clone())));
    }
}

/// Ways to be let in; none where they are not kept.
fn ways(texts: &Option<Vec<String>>) -> Option<BTreeSet<String>> {
    texts.as_ref().map(|texts| texts.iter().cloned().collect())
}

/// What part of a card changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Skills came or went.
    Skills,
    /// A skill takes or gives other media types.
    Modes,
    /// Streaming or push notifications.
    Capabilities,
    /// Who may call, and how they prove it.
    Security,
    /// Where it is called.
    Endpoints,
    /// Name, version, protocol.
    Identity,
    /// Keys that sign it.
    Signatures,
    /// Descriptions, tags, examples.
    Wording,
    /// What is not compared by itself.
    Other,
}

impl Part {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Modes => "modes",
            Self::Capabilities => "capabilities",
            Self::Security => "security",
            Self::Endpoints => "endpoints",
            Self::Identity => "identity",
            Self::Signatures => "signatures",
            Self::Wording => "wording",
            Self::Other => "other",
        }
    }
}

/// One difference between two cards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub part: Part,
    /// What changed, in words.
    pub says: String,
}

/// What changed from one card to another, what clients rely on first.
pub fn changes(before: &Card, after: &Card) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut say = |part, says| changes.push(Change { part, says });
    let ids = |card: &Card| card.skills.keys().cloned().collect::<BTreeSet<_>>();
    for says in came_and_went("skill", &ids(before), &ids(after)) {
        say(Part::Skills, says);
    }
    for (id, old) in &before.skills {
        let Some(new) = after.skills.get(id) else { continue };
        for (verb, old, new) in
            [("takes", &old.input_modes, &new.input_modes), ("gives", &old.output_modes, &new.output_modes)]
        {
            if old != new {
                say(Part::Modes, format!("skill {id} {verb} {}; before: {}", list(new), list(old)));
            }
        }
    }
    for (name, old, new) in [
        ("streaming", before.streaming, after.streaming),
        ("push notifications", before.push_notifications, after.push_notifications),
    ] {
        if old != new {
            say(Part::Capabilities, format!("{name} {}", if new { "is now offered" } else { "is no longer offered" }));
        }
    }
    for says in security(before, after) {
        say(Part::Security, says);
    }
    let urls = |card: &Card| card.endpoints.iter().map(|(url, binding)| format!("{url} ({binding})")).collect();
    for says in came_and_went("endpoint", &urls(before), &urls(after)) {
        say(Part::Endpoints, says);
    }
    for (name, old, new) in [
        ("name", &before.name, &after.name),
        ("version", &before.version, &after.version),
        ("shape", &before.dialect, &after.dialect),
    ] {
        if old != new {
            say(Part::Identity, format!("{name} {new}; before: {old}"));
        }
    }
    for says in came_and_went("protocol version", &before.protocol_versions, &after.protocol_versions) {
        say(Part::Identity, says);
    }
    for says in came_and_went("signing key", &before.signature_kids, &after.signature_kids) {
        say(Part::Signatures, says);
    }
    if before.descriptive_sha256 != after.descriptive_sha256 && before.name == after.name {
        let says = if ids(before) == ids(after) {
            "descriptions, tags or examples are worded differently"
        } else {
            "descriptions, tags or examples differ, if only by the skills that came or went"
        };
        say(Part::Wording, says.to_owned());
    }
    // The two shapes of one card are two bodies.
    if changes.is_empty() && before.body_sha256 != after.body_sha256 && before.dialect == after.dialect {
        let says = "something that is not compared by itself: an extension, the extended card, a tenant, the order of interfaces or \
                    a signature";
        changes.push(Change { part: Part::Other, says: says.to_owned() });
    }
    changes
}

/// How what was not there before is told.
const NEW: &str = " is new";

/// What changed in who may call: schemes that came or went, and what callers must prove, of the card and of its skills.
fn security(before: &Card, after: &Card) -> Vec<String> {
    let mut said = came_and_went("security scheme", &before.security_schemes, &after.security_schemes);
    let asks = |of: &str, old: &Option<BTreeSet<String>>, new: &Option<BTreeSet<String>>| {
        let (old, new) = (old.as_ref()?, new.as_ref()?);
        (old != new).then(|| format!("{of} asks callers for {}; before: {}", either(new), either(old)))
    };
    said.extend(asks("the card", &before.security_required, &after.security_required));
    said.extend(before.skills.iter().filter_map(|(id, old)| {
        let new = after.skills.get(id)?;
        asks(&format!("skill {id}"), &old.security_required, &new.security_required)
    }));
    let is_known = before.security_required.is_some() && after.security_required.is_some();
    let is_asked = said.iter().any(|says| says.ends_with(NEW));
    if said.is_empty() && before.security_sha256 != after.security_sha256 {
        said.push("what callers must prove changed, under the same names of schemes".to_owned());
    } else if is_asked && !is_known {
        said.push("whether callers must use the new schemes is told by `security` in the card".to_owned());
    }
    said
}

/// `oauth(run) or bearer`.
fn either(ways: &BTreeSet<String>) -> String {
    if ways.is_empty() {
        "nothing".to_owned()
    } else {
        ways.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")
    }
}

fn came_and_went(noun: &str, before: &BTreeSet<String>, after: &BTreeSet<String>) -> Vec<String> {
    let came = after.difference(before).map(|it| format!("{noun} {it}{NEW}"));
    let went = before.difference(after).map(|it| format!("{noun} {it} is gone"));
    went.chain(came).collect()
}

fn list(items: &BTreeSet<String>) -> String {
    if items.is_empty() { "nothing".to_owned() } else { items.iter().cloned().collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(skills: &[(&str, &str)]) -> Card {
        let skill = |output: &str| Skill { output_modes: [output.to_owned()].into(), ..Skill::default() };
        let skills = skills.iter().map(|(id, output)| ((*id).to_owned(), skill(output))).collect();
        Card { skills, version: "1".to_owned(), ..Card::default() }
    }

    fn said(before: &Card, after: &Card) -> Vec<String> {
        changes(before, after).into_iter().map(|change| format!("{}: {}", change.part.as_str(), change.says)).collect()
    }

    #[test]
    fn what_clients_rely_on_is_told_first_and_in_words() {
        let before = card(&[("a", "text/plain"), ("b", "text/plain")]);
        let mut after = card(&[("b", "text/markdown"), ("c", "text/plain")]);
        after.streaming = true;
        after.version = "2".to_owned();
        assert_eq!(
            said(&before, &after),
            [
                "skills: skill a is gone",
                "skills: skill c is new",
                "modes: skill b gives text/markdown; before: text/plain",
                "capabilities: streaming is now offered",
                "identity: version 2; before: 1",
            ]
        );
        assert_eq!(said(&before, &before), Vec::<String>::new());
    }

    #[test]
    fn what_a_new_skill_or_scheme_says_is_not_told_as_a_change_of_others() {
        let before = card(&[("a", "text/plain")]);
        let mut after = card(&[("a", "text/plain"), ("b", "text/plain")]);
        (after.descriptive_sha256, after.security_sha256) = ("x".to_owned(), "y".to_owned());
        after.security_schemes = ["oauth".to_owned()].into();
        assert_eq!(
            said(&before, &after),
            [
                "skills: skill b is new",
                "security: security scheme oauth is new",
                "security: whether callers must use the new schemes is told by `security` in the card",
                "wording: descriptions, tags or examples differ, if only by the skills that came or went",
            ]
        );
        after.skills = before.skills.clone();
        assert!(
            said(&before, &after)
                .contains(&"wording: descriptions, tags or examples are worded differently".to_owned())
        );
    }

    #[test]
    fn what_callers_must_prove_is_told_before_and_after() {
        let asks = |ways: &[&str]| Some(ways.iter().map(|way| (*way).to_owned()).collect());
        let mut before = card(&[("a", "text/plain"), ("b", "text/plain")]);
        (before.security_required, before.security_sha256) = (asks(&[]), "x".to_owned());
        before.skills.values_mut().for_each(|skill| skill.security_required = asks(&[]));
        let mut after = Card { security_sha256: "y".to_owned(), ..before.clone() };
        after.security_required = asks(&["bearer", "oauth(run) and mtls"]);
        after.security_schemes = ["bearer".to_owned()].into();
        after.skills.get_mut("b").unwrap().security_required = asks(&["oauth(admin)"]);
        assert_eq!(
            said(&before, &after),
            [
                "security: security scheme bearer is new",
                "security: the card asks callers for bearer or oauth(run) and mtls; before: nothing",
                "security: skill b asks callers for oauth(admin); before: nothing",
            ]
        );
        let other = Card { security_sha256: "z".to_owned(), ..after.clone() };
        assert_eq!(
            said(&after, &other),
            ["security: what callers must prove changed, under the same names of schemes"]
        );
    }

    #[test]
    fn what_is_in_no_column_is_told_as_another_difference_of_one_shape() {
        let before = Card { body_sha256: "x".to_owned(), ..card(&[]) };
        let after = Card { body_sha256: "y".to_owned(), ..before.clone() };
        let told = said(&before, &after);
        assert!(told.len() == 1 && told[0].starts_with("other: something that is not compared"), "{told:?}");
        let other_shape = Card { dialect: "0.3".to_owned(), ..after };
        assert_eq!(said(&before, &other_shape), ["identity: shape 0.3; before: "]);
    }

    #[test]
    fn security_that_changes_under_the_same_names_is_told() {
        let before = card(&[]);
        let after = Card { security_sha256: "x".to_owned(), ..before.clone() };
        assert_eq!(
            said(&before, &after),
            ["security: what callers must prove changed, under the same names of schemes"]
        );
    }

    #[test]
    fn a_card_that_comes_back_is_shown_again() {
        use crate::tables::{CardColumns, Common};
        let mut facts = Facts::default();
        for (at, body) in [(1, "x"), (2, "x"), (3, "y"), (4, "x")] {
            let common = Common { observed_at: Instant(at), agent: "a".to_owned(), ..Common::default() };
            let own = CardColumns { body_sha256: body.to_owned(), ..CardColumns::default() };
            facts.push_card(CardRow { common, own });
        }
        let shown = shown(&facts);
        let seen: Vec<_> = shown["a"].iter().map(|s| (s.card.body_sha256.as_str(), s.looks, s.last_seen.0)).collect();
        assert_eq!(seen, [("x", 2, 2), ("y", 1, 3), ("x", 1, 4)]);
    }
}
