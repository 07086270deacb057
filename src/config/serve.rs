//! Settings of the service: where it listens, what it keeps, whom it tells.
//!
//! In: the `[serve]` table of the configuration file. Out: [`ServeSettings`], every value set. Opens nothing: whether a
//! port is free or a key file readable is found out when it is used.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::listen::{Listen, some_address};

/// Where the service listens, and what it keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeSettings {
    /// OTLP over gRPC; none does not listen.
    pub otlp_grpc: Option<SocketAddr>,
    /// OTLP over HTTP, and exchanges of proxies; none does not listen.
    pub otlp_http: Option<SocketAddr>,
    /// Metrics, findings API, health.
    pub admin: SocketAddr,
    /// Folder of log and lake.
    pub data: PathBuf,
    /// Files and folders that are read as they grow.
    pub follow: Vec<PathBuf>,
    /// The rest of what such a file ends in the middle of is waited for this long.
    pub follow_patience: Duration,
    /// Pause between two evaluations.
    pub tick: Duration,
    /// A trace is taken for complete when nothing of it came for this long.
    pub settle: Duration,
    /// What is dated later than it arrives by more than this is not taken.
    pub max_ahead: Duration,
    /// File that holds the token that senders and readers must show; none asks for none.
    pub token_file: Option<PathBuf>,
    /// Origins of browsers that may ask; none of them, unless named.
    pub cors_origins: Vec<String>,
    /// Certificate and key; none serves in the clear.
    pub tls: Option<TlsFiles>,
    /// What a sender may ask for.
    pub limits: ReceiverLimits,
    /// How long what is kept.
    pub retention: Retention,
    /// A finding about something that happened is over so long after its last evidence; none: when that leaves memory.
    pub active: Option<Duration>,
    /// Facts move from the log to the lake, where queries see them, this often: the longer, the fewer files.
    pub lake_every: Duration,
    /// Whom to tell of findings directly.
    pub alertmanager: Option<AlertmanagerSettings>,
    /// How a url of the findings' runbooks begins.
    pub runbook_base: String,
}

/// Files that make a listener speak TLS, in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// Certificate, with those between it and the root.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
    /// Authority that senders' certificates must come from; none asks for no certificate.
    #[serde(default)]
    pub client_authority: Option<PathBuf>,
    /// Metrics, findings API and health speak TLS as well; they ask for no certificate.
    #[serde(default)]
    pub admin: bool,
}

/// What a sender may ask for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiverLimits {
    /// Bytes of one request, as sent and inflated. 64 MiB is what OTLP recommends.
    pub max_request_bytes: usize,
    /// Bytes of requests that wait to be taken in; above it senders are told to come again.
    pub max_waiting_bytes: usize,
    /// Connections at once, each listener for itself.
    pub max_connections: usize,
    /// Agents that have metrics of their own; the rest share `__other__`.
    pub max_agents: usize,
}

impl Default for ReceiverLimits {
    fn default() -> Self {
        Self { max_request_bytes: 64 << 20, max_waiting_bytes: 256 << 20, max_connections: 1024, max_agents: 1000 }
    }
}

/// How long what is kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// In memory, since the last fact of a task.
    #[serde(deserialize_with = "duration")]
    pub memory: Duration,
    /// Facts in memory; above it the oldest tasks leave earlier. Each takes 10 to 17 KB in all, by how many come together and
    /// how many findings they make: the default is for a machine of 4 GiB.
    pub memory_facts: usize,
    /// Looks at cards, in memory.
    #[serde(deserialize_with = "duration")]
    pub cards: Duration,
    /// On disk.
    #[serde(deserialize_with = "duration")]
    pub disk: Duration,
    /// Bytes on disk; above it the oldest hours leave earlier. 0 is no bound.
    pub disk_bytes: u64,
}

const HOUR: Duration = Duration::from_secs(3600);

impl Default for Retention {
    fn default() -> Self {
        Self { memory: 24 * HOUR, memory_facts: 200_000, cards: 30 * 24 * HOUR, disk: 30 * 24 * HOUR, disk_bytes: 0 }
    }
}

/// Alertmanagers that are told of findings directly, beside Prometheus.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertmanagerSettings {
    /// Base urls; each is told.
    pub urls: Vec<String>,
    /// Least severity that is told.
    #[serde(default = "warning")]
    pub severity: SeverityWord,
}

/// A severity as written in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeverityWord {
    /// Context.
    Info,
    /// Look today.
    Warning,
    /// Page now.
    Critical,
}

fn warning() -> SeverityWord {
    SeverityWord::Warning
}

impl From<SeverityWord> for crate::findings::Severity {
    fn from(word: SeverityWord) -> Self {
        match word {
            SeverityWord::Info => Self::Info,
            SeverityWord::Warning => Self::Warning,
            SeverityWord::Critical => Self::Critical,
        }
    }
}

