//! The order in which queries can be evaluated: each after what it reads.
//!
//! In: rules or views, each with the names that it reads. Out: the same in order, or the circle that keeps them from one.

use std::collections::BTreeMap;
use std::path::Path;

use super::corpus::{Rule, View};
use super::problem::Problem;
use super::query::Query;

/// What stands in an order of dependency.
pub(super) trait Reader {
    fn name(&self) -> &str;
    fn path(&self) -> &Path;
    fn query(&self) -> &Query;
}

impl Reader for View {
    fn name(&self) -> &str {
        &self.name
    }
    fn path(&self) -> &Path {
        &self.path
    }
    fn query(&self) -> &Query {
        &self.query
    }
}

impl Reader for Rule {
    fn name(&self) -> &str {
        &self.id
    }
    fn path(&self) -> &Path {
        &self.path
    }
    fn query(&self) -> &Query {
        &self.query
    }
}

/// Items so that each comes after what it reads, else by name; a circle is a problem that names its members.
pub(super) fn in_order<T: Reader>(items: Vec<T>, problems: &mut Vec<Problem>) -> Vec<T> {
    let mut waiting: BTreeMap<String, T> = items.into_iter().map(|item| (item.name().to_owned(), item)).collect();
    let mut ordered = Vec::new();
    loop {
        let is_free = |item: &T| !item.query().reads.iter().any(|read| waiting.contains_key(read));
        let Some(name) = waiting.iter().find(|(_, item)| is_free(item)).map(|(name, _)| name.clone()) else { break };
        ordered.extend(waiting.remove(&name));
    }
    if let Some((_, first)) = waiting.first_key_value() {
        let mut circle: Vec<&T> = vec![first];
        while let Some(next) = circle.last().and_then(|item| item.query().reads.iter().find_map(|r| waiting.get(r))) {
            if let Some(start) = circle.iter().position(|item| item.name() == next.name()) {
                circle.drain(..start);
                break;
            }
            circle.push(next);
        }
        if let Some(first) = circle.first() {
            let names = circle.iter().chain([first]).map(|item| item.name()).collect::<Vec<_>>().join(" -> ");
            let next = circle.get(1).unwrap_or(first).name();
            let message = format!("these read each other in a circle: {names}");
            problems.push(Problem::at(first.path(), first.query().place_of(next), message));
        }
    }
    ordered
}
