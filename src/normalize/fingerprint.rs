//! The skill fingerprint that clients log: SHA-256 over the ids and modes of a card's skills and two of its capabilities.
//!
//! In: a card as served. Out: the hash, byte for byte as the published Python client computes it, so that a client's log
//! and a card can be compared. It is no measure of drift: one agent's 0.3 and 1.0 shapes may differ in it, see
//! `contract_sha256` in [`super::card_model`].
//!
//! The program takes `id` (absent: `''`), `sorted(inputModes)` and `sorted(outputModes)` (absent: empty) of each skill,
//! sorts the skills by id, adds `bool()` of `capabilities.streaming` and `.pushNotifications`, and hashes
//! `json.dumps(material, sort_keys=True, separators=(",", ":"))`. Where it would end in an exception (a null list, ids of
//! two types, a skill that is no object) there is no fingerprint, and the result is `''`. One difference is known: an
//! integer beyond 64 bits, which Python keeps exactly.

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

/// What a Python loop over the value yields: elements, characters or names; nothing for an absent member, an exception for the rest.
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

/// Python's `sorted()`: stable, and an exception as soon as two elements do not compare. (Slices' own sort may panic on an
/// order that is none.)
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

/// Python's `a < b`; none where it raises TypeError. Text compares by code point, which is the order of its UTF-8 bytes.
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
