//! Deliveries that a proxy taped, and the sentence of the sender's log that each is told in.
//!
//! In: facts of taped deliveries, and a [`Note`]. Out: the call that the note is about. Makes no facts.

use std::collections::HashMap;

use crate::instant::Instant;
use crate::tables::Facts;

use super::delivery::Note;
use super::hook::is_same_hook;
use super::row::call_id;
use super::sentence::{MAX_NEIGHBOURS, SLACK_NANOS};

/// Deliveries that were taped, for sentences that no span explains.
pub(super) struct Taped {
    /// By task and trace, in the order of time.
    by_task: HashMap<(String, String), Vec<TapedDelivery>>,
}

/// A delivery that was taped.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TapedDelivery {
    at: Instant,
    call_id: String,
    url: String,
    /// A sentence was given to it.
    given: bool,
}

impl Taped {
    pub(super) fn new(facts: &Facts) -> Self {
        let mut by_task: HashMap<(String, String), Vec<TapedDelivery>> = HashMap::new();
        for row in facts.push_deliveries.iter().filter(|row| !row.common.span_id.is_empty()) {
            let key = (row.own.task_id.clone(), row.common.trace_id.clone());
            by_task.entry(key).or_default().push(TapedDelivery {
                at: row.common.observed_at,
                call_id: call_id(&row.common.span_id),
                url: row.own.url.clone(),
                given: false,
            });
        }
        for taped in by_task.values_mut() {
            // The same delivery read twice is one.
            taped.sort();
            taped.dedup();
        }
        Self { by_task }
    }

    /// The call that a sentence is about: the last that began before it, else the first just after.
    pub(super) fn call_of(&mut self, note: &Note) -> String {
        let key = (note.task_id.clone(), note.seen.trace_id.clone());
        let Some(taped) = self.by_task.get_mut(&key) else { return String::new() };
        let fits = |taped: &TapedDelivery| !taped.given && is_same_hook(&taped.url, &note.url);
        let began = taped.partition_point(|taped| taped.at <= note.seen.at);
        let before = (0..began).rev().take(MAX_NEIGHBOURS).find(|&i| taped.get(i).is_some_and(fits));
        // The tape's clock may be a little behind the log's.
        let latest = note.seen.at.0.saturating_add(SLACK_NANOS);
        let after = || (began..taped.len()).find(|&i| taped.get(i).is_some_and(|t| t.at.0 <= latest && fits(t)));
        let Some(found) = before.or_else(after).and_then(|i| taped.get_mut(i)) else { return String::new() };
        found.given = true;
        found.call_id.clone()
    }
}
