//! How fields that rules need come to be filled.
//!
//! In: `queries/fields.toml`, a need. Out: advice in a sentence. Knows no rule.

use std::collections::BTreeMap;

const EMBEDDED: &str = include_str!("../../queries/fields.toml");

/// Advice by the beginning of a need.
#[derive(Debug, Clone, Default)]
pub struct Advice(BTreeMap<String, String>);

impl Advice {
    /// The built-in advice.
    pub fn embedded() -> Self {
        // A test holds that the file can be read.
        Self(toml::from_str(EMBEDDED).unwrap_or_default())
    }

    /// How to fill what a need names; of several fields of which one is enough, the first.
    pub fn on(&self, need: &str) -> Option<&str> {
        let fits = self.0.iter().filter(|(beginning, _)| need.starts_with(beginning.as_str()));
        fits.max_by_key(|(beginning, _)| beginning.len()).map(|(_, advice)| advice.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Corpus;

    #[test]
    fn there_is_advice_on_every_need_of_every_rule() {
        let advice = Advice::embedded();
        for rule in &Corpus::embedded().unwrap().rules {
            for need in &rule.header.needs {
                assert!(advice.on(&need.text).is_some_and(|advice| advice.ends_with('.')), "{}", need.text);
            }
        }
    }

    #[test]
    fn the_longest_beginning_counts() {
        let advice = Advice::embedded();
        let local = advice.on("task_events.state[origin=local]").unwrap();
        assert!(local.contains("a2a.local") && !advice.on("task_events.state").unwrap().contains("a2a.local"));
        assert_eq!(advice.on("weather.wind"), None);
    }
}
