//! Headers of rules and views: what they may say and what it means.
//!
//! In: TOML. Out: typed headers, or what is wrong and where. Unknown keys are errors; knows no SQL.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::alerting::Alerting;
use super::needs::Need;
use super::params::Params;
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

/// Reads a header.
pub(super) fn read<T: DeserializeOwned>(source: &Source) -> Result<T, (Place, String)> {
    toml::from_str(&source.toml).map_err(|error| {
        let place = error.span().map_or((1, 1), |span| source.place(span.start));
        (place, error.message().to_owned())
    })
}
