//! A JSON value that a logger printed over several lines, each with a carrier of its own.
//!
//! In: lines of one stream. Out: where the value ends, or that it does not go on. Follows the brackets as they come, so that
//! a line is looked at once; it reads no value.

use crate::decode::Limits;
use crate::decode::frame::Frame;
use crate::decode::record::Origin;
use crate::decode::scanner::{Misfit, Scanner, Step};

/// Lines that one value may have.
const MOST_LINES: usize = 100_000;

/// What a further line did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decode) enum Fed {
    /// The value goes on.
    Open,
    /// The value has ended, so many bytes after the beginning of this line.
    Whole(usize),
    /// The line does not go on with the value.
    Broken(Misfit),
    /// The value has become too long.
    TooLarge,
}

/// A line of the value.
#[derive(Debug)]
pub(in crate::decode) struct Line {
    start: usize,
    /// Where it stands.
    pub(in crate::decode) origin: Origin,
    /// What stood around it.
    pub(in crate::decode) frame: Frame<'static>,
}

/// A value under way.
pub(in crate::decode) struct OpenJson {
    scanner: Scanner,
    text: String,
    at: usize,
    lines: Vec<Line>,
}

impl std::fmt::Debug for OpenJson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenJson").field("bytes", &self.text.len()).field("lines", &self.lines.len()).finish()
    }
}

impl OpenJson {
    /// A value that nothing is known of yet.
    pub(in crate::decode) fn new(limits: &Limits) -> Self {
        Self { scanner: Scanner::new(limits.max_depth, false), text: String::new(), at: 0, lines: Vec::new() }
    }

    /// Bytes that are kept.
    pub(in crate::decode) fn bytes(&self) -> usize {
        self.text.capacity() + self.lines.capacity() * size_of::<Line>()
    }

    /// The value so far.
    pub(in crate::decode) fn text(&self) -> &str {
        &self.text
    }

    /// No second line was taken.
    pub(in crate::decode) fn is_one_line(&self) -> bool {
        self.lines.len() == 1
    }

    /// The first line.
    pub(in crate::decode) fn first(&self) -> Option<&Line> {
        self.lines.first()
    }

    /// The lines behind the first, each with its text.
    pub(in crate::decode) fn rest(self) -> Vec<(String, Origin, Frame<'static>)> {
        let ends: Vec<usize> = self.lines.iter().skip(1).map(|line| line.start).chain([self.text.len()]).collect();
        let text = self.text;
        let lines = self.lines.into_iter().zip(ends).skip(1);
        lines.map(|(line, end)| (text[line.start..end].trim_end().to_owned(), line.origin, line.frame)).collect()
    }

    /// Takes a line.
    pub(in crate::decode) fn feed(&mut self, line: &str, origin: &Origin, frame: &Frame<'_>, most_bytes: usize) -> Fed {
        if self.lines.len() >= MOST_LINES || self.text.len() + line.len() > most_bytes {
            return Fed::TooLarge;
        }
        let start = self.text.len();
        self.lines.push(Line { start, origin: origin.clone(), frame: frame.kept() });
        self.text.push_str(line);
        self.text.push('\n');
        loop {
            match self.scanner.next(self.text.as_bytes(), &mut self.at) {
                Step::More => return Fed::Open,
                Step::End => return Fed::Whole(self.at - start),
                Step::Misfit(misfit) => return Fed::Broken(misfit),
                Step::ElementStart | Step::ElementEnd | Step::TooDeep => {}
            }
        }
    }
}
