//! Where in a `case.toml` something stands.
//!
//! In: its text, and the way to a value. Out: line and column, from 1. What is not there stands where the file begins.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// One step on the way to a value.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// To the value of a key.
    Key(&'a str),
    /// To the n-th item of a list, from 0.
    Item(usize),
}

/// Where a value stands.
pub fn of_value(text: &str, way: &[Step<'_>]) -> (usize, usize) {
    spans(text, way).map_or((1, 1), |(_, value)| at(text, value.start))
}

/// Where the key of a value stands.
pub fn of_key(text: &str, way: &[Step<'_>]) -> (usize, usize) {
    spans(text, way).map_or((1, 1), |(key, _)| at(text, key.start))
}

/// Where a word first stands within a value.
pub fn of_word(text: &str, way: &[Step<'_>], word: &str) -> (usize, usize) {
    let Some((_, value)) = spans(text, way) else { return (1, 1) };
    let before = text.get(value.clone()).and_then(|value| value.find(word)).unwrap_or_default();
    at(text, value.start + before)
}

/// Line and column of a byte.
pub fn at(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// Bytes of a key, that of the nearest table for an item of a list, and of its value.
fn spans(text: &str, way: &[Step<'_>]) -> Option<(Range<usize>, Range<usize>)> {
    let root = DeTable::parse(text).ok()?;
    let (Step::Key(first), rest) = way.split_first()? else { return None };
    let (mut key, mut value) = root.get_ref().iter().find(|(key, _)| key.get_ref() == first)?;
    for step in rest {
        (key, value) = match (step, value.get_ref()) {
            (Step::Key(name), DeValue::Table(table)) => table.iter().find(|(key, _)| key.get_ref() == name)?,
            (Step::Item(nth), list) => (key, list.get(*nth)?),
            _ => return None,
        };
    }
    Some((key.span(), value.span()))
}

#[cfg(test)]
mod tests {
    use super::Step::{Item, Key};
    use super::*;

    const TEXT: &str = "why = \"ä\"\n\n[[lines]]\nraw = '''\n{\"event\": \"a2a.x\"}\n'''\n\n[[expect]]\nrule = \"a\"\n\
                        [[expect]]\nrule = \"b\"\nentity = { uri = \"u\", \"x y\" = 1 }\n[expect.details]\nn = [1, 2]\n";

    #[test]
    fn keys_values_and_words_are_found_by_their_way() {
        assert_eq!(of_value(TEXT, &[Key("why")]), (1, 7));
        assert_eq!(of_value(TEXT, &[Key("expect"), Item(1), Key("rule")]), (11, 8));
        assert_eq!(of_key(TEXT, &[Key("expect"), Item(1), Key("entity"), Key("uri")]), (12, 12));
        assert_eq!(of_key(TEXT, &[Key("expect"), Item(1), Key("entity"), Key("x y")]), (12, 23));
        assert_eq!(of_value(TEXT, &[Key("expect"), Item(1), Key("details"), Key("n"), Item(1)]), (14, 9));
        assert_eq!(of_word(TEXT, &[Key("lines"), Item(0), Key("raw")], "a2a.x"), (5, 12));
    }

    #[test]
    fn what_is_not_there_is_where_the_file_begins() {
        for way in [&[Key("no")][..], &[Key("expect"), Item(2)], &[Key("why"), Key("x")], &[Item(0)], &[]] {
            assert_eq!(of_value(TEXT, way), (1, 1));
        }
        assert_eq!(of_value("= no TOML", &[Key("why")]), (1, 1));
    }
}
