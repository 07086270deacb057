//! How far a changed row of an input reaches: which keys of a query it may concern.
//!
//! In: `by`, `marks` and the columns of a query's inputs. Out: for each input what it is cut by and how its changes find
//! keys, and what of that the header leaves open. Knows no rows.
//!
//! A row that has all of `by` concerns its own key. Else the header's mark says which rows of another input it concerns:
//! those that agree on some columns. Without a mark it concerns every key that agrees on the columns of `by` it has.

use std::collections::BTreeMap;

use arrow::datatypes::SchemaRef;

use super::columns::Schemas;
use super::header::Mark;
use super::problem::listed;
use super::shape;

/// Column by which what a card body says is told apart.
pub(crate) const BODY: &str = "body_sha256";

/// Column that is compared with the span of a mark.
const TIME: &str = "observed_at";

/// A set of columns of `by`, by their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Mask(u64);

impl Mask {
    /// None of `by`.
    pub(crate) const NONE: Self = Self(0);

    /// Columns in both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether a position is in the set.
    pub(crate) fn has(self, position: usize) -> bool {
        position < 64 && self.0 & (1 << position) != 0
    }

    /// Positions in the set.
    pub(crate) fn positions(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |position| self.has(*position))
    }

    /// Number of columns.
    pub(crate) fn len(self) -> u32 {
        self.0.count_ones()
    }
}

impl FromIterator<usize> for Mask {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Self {
        Self(positions.into_iter().filter(|p| *p < 64).fold(0, |mask, position| mask | 1 << position))
    }
}

/// An input of a query, and how its changes find keys.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// Table, stored view or rule.
    pub(crate) input: String,
    /// Columns of `by` that it has.
    pub(crate) carried: Mask,
    /// How a changed row finds the keys that it concerns.
    pub(crate) reach: Reach,
}

/// How a changed row finds the keys that it may concern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All keys that agree on the columns of `by` that it has: its own, if it has all, and every key if it has none.
    Agreeing,
    /// What a card body says. It comes and goes with the looks at that body, whose rows name it and find the keys; it
    /// reaches everything only when it comes or goes alone.
    WithLooks,
    /// Keys of the rows of carriers that agree with it.
    Marked(Marked),
}

/// What a mark says, in the columns of the inputs that it speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    /// Columns on which rows agree.
    pub(crate) on: Vec<String>,
    /// Span of time of the changed row.
    pub(crate) during: Option<[String; 2]>,
    /// Positions, among the readings, of the inputs whose rows it agrees with.
    pub(crate) carriers: Vec<usize>,
    /// Whether the columns tell more apart than the columns of `by` that the input has, so that the input is better cut by the rows
    /// of the carriers.
    pub(crate) narrows: bool,
}

/// Readings of a query's inputs, and what its header leaves open. What is open reaches everything, which is right, though not cheap.
pub(crate) fn readings(
    by: &[String],
    marks: &BTreeMap<String, Mark>,
    inputs: &Schemas,
    of_a_body: impl Fn(&str) -> bool,
) -> (Vec<Reading>, Vec<String>) {
    let all: Mask = (0..by.len()).collect();
    let carried = |input: &str, schema: &SchemaRef| -> Mask {
        let carries = by.iter().enumerate().filter(|(_, column)| shape::carries(input, schema, column));
        carries.map(|(position, _)| position).collect()
    };
    let carried: Vec<Mask> = inputs.iter().map(|(input, schema)| carried(input, schema)).collect();
    let mut problems = Vec::new();
    let mut readings = Vec::new();
    for ((input, _), mask) in inputs.iter().zip(&carried) {
        let reach = match marks.get(input) {
            _ if *mask == all => Reach::Agreeing,
            Some(mark) => match marked(by, mark, (input, *mask), inputs, &carried) {
                Some(marked) if !marked.narrows && marked.during.is_none() => Reach::Agreeing,
                Some(marked) => Reach::Marked(marked),
                None => {
                    problems.push(format!(
                        "`marks` of `{input}`: no other input has {} and more of `by`, so that it speaks of no rows",
                        listed(&mark.on)
                    ));
                    Reach::Agreeing
                }
            },
            None if of_a_body(input) => Reach::WithLooks,
            None => {
                if *mask == Mask::NONE {
                    problems.push(format!(
                        "`{input}` has no column of `by`, so that each of its changes would concern every key: say in `marks` which"
                    ));
                }
                Reach::Agreeing
            }
        };
        readings.push(Reading { input: input.clone(), carried: *mask, reach });
    }
    (readings, problems)
}

