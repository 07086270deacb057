//! Deliveries that a proxy taped, and the sentence of the sender's log that each is told in.
//!
//! In: taped deliveries, and a [`Note`]. Out: the call that the note is about. Makes no facts.

use std::collections::HashMap;

use super::delivery::Note;
use super::hook::is_same_hook;
use super::said::{Said, TapedDelivery};
use super::sentence::{MAX_NEIGHBOURS, SLACK_NANOS};

/// A console names no trace. Then task, url and answer must agree, and the sentence stand behind its delivery by no more than
/// senders wait for an answer.
const UNTRACED_NANOS: i64 = 10_000_000_000;

/// Deliveries that were taped, for sentences that no span explains.
pub(super) struct Taped<'a> {
    /// In the order of time.
    deliveries: Vec<Sentence<'a>>,
    /// Places of the above by task and trace, and by task alone under no trace.
    by_task: HashMap<(&'a str, &'a str), Vec<usize>>,
}

/// A delivery, and whether a sentence was given to it.
struct Sentence<'a> {
    delivery: &'a TapedDelivery,
    given: bool,
}

impl<'a> Taped<'a> {
    pub(super) fn new(said: &'a Said) -> Self {
        let mut taped: Vec<(&str, &TapedDelivery)> = said.taped().collect();
        taped.sort_by_key(|(trace, delivery)| (delivery.at, &delivery.call_id, *trace));
        let mut by_task: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
        for (place, (trace_id, delivery)) in taped.iter().enumerate() {
            for trace_id in [*trace_id, ""] {
                by_task.entry((delivery.task_id.as_str(), trace_id)).or_default().push(place);
            }
        }
        let deliveries = taped.into_iter().map(|(_, delivery)| Sentence { delivery, given: false }).collect();
        Self { deliveries, by_task }
    }

    /// The call that a sentence is about: the last that began before it, else the first just after.
    pub(super) fn call_of(&mut self, note: &Note) -> String {
        let key = (note.task_id.as_str(), note.seen.trace_id.as_str());
        let is_told = key != ("", "");
        let Some(places) = self.by_task.get(&key).filter(|_| is_told) else { return String::new() };
        let at = |place: &usize| self.deliveries.get(*place).map(|taped| taped.delivery.at).unwrap_or_default();
        let fits = |place: &usize| {
            self.deliveries.get(*place).is_some_and(|taped| !taped.given && is_of(note, taped.delivery))
        };
        let began = places.partition_point(|place| at(place) <= note.seen.at);
        let (before, after) = places.split_at(began);
        let before = before.iter().rev().take(MAX_NEIGHBOURS).find(|place| fits(place));
        // The tape's clock may be a little behind the log's.
        let latest = note.seen.at.0.saturating_add(SLACK_NANOS);
        let after = || after.iter().take_while(|place| at(place).0 <= latest).find(|place| fits(place));
        let Some(found) = before.or_else(after).copied() else { return String::new() };
        let Some(found) = self.deliveries.get_mut(found) else { return String::new() };
        found.given = true;
        found.delivery.call_id.clone()
    }
}

/// Whether a sentence may be about a delivery of its task.
fn is_of(note: &Note, taped: &TapedDelivery) -> bool {
    let is_close = note.seen.at.0.saturating_sub(taped.at.0) <= UNTRACED_NANOS;
    let is_failed = taped.status.is_none_or(|status| !(200..300).contains(&status));
    let agrees = note.failed == is_failed && note.status.is_none_or(|status| taped.status == Some(status));
    is_same_hook(&taped.url, &note.url) && (!note.seen.trace_id.is_empty() || (is_close && agrees))
}
