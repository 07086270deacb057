//! What is known of places: where cards were fetched, which interfaces they advertise, where calls went.
//!
//! In: looks, interfaces, calls passed on and references as they come and go, any number of times. Out: the ties that there are,
//! and the authorities that the last changes concern. Draws no conclusion.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::called::{Called, Seen};
use super::directory::Told;
use super::routes::{Route, Routes};
use super::site::Site;

/// Ties between places.
#[derive(Debug, Clone, Default)]
pub(super) struct Ties {
    /// Where cards were fetched, and in how many looks.
    fetched: BTreeMap<Site, usize>,
    bodies: HashMap<String, Body>,
    /// Interface, name on the card and place of the card, and how many bodies say so.
    advertised: BTreeMap<(Site, String, Site), usize>,
    /// Place of the card and interface, and how many names stand on such cards.
    interfaces: BTreeMap<(Site, Site), usize>,
    /// Places called at gateways, and the addresses behind them.
    routes: Routes,
    /// Places that facts refer to.
    called: Called,
    /// Authorities of ties that appeared or went.
    changed: BTreeSet<String>,
}

/// Both sides of a card body.
#[derive(Debug, Clone, Default)]
struct Body {
    endpoints: BTreeMap<Site, usize>,
    /// Place and name of the card.
    cards: BTreeMap<(Site, String), usize>,
}

/// Counts one more or one less; whether the thing appeared or went by that.
fn count<K: Ord + Clone>(counts: &mut BTreeMap<K, usize>, key: &K, came: bool) -> bool {
    match (counts.get_mut(key), came) {
        (Some(count), true) => {
            *count += 1;
            false
        }
        (Some(count), false) if *count > 1 => {
            *count -= 1;
            false
        }
        (Some(_), false) => counts.remove(key).is_some(),
        (None, true) => counts.insert(key.clone(), 1).is_none(),
        (None, false) => false,
    }
}

impl Ties {
    /// A look at a body with a name, fetched or told at a place.
    pub(super) fn look(&mut self, body: &str, name: &str, base: &Site, is_fetch: bool, came: bool) {
        if is_fetch && count(&mut self.fetched, base, came) {
            self.changed.insert(base.authority.clone());
        }
        let sides = self.bodies.entry(body.to_owned()).or_default();
        if count(&mut sides.cards, &(base.clone(), name.to_owned()), came) {
            let endpoints: Vec<Site> = sides.endpoints.keys().cloned().collect();
            for endpoint in endpoints {
                self.tie(endpoint, name, base.clone(), came);
            }
        }
        self.forget_empty(body);
    }

    /// An interface of a body.
    pub(super) fn endpoint(&mut self, body: &str, endpoint: &Site, came: bool) {
        let sides = self.bodies.entry(body.to_owned()).or_default();
        if count(&mut sides.endpoints, endpoint, came) {
            let cards: Vec<(Site, String)> = sides.cards.keys().cloned().collect();
            for (base, name) in cards {
                self.tie(endpoint.clone(), &name, base, came);
            }
        }
        self.forget_empty(body);
    }

    fn forget_empty(&mut self, body: &str) {
        if self.bodies.get(body).is_some_and(|sides| sides.cards.is_empty() && sides.endpoints.is_empty()) {
            self.bodies.remove(body);
        }
    }

    fn tie(&mut self, endpoint: Site, name: &str, base: Site, came: bool) {
        let tie = (endpoint, name.to_owned(), base);
        if count(&mut self.advertised, &tie, came) {
            let (endpoint, _, base) = tie;
            self.changed.extend([endpoint.authority.clone(), base.authority.clone()]);
            count(&mut self.interfaces, &(base, endpoint), came);
        }
    }

    /// A call that a gateway passed on.
    pub(super) fn route(&mut self, route: &Route, came: bool) {
        if self.routes.count(route, came) {
            self.changed.extend([route.called.authority.clone(), route.behind.authority.clone()]);
        }
    }

    /// A place that facts refer to, or that none does any more.
    pub(super) fn called(&mut self, site: &Site, told: Told, came: bool) {
        if self.called.count(site, told, came) {
            self.changed.insert(site.authority.clone());
        }
    }

    /// Places of an authority that facts refer to.
    pub(super) fn called_at(&self, authority: &str) -> impl Iterator<Item = (&Site, Seen)> {
        self.called.at(authority)
    }

    /// Whether facts refer to a place of an authority.
    pub(super) fn is_called(&self, authority: &str) -> bool {
        self.called.knows(authority)
    }

    /// Places called at gateways, and the addresses behind them.
    pub(super) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Authorities that the changes since the last call concern: all that are tied to each other, before or now, so that they
    /// can be grouped without the others.
    pub(super) fn concerned(&mut self) -> BTreeSet<String> {
        // A tie that went left both its sides in `changed`: what hung together by it is reached from one or the other.
        let mut seen = std::mem::take(&mut self.changed);
        let mut next: Vec<String> = seen.iter().cloned().collect();
        while let Some(authority) = next.pop() {
            let bases = self.advertised_at(&authority).map(|(_, _, base)| base);
            let from = (Site::first(&authority), Site::first(""));
            let of_base = self.interfaces.range(from..).take_while(|((base, _), _)| base.authority == authority);
            let by_card = bases.chain(of_base.map(|((_, endpoint), _)| endpoint)).map(|tied| tied.authority.as_str());
            for tied in by_card.chain(self.routes.beside(&authority)) {
                if !seen.contains(tied) {
                    seen.insert(tied.to_owned());
                    next.push(tied.to_owned());
                }
            }
        }
        seen
    }

    /// Places of an authority at which cards were fetched.
    pub(super) fn fetched_at(&self, authority: &str) -> impl Iterator<Item = &Site> {
        let places = self.fetched.range(Site::first(authority)..).map(|(site, _)| site);
        places.take_while(move |site| site.authority == authority)
    }

    /// Interfaces of an authority, in order, each with name and place of the cards that advertise it.
    pub(super) fn advertised_at(&self, authority: &str) -> impl Iterator<Item = &(Site, String, Site)> {
        let from = (Site::first(authority), String::new(), Site::first(""));
        let ties = self.advertised.range(from..).map(|(tie, _)| tie);
        ties.take_while(move |(endpoint, _, _)| endpoint.authority == authority)
    }
}

#[cfg(test)]
impl Ties {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.fetched.is_empty()
            && self.bodies.is_empty()
            && self.advertised.is_empty()
            && self.interfaces.is_empty()
            && self.routes.is_empty()
            && self.called.is_empty()
    }
}
