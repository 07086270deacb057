//! The inputs of a query: where their rows are kept, and the indexes by which they are found.
//!
//! In: what `rules` says of each input's reach. Out: [`Input`]s, and indexes in the tables. Sees no rows.

use std::collections::{BTreeMap, BTreeSet};

use super::table::{By, Table};
use crate::rules::{BODY, Marked, Mask, Reach, Reading, time_of};

/// Table of looks at card bodies.
const LOOKS: &str = "cards";

/// An input of a query.
#[derive(Debug)]
pub(super) struct Input {
    /// Number of its table.
    pub(super) table: usize,
    /// Columns of `by` that it has.
    pub(super) carried: Mask,
    /// Those columns in its table, in the order of `by`.
    pub(super) by: Vec<usize>,
    /// How its changes find keys.
    pub(super) finds: Finds,
    /// For each mask under which keys can be dirty, its index by the columns of that mask that it has.
    pub(super) cuts: BTreeMap<Mask, By>,
}

/// How a changed row finds the keys that it concerns.
#[derive(Debug)]
pub(super) enum Finds {
    /// By the columns of `by` that it has.
    Agreeing,
    /// By the looks that come with it.
    WithLooks(Option<Looks>),
    /// By rows of other inputs.
    Marked(Marks),
}

/// Where the looks at a body are found.
#[derive(Debug)]
pub(super) struct Looks {
    /// Column of the input that names the body.
    pub(super) body: usize,
    /// Number of the table of looks.
    pub(super) table: usize,
    /// Its column that names the body.
    pub(super) looked_at: usize,
    /// Its index by that.
    pub(super) index: By,
}

/// Rows of other inputs that a changed row concerns.
#[derive(Debug)]
pub(super) struct Marks {
    /// Columns on which they agree.
    pub(super) on: Vec<usize>,
    /// Columns with the span of time that the changed row concerns.
    pub(super) during: Option<[usize; 2]>,
    /// The other inputs.
    pub(super) carriers: Vec<Carrier>,
    /// Index of the input by `on`, if it is cut by the carriers' rows rather than by keys.
    pub(super) cut: Option<By>,
}

/// An input whose rows tell keys.
#[derive(Debug)]
pub(super) struct Carrier {
    /// Its position among the inputs.
    pub(super) input: usize,
    /// Its columns that agree with the changed row.
    pub(super) on: Vec<usize>,
    /// Its index by them.
    pub(super) index: By,
    /// Its column that lies in the span.
    pub(super) time: Option<usize>,
}

/// What inputs are made in.
pub(super) struct Layout<'a> {
    /// Columns along which the query is evaluated alone.
    pub(super) by: &'a [String],
    /// Its inputs.
    pub(super) readings: &'a [Reading],
    /// Number of each table by its name.
    pub(super) numbers: &'a BTreeMap<String, usize>,
    /// All tables.
    pub(super) tables: &'a mut [Table],
}

impl Layout<'_> {
    /// The inputs; none when one is in no table, or has not the columns that it was said to have.
    pub(super) fn inputs(&mut self) -> Option<Vec<Input>> {
        let masks = self.masks();
        self.readings.iter().map(|reading| self.input(reading, &masks)).collect()
    }

    /// Masks under which keys can be dirty.
    pub(super) fn masks(&self) -> BTreeSet<Mask> {
        let of = |reading: &Reading| match &reading.reach {
            Reach::Agreeing => vec![reading.carried],
            Reach::WithLooks => Vec::new(),
            Reach::Marked(marked) => {
                let carriers = marked.carriers.iter().filter_map(|carrier| self.readings.get(*carrier));
                carriers.map(|carrier| carrier.carried).collect()
            }
        };
        self.readings.iter().flat_map(of).filter(|mask| *mask != Mask::NONE).collect()
    }

    fn input(&mut self, reading: &Reading, masks: &BTreeSet<Mask>) -> Option<Input> {
        let table = *self.numbers.get(&reading.input)?;
        let mut cuts = BTreeMap::new();
        for mask in masks.iter().filter(|mask| mask.and(reading.carried) != Mask::NONE) {
            let columns = self.keys(table, mask.and(reading.carried))?;
            cuts.insert(*mask, self.tables.get_mut(table)?.index(columns));
        }
        let finds = match &reading.reach {
            Reach::Agreeing => Finds::Agreeing,
            Reach::WithLooks => Finds::WithLooks(self.looks(table)),
            Reach::Marked(marked) => Finds::Marked(self.marks(table, marked)?),
        };
        Some(Input { table, carried: reading.carried, by: self.keys(table, reading.carried)?, finds, cuts })
    }

    /// Columns of a table that are those of `by` in a mask.
    fn keys(&self, table: usize, mask: Mask) -> Option<Vec<usize>> {
        mask.positions().map(|position| self.column(table, self.by.get(position)?)).collect()
    }

    fn column(&self, table: usize, name: &str) -> Option<usize> {
        self.tables.get(table)?.schema().index_of(name).ok()
    }

    fn columns(&self, table: usize, names: &[String]) -> Option<Vec<usize>> {
        names.iter().map(|name| self.column(table, name)).collect()
    }

    fn looks(&mut self, table: usize) -> Option<Looks> {
        let looks = *self.numbers.get(LOOKS)?;
        let (body, looked_at) = (self.column(table, BODY)?, self.column(looks, BODY)?);
        let index = self.tables.get_mut(looks)?.index(vec![looked_at]);
        Some(Looks { body, table: looks, looked_at, index })
    }

    fn marks(&mut self, table: usize, marked: &Marked) -> Option<Marks> {
        let on = self.columns(table, &marked.on)?;
        let during = match &marked.during {
            Some([from, to]) => Some([self.column(table, from)?, self.column(table, to)?]),
            None => None,
        };
        let cut = match marked.narrows {
            true => Some(self.tables.get_mut(table)?.index(on.clone())),
            false => None,
        };
        let carriers = marked.carriers.iter().map(|input| self.carrier(*input, &marked.on)).collect::<Option<_>>()?;
        Some(Marks { on, during, carriers, cut })
    }

    fn carrier(&mut self, input: usize, on: &[String]) -> Option<Carrier> {
        let table = *self.numbers.get(&self.readings.get(input)?.input)?;
        let on = self.columns(table, on)?;
        let table = self.tables.get_mut(table)?;
        Some(Carrier { input, index: table.index(on.clone()), on, time: time_of(table.schema()) })
    }
}
