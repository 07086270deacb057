//! Names of every emitter as data: canonical key -> ordered names of attributes, with conditions; span names, REST paths,
//! error names and log sentences.
//!
//! In: the text of `queries/aliases.toml` and of the user's configuration. Out: answers to "what does this span or record
//! call the task's id". Never knows what a key is good for.

mod carrier;
mod key;
mod path;
mod read;
mod sentence;

use regex::Regex;
use serde_json::Value;

pub use carrier::Carrier;
pub use key::Key;
pub use path::PathCall;
use path::PathRule;
use sentence::Sentence;
pub use sentence::{ErrorText, Gives, Said};

/// The table that ships with the program.
const EMBEDDED: &str = include_str!("../../queries/aliases.toml");

/// Why a table of names could not be used.
#[derive(Debug, thiserror::Error)]
pub enum AliasError {
    /// The text is no TOML.
    #[error("line {line}: {message}")]
    Syntax {
        /// One-based line.
        line: usize,
        /// What the reader says.
        message: String,
    },
    /// A key or value that means nothing here.
    #[error("line {line}: {key}: {problem}")]
    Meaning {
        /// Dotted path of the key.
        key: String,
        /// One-based line.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
}

/// One name of a key, with the conditions under which it counts.
#[derive(Debug, Clone, Default)]
struct Name {
    name: String,
    scope: String,
    evidence: bool,
    prefixes: Vec<String>,
    keep: bool,
    not: Vec<String>,
}

/// The table of names.
#[derive(Debug, Clone, Default)]
pub struct Aliases {
    names: Vec<Vec<Name>>,
    evidence_attributes: Vec<String>,
    evidence_scopes: Vec<String>,
    evidence_types: Vec<String>,
    services: Vec<String>,
    gateways: Vec<String>,
    records: Vec<String>,
    evidence_paths: Vec<String>,
    dropped: Vec<String>,
    span_scopes: Vec<String>,
    quiet_exceptions: Vec<String>,
    error_spans: Vec<String>,
    span_operations: Vec<(String, String)>,
    webhook_spans: Vec<String>,
    webhook_words: Vec<String>,
    paths: Vec<PathRule>,
    reasons: Vec<(String, String)>,
    events: Vec<(String, String)>,
    texts: Vec<Regex>,
    sentences: Vec<Sentence>,
}

impl Aliases {
    /// The table that ships with the program.
    pub fn embedded() -> Self {
        // A test reads the embedded file, so the table is never empty.
        read::read(EMBEDDED).unwrap_or_default()
    }

    /// The names of a file in place of the embedded ones.
    ///
    /// # Errors
    /// As [`Aliases::extend`].
    pub fn replaced_by(toml: &str) -> Result<Self, AliasError> {
        read::read(toml)
    }

    /// The embedded names after those of a user's file.
    ///
    /// # Errors
    /// As [`Aliases::extend`].
    pub fn extended_by(toml: &str) -> Result<Self, AliasError> {
        let mut aliases = Self::embedded();
        aliases.extend(toml)?;
        Ok(aliases)
    }

    /// Adds names and rules in the form of the file; they are tried before those already there.
    ///
    /// # Errors
    /// When the text is no TOML, or says something that has no meaning here; then nothing was added.
    pub fn extend(&mut self, toml: &str) -> Result<(), AliasError> {
        let mut added = read::read(toml)?;
        for (key, names) in added.names.iter_mut().enumerate() {
            if let Some(old) = self.names.get_mut(key) {
                names.append(old);
            }
        }
        added.append_lists(self);
        *self = added;
        Ok(())
    }

    fn append_lists(&mut self, old: &mut Self) {
        self.evidence_attributes.append(&mut old.evidence_attributes);
        self.evidence_scopes.append(&mut old.evidence_scopes);
        self.evidence_types.append(&mut old.evidence_types);
        self.services.append(&mut old.services);
        self.gateways.append(&mut old.gateways);
        self.records.append(&mut old.records);
        self.evidence_paths.append(&mut old.evidence_paths);
        self.dropped.append(&mut old.dropped);
        self.span_scopes.append(&mut old.span_scopes);
        self.quiet_exceptions.append(&mut old.quiet_exceptions);
        self.error_spans.append(&mut old.error_spans);
        self.span_operations.append(&mut old.span_operations);
        self.webhook_spans.append(&mut old.webhook_spans);
        self.webhook_words.append(&mut old.webhook_words);
        self.paths.append(&mut old.paths);
        self.reasons.append(&mut old.reasons);
        self.events.append(&mut old.events);
        self.texts.append(&mut old.texts);
        self.sentences.append(&mut old.sentences);
    }

