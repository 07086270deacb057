//! How fields that rules need come to be filled: by a setting of an emitter in use, else by what anyone can do.
//!
//! In: `queries/fields.toml` and `queries/emitters.toml`, a need, the emitters in use, the facts of what they wrote. Out: settings
//! and sentences, and what did not happen where all is set. Knows no rule, and does not know how emitters are told.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::needs::{Batches, Need};
use crate::findings::SourceIntake;

const FIELDS: &str = include_str!("../../queries/fields.toml");
const EMITTERS: &str = include_str!("../../queries/emitters.toml");

/// A proxy, which anyone can put before anything.
const PROXY: &str = "any";
/// Events, which anyone can write.
const EVENTS: &str = "own-events";

/// What is known about filling fields.
#[derive(Debug, Clone, Default)]
pub struct Advice {
    /// Sentences, by the beginning of a need.
    general: BTreeMap<String, String>,
    /// What must happen for a need to be filled, by the beginning of a need.
    traffic: BTreeMap<String, String>,
    emitters: Vec<Emitter>,
}

/// What an emitter can be made to say, and what not.
#[derive(Debug, Clone, Deserialize)]
pub struct Emitter {
    /// Its name in files and output.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// Its settings.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// What none of its settings brings.
    #[serde(default)]
    pub never: Vec<Never>,
}

/// A setting of an emitter.
#[derive(Debug, Clone, Deserialize)]
pub struct Setting {
    /// As it is written where the emitter is configured.
    pub set: String,
    /// What else to know.
    #[serde(default)]
    pub note: String,
    /// Beginnings of the fields that it brings.
    pub fills: Vec<String>,
    /// Fields that it brings too where somebody says them.
    #[serde(default)]
    pub if_said: Vec<String>,
    /// Fields that this emitter fills only with this setting.
    #[serde(default)]
    pub shows: Vec<Need>,
    /// Names of attributes that its emitter writes only with it.
    #[serde(default)]
    pub on_by: Vec<String>,
    /// What must happen for it to fill them, where that is more than the fields themselves say.
    #[serde(default)]
    pub traffic: String,
    /// Whether what its emitter wrote shows it to be set.
    #[serde(skip)]
    pub is_on: bool,
    /// Names of members that hold bodies: it is told only where one of them was cut.
    #[serde(default)]
    pub if_cut: Vec<String>,
    /// Names of attributes that show that it is set already.
    #[serde(default)]
    pub unless: Vec<String>,
    /// Where it is documented.
    pub source: String,
}

/// Fields that an emitter does not have.
#[derive(Debug, Clone, Deserialize)]
pub struct Never {
    /// Beginnings of the fields.
    pub fields: Vec<String>,
    /// Why.
    pub because: String,
    /// Where that is documented.
    pub source: String,
}

#[derive(Deserialize)]
struct File {
    emitters: Vec<Emitter>,
}

#[derive(Default, Deserialize)]
struct Fields {
    traffic: BTreeMap<String, String>,
    #[serde(flatten)]
    general: BTreeMap<String, String>,
}

impl Advice {
    /// The built-in advice.
    pub fn embedded() -> Self {
        // Tests hold that the files can be read.
        let emitters = toml::from_str(EMITTERS).map_or_else(|_| Vec::new(), |file: File| file.emitters);
        let Fields { traffic, general } = toml::from_str(FIELDS).unwrap_or_default();
        Self { general, traffic, emitters }
    }

    /// The advice without the settings that these names of attributes, which emitters wrote, show to be of no use any more, and
    /// with those marked that they show to be on.
    pub fn beyond(mut self, shown: &[String]) -> Self {
        for emitter in &mut self.emitters {
            emitter.settings.retain(|setting| {
                let was_cut = setting.if_cut.is_empty() || setting.if_cut.iter().any(|name| shown.contains(name));
                was_cut && !setting.unless.iter().any(|name| shown.contains(name))
            });
            for setting in &mut emitter.settings {
                setting.is_on |= setting.on_by.iter().any(|name| shown.contains(name));
            }
        }
        self
    }

