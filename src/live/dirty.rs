//! Keys that have to be evaluated again.
//!
//! In: values of `by` columns, all of them or some. Out: whether a key is among them. Knows no rows.
//!
//! Some values stand for every key that agrees on them; none of them for every key.

use std::collections::{BTreeMap, HashSet};

use super::cells::{self, Cell};
use crate::rules::Mask;

/// Keys of one query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dirty {
    /// Values of the `by` columns of each mask, in their order.
    keys: BTreeMap<Mask, HashSet<Vec<Cell>>>,
}

impl Dirty {
    /// Adds the keys that have some values in the columns of a mask.
    pub(super) fn add(&mut self, mask: Mask, values: Vec<Cell>) {
        if !self.is_all() {
            if mask == Mask::NONE {
                self.keys.clear();
            }
            self.keys.entry(mask).or_default().insert(values);
        }
    }

    /// Adds all keys.
    pub(super) fn add_all(&mut self) {
        self.add(Mask::NONE, Vec::new());
    }

    /// Adds the keys of others.
    pub(super) fn extend(&mut self, others: Self) {
        for (mask, values) in others.keys {
            for values in values {
                self.add(mask, values);
            }
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether it is all of them.
    pub(super) fn is_all(&self) -> bool {
        self.keys.contains_key(&Mask::NONE)
    }

    /// Masks that it has values for.
    pub(super) fn masks(&self) -> impl Iterator<Item = Mask> {
        self.keys.keys().copied()
    }

    /// What the values of a mask are in those of its columns that another mask has too.
    pub(super) fn values(&self, mask: Mask, within: Mask) -> HashSet<Cell> {
        let kept: Vec<usize> =
            (0..).zip(mask.positions()).filter(|(_, position)| within.has(*position)).map(|(at, _)| at).collect();
        let values = self.keys.get(&mask).into_iter().flatten();
        values.map(|values| cells::together(&pick(values, &kept))).collect()
    }

    /// Whether a key is among them, given by the values of all `by` columns.
    pub(super) fn holds(&self, key: &[Cell]) -> bool {
        self.keys.iter().any(|(mask, values)| {
            let positions: Vec<usize> = mask.positions().collect();
            values.contains(&pick(key, &positions))
        })
    }
}

fn pick(values: &[Cell], positions: &[usize]) -> Vec<Cell> {
    positions.iter().filter_map(|position| values.get(*position)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(positions: &[usize]) -> Mask {
        positions.iter().copied().collect()
    }

    #[test]
    fn some_values_stand_for_every_key_that_agrees_on_them() {
        let mut dirty = Dirty::default();
        dirty.add(mask(&[0]), vec![1]);
        dirty.add(mask(&[0, 1]), vec![2, 7]);
        assert!(dirty.holds(&[1, 7]) && dirty.holds(&[1, 8]) && dirty.holds(&[2, 7]));
        assert!(!dirty.holds(&[2, 8]) && !dirty.holds(&[7, 1]));
    }

    #[test]
    fn no_values_stand_for_all_keys_whatever_comes_before_or_after() {
        let mut dirty = Dirty::default();
        assert!(dirty.is_empty() && !dirty.holds(&[1]));
        dirty.add(mask(&[0]), vec![1]);
        dirty.add_all();
        dirty.add(mask(&[0]), vec![2]);
        assert!(dirty.is_all() && dirty.holds(&[3]));
        assert_eq!(dirty.masks().collect::<Vec<_>>(), [Mask::NONE]);
        let mut others = Dirty::default();
        others.add(mask(&[0]), vec![1]);
        others.extend(dirty.clone());
        assert_eq!(others, dirty);
    }

    #[test]
    fn values_are_those_of_the_columns_that_an_input_has() {
        let mut dirty = Dirty::default();
        dirty.add(mask(&[0, 2]), vec![1, 3]);
        dirty.add(mask(&[0, 2]), vec![1, 4]);
        assert_eq!(dirty.values(mask(&[0, 2]), mask(&[0, 1])), HashSet::from([1]));
        assert_eq!(dirty.values(mask(&[0, 2]), mask(&[2])), HashSet::from([3, 4]));
        assert_eq!(dirty.values(mask(&[0, 2]), mask(&[0, 2])).len(), 2);
        assert_eq!(dirty.values(mask(&[1]), mask(&[1])).len(), 0);
    }
}
