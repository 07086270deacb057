//! Python literals to JSON.
//!
//! In: the text of a dict or list as Python's `repr` writes it. Out: the same as JSON, or nothing. One pass over the text
//! with bounded recursion, because the text comes from logs. Never evaluates, and knows no other types than JSON has.

use serde_json::Value;

use super::literal::{Escaped, Literal, MAX_DEPTH, number};

/// Reads a literal that fills the whole text, apart from blanks around it. Keys that are no strings are refused, and so
/// are sets, bytes and calls: no JSON was ever printed that way.
pub fn to_json(text: &str) -> Option<Value> {
    Literal::whole(text, |literal| value(literal, MAX_DEPTH))
}

fn value(literal: &mut Literal<'_>, depth: usize) -> Option<Value> {
    match literal.next()? {
        '{' => {
            let depth = depth.checked_sub(1)?;
            literal.members(strings, |literal| value(literal, depth).map(Some))
        }
        '[' => sequence(literal, "[", "]", depth.checked_sub(1)?),
        '(' => sequence(literal, "(", ")", depth.checked_sub(1)?),
        '\'' | '"' => strings(literal).map(Value::from),
        _ => constant(literal.word()),
    }
}

/// A list, or a tuple, which JSON does not tell from one.
fn sequence(literal: &mut Literal<'_>, open: &str, close: &str, depth: usize) -> Option<Value> {
    let mut values = Vec::new();
    literal.listed(open, close, |literal| {
        values.push(value(literal, depth)?);
        Some(())
    })?;
    Some(Value::Array(values))
}

/// A string; several in a row are one, as pretty-printed values are broken.
fn strings(literal: &mut Literal<'_>) -> Option<String> {
    let mut text = None;
    while matches!(literal.next(), Some('\'' | '"')) {
        literal.string(text.get_or_insert_default(), escape)?;
    }
    text
}

/// An escape sequence behind its backslash (Python reference, String and Bytes literals); an unknown one stands for itself.
fn escape(literal: &mut Literal<'_>, text: &mut String) -> Option<()> {
    match literal.step()? {
        '\n' => {}
        'a' => text.push('\u{7}'),
        'U' => text.push(literal.code_point(8)?),
        kind => match literal.escaped(kind)? {
            Escaped::Is(plain) => text.push(plain),
            Escaped::Other => text.extend(['\\', kind]),
        },
    }
    Some(())
}

/// A number or one of Python's constants.
fn constant(word: &str) -> Option<Value> {
    match word {
        "None" => Some(Value::Null),
        "True" => Some(Value::Bool(true)),
        "False" => Some(Value::Bool(false)),
        // What JSON has no number for.
        "nan" | "inf" | "-inf" => Some(Value::Null),
        word => number(word),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decode::literal::MAX_LENGTH;

    /// Marks the literal in the resolver's sentence.
    const SENTENCE: &str = "Successfully fetched agent card data from ";

    fn lines(path: &str) -> Vec<Value> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(path);
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// All strings inside a value.
    fn strings(value: &Value) -> Vec<&str> {
        match value {
            Value::String(text) => vec![text],
            Value::Array(list) => list.iter().flat_map(strings).collect(),
            Value::Object(map) => map.values().flat_map(strings).collect(),
            _ => Vec::new(),
        }
    }

    /// The SDKs of all three generations print the JSON they received, unordered and undropped, so each printed card
    /// must equal one that the tap saw on the wire.
    #[test]
    fn every_card_that_the_resolver_printed_equals_one_on_the_wire() {
        for (run, sentences) in [
            ("a2a-python-0.2.16/v02", 1),
            ("a2a-python-0.3.26/v03", 2),
            ("a2a-python-1.3.0/grpc", 2),
            ("a2a-python-1.3.0/headers", 1),
            ("a2a-python-1.3.0/jsonrpc", 4),
            ("a2a-python-1.3.0/rest", 4),
        ] {
            let wire: Vec<Value> = lines(&format!("{run}.exchanges.ndjson"))
                .iter()
                .filter(|exchange| exchange["request"]["url"].as_str().unwrap().contains("/.well-known/agent"))
                .filter(|exchange| exchange["response"]["status"] == 200)
                .map(|exchange| serde_json::from_str(exchange["response"]["body"]["text"].as_str().unwrap()).unwrap())
                .collect();
            let logs = lines(&format!("{run}.logs.otlp.jsonl"));
            let printed: Vec<&str> =
                logs.iter().flat_map(strings).filter_map(|text| text.strip_prefix(SENTENCE)).collect();
            assert_eq!(printed.len(), sentences, "{run}");
            for text in printed {
                let (_, literal) = text.split_once(": ").unwrap();
                let card = to_json(literal).unwrap();
                assert!(wire.contains(&card), "{run}: {card}");
            }
        }
    }

    #[test]
    fn constants_numbers_and_nesting_are_read() {
        assert_eq!(
            to_json(
                " {'a': True, 'b': [False, None, (1, -2.5,)], 'c': {}, 'd': 1e3, 'e': 18446744073709551615, 'f': nan} "
            ),
            Some(json!({"a": true, "b": [false, null, [1, -2.5]], "c": {}, "d": 1000.0, "e": u64::MAX, "f": null}))
        );
    }

    #[test]
    fn strings_are_read_with_either_quote_and_all_escapes_of_repr() {
        for (literal, text) in [
            (r#"'it is "so"'"#, "it is \"so\""),
            (r#""it's so""#, "it's so"),
            (r"'it\'s \\ \n\t\r'", "it's \\ \n\t\r"),
            (r"'\x00\xe9\u20ac\U0001f600'", "\0é€😀"),
            (r"'\ud83d'", "\u{fffd}"),
            ("'é€😀'", "é€😀"),
            (r"'\d'", r"\d"),
            ("'one ' 'two'", "one two"),
        ] {
            assert_eq!(to_json(literal), Some(Value::from(text)), "{literal}");
        }
    }

    #[test]
    fn what_is_no_literal_of_json_types_is_nothing() {
        for text in [
            "",
            "{",
            "{'a'",
            "{'a':",
            "{'a': 1",
            "{'a': 1,",
            "{'a' 1}",
            "[1 2]",
            "{,}",
            "'open",
            r"'\x4'",
            r"'\",
            "{1: 2}",
            "{1, 2}",
            "b'bytes'",
            "1e999",
            "datetime.now()",
            "{'a': 1} trailing",
            "<Role.user: 'user'>",
            "True False",
            "1-1",
            "é",
        ] {
            assert_eq!(to_json(text), None, "{text}");
        }
    }

    #[test]
    fn a_cut_at_any_byte_of_a_card_is_nothing_and_no_panic() {
        let literal = "{'name': 'Ä\\u20ac', 'skills': [{'id': \"it's\", 'tags': ['x'], 'n': -1.5}], 'ok': True}";
        assert!(to_json(literal).is_some());
        for (end, _) in literal.char_indices() {
            assert_eq!(to_json(&literal[..end]), None, "{end}");
        }
    }

    #[test]
    fn deep_and_long_texts_are_refused_in_no_time() {
        for open in ["[", "(", "{'a':", "{(", "{{"] {
            assert_eq!(to_json(&open.repeat(100_000)), None, "{open}");
        }
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(to_json(&nested(MAX_DEPTH)).is_some());
        assert_eq!(to_json(&nested(MAX_DEPTH + 1)), None);
        assert_eq!(to_json(&format!("'{}'", "x".repeat(MAX_LENGTH))), None);
    }
}
