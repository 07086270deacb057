//! Places in which captures hold secrets and message text, each filled with a word of its own.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

/// Beginning of every planted word; captures hold nothing like it.
const STEM: &str = "cnry7f3a";

/// Planted words, and what they were planted as.
#[derive(Debug, Default)]
pub struct Garden {
    planted: BTreeMap<String, String>,
    /// The same the other way round: a place has one word.
    places: BTreeMap<String, String>,
    /// Forms of words that do not hold them.
    disguised: Vec<(String, String)>,
}

impl Garden {
    /// The word for a place.
    pub fn word(&mut self, place: &str) -> String {
        if let Some(word) = self.places.get(place) {
            return word.clone();
        }
        let word = format!("{STEM}{:06}z", self.planted.len());
        self.planted.insert(word.clone(), place.to_owned());
        self.places.insert(place.to_owned(), word.clone());
        word
    }

    /// A word that is written in another way, so that it is looked for as well.
    fn disguise(&mut self, place: &str, disguise: impl Fn(&str) -> String) -> String {
        let shown = disguise(&self.word(place));
        let form = (shown.to_lowercase(), place.to_owned());
        if !self.disguised.contains(&form) {
            self.disguised.push(form);
        }
        shown
    }

    /// A credential of the `Basic` scheme.
    pub fn basic(&mut self, place: &str) -> String {
        self.disguise(place, |word| STANDARD.encode(format!("me:{word}")))
    }

