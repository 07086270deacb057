//! Which places are one agent, and what it is called.
//!
//! In: cards and the interfaces that they advertise, as they come and go. Out: the agent of a place, and the only agent that
//! bears a name. A function of the cards known: what only some of them concern is grouped anew when these change.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::places::Places;
use super::routes::Route;
use super::site::Site;
use super::ties::Ties;
use crate::tables::{CardEndpointRow, CardRow};

/// What something is called.
pub(super) type Name = Arc<str>;

/// Names that a user gave.
pub(super) type Aliases = BTreeMap<String, String>;

/// An agent as a record gives it, read.
#[derive(Debug, Clone)]
pub(super) enum Reference {
    /// Nothing.
    Missing,
    /// By the name of a service.
    Service(String),
    /// By the name on its card.
    Card(String),
    /// By the place that was called or looked at.
    Place(Site, Told),
    /// By something else.
    Other(String),
}

/// What a reference to a place tells of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The host alone.
    Host,
    /// Where a card is.
    Card,
    /// Where something was called.
    Path,
}

impl Reference {
    pub(super) fn parse(text: &str) -> Self {
        if text.is_empty() {
            Self::Missing
        } else if let Some(name) = text.strip_prefix("service:") {
            Self::Service(name.to_owned())
        } else if let Some(name) = text.strip_prefix("name:") {
            Self::Card(name.to_owned())
        } else {
            Site::parse(text).map_or_else(|| Self::Other(text.to_owned()), |site| Self::place(text, site))
        }
    }

    fn place(text: &str, site: Site) -> Self {
        let host = text.split_once("//").map_or(text, |(_, rest)| rest);
        let base = site.clone().card_base();
        let told = match (host.contains('/'), base == site) {
            (false, _) => Told::Host,
            (true, false) => Told::Card,
            (true, true) => Told::Path,
        };
        Self::Place(base, told)
    }

    /// The name, if it is no place.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Service(name) | Self::Card(name) => Some(name),
            _ => None,
        }
    }
}

/// Places grouped into agents.
#[derive(Debug, Clone, Default)]
pub(super) struct Directory {
    ties: Ties,
    places: Places,
    /// Names on cards, by the place of the card: how many looks show it, and the group of the place.
    borne: BTreeMap<(Site, String), Borne>,
    /// Name on a card -> groups that bear it.
    named: HashMap<String, Roots>,
    /// The same by the spelling of services.
    alike: HashMap<String, Roots>,
    /// Names whose groups are to be looked up.
    unsettled: BTreeSet<(Site, String)>,
}

#[derive(Debug, Clone, Default)]
struct Borne {
    looks: usize,
    root: Option<Site>,
}

/// Groups, and how many places of each bear a name.
type Roots = BTreeMap<Site, usize>;

/// What became different in who is called what.
#[derive(Debug, Default)]
pub(super) struct Regrouped {
    /// Authorities whose places may be of other agents now.
    pub(super) authorities: BTreeSet<String>,
    /// Whether names may be of other agents.
    pub(super) names: bool,
}

impl Directory {
    /// Takes a look at a card, or forgets one.
    pub(super) fn look(&mut self, row: &CardRow, came: bool) {
        let reference = Site::parse(&row.common.agent_ref);
        if !row.own.name.is_empty()
            && let Some(site) = reference.clone()
        {
            let key = (site.card_base(), row.own.name.clone());
            let borne = self.borne.entry(key.clone()).or_default();
            borne.looks = if came { borne.looks + 1 } else { borne.looks.saturating_sub(1) };
            self.unsettled.insert(key);
        }
        if row.own.body_sha256.is_empty() {
            return;
        }
        if let Some(site) = reference.or_else(|| Site::parse(&row.own.url)) {
            let base = site.card_base();
            self.ties.look(&row.own.body_sha256, &row.own.name, &base, row.own.origin != "call", came);
        }
    }

    /// Takes an interface that a card body advertises, or forgets one.
    pub(super) fn endpoint(&mut self, row: &CardEndpointRow, came: bool) {
        if let Some(site) = Site::parse(&row.own.url) {
            self.ties.endpoint(&row.own.body_sha256, &site, came);
        }
    }

