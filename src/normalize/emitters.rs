//! Who wrote what was read: emitters told by their scopes, by names of their attributes, by sentences and formats that only they
//! write.
//!
//! In: `queries/emitters.toml`, records before they become facts. Out: ids of emitters. Decides nothing about facts; what an
//! emitter can be made to say is the business of the rules.

mod cut;

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::decode::record::{Attributes, Record};

const EMBEDDED: &str = include_str!("../../queries/emitters.toml");

/// Records of a source that are looked at one by one; emitters show early.
const FIRST: u64 = 512;
/// From then on one of so many is: a source may be of several emitters, one after the other.
const ONE_OF: u64 = 64;

/// How emitters are told.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Emitters {
    #[serde(default)]
    emitters: Vec<Emitter>,
}

/// How one emitter is told; empty lists tell nothing.
#[derive(Debug, Clone, Deserialize)]
struct Emitter {
    id: String,
    #[serde(default)]
    formats: Vec<String>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    attributes: Vec<String>,
    #[serde(default)]
    sentences: Vec<String>,
    /// What it writes others write as well: it is told only where nothing else is.
    #[serde(default)]
    alone: bool,
    #[serde(default)]
    settings: Vec<Setting>,
}

/// How a setting shows in what is written.
#[derive(Debug, Clone, Deserialize)]
struct Setting {
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    on_by: Vec<String>,
    #[serde(default)]
    if_cut: Vec<String>,
}

/// Emitters met in one source.
#[derive(Debug, Clone, Default)]
pub struct Met {
    ids: BTreeSet<String>,
    /// Of those that are told only where nothing else is.
    alone: BTreeSet<String>,
    shown: BTreeSet<String>,
    records: u64,
}

impl Met {
    /// Their ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let ids = if self.ids.is_empty() { &self.alone } else { &self.ids };
        ids.iter().map(String::as_str)
    }

    fn tell(&mut self, emitter: &Emitter) {
        let ids = if emitter.alone { &mut self.alone } else { &mut self.ids };
        ids.insert(emitter.id.clone());
    }

    /// Names of attributes that they wrote and that tell of their settings, in order.
    pub fn shown(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().map(String::as_str)
    }
}

impl Emitters {
    /// The built-in list.
    pub fn embedded() -> Self {
        // A test holds that the file can be read.
        toml::from_str(EMBEDDED).unwrap_or_default()
    }

    /// Looks at a record of a source, as long as that may say something new.
    pub fn look(&self, record: &Record, met: &mut Met) {
        met.records += 1;
        if met.records > FIRST && !met.records.is_multiple_of(ONE_OF) {
            return;
        }
        let (scope, attributes, body, keys) = match record {
            Record::Span(span) => (span.scope.as_str(), Some(&span.attributes), None, &[][..]),
            Record::Log(log) => (log.scope.as_str(), Some(&log.attributes), log.body.as_object(), &[][..]),
            Record::Exchange(exchange) if !exchange.line_keys.is_empty() => {
                ("", None, None, exchange.line_keys.as_slice())
            }
            Record::Exchange(_) | Record::Document(_) => return,
        };
        let said = said(record);
        for emitter in &self.emitters {
            let begins = |name: &str| emitter.attributes.iter().any(|beginning| name.starts_with(beginning.as_str()));
            let by_scope = emitter.scopes.iter().any(|beginning| scope.starts_with(beginning.as_str()));
            let named = |attributes: &Attributes| attributes.0.iter().any(|(name, _)| begins(name));
            let in_body = || {
                body.is_some_and(|body| body.iter().any(|(name, value)| begins(name) || nested(name, value, &begins)))
            };
            let by_words =
                || said.is_some_and(|said| emitter.sentences.iter().any(|words| said.starts_with(words.as_str())));
            let in_line = || keys.iter().any(|name| begins(name));
            let is_met = met.ids.contains(&emitter.id);
            if !is_met && !by_scope && !by_words() && !attributes.is_some_and(named) && !in_body() && !in_line() {
                continue;
            }
            met.tell(emitter);
            let has = |name: &String| {
                attributes.is_some_and(|attributes| attributes.get(name).is_some())
                    || body.is_some_and(|body| body.contains_key(name))
                    || keys.contains(name)
            };
            let names = emitter.settings.iter().flat_map(|setting| setting.unless.iter().chain(&setting.on_by));
            met.shown.extend(names.filter(|name| has(name)).cloned());
            let bodies = emitter.settings.iter().flat_map(|setting| &setting.if_cut);
            met.shown.extend(bodies.filter(|name| body.is_some_and(|body| cut::is_in(body, name))).cloned());
        }
    }

    /// Takes note of a format that was recognised in a source.
    pub fn recognised(&self, format: &str, met: &mut Met) {
        let of_format = self.emitters.iter().filter(|emitter| emitter.formats.iter().any(|own| own == format));
        of_format.for_each(|emitter| met.tell(emitter));
    }
}

/// What a program says that names no logger: loggers' names tell more than words.
fn said(record: &Record) -> Option<&str> {
    let Record::Log(log) = record else { return None };
    let named = || ["message", "msg"].iter().find_map(|name| log.body.get(name)?.as_str());
    if log.scope.is_empty() { log.body.as_str().or_else(named) } else { None }
}

/// Longest name that may be the beginning of one that tells an emitter, in bytes.
const LONGEST_NAME: usize = 256;

