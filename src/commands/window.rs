//! A window of time, as `--since` and `--until` give it.
//!
//! In: instants, or distances from the end; the facts. Out: [`Window`]. Changes no fact and no finding.

use anyhow::bail;

use crate::cli::Moment;
use crate::instant::Instant;
use crate::publish::moment;
use crate::tables::Facts;

/// Tables of what card bodies say.
const TIMELESS: [&str; 2] = ["card_skills", "card_endpoints"];

/// A window of time; open where nothing was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Window {
    /// From here on.
    pub(super) since: Option<Instant>,
    /// Up to here, inclusive.
    pub(super) until: Option<Instant>,
}

impl Window {
    /// The window that was asked for. Distances are from `as_of`, else from the last fact.
    pub(super) fn of(
        since: Option<Moment>,
        until: Option<Moment>,
        as_of: Option<Instant>,
        facts: &Facts,
    ) -> anyhow::Result<Self> {
        if since.is_none() && until.is_none() {
            return Ok(Self::default());
        }
        let last = || facts.commons().map(|common| common.observed_at).max();
        let end = as_of.or_else(last).unwrap_or_default();
        let instant = |moment: Moment| match moment {
            Moment::At(at) => at,
            Moment::Before(distance) => {
                Instant(end.0.saturating_sub(i64::try_from(distance.as_nanos()).unwrap_or(i64::MAX)))
            }
        };
        let window = Self { since: since.map(instant), until: until.map(instant) };
        if let (Some(since), Some(until)) = (window.since, window.until)
            && since > until
        {
            bail!("--since is after --until: {} and {}", moment(since), moment(until));
        }
        Ok(window)
    }

    /// Whether there are facts, and none was observed in it. What a card body says has no time of its own.
    pub(super) fn is_empty(&self, facts: &Facts) -> bool {
        let mut timed = facts.by_table().filter(|(table, _)| !TIMELESS.contains(table)).peekable();
        *self != Self::default() && timed.peek().is_some() && !timed.any(|(_, common)| self.holds(common.observed_at))
    }

    /// Whether an instant lies in it.
    pub(super) fn holds(&self, at: Instant) -> bool {
        self.touches(at, at)
    }

    /// Whether something that was seen from `first` to `last` was seen in it.
    pub(super) fn touches(&self, first: Instant, last: Instant) -> bool {
        self.since.is_none_or(|since| last >= since) && self.until.is_none_or(|until| first <= until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tables::{Common, ExchangeColumns, ExchangeRow};

    const MINUTE: i64 = 60_000_000_000;

    fn facts() -> Facts {
        let mut facts = Facts::default();
        for minute in [0, 90] {
            let common = Common { observed_at: Instant(minute * MINUTE), ..Common::default() };
            facts.push_exchange(ExchangeRow { common, own: ExchangeColumns::default() });
        }
        facts
    }

    fn minutes(minutes: u64) -> Option<Moment> {
        Some(Moment::Before(Duration::from_secs(60 * minutes)))
    }

    #[test]
    fn distances_are_from_the_last_fact_or_from_the_instant_of_judgement() {
        let since = |as_of| Window::of(minutes(30), None, as_of, &facts()).unwrap().since;
        assert_eq!(since(None), Some(Instant(60 * MINUTE)));
        assert_eq!(since(Some(Instant(100 * MINUTE))), Some(Instant(70 * MINUTE)));
    }

    #[test]
    fn what_began_before_and_went_on_into_the_window_was_seen_in_it() {
        let window = Window::of(minutes(60), minutes(30), None, &facts()).unwrap();
        let touches = |first: i64, last: i64| window.touches(Instant(first * MINUTE), Instant(last * MINUTE));
        assert!(touches(0, 30) && touches(0, 90) && touches(60, 90) && touches(40, 50));
        assert!(!touches(0, 29) && !touches(61, 90));
        assert!(Window::default().touches(Instant(i64::MIN), Instant(i64::MAX)));
    }

    #[test]
    fn a_window_that_ends_before_it_begins_is_a_mistake() {
        assert!(Window::of(minutes(30), minutes(60), None, &facts()).is_err());
    }
}
