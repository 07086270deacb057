//! JSON members as emitters write them to the values that OTLP means.
//!
//! In: an object and the names a member goes by. Out: text, numbers, enums, times, `AnyValue`s; a member of the wrong
//! kind counts as missing. Never recurses deeper than the value handed in, whose depth the caller bounds.

use serde_json::{Map, Value};

use super::assemble::{BASE64, Id, double, instant, object};
use crate::decode::record::Attributes;
use crate::decode::times;
use crate::instant::Instant;
use base64::Engine;

/// A JSON object of which members are taken by any of their names.
pub(in crate::decode) struct Members {
    map: Map<String, Value>,
    /// A time was taken that is none.
    has_bad_time: bool,
}

impl Members {
    /// The members of a value, if it is an object.
    pub(in crate::decode) fn of(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self { map, has_bad_time: false }),
            _ => None,
        }
    }

    /// Takes a member by the first of its names that is present and not null: camel case by the specification, then
    /// snake case, then older names.
    pub(in crate::decode) fn take(&mut self, names: &[&str]) -> Option<Value> {
        names.iter().find_map(|name| self.map.remove(*name).filter(|value| !value.is_null()))
    }

    /// Takes an object member; empty when missing.
    pub(in crate::decode) fn object(&mut self, names: &[&str]) -> Self {
        self.take(names).and_then(Self::of).unwrap_or(Self { map: Map::new(), has_bad_time: false })
    }

    /// Takes a list member; empty when missing.
    pub(in crate::decode) fn list(&mut self, names: &[&str]) -> Vec<Value> {
        match self.take(names) {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        }
    }

    /// Takes a text member; empty when missing.
    pub(in crate::decode) fn text(&mut self, names: &[&str]) -> String {
        match self.take(names) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        }
    }

    /// Takes an id of `width` bytes.
    pub(super) fn id(&mut self, names: &[&str], width: usize) -> Id {
        match self.take(names) {
            Some(Value::String(text)) => Id::from_text(&text, width),
            Some(_) => Id::Bad,
            None => Id::Absent,
        }
    }

    /// Takes a time in nanoseconds.
    pub(super) fn nanos(&mut self, names: &[&str]) -> Option<Instant> {
        let value = self.take(names)?;
        let time = unsigned(&value).and_then(instant);
        self.has_bad_time |= time.is_none() && times::is_given(Some(&value));
        time
    }

    /// Whether a time was taken that is none.
    pub(super) fn has_bad_time(&self) -> bool {
        self.has_bad_time
    }

    /// Takes an enum: its number, or its name with or without the prefix that its type gives it. `words` are in the
    /// order of their numbers.
    pub(super) fn enumeration(&mut self, names: &[&str], prefix: &str, words: &[&str]) -> i64 {
        match self.take(names) {
            Some(Value::String(text)) => text.trim().parse().unwrap_or_else(|_| enum_number(&text, prefix, words)),
            Some(number) => signed(&number).unwrap_or_default(),
            None => 0,
        }
    }

    /// Takes a list of key-value pairs.
    pub(super) fn attributes(&mut self) -> Attributes {
        Attributes(pairs(self.list(&["attributes"])))
    }
}

/// Number of an enum's name; zero, which all of OTLP's enums keep for unspecified, when unknown.
fn enum_number(name: &str, prefix: &str, words: &[&str]) -> i64 {
    let upper = name.trim().to_ascii_uppercase();
    let word = upper.strip_prefix(prefix).unwrap_or(&upper);
    words.iter().position(|known| *known == word).and_then(|at| i64::try_from(at).ok()).unwrap_or_default()
}

/// An unsigned 64-bit integer: a number or a string (specification), also in a float's form. A float is precise to
/// some 256 ns for times of today, which is all that its emitter had.
fn unsigned(value: &Value) -> Option<u64> {
    let float = match value {
        Value::Number(number) => match number.as_u64() {
            Some(exact) => return Some(exact),
            None => number.as_f64()?,
        },
        Value::String(text) => match text.trim().parse::<u64>() {
            Ok(exact) => return Some(exact),
            Err(_) => text.trim().parse::<f64>().ok()?,
        },
        _ => return None,
    };
    (float.is_finite() && (0.0..U64_END).contains(&float)).then_some(float as u64)
}

/// A signed 64-bit integer, in the same forms.
fn signed(value: &Value) -> Option<i64> {
    let float = match value {
        Value::Number(number) => match number.as_i64() {
            Some(exact) => return Some(exact),
            None => number.as_f64()?,
        },
        Value::String(text) => match text.trim().parse::<i64>() {
            Ok(exact) => return Some(exact),
            Err(_) => text.trim().parse::<f64>().ok()?,
        },
        _ => return None,
    };
    (float.is_finite() && (-I64_END..I64_END).contains(&float)).then_some(float as i64)
}

/// 2^64: the first float that is too large for an unsigned integer.
const U64_END: f64 = 18_446_744_073_709_551_616.0;
/// 2^63: the first float that is too large for a signed integer.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// Key-value pairs; a pair without a key has no meaning and is left out.
fn pairs(list: Vec<Value>) -> Vec<(String, Value)> {
    let pair = |value| {
        let mut members = Members::of(value)?;
        let key = members.text(&["key"]);
        let value = members.take(&["value"]).map_or(Value::Null, any_value);
        (!key.is_empty()).then_some((key, value))
    };
    list.into_iter().filter_map(pair).collect()
}

/// An `AnyValue` as plain JSON. An empty one is null; what is no `AnyValue` at all (a bare string) stands for itself.
pub(super) fn any_value(value: Value) -> Value {
    let mut members = match value {
        Value::Object(map) => Members { map, has_bad_time: false },
        bare => return bare,
    };
    if let Some(text) = members.take(&["stringValue", "string_value"]) {
        return text;
    }
    if let Some(flag) = members.take(&["boolValue", "bool_value"]) {
        return flag.as_str().and_then(|text| text.parse().ok()).map_or(flag, Value::Bool);
    }
    if let Some(number) = members.take(&["intValue", "int_value"]) {
        return signed(&number).map_or(number, Value::from);
    }
    if let Some(number) = members.take(&["doubleValue", "double_value"]) {
        return double_value(number);
    }
    if let Some(list) = members.take(&["arrayValue", "array_value"]) {
        let values = Members::of(list).map(|mut list| list.list(&["values"])).unwrap_or_default();
        return Value::Array(values.into_iter().map(any_value).collect());
    }
    if let Some(list) = members.take(&["kvlistValue", "kvlist_value"]) {
        return object(pairs(Members::of(list).map(|mut list| list.list(&["values"])).unwrap_or_default()));
    }
    match members.take(&["bytesValue", "bytes_value"]) {
        Some(Value::String(text)) => Value::from(BASE64.decode(&text).map_or(text, |bytes| BASE64.encode(bytes))),
        _ => Value::Null,
    }
}

/// A double: a number, or a string of one, or one of the words that stand for what JSON has no number for.
fn double_value(value: Value) -> Value {
    let parsed = match &value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    parsed.map_or(value, double)
}