    /// All names of attributes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().flatten().map(|name| name.name.as_str())
    }

    /// The first value of a key that `accept` takes.
    pub fn find<T>(&self, key: Key, carrier: &Carrier<'_>, accept: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let names = self.names.get(key as usize)?;
        names.iter().filter(|name| name.counts(carrier)).find_map(|name| {
            let value = carrier.attribute(&name.name)?;
            match name.transform(value)? {
                None => accept(value),
                Some(changed) => accept(&Value::String(changed)),
            }
        })
    }

    /// The first value of a key as text; never empty.
    pub fn text(&self, key: Key, carrier: &Carrier<'_>) -> Option<String> {
        self.find(key, carrier, |value| key.kept(text_of(value)?))
    }

    /// The first value of a key as a number.
    pub fn number(&self, key: Key, carrier: &Carrier<'_>) -> Option<i64> {
        self.find(key, carrier, |value| text_of(value)?.parse().ok())
    }

    /// The first value of a key as a truth value.
    pub fn flag(&self, key: Key, carrier: &Carrier<'_>) -> Option<bool> {
        self.find(key, carrier, |value| match text_of(value)?.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Some(true),
            "false" | "0" | "no" => Some(false),
            _ => None,
        })
    }

    /// The first value of a key as a list of texts; a text alone is a list of one.
    pub fn texts(&self, key: Key, carrier: &Carrier<'_>) -> Option<Vec<String>> {
        self.find(key, carrier, |value| match value {
            Value::Array(items) => Some(items.iter().filter_map(text_of).collect()),
            other => text_of(other).map(|text| vec![text]),
        })
    }

    /// Whether something about a carrier says that it is about A2A.
    pub fn is_evidence(&self, carrier: &Carrier<'_>) -> bool {
        begins_with_any(carrier.scope, &self.evidence_scopes)
            || carrier.names().any(|name| self.is_evidence_name(name))
            || self.is_service(carrier)
            || self.is_typed(carrier)
    }

    /// Whether the attribute `type` names an event of A2A (CrewAI).
    pub fn is_typed(&self, carrier: &Carrier<'_>) -> bool {
        carrier.attribute("type").and_then(Value::as_str).is_some_and(|kind| self.is_event_type(kind))
    }

    /// Whether a word for the type of an event names one of A2A.
    pub fn is_event_type(&self, kind: &str) -> bool {
        begins_with_any(kind, &self.evidence_types)
    }

    /// Whether the name of an attribute alone says that its carrier is about A2A.
    pub fn is_evidence_name(&self, name: &str) -> bool {
        begins_with_any(name, &self.evidence_attributes)
    }

    /// Whether a service, or a method with its service, is one of A2A's.
    pub fn is_service_name(&self, name: &str) -> bool {
        self.services.iter().any(|service| {
            name.strip_prefix(service.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    fn is_service(&self, carrier: &Carrier<'_>) -> bool {
        let named = |name: &str| carrier.attribute(name).and_then(Value::as_str).unwrap_or_default();
        ["rpc.service", "rpc.method"].iter().any(|name| self.is_service_name(named(name)))
    }

    /// Whether a party between caller and agent wrote this.
    pub fn is_gateway(&self, carrier: &Carrier<'_>) -> bool {
        // CrewAI calls the agent as a gateway does.
        !self.is_typed(carrier) && carrier.names().any(|name| begins_with_any(name, &self.gateways))
    }

    /// What an event of a type gives.
    pub fn event(&self, kind: &str) -> Option<&str> {
        lookup(&self.events, kind)
    }

    /// Dotted names of lists in a record's body of which every entry is a call.
    pub fn records(&self) -> &[String] {
        &self.records
    }

    /// Whether spans of this name are plumbing.
    pub fn is_dropped(&self, span_name: &str) -> bool {
        begins_with_any(span_name, &self.dropped)
    }

    /// Whether spans of this scope say the operation in their name.
    pub fn is_sdk_scope(&self, scope: &str) -> bool {
        begins_with_any(scope, &self.span_scopes)
    }

    /// Operation that the last segment of a span's name stands for.
    pub fn span_operation(&self, span_name: &str) -> Option<&str> {
        let last = span_name.rsplit(['/', '.']).next()?;
        lookup(&self.span_operations, last)
    }

    /// Whether spans of this name are there only when a call fails.
    pub fn is_error_span(&self, span_name: &str) -> bool {
        let last = span_name.rsplit(['/', '.']).next().unwrap_or_default();
        self.error_spans.iter().any(|name| name == last)
    }

    /// Whether an exception of this type is no failure.
    pub fn is_quiet_exception(&self, exception_type: &str) -> bool {
        self.quiet_exceptions.iter().any(|quiet| quiet == last_segment(exception_type))
    }

    /// Whether POSTs inside spans of this name are deliveries to a webhook.
    pub fn is_webhook_span(&self, span_name: &str) -> bool {
        self.webhook_spans.iter().any(|part| span_name.contains(part.as_str()))
    }

    /// Whether a path looks like that of a webhook.
    pub fn is_webhook_path(&self, path: &str) -> bool {
        let path = path.to_ascii_lowercase();
        self.webhook_words.iter().any(|word| path.contains(word.as_str()))
    }

    /// Whether POSTs to a path are calls, by the look of it.
    pub fn is_call_path(&self, path: &str) -> bool {
        let names = path.split('/').any(|segment| self.evidence_paths.iter().any(|known| known == segment));
        names && !self.is_webhook_path(path)
    }

    /// The reason that an exception's type or a code word stands for.
    pub fn reason(&self, error_type: &str) -> Option<&str> {
        lookup(&self.reasons, last_segment(error_type))
    }

    /// What the end of a REST path says.
    pub fn path_call(&self, method: &str, path: &str) -> Option<PathCall> {
        self.paths.iter().find_map(|rule| rule.matches(method, path))
    }

    /// What an error's text tells beside its class.
    pub fn error_text(&self, text: &str) -> ErrorText {
        let mut told = ErrorText::default();
        for captures in self.texts.iter().filter_map(|pattern| pattern.captures(text)) {
            let group = |name: &str| captures.name(name).map(|m| m.as_str());
            for (name, cell) in
                [("task_id", &mut told.task_id), ("context_id", &mut told.context_id), ("grpc", &mut told.grpc)]
            {
                if cell.is_empty() {
                    *cell = group(name).unwrap_or_default().to_owned();
                }
            }
            told.code = told.code.or_else(|| group("code")?.parse().ok());
            told.status = told.status.or_else(|| group("status")?.parse().ok());
        }
        told
    }

    /// The first sentence that a log text is.
    pub fn sentence<'t>(&self, logger: &str, text: &'t str) -> Option<Said<'t>> {
        let fits = |sentence: &&Sentence| sentence.loggers.is_empty() || begins_with_any(logger, &sentence.loggers);
        self.sentences.iter().filter(fits).find_map(|sentence| {
            let captures = sentence.text.captures(text)?;
            let groups = sentence
                .text
                .capture_names()
                .flatten()
                .filter_map(|name| captures.name(name).map(|found| (name.to_owned(), found.as_str())));
            Some(Said { gives: sentence.gives, groups: groups.collect() })
        })
    }
}

impl Name {
    fn counts(&self, carrier: &Carrier<'_>) -> bool {
        carrier.scope.starts_with(self.scope.as_str()) && (!self.evidence || carrier.evidence)
    }

    /// None: the value does not count; `Some(None)`: as it is; else the changed text.
    fn transform(&self, value: &Value) -> Option<Option<String>> {
        if self.prefixes.is_empty() && self.not.is_empty() {
            return Some(None);
        }
        let text = text_of(value)?;
        if self.not.contains(&text) {
            return None;
        }
        if self.prefixes.is_empty() {
            return Some(None);
        }
        let rest = self.prefixes.iter().find_map(|prefix| text.strip_prefix(prefix.as_str()))?;
        Some((!self.keep).then(|| rest.to_owned()))
    }
}

/// A value as text: strings as they are, numbers and truth values written out, the first of a list; never empty.
fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(items) => return items.first().and_then(text_of),
        Value::Object(_) | Value::Null => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn begins_with_any(text: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| text.starts_with(prefix.as_str()))
}

fn lookup<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// `a2a.utils.errors.TaskNotFoundError` -> `TaskNotFoundError`; `crate::Error` -> `Error`.
fn last_segment(dotted: &str) -> &str {
    dotted.rsplit(['.', ':', '/']).next().unwrap_or(dotted)
}

#[cfg(test)]
mod tests;
