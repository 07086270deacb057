//! The configuration file as it is written.
//!
//! In: a TOML file. Out: its values, with paths from its folder, and where in it they stand. Lays nothing over it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::serve::ServeTable;
use super::suppress::SuppressTable;
use super::{ConfigError, FailOn, Format, LimitSettings, ObserverBySource, Vocabulary};

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct File {
    pub(super) format: Option<Format>,
    pub(super) fail_on: Option<FailOn>,
    pub(super) rules: Vec<String>,
    pub(super) queries: Option<PathBuf>,
    pub(super) add_queries: Option<PathBuf>,
    pub(super) agents: BTreeMap<String, Vec<String>>,
    pub(super) clients: BTreeMap<String, Vec<String>>,
    pub(super) observers: Vec<ObserverBySource>,
    pub(super) exchange_keys: BTreeMap<String, Vec<String>>,
    pub(super) vocabulary: Vocabulary,
    pub(super) params: BTreeMap<Spanned<String>, BTreeMap<String, toml::Value>>,
    pub(super) suppress: Vec<Spanned<SuppressTable>>,
    /// What was read, and where from.
    #[serde(skip)]
    written: Written,
    pub(super) limits: LimitSettings,
    pub(super) serve: ServeTable,
}

/// The text of a file, for the lines of what stands in it.
#[derive(Debug, Default)]
struct Written {
    path: PathBuf,
    text: String,
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or says what cannot be.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let mut file: Self = toml::from_str(&text).map_err(|error| {
            let (line, column) = line_and_column(&text, error.span());
            ConfigError::Invalid { path: path.to_owned(), line, column, message: error.message().to_owned() }
        })?;
        unambiguous(path, "agents", &file.agents)?;
        unambiguous(path, "clients", &file.clients)?;
        for entry in &file.observers {
            glob::Pattern::new(&entry.source).map_err(|error| ConfigError::Glob {
                path: path.to_owned(),
                glob: entry.source.clone(),
                message: error.msg,
            })?;
        }
        file.written = Written { path: path.to_owned(), text };
        file.resolve_paths(path.parent().unwrap_or(Path::new("")));
        Ok(file)
    }

    /// Where something stands: `file:line`.
    pub(super) fn place(&self, span: Range<usize>) -> String {
        let (line, _) = line_and_column(&self.written.text, Some(span));
        format!("{}:{line}", self.written.path.display())
    }

    /// Paths in a file are relative to its folder, so that it means the same from wherever the program is started.
    fn resolve_paths(&mut self, folder: &Path) {
        let vocabulary = &mut self.vocabulary;
        let queries = self.queries.iter_mut().chain(&mut self.add_queries);
        for path in vocabulary.patterns.iter_mut().chain(&mut vocabulary.aliases).chain(queries) {
            *path = folder.join(&*path);
        }
        self.serve.resolve_paths(folder);
    }
}

fn unambiguous(path: &Path, kind: &'static str, names: &BTreeMap<String, Vec<String>>) -> Result<(), ConfigError> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, references) in names {
        for reference in references {
            if let Some(first) = owners.insert(reference, name).filter(|first| first != name) {
                return Err(ConfigError::Ambiguous {
                    path: path.to_owned(),
                    kind,
                    reference: shown(reference),
                    first: first.to_owned(),
                    second: name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// A reference for a message: without user information and query, where a password may be.
pub(crate) fn shown(reference: &str) -> String {
    match url::Url::parse(reference) {
        Ok(mut url) if url.has_host() => {
            // A url that cannot have them has none.
            _ = url.set_username("");
            _ = url.set_password(None);
            url.set_query(None);
            url.set_fragment(None);
            url.to_string().trim_end_matches('/').to_owned()
        }
        _ => {
            let bare = reference.split('?').next().unwrap_or_default();
            bare.rsplit('@').next().unwrap_or_default().to_owned()
        }
    }
}

fn line_and_column(text: &str, span: Option<Range<usize>>) -> (usize, usize) {
    let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