/// What a mark means; none when there are no rows that it could speak of.
fn marked(
    by: &[String],
    mark: &Mark,
    (input, carried): (&str, Mask),
    inputs: &Schemas,
    all_carried: &[Mask],
) -> Option<Marked> {
    let has_column = |schema: &SchemaRef, column: &String| schema.field_with_name(column).is_ok();
    let has = |schema: &SchemaRef| mark.on.iter().all(|column| has_column(schema, column));
    let own = inputs.get(input).filter(|own| has(own))?;
    if !mark.during.iter().flatten().all(|column| has_column(own, column)) {
        return None;
    }
    let knowing = inputs
        .values()
        .zip(all_carried)
        .enumerate()
        .filter(|(_, (schema, mask))| has(schema) && mask.len() > carried.len());
    let knowing: Vec<(usize, Mask)> = knowing.map(|(reading, (_, mask))| (reading, *mask)).collect();
    let most = knowing.iter().map(|(_, mask)| mask.len()).max()?;
    let carriers = knowing.into_iter().filter(|(_, mask)| mask.len() == most).map(|(reading, _)| reading).collect();
    let is_carried =
        |column: &String| by.iter().position(|b| b == column).is_some_and(|position| carried.has(position));
    let narrows = !mark.on.iter().all(is_carried);
    Some(Marked { on: mark.on.clone(), during: mark.during.clone(), carriers, narrows })
}

/// The column of a carrier that is compared with the span of a mark.
pub(crate) fn time_of(schema: &SchemaRef) -> Option<usize> {
    schema.index_of(TIME).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    fn inputs(tables: &[(&str, &[&str])]) -> Schemas {
        let schema = |columns: &[&str]| {
            let fields = columns.iter().map(|column| Field::new(*column, DataType::Utf8View, true));
            Arc::new(Schema::new(fields.collect::<Vec<_>>()))
        };
        tables.iter().map(|(name, columns)| ((*name).to_owned(), schema(columns))).collect()
    }

    fn of(
        by: &[&str],
        marks: &[(&str, &[&str])],
        tables: &[(&str, &[&str])],
    ) -> (BTreeMap<String, Reach>, Vec<String>) {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let mark = |on: &[&str]| Mark { on: texts(on), during: None };
        let marks = marks.iter().map(|(input, on)| ((*input).to_owned(), mark(on))).collect();
        let (readings, problems) = readings(&texts(by), &marks, &inputs(tables), |name| name == "card_skills");
        (readings.into_iter().map(|reading| (reading.input, reading.reach)).collect(), problems)
    }

    #[test]
    fn without_a_mark_a_row_concerns_what_agrees_on_the_columns_of_by_that_it_has() {
        let (reach, problems) =
            of(&["agent", "task_id"], &[], &[("looks", &["agent"]), ("task_events", &["agent", "task_id"])]);
        assert_eq!(
            (reach["looks"].clone(), reach["task_events"].clone(), problems),
            (Reach::Agreeing, Reach::Agreeing, vec![])
        );
    }

    #[test]
    fn a_mark_speaks_of_the_rows_that_know_more_of_by_and_all_its_columns() {
        let tables: [(&str, &[&str]); 4] = [
            ("held", &["client", "agent", "body_sha256"]),
            ("looks", &["client", "agent"]),
            ("task_events", &["client", "agent", "task_id"]),
            ("tasks", &["agent", "task_id"]),
        ];
        let (reach, problems) = of(&["agent", "task_id"], &[("held", &["client", "agent"])], &tables);
        let on = vec!["client".to_owned(), "agent".to_owned()];
        // In the order of names: held, looks, task_events, tasks.
        let marked = Marked { on, during: None, carriers: vec![2], narrows: true };
        assert_eq!((reach["held"].clone(), problems), (Reach::Marked(marked), vec![]));
    }

    #[test]
    fn a_mark_on_columns_of_by_alone_says_nothing_new() {
        let tables: [(&str, &[&str]); 2] = [("looks", &["agent"]), ("task_events", &["agent", "task_id"])];
        assert_eq!(of(&["agent", "task_id"], &[("looks", &["agent"])], &tables).0["looks"], Reach::Agreeing);
        assert_eq!(
            of(&["agent", "task_id"], &[("task_events", &["agent"])], &tables).0["task_events"],
            Reach::Agreeing
        );
    }

    #[test]
    fn what_a_body_says_comes_with_the_looks_at_it_unless_a_mark_says_more() {
        let tables: [(&str, &[&str]); 2] = [("card_skills", &["body_sha256"]), ("cards", &["agent", "body_sha256"])];
        assert_eq!(
            of(&["agent"], &[], &tables),
            (
                BTreeMap::from([("card_skills".to_owned(), Reach::WithLooks), ("cards".to_owned(), Reach::Agreeing)]),
                vec![]
            )
        );
        let (reach, _) = of(&["agent"], &[("card_skills", &["body_sha256"])], &tables);
        assert!(matches!(&reach["card_skills"], Reach::Marked(marked) if marked.carriers == [1]));
    }

    #[test]
    fn what_the_header_leaves_open_is_a_problem() {
        let tables: [(&str, &[&str]); 2] = [("policies", &["skill_id"]), ("task_events", &["agent", "task_id"])];
        let (reach, problems) = of(&["agent", "task_id"], &[], &tables);
        assert_eq!(reach["policies"], Reach::Agreeing);
        assert_eq!(
            problems,
            [
                "`policies` has no column of `by`, so that each of its changes would concern every key: say in `marks` which"
            ]
        );
        let (_, problems) = of(&["agent", "task_id"], &[("policies", &["skill_id"])], &tables);
        assert_eq!(
            problems,
            ["`marks` of `policies`: no other input has `skill_id` and more of `by`, so that it speaks of no rows"]
        );
    }
}