/// Whether a dotted name begins at a member: `{"ai": {"a2a": {...}}}` is `ai.a2a.`.
fn nested(name: &str, value: &serde_json::Value, begins: &impl Fn(&str) -> bool) -> bool {
    let Some(members) = value.as_object().filter(|_| name.len() <= LONGEST_NAME) else { return false };
    members.iter().filter(|(member, _)| member.len() <= LONGEST_NAME).any(|(member, inner)| {
        let dotted = format!("{name}.{member}");
        begins(&dotted)
            || inner.as_object().is_some_and(|inner| inner.keys().any(|key| begins(&format!("{dotted}.{key}"))))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::decode::record::{LogRecord, Origin, Position};

    fn log(scope: &str, attributes: &[&str], body: Value) -> Record {
        Record::Log(Box::new(LogRecord {
            origin: Origin { source: "x".into(), position: Position::Line(1) },
            at: None,
            event_name: String::new(),
            severity: String::new(),
            body,
            scope: scope.to_owned(),
            attributes: Attributes(attributes.iter().map(|name| ((*name).to_owned(), json!(1))).collect()),
            resource: Default::default(),
            trace_id: String::new(),
            span_id: String::new(),
        }))
    }

    fn met(record: &Record) -> Vec<String> {
        let mut met = Met::default();
        Emitters::embedded().look(record, &mut met);
        met.ids().map(str::to_owned).collect()
    }

    #[test]
    fn long_names_of_many_members_are_not_put_together() {
        let members: serde_json::Map<String, Value> = (0..100_000).map(|n| (n.to_string(), json!(n))).collect();
        let begun = std::time::Instant::now();
        assert_eq!(met(&log("", &[], json!({"k".repeat(1 << 20): members}))), Vec::<String>::new());
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }

    #[test]
    fn every_emitter_of_the_file_can_be_told() {
        let read: Emitters = toml::from_str(EMBEDDED).unwrap();
        assert!(read.emitters.len() >= 10);
        let told =
            |e: &Emitter| [&e.formats, &e.scopes, &e.attributes, &e.sentences].iter().any(|list| !list.is_empty());
        assert!(read.emitters.iter().filter(|emitter| emitter.id != "any").all(told));
    }

    #[test]
    fn emitters_are_told_by_scope_by_attribute_and_by_member_of_a_line() {
        assert_eq!(met(&log("a2a-python-sdk", &[], Value::Null)), ["a2a-python"]);
        assert_eq!(met(&log("", &["kong.a2a.operation"], Value::Null)), ["kong"]);
        assert_eq!(met(&log("", &[], json!({"ai": {"a2a": {"rpc": []}}}))), ["kong"]);
        assert_eq!(met(&log("", &[], json!({"a2a.response.outcome": "success"}))), ["agentgateway"]);
        // Both say `a2a_agent_name`.
        assert_eq!(met(&log("", &[], json!({"a2a_agent_name": "x", "a2a_operation": "message/send"}))), ["aisix"]);
        assert_eq!(met(&log("", &[], json!({"a2a_agent_name": "x", "fingerprint_metadata": null}))), ["crewai"]);
        assert_eq!(met(&log("A2A.AspNetCore", &[], Value::Null)), ["a2a-dotnet"]);
        let sent = json!("Push notification sent for task_id=t-1 to URL: http://h/hook");
        assert_eq!(met(&log("", &[], sent.clone())), ["a2a-js"]);
        assert_eq!(met(&log("a2a.server.tasks.base_push_notification_sender", &[], sent)), ["a2a-python"]);
        assert_eq!(met(&log("", &[], json!({"msg": "a2a call failed", "method": "GetTask"}))), ["a2a-go"]);
        assert_eq!(met(&log("my.app", &["http.method"], json!({"message": "x"}))), Vec::<String>::new());
    }

    #[test]
    fn names_that_tell_of_settings_are_noted_where_the_emitter_is_met() {
        let shown = |body: Value| {
            let mut met = Met::default();
            Emitters::embedded().look(&log("", &[], body), &mut met);
            met.shown().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(shown(json!({"request_time": "0.1", "request_body": "", "x": 1})), ["request_body", "request_time"]);
        assert_eq!(shown(json!({"message": "x", "request_body": ""})), Vec::<String>::new());
    }

    #[test]
    fn a_long_source_is_looked_at_now_and_then() {
        let (emitters, mut met) = (Emitters::embedded(), Met::default());
        let (other, kong) = (log("x", &[], Value::Null), log("", &["kong.a2a.operation"], Value::Null));
        (0..2000).for_each(|_| emitters.look(&other, &mut met));
        (0..ONE_OF).for_each(|_| emitters.look(&kong, &mut met));
        assert_eq!(met.ids().collect::<Vec<_>>(), ["kong"]);
    }

    #[test]
    fn lines_that_a_gateway_wrote_are_not_also_those_of_a_proxy_of_the_users() {
        let (emitters, mut met) = (Emitters::embedded(), Met::default());
        emitters.recognised("home-made-exchange", &mut met);
        assert_eq!(met.ids().collect::<Vec<_>>(), ["exchange-lines"]);
        emitters.look(&log("", &[], json!({"request_time": "0.1", "request_body": ""})), &mut met);
        assert_eq!(met.ids().collect::<Vec<_>>(), ["nginx"]);
    }

    #[test]
    fn a_format_tells_its_emitter() {
        let mut met = Met::default();
        Emitters::embedded().recognised("har", &mut met);
        Emitters::embedded().recognised("ndjson", &mut met);
        assert_eq!(met.ids().collect::<Vec<_>>(), ["har"]);
    }
}
