//! Lines of text, bare or within log carriers, to what they hold.
//!
//! In: lines and pieces of lines, each with the frame around it. Out: records and rejects by way of [`Router`]. Joins only
//! what is of one stream: pieces of a line, server-sent events, JSON values over several lines. What is never completed is
//! read at the end, as far as it came.

use std::collections::VecDeque;

use super::access_log::TextLine;
use super::frame::Frame;
use super::json;
use super::record::{Origin, RejectReason, Sink};
use super::route::{Router, deliver};
use super::scanner::{Misfit, Scanner, Step};
use super::streams::{Fed, OpenJson, Part, Sse, Stream};
use super::wrapper::{self, GoesOn, Payload, Wrapped};
use super::{access_log, resume, text_log, times, trace_export};

/// Bytes that may be looked at in vain for values over several lines, beside a share of those read.
const WASTE_ALLOWED: u64 = 16 << 20;

/// A line that has to be looked at again.
type Again = VecDeque<(String, Origin, Frame<'static>)>;

impl Router<'_> {
    /// Reads a line; false if no format claims it.
    pub(super) fn line(&mut self, text: &str, origin: &Origin, frame: &Frame<'_>) -> bool {
        let mut again = Again::new();
        let is_claimed = self.one_line(text, origin, frame, &mut again);
        while let Some((text, origin, frame)) = again.pop_front() {
            self.one_line(&text, &origin, &frame, &mut again);
        }
        is_claimed
    }

    /// Ends the server-sent event that a stream has open.
    pub(super) fn end_event(&mut self, stream: u64) {
        if let Some(event) = self.streams.end_event(stream) {
            self.event(event);
        }
    }

    /// Reads what is still open and not waited for: the source has ended.
    pub(super) fn end(&mut self) {
        // What is read last may open something again, but no more than it holds.
        while let Some(stream) = self.streams.first_over() {
            self.close(stream);
        }
        self.delivery.end_unread();
    }

    /// Reads what a carrier holds; false if no format claims it.
    pub(super) fn unwrap(&mut self, wrapped: Wrapped, origin: &Origin, outer: &Frame<'_>) -> bool {
        if outer.depth >= super::frame::MOST_NESTED {
            self.reject(origin, RejectReason::TooDeep, "log carriers nested deeper than the limit");
            return true;
        }
        let Wrapped { said, payload } = wrapped;
        let frame = outer.within(said);
        match payload {
            Payload::Value(value) => {
                self.value(value, origin, &frame);
                true
            }
            Payload::Text(text, goes_on) => self.piece(text, goes_on, origin, frame),
        }
    }

    /// A line, or a piece of one.
    fn piece(&mut self, mut text: String, goes_on: GoesOn, origin: &Origin, mut frame: Frame<'static>) -> bool {
        let mut origin = origin.clone();
        let goes_on = match self.streams.take_part(frame.stream) {
            Some(part) if part.given_up => {
                text.clear();
                if goes_on == GoesOn::No {
                    return true;
                }
                self.keep(Part { text, origin, frame, is_sure: true, given_up: true });
                return true;
            }
            Some(part) if !part.is_sure && begins_anew(&part.text, &text) => {
                self.payload(&part.text, &part.origin, &part.frame);
                first_piece(&text, goes_on)
            }
            Some(mut part) => {
                part.text.push_str(&text);
                (text, origin, frame) = (part.text, part.origin, part.frame);
                goes_on
            }
            None => first_piece(&text, goes_on),
        };
        if text.len() > self.streams.most_bytes() {
            self.reject(&origin, RejectReason::TooLarge, "line in pieces, longer than the record limit");
            if goes_on != GoesOn::No {
                self.keep(Part { text: String::new(), origin, frame, is_sure: true, given_up: true });
            }
            return true;
        }
        if goes_on == GoesOn::No {
            return self.payload(&text, &origin, &frame);
        }
        self.keep(Part { text, origin, frame, is_sure: goes_on == GoesOn::Yes, given_up: false });
        true
    }

    fn keep(&mut self, part: Part) {
        self.streams.with(part.frame.stream, |open| open.part = Some(part));
        self.close_surplus();
    }

    fn close_surplus(&mut self) {
        // What is closed may open something again: that waits.
        if self.streams.closing {
            return;
        }
        self.streams.closing = true;
        while let Some(stream) = self.streams.surplus() {
            self.close(stream);
        }
        self.streams.closing = false;
    }

    /// Reads what a stream has open, as far as it came.
    fn close(&mut self, stream: Stream) {
        let Stream { part, mut sse, json, .. } = stream;
        if let Some(event) = sse.end() {
            self.event(event);
        }
        if let Some(open) = json {
            self.cut(&open);
            // No more than one line each: what opens again would come to this again.
            for (text, origin, frame) in open.rest() {
                self.line_alone(&text, &origin, &frame);
            }
        }
        if let Some(part) = part.filter(|part| !part.given_up) {
            self.payload(&part.text, &part.origin, &part.frame);
        }
    }

    /// Text of one log record, which may be of several lines; false if no format claims any of it.
    fn payload(&mut self, text: &str, origin: &Origin, frame: &Frame<'_>) -> bool {
        let whole = text.trim();
        if whole.contains('\n')
            && json::begins(whole.as_bytes()) == Some(true)
            && !self.streams.is_open(frame.stream)
            && let Ok(parsed) = json::parse(whole.as_bytes(), self.limits.max_depth)
        {
            self.parsed(parsed, origin, frame);
            return true;
        }
        if whole.is_empty() {
            return self.line("", origin, frame);
        }
        // Lambda's Node runtime writes a carriage return for a line end within a record.
        let separator = if text.contains('\n') { '\n' } else { '\r' };
        let mut is_claimed = false;
        for line in text.strip_suffix(separator).unwrap_or(text).split(separator) {
            is_claimed |= self.line(line, origin, frame);
        }
        is_claimed
    }

    fn one_line(&mut self, text: &str, origin: &Origin, frame: &Frame<'_>, again: &mut Again) -> bool {
        self.passed = self.passed.saturating_add(text.len() as u64 + 1);
        let trimmed = text.trim();
        if trimmed.is_empty() {
            self.end_event(frame.stream);
            return true;
        }
        if let Some(open) = self.streams.take_json(frame.stream) {
            self.go_on(open, text.trim_end(), origin, frame, again);
            return true;
        }
        if json::begins(trimmed.as_bytes()) != Some(false) {
            self.end_event(frame.stream);
            self.values(trimmed, origin, frame, again);
            return true;
        }
        self.text(text, origin, frame)
    }

    /// A line that is known not to be joined with others.
    fn line_alone(&mut self, text: &str, origin: &Origin, frame: &Frame<'_>) {
        let trimmed = text.trim();
        if json::begins(trimmed.as_bytes()) == Some(false) {
            self.text(text, origin, frame);
        } else if !trimmed.is_empty() {
            match json::parse(trimmed.as_bytes(), self.limits.max_depth) {
                Ok(parsed) => self.parsed(parsed, origin, frame),
                Err(fault) => self.fault(origin, fault),
            }
        }
    }

    /// Text that is no JSON.
    fn text(&mut self, text: &str, origin: &Origin, frame: &Frame<'_>) -> bool {
        if let Some(wrapped) = wrapper::cri(text) {
            self.delivery.recognised(&origin.source, "cri");
            self.unwrap(wrapped, origin, frame);
            return true;
        }
        let text = text.trim_end();
        if self.streams.is_open(frame.stream) || Sse::begins(text) {
            let most = self.streams.most_bytes();
            if self.streams.with(frame.stream, |open| open.sse.takes(text, origin, frame, most)) {
                self.delivery.end_unread();
                self.close_surplus();
                return true;
            }
            self.end_event(frame.stream);
        }
        if text_log::decode(text, frame.at, origin, &mut self.delivery.within(frame)) {
            return true;
        }
        if let Some(TextLine { record, format, has_bad_time }) = access_log::of_text(text, origin, frame) {
            if has_bad_time {
                times::note_bad("time of the line", None, origin, &mut self.delivery);
            }
            deliver(record, format, &mut self.delivery.within(frame));
            return true;
        }
        if let Some((format, wrapped)) = wrapper::line(text).filter(|_| frame.depth < super::frame::MOST_NESTED) {
            // Many logs begin their lines with a time: what is behind it says whether that is a carrier.
            let is_claimed = self.unwrap(wrapped, origin, frame);
            if is_claimed {
                self.delivery.recognised(&origin.source, format);
            }
            return is_claimed;
        }
        self.advise(text, origin);
        self.delivery.unread(RejectReason::UnknownText, origin);
        false
    }

    /// Says once what to do about a format of text that is not read.
    fn advise(&mut self, text: &str, origin: &Origin) {
        let Some(advice) = trace_export::advice(text).filter(|advice| self.advised != Some(*advice)) else { return };
        self.advised = Some(advice);
        self.reject(origin, RejectReason::NeedsConversion, advice);
    }

    /// One or more JSON values on one line, of which the last may go on over the next.
    fn values(&mut self, line: &str, origin: &Origin, frame: &Frame<'_>, again: &mut Again) {
        if let Ok(parsed) = json::parse(without_comma(line).as_bytes(), self.limits.max_depth) {
            return self.parsed(parsed, origin, frame);
        }
        let mut rest = line;
        while !rest.is_empty() && json::begins(rest.as_bytes()) != Some(false) {
            let Some(end) = end_of_value(rest, self.limits.max_depth) else {
                return self.go_on(OpenJson::new(self.limits), rest, origin, frame, again);
            };
            self.whole(&rest[..end], origin, frame);
            rest = rest[end..].trim_start_matches([' ', '\t', ',']);
        }
        if !rest.is_empty() {
            self.text(rest, origin, frame);
        }
    }

    fn whole(&mut self, value: &str, origin: &Origin, frame: &Frame<'_>) {
        match json::parse(value.as_bytes(), self.limits.max_depth) {
            Ok(parsed) => self.parsed(parsed, origin, frame),
            Err(fault) => self.fault(origin, fault),
        }
    }

    /// A value over several lines, and the next of them.
    fn go_on(&mut self, mut open: OpenJson, line: &str, origin: &Origin, frame: &Frame<'_>, again: &mut Again) {
        let fed = open.feed(line, origin, frame, self.streams.most_bytes());
        let Some((first, around)) = open.first().map(|line| (line.origin.clone(), line.frame.clone())) else { return };
        match fed {
            Fed::Open if self.wasted > WASTE_ALLOWED + self.passed => {
                self.cut(&open);
                again.extend(open.rest());
            }
            Fed::Open => {
                self.streams.with(frame.stream, |stream| stream.json = Some(open));
                self.close_surplus();
            }
            Fed::Whole(end) => {
                let value = open.text().len() - 1 - line.len() + end;
                self.whole(&open.text()[..value], &first, &around);
                let rest = line[end..].trim_start_matches([' ', '\t', ',']);
                if !rest.is_empty() {
                    again.push_front((rest.to_owned(), origin.clone(), frame.kept()));
                }
            }
            Fed::Broken(misfit) => {
                let is_worth_it = self.wasted <= WASTE_ALLOWED + self.passed;
                self.wasted = self.wasted.saturating_add(open.text().len() as u64);
                let next =
                    (is_worth_it && open.is_one_line()).then(|| resume::next_value(line.as_bytes(), self.limits));
                let next = next.flatten().and_then(|at| line.get(at..));
                self.broken(&open, misfit, next.is_some());
                if let Some(next) = next {
                    return again.push_front((next.to_owned(), origin.clone(), frame.kept()));
                }
                open.rest().into_iter().rev().for_each(|line| again.push_front(line));
            }
            Fed::TooLarge => {
                self.reject(&first, RejectReason::TooLarge, "JSON value over several lines, beyond the limit");
            }
        }
    }

    /// The value does not go on: its first line is lost, unless the line goes on with another value.
    fn broken(&mut self, open: &OpenJson, misfit: Misfit, goes_on: bool) {
        let Some((origin, frame)) = open.first().map(|line| (line.origin.clone(), line.frame.clone())) else { return };
        let first = open.text().lines().next().unwrap_or_default().trim();
        match misfit {
            // A bracket alone is as good as no JSON: programs print objects of their own.
            _ if matches!(first, "{" | "[") => drop(self.text(first, &origin, &frame)),
            Misfit::LineCut => self.reject(&origin, RejectReason::Truncated, "line ends inside a JSON value"),
            Misfit::Unexpected if goes_on => self.reject(&origin, RejectReason::BadJson, "not JSON"),
            Misfit::Unexpected if open.is_one_line() => {
                let passed = open.text().trim_end().len();
                let detail = format!("not JSON; {passed} bytes to the end of the line were passed over");
                self.reject(&origin, RejectReason::BadJson, &detail);
            }
            Misfit::Unexpected => {
                self.reject(&origin, RejectReason::Truncated, "JSON value is not continued on the next line");
            }
        }
    }

    fn cut(&mut self, open: &OpenJson) {
        if let Some(line) = open.first() {
            self.reject(&line.origin, RejectReason::Truncated, "ends inside a JSON value");
        }
    }
}

