//! Objects that Node printed over several lines, which are not JSON but look like it.
//!
//! In: the window at an opening brace. Out: the object, read, to the router; or nothing, and the window as it was. Looks
//! no further than such an object is long, nor over the next line that begins as one.

use super::document::WASTE_ALLOWED;
use super::window::Fill;
use super::{Framer, PLAIN, Position};
use crate::decode::node_repr;

/// Bytes of the beginning that are looked at.
const HEAD: usize = 64;

impl Framer<'_> {
    /// Reads an object of Node's, if one is at the start of the window. False if there is none.
    pub(super) fn inspected(&mut self) -> bool {
        while self.window.data().len() < HEAD && self.window.more() == Fill::More {}
        let is_worth_it = self.wasted <= WASTE_ALLOWED + self.window.offset();
        if !is_worth_it || !begins_inspected(self.window.data()) {
            return false;
        }
        let end = self.inspected_length();
        if end.is_none() && self.is_cut() && self.open.waits_for(self.window.line()) {
            self.window.abandon();
            return true;
        }
        let text = String::from_utf8_lossy(&self.window.data()[..end.unwrap_or_default()]);
        let (Some(length), Some(value)) = (end, node_repr::to_json(&text)) else {
            self.wasted += self.window.data().len().min(node_repr::MAX_LENGTH) as u64;
            return false;
        };
        self.router.end_event(PLAIN);
        let origin = self.origin(Position::Line(self.window.line()));
        self.router.printed(value, &origin);
        self.window.consume(length);
        true
    }

    /// Whether the stream ends before it can be told that an object of Node's does not: no other value begins meanwhile.
    fn is_cut(&mut self) -> bool {
        let is_all = self.window.more() == Fill::End;
        let data = self.window.data();
        is_all && data.len() <= node_repr::MAX_LENGTH && memchr::memmem::find(data, b"\n{").is_none()
    }

    /// Length up to the closing brace that stands alone at the beginning of a line.
    fn inspected_length(&mut self) -> Option<usize> {
        let mut searched = 0;
        loop {
            let data = self.window.data();
            while let Some(at) = memchr::memchr(b'\n', data.get(searched..)?) {
                let next = searched + at + 1;
                match data.get(next) {
                    Some(b'}') => return Some(next + 1),
                    Some(b'{') => return None,
                    Some(_) => searched = next,
                    None => break,
                }
            }
            if searched > node_repr::MAX_LENGTH || data.len() > node_repr::MAX_LENGTH {
                return None;
            }
            if self.window.more() != Fill::More {
                return None;
            }
        }
    }
}

/// A brace alone on its line, and a bare key on the next: JSON's would stand in quotes.
fn begins_inspected(data: &[u8]) -> bool {
    let Some(rest) = data.strip_prefix(b"{\n  ").or_else(|| data.strip_prefix(b"{\r\n  ")) else { return false };
    let key = rest.iter().take(HEAD).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    key > 0 && rest.get(key) == Some(&b':')
}
