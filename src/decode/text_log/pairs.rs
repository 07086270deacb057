//! `key=value` pairs behind a sentence, as logfmt, Go's `slog` and Rust's `tracing` write them.
//!
//! In: text. Out: the sentence before the first pair, and the pairs. A value without quotes ends where the next pair
//! begins, because not all of them quote blanks.

use serde_json::Value;

/// More pairs than any line has.
const MOST: usize = 128;

/// Takes text apart.
pub(super) fn split(text: &str) -> (&str, Vec<(String, Value)>) {
    let Some(first) = next_key(text, 0) else { return (text.trim(), Vec::new()) };
    let message = text[..first].trim();
    let (mut at, mut pairs) = (first, Vec::new());
    while pairs.len() < MOST {
        let Some((key, behind)) = text[at..].split_once('=') else { break };
        let start = text.len() - behind.len();
        let (value, end) = match quoted(behind) {
            Some((value, length)) => (value, start + length),
            None => {
                let end = next_key(text, start).unwrap_or(text.len());
                (text[start..end].trim().to_owned(), end)
            }
        };
        pairs.push((key.trim().to_owned(), Value::from(value)));
        match next_key(text, end) {
            Some(next) => at = next,
            None => break,
        }
    }
    (message, pairs)
}

/// Longest key, in bytes.
const KEY_BYTES: usize = 64;

/// Where the next `key=` begins: at the start of a word.
fn next_key(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut searched = from;
    loop {
        let equals = searched + memchr::memchr(b'=', bytes.get(searched..)?)?;
        let floor = from.max(equals.saturating_sub(KEY_BYTES));
        let blank = bytes[floor..equals].iter().rposition(|byte| *byte == b' ').map(|at| floor + at + 1);
        let word = blank.unwrap_or(floor);
        let is_start = word == 0 || bytes.get(word - 1) == Some(&b' ');
        if is_start && bytes.get(word..equals).is_some_and(is_key) {
            return Some(word);
        }
        searched = equals + 1;
    }
}

fn is_key(word: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'@');
    word.first().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'@'))
        && word.iter().all(is_part)
}

/// A value in quotes and its length with them; the escapes are those of Go and Rust.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut chars = text.char_indices();
    chars.next().filter(|(_, c)| *c == '"')?;
    let mut value = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, at + 1)),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> (&str, Vec<(String, String)>) {
        let (message, pairs) = split(text);
        (message, pairs.into_iter().map(|(key, value)| (key, value.as_str().unwrap().to_owned())).collect())
    }

    #[test]
    fn values_are_read_with_and_without_quotes() {
        let (message, pairs) = texts(r#"it failed a.b=c error=no such task: a=b url=http://h/?x=1 q="say \"x=1\"" z="#);
        let expected = [
            ("a.b", "c"),
            ("error", "no such task:"),
            ("a", "b"),
            ("url", "http://h/?x=1"),
            ("q", "say \"x=1\""),
            ("z", ""),
        ];
        assert_eq!(message, "it failed");
        assert_eq!(pairs, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn text_without_pairs_is_the_sentence() {
        for text in ["", "a sentence", "1 + 1 = 2", "=", "a =b", "ä=b", "x\"=\"y"] {
            assert_eq!(texts(text), (text.trim(), Vec::new()), "{text}");
        }
        assert_eq!(texts("k=\"open").1, [("k".to_owned(), "\"open".to_owned())]);
        assert_eq!(split(&"a=1 ".repeat(1000)).1.len(), MOST);
    }

    #[test]
    fn a_long_line_costs_no_more_than_its_length() {
        for (part, least) in [("= ", 300_000), ("=", 150_000), ("x\"=", 500_000)] {
            let text = part.repeat(200_000);
            let (message, pairs) = split(&text);
            assert!(pairs.is_empty() && message.len() > least);
        }
    }
}
