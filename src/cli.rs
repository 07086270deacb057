//! Argument types: what can be typed on the command line.
//!
//! In: the process's arguments and `A2A_DRIFT_*` variables. Out: [`Cli`]. Holds no default that a configuration file may
//! set: an option that was not given is `None`, and `config` decides.

mod moment;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::config::{FailOn, Format, Listen, address};
use crate::instant::Instant;

pub use moment::Moment;

/// Find where what A2A agents advertise, what they do and what their callers believe have drifted apart.
#[derive(Debug, Parser)]
#[command(
    name = "a2a-drift",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 could not judge."
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Configuration file (TOML); flags and A2A_DRIFT_* variables win over it
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "A2A_DRIFT_CONFIG",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    pub config: Option<PathBuf>,
    /// Read rules, views and word lists from this folder instead of the built-in ones
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "A2A_DRIFT_QUERIES",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    pub queries: Option<PathBuf>,
    /// Also read rules and views from this folder; one of the same name is read instead of the other
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "A2A_DRIFT_ADD_QUERIES",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    pub add_queries: Option<PathBuf>,
    /// Show every finding in full and log more; twice for debugging
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet", help_heading = "Global options")]
    pub verbose: u8,
    /// Print the verdict and the findings only
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub quiet: bool,
    /// Form of the program's own log on standard error
    #[arg(
        long,
        global = true,
        value_name = "FORM",
        env = "A2A_DRIFT_LOG_FORMAT",
        hide_env_values = true,
        default_value = "text",
        help_heading = "Global options"
    )]
    pub log_format: LogFormat,
}

/// Form of the program's own log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Judge captures and logs: what has drifted, since when, whose fault, what to do
    Analyze(Analyze),
    /// Fingerprint agent cards, or tell what changed between two
    #[command(subcommand)]
    Card(Card),
    /// Print the completions of a shell
    Completions(Completions),
    /// Tell which rules captures and logs can feed, and what to turn on for the others
    Coverage(Coverage),
    /// Print the manual page, or write one a command into a folder
    Man(Man),
    /// Run the service: receive OTLP, judge while it comes, publish for Prometheus and Alertmanager
    Serve(Box<Serve>),
    /// Ask the facts of captures in SQL
    Query(Query),
    /// List, show, check and test the rules
    #[command(subcommand)]
    Rules(Rules),
}

/// Options of `analyze`.
#[derive(Debug, Args)]
pub struct Analyze {
    /// Files, folders, globs, or `-` for standard input. Formats are recognised by content: HTTP exchanges as NDJSON, HAR,
    /// OTLP traces and logs (protobuf, JSON), JSON logs, agent cards; gzip and zstd
    #[arg(value_name = "PATH", required_unless_present = "print_schema")]
    pub paths: Vec<PathBuf>,
    /// Form of the result [default: table]
    #[arg(long, value_name = "FORM", env = "A2A_DRIFT_FORMAT", hide_env_values = true)]
    pub format: Option<Format>,
    /// Exit with 1 from this severity on [default: warning]
    #[arg(long, value_name = "SEVERITY", env = "A2A_DRIFT_FAIL_ON", hide_env_values = true)]
    pub fail_on: Option<FailOn>,
    /// Evaluate only this rule; may be given several times
    #[arg(long = "rule", value_name = "ID", env = "A2A_DRIFT_RULE", hide_env_values = true, value_delimiter = ',')]
    pub rules: Vec<String>,
    /// Exit with 2 when this rule is blind on the input; may be given several times, `all` for every rule asked for
    #[arg(long = "need", value_name = "ID", env = "A2A_DRIFT_NEED", hide_env_values = true, value_delimiter = ',')]
    pub needed: Vec<String>,
    /// Show findings as they stood at this instant, such as 2026-11-30T06:15:00Z; a date alone is the end of that day in UTC
    /// [default: each agent's last fact]
    #[arg(long, value_name = "WHEN", env = "A2A_DRIFT_AS_OF", hide_env_values = true, value_parser = moment::as_of)]
    pub as_of: Option<Instant>,
    /// Show only what was seen in this window
    #[command(flatten)]
    pub when: When,
    /// Leave out findings that are in this result of before (`--format json` or `ndjson`)
    #[arg(long, value_name = "FILE", env = "A2A_DRIFT_BASELINE", hide_env_values = true)]
    pub baseline: Option<PathBuf>,
    /// Also write the fact tables as Parquet files into this folder, for other tools to query
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
    /// Print the JSON Schema of `--format json` and stop
    #[arg(long)]
    pub print_schema: bool,
}

