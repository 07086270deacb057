//! Where gateways pass calls on to, and which places that makes one.
//!
//! In: the place that was called at a gateway and the address behind it, by the gateway's own word or because the agent saw the
//! same call at another place, any number of times. Out: the pairs that there are,
//! and for some authorities the places that are one agent. An address behind two agents of gateways says nothing of
//! either, and neither does one at which several agents answer. A function of the pairs and of the groups that cards make.

use std::collections::{BTreeMap, BTreeSet};

use super::site::Site;
use crate::tables::ExchangeRow;

/// Exchanges of one call that are looked at in pairs; a span with more is around several calls.
pub(super) const MOST_OF_A_CALL: usize = 8;

/// The place called and the address behind it, as a gateway says it itself. A loopback address is that of whoever shares the
/// gateway's machine, and tells nothing elsewhere.
pub(super) fn told(row: &ExchangeRow) -> Option<(Site, Site)> {
    if row.common.observer != "gateway" || row.own.server_address.is_empty() {
        return None;
    }
    let behind = Site::parse(&row.own.server_address).filter(|behind| behind.path.is_empty())?;
    pair(called(row)?, behind)
}

/// The same of two exchanges of one call: where its caller or a gateway saw it, and where the agent did.
pub(super) fn shared(one: &ExchangeRow, other: &ExchangeRow) -> Option<(Site, Site)> {
    let is_server = |row: &ExchangeRow| row.common.observer == "server";
    let (front, back) = match (is_server(one), is_server(other)) {
        (false, true) => (one, other),
        (true, false) => (other, one),
        _ => return None,
    };
    if front.common.agent_ref == back.common.agent_ref {
        return None;
    }
    pair(called(front)?, Site { path: String::new(), ..called(back)? })
}

fn called(row: &ExchangeRow) -> Option<Site> {
    let reference = &row.common.agent_ref;
    let is_named = reference.starts_with("service:") || reference.starts_with("name:");
    if is_named { None } else { Site::parse(reference).map(Site::card_base) }
}

fn pair(called: Site, behind: Site) -> Option<(Site, Site)> {
    let is_elsewhere = behind.is_loopback() && !called.is_loopback();
    (!is_elsewhere && called.authority != behind.authority).then_some((called, behind))
}

/// Pairs of a place called and the address behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct Routes {
    pairs: BTreeMap<(Site, Site), usize>,
    back: BTreeSet<(Site, Site)>,
}

impl Routes {
    /// One call more or less; whether the pair appeared or went.
    pub(super) fn count(&mut self, called: &Site, behind: &Site, came: bool) -> bool {
        let pair = (called.clone(), behind.clone());
        let before = self.pairs.get(&pair).copied().unwrap_or(0);
        let now = if came { before + 1 } else { before.saturating_sub(1) };
        let back = (behind.clone(), called.clone());
        match now {
            0 => {
                self.pairs.remove(&pair);
                self.back.remove(&back);
            }
            _ => {
                self.pairs.insert(pair, now);
                self.back.insert(back);
            }
        }
        (before == 0) != (now == 0)
    }

    /// Places called at an authority, each with an address behind it.
    fn of(&self, authority: &str) -> impl Iterator<Item = (&Site, &Site)> {
        let pairs = self.pairs.range((Site::first(authority), Site::first(""))..).map(|((called, to), _)| (called, to));
        pairs.take_while(move |(called, _)| called.authority == authority)
    }

    /// Authorities on the other side of an authority's routes.
    pub(super) fn beside(&self, authority: &str) -> impl Iterator<Item = &str> {
        let back = self.back.range((Site::first(authority), Site::first(""))..);
        let back = back.take_while(move |(behind, _)| behind.authority == authority).map(|(_, called)| called);
        self.of(authority).map(|(_, behind)| behind).chain(back).map(|site| site.authority.as_str())
    }
}

/// Groups of places as cards alone make them.
pub(super) trait Grouped {
    /// The group of the longest known place that holds this one.
    fn holder(&self, site: &Site) -> Option<usize>;
    /// Groups that have places at an authority.
    fn at(&self, authority: &str) -> BTreeSet<usize>;
}

/// What is behind a gateway.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Front {
    /// A group of places that is known by a card.
    Group(usize),
    /// A place that no card knows.
    Place(Site),
}

/// The places in front, each with the group or address behind it that is the same agent.
pub(super) fn ties(routes: &Routes, authorities: &BTreeSet<String>, groups: &impl Grouped) -> Vec<(Front, Front)> {
    let mut fronts: BTreeMap<&Site, BTreeSet<Front>> = BTreeMap::new();
    for authority in authorities {
        let known = routes.of(authority).filter_map(|(called, behind)| Some((groups.holder(called)?, behind)));
        for (group, behind) in known {
            fronts.entry(behind).or_default().insert(Front::Group(group));
        }
        let unknown: Vec<(&Site, &Site)> =
            routes.of(authority).filter(|(called, _)| groups.holder(called).is_none()).collect();
        for (place, behind) in unknown_fronts(authority, &unknown, groups.at(authority).is_empty()) {
            fronts.entry(behind).or_default().insert(Front::Place(place));
        }
    }
    let only = |fronts: BTreeSet<Front>| fronts.into_iter().next();
    let one = fronts.into_iter().filter(|(_, fronts)| fronts.len() == 1);
    let tied = one.filter_map(|(behind, fronts)| {
        let at = groups.at(&behind.authority);
        let back = match at.len() {
            0 => Front::Place(behind.clone()),
            1 => Front::Group(*at.first()?),
            _ => return None,
        };
        Some((only(fronts)?, back))
    });
    tied.collect()
}

/// What stands in front of addresses where no card tells. Where all that is called at a gateway leads to the same addresses,
/// the gateway is one agent, as it is without routes; else each path is, that shares its addresses with no other.
fn unknown_fronts<'a>(authority: &str, pairs: &[(&'a Site, &'a Site)], is_bare: bool) -> Vec<(Site, &'a Site)> {
    let Some((first, _)) = pairs.first() else { return Vec::new() };
    let mut reached: BTreeSet<&Site> = BTreeSet::from([*first]);
    let mut behind: BTreeSet<&Site> = BTreeSet::new();
    loop {
        let size = (reached.len(), behind.len());
        for (called, to) in pairs {
            if reached.contains(called) || behind.contains(to) {
                reached.insert(called);
                behind.insert(to);
            }
        }
        if (reached.len(), behind.len()) == size {
            break;
        }
    }
    let is_one = is_bare && pairs.iter().all(|(called, _)| reached.contains(called));
    pairs.iter().map(|(called, to)| (if is_one { Site::first(authority) } else { (*called).clone() }, *to)).collect()
}

#[cfg(test)]
impl Routes {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.back.is_empty()
    }
}
