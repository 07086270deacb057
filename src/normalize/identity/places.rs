//! Groups of places, each an agent.
//!
//! In: the ties between places, and the places that were called. Out: for each place its group and what the group is called.
//! Authorities that no tie joins to others are grouped without them.

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
        let mut at_home = BTreeSet::new();
        for authority in authorities {
            at_home.append(&mut groups.join(ties, authority));
            let places = self.0.range(Site::first(authority)..).map(|(site, _)| site);
            let places: Vec<Site> = places.take_while(|site| site.authority == *authority).cloned().collect();
            for site in places {
                self.0.remove(&site);
            }
        }
        let behind = groups.join_routes(ties.routes(), authorities);
        let named = groups.part_named(ties, authorities, aliases);
        groups.join_called(ties, authorities);
        groups.join_homes(&named);
        self.0.append(&mut groups.places([&at_home, &fetched], &behind, aliases));
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

/// Cards that advertise one interface.
#[derive(Default)]
struct Claims<'a> {
    names: BTreeSet<&'a str>,
    /// Names on cards of the interface's own authority.
    own_names: BTreeSet<&'a str>,
    /// Places of the cards, each with the names on them and whether it is of the interface's own authority.
    bases: BTreeMap<&'a Site, (BTreeSet<&'a str>, bool)>,
}

impl<'a> Claims<'a> {
    fn add(&mut self, name: &'a str, base: &'a Site, is_own: bool) {
        self.names.insert(name);
        if is_own {
            self.own_names.insert(name);
        }
        self.bases.entry(base).or_default().0.insert(name);
        self.bases.entry(base).or_default().1 = is_own;
    }

    /// The places that the interface joins. Those elsewhere must bear the name of the card that is its own; where there is
    /// none, cards of different names show that many use the address (forty containers that each call themselves
    /// `localhost:8000`), and so do cards of several machines if it is one that each machine has.
    fn that_join(&self, endpoint: &Site) -> impl Iterator<Item = (&'a Site, bool)> {
        let of_each_machine =
            endpoint.is_loopback() && self.bases.keys().filter(|base| !base.is_loopback()).nth(1).is_some();
        let is_shared = (self.names.len() > 1 && self.bases.len() > 1) || of_each_machine;
        let joins = move |names: &BTreeSet<&str>| match self.own_names.is_empty() {
            true => !is_shared,
            false => !names.is_disjoint(&self.own_names) && !of_each_machine,
        };
        let joined = self.bases.iter().filter(move |(_, (names, is_own))| *is_own || joins(names));
        joined.map(|(base, (_, is_own))| (*base, *is_own))
    }
}

/// What is called at an authority, as far as no card and no gateway tells of it.
#[derive(Default)]
struct Homes {
    /// Homes of what was called or looked for, and whether it was called.
    called: BTreeMap<Site, bool>,
    /// Groups of which nothing was called.
    idle: BTreeSet<usize>,
    /// Whether something was called of other groups.
    is_busy: bool,
}

