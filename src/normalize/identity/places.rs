//! Groups of places, each an agent.
//!
//! In: the ties between places. Out: for each place its group and what the group is called. Authorities that no tie joins to
//! others are grouped without them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::directory::{Aliases, Name};
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
                fetched.insert(site);
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
        self.0.append(&mut groups.places(&fetched, aliases));
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
struct Groups<'a> {
    numbers: BTreeMap<&'a Site, usize>,
    /// Union-find parents.
    parents: Vec<usize>,
}

impl<'a> Groups<'a> {
    /// An interface joins the places that advertise it: on its own authority always, elsewhere unless cards of different
    /// names advertise the same url (forty containers that each call themselves `localhost:8000`).
    fn join(&mut self, ties: &'a Ties, authority: &'a str) {
        let mut interfaces: BTreeMap<&Site, (BTreeSet<&str>, BTreeSet<&'a Site>)> = BTreeMap::new();
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

    fn places(mut self, fetched: &BTreeSet<&Site>, aliases: &Aliases) -> BTreeMap<Site, Place> {
        let places: Vec<(&Site, usize)> = self.numbers.clone().into_iter().collect();
        let mut roots: HashMap<usize, &Site> = HashMap::new();
        let mut labels: HashMap<usize, Name> = HashMap::new();
        let places: Vec<(&Site, usize)> = places.into_iter().map(|(site, number)| (site, self.find(number))).collect();
        // Fetched places first, then others; each in order, so that the smallest wins whatever came first.
        for (site, root) in places.iter().filter(|(site, _)| fetched.contains(site)) {
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

    fn group(&mut self, site: &'a Site) -> usize {
        let next = self.parents.len();
        let number = *self.numbers.entry(site).or_insert(next);
        if number == next {
            self.parents.push(next);
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

#[cfg(test)]
impl Places {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
