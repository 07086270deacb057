//! Bodies in log lines that were cut.
//!
//! In: the members of a line, the dotted name of one that holds a body. Out: whether it was cut. Keeps no text.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// Whether a body of this name ends before its JSON does. Lists on the way stand for each of their items.
pub(super) fn is_in(members: &Map<String, Value>, name: &str) -> bool {
    let (member, rest) = name.split_once('.').map_or((name, None), |(member, rest)| (member, Some(rest)));
    members.get(member).is_some_and(|value| is_below(value, rest))
}

fn is_below(value: &Value, rest: Option<&str>) -> bool {
    match (value, rest) {
        (Value::Array(items), _) => items.iter().any(|item| item.is_object() && is_below(item, rest)),
        (Value::Object(members), Some(rest)) => is_in(members, rest),
        (Value::String(text), None) => is_cut(text),
        _ => false,
    }
}

/// JSON of which the end is missing; streams and texts are none, and what is broken in the middle was not cut.
fn is_cut(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(payload: &str) -> bool {
        let line =
            json!({"ai": {"a2a": {"rpc": [{"payload": {"request": "{}"}}, {"payload": {"response": payload}}]}}});
        is_in(line.as_object().unwrap(), "ai.a2a.rpc.payload.response")
    }

    #[test]
    fn a_body_that_ends_before_its_json_was_cut() {
        assert!(of("{\"result\": {\"task\": {\"id\": \"t") && of(" [1, 2"));
    }

    #[test]
    fn whole_bodies_streams_texts_and_broken_ones_were_not() {
        for body in ["{\"a\": 1}", "", "data: {\"a\": 1", "Not found", "{a: 1}", "{\"a\": 1} and more"] {
            assert!(!of(body), "{body}");
        }
    }

    #[test]
    fn another_shape_is_no_body() {
        for line in [json!({"ai": 1}), json!({"ai": {"a2a": {"rpc": {"payload": "{"}}}}), json!({"ai": [["{"]]})] {
            assert!(!is_in(line.as_object().unwrap(), "ai.a2a.rpc.payload.response"), "{line}");
        }
    }
}
