//! Words of a line of text, some of them in quotes.
//!
//! In: text. Out: words without their quotes, or pairs of keys and values. A quote that does not end takes the rest.

use std::borrow::Cow;

/// The words of a line, from left to right.
pub(super) struct Words<'t>(&'t str);

/// A word, and whether it stood in quotes or brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word<'t> {
    Bare(&'t str),
    Quoted(Cow<'t, str>),
    /// `[...]`
    Bracketed(&'t str),
}

impl<'t> Word<'t> {
    /// The text alone; `-` stands for nothing.
    pub(super) fn text(&self) -> &str {
        let text = match self {
            Self::Bare(text) | Self::Bracketed(text) => text,
            Self::Quoted(text) => text.as_ref(),
        };
        if text == "-" { "" } else { text }
    }
}

impl<'t> Words<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self(text)
    }

    /// `key=value key="value with blanks"`; other words are passed over.
    pub(super) fn pairs(mut self) -> impl Iterator<Item = (&'t str, Cow<'t, str>)> {
        std::iter::from_fn(move || {
            loop {
                let rest = self.0.trim_start();
                let end = rest.find(['=', ' ', '\t'])?;
                let (key, after) = rest.split_at(end);
                let Some(value) = after.strip_prefix('=') else {
                    self.0 = after;
                    continue;
                };
                if let Some(quoted) = value.strip_prefix('"') {
                    let (text, rest) = until_quote(quoted);
                    self.0 = rest;
                    return Some((key, text));
                }
                let end = value.find([' ', '\t']).unwrap_or(value.len());
                let (text, rest) = value.split_at(end);
                self.0 = rest;
                return Some((key, Cow::Borrowed(text)));
            }
        })
    }
}

impl<'t> Iterator for Words<'t> {
    type Item = Word<'t>;

    fn next(&mut self) -> Option<Word<'t>> {
        let rest = self.0.trim_start();
        if rest.is_empty() {
            return None;
        }
        if let Some(quoted) = rest.strip_prefix('"') {
            let (text, rest) = until_quote(quoted);
            self.0 = rest;
            return Some(Word::Quoted(text));
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').unwrap_or(inner.len());
            self.0 = inner.get(end + 1..).unwrap_or_default();
            return Some(Word::Bracketed(inner.get(..end).unwrap_or_default()));
        }
        let end = rest.find([' ', '\t']).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.0 = rest;
        Some(Word::Bare(word))
    }
}

/// Text up to the quote that ends it, and what follows; `\"`, `\\` and nginx's `\xNN` stand for characters.
fn until_quote(text: &str) -> (Cow<'_, str>, &str) {
    let mut end = text.len();
    let mut escaped = false;
    let mut has_escapes = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => (escaped, has_escapes) = (true, true),
            b'"' => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let inner = text.get(..end).unwrap_or_default();
    let rest = text.get(end + 1..).unwrap_or_default();
    (if has_escapes { Cow::Owned(unescaped(inner)) } else { Cow::Borrowed(inner) }, rest)
}

/// Text with its backslashes resolved.
pub(in crate::decode) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let hex = after.get(1..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match (after.first(), hex.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (Some(b'x'), Some(code)) => {
                bytes.push(code);
                rest = after.get(3..).unwrap_or_default();
            }
            (Some(&next), _) => {
                bytes.push(match next {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    other => other,
                });
                rest = after.get(1..).unwrap_or_default();
            }
            (None, _) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_what_quotes_and_brackets_hold() {
        let texts: Vec<String> = Words::of(r#"a "b \"c\" \x41" [d e] - "open"#).map(|w| w.text().to_owned()).collect();
        assert_eq!(texts, ["a", "b \"c\" A", "d e", "", "open"]);
    }

    #[test]
    fn pairs_pass_over_words_without_a_value() {
        let pairs: Vec<_> = Words::of(r#" word a=1 b="x y" c= d"#).pairs().collect();
        assert_eq!(pairs, [("a", "1".into()), ("b", "x y".into()), ("c", "".into())]);
        assert_eq!(Words::of("= == =\"").pairs().count(), 3);
    }

    #[test]
    fn broken_escapes_stand_for_themselves() {
        for (text, expected) in [(r#"\"#, "\\"), (r#"\x4"#, "x4"), (r#"\xzz"#, "xzz"), (r#"\xff"#, "\u{fffd}")] {
            assert_eq!(unescaped(text), expected);
        }
    }
}