impl ServeSettings {
    /// Keys of the table by which other settings differ from these; `active` apart, which may change at any time.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let keys = [
            ("otlp_grpc", self.otlp_grpc != other.otlp_grpc),
            ("otlp_http", self.otlp_http != other.otlp_http),
            ("admin", self.admin != other.admin),
            ("data", self.data != other.data),
            ("follow", self.follow != other.follow),
            ("follow_patience", self.follow_patience != other.follow_patience),
            ("tick", self.tick != other.tick),
            ("settle", self.settle != other.settle),
            ("max_ahead", self.max_ahead != other.max_ahead),
            ("token_file", self.token_file != other.token_file),
            ("cors_origins", self.cors_origins != other.cors_origins),
            ("tls", self.tls != other.tls),
            ("limits", self.limits != other.limits),
            ("retention", self.retention != other.retention),
            ("lake_every", self.lake_every != other.lake_every),
            ("alertmanager", self.alertmanager != other.alertmanager),
            ("runbook_base", self.runbook_base != other.runbook_base),
        ];
        keys.into_iter().filter(|(_, differ)| *differ).map(|(key, _)| format!("serve.{key}")).collect()
    }
}

impl Default for ServeSettings {
    fn default() -> Self {
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        Self {
            otlp_grpc: Some(local(4317)),
            otlp_http: Some(local(4318)),
            admin: local(9464),
            data: PathBuf::from("a2a-drift-data"),
            follow: Vec::new(),
            follow_patience: Duration::from_secs(5),
            tick: Duration::from_secs(1),
            settle: Duration::from_secs(60),
            max_ahead: 2 * HOUR,
            token_file: None,
            cors_origins: Vec::new(),
            tls: None,
            limits: ReceiverLimits::default(),
            retention: Retention::default(),
            active: Some(HOUR),
            lake_every: HOUR,
            alertmanager: None,
            runbook_base: String::new(),
        }
    }
}

/// What was given on the command line or in the environment; it wins over the file.
#[derive(Debug, Clone, Default)]
pub struct ServeOverrides {
    /// As in [`ServeSettings`]; `off` is inside.
    pub otlp_grpc: Option<Listen>,
    /// As in [`ServeSettings`].
    pub otlp_http: Option<Listen>,
    /// As in [`ServeSettings`].
    pub admin: Option<SocketAddr>,
    /// As in [`ServeSettings`].
    pub data: Option<PathBuf>,
    /// As in [`ServeSettings`]; empty when not given.
    pub follow: Vec<PathBuf>,
    /// As in [`ServeSettings`].
    pub token_file: Option<PathBuf>,
    /// Alertmanagers; empty when not given.
    pub alertmanagers: Vec<String>,
    /// As in [`ServeSettings`].
    pub runbook_base: Option<String>,
}

/// The table as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ServeTable {
    otlp_grpc: Option<Listen>,
    otlp_http: Option<Listen>,
    #[serde(deserialize_with = "some_address")]
    admin: Option<SocketAddr>,
    data: Option<PathBuf>,
    follow: Vec<PathBuf>,
    #[serde(deserialize_with = "some_duration")]
    follow_patience: Option<Duration>,
    #[serde(deserialize_with = "some_duration")]
    tick: Option<Duration>,
    #[serde(deserialize_with = "some_duration")]
    settle: Option<Duration>,
    #[serde(deserialize_with = "some_duration")]
    max_ahead: Option<Duration>,
    token_file: Option<PathBuf>,
    cors_origins: Vec<String>,
    tls: Option<TlsFiles>,
    limits: ReceiverLimits,
    retention: Retention,
    active: Option<Patience>,
    #[serde(deserialize_with = "some_duration")]
    lake_every: Option<Duration>,
    alertmanager: Option<AlertmanagerSettings>,
    runbook_base: Option<String>,
}

impl ServeTable {
    /// Paths of the file are relative to its folder.
    pub(super) fn resolve_paths(&mut self, folder: &Path) {
        let tls = self
            .tls
            .iter_mut()
            .flat_map(|tls| [&mut tls.certificate, &mut tls.key].into_iter().chain(tls.client_authority.as_mut()));
        let own = self.data.iter_mut().chain(&mut self.token_file).chain(&mut self.follow);
        for path in own.chain(tls) {
            *path = folder.join(&*path);
        }
    }

    /// The settings, with what was given laid over the table, and that over the defaults.
    pub(super) fn merge(self, given: ServeOverrides) -> ServeSettings {
        let default = ServeSettings::default();
        let listen = |given: Option<Listen>, file: Option<Listen>, default: Option<SocketAddr>| {
            given.or(file).map_or(default, Listen::address)
        };
        let urls = given.alertmanagers;
        let alertmanager = match self.alertmanager {
            Some(table) if urls.is_empty() => Some(table),
            table if !urls.is_empty() => {
                Some(AlertmanagerSettings { urls, severity: table.map_or_else(warning, |table| table.severity) })
            }
            _ => None,
        };
        ServeSettings {
            otlp_grpc: listen(given.otlp_grpc, self.otlp_grpc, default.otlp_grpc),
            otlp_http: listen(given.otlp_http, self.otlp_http, default.otlp_http),
            admin: given.admin.or(self.admin).unwrap_or(default.admin),
            data: given.data.or(self.data).unwrap_or(default.data),
            follow: if given.follow.is_empty() { self.follow } else { given.follow },
            follow_patience: self.follow_patience.unwrap_or(default.follow_patience),
            tick: self.tick.unwrap_or(default.tick),
            settle: self.settle.unwrap_or(default.settle),
            max_ahead: self.max_ahead.unwrap_or(default.max_ahead),
            token_file: given.token_file.or(self.token_file),
            cors_origins: self.cors_origins,
            tls: self.tls,
            limits: self.limits,
            retention: self.retention,
            active: self.active.map_or(default.active, |active| active.0),
            lake_every: self.lake_every.unwrap_or(default.lake_every),
            alertmanager,
            runbook_base: given.runbook_base.or(self.runbook_base).unwrap_or_default(),
        }
    }
}

