//! A byte-level JSON scanner that finds where values end and where the elements of known containers begin and end.
//!
//! In: the bytes of one value, in pieces. Out: [`Step`]s. It checks the grammar of structure, not of numbers and
//! words; it stores neither values nor text, and its memory is constant.

mod container;
mod key;

pub(super) use container::Container;
use key::{Key, Name};

/// What the scanner came upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// All bytes were consumed; the value goes on.
    More,
    /// An element of a known container begins here.
    ElementStart,
    /// The element has ended; here stands the separator that proves it.
    ElementEnd,
    /// Nesting exceeds the limit. Said once an element; scanning goes on by counting.
    TooDeep,
    /// The value ends before here.
    End,
    /// This byte cannot stand here.
    Misfit(Misfit),
}

/// Why a byte cannot stand where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    /// A line ends where the value has to go on: the rest was cut off.
    LineCut,
    /// Not JSON.
    Unexpected,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    FirstValue,
    Key,
    FirstKey,
    Colon,
    Separator,
    InKey,
    InText,
    InScalar,
    Nothing,
}

/// Deepest level of which the kind of container is kept.
const LEVELS: u64 = 128;

/// The state of a scan.
pub(super) struct Scanner {
    expect: Expect,
    escaped: bool,
    depth: u64,
    max_depth: u64,
    /// One bit a level, set for an object.
    objects: u128,
    key: Key,
    names: [Name; 2],
    container: Option<Container>,
    container_depth: u64,
    /// Depth of the container around a [`Container::LokiValues`].
    outer_depth: u64,
    /// The document's containers are what their keys say.
    sure: bool,
    /// One of the containers was none.
    disowned: bool,
    seen_container: bool,
    in_element: bool,
    deep: bool,
    single_line: bool,
    lines: u64,
    blank: bool,
}

impl Scanner {
    /// A scan of a value that may nest `max_depth` deep. With `single_line`, a line end inside it is a misfit.
    pub(super) fn new(max_depth: usize, single_line: bool) -> Self {
        Self {
            expect: Expect::Value,
            escaped: false,
            depth: 0,
            max_depth: (max_depth as u64).clamp(1, LEVELS),
            objects: 0,
            key: Key::default(),
            names: [Name::Other; 2],
            container: None,
            container_depth: 0,
            outer_depth: 0,
            sure: false,
            disowned: false,
            seen_container: false,
            in_element: false,
            deep: false,
            single_line,
            lines: 0,
            blank: false,
        }
    }

    /// From here on, a line end inside the value is a misfit.
    pub(super) fn end_with_line(&mut self) {
        self.single_line = true;
    }

    /// Line ends passed.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Only blanks were passed since the last line end.
    pub(super) fn at_line_start(&self) -> bool {
        self.blank
    }

    /// The container whose elements pass by.
    pub(super) fn container(&self) -> Option<Container> {
        self.container
    }

    /// Some container was met.
    pub(super) fn has_seen_container(&self) -> bool {
        self.seen_container
    }

    /// Whether elements still have to show that the container is one.
    pub(super) fn is_doubtful(&self) -> bool {
        !self.sure && self.container.is_some_and(Container::is_doubtful)
    }

    /// The container is what its key says.
    pub(super) fn own(&mut self) {
        self.sure = true;
        self.seen_container = true;
    }

    /// The container is none: the document is one value.
    pub(super) fn disown(&mut self) {
        self.container = None;
        self.container_depth = 0;
        self.disowned = true;
    }

    /// The brackets that close what is open, up to the container.
    pub(super) fn closing(&self) -> String {
        let level = |level: u64| if self.objects & (1 << level) == 0 { ']' } else { '}' };
        (0..self.depth.min(LEVELS)).rev().map(level).collect()
    }

    /// An element has begun and is whole, though no separator proved it yet.
    pub(super) fn holds_whole_element(&self) -> bool {
        self.in_element && self.depth == self.container_depth && self.expect == Expect::Separator
    }

    /// Goes on from `*at` to the next thing worth saying.
    pub(super) fn next(&mut self, bytes: &[u8], at: &mut usize) -> Step {
        while *at < bytes.len() {
            let step = match self.expect {
                Expect::InText | Expect::InKey => self.text(bytes, at),
                Expect::InScalar => self.scalar(bytes, at),
                _ => self.token(bytes[*at], at),
            };
            if let Some(step) = step {
                return step;
            }
        }
        Step::More
    }

    fn text(&mut self, bytes: &[u8], at: &mut usize) -> Option<Step> {
        if self.escaped && bytes[*at] != b'\n' {
            self.escaped = false;
            *at += 1;
            return None;
        }
        let rest = &bytes[*at..];
        let found = memchr::memchr3(b'"', b'\\', b'\n', rest);
        let length = found.unwrap_or(rest.len());
        if self.expect == Expect::InKey {
            self.key.extend(&rest[..length]);
        }
        *at += length;
        match found.map(|i| rest[i]) {
            None => return None,
            Some(b'\n') => return Some(Step::Misfit(Misfit::LineCut)),
            Some(b'\\') => {
                self.escaped = true;
                self.key.spoil();
            }
            Some(_) if self.expect == Expect::InKey => self.end_key(),
            Some(_) => self.expect = Expect::Separator,
        }
        *at += 1;
        None
    }

