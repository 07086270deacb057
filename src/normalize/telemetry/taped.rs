//! Deliveries that a proxy taped, and the sentence of the sender's log that each is told in.
//!
//! In: taped deliveries, and a [`Note`]. Out: the call that the note is about. Makes no facts.

use std::collections::HashMap;

use super::delivery::Note;
use super::hook::is_same_hook;
use super::said::{Said, TapedDelivery};
use super::sentence::{MAX_NEIGHBOURS, SLACK_NANOS};

/// Deliveries that were taped, for sentences that no span explains.
pub(super) struct Taped<'a> {
    /// By task and trace, in the order of time.
    by_task: HashMap<(&'a str, &'a str), Vec<Sentence<'a>>>,
}

/// A delivery, and whether a sentence was given to it.
struct Sentence<'a> {
    delivery: &'a TapedDelivery,
    given: bool,
}

impl<'a> Taped<'a> {
    pub(super) fn new(said: &'a Said) -> Self {
        let mut by_task: HashMap<(&str, &str), Vec<Sentence<'_>>> = HashMap::new();
        // Those of a trace are in the order of tasks, then of time.
        for (trace_id, delivery) in said.taped() {
            let key = (delivery.task_id.as_str(), trace_id);
            by_task.entry(key).or_default().push(Sentence { delivery, given: false });
        }
        Self { by_task }
    }

    /// The call that a sentence is about: the last that began before it, else the first just after.
    pub(super) fn call_of(&mut self, note: &'a Note) -> String {
        let Some(taped) = self.by_task.get_mut(&(note.task_id.as_str(), note.seen.trace_id.as_str())) else {
            return String::new();
        };
        let fits = |taped: &Sentence<'_>| !taped.given && is_same_hook(&taped.delivery.url, &note.url);
        let began = taped.partition_point(|taped| taped.delivery.at <= note.seen.at);
        let before = (0..began).rev().take(MAX_NEIGHBOURS).find(|&i| taped.get(i).is_some_and(fits));
        // The tape's clock may be a little behind the log's.
        let latest = note.seen.at.0.saturating_add(SLACK_NANOS);
        let after =
            || (began..taped.len()).find(|&i| taped.get(i).is_some_and(|t| t.delivery.at.0 <= latest && fits(t)));
        let Some(found) = before.or_else(after).and_then(|i| taped.get_mut(i)) else { return String::new() };
        found.given = true;
        found.delivery.call_id.clone()
    }
}
