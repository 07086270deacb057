//! `query`: a question in SQL, over the facts of captures.
//!
//! In: SQL, paths. Out: its rows on standard output or in a file. Only reads.

use std::fmt::Write;
use std::io::{IsTerminal, Write as _};

use anyhow::{Context, bail};

use super::analyze::gather;
use super::progress::Progress;
use super::setup::engine;
use super::{Outcome, configure, print};
use crate::cli::{Global, Query, RowsFormat};
use crate::config::Overrides;
use crate::publish::rows::{self, Form};
use crate::rules::Engine;

/// Runs `query`.
pub(super) fn run(args: Query, global: &Global) -> anyhow::Result<Outcome> {
    let config = configure(global, Overrides::default())?;
    let engine = engine(&config)?;
    if args.tables {
        print(&tables(&engine)?)?;
        return Ok(Outcome::Clean);
    }
    let sql = args.sql.unwrap_or_default();
    let form = match args.format {
        RowsFormat::Table => Form::Table,
        RowsFormat::Json => Form::Json,
        RowsFormat::Csv => Form::Csv,
        RowsFormat::Parquet => Form::Parquet,
    };
    if form == Form::Parquet && args.output.is_none() && std::io::stdout().is_terminal() {
        bail!("Parquet is nothing for a terminal: name a file with --output, or pipe it");
    }
    let paths = if args.paths.is_empty() { vec![config.serve.data.clone()] } else { args.paths };
    let progress = Progress::start(!global.quiet && global.verbose == 0);
    let (facts, account) = gather(&paths, &config, &progress)?;
    if facts.is_empty() {
        let rejects = account.close(0).rejected();
        bail!(
            "nothing of A2A was understood ({rejects} rejects); `a2a-drift analyze` says what the input was taken for"
        );
    }
    progress.doing(format!("asking {} facts", facts.len()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(engine.ask(facts.batches()?, &sql))?;
    drop(progress);
    let bytes = rows::render(&answer, form)?;
    match &args.output {
        Some(path) => std::fs::write(path, bytes).with_context(|| path.display().to_string())?,
        None => match std::io::stdout().lock().write_all(&bytes) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                return Err(anyhow::Error::new(error).context("standard output"));
            }
            _ => {}
        },
    }
    Ok(Outcome::Clean)
}

/// What can be asked: tables and views, with their columns.
fn tables(engine: &Engine) -> anyhow::Result<String> {
    let mut text = String::new();
    for (name, schema) in engine.readable()? {
        writeln!(text, "{name}")?;
        for field in schema.fields() {
            writeln!(text, "  {:<28} {}", field.name(), field.data_type())?;
        }
    }
    Ok(text)
}
