//! Where reading goes on behind a value that is broken, on a line of several.
//!
//! In: a line from the broken value on. Out: the place of the next value, if it is safe to go on there: a whole one behind the
//! end of another with no comma between, as nothing within a value stands; or behind a comma, if all that follows on the line is
//! values, since what is within the broken value is followed by brackets that nothing opened. Looks at a bounded number of places
//! and bytes; reads no value.

use super::Limits;
use super::scanner::{Misfit, Scanner, Step};

/// Places that are tried.
const MOST_PLACES: usize = 32;

/// Bytes that are looked at for all places together.
const MOST_BYTES: usize = 1 << 20;

/// The place of the next value.
pub(super) fn next_value(line: &[u8], limits: &Limits) -> Option<usize> {
    let mut left = MOST_BYTES;
    let is_safe = |(place, is_sure): &(usize, bool)| {
        let rest = line.get(*place..).unwrap_or_default();
        are_values(rest, *is_sure, limits.max_depth, &mut left)
    };
    places(line).take(MOST_PLACES).find(is_safe).map(|(place, _)| place)
}

/// Places where an object begins behind a closing bracket, with nothing but blanks and commas between; and whether there is no
/// comma.
fn places(line: &[u8]) -> impl Iterator<Item = (usize, bool)> + '_ {
    let (mut is_behind_value, mut is_sure) = (false, false);
    line.iter().enumerate().filter_map(move |(at, byte)| {
        let is_place = is_behind_value && line.get(at..).is_some_and(|rest| rest.starts_with(b"{\""));
        let place = is_place.then_some((at, is_sure));
        match byte {
            b'}' | b']' => (is_behind_value, is_sure) = (true, true),
            b',' => is_sure = false,
            byte if is_between(*byte) => {}
            _ => is_behind_value = false,
        }
        place
    })
}

/// Whether bytes are values and nothing else, of which the last may be cut off; or begin with one, if that is enough.
fn are_values(mut rest: &[u8], one_is_enough: bool, max_depth: usize, left: &mut usize) -> bool {
    let mut values = 0;
    loop {
        rest = rest.get(rest.iter().take_while(|byte| is_between(**byte)).count()..).unwrap_or_default();
        if rest.is_empty() {
            return values > 0;
        }
        if !rest.starts_with(b"{") && !rest.starts_with(b"[") {
            return false;
        }
        let looked_at = rest.get(..rest.len().min(*left)).unwrap_or_default();
        let (mut scanner, mut at) = (Scanner::new(max_depth, true), 0);
        let end = loop {
            match scanner.next(looked_at, &mut at) {
                Step::ElementStart | Step::ElementEnd | Step::TooDeep => {}
                step => break step,
            }
        };
        *left = left.saturating_sub(at);
        match end {
            Step::End if one_is_enough => return true,
            Step::End => values += 1,
            // The line may be cut: then there is nothing behind it.
            Step::More | Step::Misfit(Misfit::LineCut) => return values > 0 && at == rest.len(),
            _ => return false,
        }
        rest = rest.get(at..).unwrap_or_default();
    }
}

/// What may stand between values.
fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b',' | 0x1e)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(line: &str) -> Option<&str> {
        next_value(line.as_bytes(), &Limits::default()).map(|at| &line[at..])
    }

    #[test]
    fn the_next_value_is_the_first_behind_which_there_are_only_values() {
        for (line, expected) in [
            (r#"{"a":1]}{"b":2}"#, r#"{"b":2}"#),
            (r#"{"a" 1} {"b":2} , {"c":[{"d":1},{"e":2}]}"#, r#"{"b":2} , {"c":[{"d":1},{"e":2}]}"#),
            (r#"{"a":"}{"b":2}{"c":3}"#, r#"{"b":2}{"c":3}"#),
            (r#"{"a":1]} {"b":2} {"c":"#, r#"{"b":2} {"c":"#),
            (r#"{"a":1]},{"b":2},{"c":"#, r#"{"b":2},{"c":"#),
            (r#"{"a" 1}{"b":2}{"c" 3}{"d":4}"#, r#"{"b":2}{"c" 3}{"d":4}"#),
        ] {
            assert_eq!(next(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_is_within_a_broken_value_is_none() {
        for line in [
            r#"{"a" 1}"#,
            r#"{"a" 1, "list":[{"b":2},{"c":3}]}"#,
            r#"{"a" 1, "list":[{"b":2},{"c":3}], "d":4}"#,
            r#"{"a" 1, "b":{"c":2}}"#,
            r#"{"a" 1} words {"b":2}"#,
            r#"{"a" 1}, {"b":2} words"#,
            r#"{"a" 1, "list":[{"b":2},{"c":3},{"d":4}]}"#,
            r#"{"a" 1} {"#,
            "",
        ] {
            assert_eq!(next(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_of_countless_places_costs_little() {
        let begun = std::time::Instant::now();
        for line in [r#"]{"a" 1}"#.repeat(1 << 20), format!("{}]", r#"{"a":1},"#.repeat(1 << 20))] {
            assert_eq!(next(&line), None);
        }
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }
}
