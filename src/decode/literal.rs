//! The common ground of programming languages' literals: brackets, commas, strings, numbers.
//!
//! In: a text, and a place in it. Out: what stands there, or nothing. One pass, for texts that come from logs; what a language
//! writes in its own way is for its reader, `python_repr` or `node_repr`, and so is how deep it may nest.

use serde_json::{Map, Number, Value};

/// Longest text that is read. A card is some kilobytes.
pub(super) const MAX_LENGTH: usize = 1 << 20;
/// Deepest nesting that is read. Cards nest six deep.
pub(super) const MAX_DEPTH: usize = 64;

/// A place in a text.
pub(super) struct Literal<'t> {
    pub(super) rest: &'t str,
}

impl<'t> Literal<'t> {
    /// Reads what fills the whole text, apart from blanks around it.
    pub(super) fn whole<T>(text: &'t str, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let mut literal = Self { rest: text };
        let value = read(&mut literal)?;
        literal.skip_blanks();
        literal.rest.is_empty().then_some(value)
    }

    /// The next character, blanks before it skipped.
    pub(super) fn next(&mut self) -> Option<char> {
        self.skip_blanks();
        self.rest.chars().next()
    }

    pub(super) fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    /// Steps over a token if it is next, blanks before it included.
    pub(super) fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads members in braces with commas between them, also behind the last; a member without a value is left out. The last
    /// of equal keys counts.
    pub(super) fn members(
        &mut self,
        key: impl Fn(&mut Self) -> Option<String>,
        value: impl Fn(&mut Self) -> Option<Option<Value>>,
    ) -> Option<Value> {
        let mut members = Map::new();
        self.listed("{", "}", |literal| {
            let key = key(literal)?;
            if !literal.take(":") {
                return None;
            }
            members.extend(value(literal)?.map(|value| (key, value)));
            Some(())
        })?;
        Some(Value::Object(members))
    }

    /// Reads what stands between brackets, with commas between and also behind the last.
    pub(super) fn listed(
        &mut self,
        open: &str,
        close: &str,
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(open);
        while !self.take(close) {
            each(self)?;
            if !self.take(",") {
                return self.take(close).then_some(());
            }
        }
        Some(())
    }

    /// Adds the string that is next, up to the quote that it began with; what follows a backslash is read by `escape`.
    pub(super) fn string(
        &mut self,
        text: &mut String,
        escape: impl Fn(&mut Self, &mut String) -> Option<()>,
    ) -> Option<()> {
        let quote = self.step()?;
        loop {
            let end = self.rest.find([quote, '\\'])?;
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end..];
            if self.step()? == quote {
                return Some(());
            }
            escape(self, text)?;
        }
    }

    /// Steps over a character.
    pub(super) fn step(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    /// The character of an escape that all have; the others are read by `other`.
    pub(super) fn escaped(&mut self, kind: char) -> Option<Escaped> {
        Some(Escaped::Is(match kind {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' => kind,
            'x' => self.code_point(2)?,
            'u' => self.code_point(4)?,
            _ => return Some(Escaped::Other),
        }))
    }

    /// A code point; half of a pair, which these languages can hold and Rust cannot, becomes the replacement character.
    pub(super) fn code_point(&mut self, digits: usize) -> Option<char> {
        let text = self.rest.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.rest = &self.rest[digits..];
        match u32::from_str_radix(text, 16).ok()? {
            0xd800..=0xdfff => Some(char::REPLACEMENT_CHARACTER),
            code => char::from_u32(code),
        }
    }

    /// Steps over a word, up to what may follow one.
    pub(super) fn word(&mut self) -> &'t str {
        let end = self.rest.find([',', ':', ']', '}', ')', ' ', '\t', '\r', '\n']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }
}

/// What an escape stands for.
pub(super) enum Escaped {
    Is(char),
    /// What only some languages write so.
    Other,
}

/// A decimal number; as an integer where it is one.
pub(super) fn number(word: &str) -> Option<Value> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    if !word.bytes().all(is_digit) {
        return None;
    }
    let exact = word.parse::<i64>().map(Number::from).or_else(|_| word.parse::<u64>().map(Number::from)).ok();
    exact.or_else(|| word.parse().ok().and_then(Number::from_f64)).map(Value::Number)
}
