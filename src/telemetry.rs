//! The program's own log: what it does, on standard error, apart from its results.
//!
//! In: how much and in which form. Out: a `tracing` subscriber. Never writes to standard output, and never fails the
//! program because nobody reads its log.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// How much to log where `RUST_LOG` says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors.
    Quiet,
    /// Also warnings.
    Normal,
    /// Also what is done.
    Verbose,
    /// Also how.
    Debug,
}

/// Form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    /// For people; coloured on a terminal.
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging. Called twice, the first call stays in force.
pub fn init(verbosity: Verbosity, form: LogForm) {
    let level = match verbosity {
        Verbosity::Quiet => "error",
        Verbosity::Normal => "warn",
        Verbosity::Verbose => "warn,a2a_drift=info",
        Verbosity::Debug => "warn,a2a_drift=debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // Without the last: a log line that cannot be written would be reported by a macro that panics.
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).log_internal_errors(false);
    let started = match form {
        LogForm::Text => builder.with_ansi(coloured()).with_target(false).try_init(),
        LogForm::Json => builder.json().try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "logging was started before");
    }
}

fn coloured() -> bool {
    let choice = anstream::AutoStream::choice(&io::stderr());
    io::stderr().is_terminal() && choice != anstream::ColorChoice::Never
}
