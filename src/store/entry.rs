//! What is kept in the log: facts, pieces, and which pieces are done.
//!
//! In: entries. Out: frames, and the entries of frames. Payloads are compressed: a commit of few facts is mostly the schemas
//! of their tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use arrow::ipc::MetadataVersion;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};

use super::error::StoreError;
use super::frame::{self, MAX_PAYLOAD};
use crate::instant::Instant;
use crate::tables::{Facts, stamped};

const FACTS: u8 = 1;
const PIECE: u8 = 2;
const DONE: u8 = 3;

/// How hard payloads are compressed: the log is read once, if at all.
const LEVEL: i32 = 1;

/// What a payload has after the length of what it holds: the beginning of compressed bytes.
pub(super) const MARK: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Where in a payload that is.
pub(super) const MARK_AT: usize = 4;

/// Kinds of entries.
pub(super) const KINDS: RangeInclusive<u8> = FACTS..=DONE;

/// Something to keep.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// Facts that are final, identities not resolved.
    Facts(&'a Facts),
    /// What is not yet facts, as its owner writes it. One that came before under the same id is replaced.
    Piece {
        /// Its name.
        id: &'a [u8],
        /// Its content.
        bytes: &'a [u8],
    },
    /// Pieces that have become facts (in the log before this), or never will.
    Done(&'a [Vec<u8>]),
}

/// Batches by table, in the order of the log.
pub(super) type Batches = BTreeMap<String, Vec<RecordBatch>>;

/// An entry as it was read.
#[derive(Debug)]
pub(super) enum Kept {
    Facts(Vec<(String, RecordBatch)>),
    Piece(Piece),
    Done(Vec<Vec<u8>>),
}

/// What is not yet facts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// Its name.
    pub id: Vec<u8>,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Adds an entry to the bytes of a segment.
pub(super) fn push(into: &mut Vec<u8>, entry: &Entry<'_>, at: Instant) -> Result<(), StoreError> {
    let (kind, plain) = match entry {
        Entry::Facts(facts) => (FACTS, tables(facts)?),
        Entry::Piece { id, bytes } => {
            let mut plain = Vec::with_capacity(id.len() + bytes.len() + 8);
            push_part(&mut plain, id);
            push_part(&mut plain, bytes);
            (PIECE, plain)
        }
        Entry::Done(ids) => {
            let mut plain = Vec::new();
            ids.iter().for_each(|id| push_part(&mut plain, id));
            (DONE, plain)
        }
    };
    if plain.len() > MAX_PAYLOAD {
        return Err(StoreError::TooLarge { bytes: plain.len() });
    }
    let mut payload = (plain.len() as u32).to_le_bytes().to_vec();
    payload.extend(zstd::bulk::compress(&plain, LEVEL).map_err(ArrowError::from)?);
    frame::push(into, kind, at, &payload);
    Ok(())
}

/// The tables that have rows, each as its name and an Arrow stream.
fn tables(facts: &Facts) -> Result<Vec<u8>, StoreError> {
    let mut plain = Vec::new();
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5)?;
    for (name, batch) in facts.batches()?.iter().filter(|(_, batch)| batch.num_rows() > 0) {
        let batch = stamped(name, batch);
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options.clone())?;
        writer.write(&batch)?;
        push_part(&mut plain, name.as_bytes());
        push_part(&mut plain, &writer.into_inner()?);
    }
    Ok(plain)
}

fn push_part(into: &mut Vec<u8>, part: &[u8]) {
    into.extend((part.len() as u64).to_le_bytes());
    into.extend(part);
}

/// Takes a part off the front.
fn part<'a>(plain: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = plain.split_first_chunk::<8>()?;
    let (part, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *plain = rest;
    Some(part)
}

/// The entry in a frame; `None` when this program cannot have written it.
pub(super) fn read(kind: u8, payload: &[u8]) -> Option<Kept> {
    let (length, packed) = payload.split_first_chunk::<4>()?;
    let length = Some(u32::from_le_bytes(*length) as usize).filter(|length| *length <= MAX_PAYLOAD)?;
    let plain = zstd::bulk::decompress(packed, length).ok().filter(|plain| plain.len() == length)?;
    let mut rest = plain.as_slice();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        parts.push(part(&mut rest)?);
    }
    match (kind, parts.as_slice()) {
        (FACTS, parts) => {
            let mut batches = Vec::new();
            for pair in parts.chunks(2) {
                let [name, stream] = pair else { return None };
                let name = String::from_utf8(name.to_vec()).ok()?;
                for batch in StreamReader::try_new(*stream, None).ok()? {
                    batches.push((name.clone(), batch.ok()?));
                }
            }
            Some(Kept::Facts(batches))
        }
        (PIECE, [id, bytes]) => Some(Kept::Piece(Piece { id: id.to_vec(), bytes: bytes.to_vec() })),
        (DONE, ids) => Some(Kept::Done(ids.iter().map(|id| id.to_vec()).collect())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::CardRow;

    fn kept(entry: &Entry<'_>) -> Kept {
        let mut bytes = frame::header(1);
        push(&mut bytes, entry, Instant(5)).unwrap();
        let frame = frame::frames(&bytes).next().unwrap();
        read(frame.kind, frame.payload).unwrap()
    }

    #[test]
    fn each_kind_of_entry_comes_back_as_it_was() {
        let mut facts = Facts::default();
        facts.push_card(CardRow::default());
        let Kept::Facts(batches) = kept(&Entry::Facts(&facts)) else { panic!() };
        assert_eq!(batches.len(), 1, "tables without rows cost nothing");
        let read = Facts::from_batches(batches.iter().map(|(name, batch)| (name, batch))).unwrap();
        assert_eq!(read.cards, facts.cards);

        let Kept::Piece(piece) = kept(&Entry::Piece { id: b"i", bytes: b"" }) else { panic!() };
        assert_eq!(piece, Piece { id: b"i".to_vec(), bytes: Vec::new() });
        let ids = vec![b"a".to_vec(), Vec::new()];
        assert!(matches!(kept(&Entry::Done(&ids)), Kept::Done(read) if read == ids));
    }

    #[test]
    fn what_no_program_of_ours_wrote_is_no_entry() {
        for (kind, payload) in [(1, &b""[..]), (1, b"\xff\xff\xff\xff"), (1, b"\x04\0\0\0junk"), (9, b"\0\0\0\0")] {
            assert!(read(kind, payload).is_none(), "{kind} {payload:?}");
        }
    }
}
