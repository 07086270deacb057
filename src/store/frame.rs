//! The bytes of a log segment: a header, then frames.
//!
//! In: payloads, or the bytes of a segment. Out: bytes, or the frames up to the first that is not whole. Knows no facts.
//!
//! ```text
//! segment = magic (8 bytes), format (u32), number (u64), crc (u32), frame*
//! frame   = length of payload (u32), crc (u32), kind (u8), written at (i64, ns), payload
//! ```
//!
//! Numbers are little-endian. A checksum covers all of its header or frame but itself.

use crate::instant::Instant;

/// Version of the format.
pub(super) const FORMAT: u32 = 1;

pub(super) const MAGIC: &[u8; 8] = b"A2ADRIFT";

/// The number that a header states; 0 where there is none.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.get(12..20).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Bytes of a segment's header.
pub(super) const HEADER: usize = 24;

/// Bytes of a frame before its payload.
const FRAME: usize = 17;

/// Longest payload.
pub(super) const MAX_PAYLOAD: usize = 1 << 30;

/// What a segment begins with.
pub(super) fn header(number: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// Adds a frame.
pub(super) fn push(into: &mut Vec<u8>, kind: u8, at: Instant, payload: &[u8]) {
    let length = (payload.len() as u32).to_le_bytes();
    into.extend(length);
    into.extend(checksum(length, kind, at, payload).to_le_bytes());
    into.push(kind);
    into.extend(at.0.to_le_bytes());
    into.extend(payload);
}

fn checksum(length: [u8; 4], kind: u8, at: Instant, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length);
    hasher.update(&[kind]);
    hasher.update(&at.0.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// A frame that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    /// When it was written.
    pub(super) at: Instant,
    pub(super) payload: &'a [u8],
    /// Where it begins in the segment.
    pub(super) offset: usize,
}

impl Frame<'_> {
    /// Where the next one begins.
    pub(super) fn end(&self) -> usize {
        self.offset + FRAME + self.payload.len()
    }
}

/// How a segment begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// As it should.
    Sound,
    /// Of a newer format.
    Newer(u32),
    /// Not as it should: nothing in it can be trusted.
    Broken,
}

/// Reads the header of a segment.
pub(super) fn head(bytes: &[u8], number: u64) -> Head {
    let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else { return Head::Broken };
    let stated = u32::from_le_bytes([header[20], header[21], header[22], header[23]]);
    if !header.starts_with(MAGIC) || crc32fast::hash(&header[..20]) != stated || header[12..20] != number.to_le_bytes()
    {
        return Head::Broken;
    }
    match u32::from_le_bytes([header[8], header[9], header[10], header[11]]) {
        ..=FORMAT => Head::Sound,
        newer => Head::Newer(newer),
    }
}

/// The frames after the header, up to the first that is not whole.
pub(super) fn frames(segment: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    let mut offset = HEADER;
    std::iter::from_fn(move || {
        let frame = frame(segment, offset)?;
        offset = frame.end();
        Some(frame)
    })
}

fn frame(segment: &[u8], offset: usize) -> Option<Frame<'_>> {
    let (fixed, rest) = segment.get(offset..)?.split_first_chunk::<FRAME>()?;
    let [l0, l1, l2, l3, c0, c1, c2, c3, kind, at @ ..] = *fixed;
    let length = [l0, l1, l2, l3];
    let payload = rest.get(..u32::from_le_bytes(length) as usize)?;
    let at = Instant(i64::from_le_bytes(at));
    let is_whole = checksum(length, kind, at, payload) == u32::from_le_bytes([c0, c1, c2, c3]);
    is_whole.then_some(Frame { kind, at, payload, offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> Vec<u8> {
        let mut bytes = header(7);
        push(&mut bytes, 1, Instant(11), b"facts");
        push(&mut bytes, 2, Instant(12), b"");
        bytes
    }

    #[test]
    fn frames_come_back_in_order() {
        let bytes = segment();
        assert_eq!((bytes.len(), head(&bytes, 7)), (24 + 17 + 5 + 17, Head::Sound));
        let found: Vec<_> = frames(&bytes).map(|f| (f.kind, f.at.0, f.payload, f.offset)).collect();
        assert_eq!(found, [(1, 11, &b"facts"[..], 24), (2, 12, b"", 46)]);
    }

    #[test]
    fn any_flipped_bit_ends_the_segment_where_it_is() {
        let sound = segment();
        for bit in 0..sound.len() * 8 {
            let mut bytes = sound.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let expected = match bit / 8 {
                ..24 => {
                    assert_eq!(head(&bytes, 7), Head::Broken, "bit {bit}");
                    continue;
                }
                24..46 => 0,
                _ => 1,
            };
            assert_eq!((head(&bytes, 7), frames(&bytes).count()), (Head::Sound, expected), "bit {bit}");
        }
    }

    #[test]
    fn a_segment_of_a_newer_format_or_under_another_number_is_told() {
        assert_eq!(head(&segment(), 8), Head::Broken);
        let mut newer = header(7);
        newer[8] = 2;
        let crc = crc32fast::hash(&newer[..20]).to_le_bytes();
        newer[20..].copy_from_slice(&crc);
        assert_eq!(head(&newer, 7), Head::Newer(2));
    }
}
