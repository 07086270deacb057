//! What would let blind rules see, the cheapest step first.
//!
//! In: rules that lack fields, the emitters in use, advice. Out: [`Gain`]s. Knows no fact.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::corpus::Rule;
use super::fields::{Advice, Emitter, Setting, fills};
use super::needs::Need;
use crate::findings::coverage::{Gain, Sight, State};

/// What a step costs who takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effort {
    /// What is in use is set otherwise.
    Setting,
    /// A program says more: an event, a field of a message.
    Code,
    /// Something more stands in the way of the traffic.
    Proxy,
}

/// A candidate to be turned on, with the needs that it would fill, for sure and where somebody says them.
struct Candidate {
    gain: Gain,
    effort: Effort,
    fills: BTreeSet<String>,
    if_said: BTreeSet<String>,
}

/// Fields that rules lack, by rule.
type Open<'a> = BTreeMap<&'a str, BTreeSet<String>>;

impl Candidate {
    /// Rules that it wakes, and fields that it fills which rules lack.
    fn worth(&self, open: &Open<'_>) -> (usize, usize) {
        let woken = open.values().filter(|missing| missing.is_subset(&self.fills)).count();
        (woken, open.values().map(|missing| missing.intersection(&self.fills).count()).sum())
    }

    /// Takes the step: says what it brings, and leaves what lacks then.
    fn take(self, open: &mut Open<'_>) -> Gain {
        let Self { mut gain, fills, if_said, .. } = self;
        let lacks = |need: &&String| open.values().any(|missing| missing.contains(*need));
        gain.fills = fills.iter().filter(lacks).cloned().collect();
        for (rule, missing) in &mut *open {
            let before = missing.len();
            missing.retain(|need| !fills.contains(need));
            match missing.is_empty() {
                true => gain.wakes.push((*rule).to_owned()),
                false if missing.is_subset(&if_said) => gain.perhaps.push((*rule).to_owned()),
                false if missing.len() < before => gain.helps.push((*rule).to_owned()),
                false => {}
            }
        }
        if !gain.perhaps.is_empty() {
            gain.if_said = if_said.into_iter().collect();
        }
        open.retain(|_, missing| !missing.is_empty());
        gain
    }
}

/// What to turn on: at each step the cheapest that wakes a rule after the steps before it, of those what wakes most. Where none
/// wakes a rule alone, what fills most.
pub(super) fn gains(rules: &[&Rule], sights: &[Sight], in_use: &[String], advice: &Advice) -> Vec<Gain> {
    let blind = sights.iter().filter(|sight| sight.state == State::Blind);
    let mut open: Open<'_> = blind
        .map(|sight| {
            let missing = sight.missing.iter().filter(|missing| !missing.has_other);
            (sight.rule.as_str(), missing.map(|missing| missing.need.clone()).collect())
        })
        .collect();
    let wanted: BTreeSet<&String> = open.values().flatten().collect();
    let needs: BTreeMap<&str, &Need> = (rules.iter().flat_map(|rule| &rule.header.needs))
        .filter(|need| wanted.contains(&need.text))
        .map(|need| (need.text.as_str(), need))
        .collect();
    let mut candidates = candidates(&needs, in_use, advice);
    let mut gains = Vec::new();
    loop {
        let rank = |at: &usize| {
            let (woken, filled) = candidates[*at].worth(&open);
            let effort = candidates[*at].effort;
            // What wakes nothing alone is no cheap step: it is taken for what comes after it.
            let effort = if woken > 0 { effort } else { Effort::Proxy };
            (Reverse(effort), woken, filled)
        };
        // Of equals the first: emitters in use come before what anyone can do.
        let best = (0..candidates.len()).rev().max_by_key(rank);
        let Some(best) = best.filter(|at| candidates[*at].worth(&open).1 > 0) else { break };
        gains.push(candidates.remove(best).take(&mut open));
    }
    gains
}

/// Settings of emitters in use; for needs that none of them fills events that anyone can write; for the rest a proxy, else advice in
/// words. For what is set already, and did not happen, nothing.
fn candidates(needs: &BTreeMap<&str, &Need>, in_use: &[String], advice: &Advice) -> Vec<Candidate> {
    let own = advice.emitters().iter().filter(|emitter| in_use.contains(&emitter.id));
    let mut candidates: Vec<Candidate> = own.flat_map(|emitter| of_emitter(emitter, Effort::Setting, needs)).collect();
    let mut open = needs.clone();
    open.retain(|_, need| !advice.only_waits(need, in_use));
    let mut close = |candidates: &[Candidate]| {
        open.retain(|need, _| !candidates.iter().any(|candidate| candidate.fills.contains(*need)));
        open.clone()
    };
    // Where nothing in use was told there is nothing cheaper to begin with than to record.
    let of_proxy = if in_use.is_empty() { Effort::Code } else { Effort::Proxy };
    let proxy = |needs| advice.proxy().into_iter().flat_map(move |any| of_emitter(any, of_proxy, needs));
    let events = |needs| advice.events().into_iter().flat_map(move |own| of_emitter(own, Effort::Code, needs));
    let without_setting = close(&candidates);
    if in_use.is_empty() {
        candidates.extend(proxy(&without_setting));
        candidates.extend(events(&close(&candidates)));
    } else {
        candidates.extend(events(&without_setting));
        candidates.extend(proxy(&close(&candidates)));
    }
    let mut in_words: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for need in close(&candidates).into_keys() {
        in_words.entry(advice.on(need).unwrap_or_default()).or_default().insert(need.to_owned());
    }
    candidates.extend(in_words.into_iter().map(|(note, fills)| Candidate {
        gain: Gain { note: note.to_owned(), ..Gain::default() },
        effort: Effort::Code,
        fills,
        if_said: BTreeSet::new(),
    }));
    candidates
}

