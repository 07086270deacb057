//! A page of text being filled: indentation, labels, wrapping, gaps.
//!
//! In: pieces of text that are safe to print. Out: lines no longer than the page is wide, but for single words that are: an
//! id or a path is never broken, so that it can be copied.

use anstyle::Style;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, wrap};

/// Below this a page is not worth wrapping.
const NARROWEST: usize = 40;
/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 160;

/// A page being filled.
pub(crate) struct Page {
    width: usize,
    text: String,
}

impl Page {
    pub(crate) fn new(width: usize) -> Self {
        Self { width: width.clamp(NARROWEST, WIDEST), text: String::new() }
    }

    /// An empty line, unless there is one.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// A paragraph, flush.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str) {
        self.wrapped(&" ".repeat(indent), &" ".repeat(indent), text);
    }

    /// An entry of a list, continued two further in.
    pub(crate) fn text(&mut self, indent: usize, text: &str) {
        self.wrapped(&" ".repeat(indent), &" ".repeat(indent + 2), text);
    }

    /// An entry behind a marker such as `-` or `2.`, continued under its own text.
    pub(crate) fn entry(&mut self, indent: usize, marker: &str, text: &str) {
        let first = format!("{}{marker} ", " ".repeat(indent));
        self.wrapped(&first, &" ".repeat(first.len()), text);
    }

    /// Lines as they are, however long.
    pub(crate) fn verbatim(&mut self, indent: usize, text: &str) {
        for line in text.lines() {
            let line = format!("{}{line}", " ".repeat(indent));
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// A word in a style of its own and text after it, continued two further in.
    pub(crate) fn item(&mut self, indent: usize, style: Style, word: &str, text: &str) {
        let painted = if word.is_empty() {
            format!("{style}{text}{style:#}")
        } else if text.is_empty() {
            format!("{style}{word}{style:#}")
        } else {
            format!("{style}{word}{style:#}  {text}")
        };
        self.wrapped(&" ".repeat(indent), &" ".repeat(indent + 2), &painted);
    }

    /// Text behind a label in a column of its own, continued in its own column.
    pub(crate) fn labelled(&mut self, indent: usize, label_width: usize, style: Style, label: &str, text: &str) {
        let padding = " ".repeat(label_width.saturating_sub(display_width(label)) + 2);
        let first = format!("{}{style}{label}{style:#}{padding}", " ".repeat(indent));
        self.wrapped(&first, &" ".repeat(indent + label_width + 2), text);
    }

    /// Text behind columns that are `width` wide, continued in its own column.
    pub(crate) fn behind(&mut self, columns: &str, width: usize, text: &str) {
        self.wrapped(&format!("{columns}  "), &" ".repeat(width), text);
    }

    /// The page as text that ends with a line break.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn wrapped(&mut self, first: &str, rest: &str, text: &str) {
        let options = Options::new(self.width)
            .initial_indent(first)
            .subsequent_indent(rest)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation);
        for line in wrap(text, options) {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_the_page_and_ids_are_never_broken() {
        let id = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-and-longer-than-the-page";
        let mut page = Page::new(40);
        page.labelled(4, 8, Style::new(), "next", &format!("read the task {id} again and compare what it says"));
        let text = page.finish();
        let (long, short): (Vec<_>, Vec<_>) = text.lines().partition(|line| display_width(line) > 40);
        assert_eq!(long, [format!("{}{id}", " ".repeat(14))]);
        assert!(short.len() > 1 && short[1..].iter().all(|line| line.starts_with(&" ".repeat(14))), "{text}");
    }

    #[test]
    fn colours_take_no_room() {
        let mut plain = Page::new(40);
        let mut coloured = Page::new(40);
        let text = "eight words that fill more than one line";
        plain.item(0, Style::new(), "WORD", text);
        coloured.item(0, Style::new().bold(), "WORD", text);
        assert_eq!(anstream::adapter::strip_str(&coloured.finish()).to_string(), plain.finish());
    }
}
