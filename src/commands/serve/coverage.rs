//! Which rules can see, by what has come so far.
//!
//! In: facts as they come, findings as they fire. Out: the needs of each rule that nothing has met. Forgets nothing: what was
//! met once is met.

use crate::findings::{Finding, Report, RuleCoverage};
use crate::live::LiveError;
use crate::rules::{self, Engine};
use crate::tables::Facts;

/// Which rules could have fired so far.
pub(super) struct Coverage {
    pub(super) rules: Vec<RuleCoverage>,
}

impl Coverage {
    /// Nothing was seen.
    pub(super) fn new(engine: &Engine) -> Self {
        Self { rules: rules::coverage(engine.corpus(), &[]) }
    }

    /// A field that was filled once is not missing any more.
    pub(super) fn add(&mut self, engine: &Engine, facts: &Facts) -> Result<(), LiveError> {
        if self.rules.iter().all(|rule| rule.missing.is_empty()) {
            return Ok(());
        }
        let seen = rules::coverage(engine.corpus(), &facts.batches()?);
        for (rule, seen) in self.rules.iter_mut().zip(seen) {
            rule.missing.retain(|need| seen.missing.contains(need));
        }
        Ok(())
    }

    /// What fires sees, whatever its needs say, and goes on to see.
    pub(super) fn fired(&mut self, firing: &[Finding]) {
        Report::sees(&mut self.rules, firing.iter().map(|finding| finding.rule.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Severity, samples};
    use crate::instant::Instant;
    use crate::rules::{Corpus, Overrides};

    #[test]
    fn a_rule_that_fires_sees_from_then_on_though_a_field_that_it_needs_was_never_filled() {
        let engine = Engine::new(Corpus::embedded().unwrap(), &Overrides::new()).unwrap();
        let mut coverage = Coverage::new(&engine);
        let blind = |coverage: &Coverage| -> Vec<String> {
            let blind = coverage.rules.iter().filter(|rule| !rule.missing.is_empty());
            blind.map(|rule| rule.rule.clone()).collect()
        };
        let mut before = blind(&coverage);
        let rule = before.remove(0);
        coverage.fired(&[samples::finding(&rule, "a", "t", Severity::Info, Instant(1))]);
        assert_eq!(blind(&coverage), before);
        coverage.fired(&[]);
        coverage.add(&engine, &Facts::default()).unwrap();
        assert_eq!(blind(&coverage), before);
    }
}
