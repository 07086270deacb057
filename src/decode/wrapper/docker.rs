//! Docker's `json-file` log driver.
//!
//! In: `{"log": "text\n", "stream": "stdout", "time": "<RFC 3339>"}`, with `attrs` for what the container was started with
//! (moby, daemon/logger/jsonfilelog). Out: the text. What is longer than 16 KiB comes in pieces, of which only the last ends
//! with a line end.

use serde_json::{Map, Value};

use super::labels::Labels;
use super::{GoesOn, Payload, Wrapped, take_text, text};
use crate::decode::frame::Said;
use crate::decode::times;
use crate::instant::Instant;

/// Bytes of a piece.
const PIECE: usize = 16 << 10;

/// Whether an object is a line of it.
pub(super) fn is(map: &Map<String, Value>) -> bool {
    let known = |key: &String| matches!(key.as_str(), "log" | "stream" | "time" | "attrs");
    map.get("log").is_some_and(Value::is_string)
        && matches!(text(map, "stream"), "stdout" | "stderr")
        && map.contains_key("time")
        && map.keys().all(known)
}

/// Opens it.
pub(super) fn open(mut map: Map<String, Value>) -> Vec<Wrapped> {
    let mut labels = Labels::default();
    if let Some(Value::Object(attrs)) = map.get("attrs") {
        // `--log-opt tag` and `--log-opt labels`, of which Compose sets these.
        labels.text("container.name", attrs.get("tag"));
        labels.service(attrs, &["com.docker.compose.service"]);
    }
    let text = take_text(&mut map, "log").unwrap_or_default();
    let goes_on = match text.ends_with('\n') {
        true => GoesOn::No,
        false if text.len() >= PIECE => GoesOn::Yes,
        false => GoesOn::Perhaps,
    };
    let at = Instant::parse_rfc3339(super::text(&map, "time"));
    let has_bad_time = at.is_none() && times::is_given(map.get("time"));
    let said = Said {
        at,
        has_bad_time,
        labels: labels.done(),
        stream: super::text(&map, "stream").to_owned(),
        ..Said::default()
    };
    vec![Wrapped { said, payload: Payload::Text(text, goes_on) }]
}
