//! Headers of rules and views: what they may say and what it means.
//!
//! In: TOML. Out: typed headers, or what is wrong and where. Unknown keys are errors; knows no SQL.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::alerting::Alerting;
use super::needs::Need;
use super::params::Params;
use super::problem::near;
use super::source::{Place, Source};
use super::template::Template;
use crate::findings::Severity;

/// Header of a rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleHeader {
    /// One line that names the drift.
    pub title: String,
    /// The highest severity a row may have.
    #[serde(deserialize_with = "severity")]
    pub severity: Severity,
    /// How settled the rule is.
    pub status: Status,
    /// Version of this program that brought it.
    pub since: String,
    /// Columns along which the query is evaluated alone.
    pub by: Vec<String>,
    /// Columns that make two rows the same finding; contains `by`.
    pub entity: Vec<String>,
    /// Fields without which the rule is blind.
    pub needs: Vec<Need>,
    /// One line about a row.
    pub summary: Template,
    /// Whose fault it looks like, unless the row says otherwise.
    pub suspect: Suspect,
    /// Why that one.
    pub because: Template,
    /// What to do next, one sentence.
    pub next: Template,
    /// Roles of evidence that shows how things were otherwise: its tasks and clients are not those that the finding is about.
    #[serde(default)]
    pub beside: Vec<String>,
    /// Thresholds and their defaults.
    #[serde(default)]
    pub params: Params,
    /// Which changes of inputs without the `by` columns concern which keys.
    #[serde(default)]
    pub marks: BTreeMap<String, Mark>,
    /// How an alert on the rule behaves.
    #[serde(default)]
    pub alert: Alerting,
    /// A finding is about a condition and stands until facts say that it ended, however long ago it was seen. Else it is
    /// about something that happened, and to a service that runs it is over some time after it was seen last.
    #[serde(default)]
    pub lasts: bool,
}

/// Header of a view.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewHeader {
    /// One line that says what a row is.
    pub title: String,
    /// Columns along which the view is evaluated alone and kept; a view without is inline text.
    pub by: Option<Vec<String>>,
    /// Which changes of inputs without the `by` columns concern which keys.
    #[serde(default)]
    pub marks: BTreeMap<String, Mark>,
    /// Thresholds and their defaults.
    #[serde(default)]
    pub params: Params,
}

/// Which keys a changed row of an input concerns, where the input lacks columns of `by`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Rows that agree on these columns.
    pub on: Vec<String>,
    /// And lie in the span of time that these two columns of the changed row give, the second exclusive and null if open.
    pub during: Option<[String; 2]>,
}

/// How settled a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// May change or go.
    Experimental,
    /// Its id, entity and columns stay.
    Stable,
    /// Will go.
    Deprecated,
}

/// Whose fault a finding looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suspect {
    /// The card that a client keeps.
    ClientCache,
    /// Who publishes the card: CDN, control plane.
    CardPublisher,
    /// The agent's runtime.
    RemoteRuntime,
    /// Who takes the webhook calls.
    WebhookReceiver,
    /// Who sends the webhook calls.
    WebhookSender,
    /// A gateway between.
    Gateway,
    /// The client.
    Client,
    /// Who operates the fleet.
    Operator,
}

impl Suspect {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ClientCache,
        Self::CardPublisher,
        Self::RemoteRuntime,
        Self::WebhookReceiver,
        Self::WebhookSender,
        Self::Gateway,
        Self::Client,
        Self::Operator,
    ];

    /// The word in headers, rows and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientCache => "client-cache",
            Self::CardPublisher => "card-publisher",
            Self::RemoteRuntime => "remote-runtime",
            Self::WebhookReceiver => "webhook-receiver",
            Self::WebhookSender => "webhook-sender",
            Self::Gateway => "gateway",
            Self::Client => "client",
            Self::Operator => "operator",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|suspect| suspect.as_str() == word)
    }
}

impl Status {
    /// The word in headers and docs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Experimental => "experimental",
            Self::Stable => "stable",
            Self::Deprecated => "deprecated",
        }
    }
}

fn severity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Severity, D::Error> {
    let word = String::deserialize(deserializer)?;
    Severity::parse(&word).ok_or_else(|| {
        D::Error::custom(format!("unknown severity `{word}`, expected one of `info`, `warning`, `critical`"))
    })
}

/// A header, and what is wrong with it.
pub(super) struct Read<T> {
    /// As it is written; where something is wrong, without that, so that the rest of its file can be looked at. None where
    /// nothing can be said without it.
    pub(super) header: Option<T>,
    pub(super) problems: Vec<(Place, String)>,
}

