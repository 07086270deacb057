//! `query`: a question in SQL, over the facts of captures.
//!
//! In: SQL, paths. Out: its rows on standard output or in a file. Only reads.

use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use anstyle::Style;
use anyhow::{Context, bail};
use arrow::datatypes::DataType;

use super::analyze::gather;
use super::progress::Progress;
use super::setup::engine;
use super::{Outcome, configure, page_width, print, terminal_width};
use crate::cli::{Global, Query, RowsFormat};
use crate::config::{Config, Overrides};
use crate::page::Page;
use crate::publish::rows::{self, Form};
use crate::publish::{clean, diagnosis};
use crate::rules::{AskError, Engine, Words};
use crate::tables::Facts;

/// The form that the ending of a file's name stands for.
fn by_ending(output: &Path) -> Option<RowsFormat> {
    match output.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(RowsFormat::Csv),
        "json" | "jsonl" | "ndjson" => Some(RowsFormat::Json),
        "parquet" => Some(RowsFormat::Parquet),
        _ => None,
    }
}

/// Runs `query`.
pub(super) fn run(args: Query, global: &Global) -> anyhow::Result<Outcome> {
    let config = configure(global, Overrides::default())?;
    let engine = engine(&config)?;
    if args.tables {
        let paths = args.paths.iter().map(|path| path.to_string_lossy().into_owned());
        print(&tables(&engine, &args.sql.clone().into_iter().chain(paths).collect::<Vec<_>>())?)?;
        return Ok(Outcome::Clean);
    }
    let sql = args.sql.unwrap_or_default();
    if Path::new(&sql).exists() {
        bail!("the first argument is SQL, and {sql} is a path: a2a-drift query \"SELECT ...\" {sql}");
    }
    let form = match args.format.or_else(|| by_ending(args.output.as_deref()?)).unwrap_or(RowsFormat::Table) {
        RowsFormat::Table => terminal_width().filter(|_| args.output.is_none()).map_or(Form::Table, Form::Fit),
        RowsFormat::Json => Form::Json,
        RowsFormat::Csv => Form::Csv,
        RowsFormat::Parquet => Form::Parquet,
    };
    if form == Form::Parquet && args.output.is_none() && std::io::stdout().is_terminal() {
        bail!("Parquet is nothing for a terminal: name a file with --output, or pipe it");
    }
    let paths = if args.paths.is_empty() { vec![data(&config)?] } else { args.paths };
    if let Some(output) = &args.output {
        is_no_input(output, &paths)?;
    }
    // A mistake in the question is told before much is read.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(engine.ask(Facts::default().batches()?, &sql))?;
    let progress = Progress::start(!global.quiet && global.verbose == 0);
    let (facts, account) = gather(&paths, &config, &progress)?;
    if facts.is_empty() {
        let intake = account.close(0);
        if let Some(waiting) = diagnosis::waiting(&intake) {
            bail!("{waiting}");
        }
        let rejects = match intake.rejected() {
            1 => "1 reject".to_owned(),
            rejects => format!("{rejects} rejects"),
        };
        bail!("nothing of A2A was understood ({rejects}); `a2a-drift analyze` says what the input was taken for");
    }
    progress.doing(format!("asking {} facts", facts.len()));
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

/// The folder of the service: what is asked where no path is given.
fn data(config: &Config) -> anyhow::Result<PathBuf> {
    let data = &config.serve.data;
    if !data.exists() {
        bail!("no PATH given, and the service's folder {} is not there", data.display());
    }
    Ok(data.clone())
}

/// An answer must not take the place of what it was read from.
fn is_no_input(output: &Path, inputs: &[PathBuf]) -> anyhow::Result<()> {
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    let is_input = inputs.iter().filter_map(|input| input.canonicalize().ok()).any(|input| output.starts_with(input));
    if is_input {
        bail!("{}: the answer would take the place of what it is read from", output.display());
    }
    Ok(())
}

/// What a column holds, in a word.
fn word(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Boolean => "boolean".to_owned(),
        DataType::Timestamp(..) => "timestamp".to_owned(),
        DataType::Interval(_) | DataType::Duration(_) => "interval".to_owned(),
        DataType::List(item) | DataType::LargeList(item) => format!("list of {}", word(item.data_type())),
        number if number.is_integer() => "bigint".to_owned(),
        number if number.is_floating() => "double".to_owned(),
        other => other.to_string(),
    }
}

/// What can be asked: tables and views, with their columns; or some of them.
fn tables(engine: &Engine, only: &[String]) -> anyhow::Result<String> {
    let readable = engine.readable()?;
    if let Some(only) = only.iter().find(|only| !readable.iter().any(|(name, _)| name == *only)) {
        return Err(AskError::unknown(only, readable.iter().map(|(name, _)| name.as_str())).into());
    }
    let words = Words::of(engine.corpus());
    let mut page = Page::new(page_width());
    for (name, schema) in readable.iter().filter(|(name, _)| only.is_empty() || only.contains(name)) {
        page.gap();
        page.item(0, Style::new().bold(), name, &plain(words.about(name).unwrap_or_default()));
        let types: Vec<String> = schema.fields().iter().map(|field| word(field.data_type())).collect();
        let names = schema.fields().iter().map(|field| field.name().len()).max().unwrap_or_default();
        let widest = types.iter().map(String::len).max().unwrap_or_default();
        for (field, data_type) in schema.fields().iter().zip(&types) {
            let means = plain(words.column(name, field.name()).unwrap_or_default());
            let columns = format!("  {:<names$}  {data_type:<widest$}", field.name());
            page.behind(&columns, names + widest + 6, &means);
        }
    }
    Ok(page.finish())
}

/// Words without the marks of code.
fn plain(words: &str) -> String {
    clean(words.trim_end_matches('.')).replace('`', "")
}