    /// Takes a call that went to one place and was answered at another, or forgets one.
    pub(super) fn route(&mut self, route: Option<Route>, came: bool) {
        if let Some(route) = route {
            self.ties.route(&route, came);
        }
    }

    /// Takes a reference that no fact had before, or forgets one that none has any more.
    pub(super) fn refer(&mut self, reference: &Reference, came: bool) {
        if let Reference::Place(site, told) = reference {
            self.ties.called(site, *told, came);
        }
    }

    /// Groups anew what came or went concerns.
    pub(super) fn settle(&mut self, aliases: &Aliases) -> Regrouped {
        let authorities = self.ties.concerned();
        if !authorities.is_empty() {
            self.places.regroup(&self.ties, &authorities, aliases);
        }
        for authority in &authorities {
            let of_authority = self.borne.range((Site::first(authority), String::new())..);
            let of_authority = of_authority.take_while(|((site, _), _)| site.authority == *authority);
            self.unsettled.extend(of_authority.map(|(key, _)| key.clone()));
        }
        let names = !self.unsettled.is_empty();
        for key in std::mem::take(&mut self.unsettled) {
            self.settle_name(key);
        }
        Regrouped { authorities, names }
    }

    fn settle_name(&mut self, key: (Site, String)) {
        let Some(borne) = self.borne.get_mut(&key) else { return };
        let root = self.places.find(&key.0).map(|place| place.root.clone()).filter(|_| borne.looks > 0);
        let before = std::mem::replace(&mut borne.root, root.clone());
        if borne.looks == 0 {
            self.borne.remove(&key);
        }
        if before != root {
            count(&mut self.named, &key.1, before.as_ref(), root.as_ref());
            count(&mut self.alike, &fold(&key.1), before.as_ref(), root.as_ref());
        }
    }

    /// The agent that a record itself names: by its place, or by a name that is on one agent's card alone.
    pub(super) fn by_reference(&self, reference: &Reference, aliases: &Aliases) -> Option<Name> {
        let label = match reference {
            Reference::Missing | Reference::Service(_) => None,
            Reference::Card(name) => {
                self.only(self.named.get(name)).or_else(|| aliases.get(name).map(|alias| alias.as_str().into()))
            }
            Reference::Other(text) => Some(alias(aliases, text)),
            Reference::Place(site, _) => {
                let held = self.places.find(site).map(|place| place.label.clone());
                held.or_else(|| Some(alias(aliases, &site.authority)))
            }
        };
        label.filter(|label| !label.is_empty())
    }

    /// What is meant by a name that nothing else tells the agent of: the only agent whose card bears it, spelled as services
    /// are (`summary-agent` is `Summary Agent`), else the name itself.
    pub(super) fn by_name(&self, reference: &Reference, aliases: &Aliases) -> Option<Name> {
        let name = reference.name()?;
        let spelled = fold(name);
        let alike = self.alike.get(&spelled).filter(|_| !spelled.is_empty());
        Some(self.only(alike).unwrap_or_else(|| alias(aliases, name))).filter(|name| !name.is_empty())
    }

    fn only(&self, roots: Option<&Roots>) -> Option<Name> {
        let (root, _) = roots.filter(|roots| roots.len() == 1)?.first_key_value()?;
        self.places.label(root)
    }
}

/// Counts a name for another group than before.
fn count(names: &mut HashMap<String, Roots>, name: &str, before: Option<&Site>, now: Option<&Site>) {
    let roots = names.entry(name.to_owned()).or_default();
    if let Some(before) = before
        && let Some(places) = roots.get_mut(before)
    {
        *places = places.saturating_sub(1);
        if *places == 0 {
            roots.remove(before);
        }
    }
    if let Some(now) = now {
        *roots.entry(now.clone()).or_default() += 1;
    }
    if roots.is_empty() {
        names.remove(name);
    }
}

fn alias(aliases: &Aliases, name: &str) -> Name {
    aliases.get(name).map_or(name, String::as_str).into()
}

/// A name without case, spaces and signs.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
impl Directory {
    /// Whether nothing is known of any card.
    pub(super) fn is_empty(&self) -> bool {
        self.ties.is_empty()
            && self.borne.is_empty()
            && self.named.is_empty()
            && self.alike.is_empty()
            && self.unsettled.is_empty()
            && self.places.is_empty()
    }
}
