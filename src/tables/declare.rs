//! How a fact table is declared: the columns once, and from them row struct, Arrow schema, arrays and identity.
//!
//! In: declarations in `schema`. Out: the [`Table`] trait and its implementations. Knows no table.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use super::stamp::TableError;

/// A table of facts.
pub trait Table: Sized {
    /// Name in SQL.
    const NAME: &'static str;
    /// What a row is.
    const ABOUT: &'static str;
    /// Arrow schema.
    fn schema() -> SchemaRef;
    /// What each column means, in a few words, with the values of closed sets.
    fn words() -> Vec<(&'static str, &'static str)>;
    /// Sets `fact_id` from the content of the row: 128 bits, hex. The same record delivered twice, from whatever file or
    /// format, is the same fact; where it was read, and what was derived from other facts, is not content.
    fn seal(self) -> Self;
    /// The identity set by [`Table::seal`].
    fn fact_id(&self) -> &str;
    /// Arrow arrays of all rows.
    ///
    /// # Errors
    /// When arrays and schema disagree, which would be a defect of the declaration.
    fn batch(rows: &[Self]) -> Result<RecordBatch, ArrowError>;
    /// The rows of a batch, also of one that an older or newer program wrote: columns that it lacks get their default,
    /// unknown ones are passed over. Identities stay as they were sealed.
    ///
    /// # Errors
    /// When a column is of another type, or the time of the facts is missing.
    fn rows(batch: &RecordBatch) -> Result<Vec<Self>, TableError>;
}

macro_rules! columns {
    ($(#[$meta:meta])* $vis:vis struct $row:ident { $($(#[doc = $doc:literal])* $column:ident : $kind:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(default)]
        $vis struct $row { $($(#[doc = $doc])* pub $column: <$kind as ColumnKind>::Cell,)* }

        impl $row {
            fn fields() -> Vec<Field> {
                vec![$(Field::new(stringify!($column), $kind::data_type(), $kind::NULLABLE)),*]
            }
            fn words() -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($column), concat!($($doc),*))),*]
            }
            fn arrays<'a, I: Iterator<Item = &'a $row> + Clone>(rows: I) -> Vec<ArrayRef> {
                vec![$($kind::array(rows.clone().map(|row| &row.$column))),*]
            }
            #[allow(dead_code, reason = "derived columns are made anew")]
            fn read(batch: &RecordBatch, table: &'static str) -> Result<Vec<$row>, TableError> {
                let mut rows = vec![$row::default(); batch.num_rows()];
                $(for (row, cell) in rows.iter_mut().zip(read::<$kind>(batch, table, stringify!($column))?) {
                    row.$column = cell;
                })*
                Ok(rows)
            }
            #[allow(dead_code, reason = "derived columns are not bounded")]
            fn bound(&mut self) {
                $($kind::bound(&mut self.$column);)*
            }
            #[allow(dead_code, reason = "of the common columns, not all are content")]
            fn hash(&self, into: &mut Sha256) {
                $($kind::hash(&self.$column, into);)*
            }
        }
    };
}

macro_rules! table {
    (
        $(#[doc = $about:literal])*
        $name:literal $row:ident in $own:ident { $($(#[doc = $doc:literal])* $column:ident : $kind:ident,)* }
    ) => {
        columns! {
            /// Columns of this table's own.
            pub struct $own { $($(#[doc = $doc])* $column: $kind,)* }
        }

        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $row {
            /// Columns that every table has.
            pub common: Common,
            /// Columns of this table.
            pub own: $own,
        }

        impl Table for $row {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = concat!($($about),*);

            fn schema() -> SchemaRef {
                let fields = Common::fields().into_iter().chain(Bucketed::fields()).chain($own::fields());
                Arc::new(Schema::new(fields.collect::<Vec<_>>()))
            }

            fn words() -> Vec<(&'static str, &'static str)> {
                Common::words().into_iter().chain(Bucketed::words()).chain($own::words()).collect()
            }

            fn seal(mut self) -> Self {
                self.common.bound();
                self.own.bound();
                let mut hash = Sha256::new();
                hash.update($name.as_bytes());
                self.common.hash_content(&mut hash);
                self.own.hash(&mut hash);
                self.common.fact_id = hex::encode(&hash.finalize()[..16]);
                self
            }

            fn fact_id(&self) -> &str {
                &self.common.fact_id
            }

            fn batch(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
                let mut arrays = Common::arrays(rows.iter().map(|row| &row.common));
                let buckets: Vec<Bucketed> = rows.iter().map(|row| Bucketed::of(&row.common)).collect();
                arrays.extend(Bucketed::arrays(buckets.iter()));
                arrays.extend($own::arrays(rows.iter().map(|row| &row.own)));
                RecordBatch::try_new(Self::schema(), arrays)
            }

            fn rows(batch: &RecordBatch) -> Result<Vec<Self>, TableError> {
                let commons = Common::read(batch, $name)?;
                let rows = commons.into_iter().zip($own::read(batch, $name)?).map(|(common, own)| {
                    let mut row = Self { common, own };
                    row.common.bound();
                    row.own.bound();
                    if row.common.fact_id.is_empty() { row.seal() } else { row }
                });
                Ok(rows.collect())
            }
        }
    };
}

pub(super) use {columns, table};
