//! Compressed bodies to plain ones, under a limit and away from the threads that serve sockets.
//!
//! In: a body as sent and what it is compressed with. Out: the plain bytes. Memory is the plain bytes and one window, as
//! many at once as the machine has processors; never inflates on past a limit.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use tokio::sync::Semaphore;

use super::budget::Held;
use super::media::Compression;
use super::refusal::{Reason, Refusal};
use crate::receive::inflate::{InflateFault, Inflated};

/// Longest back reference of a zstd frame, as a power of two: 8 MiB, which RFC 9659 sets for HTTP.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Bytes that are inflated between two looks at the budget.
const STEP: usize = 64 << 10;

/// Undoes the compression of bodies.
#[derive(Debug)]
pub(super) struct Unpacker {
    /// Each decoder has a window of memory that no budget counts.
    at_once: Arc<Semaphore>,
    limit: usize,
}

impl Unpacker {
    /// One that refuses what inflates to more than `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { at_once: Arc::new(Semaphore::new(processors)), limit }
    }

    /// The plain bytes of a body, and the part of the budget that they take in place of the body's own.
    pub(super) async fn unpack(
        &self,
        packed: Bytes,
        held: Held,
        plain: Held,
        compression: Compression,
    ) -> Result<(Bytes, Held), Refusal> {
        if compression == Compression::Identity {
            return if packed.len() > self.limit { Err(Refusal::new(Reason::TooLarge)) } else { Ok((packed, held)) };
        }
        let Ok(permit) = Arc::clone(&self.at_once).acquire_owned().await else {
            return Err(Refusal::new(Reason::Closing));
        };
        let limit = self.limit;
        let work = tokio::task::spawn_blocking(move || {
            let result = inflate(&packed, compression, limit, plain);
            drop((packed, held, permit));
            result
        });
        work.await.unwrap_or_else(|_| Err(Refusal::new(Reason::Closing)))
    }
}

fn inflate(packed: &[u8], compression: Compression, limit: usize, mut held: Held) -> Result<(Bytes, Held), Refusal> {
    let mut stream = decoder(packed, compression, limit as u64).map_err(|error| refusal(&error))?;
    let mut plain = Vec::new();
    loop {
        let count = stream.by_ref().take(STEP as u64).read_to_end(&mut plain).map_err(|error| refusal(&error))?;
        if plain.len() > limit {
            return Err(Refusal::new(Reason::TooLarge));
        }
        if !held.grow(count) {
            return Err(Refusal::new(Reason::NoMemory));
        }
        if count < STEP {
            return Ok((Bytes::from(plain), held));
        }
    }
}

fn decoder(packed: &[u8], compression: Compression, limit: u64) -> io::Result<Box<dyn Read + '_>> {
    Ok(match compression {
        Compression::Identity => Box::new(packed),
        Compression::Gzip => Box::new(Inflated::new("gzip", MultiGzDecoder::new(packed), limit)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(Inflated::new("zstd", decoder, limit))
        }
        Compression::Deflate if is_zlib(packed) => Box::new(Inflated::new("deflate", ZlibDecoder::new(packed), limit)),
        Compression::Deflate => Box::new(Inflated::new("deflate", DeflateDecoder::new(packed), limit)),
    })
}

/// Whether bytes begin as RFC 1950 has it: method 8, and a first pair that 31 divides.
fn is_zlib(packed: &[u8]) -> bool {
    matches!(packed, [method, flags, ..]
        if method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)).is_multiple_of(31))
}

fn refusal(error: &io::Error) -> Refusal {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<InflateFault>()) {
        Some(InflateFault::TooLarge { .. }) => Refusal::new(Reason::TooLarge),
        _ => Refusal::new(Reason::BadCompression),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::super::budget::Budget;
    use super::*;

    fn plain(packed: &[u8], compression: Compression, limit: usize) -> Result<Bytes, Reason> {
        let held = Budget::new(1 << 30).open();
        inflate(packed, compression, limit, held).map(|(bytes, _)| bytes).map_err(|refusal| refusal.reason)
    }

    /// The content in every compression, by what it is called.
    fn packed(content: &[u8]) -> [(Compression, Vec<u8>); 4] {
        let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(content).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(content).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        raw.write_all(content).unwrap();
        [
            (Compression::Gzip, gzip.finish().unwrap()),
            (Compression::Zstd, zstd::encode_all(content, 1).unwrap()),
            (Compression::Deflate, zlib.finish().unwrap()),
            (Compression::Deflate, raw.finish().unwrap()),
        ]
    }

    #[test]
    fn every_compression_gives_its_content_up_to_the_limit_and_not_beyond() {
        for size in [0, 3, STEP, STEP + 1, 3 * STEP] {
            let content = vec![7; size];
            for (compression, bytes) in packed(&content) {
                assert_eq!(plain(&bytes, compression, size).as_deref(), Ok(&content[..]), "{compression:?} {size}");
                if size > 0 {
                    assert_eq!(plain(&bytes, compression, size - 1), Err(Reason::TooLarge), "{compression:?} {size}");
                }
            }
        }
    }

    #[test]
    fn a_damaged_or_cut_body_is_refused_as_such() {
        for (compression, bytes) in packed(b"a body that is long enough to be cut somewhere") {
            let cut = &bytes[..bytes.len() / 2];
            assert_eq!(plain(cut, compression, 1000), Err(Reason::BadCompression), "{compression:?}");
            assert_eq!(plain(b"\xffno", compression, 1000), Err(Reason::BadCompression), "{compression:?}");
        }
    }

    #[test]
    fn what_is_inflated_counts_against_the_budget() {
        let content = vec![7; 4 * STEP];
        for (compression, bytes) in packed(&content) {
            let budget = Budget::new(2 * STEP);
            let refused = inflate(&bytes, compression, 1 << 30, budget.open()).unwrap_err();
            assert_eq!(refused.reason, Reason::NoMemory);
            assert!(budget.has_room(2 * STEP), "given back");
        }
    }
}
