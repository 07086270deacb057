//! What an event of ours says in words that nobody reads, though it comes near to some.
//!
//! In: a record with an event name of ours. Out: rejects with what was meant; the rest of the event is read all the same. Other
//! people's names are theirs: told is only what is two strokes away from a known one.

use strsim::damerau_levenshtein;

use super::log::Reader;
use super::own_event::EVENTS;
use crate::decode::record::{Reject, RejectReason};
use crate::normalize::protocol::state::{self, STATES};

/// Start of names that are looked at.
const PREFIX: &str = "a2a.";
/// Strokes between what is written and what is meant.
const MOST_STROKES: usize = 2;
/// Names of one event that are looked at; the longest that is.
const MOST_NAMES: usize = 32;
const LONGEST: usize = 64;
/// Words for no state; the second is protobuf's.
const NONE: [&str; 2] = ["unknown", "unspecified"];

/// What is misspelt in an event.
pub(super) fn told(reader: &Reader<'_>, state_raw: &str) -> Vec<Reject> {
    let event = reader.record.event_name.as_str();
    if !event.starts_with(PREFIX) {
        return Vec::new();
    }
    let mut said = Vec::new();
    if let Some(meant) = meant(event, EVENTS.into_iter()) {
        said.push(format!("the event {event} is not known: did you mean {meant}?"));
    }
    let names = reader.carrier.names().filter(|name| name.starts_with(PREFIX)).take(MOST_NAMES);
    for name in names {
        if let Some(meant) = meant(name, reader.context.aliases.names()) {
            said.push(format!("nobody reads {name}: did you mean {meant}?"));
        }
    }
    if event == EVENTS[0] && !state_raw.is_empty() {
        said.extend(no_state(state_raw));
    }
    let reject = |detail| Reject { origin: reader.record.origin.clone(), reason: RejectReason::BadField, detail };
    said.into_iter().map(reject).collect()
}

/// The known name that a name comes near to; none if it is known itself.
fn meant<'a>(written: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if written.len() > LONGEST || known.clone().any(|name| name == written) {
        return None;
    }
    let near = known.map(|name| (damerau_levenshtein(written, name), name));
    near.filter(|(strokes, _)| *strokes <= MOST_STROKES).min().map(|(_, name)| name)
}

/// What to say of a state that is none; what is written there is nobody's business.
fn no_state(raw: &str) -> Option<String> {
    let word = state::bare(raw);
    if state::canonical(raw) != "unknown" || NONE.contains(&word.as_str()) {
        return None;
    }
    let near = meant(&word, STATES.into_iter()).map(|meant| format!(": did you mean {meant}?")).unwrap_or_default();
    Some(format!("the state of the task is none of A2A's{near}"))
}
