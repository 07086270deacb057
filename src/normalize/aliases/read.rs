//! The text of a table of names to the table, with the line of whatever is wrong.
//!
//! In: TOML. Out: [`Aliases`] or an [`AliasError`]. Never fills in what the text does not say.

use regex::{Regex, RegexBuilder};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::path::PathRule;
use super::sentence::Sentence;
use super::{AliasError, Aliases, Gives, Key, Name};

/// Compiled size that a pattern may have; the shipped ones stay below a tenth.
const PATTERN_LIMIT: usize = 1 << 20;

type Table<'t> = DeTable<'t>;
type Field<'a, 't> = &'a Spanned<DeValue<'t>>;

/// Reads a table of names.
pub(super) fn read(text: &str) -> Result<Aliases, AliasError> {
    let reader = Reader { text };
    let root = DeTable::parse(text).map_err(|error| AliasError::Syntax {
        line: reader.line(error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    let mut aliases = Aliases { names: vec![Vec::new(); Key::ALL.len()], ..Aliases::default() };
    for (name, value) in root.get_ref() {
        match name.get_ref().as_ref() {
            "keys" => reader.keys(value, &mut aliases)?,
            "evidence" => reader.evidence(value, &mut aliases)?,
            "spans" => reader.spans(value, &mut aliases)?,
            "webhooks" => reader.webhooks(value, &mut aliases)?,
            "reasons" => aliases.reasons = reader.pairs("reasons", value)?,
            "events" => aliases.events = reader.events(value)?,
            "paths" => aliases.paths = reader.each("paths", value, |table| reader.path(table))?,
            "texts" => aliases.texts = reader.each("texts", value, |table| reader.text_rule(table))?,
            "sentences" => aliases.sentences = reader.each("sentences", value, |table| reader.sentence(table))?,
            other => return Err(reader.wrong(other, name.span().start, "no such section")),
        }
    }
    Ok(aliases)
}

/// What events give, besides states that their type names.
const EVENTS: [&str; 8] = ["card", "card-failed", "failed", "call", "push-config", "push-sent", "state", "artifact"];

struct Reader<'s> {
    text: &'s str,
}

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    fn wrong(&self, key: &str, offset: usize, problem: &str) -> AliasError {
        AliasError::Meaning { key: key.to_owned(), line: self.line(offset), problem: problem.to_owned() }
    }

    fn table<'a, 't>(&self, key: &str, value: Field<'a, 't>) -> Result<&'a Table<'t>, AliasError> {
        value.get_ref().as_table().ok_or_else(|| self.wrong(key, value.span().start, "should be a table"))
    }

    fn string(&self, key: &str, value: Field<'_, '_>) -> Result<String, AliasError> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| self.wrong(key, value.span().start, "should be a text"))
    }

    fn flag(&self, key: &str, value: Field<'_, '_>) -> Result<bool, AliasError> {
        value.get_ref().as_bool().ok_or_else(|| self.wrong(key, value.span().start, "should be true or false"))
    }

    fn list<T>(
        &self,
        key: &str,
        value: Field<'_, '_>,
        item: impl Fn(Field<'_, '_>) -> Result<T, AliasError>,
    ) -> Result<Vec<T>, AliasError> {
        let items = value.get_ref().as_array();
        let items = items.ok_or_else(|| self.wrong(key, value.span().start, "should be a list"))?;
        items.iter().map(item).collect()
    }

    fn strings(&self, key: &str, value: Field<'_, '_>) -> Result<Vec<String>, AliasError> {
        self.list(key, value, |item| self.string(key, item))
    }

    fn pairs(&self, key: &str, value: Field<'_, '_>) -> Result<Vec<(String, String)>, AliasError> {
        let table = self.table(key, value)?;
        let pair = |(name, value): (&Spanned<std::borrow::Cow<'_, str>>, Field<'_, '_>)| {
            Ok((name.get_ref().to_string(), self.string(&format!("{key}.{}", name.get_ref()), value)?))
        };
        table.iter().map(pair).collect()
    }

    fn each<T>(
        &self,
        key: &str,
        value: Field<'_, '_>,
        rule: impl Fn(&Table<'_>) -> Result<T, AliasError>,
    ) -> Result<Vec<T>, AliasError> {
        self.list(key, value, |item| rule(self.table(key, item)?))
    }

    fn keys(&self, value: Field<'_, '_>, aliases: &mut Aliases) -> Result<(), AliasError> {
        for (word, names) in self.table("keys", value)? {
            let path = format!("keys.{}", word.get_ref());
            let key = Key::ALL.iter().find(|key| key.as_str() == word.get_ref().as_ref());
            let key = *key.ok_or_else(|| self.wrong(&path, word.span().start, "no such key"))?;
            let names = self.list(&path, names, |name| self.name(&path, name))?;
            if let Some(slot) = aliases.names.get_mut(key as usize) {
                *slot = names;
            }
        }
        Ok(())
    }

    fn name(&self, path: &str, value: Field<'_, '_>) -> Result<Name, AliasError> {
        if let Some(name) = value.get_ref().as_str() {
            return Ok(Name { name: name.to_owned(), ..Name::default() });
        }
        let mut name = Name::default();
        for (word, value) in self.table(path, value)? {
            let path = format!("{path}.{}", word.get_ref());
            match word.get_ref().as_ref() {
                "name" => name.name = self.string(&path, value)?,
                "scope" => name.scope = self.string(&path, value)?,
                "evidence" => name.evidence = self.flag(&path, value)?,
                "prefix" => name.prefixes = self.strings(&path, value)?,
                "keep" => name.keep = self.flag(&path, value)?,
                "not" => name.not = self.strings(&path, value)?,
                _ => return Err(self.wrong(&path, word.span().start, "no such condition")),
            }
        }
        if name.name.is_empty() {
            return Err(self.wrong(path, value.span().start, "an entry needs `name`"));
        }
        Ok(name)
    }

    fn evidence(&self, value: Field<'_, '_>, aliases: &mut Aliases) -> Result<(), AliasError> {
        for (word, value) in self.table("evidence", value)? {
            let path = format!("evidence.{}", word.get_ref());
            let list = match word.get_ref().as_ref() {
                "attributes" => &mut aliases.evidence_attributes,
                "scopes" => &mut aliases.evidence_scopes,
                "services" => &mut aliases.services,
                "types" => &mut aliases.evidence_types,
                "gateways" => &mut aliases.gateways,
                "records" => &mut aliases.records,
                "paths" => &mut aliases.evidence_paths,
                _ => return Err(self.wrong(&path, word.span().start, "no such list")),
            };
            *list = self.strings(&path, value)?;
        }
        Ok(())
    }

    fn spans(&self, value: Field<'_, '_>, aliases: &mut Aliases) -> Result<(), AliasError> {
        for (word, value) in self.table("spans", value)? {
            let path = format!("spans.{}", word.get_ref());
            match word.get_ref().as_ref() {
                "dropped" => aliases.dropped = self.strings(&path, value)?,
                "scopes" => aliases.span_scopes = self.strings(&path, value)?,
                "errors" => aliases.error_spans = self.strings(&path, value)?,
                "quiet_exceptions" => aliases.quiet_exceptions = self.strings(&path, value)?,
                "operations" => aliases.span_operations = self.pairs(&path, value)?,
                _ => return Err(self.wrong(&path, word.span().start, "no such list")),
            }
        }
        Ok(())
    }

    fn webhooks(&self, value: Field<'_, '_>, aliases: &mut Aliases) -> Result<(), AliasError> {
        for (word, value) in self.table("webhooks", value)? {
            let path = format!("webhooks.{}", word.get_ref());
            match word.get_ref().as_ref() {
                "spans" => aliases.webhook_spans = self.strings(&path, value)?,
                "words" => aliases.webhook_words = self.strings(&path, value)?,
                _ => return Err(self.wrong(&path, word.span().start, "no such list")),
            }
        }
        Ok(())
    }

    fn events(&self, value: Field<'_, '_>) -> Result<Vec<(String, String)>, AliasError> {
        let events = self.pairs("events", value)?;
        let known = |gives: &str| EVENTS.contains(&gives) || gives.starts_with("task-");
        match events.iter().find(|(_, gives)| !known(gives)) {
            Some((kind, _)) => Err(self.wrong(&format!("events.{kind}"), value.span().start, "no such kind of event")),
            None => Ok(events),
        }
    }

    fn path(&self, table: &Table<'_>) -> Result<PathRule, AliasError> {
        let mut rule = PathRule::default();
        for (word, value) in table {
            let path = format!("paths.{}", word.get_ref());
            match word.get_ref().as_ref() {
                "method" => rule.method = self.string(&path, value)?,
                "path" => {
                    let text = self.string(&path, value)?;
                    rule.segments = text.trim_start_matches('/').split('/').map(str::to_owned).collect();
                }
                "operation" => rule.operation = self.string(&path, value)?,
                "dialect" => rule.dialect = self.string(&path, value)?,
                "plain" => rule.plain = self.flag(&path, value)?,
                _ => return Err(self.wrong(&path, word.span().start, "no such field")),
            }
        }
        Ok(rule)
    }

    fn text_rule(&self, table: &Table<'_>) -> Result<Regex, AliasError> {
        let (mut pattern, mut offset) = (None, 0);
        for (word, value) in table {
            offset = word.span().start;
            match word.get_ref().as_ref() {
                "text" => pattern = Some(self.pattern("texts.text", value)?),
                other => return Err(self.wrong(&format!("texts.{other}"), offset, "no such field")),
            }
        }
        pattern.ok_or_else(|| self.wrong("texts", offset, "a rule needs `text`"))
    }

    fn sentence(&self, table: &Table<'_>) -> Result<Sentence, AliasError> {
        let (mut loggers, mut text, mut gives, mut offset) = (Vec::new(), None, None, 0);
        for (word, value) in table {
            let path = format!("sentences.{}", word.get_ref());
            offset = word.span().start;
            match word.get_ref().as_ref() {
                "logger" => loggers = self.strings(&path, value)?,
                "text" => text = Some(self.pattern(&path, value)?),
                "gives" => gives = Some(self.gives(&path, value)?),
                _ => return Err(self.wrong(&path, offset, "no such field")),
            }
        }
        match (text, gives) {
            (Some(text), Some(gives)) => Ok(Sentence { loggers, text, gives }),
            _ => Err(self.wrong("sentences", offset, "a sentence needs `text` and `gives`")),
        }
    }

    fn gives(&self, path: &str, value: Field<'_, '_>) -> Result<Gives, AliasError> {
        Ok(match self.string(path, value)?.as_str() {
            "card" => Gives::Card,
            "card-failed" => Gives::CardFailed,
            "push-sent" => Gives::PushSent,
            "push-failed" => Gives::PushFailed,
            "push-rejected" => Gives::PushRejected,
            "request-error" => Gives::RequestError,
            "task-failed" => Gives::TaskFailed,
            "version-mismatch" => Gives::VersionMismatch,
            "call" => Gives::Call,
            "http-call" => Gives::HttpCall,
            _ => return Err(self.wrong(path, value.span().start, "no such kind of sentence")),
        })
    }

    fn pattern(&self, path: &str, value: Field<'_, '_>) -> Result<Regex, AliasError> {
        let text = self.string(path, value)?;
        // A sentence may run over lines: exception texts and cards do.
        let built = RegexBuilder::new(&text).dot_matches_new_line(true).size_limit(PATTERN_LIMIT).build();
        built.map_err(|error| self.wrong(path, value.span().start, &error.to_string()))
    }
}
