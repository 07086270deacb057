//! A set of facts of all tables, keyed by `fact_id`.

use std::collections::{BTreeSet, HashSet};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use serde::{Deserialize, Serialize};

use super::declare::Table;
use super::schema::{
    ArtifactPartRow, CardEndpointRow, CardRow, CardSkillRow, Common, ExchangeRow, PolicyChangeRow, PushDeliveryRow,
    SigningKeyRow, TaskEventRow,
};
use super::stamp::{self, TableError};
use crate::instant::Instant;

macro_rules! facts {
    ($($field:ident : $row:ident, $push:ident, $one:ident;)*) => {
        /// A row of any table.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Fact {
            $(#[doc = concat!("A row of `", stringify!($field), "`.")] $one(Box<$row>),)*
        }

        impl Fact {
            /// Its common columns.
            pub fn common(&self) -> &Common {
                match self {
                    $(Self::$one(row) => &row.common,)*
                }
            }

            /// Its common columns, to resolve identities in.
            pub fn common_mut(&mut self) -> &mut Common {
                match self {
                    $(Self::$one(row) => &mut row.common,)*
                }
            }
        }

        /// Rows of all tables.
        #[derive(Debug, Clone, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Facts {
            $(#[doc = concat!("Rows of `", stringify!($field), "`.")] pub $field: Vec<$row>,)*
        }

        impl Facts {
            $(#[doc = concat!("Seals a row and adds it to `", stringify!($field), "`.")]
            pub fn $push(&mut self, row: $row) {
                self.$field.push(row.seal());
            })*

            /// Number of rows.
            pub fn len(&self) -> usize {
                0 $(+ self.$field.len())*
            }

            /// Gives rows another time, by their table and what they say, and seals them anew.
            pub fn date(&mut self, time: impl Fn(&'static str, &Common) -> Option<Instant>) {
                $(for row in &mut self.$field {
                    if let Some(at) = time($row::NAME, &row.common) {
                        let mut dated = std::mem::take(row);
                        dated.common.observed_at = at;
                        *row = dated.seal();
                    }
                })*
            }

            /// Adds a row as it is, to the table that it is of.
            pub fn put(&mut self, fact: Fact) {
                match fact {
                    $(Fact::$one(row) => self.$field.push(*row),)*
                }
            }

            /// Each row by itself, table after table.
            pub fn into_rows(self) -> impl Iterator<Item = Fact> {
                std::iter::empty() $(.chain(self.$field.into_iter().map(|row| Fact::$one(Box::new(row)))))*
            }

            /// Adds the rows of another set.
            pub fn append(&mut self, mut other: Self) {
                $(self.$field.append(&mut other.$field);)*
            }

            /// Takes out so many rows at most, whichever cost least to take.
            pub fn take_some(&mut self, most: usize) -> Self {
                let (mut some, mut left) = (Self::default(), most);
                $(
                    some.$field = self.$field.split_off(self.$field.len().saturating_sub(left));
                    left -= some.$field.len();
                )*
                debug_assert!(left <= most);
                some
            }

            /// Common columns of every row, to resolve identities in.
            pub fn commons_mut(&mut self) -> impl Iterator<Item = &mut Common> {
                std::iter::empty() $(.chain(self.$field.iter_mut().map(|row| &mut row.common)))*
            }

            /// Common columns of every row.
            pub fn commons(&self) -> impl Iterator<Item = &Common> {
                std::iter::empty() $(.chain(self.$field.iter().map(|row| &row.common)))*
            }

            /// Common columns of every row, with the table that it is of.
            pub fn by_table(&self) -> impl Iterator<Item = (&'static str, &Common)> {
                std::iter::empty() $(.chain(self.$field.iter().map(|row| ($row::NAME, &row.common))))*
            }

            /// Keeps each fact once and puts the rows in the order of time and identity, whatever order they came in.
            pub fn make_set(&mut self) {
                $({
                    self.$field.sort_by(|a, b| {
                        (a.common.observed_at, &a.common.fact_id, &a.common.source, &a.common.position).cmp(&(
                            b.common.observed_at, &b.common.fact_id, &b.common.source, &b.common.position))
                    });
                    let mut seen = HashSet::new();
                    self.$field.retain(|row| seen.insert(row.common.fact_id.clone()));
                })*
            }

            /// Keeps the rows whose common columns fit.
            pub fn retain(&mut self, mut fits: impl FnMut(&Common) -> bool) {
                $(self.$field.retain(|row| fits(&row.common));)*
            }

            /// One batch a table.
            ///
            /// # Errors
            /// As [`Table::batch`].
            pub fn batches(&self) -> Result<Vec<(&'static str, RecordBatch)>, ArrowError> {
                Ok(vec![$(($row::NAME, $row::batch(&self.$field)?)),*])
            }

            /// Adds the rows of a batch of the table of that name, as they were sealed; tells whether there is such a table.
            ///
            /// # Errors
            /// As [`Table::rows`].
            pub fn take(&mut self, table: &str, batch: &RecordBatch) -> Result<bool, TableError> {
                stamp::readable(batch.schema_ref())?;
                match table {
                    $($row::NAME => self.$field.append(&mut $row::rows(batch)?),)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// What a row of a table is, and what each of its columns means.
            pub fn words(table: &str) -> Option<(&'static str, Vec<(&'static str, &'static str)>)> {
                match table {
                    $($row::NAME => Some(($row::ABOUT, $row::words())),)*
                    _ => None,
                }
            }

            /// Name and schema of every table.
            pub fn schemas() -> Vec<(&'static str, SchemaRef)> {
                vec![$(($row::NAME, $row::schema())),*]
            }
        }
    };
}

facts! {
    exchanges: ExchangeRow, push_exchange, Exchange;
    task_events: TaskEventRow, push_task_event, TaskEvent;
    artifact_parts: ArtifactPartRow, push_artifact_part, ArtifactPart;
    cards: CardRow, push_card, Card;
    card_skills: CardSkillRow, push_card_skill, CardSkill;
    card_endpoints: CardEndpointRow, push_card_endpoint, CardEndpoint;
    push_deliveries: PushDeliveryRow, push_push_delivery, PushDelivery;
    signing_keys: SigningKeyRow, push_signing_key, SigningKey;
    policy_changes: PolicyChangeRow, push_policy_change, PolicyChange;
}

/// What became of a set of facts.
#[derive(Debug, Clone, Default)]
pub struct FactsDelta {
    /// Facts that came, and those that changed in what is derived from other facts: agent, client, call. One that is there
    /// already, unchanged, is no change.
    pub added: Facts,
    /// `fact_id`s of facts that went.
    pub removed: BTreeSet<String>,
}

impl FactsDelta {
    /// Adds what happened after this.
    pub fn then(&mut self, next: Self) {
        let renewed: HashSet<&str> = next.added.commons().map(|common| common.fact_id.as_str()).collect();
        self.removed.retain(|id| !renewed.contains(id.as_str()));
        self.added
            .retain(|common| !renewed.contains(common.fact_id.as_str()) && !next.removed.contains(&common.fact_id));
        self.removed.extend(next.removed);
        self.added.append(next.added);
    }
}

macro_rules! of_tasks {
    ($facts:ident, $iter:ident, $reference:ident) => {
        (std::iter::empty())
            .chain($facts.exchanges.$iter().map(|row| $reference!(row)))
            .chain($facts.task_events.$iter().map(|row| $reference!(row)))
            .chain($facts.artifact_parts.$iter().map(|row| $reference!(row)))
            .chain($facts.push_deliveries.$iter().map(|row| $reference!(row)))
    };
}

macro_rules! shared {
    ($row:ident) => {
        ($row.own.task_id.as_str(), &$row.common)
    };
}

macro_rules! exclusive {
    ($row:ident) => {
        ($row.own.task_id.as_str(), &mut $row.common)
    };
}

impl Fact {
    /// The task that it names, which may be `''`; none of a table without tasks.
    pub fn task_id(&self) -> Option<&str> {
        match self {
            Self::Exchange(row) => Some(&row.own.task_id),
            Self::TaskEvent(row) => Some(&row.own.task_id),
            Self::ArtifactPart(row) => Some(&row.own.task_id),
            Self::PushDelivery(row) => Some(&row.own.task_id),
            _ => None,
        }
    }
}

impl Facts {
    /// Task and common columns of the rows of every table that names a task; the task may be `''`.
    pub fn of_tasks(&self) -> impl Iterator<Item = (&str, &Common)> {
        of_tasks!(self, iter, shared)
    }

    /// As [`Facts::of_tasks`], to resolve identities in.
    pub fn of_tasks_mut(&mut self) -> impl Iterator<Item = (&str, &mut Common)> {
        of_tasks!(self, iter_mut, exclusive)
    }

    /// The rows of batches by table, as they were sealed; batches of tables unknown here are passed over.
    ///
    /// # Errors
    /// As [`Table::rows`].
    pub fn from_batches<'a, S: AsRef<str>>(
        batches: impl IntoIterator<Item = (S, &'a RecordBatch)>,
    ) -> Result<Self, TableError> {
        let mut facts = Self::default();
        for (table, batch) in batches {
            facts.take(table.as_ref(), batch)?;
        }
        Ok(facts)
    }

    /// Keeps the rows that name one of some tasks.
    pub fn retain_tasks(&mut self, fits: impl Fn(&str) -> bool) {
        let mut rest = std::mem::take(self);
        rest.exchanges.retain(|row| fits(&row.own.task_id));
        rest.task_events.retain(|row| fits(&row.own.task_id));
        rest.artifact_parts.retain(|row| fits(&row.own.task_id));
        rest.push_deliveries.retain(|row| fits(&row.own.task_id));
        self.exchanges = rest.exchanges;
        self.task_events = rest.task_events;
        self.artifact_parts = rest.artifact_parts;
        self.push_deliveries = rest.push_deliveries;
    }

    /// Whether there are no rows at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
