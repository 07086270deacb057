//! Where a segment goes on behind damage.
//!
//! In: the bytes of a segment, and where a frame should begin and none is whole. Out: where the next whole frame begins. Reads
//! no entry, and takes time in proportion to the bytes, whatever they are.
//!
//! A frame is found in two ways:
//! - By the length that the damaged one states. If a whole frame begins there, or the segment ends, the length was
//!   spared: what lies between is the payload, and nothing in it is taken for a frame.
//! - Else by the mark that every payload begins with. What is found has that mark, a known kind, and a checksum over all of it
//!   that holds: 64 bits that no damage makes by chance.

use memchr::memmem;

use super::entry::{KINDS, MARK, MARK_AT};
use super::frame::{self, FRAME};

/// Bytes of a frame up to the mark of its payload.
const TO_MARK: usize = FRAME + MARK_AT;

/// Where the kind of a frame stands in it.
const KIND: usize = 8;

/// How many times its own bytes are checked to find frames in a segment: damage that looks like many beginnings is given up.
const MOST_CHECKED: usize = 32;

/// Looks for frames in a segment.
#[derive(Debug)]
pub(super) struct Resync<'a> {
    segment: &'a [u8],
    /// Bytes that may still be checked.
    left: usize,
}

impl<'a> Resync<'a> {
    pub(super) fn new(segment: &'a [u8]) -> Self {
        Self { segment, left: segment.len().saturating_mul(MOST_CHECKED) }
    }

    /// Where the next whole frame begins behind one that is not, or the segment ends.
    pub(super) fn after(&mut self, damaged: usize) -> usize {
        let end = self.segment.len();
        if let Some(stated) = self.end_of(damaged).filter(|stated| *stated == end || self.is_whole(*stated)) {
            return stated;
        }
        let from = damaged.saturating_add(1 + TO_MARK);
        let rest = self.segment.get(from..).unwrap_or_default();
        memmem::find_iter(rest, &MARK).map(|at| at + from - TO_MARK).find(|begin| self.is_whole(*begin)).unwrap_or(end)
    }

    /// Where the frame ends that begins somewhere, by what it states; `None` where that is beyond the segment.
    fn end_of(&self, begin: usize) -> Option<usize> {
        let length = self.segment.get(begin..)?.first_chunk::<4>()?;
        let end = begin.checked_add(FRAME)?.checked_add(u32::from_le_bytes(*length) as usize)?;
        (end <= self.segment.len()).then_some(end)
    }

    fn is_whole(&mut self, begin: usize) -> bool {
        let is_known = self.segment.get(begin + KIND).is_some_and(|kind| KINDS.contains(kind));
        let Some(end) = self.end_of(begin).filter(|_| is_known) else { return false };
        let Some(left) = self.left.checked_sub(end - begin) else { return false };
        self.left = left;
        frame::frame(self.segment, begin).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::Instant;

    /// A frame with a payload such as entries have.
    fn frame(length: usize) -> Vec<u8> {
        let mut payload = [&[0; MARK_AT][..], &MARK].concat();
        payload.resize(length.max(payload.len()), 7);
        let mut bytes = Vec::new();
        frame::push(&mut bytes, 2, Instant(1), &payload);
        bytes
    }

    #[test]
    fn what_looks_like_beginnings_without_end_is_given_up_in_time() {
        // Beginnings of frames, each stating that it goes on to the end.
        let most: usize = 4 << 20;
        let mut bytes = vec![0xff; 40];
        while bytes.len() < most {
            bytes.extend(((most - bytes.len()) as u32).to_le_bytes());
            bytes.extend([0, 0, 0, 0, 2]);
            bytes.extend([0; 12]);
            bytes.extend(MARK);
        }
        bytes.resize(most * 2, 0);
        let began = std::time::Instant::now();
        let mut resync = Resync::new(&bytes);
        assert_eq!(resync.after(0), bytes.len());
        assert!(resync.left < most, "it tried");
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }

    #[test]
    fn the_next_whole_frame_is_found_behind_rubbish_of_any_length() {
        for rubbish in [1, 16, 17, 21, 22, 100] {
            let mut bytes = vec![0xee; rubbish];
            bytes.extend(frame(30));
            assert_eq!(Resync::new(&bytes).after(0), rubbish);
            bytes.truncate(rubbish + 20);
            assert_eq!(Resync::new(&bytes).after(0), bytes.len());
        }
        assert_eq!(Resync::new(&[]).after(0), 0);
    }
    #[test]
    fn what_looks_like_a_frame_within_a_payload_is_none_while_the_length_of_that_was_spared() {
        let mut payload = [&[0; MARK_AT][..], &MARK].concat();
        payload.extend(frame(40));
        payload.extend([9; 10]);
        let mut sound = Vec::new();
        frame::push(&mut sound, 1, Instant(1), &payload);
        let outer = sound.len();
        sound.extend(frame(20));
        for at in 4..outer {
            let mut bytes = sound.clone();
            bytes[at] ^= 1;
            assert_eq!(Resync::new(&bytes).after(0), outer, "{at}");
            // Also where it is the last.
            bytes.truncate(outer);
            assert_eq!(Resync::new(&bytes).after(0), outer, "{at}");
        }
    }
}