/// A duration, or `off`: none.
#[derive(Debug)]
struct Patience(Option<Duration>);

impl<'de> Deserialize<'de> for Patience {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "off" => Ok(Self(None)),
            text => parse(text).map(|duration| Self(Some(duration))).map_err(serde::de::Error::custom),
        }
    }
}

/// `90s`, `15m`, `24h`, `30days`.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

fn parse(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("\"{text}\" is no duration like 15m or 30d: {error}"))
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ServeTable, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn what_is_given_wins_over_the_table_and_the_table_over_the_defaults() {
        let table = read("otlp_grpc = \"off\"\nadmin = \"0.0.0.0:80\"\ntick = \"250ms\"\n[retention]\nmemory = \"2h\"")
            .unwrap();
        let given = ServeOverrides { admin: Some(([127, 0, 0, 1], 81).into()), ..ServeOverrides::default() };
        let settings = table.merge(given);
        assert_eq!(settings.otlp_grpc, None);
        assert_eq!(settings.otlp_http, ServeSettings::default().otlp_http);
        assert_eq!(settings.admin.to_string(), "127.0.0.1:81");
        assert_eq!(settings.tick, Duration::from_millis(250));
        assert_eq!(settings.retention, Retention { memory: 2 * HOUR, ..Retention::default() });
    }

    #[test]
    fn localhost_may_be_named_wherever_an_address_is() {
        let table =
            read("admin = \"localhost:9464\"\notlp_grpc = \"localhost:1\"\notlp_http = \"localhost:2\"").unwrap();
        let settings = table.merge(ServeOverrides::default());
        let listens = [Some(settings.admin), settings.otlp_grpc, settings.otlp_http];
        let listens = listens.map(|address| address.unwrap().to_string());
        assert_eq!(listens, ["127.0.0.1:9464", "127.0.0.1:1", "127.0.0.1:2"]);
    }

    #[test]
    fn nobody_outside_the_machine_reaches_a_service_that_was_not_told_to_listen() {
        let settings = ServeSettings::default();
        let listens = [settings.otlp_grpc, settings.otlp_http, Some(settings.admin)];
        assert!(listens.into_iter().flatten().all(|address| address.ip().is_loopback()));
    }

    #[test]
    fn a_wrong_value_is_told_with_what_would_be_right() {
        let error = read("otlp_http = \"localhost\"").unwrap_err();
        assert!(error.contains("\"localhost\" is no address and port") && error.ends_with("or \"off\""), "{error}");
        let error = read("admin = \"9464\"").unwrap_err();
        assert!(error.contains("\"9464\" is no address and port") && !error.contains("off"), "{error}");
        let error = read("tick = \"soon\"").unwrap_err();
        assert!(error.contains("no duration like 15m"), "{error}");
    }

    #[test]
    fn settings_that_differ_are_named() {
        let merged = |text: &str| read(text).unwrap().merge(ServeOverrides::default());
        let other = merged(
            "tick = \"2s\"\nactive = \"off\"\n[retention]\nmemory = \"2h\"\n[tls]\ncertificate = \"c\"\nkey = \"k\"",
        );
        assert_eq!(merged("").differences(&other), ["serve.tick", "serve.tls", "serve.retention"]);
        assert!(other.differences(&other).is_empty());
    }

    #[test]
    fn findings_end_after_an_hour_unless_the_table_says_another_time_or_never() {
        let active = |text: &str| read(text).unwrap().merge(ServeOverrides::default()).active;
        assert_eq!(active(""), Some(HOUR));
        assert_eq!(active("active = \"5m\""), Some(Duration::from_secs(300)));
        assert_eq!(active("active = \"off\""), None);
        assert!(read("active = \"never\"").unwrap_err().contains("no duration like 15m"));
    }

    #[test]
    fn urls_given_replace_those_of_the_table_and_keep_its_severity() {
        let table = read("[alertmanager]\nurls = [\"http://a:9093\"]\nseverity = \"critical\"").unwrap();
        let given = ServeOverrides { alertmanagers: vec!["http://b:9093".to_owned()], ..ServeOverrides::default() };
        let alertmanager = table.merge(given).alertmanager.unwrap();
        assert_eq!(alertmanager.urls, ["http://b:9093"]);
        assert_eq!(alertmanager.severity, SeverityWord::Critical);
    }
}
