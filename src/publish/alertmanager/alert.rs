//! One alert, from its beginning to its end.
//!
//! In: a group of open findings. Out: the alert as API v2 of Alertmanager takes it. Sends nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Url;
use serde::Serialize;

use super::Settings;
use crate::findings::Active;
use crate::instant::Instant;
use crate::publish::words::{clean, date_time};

/// Characters of a text from outside that are shown.
const MOST_CHARACTERS: usize = 500;

/// An alert that fires or has ended.
#[derive(Debug, Clone)]
pub(super) struct Alert {
    group: Active,
    ended: Option<Instant>,
}

/// What is sent (Alertmanager, `api/v2/openapi.yaml`, `postableAlert`).
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    labels: BTreeMap<&'static str, String>,
    annotations: BTreeMap<&'static str, String>,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL", skip_serializing_if = "String::is_empty")]
    generator_url: String,
}

impl Alert {
    /// An alert that fires.
    pub(super) fn new(group: &Active) -> Self {
        Self { group: group.clone(), ended: None }
    }

    /// Ends it; whether it had not ended before.
    pub(super) fn end(&mut self, now: Instant) -> bool {
        let is_new = self.ended.is_none();
        self.ended = self.ended.or(Some(now));
        is_new
    }

    /// Takes the newest of its group; whether it has to be told at once. A group that is back begins anew.
    pub(super) fn go_on(&mut self, group: &Active) -> bool {
        let is_back = self.ended.take().is_some();
        let is_new = is_back || self.group.since != group.since;
        self.group = group.clone();
        is_new
    }

    /// Whether it is over.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether it ended so long ago that nobody has to be told.
    pub(super) fn is_past(&self, now: Instant, lasts: Duration) -> bool {
        self.ended.is_some_and(|ended| plus(ended, lasts) < now)
    }

    /// The alert as it is sent at an instant.
    pub(super) fn shown(&self, settings: &Settings, now: Instant) -> Shown {
        let ends_at = self.ended.unwrap_or_else(|| plus(now, settings.lasts)).max(self.group.since);
        Shown {
            labels: self.labels(settings),
            annotations: self.annotations(settings),
            starts_at: self.group.since.to_rfc3339(),
            ends_at: ends_at.to_rfc3339(),
            generator_url: self.generator_url(settings).unwrap_or_default(),
        }
    }

    /// The labels of the alerts that the generated Prometheus rules fire. An empty one is none.
    fn labels(&self, settings: &Settings) -> BTreeMap<&'static str, String> {
        let labels = &self.group.labels;
        [
            ("alertname", (settings.name_of)(&labels.rule)),
            ("rule", labels.rule.clone()),
            ("category", labels.category.clone()),
            ("severity", labels.severity.as_str().to_owned()),
            ("suspect", labels.suspect.clone()),
            ("agent", labels.agent.clone()),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
    }

    fn annotations(&self, settings: &Settings) -> BTreeMap<&'static str, String> {
        let Active { count, summaries, first_seen, next_step, runbook, .. } = &self.group;
        let first = summaries.first().map_or_else(String::new, |summary| shown(summary));
        let summary = if *count > 1 { format!("{count} findings, first: {first}") } else { first };
        let mut description: Vec<String> = summaries.iter().map(|summary| shown(summary)).collect();
        let told = summaries.len() as u64;
        if *count > told {
            description.push(format!("and {} more", count - told));
        }
        description.push(format!("Since {}. Next: {}", date_time(*first_seen), shown(next_step)));
        let runbook_url = match settings.runbooks.as_str() {
            "" => runbook.clone(),
            base => format!("{}/{runbook}", base.trim_end_matches('/')),
        };
        [("summary", summary), ("description", description.join("\n")), ("runbook_url", runbook_url)].into()
    }

    /// Where the findings of the group can be read.
    fn generator_url(&self, settings: &Settings) -> Option<String> {
        let mut url = Url::parse(&settings.api).ok()?;
        url.set_path(&format!("{}/api/v1/findings", url.path().trim_end_matches('/')));
        let labels = &self.group.labels;
        url.query_pairs_mut().append_pair("rule", &labels.rule).append_pair("severity", labels.severity.as_str());
        if !labels.agent.is_empty() && labels.agent != crate::findings::active::OTHER {
            url.query_pairs_mut().append_pair("agent", &labels.agent);
        }
        Some(url.into())
    }
}

/// Text from outside: short, and without what is not seen.
fn shown(text: &str) -> String {
    let short: String = clean(text).chars().take(MOST_CHARACTERS).collect();
    short
}

fn plus(at: Instant, duration: Duration) -> Instant {
    Instant(at.0.saturating_add(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
}
