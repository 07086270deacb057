//! The program's own log, traces and metrics: what it does, apart from its results.
//!
//! In: how much and in which form. Out: a `tracing` subscriber, which logs to standard error and, in the service, exports.
//! Never writes to standard output, and never fails the program because nobody reads its log.

mod export;

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

pub use export::{ExportError, Exporting, Instruments, endpoints, instance_id};

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
    start(verbosity, form, &Exporting::default());
}

/// Starts logging, and the traces of a service where they are exported.
pub fn init_service(verbosity: Verbosity, form: LogForm, exporting: &Exporting) {
    start(verbosity, form, exporting);
}

fn start(verbosity: Verbosity, form: LogForm, exporting: &Exporting) {
    let level = match verbosity {
        Verbosity::Quiet => "error",
        Verbosity::Normal => "warn",
        Verbosity::Verbose => "warn,a2a_drift=info",
        Verbosity::Debug => "warn,a2a_drift=debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    // Without the last: a log line that cannot be written would be reported by a macro that panics.
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr).log_internal_errors(false);
    let log = match form {
        LogForm::Text => log.with_ansi(coloured()).with_target(false).boxed(),
        LogForm::Json => log.json().boxed(),
    };
    // Only what this program does itself: spans of the libraries that export would be exported in turn.
    let own = || Targets::new().with_target("a2a_drift", tracing::Level::INFO);
    let traces = exporting.tracer().map(|tracer| tracing_opentelemetry::layer().with_tracer(tracer).with_filter(own()));
    let started = tracing_subscriber::registry().with(traces).with(log.with_filter(filter)).try_init();
    if let Err(error) = started {
        tracing::debug!(%error, "logging was started before");
    }
}

fn coloured() -> bool {
    let choice = anstream::AutoStream::choice(&io::stderr());
    io::stderr().is_terminal() && choice != anstream::ColorChoice::Never
}
