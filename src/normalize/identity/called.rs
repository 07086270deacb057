//! Places that facts refer to: where agents were called, and where their cards were looked for.
//!
//! In: places as the first reference to them comes and the last goes. Out: those of an authority. Where a host has so many that
//! ids must be in its paths, none.

use std::collections::{BTreeMap, HashMap};

use super::directory::Told;
use super::site::Site;

/// Places of one authority that are told apart by their paths.
const MOST_OF_AUTHORITY: usize = 512;

/// Places, and how many references lead there.
#[derive(Debug, Clone, Default)]
pub(super) struct Called {
    places: BTreeMap<Site, Seen>,
    /// Places by authority.
    numbers: HashMap<String, usize>,
}

/// References to a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen {
    calls: usize,
    looks: usize,
}

impl Seen {
    /// Whether more than its card was asked for.
    pub(super) fn is_called(self) -> bool {
        self.calls > 0
    }

    fn is_none(self) -> bool {
        self == Self::default()
    }
}

impl Called {
    /// A reference more or less; whether its authority has to be grouped anew.
    pub(super) fn count(&mut self, site: &Site, told: Told, came: bool) -> bool {
        let mut seen = self.places.get(site).copied().unwrap_or_default();
        let before = seen;
        let references = match told {
            Told::Host => return false,
            Told::Path => &mut seen.calls,
            Told::Card => &mut seen.looks,
        };
        *references = if came { *references + 1 } else { references.saturating_sub(1) };
        if seen.is_none() {
            self.places.remove(site);
        } else {
            self.places.insert(site.clone(), seen);
        }
        let least = self.number(site, before, seen);
        let is_other = before.is_none() != seen.is_none() || before.is_called() != seen.is_called();
        is_other && least <= MOST_OF_AUTHORITY
    }

    /// Counts the places of an authority; the smaller number of before and now.
    fn number(&mut self, site: &Site, before: Seen, now: Seen) -> usize {
        let number = self.numbers.entry(site.authority.clone()).or_default();
        let was = *number;
        match (before.is_none(), now.is_none()) {
            (true, false) => *number += 1,
            (false, true) => *number -= 1,
            _ => {}
        }
        let least = was.min(*number);
        if *number == 0 {
            self.numbers.remove(&site.authority);
        }
        least
    }

    /// Whether there are any of an authority.
    pub(super) fn knows(&self, authority: &str) -> bool {
        self.numbers.contains_key(authority)
    }

    /// Places of an authority, unless they are too many to be agents.
    pub(super) fn at(&self, authority: &str) -> impl Iterator<Item = (&Site, Seen)> {
        let is_few = self.numbers.get(authority).is_some_and(|number| *number <= MOST_OF_AUTHORITY);
        let places = is_few.then(|| self.places.range(Site::first(authority)..)).into_iter().flatten();
        places.take_while(move |(site, _)| site.authority == authority).map(|(site, seen)| (site, *seen))
    }
}

#[cfg(test)]
impl Called {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.numbers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(number: usize) -> Site {
        Site { authority: "h".to_owned(), path: format!("/{number}") }
    }

    #[test]
    fn an_authority_is_grouped_anew_when_what_it_says_changes() {
        let mut called = Called::default();
        assert!(!called.count(&site(0), Told::Host, true) && called.is_empty());
        assert!(called.count(&site(0), Told::Card, true));
        assert!(!called.count(&site(0), Told::Card, true));
        assert!(called.count(&site(0), Told::Path, true), "it was only looked for before");
        assert!(!called.count(&site(0), Told::Card, false));
        assert!(called.count(&site(0), Told::Path, false));
        assert_eq!(called.at("h").count(), 1, "a look is left");
        assert!(called.count(&site(0), Told::Card, false) && called.is_empty());
    }

    #[test]
    fn beyond_what_can_be_agents_nothing_is_told_and_nothing_changes() {
        let mut called = Called::default();
        let changes = (0..600).filter(|number| called.count(&site(*number), Told::Path, true)).count();
        assert_eq!((changes, called.at("h").count()), (MOST_OF_AUTHORITY + 1, 0));
        let changes = (0..100).filter(|number| called.count(&site(*number), Told::Path, false)).count();
        assert_eq!((changes, called.at("h").count()), (MOST_OF_AUTHORITY + 1 - 500, 500), "from the most on");
    }
}