/// A window of time.
#[derive(Debug, Clone, Copy, Args)]
pub struct When {
    /// Show only what was seen at or after this: an instant, a date (its beginning, UTC), or a time before the end of the input
    /// such as 2h. Everything is read and judged all the same: half of a task would look like drift
    #[arg(long, value_name = "WHEN", value_parser = moment::since)]
    pub since: Option<Moment>,
    /// Show only what was first seen at or before this, in the same forms; a date is the end of that day
    #[arg(long, value_name = "WHEN", value_parser = moment::until)]
    pub until: Option<Moment>,
}

/// Options of `coverage`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 every rule asked for can judge, at least in part; 1 some are blind; 2 nothing was \
    understood.\n\nExamples:\n  \
    a2a-drift coverage day.har traces/\n  \
    a2a-drift coverage --rule split_brain,unknown_skill --format json gateway.log"
)]
pub struct Coverage {
    /// As for `analyze`
    #[arg(value_name = "PATH", required_unless_present = "print_schema")]
    pub paths: Vec<PathBuf>,
    /// Form of the result
    #[arg(long, value_name = "FORM", default_value = "table")]
    pub format: CoverageFormat,
    /// Look at this rule only; may be given several times
    #[arg(long = "rule", value_name = "ID", env = "A2A_DRIFT_RULE", hide_env_values = true, value_delimiter = ',')]
    pub rules: Vec<String>,
    /// Count only what was observed in this window
    #[command(flatten)]
    pub when: Observed,
    /// Print the JSON Schema of `--format json` and stop
    #[arg(long)]
    pub print_schema: bool,
}

/// A window of time in which facts were observed.
#[derive(Debug, Clone, Copy, Args)]
pub struct Observed {
    /// Count only what was observed at or after this: an instant, a date (its beginning, UTC), or a time before the end of the
    /// input such as 2h
    #[arg(long, value_name = "WHEN", value_parser = moment::since)]
    pub since: Option<Moment>,
    /// Count only what was observed at or before this, in the same forms; a date is the end of that day
    #[arg(long, value_name = "WHEN", value_parser = moment::until)]
    pub until: Option<Moment>,
}

/// Form of coverage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CoverageFormat {
    /// A page for people
    Table,
    /// One JSON object
    Json,
    /// Markdown, with what to turn on as a list to tick off
    Markdown,
}

/// Options of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "For bash: a2a-drift completions bash > ~/.local/share/bash-completion/completions/a2a-drift")]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Debug, Args)]
#[command(after_help = "To read it: a2a-drift man | man -l -")]
pub struct Man {
    /// Write one page a command into this folder
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Options of `serve`; what is not given is as the `[serve]` table of the configuration file says.
#[derive(Debug, Args)]
#[command(after_help = "Send OTLP to the first two addresses and let Prometheus scrape the third:\n  \
    a2a-drift serve --data /var/lib/a2a-drift\n  \
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 your-agent\n  \
    curl http://127.0.0.1:9464/api/v1/findings")]
pub struct Serve {
    /// Address for OTLP over gRPC, or `off` [default: 127.0.0.1:4317]
    #[arg(long, value_name = "ADDRESS", env = "A2A_DRIFT_OTLP_GRPC", hide_env_values = true, value_parser = Listen::parse)]
    pub otlp_grpc: Option<Listen>,
    /// Address for OTLP over HTTP and for exchanges (POST /v1/a2a/exchanges), or `off` [default: 127.0.0.1:4318]
    #[arg(long, value_name = "ADDRESS", env = "A2A_DRIFT_OTLP_HTTP", hide_env_values = true, value_parser = Listen::parse)]
    pub otlp_http: Option<Listen>,
    /// Address for /metrics, the findings API and health [default: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDRESS", env = "A2A_DRIFT_ADMIN", hide_env_values = true, value_parser = address)]
    pub admin: Option<SocketAddr>,
    /// Folder of what was received; made if it is not there [default: a2a-drift-data]
    #[arg(long, value_name = "DIR", env = "A2A_DRIFT_DATA", hide_env_values = true)]
    pub data: Option<PathBuf>,
    /// File or folder to read as it grows; may be given several times
    #[arg(long, value_name = "PATH", env = "A2A_DRIFT_FOLLOW", hide_env_values = true, value_delimiter = ',')]
    pub follow: Vec<PathBuf>,
    /// File with the token that senders and readers must show (Authorization: Bearer TOKEN)
    #[arg(long, value_name = "FILE", env = "A2A_DRIFT_TOKEN_FILE", hide_env_values = true)]
    pub token_file: Option<PathBuf>,
    /// Alertmanager to tell of findings directly; may be given several times
    #[arg(
        long = "alertmanager",
        value_name = "URL",
        env = "A2A_DRIFT_ALERTMANAGER",
        hide_env_values = true,
        value_delimiter = ','
    )]
    pub alertmanagers: Vec<String>,
    /// How urls of runbooks begin, as seen from where alerts are read
    #[arg(long, value_name = "URL", env = "A2A_DRIFT_RUNBOOK_BASE", hide_env_values = true)]
    pub runbook_base: Option<String>,
    /// Read configuration and rules, say what is wrong with them, and stop
    #[arg(long)]
    pub check: bool,
}

