//! Python literals to JSON.
//!
//! In: the text of a dict or list as Python's `repr` writes it. Out: the same as JSON, or nothing. One pass over the text
//! with bounded recursion, because the text comes from logs. Never evaluates, and knows no other types than JSON has.

use serde_json::{Map, Number, Value};

/// Longest literal that is read. A card is some kilobytes.
const MAX_LENGTH: usize = 1 << 20;
/// Deepest nesting that is read. Cards nest six deep.
const MAX_DEPTH: usize = 64;

/// Reads a literal that fills the whole text, apart from blanks around it. Keys that are no strings are refused, and so
/// are sets, bytes and calls: no JSON was ever printed that way.
pub fn to_json(text: &str) -> Option<Value> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let mut reader = Reader { rest: text };
    let value = reader.value(MAX_DEPTH)?;
    reader.skip_blanks();
    reader.rest.is_empty().then_some(value)
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
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip_blanks();
        match self.rest.chars().next()? {
            '{' if depth > 0 => self.dict(depth - 1),
            '[' if depth > 0 => self.sequence("[", "]", depth - 1),
            '(' if depth > 0 => self.sequence("(", ")", depth - 1),
            '\'' | '"' => self.strings().map(Value::from),
            _ => self.word(),
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        self.take("{");
        while !self.take("}") {
            let key = self.strings()?;
            if !self.take(":") {
                return None;
            }
            // As in Python, the last of equal keys counts.
            members.insert(key, self.value(depth)?);
            if !self.take(",") {
                return self.take("}").then_some(Value::Object(members));
            }
        }
        Some(Value::Object(members))
    }

    /// A list, or a tuple, which JSON does not tell from one.
    fn sequence(&mut self, open: &str, close: &str, depth: usize) -> Option<Value> {
        let mut values = Vec::new();
        self.take(open);
        while !self.take(close) {
            values.push(self.value(depth)?);
            if !self.take(",") {
                return self.take(close).then_some(Value::Array(values));
            }
        }
        Some(Value::Array(values))
    }

    /// A string; several in a row are one, as pretty-printed values are broken.
    fn strings(&mut self) -> Option<String> {
        let mut text = String::new();
        self.skip_blanks();
        self.string(&mut text)?;
        loop {
            self.skip_blanks();
            if !self.rest.starts_with(['\'', '"']) {
                return Some(text);
            }
            self.string(&mut text)?;
        }
    }

    fn string(&mut self, text: &mut String) -> Option<()> {
        let quote = self.rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        self.rest = &self.rest[1..];
        loop {
            let end = self.rest.find([quote, '\\'])?;
            text.push_str(&self.rest[..end]);
            let is_end = self.rest[end..].starts_with(quote);
            self.rest = &self.rest[end + 1..];
            if is_end {
                return Some(());
            }
            self.escape(text)?;
        }
    }

    /// An escape sequence behind its backslash (Python reference, String and Bytes literals); an unknown one stands for
    /// itself.
    fn escape(&mut self, text: &mut String) -> Option<()> {
        let kind = self.rest.chars().next()?;
        self.rest = &self.rest[kind.len_utf8()..];
        let plain = match kind {
            '\n' => return Some(()),
            '\\' | '\'' | '"' => kind,
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => self.code_point(2)?,
            'u' => self.code_point(4)?,
            'U' => self.code_point(8)?,
            unknown => {
                text.push('\\');
                unknown
            }
        };
        text.push(plain);
        Some(())
    }

    /// A code point; a lone surrogate, which Python can hold and Rust cannot, becomes the replacement character.
    fn code_point(&mut self, digits: usize) -> Option<char> {
        let text = self.rest.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.rest = &self.rest[digits..];
        match u32::from_str_radix(text, 16).ok()? {
            0xd800..=0xdfff => Some(char::REPLACEMENT_CHARACTER),
            code => char::from_u32(code),
        }
    }

    /// A number or one of Python's constants.
    fn word(&mut self) -> Option<Value> {
        let end = self.rest.find([',', ':', ']', '}', ')', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "None" => Some(Value::Null),
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            // What JSON has no number for.
            "nan" | "inf" | "-inf" => Some(Value::Null),
            word if word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) => {
                let exact =
                    word.parse::<i64>().map(Number::from).or_else(|_| word.parse::<u64>().map(Number::from)).ok();
                exact.or_else(|| word.parse().ok().and_then(Number::from_f64)).map(Value::Number)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
