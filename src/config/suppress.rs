//! Findings that are accepted for now, as a configuration names them.
//!
//! In: `[[suppress]]` tables. Out: [`Suppression`]s. One without a reason, an end, or anything to fit is a mistake.

use serde::{Deserialize, Deserializer};

use super::ConfigError;
use crate::findings::Suppression;
use crate::instant::Instant;

/// A `[[suppress]]` table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuppressTable {
    rule: Option<String>,
    agent: Option<String>,
    client: Option<String>,
    skill_id: Option<String>,
    task_id: Option<String>,
    reason: String,
    #[serde(deserialize_with = "instant")]
    expires: Instant,
}

impl SuppressTable {
    /// The suppression that stands at a place of the file.
    ///
    /// # Errors
    /// When it would accept everything or says no reason.
    pub(super) fn read(self, place: String) -> Result<Suppression, ConfigError> {
        let Self { rule, agent, client, skill_id, task_id, reason, expires } = self;
        if [&rule, &agent, &client, &skill_id, &task_id].iter().all(|value| value.is_none()) {
            let message = "suppress: name a rule, agent, client, skill_id or task_id; this would accept everything";
            return Err(ConfigError::Suppression { place, message });
        }
        if reason.trim().is_empty() {
            let message = "suppress: give a reason: whoever reads it next will ask";
            return Err(ConfigError::Suppression { place, message });
        }
        Ok(Suppression { rule, agent, client, skill_id, task_id, reason, expires, place })
    }
}

/// A TOML date, date and time, or text of RFC 3339; a date begins at midnight UTC.
fn instant<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
    let text = match toml::Value::deserialize(deserializer)? {
        toml::Value::Datetime(at) => at.to_string(),
        toml::Value::String(text) => text,
        _ => String::new(),
    };
    let whole = if text.len() == "2027-01-31".len() { format!("{text}T00:00:00Z") } else { text };
    Instant::parse_rfc3339(&whole).ok_or_else(|| serde::de::Error::custom("expected a date such as 2027-01-31"))
}
