//! What Node's `util.inspect` prints of plain objects (`console.dir`, `console.log`) to JSON.
//!
//! In: the text of one object. Out: the same as JSON, or nothing. What the printer left out (`[Object]`, `[Array]`,
//! `... 3 more items`) and what JSON has no value for (`undefined`, functions) is left out as well. One pass with bounded
//! recursion, because the text comes from logs.
//!
//! Source: Node.js documentation, `util.inspect`; `lib/internal/util/inspect.js` of Node 20.

use serde_json::{Map, Number, Value};

/// Longest text that is read.
pub(super) const MAX_LENGTH: usize = 1 << 20;
/// Deepest nesting that is read.
const MAX_DEPTH: usize = 64;

/// Reads an object that fills the whole text, apart from blanks around it.
pub(super) fn to_json(text: &str) -> Option<Value> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let mut reader = Reader { rest: text };
    let value = reader.value(MAX_DEPTH)?;
    reader.skip_blanks();
    value.filter(|value| value.is_object() && reader.rest.is_empty())
}

/// A place in the text.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    /// Steps over a token if it is next, blanks before it included.
    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A value; `Some(None)` is one that JSON has not, or that was not printed.
    fn value(&mut self, depth: usize) -> Option<Option<Value>> {
        self.skip_blanks();
        match self.rest.chars().next()? {
            '{' => self.object(depth.checked_sub(1)?).map(Some),
            // `[Object: null prototype] {..}` is an object without a class; `[Object]` and the like stand for what nests
            // too deep.
            '[' => match self.left_out() {
                Some(true) => self.value(depth.checked_sub(1)?),
                Some(false) => Some(None),
                None => self.list(depth.checked_sub(1)?).map(Some),
            },
            '\'' | '"' | '`' => self.strings().map(|text| Some(Value::from(text))),
            _ => self.word(),
        }
    }

    /// A class' name in brackets; true if the object follows it.
    fn left_out(&mut self) -> Option<bool> {
        let inner = self.rest.strip_prefix('[')?;
        let (name, after) = inner.split_once(']').filter(|(name, _)| name.starts_with(char::is_uppercase))?;
        let is_prefix = name.ends_with("null prototype");
        if !is_prefix && !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        self.rest = after;
        Some(is_prefix)
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        self.take("{");
        while !self.take("}") {
            let key = self.key()?;
            if !self.take(":") {
                return None;
            }
            if let Some(value) = self.value(depth)? {
                members.insert(key, value);
            }
            if !self.take(",") {
                return self.take("}").then_some(Value::Object(members));
            }
        }
        Some(Value::Object(members))
    }

    fn key(&mut self) -> Option<String> {
        self.skip_blanks();
        if self.rest.starts_with(['\'', '"', '`']) {
            return self.string();
        }
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$'))?;
        let (key, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!key.is_empty()).then(|| key.to_owned())
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        self.take("[");
        while !self.take("]") {
            if self.take("...") {
                // `... 3 more items` ends the list.
                let end = self.rest.find(']')?;
                self.rest = self.rest.get(end..)?;
                continue;
            }
            list.extend(self.value(depth)?);
            if !self.take(",") {
                return self.take("]").then_some(Value::Array(list));
            }
        }
        Some(Value::Array(list))
    }

    /// A string, or several with a plus between: long ones are broken at their line ends. The printer's own remark on what
    /// it left out follows the last.
    fn strings(&mut self) -> Option<String> {
        let mut text = self.string()?;
        while self.take("+") {
            self.skip_blanks();
            text.push_str(&self.string()?);
        }
        if self.rest.starts_with("... ") {
            let end = self.rest.find(['\n', ','])?;
            self.rest = self.rest.get(end..)?;
        }
        Some(text)
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut chars = self.rest.char_indices().skip(1);
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.rest = self.rest.get(at + 1..)?;
                    return Some(text);
                }
                '\n' => return None,
                '\\' => {
                    let (_, escaped) = chars.next()?;
                    let digits = match escaped {
                        'x' => 2,
                        'u' => 4,
                        _ => 0,
                    };
                    let code: String = chars.by_ref().take(digits).map(|(_, digit)| digit).collect();
                    text.push(unescaped(escaped, &code)?);
                }
                c => text.push(c),
            }
        }
        None
    }

    /// A number or one of the words.
    fn word(&mut self) -> Option<Option<Value>> {
        let end = self.rest.find([',', '}', ']', '\n', ' ']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "undefined" => Some(None),
            "null" => Some(Some(Value::Null)),
            "true" | "false" => Some(Some(Value::Bool(word == "true"))),
            // Integers of any size end with `n`.
            word => number(word.strip_suffix('n').unwrap_or(word)).map(|number| Some(Value::Number(number))),
        }
    }
}

fn number(word: &str) -> Option<Number> {
    match word.parse::<i64>() {
        Ok(integer) => Some(integer.into()),
        Err(_) => Number::from_f64(word.parse().ok()?),
    }
}

/// The character of an escape.
fn unescaped(escaped: char, code: &str) -> Option<char> {
    Some(match escaped {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        // Half of a pair that has no other half is printed so.
        'x' | 'u' => char::from_u32(u32::from_str_radix(code, 16).ok()?).unwrap_or(char::REPLACEMENT_CHARACTER),
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_read_as_node_prints_them() {
        // Printed by Node 20: console.dir({..}, {depth: 1}) with strings that need each of the quotes.
        let text = r#"{
  name: 'it is',
  'service.name': "it's",
  both: `it's "quoted"`,
  long: 'first line\n' +
    'second \x1B[1m\n',
  none: undefined,
  nil: null,
  yes: true,
  list: [ 1, -2.5, 'x', [Array], ... 3 more items ],
  deep: { inner: [Object] },
  bare: [Object: null prototype] { a: 1 },
  big: 10n,
  empty: {},
  made: [Function: f]
}"#;
        assert_eq!(to_json(text), None, "functions are no data");
        assert_eq!(
            to_json(&text.replace(",\n  made: [Function: f]", "")),
            Some(json!({
                "name": "it is", "service.name": "it's", "both": "it's \"quoted\"",
                "long": "first line\nsecond \u{1b}[1m\n", "nil": null, "yes": true, "list": [1, -2.5, "x"],
                "deep": {}, "bare": {"a": 1}, "big": 10, "empty": {},
            }))
        );
    }

    #[test]
    fn what_is_no_object_is_nothing_whatever_its_end() {
        let text = "{\n  a: { 'b.c': [ 'x' ], d: `e` },\n  f: 'g' +\n    'h'\n}";
        assert!(to_json(text).is_some());
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert_eq!(to_json(&text[..end]), None, "{end}");
        }
        for bad in ["", "{", "[ 1 ]", "'a'", "{ a }", "{ a: }", "{ : 1 }", "{ a: 'x\n' }", "{ a: b }", "{ a: 1 } x"] {
            assert_eq!(to_json(bad), None, "{bad}");
        }
        assert_eq!(to_json(&"{ a: ".repeat(100_000)), None);
        assert_eq!(to_json(&"[".repeat(100_000)), None);
    }
}