impl Homes {
    /// Whether there is one place that was called and one at which a card was looked for, so that one is the other's.
    fn are_one(&self) -> bool {
        let called = self.called.values().filter(|is_called| **is_called).count();
        let looked = self.called.len() - called;
        !self.is_busy && called == 1 && looked + self.idle.len() == 1
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
    /// An interface joins the places that advertise it: on its own authority always, elsewhere where [`Claims`] says so.
    /// Gives the places whose own authority has an interface of theirs.
    fn join(&mut self, ties: &Ties, authority: &str) -> BTreeSet<Site> {
        let mut interfaces: BTreeMap<&Site, Claims<'_>> = BTreeMap::new();
        for (endpoint, name, base) in ties.advertised_at(authority) {
            interfaces.entry(endpoint).or_default().add(name, base, base.authority == endpoint.authority);
        }
        let mut at_home = BTreeSet::new();
        for (endpoint, claims) in interfaces {
            for (base, is_own) in claims.that_join(endpoint) {
                let (a, b) = (self.group(base), self.group(endpoint));
                self.union(a, b);
                if is_own {
                    at_home.insert(base.clone());
                }
            }
        }
        at_home
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

    /// Places called that nothing tells more of: each path of a host is an agent, whatever its bindings are called. The only one
    /// that was called is the agent of the only card there that nothing was called of.
    fn join_called(&mut self, ties: &Ties, authorities: &BTreeSet<String>) {
        // All are found before any is joined, so that no order matters.
        let found: Vec<Homes> = authorities.iter().map(|authority| self.homes(ties, authority)).collect();
        for homes in found {
            let one = homes.are_one();
            let mut first = homes.idle.first().copied();
            for home in homes.called.keys() {
                let number = self.group(home);
                let first = *first.get_or_insert(number);
                if one {
                    self.union(first, number);
                }
            }
        }
    }

    fn homes(&self, ties: &Ties, authority: &str) -> Homes {
        let mut homes = Homes { idle: self.at(authority), ..Homes::default() };
        for (site, seen) in ties.called_at(authority) {
            match self.holder(site) {
                Some(group) if seen.is_called() => {
                    homes.idle.remove(&group);
                    homes.is_busy = true;
                }
                Some(_) => {}
                None => *homes.called.entry(site.home()).or_default() |= seen.is_called(),
            }
        }
        homes
    }

    /// Paths that a user names are agents of their own, where anything was called.
    fn part_named(&mut self, ties: &Ties, authorities: &BTreeSet<String>, aliases: &Aliases) -> Vec<Site> {
        let is_there = |site: &Site| authorities.contains(&site.authority) && ties.is_called(&site.authority);
        let named = aliases.keys().filter_map(|key| Site::parse(key));
        let named: Vec<Site> = named.filter(|site| !site.path.is_empty() && is_there(site)).collect();
        named.iter().for_each(|site| {
            self.group(site);
        });
        named
    }

    /// Places that a user names have all bindings of theirs.
    fn join_homes(&mut self, named: &[Site]) {
        for site in named {
            let (home, number) = (site.home(), self.group(site));
            if !home.path.is_empty()
                && let Some(home) = self.numbers.get(&home).copied()
            {
                self.union(home, number);
            }
        }
    }

    /// `first` are the places that a group is called by if it has one, those of the first set before the others.
    fn places(
        mut self,
        first: [&BTreeSet<Site>; 2],
        behind: &BTreeSet<Site>,
        aliases: &Aliases,
    ) -> BTreeMap<Site, Place> {
        let places: Vec<(Site, usize)> = std::mem::take(&mut self.numbers).into_iter().collect();
        let mut roots: HashMap<usize, &Site> = HashMap::new();
        let mut labels: HashMap<usize, Name> = HashMap::new();
        let places: Vec<(&Site, usize)> = places.iter().map(|(site, number)| (site, self.find(*number))).collect();
        // Places whose cards speak for themselves first: nobody takes another's name by advertising its address. Then those
        // where a card was fetched, then others, last those that only gateways know; each in order, so that the smallest
        // wins whatever came first.
        for known in first {
            for (site, root) in places.iter().filter(|(site, _)| known.contains(*site)) {
                labels.entry(*root).or_insert_with(|| site.to_string().into());
            }
        }
        for (site, root) in places.iter().filter(|(site, _)| !behind.contains(*site)) {
            labels.entry(*root).or_insert_with(|| site.to_string().into());
        }
        for (site, root) in &places {
            labels.entry(*root).or_insert_with(|| site.to_string().into());
            roots.entry(*root).or_insert(site);
        }
        let mut names: BTreeMap<usize, (usize, &String)> = BTreeMap::new();
        for (site, root) in &places {
            if let Some(said) = longest(aliases, site) {
                let known = names.entry(*root).or_insert(said);
                *known = said.max(*known);
            }
        }
        labels.extend(names.into_iter().map(|(root, (_, name))| (root, name.as_str().into())));
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

/// The name that a user gave to a place or to what holds it, and how much of its path that says: the more, the better.
fn longest<'a>(aliases: &'a Aliases, site: &Site) -> Option<(usize, &'a String)> {
    let ends = site.path.match_indices('/').map(|(at, _)| at).chain([site.path.len()]);
    let held = ends.filter_map(|end| Some((end, aliases.get(&format!("{}{}", site.authority, &site.path[..end]))?)));
    held.max()
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