    /// A token whose subject is a word.
    pub fn jwt(&mut self, place: &str) -> String {
        let head = URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256","kid":"key-1"}"#);
        let claims =
            self.disguise(place, |word| URL_SAFE_NO_PAD.encode(format!(r#"{{"sub":"{word}","email":"{word}"}}"#)));
        format!("{head}.{claims}.{}", self.word(place))
    }

    /// Places of planted words that stand in a text.
    pub fn found_in(&self, text: &str) -> Vec<String> {
        let text = text.to_lowercase();
        // Base64 has no short words, and of few cells is there any need to look for all of them.
        let is_long = text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word.len() > 20);
        let disguised = self.disguised.iter().filter(|(form, _)| is_long && text.contains(form));
        let mut found: Vec<String> = disguised.map(|(_, place)| place.clone()).collect();
        for (at, _) in text.match_indices(STEM) {
            let word = text.get(at..at + STEM.len() + 7).unwrap_or_default();
            let place = self.planted.get(word).map_or("a part of a word", String::as_str);
            found.push(place.to_owned());
        }
        found.sort();
        found.dedup();
        found
    }
}

/// A url with a password and a query.
fn url(garden: &mut Garden, place: &str, url: &str) -> String {
    let (user, query) = (garden.word(&format!("{place}, user")), garden.word(&format!("{place}, query")));
    format!("{}?access_token={query}#{query}", url.replacen("://", &format!("://me:{user}@"), 1))
}

/// Plants words in one record of a capture, whatever it is.
pub fn plant(record: &mut Value, garden: &mut Garden, file: &str) {
    if record.get("request").is_some_and(Value::is_object) {
        exchange(record, garden, file);
    } else if record.get("log").is_some() {
        for entry in record["log"]["entries"].as_array_mut().into_iter().flatten() {
            exchange(entry, garden, file);
        }
    } else if record.get("resourceSpans").is_some() || record.get("resourceLogs").is_some() {
        telemetry(record, garden, file);
    } else if let Some(members) = record.as_object_mut() {
        for name in ["a2a.message.text", "authorization", "gen_ai.prompt", "exception.message"] {
            members.insert(name.to_owned(), json!(garden.word(&format!("{file}: own event {name}"))));
        }
    }
}

fn exchange(exchange: &mut Value, garden: &mut Garden, file: &str) {
    let at = |what: &str| format!("{file}: {what}");
    for (side, name) in [
        ("request", "cookie"),
        ("request", "x-api-key"),
        ("request", "x-a2a-notification-token"),
        ("request", "x-mcp-credential"),
        ("request", "x-goog-api-key"),
        ("response", "set-cookie"),
        ("response", "x-auth-token"),
    ] {
        let word = garden.word(&at(&format!("{side} header {name}")));
        header(&mut exchange[side], name, &word);
    }
    let challenge = format!("Bearer error=\"{}\"", garden.word(&at("www-authenticate")));
    header(&mut exchange["response"], "www-authenticate", &challenge);
    let authorization = match record_number(exchange) % 4 {
        0 => format!("Basic {}", garden.basic(&at("authorization Basic"))),
        1 => format!("Bearer {}", garden.jwt(&at("authorization JWT"))),
        2 => garden.word(&at("authorization without scheme")),
        _ => format!("Bearer {}", garden.word(&at("authorization opaque"))),
    };
    header(&mut exchange["request"], "authorization", &authorization);
    if let Some(place) = exchange["request"]["url"].as_str().map(str::to_owned) {
        exchange["request"]["url"] = json!(url(garden, &at("request url"), &place));
    }
    for side in ["request", "response"] {
        for body in ["body", "postData", "content"] {
            if let Some(text) = exchange[side][body]["text"].as_str().map(str::to_owned) {
                exchange[side][body]["text"] = json!(body_text(&text, garden, &at(&format!("{side} body"))));
            }
        }
    }
}

/// Something that differs between records.
fn record_number(exchange: &Value) -> usize {
    exchange.to_string().len()
}

pub fn header(side: &mut Value, name: &str, value: &str) {
    match &mut side["headers"] {
        Value::Array(pairs) if pairs.first().is_none_or(Value::is_array) => pairs.push(json!([name, value])),
        Value::Array(pairs) => pairs.push(json!({"name": name, "value": value})),
        Value::Object(members) => drop(members.insert(name.to_owned(), json!(value))),
        _ => {}
    }
}

/// A body, or each event of a stream, with words in what people and models wrote, and in what is secret.
fn body_text(text: &str, garden: &mut Garden, place: &str) -> String {
    if let Ok(mut body) = serde_json::from_str::<Value>(text) {
        content(&mut body, garden, place);
        return body.to_string();
    }
    let line = |line: &str| match line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok())
    {
        Some(mut event) => {
            content(&mut event, garden, place);
            format!("data: {event}\n")
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Members that hold what was said, or a secret; a word is added to what they say, so that its class stays.
const SAID: [&str; 12] = [
    "text",
    "description",
    "bytes",
    "raw",
    "token",
    "credentials",
    "message",
    "detail",
    "title",
    "documentationUrl",
    "examples",
    "data",
];

fn content(value: &mut Value, garden: &mut Garden, place: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| content(item, garden, place)),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match member {
                    Value::String(text) if SAID.contains(&name.as_str()) => {
                        text.push(' ');
                        text.push_str(&garden.word(&format!("{place} {name}")));
                    }
                    member => content(member, garden, place),
                }
            }
            if members.contains_key("parts") {
                more_parts(members, garden, place);
            }
        }
        _ => {}
    }
}

/// Parts of every kind beside those that are there, and metadata.
fn more_parts(message: &mut Map<String, Value>, garden: &mut Garden, place: &str) {
    let mut word = |what: &str| garden.word(&format!("{place} {what}"));
    let key = word("data part key");
    let metadata = json!({"note": word("metadata"), "authorization": word("metadata authorization")});
    let parts = [
        json!({"data": {key: word("data part"), "nested": [{"token": word("data part nested")}]}}),
        json!({"kind": "data", "data": {"password": word("data part 0.3")}}),
        json!({"kind": "file", "file": {"name": word("file name"), "bytes": word("file bytes"), "mimeType": "image/png"}}),
        json!({"raw": word("raw"), "filename": word("filename"), "mediaType": "image/png"}),
        json!({"url": format!("https://me:{}@h/x?sig={}", word("part url user"), word("part url query"))}),
    ];
    if let Some(list) = message["parts"].as_array_mut() {
        list.extend(parts);
    }
    let own = message.entry("metadata").or_insert_with(|| json!({}));
    if let (Some(own), Value::Object(more)) = (own.as_object_mut(), metadata) {
        own.extend(more);
    }
}

