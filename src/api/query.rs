//! The part of an address after the question mark.
//!
//! In: that text. Out: values by name, for names that are known. An unknown name or an empty value is a problem, since a
//! filter that is not understood would give an answer to another question.

use axum::http::Uri;
use url::form_urlencoded;

use super::problem::Problem;
use crate::instant::Instant;

/// Items on a page, unless it is asked for another number.
const ITEMS: usize = 100;
/// The most items on a page.
const MOST_ITEMS: usize = 1_000;

/// Names and values, in order.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the query of an address in which only these names may be.
    pub(super) fn of(uri: &Uri, known: &[&str]) -> Result<Self, Problem> {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let pairs: Vec<(String, String)> = pairs.into_owned().filter(|(name, _)| !name.is_empty()).collect();
        match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => {
                let known = known.join(", ");
                Err(Problem::bad_request(format!("there is no parameter `{name}`; there are {known}")))
            }
            None => match pairs.iter().find(|(_, value)| value.is_empty()) {
                Some((name, _)) => Err(Problem::bad_request(format!("`{name}` has no value"))),
                None => Ok(Self(pairs)),
            },
        }
    }

    /// All values of a name, given one by one.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(given, _)| given == name).map(|(_, value)| value.as_str()).collect()
    }

    /// All words of a name, given one by one or with commas between them: of names whose values cannot have one in them.
    pub(super) fn words(&self, name: &str) -> Result<Vec<&str>, Problem> {
        let words: Vec<&str> = self.all(name).into_iter().flat_map(|value| value.split(',')).collect();
        match words.contains(&"") {
            true => Err(Problem::bad_request(format!("`{name}` has an empty word in its list"))),
            false => Ok(words),
        }
    }

    /// The only value of a name.
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut given = self.0.iter().filter(|(given, _)| given == name).map(|(_, value)| value.as_str());
        match (given.next(), given.next()) {
            (value, None) => Ok(value),
            _ => Err(Problem::bad_request(format!("`{name}` is given more than once"))),
        }
    }

    /// An instant.
    pub(super) fn instant(&self, name: &str) -> Result<Option<Instant>, Problem> {
        let read = |text: &str| {
            let number = || text.parse().ok().and_then(Instant::from_epoch_number);
            let example = format!("`{name}` is no time; an example is 2026-11-30T06:15:34Z");
            Instant::parse_rfc3339(text).or_else(number).ok_or_else(|| Problem::bad_request(example))
        };
        self.one(name)?.map(read).transpose()
    }

    /// How many items a page is to have.
    pub(super) fn limit(&self) -> Result<usize, Problem> {
        let Some(text) = self.one("limit")? else { return Ok(ITEMS) };
        let limit = text.parse().ok().filter(|limit| (1..=MOST_ITEMS).contains(limit));
        limit.ok_or_else(|| Problem::bad_request(format!("`limit` is no number from 1 to {MOST_ITEMS}")))
    }
}
