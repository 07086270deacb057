//! Groups of places, each an agent.
//!
//! In: the ties between places. Out: for each place its group and what the group is called. Authorities that no tie joins to
//! others are grouped without them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::directory::{Aliases, Name};
use super::routes::{self, Front, Grouped, Routes};
use super::site::Site;
use super::ties::Ties;

/// Places of agents.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(BTreeMap<Site, Place>);

/// A place of an agent.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The smallest place of its group.
    pub(super) root: Site,
    /// What the group is called.
    pub(super) label: Name,
}

impl Places {
    /// Groups the places of some authorities anew; no tie leads to others.
    pub(super) fn regroup(&mut self, ties: &Ties, authorities: &BTreeSet<String>, aliases: &Aliases) {
        let mut groups = Groups::default();
        let mut fetched = BTreeSet::new();
        for authority in authorities {
            for site in ties.fetched_at(authority) {
                groups.group(site);
                fetched.insert(site.clone());
            }
        }
        for authority in authorities {
            groups.join(ties, authority);
            let places = self.0.range(Site::first(authority)..).map(|(site, _)| site);
            let places: Vec<Site> = places.take_while(|site| site.authority == *authority).cloned().collect();
            for site in places {
                self.0.remove(&site);
            }
        }
        let behind = groups.join_routes(ties.routes(), authorities);
        self.0.append(&mut groups.places(&fetched, &behind, aliases));
    }

    /// The longest known place that holds this one, else any of the only group of its authority.
    pub(super) fn find(&self, site: &Site) -> Option<&Place> {
        let same_authority =
            || self.0.range(Site::first(&site.authority)..).take_while(|(known, _)| known.authority == site.authority);
        let holder = same_authority().filter(|(known, _)| known.holds(site)).max_by_key(|(known, _)| known.path.len());
        if let Some((_, place)) = holder {
            return Some(place);
        }
        let mut places = same_authority().map(|(_, place)| place);
        let first = places.next()?;
        places.all(|place| place.root == first.root).then_some(first)
    }

    /// What a group is called, by its smallest place.
    pub(super) fn label(&self, root: &Site) -> Option<Name> {
        self.0.get(root).map(|place| place.label.clone())
    }
}

/// Places being grouped.
#[derive(Default)]
struct Groups {
    numbers: BTreeMap<Site, usize>,
    /// Union-find parents.
    parents: Vec<usize>,
}

impl Groups {
    /// An interface joins the places that advertise it: on its own authority always, elsewhere unless cards of different
    /// names advertise the same url (forty containers that each call themselves `localhost:8000`).
    fn join(&mut self, ties: &Ties, authority: &str) {
        let mut interfaces: BTreeMap<&Site, (BTreeSet<&str>, BTreeSet<&Site>)> = BTreeMap::new();
        for (endpoint, name, base) in ties.advertised_at(authority) {
            let (names, bases) = interfaces.entry(endpoint).or_default();
            names.insert(name);
            bases.insert(base);
        }
        for (endpoint, (names, bases)) in interfaces {
            let is_shared = names.len() > 1 && bases.len() > 1;
            for base in bases {
                if base.authority == endpoint.authority || !is_shared {
                    let (a, b) = (self.group(base), self.group(endpoint));
                    self.union(a, b);
                }
            }
        }
    }

    /// What gateways pass on is one agent on both of their sides. Gives the addresses that are known by that alone.
    fn join_routes(&mut self, routes: &Routes, authorities: &BTreeSet<String>) -> BTreeSet<Site> {
        // All are found before any is joined, so that no order matters.
        let ties = routes::ties(routes, authorities, self);
        let mut behind = BTreeSet::new();
        for (front, back) in ties {
            let back = match back {
                Front::Group(number) => number,
                Front::Place(site) => {
                    let number = self.group(&site);
                    behind.insert(site);
                    number
                }
            };
            let front = match front {
                Front::Group(number) => number,
                Front::Place(site) => self.group(&site),
            };
            self.union(front, back);
        }
        behind
    }

    fn places(mut self, fetched: &BTreeSet<Site>, behind: &BTreeSet<Site>, aliases: &Aliases) -> BTreeMap<Site, Place> {
        let places: Vec<(Site, usize)> = std::mem::take(&mut self.numbers).into_iter().collect();
        let mut roots: HashMap<usize, &Site> = HashMap::new();
        let mut labels: HashMap<usize, Name> = HashMap::new();
        let places: Vec<(&Site, usize)> = places.iter().map(|(site, number)| (site, self.find(*number))).collect();
        // Fetched places first, then others, last those that only gateways know; each in order, so that the smallest wins
        // whatever came first.
        for (site, root) in places.iter().filter(|(site, _)| fetched.contains(*site)) {
            labels.entry(*root).or_insert_with(|| site.to_string().into());
        }
        for (site, root) in places.iter().filter(|(site, _)| !behind.contains(*site)) {
            labels.entry(*root).or_insert_with(|| site.to_string().into());
        }
        for (site, root) in &places {
            labels.entry(*root).or_insert_with(|| site.to_string().into());
            roots.entry(*root).or_insert(site);
        }
        for (site, root) in &places {
            if let Some(name) = aliases.get(&site.to_string()).or_else(|| aliases.get(&site.authority)) {
                labels.insert(*root, name.as_str().into());
            }
        }
        let place = |(site, root): (&Site, usize)| {
            let (smallest, label) = (roots.get(&root)?, labels.get(&root)?);
            Some((site.clone(), Place { root: (*smallest).clone(), label: label.clone() }))
        };
        places.into_iter().filter_map(place).collect()
    }

    fn group(&mut self, site: &Site) -> usize {
        if let Some(number) = self.numbers.get(site) {
            return *number;
        }
        let next = self.parents.len();
        self.numbers.insert(site.clone(), next);
        self.parents.push(next);
        next
    }

    /// The smallest of a group.
    fn root(&self, mut number: usize) -> usize {
        while let Some(parent) = self.parents.get(number).filter(|parent| **parent != number) {
            number = *parent;
        }
        number
    }

    fn find(&mut self, mut number: usize) -> usize {
        while self.parents[number] != number {
            // Halves the path, so that long chains of joins stay cheap.
            self.parents[number] = self.parents[self.parents[number]];
            number = self.parents[number];
        }
        number
    }

    fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b)] = a.min(b);
    }
}

impl Grouped for Groups {
    fn holder(&self, site: &Site) -> Option<usize> {
        let places = self.numbers.range(Site::first(&site.authority)..);
        let places = places.take_while(|(known, _)| known.authority == site.authority);
        let longest = places.filter(|(known, _)| known.holds(site)).max_by_key(|(known, _)| known.path.len());
        longest.map(|(_, number)| self.root(*number))
    }

    fn at(&self, authority: &str) -> BTreeSet<usize> {
        let places = self.numbers.range(Site::first(authority)..);
        places.take_while(|(known, _)| known.authority == authority).map(|(_, number)| self.root(*number)).collect()
    }
}

#[cfg(test)]
impl Places {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