fn of_emitter(emitter: &Emitter, effort: Effort, needs: &BTreeMap<&str, &Need>) -> Vec<Candidate> {
    let of_setting = |setting: &Setting| {
        let filled = |fields: &[String]| {
            needs.iter().filter(|(_, need)| fills(fields, need)).map(|(text, _)| (*text).to_owned()).collect()
        };
        let gain = Gain {
            emitter: emitter.title.clone(),
            set: setting.set.clone(),
            note: setting.note.clone(),
            source: setting.source.clone(),
            ..Gain::default()
        };
        Candidate { gain, effort, fills: filled(&setting.fills), if_said: filled(&setting.if_said) }
    };
    emitter.open_settings().map(of_setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::coverage::Missing;
    use crate::rules::Corpus;

    /// Steps for rules that lack all that they need.
    fn steps(in_use: &[&str], advice: &Advice) -> Vec<Gain> {
        let corpus = Corpus::embedded().unwrap();
        let in_use: Vec<String> = in_use.iter().map(|id| (*id).to_owned()).collect();
        let rules: Vec<&Rule> = corpus.rules.iter().collect();
        let lacking = |need: &Need| Missing {
            need: need.text.clone(),
            has_other: false,
            advice: String::new(),
            unseen: None,
            never: vec![],
        };
        let blind = |rule: &&Rule| Sight {
            rule: rule.id.clone(),
            state: State::Blind,
            missing: rule.header.needs.iter().map(lacking).collect(),
            unseen: vec![],
            nameless: false,
        };
        let sights: Vec<Sight> = rules.iter().map(blind).collect();
        gains(&rules, &sights, &in_use, advice)
    }

    fn place(steps: &[Gain], set: &str) -> usize {
        let found: Vec<usize> = (0..steps.len()).filter(|at| steps[*at].set.contains(set)).collect();
        assert_eq!(found.len(), 1, "{set}: {found:?}");
        found[0]
    }

    #[test]
    fn settings_of_what_is_in_use_come_before_events_and_events_before_a_proxy() {
        let steps = steps(&["nginx"], &Advice::embedded());
        let format = place(&steps, "log_format a2a");
        let events = ["of the agent", "of the client", "a2a.push.delivery"].map(|event| place(&steps, event));
        assert!(events.iter().all(|event| format < *event), "{format} {events:?}");
        // Deliveries need calls that register a webhook as well, and may wait for the proxy that shows them.
        let proxy = place(&steps, "hardump=calls.har");
        assert!(events[0] < proxy && format < proxy, "{events:?} {proxy}");
        assert!(steps.iter().all(|step| !step.set.contains("hardump=webhooks.har")), "an event does as well");
    }

    #[test]
    fn where_nothing_in_use_is_known_a_proxy_shows_most() {
        let steps = steps(&[], &Advice::embedded());
        assert_eq!(place(&steps, "hardump=calls.har"), 0);
    }

    #[test]
    fn one_event_of_the_client_is_one_step() {
        let steps = steps(&["kong"], &Advice::embedded());
        let event = &steps[place(&steps, "a2a.local")];
        assert_eq!(event.wakes, ["failed_by_card", "truncated_set"]);
        assert!(steps.iter().all(|step| !step.note.contains("Let the client send")));
    }

    #[test]
    fn what_a_setting_brings_where_somebody_says_it_is_no_promise() {
        let steps = steps(&["kong"], &Advice::embedded());
        let payloads = &steps[place(&steps, "log_payloads")];
        assert_eq!(payloads.if_said, ["exchanges.skill_id"]);
        assert_eq!(payloads.perhaps, ["advertised_skill_rejected", "runtime_contradicts_card", "unadvertised_skill"]);
        assert!(payloads.perhaps.iter().all(|rule| !payloads.wakes.contains(rule)));
        let said = steps.iter().find(|step| step.set.is_empty()).unwrap();
        assert_eq!(said.wakes, payloads.perhaps);
    }
}
