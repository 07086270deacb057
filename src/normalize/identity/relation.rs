//! A relation between facts: what those that share a key say, and which facts read the outcome.
//!
//! In: facts that join and leave keys, and what they say under them. Out: the outcome of a key, and the facts to look at again
//! because an outcome changed. The cost of a change follows what changed, not how many facts are known.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::directory::Name;

/// A key of a relation: 128 bits of hash, 0 for none. Two of 10^9 keys are alike with a chance of 10^-21.
pub(super) type Key = u128;
/// No key.
pub(super) const NO_KEY: Key = 0;
/// Where a fact is kept.
pub(super) type Slot = u32;

const END: Slot = Slot::MAX;
const ABSENT: Slot = Slot::MAX - 1;

/// Makes keys of texts. Each has its own secret, so that nobody can choose ids that collide.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(RandomState, RandomState);

impl Keys {
    /// The key of some texts in order.
    pub(super) fn of(&self, parts: &[&str]) -> Key {
        let half = |state: &RandomState| {
            let mut hasher = state.build_hasher();
            for part in parts {
                hasher.write_usize(part.len());
                hasher.write(part.as_bytes());
            }
            u128::from(hasher.finish())
        };
        ((half(&self.0) << 64) | half(&self.1)).max(1)
    }

    /// The key of a text, none for `''`.
    pub(super) fn some(&self, text: &str) -> Key {
        if text.is_empty() { NO_KEY } else { self.of(&[text]) }
    }
}

/// What is made of all that is said under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// What is said, if all say the same.
    Only,
    /// The smallest thing said.
    Least,
    /// Whether different things are said; which is of no matter.
    Several,
}

/// Facts by key.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    reading: Reading,
    groups: HashMap<Key, Group>,
    /// For each slot its neighbours among the facts of the same key.
    links: Vec<Link>,
    /// Outcomes before the first change since the last [`Relation::settle`].
    before: HashMap<Key, Option<Name>>,
}

#[derive(Debug, Clone)]
struct Group {
    /// What is said, in order, and by how many.
    said: Vec<(Name, u32)>,
    first: Slot,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    before: Slot,
    after: Slot,
}

impl Group {
    fn outcome(&self, reading: Reading) -> Option<&Name> {
        let (least, _) = self.said.first()?;
        match reading {
            Reading::Only => (self.said.len() == 1).then_some(least),
            Reading::Least => Some(least),
            Reading::Several => (self.said.len() > 1).then_some(least),
        }
    }
}