/// Values between commas on lines of their own.
fn without_comma(line: &str) -> &str {
    line.strip_suffix(',').unwrap_or(line)
}

/// Where the value at the beginning of a line ends; none if it does not.
fn end_of_value(line: &str, max_depth: usize) -> Option<usize> {
    let (mut scanner, mut at) = (Scanner::new(max_depth, true), 0);
    loop {
        match scanner.next(line.as_bytes(), &mut at) {
            Step::End => return Some(at),
            Step::More | Step::Misfit(_) => return None,
            Step::ElementStart | Step::ElementEnd | Step::TooDeep => {}
        }
    }
}

/// Whether a piece without one before it goes on.
fn first_piece(text: &str, goes_on: GoesOn) -> GoesOn {
    if goes_on == GoesOn::Perhaps && !is_open_bracket(text) { GoesOn::No } else { goes_on }
}

/// Whether text looks like the beginning of a JSON value that it does not end.
fn is_open_bracket(text: &str) -> bool {
    let text = text.trim();
    json::begins(text.as_bytes()) != Some(false) && !text.ends_with(['}', ']'])
}

/// Whether a text is a line of its own rather than the next piece of a line.
fn begins_anew(part: &str, text: &str) -> bool {
    let is_value = json::begins(text.trim_start().as_bytes()) == Some(true);
    let ends = part.trim_end().ends_with(['}', ']']) && !is_open_bracket(part);
    (is_value && ends) || text_log::is_one(text) || access_log::is_one(text)
}

#[cfg(test)]
mod tests;