    /// The advice with the settings marked that are on: a field that only such a setting fills is filled in a source that its
    /// emitter wrote.
    pub fn shown_by(mut self, sources: &[SourceIntake], batches: &Batches) -> Self {
        for emitter in &mut self.emitters {
            let own = sources.iter().filter(|source| source.emitters.contains(&emitter.id));
            let own: BTreeSet<String> = own.map(|source| source.name.clone()).collect();
            for setting in emitter.settings.iter_mut().filter(|_| !own.is_empty()) {
                setting.is_on |=
                    setting.shows.iter().any(|field| !field.said_alone_in("source", batches).is_disjoint(&own));
            }
        }
        self
    }

    /// How to fill what a need names, whoever emits; of several fields of which one is enough, the first.
    pub fn on(&self, need: &str) -> Option<&str> {
        longest(&self.general, need)
    }

    /// What did not happen, where a need is not filled although an emitter in use is set to fill it, and whose setting it is.
    /// Another one's setting that is not on would bring more.
    pub fn unseen(&self, need: &Need, in_use: &[String]) -> Option<(&Emitter, &str)> {
        let (emitter, setting) = self.set_for(need, in_use)?;
        let own = Some(setting.traffic.as_str()).filter(|what| !what.is_empty());
        Some((emitter, own.or_else(|| longest(&self.traffic, &need.text))?))
    }

    /// Whether nothing lacks for a need but that it happens. Not so where an emitter tells only of some of what happens.
    pub fn only_waits(&self, need: &Need, in_use: &[String]) -> bool {
        self.set_for(need, in_use).is_some_and(|(_, setting)| setting.traffic.is_empty())
    }

    /// The setting that is on and fills a need, where none that is not on would.
    fn set_for(&self, need: &Need, in_use: &[String]) -> Option<(&Emitter, &Setting)> {
        if self.setting(need, in_use).is_some() {
            return None;
        }
        let is_set = |setting: &&Setting| setting.is_on && fills(&setting.fills, need);
        self.in_use(in_use).find_map(|emitter| Some((emitter, emitter.settings.iter().find(is_set)?)))
    }

    /// How clients come to be named.
    pub fn on_clients(&self) -> &str {
        self.on("client").unwrap_or_default()
    }

    /// How to fill what a need names where these emitters are in use: the first setting that does, and whose it is.
    pub fn setting(&self, need: &Need, in_use: &[String]) -> Option<(&Emitter, &Setting)> {
        self.in_use(in_use)
            .find_map(|emitter| Some((emitter, emitter.open_settings().find(|setting| fills(&setting.fills, need))?)))
    }

    /// Emitters in use that will not fill what a need names, with why.
    pub fn never(&self, need: &Need, in_use: &[String]) -> Vec<(&Emitter, &Never)> {
        self.in_use(in_use)
            .filter_map(|emitter| Some((emitter, emitter.never.iter().find(|never| lacks_all(&never.fields, need))?)))
            .collect()
    }

    /// In one sentence: the setting of an emitter in use, what did not happen where it is set, else the advice that holds for any.
    pub fn sentence(&self, need: &Need, in_use: &[String]) -> Option<String> {
        if let Some((emitter, what)) = self.unseen(need, in_use) {
            return Some(format!(
                "Not seen in this traffic: {what}. Nothing to turn on: {} would have shown it.",
                emitter.title
            ));
        }
        match self.setting(need, in_use) {
            Some((emitter, Setting { set, note, .. })) => {
                Some(format!("{}: {set} ({})", emitter.title, note.trim_end_matches('.')))
            }
            None => self.on(&need.text).map(str::to_owned),
        }
    }

    /// All that emitters can be made to say.
    pub fn emitters(&self) -> &[Emitter] {
        &self.emitters
    }

    /// Events that anyone can write, whatever else emits.
    pub fn events(&self) -> Option<&Emitter> {
        self.emitters.iter().find(|emitter| emitter.id == EVENTS)
    }

    /// A proxy that anyone can put before what is to be seen.
    pub fn proxy(&self) -> Option<&Emitter> {
        self.emitters.iter().find(|emitter| emitter.id == PROXY)
    }

