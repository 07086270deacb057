//! What Node's `util.inspect` prints of plain objects (`console.dir`, `console.log`) to JSON.
//!
//! In: the text of one object. Out: the same as JSON, or nothing. What the printer left out (`[Object]`, `[Array]`,
//! `... 3 more items`) and what JSON has no value for (`undefined`, functions) is left out as well. One pass with bounded
//! recursion, because the text comes from logs.
//!
//! Source: Node.js documentation, `util.inspect`; `lib/internal/util/inspect.js` of Node 20.

use serde_json::Value;

pub(super) use super::literal::MAX_LENGTH;
use super::literal::{Escaped, Literal, MAX_DEPTH, number};

/// Reads an object that fills the whole text, apart from blanks around it.
pub(super) fn to_json(text: &str) -> Option<Value> {
    Literal::whole(text, |literal| value(literal, MAX_DEPTH))?.filter(Value::is_object)
}

/// A value; `Some(None)` is one that JSON has not, or that was not printed.
fn value(literal: &mut Literal<'_>, depth: usize) -> Option<Option<Value>> {
    match literal.next()? {
        '{' => {
            let depth = depth.checked_sub(1)?;
            literal.members(key, |literal| value(literal, depth)).map(Some)
        }
        // `[Object: null prototype] {..}` is an object without a class; `[Object]` and the like stand for what nests
        // too deep.
        '[' => match left_out(literal) {
            Some(true) => value(literal, depth.checked_sub(1)?),
            Some(false) => Some(None),
            None => list(literal, depth.checked_sub(1)?).map(Some),
        },
        '\'' | '"' | '`' => strings(literal).map(|text| Some(Value::from(text))),
        _ => constant(literal.word()),
    }
}

/// A class' name in brackets; true if the object follows it.
fn left_out(literal: &mut Literal<'_>) -> Option<bool> {
    let inner = literal.rest.strip_prefix('[')?;
    let (name, after) = inner.split_once(']').filter(|(name, _)| name.starts_with(char::is_uppercase))?;
    let is_prefix = name.ends_with("null prototype");
    if !is_prefix && !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    literal.rest = after;
    Some(is_prefix)
}

fn key(literal: &mut Literal<'_>) -> Option<String> {
    if matches!(literal.next()?, '\'' | '"' | '`') {
        return string(literal);
    }
    let end = literal.rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$'))?;
    let (key, rest) = literal.rest.split_at(end);
    literal.rest = rest;
    (!key.is_empty()).then(|| key.to_owned())
}

fn list(literal: &mut Literal<'_>, depth: usize) -> Option<Value> {
    let mut list = Vec::new();
    literal.listed("[", "]", |literal| {
        if literal.take("...") {
            // `... 3 more items` ends the list.
            literal.rest = literal.rest.get(literal.rest.find(']')?..)?;
        } else {
            list.extend(value(literal, depth)?);
        }
        Some(())
    })?;
    Some(Value::Array(list))
}

/// A string, or several with a plus between: long ones are broken at their line ends. The printer's own remark on what
/// it left out follows the last.
fn strings(literal: &mut Literal<'_>) -> Option<String> {
    let mut text = string(literal)?;
    while literal.take("+") {
        literal.skip_blanks();
        text.push_str(&string(literal)?);
    }
    if literal.rest.starts_with("... ") {
        let end = literal.rest.find(['\n', ','])?;
        literal.rest = literal.rest.get(end..)?;
    }
    Some(text)
}

/// One string, which is on one line.
fn string(literal: &mut Literal<'_>) -> Option<String> {
    let (before, mut text) = (literal.rest, String::new());
    literal.string(&mut text, escape)?;
    let written = before.get(..before.len() - literal.rest.len())?;
    (!written.contains('\n')).then_some(text)
}

/// An escape behind its backslash; an unknown one is the character itself.
fn escape(literal: &mut Literal<'_>, text: &mut String) -> Option<()> {
    let kind = literal.step()?;
    text.push(match literal.escaped(kind)? {
        Escaped::Is(plain) => plain,
        Escaped::Other => kind,
    });
    Some(())
}

/// A number or one of the words.
fn constant(word: &str) -> Option<Option<Value>> {
    match word {
        "undefined" => Some(None),
        "null" => Some(Some(Value::Null)),
        "true" | "false" => Some(Some(Value::Bool(word == "true"))),
        // Integers of any size end with `n`.
        word => number(word.strip_suffix('n').unwrap_or(word)).map(Some),
    }
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