impl Relation {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, groups: HashMap::new(), links: Vec::new(), before: HashMap::new() }
    }

    /// The outcome of a key.
    pub(super) fn outcome(&self, key: Key) -> Option<&Name> {
        self.groups.get(&key)?.outcome(self.reading)
    }

    /// A fact says something else under a key than before.
    pub(super) fn say(&mut self, key: Key, before: Option<&str>, now: Option<&str>) {
        if key == NO_KEY || before == now {
            return;
        }
        let group = self.groups.entry(key).or_insert_with(|| Group { said: Vec::new(), first: END });
        self.before.entry(key).or_insert_with(|| group.outcome(self.reading).cloned());
        let place = |said: &[(Name, u32)], text: &str| said.binary_search_by(|(name, _)| (**name).cmp(text));
        if let Some(now) = now {
            match place(&group.said, now) {
                Ok(at) => group.said[at].1 += 1,
                Err(at) => {
                    // Most keys never hold a second name.
                    if group.said.is_empty() {
                        group.said.reserve_exact(1);
                    }
                    group.said.insert(at, (now.into(), 1));
                }
            }
        }
        if let Some(Ok(at)) = before.map(|before| place(&group.said, before)) {
            group.said[at].1 -= 1;
            if group.said[at].1 == 0 {
                group.said.remove(at);
            }
        }
        self.drop_empty(key);
    }

    /// A fact wants to be looked at when the outcome of a key changes; one key at a time.
    pub(super) fn join(&mut self, key: Key, slot: Slot) {
        let at = slot as usize;
        if key == NO_KEY || self.links.get(at).is_some_and(|link| link.before != ABSENT) {
            return;
        }
        if self.links.len() <= at {
            self.links.resize(at + 1, Link { before: ABSENT, after: ABSENT });
        }
        let group = self.groups.entry(key).or_insert_with(|| Group { said: Vec::new(), first: END });
        let second = std::mem::replace(&mut group.first, slot);
        self.links[at] = Link { before: END, after: second };
        if let Some(link) = self.links.get_mut(second as usize) {
            link.before = slot;
        }
    }

    /// A fact does not depend on its key any more.
    pub(super) fn leave(&mut self, key: Key, slot: Slot) {
        let Some(link) = self.links.get_mut(slot as usize).filter(|link| link.before != ABSENT) else { return };
        let Link { before, after } = std::mem::replace(link, Link { before: ABSENT, after: ABSENT });
        if let Some(link) = self.links.get_mut(after as usize) {
            link.before = before;
        }
        match self.links.get_mut(before as usize) {
            Some(link) => link.after = after,
            None => {
                if let Some(group) = self.groups.get_mut(&key) {
                    group.first = after;
                }
                self.drop_empty(key);
            }
        }
    }

    fn drop_empty(&mut self, key: Key) {
        if self.groups.get(&key).is_some_and(|group| group.said.is_empty() && group.first == END) {
            self.groups.remove(&key);
        }
    }

    /// Facts of a key.
    pub(super) fn members(&self, key: Key) -> impl Iterator<Item = Slot> {
        let first = self.groups.get(&key).map_or(END, |group| group.first);
        let known = |slot: Slot| (slot != END).then_some(slot);
        std::iter::successors(known(first), move |slot| known(self.links.get(*slot as usize)?.after))
    }

    /// Adds the facts of the keys whose outcome is another than at the last call.
    pub(super) fn settle(&mut self, stale: &mut Vec<Slot>) {
        for (key, before) in std::mem::take(&mut self.before) {
            let now = self.outcome(key);
            let is_same = match self.reading {
                Reading::Several => before.is_some() == now.is_some(),
                _ => before.as_ref() == now,
            };
            if !is_same {
                stale.extend(self.members(key));
            }
        }
    }
}

#[cfg(test)]
impl Relation {
    /// Whether there are no keys.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.before.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(relation: &mut Relation) -> Vec<Slot> {
        let mut stale = Vec::new();
        relation.settle(&mut stale);
        stale.sort_unstable();
        stale
    }

    #[test]
    fn members_are_looked_at_when_the_outcome_changes_and_only_then() {
        let mut relation = Relation::new(Reading::Only);
        [3, 5, 9].into_iter().for_each(|slot| relation.join(1, slot));
        relation.join(2, 7);
        assert_eq!(settled(&mut relation), [0; 0]);
        relation.say(1, None, Some("a"));
        assert_eq!(settled(&mut relation), [3, 5, 9]);
        relation.say(1, None, Some("a"));
        assert_eq!(settled(&mut relation), [0; 0]);
        relation.say(1, None, Some("b"));
        relation.leave(1, 5);
        assert_eq!((settled(&mut relation), relation.outcome(1)), (vec![3, 9], None));
        relation.say(1, Some("b"), None);
        relation.say(1, None, Some("b"));
        assert_eq!(settled(&mut relation), [0; 0], "there and back again is no change");
    }

    #[test]
    fn nothing_is_left_of_a_key_that_all_left() {
        let mut relation = Relation::new(Reading::Least);
        relation.say(1, None, Some("b"));
        relation.say(1, None, Some("a"));
        relation.join(1, 0);
        relation.join(1, 1);
        relation.join(1, 1);
        assert_eq!(relation.outcome(1).map(|name| &**name), Some("a"));
        relation.say(1, Some("a"), None);
        assert_eq!(relation.outcome(1).map(|name| &**name), Some("b"));
        relation.say(1, Some("b"), None);
        relation.leave(1, 0);
        relation.leave(1, 1);
        relation.leave(1, 1);
        assert!(relation.groups.is_empty());
    }
}