    fn in_use<'a>(&'a self, ids: &[String]) -> impl Iterator<Item = &'a Emitter> {
        self.emitters.iter().filter(move |emitter| ids.contains(&emitter.id))
    }
}

impl Emitter {
    /// Settings that nothing shows to be on.
    pub fn open_settings(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| !setting.is_on)
    }
}

/// What stands under the longest beginning of a need.
fn longest<'a>(by_beginning: &'a BTreeMap<String, String>, need: &str) -> Option<&'a str> {
    let fits = by_beginning.iter().filter(|(beginning, _)| need.starts_with(beginning.as_str()));
    fits.max_by_key(|(beginning, _)| beginning.len()).map(|(_, text)| text.as_str())
}

/// Whether one of these beginnings of fields fills a need. A need with a condition must be written out: what fills a field does
/// not fill it in every way.
pub(super) fn fills(beginnings: &[String], need: &Need) -> bool {
    need.fields().any(|field| {
        let (name, exact) = names(field);
        beginnings.iter().any(|beginning| match &exact {
            None => is_of(beginning, &name),
            Some(exact) => beginning == exact,
        })
    })
}

/// Whether none of the fields that would do is to be had.
fn lacks_all(beginnings: &[String], need: &Need) -> bool {
    need.fields().all(|field| fills(beginnings, &Need { or: Vec::new(), ..field.clone() }))
}

/// A field's name, and how it is written out with its conditions, if it has some.
fn names(field: &Need) -> (String, Option<String>) {
    let name = format!("{}.{}", field.table, field.column);
    let conditions: Vec<String> = field.when.iter().map(|(column, value)| format!("{column}={value}")).collect();
    let exact = (!conditions.is_empty()).then(|| format!("{name}[{}]", conditions.join(",")));
    (name, exact)
}

