//! JSON that is more than a short line: documents over many lines, lists, and captures on one line.
//!
//! In: the window at an opening bracket. Out: the elements of known containers one by one, else the value as a whole.
//! A document that does not go on as JSON costs its first line only, unless elements of it were already accepted.

use super::window::Fill;
use super::{Framer, SHORT_LINE, json};
use crate::decode::frame::Frame;
use crate::decode::record::{Origin, Position, RejectReason};
use crate::decode::scanner::{Container, Misfit, Scanner, Step};
use crate::decode::{resume, trace_export, wrapper};

/// Bytes that may be scanned in vain before lines are taken alone, beside a share of those read.
pub(super) const WASTE_ALLOWED: u64 = 16 << 20;

/// The scan of one document.
struct Scan {
    scanner: Scanner,
    /// Next byte to look at, from the start of the window.
    at: usize,
    line: u64,
    element: Option<Element>,
    /// Elements of a HAR that began.
    entries: u64,
    /// Elements were delivered: the document is one.
    accepted: bool,
    /// The start has been consumed: there is no way back.
    forgotten: bool,
    /// Nested too deep, or longer than the limit: it is only followed to its end.
    given_up: Option<RejectReason>,
    /// What stands before the elements: of a log store's answer, it says where they were written.
    head: wrapper::Head,
}

/// An element under way.
struct Element {
    /// First byte, from the start of the window.
    start: usize,
    position: Position,
    given_up: Option<RejectReason>,
}

impl Scan {
    /// Where the fault of an unfinished document is to be looked for.
    fn blame(&self) -> (Position, Option<RejectReason>) {
        match &self.element {
            Some(element) if self.accepted => (element.position, element.given_up.or(self.given_up)),
            Some(element) => (Position::Line(self.line), element.given_up.or(self.given_up)),
            None => (Position::Line(self.line), self.given_up),
        }
    }
}

