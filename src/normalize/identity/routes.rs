//! Where gateways pass calls on to, and which places that makes one.
//!
//! In: the place that was called at a gateway and the address behind it, by the gateway's own word or because the agent saw the
//! same call at another place, any number of times. Out: the routes that there are,
//! and for some authorities the places that are one agent. An address behind two agents of gateways says nothing of
//! either, and neither does one at which several agents answer. A function of the routes and of the groups that cards make.

use std::collections::{BTreeMap, BTreeSet};

use super::site::Site;
use crate::tables::ExchangeRow;

/// Exchanges of one call that are looked at in pairs; a span with more is around several calls.
pub(super) const MOST_OF_A_CALL: usize = 8;

/// A place called, and the address behind it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    pub(super) called: Site,
    /// Called by the paths of the HTTP+JSON binding.
    is_rest: bool,
    pub(super) behind: Site,
}

impl Route {
    /// The first route of an authority in the order of routes.
    fn first(authority: &str) -> Self {
        Self { called: Site::first(authority), is_rest: false, behind: Site::first("") }
    }
}

/// The place called and the address behind it, as a gateway says it itself. A loopback address is that of whoever shares the
/// gateway's machine, and tells nothing elsewhere.
pub(super) fn told(row: &ExchangeRow) -> Option<Route> {
    if row.common.observer != "gateway" || row.own.server_address.is_empty() {
        return None;
    }
    let behind = Site::parse(&row.own.server_address).filter(|behind| behind.path.is_empty())?;
    route(row, behind)
}

/// The same of two exchanges of one call: where its caller or a gateway saw it, and where the agent did.
pub(super) fn shared(one: &ExchangeRow, other: &ExchangeRow) -> Option<Route> {
    let is_server = |row: &ExchangeRow| row.common.observer == "server";
    let (front, back) = match (is_server(one), is_server(other)) {
        (false, true) => (one, other),
        (true, false) => (other, one),
        _ => return None,
    };
    if front.common.agent_ref == back.common.agent_ref {
        return None;
    }
    route(front, Site { path: String::new(), ..called(back)? })
}

fn called(row: &ExchangeRow) -> Option<Site> {
    let reference = &row.common.agent_ref;
    let is_named = reference.starts_with("service:") || reference.starts_with("name:");
    if is_named { None } else { Site::parse(reference).map(Site::card_base) }
}

fn route(front: &ExchangeRow, behind: Site) -> Option<Route> {
    let called = called(front)?;
    let is_elsewhere = behind.is_loopback() && !called.is_loopback();
    let leads_away = !is_elsewhere && called.authority != behind.authority;
    leads_away.then(|| Route { called, is_rest: front.own.binding == "http+json", behind })
}

/// Routes, and how many calls took each.
#[derive(Debug, Clone, Default)]
pub(super) struct Routes {
    calls: BTreeMap<Route, usize>,
    /// The same from behind.
    back: BTreeSet<(Site, Route)>,
}

impl Routes {
    /// One call more or less; whether the route appeared or went.
    pub(super) fn count(&mut self, route: &Route, came: bool) -> bool {
        let before = self.calls.get(route).copied().unwrap_or(0);
        let now = if came { before + 1 } else { before.saturating_sub(1) };
        let back = (route.behind.clone(), route.clone());
        match now {
            0 => {
                self.calls.remove(route);
                self.back.remove(&back);
            }
            _ => {
                self.calls.insert(route.clone(), now);
                self.back.insert(back);
            }
        }
        (before == 0) != (now == 0)
    }

    /// Routes from the places of an authority.
    fn of(&self, authority: &str) -> impl Iterator<Item = &Route> {
        let routes = self.calls.range(Route::first(authority)..).map(|(route, _)| route);
        routes.take_while(move |route| route.called.authority == authority)
    }

    /// Authorities on the other side of an authority's routes.
    pub(super) fn beside(&self, authority: &str) -> impl Iterator<Item = &str> {
        let back = self.back.range((Site::first(authority), Route::first(""))..);
        let back = back.take_while(move |(behind, _)| behind.authority == authority).map(|(_, route)| &route.called);
        self.of(authority).map(|route| &route.behind).chain(back).map(|site| site.authority.as_str())
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
    let mut bindings: BTreeMap<&Site, &Site> = BTreeMap::new();
    for authority in authorities {
        let known = routes.of(authority).filter_map(|route| Some((groups.holder(&route.called)?, &route.behind)));
        for (group, behind) in known {
            fronts.entry(behind).or_default().insert(Front::Group(group));
        }
        let unknown: Vec<&Route> =
            routes.of(authority).filter(|route| groups.holder(&route.called).is_none()).collect();
        let first = of_other_bindings(&unknown);
        let first_of = |called| first.get(called).copied().unwrap_or(called);
        let pairs: Vec<(&Site, &Site)> = unknown.iter().map(|route| (first_of(&route.called), &route.behind)).collect();
        for (place, behind) in unknown_fronts(&pairs) {
            fronts.entry(behind).or_default().insert(Front::Place(place));
        }
        bindings.extend(first);
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
    let mut tied: Vec<(Front, Front)> = tied.collect();
    let is_front = |place: &Site| tied.iter().any(|(front, _)| *front == Front::Place(place.clone()));
    let other = bindings.into_iter().filter(|(_, first)| is_front(first));
    let other: Vec<_> =
        other.map(|(called, first)| (Front::Place(first.clone()), Front::Place(called.clone()))).collect();
    tied.extend(other);
    tied
}

/// Places that are the same agent's in another binding, each with the first of them: what is left of both paths without the
/// words by which bindings and versions are told apart is the same, and no binding is there twice.
fn of_other_bindings<'a>(routes: &[&'a Route]) -> BTreeMap<&'a Site, &'a Site> {
    let mut by_agent: BTreeMap<Site, BTreeSet<(&Site, bool)>> = BTreeMap::new();
    for route in routes {
        by_agent.entry(route.called.home()).or_default().insert((&route.called, route.is_rest));
    }
    let mut first = BTreeMap::new();
    for places in by_agent.into_values() {
        let places: Vec<(&Site, bool)> = places.into_iter().collect();
        if let [(one, rest), (other, other_rest)] = places.as_slice()
            && one != other
            && rest != other_rest
        {
            first.insert(*other, *one);
        }
    }
    first
}

/// What stands in front of addresses where no card tells. Where all that is called at one home leads to the same addresses, the
/// home is one agent, as it is without routes; else each path is, that shares its addresses with no other.
fn unknown_fronts<'a>(pairs: &[(&'a Site, &'a Site)]) -> Vec<(Site, &'a Site)> {
    let mut homes: BTreeMap<Site, Vec<(&Site, &'a Site)>> = BTreeMap::new();
    for (called, behind) in pairs {
        homes.entry(called.home()).or_default().push((*called, *behind));
    }
    let fronts = homes.into_iter().flat_map(|(home, pairs)| {
        let is_one = hang_together(&pairs);
        pairs.into_iter().map(move |(called, to)| (if is_one { home.clone() } else { called.clone() }, to))
    });
    fronts.collect()
}

/// Whether places are joined by the addresses behind them.
fn hang_together(pairs: &[(&Site, &Site)]) -> bool {
    let Some((first, _)) = pairs.first() else { return true };
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
    pairs.iter().all(|(called, _)| reached.contains(called))
}

#[cfg(test)]
impl Routes {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.back.is_empty()
    }
}