fn is_of(beginning: &str, name: &str) -> bool {
    beginning == name || (beginning.ends_with('.') && name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Corpus;
    use crate::tables::Facts;

    fn need(text: &str) -> Need {
        Need::try_from(text.to_owned()).unwrap()
    }

    fn needs() -> Vec<Need> {
        Corpus::embedded().unwrap().rules.into_iter().flat_map(|rule| rule.header.needs).collect()
    }

    #[test]
    fn there_is_advice_on_every_need_of_every_rule() {
        let advice = Advice::embedded();
        for need in needs() {
            assert!(advice.on(&need.text).is_some_and(|advice| advice.ends_with('.')), "{}", need.text);
            // What must pass completes "not seen in this traffic:".
            let traffic = longest(&advice.traffic, &need.text);
            assert!(traffic.is_some_and(|what| what.starts_with('a') && !what.ends_with('.')), "{}", need.text);
        }
    }

    #[test]
    fn one_form_of_the_command_of_a_proxy_is_told() {
        let advice = Advice::embedded();
        let settings = advice.emitters().iter().flat_map(|emitter| &emitter.settings);
        let commands: Vec<&str> =
            settings.filter(|s| s.set.starts_with("mitmdump")).map(|setting| setting.set.as_str()).collect();
        let same = "--set stream_large_bodies=1 --set store_streamed_bodies=true";
        assert!(commands.len() == 4 && commands.iter().all(|command| command.ends_with(same)), "{commands:?}");
    }

    #[test]
    fn the_longest_beginning_counts() {
        let advice = Advice::embedded();
        assert!(advice.on_clients().contains("`client` of an exchange line"));
        let local = advice.on("task_events.state[origin=local]").unwrap();
        assert!(local.contains("a2a.local") && !advice.on("task_events.state").unwrap().contains("a2a.local"));
        assert_eq!(advice.on("weather.wind"), None);
    }

    #[test]
    fn every_setting_has_a_source_and_names_fields_that_there_are() {
        let read: File = toml::from_str(EMITTERS).unwrap();
        let schemas = Facts::schemas();
        let exists = |beginning: &str| {
            let (table, column) = beginning.split_once('.').unwrap();
            let column = column.split('[').next().unwrap();
            let schema = schemas.iter().find(|(name, _)| *name == table).map(|(_, schema)| schema);
            schema.is_some_and(|schema| column.is_empty() || schema.field_with_name(column).is_ok())
        };
        for emitter in &read.emitters {
            // An exporter adds nothing to what it is given.
            let is_exporter = emitter.id == "otel-console";
            assert!(is_exporter || !emitter.settings.is_empty() || !emitter.never.is_empty(), "{}", emitter.id);
            for Setting { set, note, fills, if_said, shows, source, .. } in &emitter.settings {
                assert!(!set.is_empty() && !source.is_empty() && note.ends_with('.'), "{}: {set}", emitter.id);
                assert!(!fills.is_empty() && fills.iter().all(|field| exists(field)), "{}: {fills:?}", emitter.id);
                assert!(if_said.iter().all(|field| exists(field)), "{}: {if_said:?}", emitter.id);
                assert!(shows.iter().all(|field| exists(&field.text)), "{}: {shows:?}", emitter.id);
            }
            for Never { fields, because, source } in &emitter.never {
                assert!(!because.is_empty() && !because.ends_with('.') && !source.is_empty(), "{}", emitter.id);
                assert!(fields.iter().all(|field| exists(field)), "{}: {fields:?}", emitter.id);
            }
        }
    }

    #[test]
    fn no_emitter_says_what_it_never_says() {
        let advice = Advice::embedded();
        for (emitter, need) in
            advice.emitters().iter().flat_map(|emitter| needs().into_iter().map(move |n| (emitter, n)))
        {
            let in_use = [emitter.id.clone()];
            let both = advice.setting(&need, &in_use).is_some() && !advice.never(&need, &in_use).is_empty();
            assert!(!both, "{}: {}", emitter.id, need.text);
        }
    }

    #[test]
    fn a_condition_must_be_written_out() {
        let fills = |beginning: &str, text: &str| fills(&[beginning.to_owned()], &need(text));
        assert!(fills("task_events.", "task_events.state") && fills("task_events.state", "task_events.state@client"));
        assert!(!fills("task_events.", "task_events.state[origin=local]"));
        assert!(fills("task_events.state[origin=local]", "task_events.state[origin=local]"));
        assert!(!fills("task_events.state", "task_events.state_raw"));
        assert!(fills("task_events.generation", "task_events.status_at or task_events.generation"));
    }

    #[test]
    fn nginx_is_told_the_format_of_the_example() {
        let example = include_str!("../../examples/gateways/nginx.conf");
        let example = example.split_whitespace().collect::<Vec<_>>().join(" ");
        let advice = Advice::embedded();
        let nginx = advice.emitters().iter().find(|emitter| emitter.id == "nginx").unwrap();
        assert!(nginx.settings.len() > 1);
        for Setting { set, .. } in nginx.settings.iter().filter(|setting| !setting.set.contains("of a2a-drift")) {
            assert!(example.contains(set), "{set}");
        }
    }

    #[test]
    fn what_lines_show_to_be_set_is_not_asked_for() {
        let body = need("exchanges.content_hash");
        let told = |shown: &[&str]| {
            let shown: Vec<String> = shown.iter().map(|name| (*name).to_owned()).collect();
            let advice = Advice::embedded().beyond(&shown);
            advice.setting(&body, &["nginx".to_owned()]).unwrap().1.set.clone()
        };
        assert!(told(&[]).starts_with("log_format a2a escape=json '{\"msec\""));
        assert_eq!(told(&["request_time"]), "\"request_body\":\"$request_body\"");
        assert_eq!(told(&["request_time", "request_body"]), "client_body_buffer_size 1m;");
    }

    #[test]
    fn the_setting_of_an_emitter_in_use_comes_before_the_advice_for_all() {
        let (advice, body) = (Advice::embedded(), need("exchanges.content_hash"));
        let with = advice.sentence(&body, &["kong".to_owned()]).unwrap();
        assert!(with.starts_with("Kong AI A2A Proxy: ") && with.contains("log_payloads: true"), "{with}");
        assert_eq!(advice.sentence(&body, &[]).as_deref(), advice.on("exchanges.content_hash"));
        assert_eq!(advice.never(&body, &["aisix".to_owned()]).len(), 1);
    }
}