impl Framer<'_> {
    /// Reads the value at the start of the window, whatever its size.
    pub(super) fn document(&mut self) {
        let single_line = self.wasted > WASTE_ALLOWED + self.window.offset();
        let mut scan = Scan {
            scanner: Scanner::new(self.limits.max_depth, single_line),
            at: 0,
            line: self.window.line(),
            element: None,
            entries: 0,
            accepted: false,
            forgotten: false,
            given_up: None,
            head: wrapper::Head::default(),
        };
        loop {
            let step = scan.scanner.next(self.window.data(), &mut scan.at);
            match step {
                Step::More => {
                    self.forget(&mut scan);
                    if self.window.more() != Fill::More {
                        return self.document_cut(scan);
                    }
                }
                Step::ElementStart => {
                    self.head(&mut scan);
                    let mut position = self.position(&scan);
                    if scan.scanner.container() == Some(Container::HarEntries) {
                        position = position.entry(scan.entries);
                        scan.entries += 1;
                    }
                    scan.element = Some(Element { start: scan.at, position, given_up: None });
                }
                Step::ElementEnd => self.element(&mut scan),
                Step::TooDeep => match &mut scan.element {
                    Some(element) => element.given_up = element.given_up.or(Some(RejectReason::TooDeep)),
                    None => scan.given_up = scan.given_up.or(Some(RejectReason::TooDeep)),
                },
                Step::End => return self.document_end(&scan),
                Step::Misfit(misfit) => return self.document_broken(scan, misfit),
            }
        }
    }

    /// A line where there are lines; a byte where the document is all on the first.
    fn position(&self, scan: &Scan) -> Position {
        match scan.line + scan.scanner.lines() {
            1 => Position::Byte(self.window.offset() + scan.at as u64),
            line => Position::Line(line),
        }
    }

    /// Consumes what nobody needs any more, and gives up what has grown too long.
    fn forget(&mut self, scan: &mut Scan) {
        let limit = self.limits.max_record_bytes;
        let full = scan.at > limit;
        let needed_from = match &mut scan.element {
            Some(element) => {
                if scan.at - element.start > limit {
                    element.given_up.get_or_insert(RejectReason::TooLarge);
                }
                if element.given_up.is_some() { scan.at } else { element.start }
            }
            None => {
                if full && !scan.accepted {
                    scan.given_up.get_or_insert(RejectReason::TooLarge);
                    if scan.scanner.lines() == 0 {
                        scan.scanner.end_with_line();
                    }
                }
                scan.at
            }
        };
        if !full && !scan.accepted {
            // Not sure yet that this is a document: its lines may be wanted again.
            return;
        }
        self.window.consume(needed_from);
        scan.forgotten = true;
        scan.at -= needed_from;
        if let Some(element) = &mut scan.element {
            element.start = element.start.saturating_sub(needed_from);
        }
    }

    /// Reads what stands before the first element, if anything there matters.
    fn head(&mut self, scan: &mut Scan) {
        const LONGEST: usize = 64 << 10;
        let Some(container) = scan.scanner.container() else { return };
        let start = match (&scan.element, container) {
            // The lines of a stream: its labels stand before them.
            (Some(stream), Container::LokiValues) => stream.start,
            (_, Container::LogEvents) if !scan.accepted && !scan.forgotten => 0,
            _ => return,
        };
        let bytes = self.window.data().get(start..scan.at).filter(|bytes| bytes.len() <= LONGEST);
        let mut head = bytes.unwrap_or_default().to_vec();
        let closing = scan.scanner.closing();
        // Of a stream, only what it opened itself is to be closed.
        let opened = if start == 0 { closing.len() } else { 2 };
        head.extend_from_slice(&closing.as_bytes()[..opened.min(closing.len())]);
        let document = json::parse(&head, self.limits.max_depth).map(|parsed| parsed.value).unwrap_or_default();
        scan.head = wrapper::Head::of(container, document);
    }

    /// Delivers the element that ends at the scan's place.
    fn element(&mut self, scan: &mut Scan) {
        let Some(element) = scan.element.take() else { return };
        let origin = self.origin(element.position);
        if scan.scanner.is_doubtful() && element.given_up.is_some() {
            return disown(scan);
        }
        if let Some(reason) = element.given_up {
            scan.accepted = true;
            return self.router.reject(&origin, reason, "element of a list, beyond the limit");
        }
        let container = scan.scanner.container().unwrap_or(Container::Array);
        let bytes = &self.window.data()[element.start..scan.at];
        let parsed = json::parse(bytes, self.limits.max_depth);
        if scan.scanner.is_doubtful() {
            let is_element =
                |value| wrapper::is_element(container, value) || trace_export::is_element(container, value);
            if !parsed.as_ref().is_ok_and(|parsed| is_element(&parsed.value)) {
                return disown(scan);
            }
            scan.scanner.own();
        }
        scan.accepted = true;
        match parsed {
            Ok(parsed) => self.router.element(parsed, container, &scan.head, &origin),
            Err(fault) => self.router.fault(&origin, fault),
        }
    }

    fn document_end(&mut self, scan: &Scan) {
        let origin = self.origin(Position::Line(scan.line));
        if let Some(reason) = scan.given_up {
            self.router.reject(&origin, reason, "JSON value beyond the limit");
        } else if scan.scanner.has_seen_container() {
            // Its elements have been delivered.
        } else {
            match json::parse(&self.window.data()[..scan.at], self.limits.max_depth) {
                Ok(parsed) => self.router.parsed(parsed, &origin, &Frame::default()),
                Err(fault) => self.router.fault(&origin, fault),
            }
        }
        self.window.consume(scan.at);
    }

    /// The stream ends inside the document.
    fn document_cut(&mut self, mut scan: Scan) {
        if self.open.waits_for(scan.line) {
            return self.window.abandon();
        }
        if scan.scanner.holds_whole_element() {
            self.element(&mut scan);
        }
        let (position, given_up) = scan.blame();
        let origin = self.origin(position);
        self.router.reject(&origin, given_up.unwrap_or(RejectReason::Truncated), "ends inside a JSON value");
        let second =
            (!scan.accepted && !scan.forgotten && given_up.is_none()).then(|| self.whole_line_behind(0)).flatten();
        let second = second.or_else(|| self.line_within(&scan));
        self.window.consume(second.unwrap_or(usize::MAX));
    }

    /// Something stands where it cannot.
    fn document_broken(&mut self, mut scan: Scan, misfit: Misfit) {
        if (scan.accepted || scan.forgotten) && scan.scanner.holds_whole_element() {
            self.element(&mut scan);
        }
        let (position, given_up) = scan.blame();
        let origin = self.origin(position);
        let (reason, detail) = match (given_up, misfit) {
            (Some(reason), _) => (reason, "JSON value beyond the limit"),
            (None, Misfit::LineCut) => (RejectReason::Truncated, "line ends inside a JSON value"),
            (None, Misfit::Unexpected) if scan.scanner.lines() > 0 && scan.scanner.at_line_start() => {
                (RejectReason::Truncated, "JSON value is not continued on the next line")
            }
            (None, Misfit::Unexpected) => (RejectReason::BadJson, "not JSON"),
        };
        if !scan.accepted && !scan.forgotten {
            // Only the first line is lost: the next ones are looked at on their own.
            self.wasted += if scan.scanner.lines() > 0 { scan.at as u64 } else { 0 };
            return self.rest_of_line(&origin, reason, detail);
        }
        self.router.reject(&origin, reason, detail);
        if let Some(next) = self.line_within(&scan) {
            return self.window.consume(next);
        }
        self.window.consume(scan.at);
        if !scan.scanner.at_line_start() {
            self.skip_line();
        }
    }

    /// Leaves a broken value behind: up to the next on the line, if it is safe to go on there, else with its line.
    fn rest_of_line(&mut self, origin: &Origin, reason: RejectReason, detail: &str) {
        let is_worth_it = self.wasted <= WASTE_ALLOWED + self.window.offset();
        let line = if is_worth_it { self.line_length(SHORT_LINE.min(self.limits.max_record_bytes)) } else { None };
        let next = line.and_then(|length| resume::next_value(&self.window.data()[..length], self.limits));
        if let (Some(next), Some(length)) = (next, line) {
            self.wasted += length as u64;
            self.router.reject(origin, reason, detail);
            return self.window.consume(next);
        }
        let passed = self.skip_line();
        let detail = match reason {
            RejectReason::BadJson => format!("{detail}; {passed} bytes to the end of the line were passed over"),
            _ => detail.to_owned(),
        };
        self.router.reject(origin, reason, &detail);
    }

    /// Start of the second line of the element that is broken, if that is a value of its own: then the element was cut short with
    /// its line, and the next lines are none of it.
    fn line_within(&mut self, scan: &Scan) -> Option<usize> {
        let is_worth_it = self.wasted <= WASTE_ALLOWED + self.window.offset();
        let element = scan.element.as_ref().filter(|element| is_worth_it && element.given_up.is_none())?;
        let next = self.whole_line_behind(element.start).filter(|next| *next <= scan.at)?;
        self.wasted += (scan.at - next) as u64;
        Some(next)
    }

    /// Start of the line behind a place, if that is a JSON value of its own: then what stands there was cut short with its line,
    /// and is no document.
    fn whole_line_behind(&self, place: usize) -> Option<usize> {
        let data = self.window.data();
        let start = place + memchr::memchr(b'\n', data.get(place..)?)? + 1;
        let line = data.get(start..)?;
        let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        json::parse(line, self.limits.max_depth).is_ok_and(|p| p.value.is_object()).then_some(start)
    }
}

/// The list is none of records: the document is one value, if its beginning is still there.
fn disown(scan: &mut Scan) {
    scan.scanner.disown();
    if scan.forgotten {
        scan.given_up.get_or_insert(RejectReason::TooLarge);
    }
}