    fn end_key(&mut self) {
        if let Some(name) = (self.depth as usize).checked_sub(1).and_then(|level| self.names.get_mut(level)) {
            *name = self.key.name();
        }
        self.expect = Expect::Colon;
    }

    fn scalar(&mut self, bytes: &[u8], at: &mut usize) -> Option<Step> {
        let rest = &bytes[*at..];
        let length = rest.iter().position(|b| !is_scalar(*b));
        *at += length.unwrap_or(rest.len());
        if length.is_some() {
            self.expect = Expect::Separator;
        }
        None
    }

    fn token(&mut self, byte: u8, at: &mut usize) -> Option<Step> {
        match byte {
            b' ' | b'\t' | b'\r' => {
                *at += 1;
                None
            }
            b'\n' => {
                // A line of nothing but opening brackets is no reason to swallow the lines after it.
                if self.single_line || (self.lines == 0 && self.depth > self.max_depth) {
                    return Some(Step::Misfit(Misfit::LineCut));
                }
                self.lines += 1;
                self.blank = true;
                *at += 1;
                None
            }
            _ if self.depth > self.max_depth => {
                self.blank = false;
                *at += 1;
                self.count(byte);
                None
            }
            _ => self.structure(byte, at),
        }
    }

    /// Beyond the depth limit only brackets and strings matter.
    fn count(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth -= 1;
                self.expect = Expect::Separator;
            }
            b'"' => self.expect = Expect::InText,
            _ => {}
        }
    }

    fn structure(&mut self, byte: u8, at: &mut usize) -> Option<Step> {
        let step = match (self.expect, byte) {
            (Expect::Value | Expect::FirstValue, b'{' | b'[' | b'"') => return self.begin(byte, at),
            (Expect::Value | Expect::FirstValue, b) if is_scalar(b) => return self.begin(byte, at),
            (Expect::FirstKey | Expect::Key, b'"') => {
                self.key = Key::default();
                self.expect = Expect::InKey;
                None
            }
            (Expect::Colon, b':') => {
                self.expect = Expect::Value;
                None
            }
            (Expect::Separator, b',' | b']') if self.ends_element() => {
                self.in_element = false;
                return Some(Step::ElementEnd);
            }
            (Expect::Separator, b',') => {
                self.expect = self.after_comma();
                None
            }
            (Expect::Separator | Expect::FirstKey, b'}') if self.is_object() => self.close(),
            (Expect::Separator | Expect::FirstValue, b']') if !self.is_object() => self.close(),
            _ => return Some(Step::Misfit(Misfit::Unexpected)),
        };
        self.blank = false;
        *at += 1;
        step
    }

    fn ends_element(&self) -> bool {
        self.in_element && self.depth == self.container_depth
    }

    fn after_comma(&self) -> Expect {
        match (self.is_object(), self.depth == self.container_depth) {
            (true, _) => Expect::Key,
            // Hand-made lists end with a comma too much, and lose nothing by it.
            (false, true) => Expect::FirstValue,
            (false, false) => Expect::Value,
        }
    }

    fn begin(&mut self, byte: u8, at: &mut usize) -> Option<Step> {
        if self.container.is_some() && self.depth == self.container_depth && !self.in_element {
            self.in_element = true;
            self.deep = false;
            return Some(Step::ElementStart);
        }
        self.blank = false;
        *at += 1;
        match byte {
            b'{' | b'[' => return self.open(byte == b'{'),
            b'"' => self.expect = Expect::InText,
            _ => self.expect = Expect::InScalar,
        }
        None
    }

    fn open(&mut self, object: bool) -> Option<Step> {
        if !object {
            self.enter();
        }
        if self.depth < LEVELS {
            let bit = 1_u128 << self.depth;
            self.objects = if object { self.objects | bit } else { self.objects & !bit };
        }
        if object && let Some(name) = self.names.get_mut(self.depth as usize) {
            *name = Name::Other;
        }
        self.depth += 1;
        self.expect = if object { Expect::FirstKey } else { Expect::FirstValue };
        if self.depth > self.max_depth && !self.deep {
            self.deep = true;
            return Some(Step::TooDeep);
        }
        None
    }

    /// Notes that a list opens that is a container.
    fn enter(&mut self) {
        if self.container.is_none() && !self.disowned {
            self.container = Container::at(self.depth, self.names, self.objects);
            if let Some(container) = self.container {
                self.container_depth = self.depth + 1;
                self.seen_container |= !container.is_doubtful();
            }
        } else if self.container == Some(Container::LokiStreams)
            && self.depth == self.container_depth + 1
            && self.key.name() == Name::Values
        {
            // The elements of the elements: a stream may hold any number of lines.
            self.container = Some(Container::LokiValues);
            self.outer_depth = self.container_depth;
            self.container_depth = self.depth + 1;
            self.in_element = false;
        }
    }

    fn close(&mut self) -> Option<Step> {
        if self.container.is_some() && self.depth == self.container_depth {
            let is_inner = self.container == Some(Container::LokiValues);
            self.container = is_inner.then_some(Container::LokiStreams);
            self.container_depth = if is_inner { self.outer_depth } else { 0 };
            self.in_element = is_inner;
        }
        self.depth -= 1;
        self.expect = if self.depth == 0 { Expect::Nothing } else { Expect::Separator };
        (self.depth == 0).then_some(Step::End)
    }

    fn is_object(&self) -> bool {
        self.depth > 0 && self.objects & (1 << (self.depth - 1)) != 0
    }
}

fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scans in pieces of `piece` bytes; the elements found, and the last step with its place.
    fn scan(text: &str, piece: usize, max_depth: usize) -> (Vec<String>, Step, usize) {
        let bytes = text.as_bytes();
        let mut scanner = Scanner::new(max_depth, false);
        let (mut elements, mut start, mut at, mut seen) = (Vec::new(), 0, 0, 0);
        loop {
            match scanner.next(&bytes[..seen], &mut at) {
                Step::More if seen == bytes.len() => return (elements, Step::More, at),
                Step::More => seen = (seen + piece).min(bytes.len()),
                Step::ElementStart => start = at,
                Step::ElementEnd => elements.push(text[start..at].trim_end().to_owned()),
                Step::TooDeep => {}
                step => return (elements, step, at),
            }
        }
    }

    #[test]
    fn elements_of_known_containers_are_cut_out_however_the_bytes_arrive() {
        for (document, expected) in [
            (r#"[1, "a]", {"b":[2]} , null]"#, vec!["1", r#""a]""#, r#"{"b":[2]}"#, "null"]),
            (r#"{"log":{"pages":[{"id":1}],"entries":[{"x":"\"}"},{"y":[]}]}}"#, vec![r#"{"x":"\"}"}"#, r#"{"y":[]}"#]),
            (r#"{"resourceSpans":[{"a":1}],"x":[2],"resourceLogs":[{"b":2}]}"#, vec![r#"{"a":1}"#, r#"{"b":2}"#]),
            (r#"{"batches":[{"a":1}]}"#, vec![r#"{"a":1}"#]),
            (r#"{"trace":{"resourceSpans":[{"a":1}]}}"#, vec![r#"{"a":1}"#]),
            (r#"{"result":{"x":{"resourceSpans":[9]},"resourceSpans":[{"a":1}]}}"#, vec![r#"{"a":1}"#]),
            (r#"{"other":[1],"log":[{"entries":[1]}],"a":{"log":{"entries":[1]}},"l\u006fg":{"entries":[1]}}"#, vec![]),
            ("[{\"a\":1},\n]", vec![r#"{"a":1}"#]),
        ] {
            for piece in [1, 2, 3, 7, 1000] {
                let (elements, end, at) = scan(document, piece, 100);
                assert_eq!(
                    (elements, end, at),
                    (expected.iter().map(ToString::to_string).collect(), Step::End, document.len()),
                    "{document} by {piece}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_go_on_is_a_misfit_at_its_first_byte() {
        for (text, kind, at) in [
            ("{\"a\":\"x\n{\"b\":1}", Misfit::LineCut, 7),
            ("{\"a\":1,\n{\"b\":1}", Misfit::Unexpected, 8),
            ("{\"a\" 1}", Misfit::Unexpected, 5),
            ("{]", Misfit::Unexpected, 1),
            ("[1}", Misfit::Unexpected, 2),
            ("{\"a\":[1,]}", Misfit::Unexpected, 8),
        ] {
            assert_eq!(scan(text, 1000, 100).1, Step::Misfit(kind), "{text}");
            assert_eq!(scan(text, 1, 100).2, at, "{text}");
        }
    }

    #[test]
    fn too_deep_elements_are_passed_over_by_counting() {
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(500), "]".repeat(500));
        let (elements, end, _) = scan(&format!("[1,{deep},2]"), 64, 100);
        assert_eq!((elements, end), (vec!["1".to_owned(), deep, "2".to_owned()], Step::End));
    }

    #[test]
    fn a_line_of_opening_brackets_does_not_swallow_the_next() {
        let text = format!("{}\n{{}}", "[".repeat(1000));
        assert_eq!((scan(&text, 10, 100).1, scan(&text, 10, 100).2), (Step::Misfit(Misfit::LineCut), 1000));
    }
}
