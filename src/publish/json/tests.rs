use serde_json::json;

use super::*;
use crate::publish::samples::{bad_rollout, nothing_found, one_rule_failed};

fn output(report: &Report) -> Value {
    serde_json::from_str(&render(report).unwrap()).unwrap()
}

/// Walks a value along its schema: every member is described, every required one is there, and types and words fit. The
/// test command also validates the program's output with an independent implementation.
fn fits(value: &Value, schema: &Value, root: &Value, path: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("{path}: {reference}"));
        return fits(value, target, root, path);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let choice = choices.iter().find(|choice| (choice["type"] == "null") == value.is_null()).unwrap();
        return fits(value, choice, root, path);
    }
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{path}: {value}");
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds = schema.get("type").map(|kinds| kinds.as_array().cloned().unwrap_or_else(|| vec![kinds.clone()]));
    assert!(kinds.is_none_or(|kinds| kinds.contains(&json!(kind))), "{path}: {value}");
    for (number, item) in value.as_array().into_iter().flatten().enumerate() {
        fits(item, &schema["items"], root, &format!("{path}[{number}]"));
    }
    let Some((members, described)) = value.as_object().zip(schema["properties"].as_object()) else { return };
    assert!(members.keys().eq(described.keys()), "{path}: {:?} and {:?}", members.keys(), described.keys());
    for required in schema["required"].as_array().unwrap() {
        assert!(members.contains_key(required.as_str().unwrap()), "{path}: {required}");
    }
    for (name, member) in members {
        fits(member, &described[name], root, &format!("{path}.{name}"));
    }
}

#[test]
fn the_schema_describes_every_member() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for report in [bad_rollout(), nothing_found(), one_rule_failed(), Report::default()] {
        fits(&output(&report), &schema, &schema, "output");
    }
}

#[test]
fn the_summary_counts_what_follows() {
    let summary = &output(&bad_rollout())["summary"];
    assert_eq!(summary["verdict"], "drift");
    assert_eq!([&summary["critical"], &summary["warning"], &summary["info"]], [&json!(6), &json!(1), &json!(2)]);
    assert_eq!([&summary["rules"], &summary["blind_rules"], &summary["records"]], [&json!(7), &json!(3), &json!(351)]);
}

#[test]
fn what_is_unknown_is_null_and_what_people_filter_by_is_flat() {
    let output = output(&bad_rollout());
    let storm = output["findings"].as_array().unwrap().iter().find(|f| f["rule"] == "unauthorized_storm").unwrap();
    assert_eq!(storm["url"], "https://hooks.example.com/a2a");
    assert_eq!([&storm["task_id"], &storm["client"], &storm["skill_id"]], [&Value::Null; 3]);
    assert_eq!(storm["evidence"][0]["client"], Value::Null);
    assert_eq!(storm["evidence"][0]["observed_at"], "2026-11-30T06:15:50Z");
}

#[test]
fn incidents_refer_to_findings_by_id() {
    let output = output(&bad_rollout());
    let ids: Vec<&Value> = output["findings"].as_array().unwrap().iter().map(|finding| &finding["id"]).collect();
    let incidents = output["incidents"].as_array().unwrap();
    let referred: Vec<&Value> = incidents.iter().flat_map(|i| i["findings"].as_array().unwrap()).collect();
    assert_eq!(referred.len(), ids.len());
    assert!(referred.iter().all(|id| ids.contains(id)));
    assert_eq!(incidents[0]["card"]["contract_sha256"], "1.0.0-contract");
}

#[test]
fn the_verdict_is_a_word_of_its_own_for_each_end() {
    let verdict = |report: &Report| output(report)["summary"]["verdict"].clone();
    assert_eq!(verdict(&nothing_found()), "clean");
    assert_eq!(verdict(&one_rule_failed()), "incomplete");
    assert_eq!(verdict(&Report::default()), "unjudged");
}

#[test]
fn what_a_terminal_would_act_on_is_an_escape_and_the_value_stays() {
    let value = "a\u{1b}[31m\u{9b}31m\u{7f}\u{202e}\u{e0041}\nä";
    let text = super::escaped(serde_json::to_string_pretty(&[value]).unwrap());
    assert_eq!(text, "[\n  \"a\\u001b[31m\\u009b31m\\u007f\\u202e\\udb40\\udc41\\nä\"\n]");
    assert_eq!(serde_json::from_str::<[String; 1]>(&text).unwrap(), [value]);
}
