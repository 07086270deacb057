//! Fresh ids: the same line as another call, or as another task, with every join kept.
//!
//! In: a line's text and a seed. Out: the text with its ids renamed; the same id and seed give the same new id in every
//! line, group and case. Names that people chose (`summarize-v2`, `art-1`, `cfg-1`) are no ids.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::edit::body_json;
use super::pattern;

/// UUIDs, trace and span ids, and the client-made ids of the 0.1 capture (`task-001`, `sess-1`).
static ID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        r"|\b[0-9a-f]{32}\b|\b[0-9a-f]{16}\b",
        r"|\b(?:task|sess)-\d{1,3}\b"
    ))
});

/// Which ids of a line become fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fresh {
    /// All: another task.
    #[default]
    All,
    /// Those of the call alone (JSON-RPC id, message id, trace and span): another call about the same task.
    Calls,
    /// None: the same record again.
    None,
}

/// Renames the ids of a line.
pub fn rename(text: &str, seed: &str, fresh: Fresh) -> String {
    let calls = match fresh {
        Fresh::None => return text.to_owned(),
        Fresh::All => None,
        Fresh::Calls => Some(call_ids(text)),
    };
    let Some(pattern) = ID.as_ref() else { return text.to_owned() };
    let renamed = pattern.replace_all(text, |found: &Captures<'_>| {
        let id = &found[0];
        if calls.as_ref().is_some_and(|calls| !calls.contains(id)) { id.to_owned() } else { fresh_id(id, seed) }
    });
    rename_rpc_number(&renamed, seed)
}

/// The new id of an old one: as long, and of the same kind of characters.
pub fn fresh_id(id: &str, seed: &str) -> String {
    let hash = hex::encode(Sha256::digest(format!("{seed}\n{id}")));
    let mut digits = hash.chars();
    if let Some((name, _)) = id.split_once('-').filter(|(name, _)| matches!(*name, "task" | "sess")) {
        let number = u32::from_str_radix(&hash[..6], 16).unwrap_or_default() % 900_000 + 100_000;
        return format!("{name}-{number}");
    }
    // The version digit of a UUID stays: position 14.
    id.char_indices()
        .map(|(at, old)| if old == '-' || (id.len() == 36 && at == 14) { old } else { digits.next().unwrap_or('0') })
        .collect()
}

/// JSON-RPC id, message id, trace and span of the call in an exchange line; of other lines, trace and span ids.
fn call_ids(text: &str) -> BTreeSet<String> {
    let of_calls = |text: &str| {
        let ids = ID.iter().flat_map(|pattern| pattern.find_iter(text)).map(|id| id.as_str().to_owned());
        ids.filter(|id| matches!(id.len(), 16 | 32) && !id.contains('-')).collect::<BTreeSet<_>>()
    };
    let line: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(request) = line.get("request") else { return of_calls(text) };
    let mut ids = of_calls(&request.get("headers").map(Value::to_string).unwrap_or_default());
    let body = body_json(&line, "request").unwrap_or_default();
    if body.get("jsonrpc").is_some() {
        ids.extend(body.get("id").and_then(Value::as_str).map(str::to_owned));
    }
    for message in ["/params/message/messageId", "/message/messageId"] {
        ids.extend(body.pointer(message).and_then(Value::as_str).map(str::to_owned));
    }
    ids
}

/// Home-made clients count their JSON-RPC ids: another call needs another number.
fn rename_rpc_number(text: &str, seed: &str) -> String {
    static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r#"(\\"id\\": ?)(\d{1,6})\b"#));
    if !text.contains(r#"\"jsonrpc\""#) {
        return text.to_owned();
    }
    let hash = Sha256::digest(seed);
    let offset = 1000 * (1 + u64::from(hash[0]) * 256 + u64::from(hash[1]));
    let Some(numbers) = NUMBER.as_ref() else { return text.to_owned() };
    numbers
        .replace_all(text, |found: &Captures<'_>| {
            format!("{}{}", &found[1], found[2].parse::<u64>().unwrap_or_default() + offset)
        })
        .into_owned()
}
