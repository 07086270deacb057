//! Settings: the configuration file and what overrides it, as one validated value.
//!
//! In: a TOML file and the options that were given on the command line or in the environment. Out: [`Config`]. Never guesses:
//! an unknown key or an impossible value is an error that names file, line and column.

mod file;
mod listen;
mod serve;
mod suppress;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Deserialize;

use crate::findings::{Severity, Suppression};
use crate::instant::Instant;

use file::File;
pub(crate) use file::shown;
pub use listen::{Listen, address};
pub use serve::{AlertmanagerSettings, ReceiverLimits, Retention, ServeOverrides, ServeSettings, TlsFiles};

/// Form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// One JSON object, described by a JSON Schema.
    Json,
    /// The findings alone, one JSON object a line.
    Ndjson,
    /// For a pull request or the channel of an incident.
    Markdown,
    /// SARIF 2.1.0, for code hosts.
    Sarif,
    /// JUnit XML, for build servers: a rule is a test.
    Junit,
}

/// From which severity on findings make the exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailOn {
    /// Only what deserves a page.
    Critical,
    /// Also what deserves a look today.
    #[default]
    Warning,
    /// Any finding.
    Info,
    /// No finding.
    Never,
}

impl FailOn {
    /// Whether findings of which this is the worst make the exit code 1.
    pub fn fails(self, worst: Option<Severity>) -> bool {
        let Some(worst) = worst else { return false };
        match self {
            Self::Critical => worst >= Severity::Critical,
            Self::Warning => worst >= Severity::Warning,
            Self::Info => true,
            Self::Never => false,
        }
    }
}

/// Everything that can be set, after flags, environment and file are merged in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    /// Form of the result.
    pub format: Format,
    /// From which severity on to exit with 1.
    pub fail_on: FailOn,
    /// The rules to evaluate; empty for all.
    pub rules: Vec<String>,
    /// The instant as of which findings are shown; none for each agent's last fact.
    pub as_of: Option<Instant>,
    /// Folder of rules, views and word lists; none for the built-in ones.
    pub queries: Option<PathBuf>,
    /// Folder of rules and views that are there beside those; one of the same name is there instead.
    pub add_queries: Option<PathBuf>,
    /// References that are one agent, by the name to call it.
    pub agents: BTreeMap<String, Vec<String>>,
    /// References that are one client, by the name to call it.
    pub clients: BTreeMap<String, Vec<String>>,
    /// Who made which source; the first that matches counts.
    pub observers: Vec<ObserverBySource>,
    /// Where home-made recorders keep what: paths of keys, joined with dots, by field.
    pub exchange_keys: BTreeMap<String, Vec<String>>,
    /// More names and patterns, beside the corpus's own.
    pub vocabulary: Vocabulary,
    /// Values for rules' parameters, by rule and parameter.
    pub params: BTreeMap<String, BTreeMap<String, toml::Value>>,
    /// Where they are given, `file:line`, by rule.
    pub params_at: BTreeMap<String, String>,
    /// Findings that are accepted for now.
    pub suppressions: Vec<Suppression>,
    /// Bounds on what one input may ask for.
    pub limits: LimitSettings,
    /// The service.
    pub serve: ServeSettings,
}

/// What was given on the command line or in the environment; it wins over the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// As in [`Config`].
    pub format: Option<Format>,
    /// As in [`Config`].
    pub fail_on: Option<FailOn>,
    /// As in [`Config`]; empty when not given.
    pub rules: Vec<String>,
    /// As in [`Config`].
    pub as_of: Option<Instant>,
    /// As in [`Config`].
    pub queries: Option<PathBuf>,
    /// As in [`Config`].
    pub add_queries: Option<PathBuf>,
    /// As in [`Config`].
    pub serve: ServeOverrides,
}

/// Says who taped a source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObserverBySource {
    /// Glob over source names as given to `analyze`: `gateway/*.ndjson`.
    pub source: String,
    /// Who saw it.
    pub observer: ObserverWord,
    /// Name of the tap.
    #[serde(default)]
    pub name: String,
    /// What passes there: an access log names no bodies by which webhook calls could be told.
    #[serde(default)]
    pub leg: LegWord,
}

/// Who calls whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LegWord {
    /// Clients call agents.
    #[default]
    Agent,
    /// Agents call the webhooks of clients.
    Webhook,
}

/// The sides that can see a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObserverWord {
    /// The calling side.
    Client,
    /// The called agent.
    Server,
    /// A party between them.
    Gateway,
    /// The receiver of webhook calls.
    Receiver,
}

impl ObserverWord {
    /// The word in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Gateway => "gateway",
            Self::Receiver => "receiver",
        }
    }
}

/// Files whose names and patterns are tried before the built-in ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vocabulary {
    /// Classes of error and status texts, places of skill ids: in the form of `queries/patterns.toml`.
    pub patterns: Option<PathBuf>,
    /// Names of attributes and fields: in the form of `queries/aliases.toml`.
    pub aliases: Option<PathBuf>,
}

