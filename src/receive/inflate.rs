//! Decompression by content: gzip and zstd, one inside the other, as a stream.
//!
//! In: raw bytes. Out: bytes that begin with no known compression. Memory is a few windows, whatever the bytes inflate
//! to; never looks at a file name.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// Compression inside compression that is undone: a rotated log that a shipper packed once more has two.
const MAX_LEVELS: u32 = 3;

/// Longest back reference of a zstd frame, as a power of two: what the zstd tool itself accepts (128 MiB).
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why a compressed stream ends early. It is the inner error of the [`io::Error`] that a read returns.
#[derive(Debug, thiserror::Error)]
pub enum InflateFault {
    /// Inflated to more than the limit.
    #[error("inflates to more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The compressed bytes end before their content does: a copy that was cut off, or a file that is still written.
    #[error("the {format} stream ends early: what it held from there on is missing")]
    EndsEarly {
        /// `gzip`, `zstd` or `deflate`.
        format: &'static str,
    },
    /// The compressed bytes are damaged.
    #[error("broken {format} stream")]
    Broken {
        /// `gzip`, `zstd` or `deflate`.
        format: &'static str,
        /// What the decompressor says.
        source: io::Error,
    },
}

/// Wraps a stream so that reading it gives its inflated content, or the stream itself if it is not compressed.
pub fn inflate<'a>(raw: Box<dyn Read + Send + 'a>, max_inflated_bytes: u64) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut stream = raw;
    for _ in 0..MAX_LEVELS {
        let mut buffered = BufReader::with_capacity(64 << 10, stream);
        let head = peek(&mut buffered)?;
        stream = if head.starts_with(&GZIP) {
            Box::new(Inflated::new("gzip", MultiGzDecoder::new(buffered), max_inflated_bytes))
        } else if head.starts_with(&ZSTD) {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(Inflated::new("zstd", decoder, max_inflated_bytes))
        } else {
            return Ok(Box::new(buffered));
        };
    }
    Ok(stream)
}

/// The first bytes of a stream, without taking them. A fault of an inner level is left for the reader to meet.
fn peek<R: Read>(buffered: &mut BufReader<R>) -> io::Result<Vec<u8>> {
    match buffered.fill_buf() {
        Ok(head) => Ok(head.iter().take(ZSTD.len()).copied().collect()),
        Err(error) if is_fault(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// A decompressor that counts what it gives and names its faults.
pub(super) struct Inflated<R> {
    format: &'static str,
    decoder: R,
    limit: u64,
    given: u64,
    /// How it failed, if it did: some decompressors say so once, and then that all is well.
    failed: Option<io::ErrorKind>,
}

impl<R> Inflated<R> {
    /// Counts what `decoder` gives, and fails once that is more than `limit` bytes.
    pub(super) fn new(format: &'static str, decoder: R, limit: u64) -> Self {
        Self { format, decoder, limit, given: 0, failed: None }
    }
}

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given > self.limit {
            return Err(io::Error::other(InflateFault::TooLarge { limit: self.limit }));
        }
        if let Some(kind) = self.failed {
            return Err(fault(self.format, kind.into()));
        }
        match self.decoder.read(buffer) {
            Ok(count) => {
                self.given += count as u64;
                Ok(count)
            }
            Err(error) if is_foreign(&error) => Err(error),
            Err(error) => {
                self.failed = Some(error.kind());
                Err(fault(self.format, error))
            }
        }
    }
}

/// What a decompressor's error means.
fn fault(format: &'static str, source: io::Error) -> io::Error {
    io::Error::other(match source.kind() {
        io::ErrorKind::UnexpectedEof => InflateFault::EndsEarly { format },
        _ => InflateFault::Broken { format, source },
    })
}

fn is_fault(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<InflateFault>())
}

/// An error of the file or of an inner level, not of this decompressor.
fn is_foreign(error: &io::Error) -> bool {
    is_fault(error) || error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn open(bytes: &[u8], limit: u64) -> Box<dyn Read + Send + '_> {
        inflate(Box::new(bytes), limit).unwrap()
    }

    fn met(error: &io::Error) -> &InflateFault {
        error.get_ref().and_then(|inner| inner.downcast_ref()).unwrap()
    }

    #[test]
    fn plain_gzip_of_several_members_and_zstd_give_their_content() {
        let two_members = [gzip(b"one "), gzip(b"two")].concat();
        let zstd = zstd::encode_all(&b"one two"[..], 1).unwrap();
        let nested = gzip(&zstd::encode_all(&gzip(b"one two")[..], 1).unwrap());
        for bytes in [b"one two".to_vec(), two_members, zstd, nested] {
            let mut text = String::new();
            open(&bytes, 1000).read_to_string(&mut text).unwrap();
            assert_eq!(text, "one two");
        }
    }

    #[test]
    fn an_empty_stream_is_empty() {
        let mut content = Vec::new();
        open(b"", 10).read_to_end(&mut content).unwrap();
        assert!(content.is_empty());
    }

    #[test]
    fn a_truncated_stream_gives_what_was_whole_and_then_names_the_fault() {
        let noise: Vec<u8> = (0..200_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for packed in [gzip(&noise), zstd::encode_all(&noise[..], 1).unwrap()] {
            let mut content = Vec::new();
            let cut = &packed[..packed.len() / 2];
            let error = open(cut, 1 << 30).read_to_end(&mut content).unwrap_err();
            assert!(matches!(met(&error), InflateFault::EndsEarly { .. }), "{error:?}");
            assert!(!content.is_empty());
            assert!(noise.starts_with(&content));
        }
    }

    #[test]
    fn a_stream_ends_early_wherever_it_is_cut_and_damage_is_something_else() {
        let content = b"one line\nand another\n".repeat(20);
        for packed in [gzip(&content), zstd::encode_all(&content[..], 1).unwrap()] {
            for cut in ZSTD.len()..packed.len() {
                let error = open(&packed[..cut], 1000).read_to_end(&mut Vec::new()).unwrap_err();
                assert!(matches!(met(&error), InflateFault::EndsEarly { .. }), "{cut}: {error:?}");
            }
        }
        let mut damaged = gzip(&content);
        let at = damaged.len() - 6;
        damaged[at] ^= 1;
        let error = open(&damaged, 1000).read_to_end(&mut Vec::new()).unwrap_err();
        assert!(matches!(met(&error), InflateFault::Broken { .. }), "{error:?}");
    }

    #[test]
    fn inflation_stops_soon_after_the_limit() {
        let packed = gzip(&vec![0; 8 << 20]);
        let mut content = Vec::new();
        let error = open(&packed, 1 << 20).read_to_end(&mut content).unwrap_err();
        assert!(matches!(met(&error), InflateFault::TooLarge { limit: 1_048_576 }));
        assert!(content.len() < 3 << 20, "{}", content.len());
    }
}
