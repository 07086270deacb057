//! The skill fingerprint that clients log: SHA-256 over the ids and modes of a card's skills and two of its
//! capabilities.
//!
//! In: a card as served. Out: the hash, byte for byte as the published Python client computes it, so that a client's
//! log and a card can be compared. It is no measure of drift: one agent's 0.3 and 1.0 shapes may differ in it, see
//! `contract_sha256` in [`super::card_model`].
//!
//! The program takes `id` (absent: `''`), `sorted(inputModes)` and `sorted(outputModes)` (absent: empty) of each skill,
//! sorts the skills by id, adds `bool()` of `capabilities.streaming` and `.pushNotifications`, and hashes
//! `json.dumps(material, sort_keys=True, separators=(",", ":"))`. Where it would end in an exception (a null list, ids
//! of two types, a skill that is no object) there is no fingerprint, and the result is `''`. One difference is known:
//! an integer beyond 64 bits, which Python keeps exactly.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::canonical;

/// The fingerprint, 64 hex digits; `''` where the Python program would raise.
pub fn skill_fingerprint(card: &Value) -> String {
    if !canonical::is_shallow(card) {
        return String::new();
    }
    material(card).map(|text| canonical::sha256_of_text(&text)).unwrap_or_default()
}

/// The text that is hashed.
fn material(card: &Value) -> Option<String> {
    let card = card.as_object()?;
    let no_capabilities = Map::new();
    let capabilities = match card.get("capabilities") {
        Some(given) => given.as_object()?,
        None => &no_capabilities,
    };
    let mut out = String::from("{\"pushNotifications\":");
    out.push_str(if capabilities.get("pushNotifications").is_some_and(truth) { "true" } else { "false" });
    out.push_str(",\"skills\":");
    let skills = iterated(card.get("skills"))?.iter().map(Skill::read).collect::<Option<Vec<_>>>()?;
    let skills = merge_sorted(skills, &|a, b| is_less(&a.id, &b.id))?;
    write_list(&skills, &mut out, |skill, out| {
        out.push_str("{\"id\":");
        write(&skill.id, out);
        out.push_str(",\"inputModes\":");
        write_list(&skill.input_modes, out, write);
        out.push_str(",\"outputModes\":");
        write_list(&skill.output_modes, out, write);
        out.push('}');
    });
    out.push_str(",\"streaming\":");
    out.push_str(if capabilities.get("streaming").is_some_and(truth) { "true" } else { "false" });
    out.push('}');
    Some(out)
}

/// What the fingerprint keeps of a skill.
struct Skill {
    id: Value,
    input_modes: Vec<Value>,
    output_modes: Vec<Value>,
}

impl Skill {
    fn read(skill: &Value) -> Option<Self> {
        let skill = skill.as_object()?;
        let modes = |name| merge_sorted(iterated(skill.get(name))?, &is_less);
        Some(Self {
            id: skill.get("id").cloned().unwrap_or_else(|| Value::from("")),
            input_modes: modes("inputModes")?,
            output_modes: modes("outputModes")?,
        })
    }
}

/// What a Python loop over the value yields: elements, characters or names; nothing for an absent member, an exception
/// for the rest.
fn iterated(value: Option<&Value>) -> Option<Vec<Value>> {
    match value {
        None => Some(Vec::new()),
        Some(Value::Array(items)) => Some(items.clone()),
        Some(Value::String(text)) => Some(text.chars().map(|c| Value::from(c.to_string())).collect()),
        Some(Value::Object(members)) => Some(members.keys().map(|name| Value::from(name.as_str())).collect()),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) => None,
    }
}

/// Python's `bool()`.
fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(s) => !s.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// Python's `sorted()`: stable, and an exception as soon as two elements do not compare. (Slices' own sort may panic on
/// an order that is none.)
fn merge_sorted<T>(mut items: Vec<T>, is_less: &dyn Fn(&T, &T) -> Option<bool>) -> Option<Vec<T>> {
    if items.len() < 2 {
        return Some(items);
    }
    let right = items.split_off(items.len() / 2);
    let mut right = merge_sorted(right, is_less)?.into_iter().peekable();
    let mut sorted = Vec::with_capacity(items.len() + right.len());
    for left in merge_sorted(items, is_less)? {
        while let Some(next) = right.peek() {
            if !is_less(next, &left)? {
                break;
            }
            sorted.extend(right.next());
        }
        sorted.push(left);
    }
    sorted.extend(right);
    Some(sorted)
}

/// Python's `a < b`; none where it raises TypeError. Text compares by code point, which is the order of its UTF-8
/// bytes.
fn is_less(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a < b),
        (Value::Array(a), Value::Array(b)) => match a.iter().zip(b).find(|(a, b)| !is_equal(a, b)) {
            Some((a, b)) => is_less(a, b),
            None => Some(a.len() < b.len()),
        },
        _ => Some(compare_numbers(&number(a)?, &number(b)?) == Ordering::Less),
    }
}

/// Python's `a == b`, which never raises.
fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_equal(a, b)))
        }
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => compare_numbers(&a, &b) == Ordering::Equal,
            _ => a == b,
        },
    }
}

