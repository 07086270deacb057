//! A sliding window over a stream: one reused buffer that knows its place in lines and bytes.
//!
//! In: a reader. Out: the unread bytes so far. Never grows beyond its cap, and never reads ahead of what is asked for.

use std::io::{self, ErrorKind, Read};

/// Bytes of the buffer at first, and read at most at once.
pub(super) const CHUNK: usize = 256 << 10;

/// What became of a wish for more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    /// There are more now.
    More,
    /// The stream has ended, or failed.
    End,
    /// The window is at its cap: something must be consumed first.
    Full,
}

/// The unread bytes of a stream.
pub(super) struct Window<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    cap: usize,
    /// Absolute position of the first unread byte.
    offset: u64,
    /// One-based line of the first unread byte.
    line: u64,
    ended: bool,
    failure: Option<io::Error>,
}

impl<R: Read> Window<R> {
    /// A window that holds at least `max_bytes` unread bytes before it is full.
    pub(super) fn new(reader: R, max_bytes: usize) -> Self {
        let cap = max_bytes.saturating_add(CHUNK);
        let buffer = vec![0; CHUNK];
        Self { reader, buffer, start: 0, end: 0, cap, offset: 0, line: 1, ended: false, failure: None }
    }

    /// The unread bytes that are here.
    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Absolute position of the first unread byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// One-based line of the first unread byte.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// What broke the stream, if it did not simply end.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Leaves the first `count` unread bytes behind.
    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        let gone = &self.buffer[self.start..self.start + count];
        self.line += memchr::memchr_iter(b'\n', gone).count() as u64;
        self.offset += count as u64;
        self.start += count;
    }

    /// Makes no further byte readable.
    pub(super) fn abandon(&mut self) {
        self.consume(self.end - self.start);
        self.ended = true;
    }

    /// Reads on.
    pub(super) fn more(&mut self) -> Fill {
        if self.ended {
            return Fill::End;
        }
        if !self.make_room() {
            return Fill::Full;
        }
        let room = (self.buffer.len() - self.end).min(CHUNK);
        loop {
            match self.reader.read(&mut self.buffer[self.end..self.end + room]) {
                Ok(0) => break self.ended = true,
                Ok(count) => {
                    self.end += count.min(room);
                    return Fill::More;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    break self.ended = true;
                }
            }
        }
        Fill::End
    }

    fn make_room(&mut self) -> bool {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        if self.end < self.buffer.len() {
            return true;
        }
        // Moving is worth its cost when it frees half of the buffer; else a long record is under way.
        if self.start >= self.buffer.len() / 2 || (self.start > 0 && self.buffer.len() >= self.cap) {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            return true;
        }
        if self.buffer.len() >= self.cap {
            return false;
        }
        let grown = self.buffer.len().saturating_mul(2).min(self.cap);
        // `resize` alone would reserve beyond the cap.
        self.buffer.reserve_exact(grown - self.buffer.len());
        self.buffer.resize(grown, 0);
        true
    }

    /// Bytes that the buffer takes.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_full_at_its_cap_and_goes_on_when_bytes_are_consumed() {
        let mut window = Window::new(io::repeat(b'x'), 1 << 20);
        while window.more() == Fill::More {}
        assert_eq!(window.data().len(), (1 << 20) + CHUNK);
        window.consume(10);
        assert_eq!(window.more(), Fill::More);
        assert!(window.capacity() <= (1 << 20) + CHUNK);
    }

    #[test]
    fn place_is_kept_in_lines_and_bytes() {
        let mut window = Window::new(&b"a\nbc\nd"[..], 100);
        assert_eq!((window.more(), window.more()), (Fill::More, Fill::End));
        window.consume(3);
        assert_eq!((window.line(), window.offset(), window.data()), (2, 3, &b"c\nd"[..]));
        window.consume(99);
        assert_eq!((window.line(), window.offset(), window.data()), (3, 6, &b""[..]));
    }

    #[test]
    fn a_failing_stream_ends_and_tells_why() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let mut window = Window::new(Broken, 100);
        assert_eq!(window.more(), Fill::End);
        assert_eq!(window.take_failure().map(|e| e.to_string()), Some("gone".to_owned()));
    }
}
