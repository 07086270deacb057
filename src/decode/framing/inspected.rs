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

/// Where an object ends, from the start of the window.
enum End {
    At(usize),
    /// Nowhere in so many bytes.
    Nowhere(usize),
    /// Not in what there is of the stream.
    Later,
}

impl Framer<'_> {
    /// Reads an object of Node's, if one is at the start of the window. False if there is none.
    pub(super) fn inspected(&mut self) -> bool {
        while self.window.data().len() < HEAD && self.window.more() == Fill::More {}
        let is_worth_it = self.wasted <= WASTE_ALLOWED + self.window.offset();
        if !is_worth_it || !begins_inspected(self.window.data()) {
            return false;
        }
        let (length, looked_at) = match self.inspected_end() {
            End::Later if self.open.waits_for(self.window.line()) => {
                self.window.abandon();
                return true;
            }
            End::Later => (0, self.window.data().len()),
            End::Nowhere(looked_at) => (0, looked_at),
            End::At(length) => (length, length),
        };
        let text = String::from_utf8_lossy(&self.window.data()[..length]);
        let Some(value) = node_repr::to_json(&text) else {
            // Programs print many objects that are none of these: only what was looked at for them counts.
            self.wasted += looked_at as u64;
            return false;
        };
        self.router.end_event(PLAIN);
        let origin = self.origin(Position::Line(self.window.line()));
        self.router.printed(value, &origin);
        self.window.consume(length);
        true
    }

    /// The closing brace that stands alone at the beginning of a line.
    fn inspected_end(&mut self) -> End {
        let mut searched = 0;
        loop {
            let data = self.window.data();
            while let Some(at) = memchr::memchr(b'\n', data.get(searched..).unwrap_or_default()) {
                let next = searched + at + 1;
                match data.get(next) {
                    Some(b'}') => return End::At(next + 1),
                    Some(b'{') => return End::Nowhere(next),
                    Some(_) => searched = next,
                    None => break,
                }
            }
            if searched > node_repr::MAX_LENGTH || data.len() > node_repr::MAX_LENGTH {
                return End::Nowhere(data.len());
            }
            match self.window.more() {
                Fill::More => {}
                Fill::End => return End::Later,
                Fill::Full => return End::Nowhere(self.window.data().len()),
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
