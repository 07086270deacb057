//! Looks at cards, key sets and policies: which of them still say something.
//!
//! In: the facts of looks. Out: those that may go: of looks at the same thing by the same party, older than the retention, the ones
//! between two that saw the same. What begins and what ends a run of equal looks stays for the longer retention of cards, and the
//! last look of all stays, however old it is. What a body lists has no time: it stays as long as a look that saw the body.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::entry::Entry;
use super::relation::{Key, Keys, NO_KEY, Slot};
use crate::instant::Instant;
use crate::tables::{CardRow, Fact};

/// What may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention {
    /// Looks from here on all stay.
    pub(super) looks: Instant,
    /// Ends of runs of equal looks stay from here on.
    pub(super) changes: Instant,
}

/// Facts of one record: a card with its skills, interfaces and signatures, a key set, a change of policy.
#[derive(Default)]
struct Look {
    at: Instant,
    /// Smallest id of its facts, for looks of one instant.
    id: String,
    slots: Vec<Slot>,
    /// Who looked at what, and what was seen; of its card if it has one.
    card: Option<(Key, Key)>,
    /// The same of each other fact, in no order.
    others: BTreeMap<Key, Key>,
}

/// Whether a fact is part of a look.
pub(super) fn is_look(fact: &Fact) -> bool {
    match fact {
        Fact::Card(_) | Fact::CardSkill(_) | Fact::CardEndpoint(_) | Fact::SigningKey(_) | Fact::PolicyChange(_) => {
            true
        }
        Fact::Exchange(_) | Fact::TaskEvent(_) | Fact::ArtifactPart(_) | Fact::PushDelivery(_) => false,
    }
}

/// Facts of looks that may go.
pub(super) fn superfluous<'a>(
    facts: impl Iterator<Item = (Slot, &'a Entry)>,
    keys: &Keys,
    retention: Retention,
) -> Vec<Slot> {
    let mut bodies = Bodies::default();
    let timed = facts.filter(|(slot, entry)| bodies.take(*slot, entry, keys));
    let looks = looks(timed, keys);
    let mut groups: HashMap<Key, Vec<(Key, Look)>> = HashMap::new();
    for look in looks.into_values() {
        let seen = match look.card {
            Some(seen) => seen,
            // Without a card, whoever saw the same things looked at the same.
            None => (look.others.keys().fold(NO_KEY, |a, b| a ^ b), look.others.values().fold(NO_KEY, |a, b| a ^ b)),
        };
        groups.entry(seen.0).or_default().push((seen.1, look));
    }
    let mut gone = Vec::new();
    for mut looks in groups.into_values() {
        looks.sort_by(|(_, a), (_, b)| (a.at, &a.id).cmp(&(b.at, &b.id)));
        for (at, (seen, look)) in looks.iter().enumerate() {
            let same = |other: Option<&(Key, Look)>| other.is_some_and(|(other, _)| other == seen);
            let is_between = same(at.checked_sub(1).and_then(|before| looks.get(before))) && same(looks.get(at + 1));
            let is_last = at + 1 == looks.len();
            if !is_last && look.at < retention.looks && (is_between || look.at < retention.changes) {
                gone.extend(&look.slots);
            }
        }
    }
    bodies.unseen_without(&mut gone);
    gone
}

/// Which looks saw which body, and what the bodies list.
#[derive(Default)]
struct Bodies {
    /// Body by look.
    seen: Vec<(Slot, Key)>,
    /// Body by what it lists.
    listed: Vec<(Slot, Key)>,
}

impl Bodies {
    /// Takes note of a fact; whether it has a time.
    fn take(&mut self, slot: Slot, entry: &Entry, keys: &Keys) -> bool {
        let is_timed = entry.fact.common().observed_at != Instant::default();
        match &entry.fact {
            Fact::Card(row) => self.seen.push((slot, keys.of(&[&row.own.body_sha256]))),
            Fact::CardSkill(row) if !is_timed => self.listed.push((slot, keys.of(&[&row.own.body_sha256]))),
            Fact::CardEndpoint(row) if !is_timed => self.listed.push((slot, keys.of(&[&row.own.body_sha256]))),
            _ => {}
        }
        is_timed
    }

    /// Adds what is listed by bodies that nobody saw, without the looks that go.
    fn unseen_without(self, gone: &mut Vec<Slot>) {
        let going: HashSet<Slot> = gone.iter().copied().collect();
        let seen: HashSet<Key> =
            self.seen.iter().filter(|(slot, _)| !going.contains(slot)).map(|(_, body)| *body).collect();
        gone.extend(self.listed.iter().filter(|(_, body)| !seen.contains(body)).map(|(slot, _)| *slot));
    }
}

fn looks<'a>(facts: impl Iterator<Item = (Slot, &'a Entry)>, keys: &Keys) -> HashMap<Key, Look> {
    let mut looks: HashMap<Key, Look> = HashMap::new();
    for (slot, entry) in facts {
        let common = entry.fact.common();
        let record = if entry.keys.record == NO_KEY { keys.of(&[&common.fact_id]) } else { entry.keys.record };
        let look = looks.entry(record).or_default();
        look.at = look.at.max(common.observed_at);
        if look.id.is_empty() || common.fact_id < look.id {
            look.id.clone_from(&common.fact_id);
        }
        look.slots.push(slot);
        let (thing, seen) = match &entry.fact {
            Fact::Card(row) => {
                look.card = Some(card(row, keys));
                continue;
            }
            Fact::CardSkill(row) => (row.own.body_sha256.as_str(), ["skill", &row.own.skill_id]),
            Fact::CardEndpoint(row) => (row.own.body_sha256.as_str(), ["endpoint", &row.own.url]),
            Fact::SigningKey(row) => (row.own.url.as_str(), [row.own.kid.as_str(), &row.own.thumbprint]),
            Fact::PolicyChange(row) => (row.own.skill_id.as_str(), ["policy", &row.own.change]),
            _ => continue,
        };
        let party = [&common.agent, &common.observer, &common.observer_name, &common.client].map(String::as_str);
        let thing = keys.of(&[&party[..], &[thing]].concat());
        *look.others.entry(thing).or_insert(NO_KEY) ^= keys.of(&seen);
    }
    looks
}

/// Who looked at which card, and what was seen.
fn card(row: &CardRow, keys: &Keys) -> (Key, Key) {
    let (common, own) = (&row.common, &row.own);
    let flag = |flag: Option<bool>| if flag.unwrap_or(false) { "yes" } else { "" };
    let party = [&common.agent, &common.observer, &common.observer_name, &common.client, &common.principal];
    let card = [common.tenant.as_str(), &own.url, flag(own.extended)];
    // The tag of a 304 says of which body it speaks.
    let tag = if own.not_modified == Some(true) { own.etag.as_str() } else { "" };
    let status = own.http_status.map_or(String::new(), |status| status.to_string());
    let looked = keys.of(&[&party.map(String::as_str)[..], &card].concat());
    (looked, keys.of(&[&own.body_sha256, &status, flag(own.not_modified), tag]))
}