/// Bounds on what one input may ask for; what is not set keeps the built-in value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Longest line, and longest element of a document, bytes.
    pub max_record_bytes: Option<usize>,
    /// Most bytes that one compressed input may inflate to.
    pub max_inflated_bytes: Option<u64>,
    /// Deepest nesting of JSON or protobuf.
    pub max_depth: Option<usize>,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no TOML, or says what cannot be.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// One-based.
        line: usize,
        /// One-based, in characters.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// One reference is given to two names.
    #[error("{}: {kind} reference \"{reference}\" belongs to both \"{first}\" and \"{second}\"", path.display())]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// `agents` or `clients`.
        kind: &'static str,
        /// The reference.
        reference: String,
        /// A name that claims it.
        first: String,
        /// Another.
        second: String,
    },
    /// A suppression that accepts everything, or says no reason.
    #[error("{place}: {message}")]
    Suppression {
        /// File and line.
        place: String,
        /// What is wrong.
        message: &'static str,
    },
    /// A glob that is none.
    #[error("{}: observers: \"{glob}\" is no glob: {message}", path.display())]
    Glob {
        /// The file.
        path: PathBuf,
        /// The glob.
        glob: String,
        /// What is wrong.
        message: &'static str,
    },
}

impl Config {
    /// Reads the file, if there is one, and lays what was given over it.
    ///
    /// # Errors
    /// When the file cannot be read or says what cannot be.
    pub fn load(path: Option<&Path>, given: Overrides) -> Result<Self, ConfigError> {
        let file = match path {
            Some(path) => File::read(path)?,
            None => File::default(),
        };
        let params_at = file.params.keys().map(|query| (query.get_ref().clone(), file.place(query.span()))).collect();
        let suppressions = file.suppress.iter().map(|table| table.get_ref().clone().read(file.place(table.span())));
        let suppressions = suppressions.collect::<Result<_, _>>()?;
        Ok(Self {
            format: given.format.or(file.format).unwrap_or_default(),
            fail_on: given.fail_on.or(file.fail_on).unwrap_or_default(),
            rules: if given.rules.is_empty() { file.rules } else { given.rules },
            as_of: given.as_of,
            queries: given.queries.or(file.queries),
            add_queries: given.add_queries.or(file.add_queries),
            agents: file.agents,
            clients: file.clients,
            observers: file.observers,
            exchange_keys: file.exchange_keys,
            vocabulary: file.vocabulary,
            params: file.params.into_iter().map(|(query, values)| (query.into_inner(), values)).collect(),
            params_at,
            suppressions,
            limits: file.limits,
            serve: file.serve.merge(given.serve),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, given: Overrides) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a2a-drift.toml");
        std::fs::write(&path, text).unwrap();
        let strip = |text: String| text.replace(&format!("{}/", folder.path().display()), "");
        match Config::load(Some(&path), given) {
            Ok(mut config) => {
                config.queries = config.queries.map(|p| p.strip_prefix(folder.path()).unwrap_or(&p).to_owned());
                Ok(config)
            }
            Err(error) => Err(strip(error.to_string())),
        }
    }

    #[test]
    fn what_is_given_wins_over_the_file_and_the_file_over_the_defaults() {
        let text = "fail_on = \"info\"\nformat = \"json\"\nrules = [\"a\"]\nqueries = \"mine\"";
        let config = load(text, Overrides { fail_on: Some(FailOn::Never), ..Overrides::default() }).unwrap();
        assert_eq!((config.fail_on, config.format), (FailOn::Never, Format::Json));
        assert_eq!((config.rules, config.queries), (vec!["a".to_owned()], Some(PathBuf::from("mine"))));
        assert_eq!(load("", Overrides::default()).unwrap(), Config::default());
    }

    #[test]
    fn a_mistake_is_shown_with_line_and_column() {
        let error = load("[agents]\n\n[limits]\nmax_deep = 3\n", Overrides::default()).unwrap_err();
        assert!(error.starts_with("a2a-drift.toml:4:1: unknown field `max_deep`"), "{error}");
        let error = load("fail_on = \"loud\"\n", Overrides::default()).unwrap_err();
        assert!(error.starts_with("a2a-drift.toml:1:11: unknown variant `loud`"), "{error}");
    }

    #[test]
    fn a_reference_belongs_to_one_name() {
        let error = load("[agents]\na = [\"http://x\"]\nb = [\"http://x\"]", Overrides::default()).unwrap_err();
        assert_eq!(error, "a2a-drift.toml: agents reference \"http://x\" belongs to both \"a\" and \"b\"");
    }

    #[test]
    fn observers_are_named_by_source() {
        let text = "[[observers]]\nsource = \"gateway/*\"\nobserver = \"gateway\"\nname = \"edge\"";
        let config = load(text, Overrides::default()).unwrap();
        assert_eq!((config.observers[0].observer.as_str(), config.observers[0].name.as_str()), ("gateway", "edge"));
        assert!(load(&text.replace("gateway/*", "a***"), Overrides::default()).unwrap_err().contains("no glob"));
        let leg = |text: &str| load(text, Overrides::default()).map(|config| config.observers[0].leg);
        assert_eq!(leg(text), Ok(LegWord::Agent));
        assert_eq!(leg(&format!("{text}\nleg = \"webhook\"")), Ok(LegWord::Webhook));
        assert!(leg(&format!("{text}\nleg = \"arm\"")).unwrap_err().contains("unknown variant `arm`"));
    }

    #[test]
    fn the_exit_code_follows_the_worst_finding() {
        assert!(FailOn::Warning.fails(Some(Severity::Critical)));
        assert!(!FailOn::Critical.fails(Some(Severity::Warning)));
        assert!(FailOn::Info.fails(Some(Severity::Info)));
        assert!(!FailOn::Never.fails(Some(Severity::Critical)));
        assert!(!FailOn::Info.fails(None));
    }
}
