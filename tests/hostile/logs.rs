//! Logs of gateways and SDKs, their carriers, and exports of traces, with words planted in them as in captures.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use walkdir::WalkDir;

use super::carriers::Garden;

/// Names under which logs and attributes hold secrets and content.
const SECRET: [&str; 15] = [
    "authorization",
    "cookie",
    "x-api-key",
    "password",
    "http.request.header.authorization",
    "http.request.header.cookie",
    "http.response.header.set-cookie",
    "url.query",
    "gen_ai.prompt",
    "input.value",
    "exception.message",
    "exception.stacktrace",
    "enduser.id",
    "a2a.message.text",
    // Some write a text there.
    "rpc.grpc.status_code",
];

/// The samples of `tests/formats`, planted: their names and bytes.
pub fn planted(garden: &mut Garden) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    let is_sample = |path: &PathBuf| path.is_file() && path.extension().is_none_or(|end| end != "md");
    let paths = WalkDir::new(&root).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    paths
        .filter(is_sample)
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('/', "-");
            let text = std::fs::read_to_string(&path).unwrap();
            let planted = of_text(&text, garden, &name);
            (name, planted)
        })
        .collect()
}

/// A document, or lines.
fn of_text(text: &str, garden: &mut Garden, name: &str) -> String {
    if let Ok(mut document) = serde_json::from_str::<Value>(text) {
        everywhere(&mut document, garden, name);
        return document.to_string() + "\n";
    }
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    if let Ok(mut values) = values {
        values.iter_mut().for_each(|value| everywhere(value, garden, name));
        return values.iter().map(|value| format!("{value}\n")).collect();
    }
    text.lines().map(|line| of_line(line, garden, name) + "\n").collect()
}

fn of_line(line: &str, garden: &mut Garden, name: &str) -> String {
    if let Some((head, Ok(mut record))) = line.find('{').map(|at| (&line[..at], serde_json::from_str(&line[at..]))) {
        everywhere(&mut record, garden, name);
        return format!("{head}{record}");
    }
    // Node prints an object over several lines.
    if line.trim_end().ends_with("attributes: {") {
        let word = garden.word(&format!("{name}: authorization"));
        return format!(
            "{line}\n    'http.request.header.authorization': 'Bearer {word}',\n    authorization: '{word}',"
        );
    }
    if line.starts_with(['{', '}', '[', ']', ' ']) {
        return urls(line, garden, name);
    }
    let said = garden.word(&format!("{name}: end of a line"));
    let more = if line.contains('=') {
        format!(" authorization=\"Bearer {said}\" error=\"{said}\"")
    } else {
        format!(" {said}")
    };
    urls(line, garden, name) + &more
}

/// Text with a password in each url, and a secret in what is asked for.
fn urls(text: &str, garden: &mut Garden, name: &str) -> String {
    let user = garden.word(&format!("{name}: user of a url"));
    let query = garden.word(&format!("{name}: query"));
    text.replace("://", &format!("://me:{user}@")).replace(" HTTP/1.1\"", &format!("?access_token={query} HTTP/1.1\""))
}

fn everywhere(value: &mut Value, garden: &mut Garden, name: &str) {
    match value {
        Value::String(text) => *text = of_string(text, garden, name),
        Value::Array(items) => {
            items.iter_mut().for_each(|item| everywhere(item, garden, name));
            more_tags(items, garden, name);
        }
        Value::Object(members) => {
            for (key, member) in members.iter_mut() {
                match member {
                    // What a format is known by.
                    Value::String(_)
                        if ["logName", "type", "kind", "schema_url", "schemaUrl", "trace"].contains(&key.as_str()) => {}
                    Value::String(text) if is_said(key, text) => {
                        *text = format!("{} {}", of_string(text, garden, name), garden.word(&format!("{name}: {key}")));
                    }
                    member => everywhere(member, garden, name),
                }
            }
            more_members(members, garden, name);
        }
        _ => {}
    }
}

/// A sentence that a person, a model or an exception said.
fn is_said(key: &str, text: &str) -> bool {
    let keys = ["description", "error", "text", "error_message", "exception.message", "status_message", "detail"];
    keys.contains(&key) && !text.starts_with(['{', '['])
}

fn of_string(text: &str, garden: &mut Garden, name: &str) -> String {
    if text.starts_with(['{', '['])
        && let Ok(mut inner) = serde_json::from_str::<Value>(text)
    {
        everywhere(&mut inner, garden, name);
        return inner.to_string();
    }
    let is_url = text.contains("://") && !text.contains(char::is_whitespace);
    match text.strip_suffix('\n') {
        _ if is_url && !text.contains('?') => {
            format!("{}?access_token={}", urls(text, garden, name), garden.word(&format!("{name}: query")))
        }
        Some(line) => of_line(line, garden, name) + "\n",
        // A line, and not a name.
        None if text.split(' ').count() > 4 => of_line(text, garden, name),
        None => urls(text, garden, name),
    }
}

/// Attributes in a list, as Jaeger and Go write them.
fn more_tags(items: &mut Vec<Value>, garden: &mut Garden, name: &str) {
    let has = |key: &str| items.first().is_some_and(|item| item.get(key).is_some());
    let is_go = has("Key") && has("Value");
    let is_tags = has("key") && has("value");
    if !is_go && !is_tags {
        return;
    }
    for key in SECRET {
        let word = format!("Bearer {}", garden.word(&format!("{name}: tag {key}")));
        items.push(match is_go {
            true => json!({"Key": key, "Value": {"Type": "STRING", "Value": word}}),
            false if items[0]["value"].is_object() => json!({"key": key, "value": {"stringValue": word}}),
            false => json!({"key": key, "type": "string", "value": word}),
        });
    }
}

/// Members beside others; formats that are known by having no more are left alone.
fn more_members(members: &mut Map<String, Value>, garden: &mut Garden, name: &str) {
    let is_docker = ["log", "stream", "time"].iter().all(|key| members.contains_key(*key));
    let is_list =
        ["key", "field", "Key", "Value", "stringValue", "arrayValue"].iter().any(|key| members.contains_key(*key));
    if members.len() < 2 || is_docker || is_list {
        return;
    }
    for key in SECRET {
        if !members.contains_key(key) {
            members.insert(key.to_owned(), json!(format!("Bearer {}", garden.word(&format!("{name}: member {key}")))));
        }
    }
}