/// Attributes under which instrumentation puts secrets and content.
const SECRET_ATTRIBUTES: [&str; 22] = [
    "http.request.header.authorization",
    "http.request.header.cookie",
    "http.request.header.x-api-key",
    "http.request.header.x-a2a-notification-token",
    "http.request.header.x_a2a_notification_token",
    "http.response.header.set-cookie",
    "http.response.header.www-authenticate",
    "authorization",
    "api_key",
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.input.messages",
    "input.value",
    "output.value",
    "a2a.message.text",
    "a2a.status.message",
    "exception.message",
    "exception.stacktrace",
    "url.query",
    "enduser.id",
    "a2a.push.token",
    "a2a.push.credentials",
];

fn telemetry(record: &mut Value, garden: &mut Garden, file: &str) {
    for (groups, scopes, items) in
        [("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords")]
    {
        for group in record[groups].as_array_mut().into_iter().flatten() {
            attributes(&mut group["resource"], garden, &format!("{file}: resource"));
            for scope in group[scopes].as_array_mut().into_iter().flatten() {
                attributes(&mut scope["scope"], garden, &format!("{file}: scope"));
                for item in scope[items].as_array_mut().into_iter().flatten() {
                    attributes(item, garden, &format!("{file}: {items}"));
                    span_or_log(item, garden, file);
                }
            }
        }
    }
}

fn span_or_log(item: &mut Value, garden: &mut Garden, file: &str) {
    if item.get("spanId").is_some() && item.get("body").is_none() {
        let name = garden.word(&format!("{file}: span event name"));
        let mut event = json!({"name": name, "timeUnixNano": item["startTimeUnixNano"], "attributes": []});
        attributes(&mut event, garden, &format!("{file}: span event"));
        match item["events"].as_array_mut() {
            Some(events) => events.push(event),
            None => item["events"] = json!([event]),
        }
        let said = garden.word(&format!("{file}: status message"));
        let message = format!("{} {said}", item["status"]["message"].as_str().unwrap_or_default());
        item["status"]["message"] = json!(message);
    }
    if let Some(sentence) = item["body"]["stringValue"].as_str() {
        let user = garden.word(&format!("{file}: url in a sentence"));
        let sentence = sentence
            .replace("://", &format!("://me:{user}@"))
            .replace("'description': '", &format!("'description': '{user} "));
        item["body"]["stringValue"] = json!(format!("{sentence} {}", garden.word(&format!("{file}: sentence"))));
    }
}

fn attributes(of: &mut Value, garden: &mut Garden, place: &str) {
    let Some(list) = of["attributes"].as_array_mut() else { return };
    for attribute in list.iter_mut() {
        let name = attribute["key"].as_str().unwrap_or_default().to_owned();
        let Some(text) = attribute["value"]["stringValue"].as_str().map(str::to_owned) else { continue };
        if text.contains("://") && !name.contains("schema") {
            attribute["value"]["stringValue"] = json!(url(garden, &format!("{place} {name}"), &text));
        } else if name.ends_with(".message") || name.contains("description") {
            attribute["value"]["stringValue"] = json!(format!("{text} {}", garden.word(&format!("{place} {name}"))));
        } else if ["http.target", "http.path"].contains(&name.as_str()) {
            attribute["value"]["stringValue"] =
                json!(format!("{text}?key={}", garden.word(&format!("{place} {name}"))));
        }
    }
    for name in
        SECRET_ATTRIBUTES.iter().filter(|name| !list.iter().any(|a| a["key"] == **name)).copied().collect::<Vec<_>>()
    {
        let value = match name {
            "http.request.header.authorization" => format!("Bearer {}", garden.jwt(&format!("{place} {name}"))),
            _ => garden.word(&format!("{place} {name}")),
        };
        // Captured headers are lists.
        list.push(json!({"key": name, "value": match name.starts_with("http.request.header.c") {
            true => json!({"arrayValue": {"values": [{"stringValue": value}]}}),
            false => json!({"stringValue": value}),
        }}));
    }
}
