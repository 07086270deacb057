//! Sentences with places for a row's columns: `{task_id} on {agent}: ...`.
//!
//! In: text of a header. Out: a sentence. Never fails on a row: what is not known reads `unknown`, and a party without a name
//! as what it is.

use serde::Deserialize;

/// A sentence with `{column}` places.
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
}

impl Template {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Columns named, in order, with repetitions.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(name) => Some(name.as_str()),
            Part::Words(_) => None,
        })
    }

    /// The sentence, with each place filled by `value`; a value that is not there or empty reads `unknown`, and a party
    /// without a name as [`unnamed`] says.
    pub fn fill(&self, value: impl Fn(&str) -> Option<String>) -> String {
        let fill = |(at, part): (usize, &Part)| match part {
            Part::Words(words) => words.clone(),
            Part::Column(name) => {
                value(name).filter(|v| !v.is_empty()).unwrap_or_else(|| unnamed(name, at == 0).to_owned())
            }
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

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some(open) = rest.find(['{', '}']) {
            if rest.as_bytes()[open] == b'}' {
                return Err("a `}` without its `{`: a place for a column is written `{column}`".to_owned());
            }
            let after = &rest[open + 1..];
            let close = after.find('}').ok_or("a `{` without its `}`: a place for a column is written `{column}`")?;
            let name = &after[..close];
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') {
                return Err(format!("`{{{name}}}` is not the name of a column"));
            }
            if open > 0 {
                parts.push(Part::Words(rest[..open].to_owned()));
            }
            parts.push(Part::Column(name.to_owned()));
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
        for text in ["{task_id", "task_id}", "{}", "{Task}", "{a b}"] {
            assert!(Template::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
