//! Reading JSON whose shape is not certain.
//!
//! In: parsed JSON of any shape. Out: the text, number or flag looked for, or nothing. Never fails, and takes a value of
//! another type for an absent one.

use serde_json::Value;

use crate::tables::bounded;

/// First member of these names that is text and not empty.
pub(crate) fn text<'a>(value: &'a Value, names: &[&str]) -> &'a str {
    names.iter().find_map(|name| value.get(name)?.as_str().filter(|text| !text.is_empty())).unwrap_or_default()
}

/// First member of these names that is an object.
pub(crate) fn object<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| value.get(name).filter(|member| member.is_object()))
}

/// First member of these names that is a list.
pub(crate) fn list<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Vec<Value>> {
    names.iter().find_map(|name| value.get(name)?.as_array())
}

/// First member of these names that is a truth value.
pub(crate) fn flag(value: &Value, names: &[&str]) -> Option<bool> {
    names.iter().find_map(|name| value.get(name)?.as_bool())
}

/// A whole number, written as one or, as protobuf's JSON does with 64-bit integers, as text.
pub(crate) fn integer(value: Option<&Value>) -> Option<i64> {
    match value? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Bytes that a value takes in memory, about.
pub(crate) fn weight(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, member)| size_of::<String>() + name.len() + weight(member)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + inner
}

/// An id as text: JSON-RPC allows numbers, and 0.1 captures have them for task ids too.
pub(crate) fn id(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => bounded(text).into_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// A list's texts; none when the member is no list.
pub(crate) fn texts(value: &Value, names: &[&str]) -> Option<Vec<String>> {
    list(value, names).map(|items| items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

/// Appends JSON with sorted keys and no white space, so that equal values give equal text. Members that are null or
/// empty are left out: dialects differ in whether they write them.
pub(crate) fn write_canonical(value: &Value, into: &mut String) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().filter(|(_, member)| !is_empty(member)).collect();
            sorted.sort_by_key(|(name, _)| *name);
            into.push('{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    into.push(',');
                }
                into.push_str(&Value::String(name.clone()).to_string());
                into.push(':');
                write_canonical(member, into);
            }
            into.push('}');
        }
        Value::Array(items) => {
            into.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    into.push(',');
                }
                write_canonical(item, into);
            }
            into.push(']');
        }
        scalar => into.push_str(&scalar.to_string()),
    }
}

/// Null, `""`, `[]` or `{}`: what one dialect writes and another leaves out.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn canonical_json_does_not_depend_on_order_or_empty_members() {
        let mut one = String::new();
        write_canonical(&json!({"b": [1, "x"], "a": {"d": null, "c": true}, "e": {}}), &mut one);
        assert_eq!(one, r#"{"a":{"c":true},"b":[1,"x"]}"#);
    }

    #[test]
    fn integers_are_read_from_numbers_and_from_text() {
        assert_eq!(integer(Some(&json!("7"))), Some(7));
        assert_eq!(integer(Some(&json!(7))), Some(7));
        assert_eq!(integer(Some(&json!(7.5))), None);
        assert_eq!(integer(Some(&json!(true))), None);
    }
}