/// A number, or a truth value, which is a number in Python.
fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(n) => Some(n.clone()),
        Value::Bool(b) => Some(Number::from(u8::from(*b))),
        _ => None,
    }
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        // JSON has no NaN, so that two numbers always compare.
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

/// Python's `json.dumps` with sorted names, without blanks, and in ASCII only.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&number_text(n)),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => write_list(items, out, write),
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, item)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(name, out);
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
    }
}

fn write_list<T>(items: &[T], out: &mut String, write_item: impl Fn(&T, &mut String)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_item(item, out);
    }
    out.push(']');
}

/// `ensure_ascii`: everything outside printable ASCII is escaped, beyond the basic plane as two surrogates.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{c}' => out.push_str("\\f"),
            '\u{8}' => out.push_str("\\b"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

/// Python's `repr` of a number: plain digits from 1e-4 up to 1e16, else an exponent with a sign and two digits or more.
fn number_text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    if float == 0.0 || (1e-4..1e16).contains(&float.abs()) {
        let text = float.to_string();
        return if text.contains('.') { text } else { text + ".0" };
    }
    let text = format!("{float:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

#[cfg(test)]
mod tests {
    use super::super::card::tests::captured;
    use super::*;

    // All values below were printed by the Python program itself (Python 3.11), run on the same text; where it raised,
    // the expectation is '' and a comment names the exception.

    const SUMMARIZE_TO_MARKDOWN: &str = "c4e6613c265f679cca3b85ce5a7503df77a33d45ef079d6694462f660f79717b";
    const TRANSLATE: &str = "ef5d0fb4d2777f45aae0eeb5422362c1b97218cff256762184173c9ac08d7530";
    const SUMMARIZE_TO_PLAIN: &str = "0277d78942f508b21e2f1a30f087bbc5bbb46f9a1b79043bc7ae53a6d76cc418";

    #[test]
    fn cards_of_the_captures_have_the_fingerprints_that_python_gives_them() {
        for (file, summarize, translate, plain) in [
            ("a2a-spec-0.1.0-handmade/v01", &[1][..], &[13][..], &[][..]),
            ("a2a-python-0.2.16/v02", &[1, 12, 36], &[24], &[37]),
            ("a2a-python-0.3.26/v03", &[1, 12, 49, 51, 52, 63], &[37, 88], &[50]),
            ("a2a-python-1.3.0/grpc", &[1], &[20], &[]),
            ("a2a-python-1.3.0/headers", &[1, 10], &[28], &[]),
            ("a2a-python-1.3.0/jsonrpc", &[1, 12, 19, 85, 91], &[50, 79], &[]),
            ("a2a-python-1.3.0/rest", &[1, 12, 19, 81, 87], &[50, 75], &[]),
            ("a2a-rust-0.15.0/rust", &[1, 40], &[], &[]),
        ] {
            for (lines, expected) in
                [(summarize, SUMMARIZE_TO_MARKDOWN), (translate, TRANSLATE), (plain, SUMMARIZE_TO_PLAIN)]
            {
                for line in lines {
                    assert_eq!(skill_fingerprint(&captured(file, *line).card), expected, "{file} line {line}");
                }
            }
        }
    }

    #[test]
    fn odd_cards_have_the_fingerprints_that_python_gives_them() {
        for (text, expected) in [
            (r#"{}"#, "b6a8ffa903a88ed5998845823fb69818b5e6426d811ea177df202bcd252a944e"),
            (r#"{"skills":[],"capabilities":{}}"#, "b6a8ffa903a88ed5998845823fb69818b5e6426d811ea177df202bcd252a944e"),
            (r#"{"skills":[{}]}"#, "e35d614875c49b7994d205771a41eabb6f26572cfac6d5bc9a805d7f3de49dd3"),
            (
                r#"{"skills":[{"id":"\u00fc"},{"id":"\ud83d\ude00"},{"id":"\uffff"},{"id":"z"},{"id":"\u007f\u0080\"\\\/\n\r\t\f\b\u0001"}]}"#,
                "b2cdce033ebfd957c2b94e18c98e00649c35f9050c57d94981a59fb6833e4e0f",
            ),
            (
                r#"{"skills":[{"id":"b","outputModes":["x"]},{"id":"a"},{"id":"b","outputModes":["a"]},{"id":"b","inputModes":["c"]}]}"#,
                "a09d994266848e42b10bb0cd7ceedbd2ae065dd5babf373e4d93bb1a32810b8b",
            ),
            (
                r#"{"skills":[{"id":"a","inputModes":["text/plain","application/json","text/plain","Text/Plain"],"outputModes":["b","\ud83d\ude00","\uffff","a"]}]}"#,
                "0dd1f2911821f88da037a19edb17e52e2650bd3afa5567120715da737a33f820",
            ),
            (r#"{"skills":[{"id":null}]}"#, "3a87e4f942247c911e349aa8d9592d9b0b448a1b86d0cea92bdc303b91349b1d"),
            (r#"{"skills":[{"id":null},{"id":null}]}"#, ""), // TypeError
            (r#"{"skills":[{"id":"a","inputModes":null}]}"#, ""), // TypeError
            (r#"{"skills":null}"#, ""),                      // TypeError
            (r#"{"capabilities":null}"#, ""),                // AttributeError
            (
                r#"{"capabilities":{"streaming":null,"pushNotifications":"false"}}"#,
                "823ec010db7db3f80a61a3f25b2dfac627373962bffe2a32bb66e839d57ca667",
            ),
            (
                r#"{"capabilities":{"streaming":[0],"pushNotifications":0.0}}"#,
                "11b29a89a818459d47d3d9a380a72ec22aee4da891410f5df45c85011917cb9c",
            ),
            (
                r#"{"capabilities":{"streaming":{},"pushNotifications":-1}}"#,
                "823ec010db7db3f80a61a3f25b2dfac627373962bffe2a32bb66e839d57ca667",
            ),
            (
                r#"{"capabilities":{"streaming":true,"pushNotifications":""}}"#,
                "11b29a89a818459d47d3d9a380a72ec22aee4da891410f5df45c85011917cb9c",
            ),
            (r#"{"capabilities":["streaming"]}"#, ""), // AttributeError
            (
                r#"{"skills":[{"id":"a","inputModes":"text","outputModes":{"y":1,"x":2}}]}"#,
                "655f251c53286b4e82cbe00c25e09824077419e80207cb48a2f671f2d3097baa",
            ),
            (r#"{"skills":""}"#, "b6a8ffa903a88ed5998845823fb69818b5e6426d811ea177df202bcd252a944e"),
            (r#"{"skills":"ab"}"#, ""), // AttributeError
            (r#"{"skills":{}}"#, "b6a8ffa903a88ed5998845823fb69818b5e6426d811ea177df202bcd252a944e"),
            (r#"{"skills":{"a":{}}}"#, ""), // AttributeError
            (r#"{"skills":5}"#, ""),        // TypeError
            (r#"{"skills":["a"]}"#, ""),    // AttributeError
            (
                r#"{"skills":[{"id":2},{"id":10},{"id":1.5},{"id":true},{"id":false}]}"#,
                "481187d97afb7632b506d5c76e34ce015d76d690f3dbaa35435f301cdd14edbd",
            ),
            (r#"{"skills":[{"id":1},{"id":"1"}]}"#, ""), // TypeError
            (
                r#"{"skills":[{"id":{"b":1,"a":[null,true]}}]}"#,
                "11dbf7d0d6a38991c760ced4f3b1ce383ea015aafe4244f7225182a64ad1fbed",
            ),
            (
                r#"{"skills":[{"id":["b",1]},{"id":["a",null]},{"id":["a"]}]}"#,
                "94e2fc0b3182bdef463a8d04aafd7ee831710f4e309b00c43eb8e26997d1ca4a",
            ),
            (r#"{"skills":[{"id":[1]},{"id":["a"]}]}"#, ""), // TypeError
            (
                r#"{"skills":[{"id":[null,2]},{"id":[null,1]}]}"#,
                "8a9bf89088b9ac75b21d50ce968d2fcd8401a9c84422845d05c810e721fb335e",
            ),
            (
                r#"{"skills":[{"id":1e16},{"id":1e-5},{"id":0.0001},{"id":123456789012345.6},{"id":-0.0},{"id":1.5e-7},{"id":2.5e+22},{"id":9007199254740993},{"id":18446744073709551615},{"id":-5}]}"#,
                "1063c587f57272eba03c419e56dd411ce05472f5e388a43eec9288513640cf0a",
            ),
            (
                r#"{"skills":[{"id":"a","inputModes":[1,true,0.5]}]}"#,
                "42d9d6cd4b9b434b4f1f97d4c4d7323552eef7ac6e8b9d4dbffe1ef8f24008c0",
            ),
            (
                r#"{"skills":[{"id":"a","inputModes":[null]}]}"#,
                "b85ee5c89f4a1856db4d15eb4346cdeef03b55fb2677d98d17d686f5914f4e91",
            ),
            (r#"{"skills":[{"id":"a","inputModes":["x",1]}]}"#, ""), // TypeError
            (r#"{"skills":[{"id":"a","id":"b"}]}"#, "513e4092f2d7073b28cac2da051b9891c683b875f0ffde98e48d83477228486b"),
            (r#"[]"#, ""),     // AttributeError
            (r#"null"#, ""),   // AttributeError
            (r#""card""#, ""), // AttributeError
        ] {
            let card: Value = serde_json::from_str(text).unwrap();
            assert_eq!(skill_fingerprint(&card), expected, "{text}");
        }
    }

    #[test]
    fn sorting_is_stable_and_survives_large_and_deep_input() {
        let skills: Vec<Value> = (0..50_000).map(|i| serde_json::json!({ "id": format!("{}", i % 7) })).collect();
        assert_eq!(skill_fingerprint(&serde_json::json!({ "skills": skills })).len(), 64);
        let deep = (0..500).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert_eq!(skill_fingerprint(&serde_json::json!({ "skills": [{ "id": deep }] })), "");
    }
}