/// Reads a header, and tells all that is wrong with it: reading goes on without the keys that were told.
pub(super) fn read<T: DeserializeOwned>(source: &Source) -> Read<T> {
    let mut text = source.toml.clone();
    let mut problems = Vec::new();
    let mut told = BTreeSet::new();
    loop {
        let error = match toml::from_str(&text) {
            // A query without its params is another one.
            Ok(header) => return Read { header: Some(header).filter(|_| !told.contains("params")), problems },
            Err(error) => error,
        };
        let problem = |at: usize| (source.place(at), with_near(error.message()));
        let lacking = error.message().strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        match (lacking.and_then(stand_in), error.span()) {
            (Some(stand_in), _) => {
                // A key that is written otherwise was told.
                let key = lacking.unwrap_or_default();
                let is_misspelt = told.iter().any(|told: &String| !near(told, std::iter::once(key)).is_empty());
                if told.insert(key.to_owned()) && !is_misspelt {
                    problems.push(problem(0));
                }
                text.push_str(stand_in);
            }
            // What is no TOML has no keys that could be left out.
            (None, Some(span)) if toml::from_str::<toml::Table>(&text).is_ok() => {
                problems.push(problem(span.start));
                let Some(key) = leave_out(&mut text, span.start) else { return Read { header: None, problems } };
                told.insert(key);
            }
            (None, span) => {
                problems.push(problem(span.map_or(0, |span| span.start)));
                return Read { header: None, problems };
            }
        }
    }
}

/// A message of the parser, with the name that an unknown one may mean.
fn with_near(message: &str) -> String {
    let Some((before, valid)) = message.split_once(", expected one of ") else { return message.to_owned() };
    let unknown = before.rsplit('`').nth(1).unwrap_or_default();
    let near = near(unknown, valid.split('`').skip(1).step_by(2));
    format!("{before}{near}, expected one of {valid}")
}

/// A key of the header that is right, for one that is missing, so that the others can be looked at.
fn stand_in(key: &str) -> Option<&'static str> {
    Some(match key {
        "title" => "title = \"\"\n",
        "severity" => "severity = \"info\"\n",
        "status" => "status = \"stable\"\n",
        "since" => "since = \"\"\n",
        "by" => "by = []\n",
        "entity" => "entity = []\n",
        "needs" => "needs = []\n",
        "summary" => "summary = \"\"\n",
        "suspect" => "suspect = \"client\"\n",
        "because" => "because = \"\"\n",
        "next" => "next = \"\"\n",
        _ => return None,
    })
}

/// Blanks the key in which a byte of the header lies, so that all others keep their places. Its name; none before the first.
fn leave_out(text: &mut String, at: usize) -> Option<String> {
    let key_of = |line: &str| {
        let name = line.split('=').next().filter(|_| line.contains('='))?.trim();
        let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        is_name.then(|| name.to_owned())
    };
    let mut begins = 0;
    let mut range: Option<(String, std::ops::Range<usize>)> = None;
    for line in text.split_inclusive('\n') {
        match (key_of(line), &mut range) {
            (Some(_), Some(_)) if begins > at => break,
            (Some(key), _) => range = Some((key, begins..begins + line.len())),
            (None, Some((_, range))) => range.end = begins + line.len(),
            (None, None) => {}
        }
        begins += line.len();
    }
    let (key, range) = range.filter(|(_, range)| range.contains(&at))?;
    let blank: String = text.get(range.clone())?.chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
    // A character of several bytes is one blank: what follows on the line is blank as well.
    let lost = range.len() - blank.len();
    text.replace_range(range, &format!("{}{blank}", " ".repeat(lost)));
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(header: &str) -> Vec<String> {
        let text: String = header.lines().map(|line| format!("-- {line}\n")).collect();
        let source = Source::cut(&format!("{text}--\n-- ## What it finds\n\nSELECT 1\n")).unwrap();
        let problems = read::<RuleHeader>(&source).problems;
        problems.into_iter().map(|((line, column), message)| format!("{line}:{column} {message}")).collect()
    }

    const HEADER: &str = "title = \"t\"\nseverity = \"info\"\nstatus = \"stable\"\nsince = \"1\"\nby = [\"agent\"]\n\
                          entity = [\"agent\"]\nneeds = [\"exchanges.outcome\"]\nsummary = \"s\"\n\
                          suspect = \"client\"\nbecause = \"b\"\nnext = \"n\"\n";

    #[test]
    fn all_that_is_wrong_with_a_header_is_told_at_once_each_at_its_place() {
        assert_eq!(problems(HEADER), Vec::<String>::new());
        let wrong = HEADER
            .replace("severity = \"info\"", "severity = \"loud\"")
            .replace("summary = \"s\"", "sumarx = \"ä\"")
            .replace("needs = [\"exchanges.outcome\"]", "needs = [\n  \"outcome\",\n]")
            + "params = { least = [2] }\n";
        let mut found = problems(&wrong);
        found.sort();
        let begins: Vec<&str> = found.iter().map(|text| text.split(' ').next().unwrap()).collect();
        assert_eq!(begins, ["10:4", "14:23", "2:15", "7:12"], "{found:#?}");
        for (number, words) in
            ["unknown field `sumarx`", "a param must be", "`loud`", "`outcome` is no need"].iter().enumerate()
        {
            assert!(found[number].contains(words), "{found:#?}");
        }
    }

    #[test]
    fn what_is_no_toml_is_told_once() {
        assert_eq!(problems(&HEADER.replace("by = [\"agent\"]", "by = [\"agent\"")).len(), 1);
    }
}