/// Options of `query`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    a2a-drift query \"SELECT agent, outcome, count(*) AS calls FROM exchanges GROUP BY ALL ORDER BY calls DESC\" day.har\n  \
    a2a-drift query --format csv \"SELECT * FROM tasks\" captures/ > tasks.csv\n  \
    a2a-drift query --tables")]
pub struct Query {
    /// One SELECT over tables and views; `--tables` lists them
    #[arg(value_name = "SQL", required_unless_present = "tables")]
    pub sql: Option<String>,
    /// As for `analyze`, and the folder of `serve`, also while it runs [default: that of the settings]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Form of the rows [default: by the ending of --output (csv, json, ndjson, parquet), else table]
    #[arg(long, value_name = "FORM")]
    pub format: Option<RowsFormat>,
    /// Write the rows into this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// List tables and views with their columns, or those of the ones named instead of SQL, and stop
    #[arg(long)]
    pub tables: bool,
}

/// Form of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowsFormat {
    /// Aligned columns; on a terminal that is too narrow for them, each row by itself
    Table,
    /// One JSON object a line
    Json,
    /// Comma separated, with a header line
    Csv,
    /// A Parquet file
    Parquet,
}

/// What the hashes of a card are made of.
const HASHES: &str = "\
What is hashed:
  fingerprint  ids and modes of the skills, streaming, push notifications, as
               the card spells them: the hash that clients compute for their
               logs. One card may have two, in the shapes of A2A 0.3 and 1.0
  contract     the same, in one model for all shapes, defaults filled in: what
               rules compare. Pages show how it begins: card 1.0.0, contract
               2aa685fc
  security     schemes, and what is required of callers
  wording      name, descriptions, tags, examples, provider
  body         all of the document, in any order and with any blanks";

/// What to do with cards.
#[derive(Debug, Subcommand)]
pub enum Card {
    /// Print the hashes of each card: the skill fingerprint that clients log, contract, security, wording, body
    #[command(after_help = HASHES)]
    Fingerprint {
        /// Card files, or captures in which cards were fetched
        #[arg(value_name = "CARD", required = true)]
        cards: Vec<PathBuf>,
    },
    /// Tell in words what changed; exit with 1 if anything did
    #[command(after_help = "Exit codes: 0 nothing changed, 1 something did, 2 there are no two cards to compare.")]
    Diff {
        /// The card before; alone, a capture in which cards were fetched again
        #[arg(value_name = "BEFORE")]
        before: PathBuf,
        /// The card after
        #[arg(value_name = "AFTER")]
        after: Option<PathBuf>,
    },
}

/// What to do with the rules.
#[derive(Debug, Subcommand)]
pub enum Rules {
    /// One line a rule: category, id, severity, title
    List,
    /// A rule: what it says and needs, its runbook, its query
    Show {
        /// The rule
        #[arg(value_name = "ID")]
        id: String,
        /// Print its file as it is, to begin a rule of your own with
        #[arg(long)]
        sql: bool,
    },
    /// Print the page of all rules as Markdown: index, runbooks, shared views
    Docs,
    /// Print the Prometheus alerts on the rules and on the service, as a rule file
    Alerts {
        /// Where the runbooks can be read: the address of this program's source tree, as your on-call reaches it
        /// [default: paths within that tree]
        #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
        runbook_base: String,
    },
    /// Run your own cases for your own rules: what must be found in a capture, and what must not
    Test(RulesTest),
    /// Look for mistakes in a folder of rules and views; print them as `path:line:column: message`
    Check {
        /// The folder [default: --queries, else the built-in rules]
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Options of `rules test`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 every case holds, 1 some do not, 2 a case or a rule cannot be read.\n\n\
    A case is DIR/cases/RULE/fires_NAME/case.toml or DIR/cases/RULE/quiet_NAME/case.toml. Lines of it come from the case itself \
    (raw), or from captures: files beside the case, or below DIR/captures (from). How a case is written: tests/rules/README.md in \
    the source tree.")]
pub struct RulesTest {
    /// Folder with cases, and with rules and views if they are yours; else those of --queries, else the built-in ones
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Run only the cases of this rule; may be given several times
    #[arg(long = "rule", value_name = "ID", value_delimiter = ',')]
    pub rules: Vec<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_argument_types_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn rules_may_be_repeated_or_separated_by_commas() {
        let cli = Cli::try_parse_from(["a2a-drift", "analyze", "x", "--rule", "a,b", "--rule", "c"]).unwrap();
        let Command::Analyze(analyze) = cli.command else { panic!("not analyze") };
        assert_eq!(analyze.rules, ["a", "b", "c"]);
    }
}
