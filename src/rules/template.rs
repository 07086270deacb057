//! Sentences with places for a row's columns: `{task_id} on {agent}: ...`, and for numbers with their nouns:
//! `{count|call|calls}`.
//!
//! In: text of a header. Out: a sentence. Never fails on a row: what is not known reads `unknown`, and a party without a name
//! as what it is.

use serde::Deserialize;

/// A sentence with places: `{column}` reads as the column does, and `{column|call|calls}` as a number with its noun.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(String),
    Column(String),
    Number { column: String, one: String, many: String },
}

/// How places are written, for messages.
const FORMS: &str = "a place for a column is written `{column}`, one for a number and its noun `{column|call|calls}`";

impl Template {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Columns named, in order, with repetitions.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(column) | Part::Number { column, .. } => Some(column.as_str()),
            Part::Words(_) => None,
        })
    }

    /// Columns that stand with a noun, which takes whole numbers.
    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Number { column, .. } => Some(column.as_str()),
            Part::Words(_) | Part::Column(_) => None,
        })
    }

    /// The sentence, with each place filled by `value`; a value that is not there or empty reads `unknown`, and a party
    /// without a name as [`unnamed`] says.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> String {
        let value = |name: &str| value(name).filter(|value| !value.is_empty());
        let fill = |(at, part): (usize, &Part)| match part {
            Part::Words(words) => words.clone(),
            Part::Column(name) => value(name).unwrap_or_else(|| unnamed(name, at == 0).to_owned()),
            Part::Number { column, one, many } => match value(column) {
                Some(number) if number == "1" => format!("1 {one}"),
                Some(number) => format!("{number} {many}"),
                None => format!("an unknown number of {many}"),
            },
        };
        self.parts.iter().enumerate().map(fill).collect()
    }
}

/// What stands in a sentence, or begins it, for a column without a value.
fn unnamed(column: &str, begins: bool) -> &'static str {
    match (column, begins) {
        ("client", true) => "The caller (not named)",
        ("client", false) => "the caller (not named)",
        ("agent", true) => "The agent (not named)",
        ("agent", false) => "the agent (not named)",
        _ => "unknown",
    }
}

impl Part {
    /// Reads what stands between `{` and `}`.
    fn place(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("`{{{text}}}` {what}: {FORMS}"));
        let (name, nouns) = match text.split_once('|') {
            Some((name, nouns)) => (name, Some(nouns)),
            None => (text, None),
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') {
            return wrong("is not the name of a column");
        }
        let column = name.to_owned();
        let Some(nouns) = nouns else { return Ok(Self::Column(column)) };
        match nouns.split('|').map(str::trim).collect::<Vec<_>>()[..] {
            [one, many] if !one.is_empty() && !many.is_empty() => {
                Ok(Self::Number { column, one: one.to_owned(), many: many.to_owned() })
            }
            _ => wrong("does not give two nouns, one for a single thing and one for several"),
        }
    }
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some(open) = rest.find(['{', '}']) {
            if rest.as_bytes()[open] == b'}' {
                return Err(format!("a `}}` without its `{{`: {FORMS}"));
            }
            let after = &rest[open + 1..];
            let close = after.find('}').ok_or_else(|| format!("a `{{` without its `}}`: {FORMS}"))?;
            if open > 0 {
                parts.push(Part::Words(rest[..open].to_owned()));
            }
            parts.push(Part::place(&after[..close])?);
            rest = &after[close + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Words(rest.to_owned()));
        }
        Ok(Self { text, parts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_the_unknown_is_said() {
        let template = Template::try_from("{task_id} on {agent}: {state}.".to_owned()).unwrap();
        let row = |name: &str| match name {
            "task_id" => Some("t1".to_owned()),
            "agent" => Some(String::new()),
            _ => None,
        };
        assert_eq!(template.fill(row), "t1 on the agent (not named): unknown.");
        assert_eq!(template.columns().collect::<Vec<_>>(), ["task_id", "agent", "state"]);
    }

    #[test]
    fn parties_without_a_name_are_called_what_they_are() {
        let fill = |text: &str| Template::try_from(text.to_owned()).unwrap().fill(|_| None);
        assert_eq!(
            fill("Make {client} fetch the card of {agent}"),
            "Make the caller (not named) fetch the card of the agent (not named)"
        );
        assert_eq!(fill("{client} failed"), "The caller (not named) failed");
        assert_eq!(fill("{agent} moved"), "The agent (not named) moved");
    }

    #[test]
    fn a_brace_alone_and_a_name_that_no_column_can_have_are_refused() {
        for text in ["{task_id", "task_id}", "{}", "{Task}", "{a b}", "{|call|calls}"] {
            assert!(Template::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_reads_with_the_noun_that_fits_it() {
        let template = Template::try_from("{count|call|calls} of {tasks|open task|open tasks}".to_owned()).unwrap();
        let fill = |count: &str| template.fill(|name| (name == "count").then(|| count.to_owned()));
        assert_eq!(fill("1"), "1 call of an unknown number of open tasks");
        assert_eq!(
            (fill("0"), fill("11")),
            (fill("1").replace("1 call", "0 calls"), fill("1").replace("1 call", "11 calls"))
        );
        assert_eq!(template.numbers().collect::<Vec<_>>(), ["count", "tasks"]);
        assert_eq!(template.columns().collect::<Vec<_>>(), ["count", "tasks"]);
    }

    #[test]
    fn a_number_without_both_its_nouns_is_refused_with_the_form_to_write() {
        for text in ["{count|call}", "{count|}", "{count||calls}", "{count|call|}", "{count|a|b|c}"] {
            let error = Template::try_from(text.to_owned()).unwrap_err();
            assert!(error.contains("{column|call|calls}"), "{error}");
        }
    }
}
