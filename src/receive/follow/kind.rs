//! What sort of file is followed.
//!
//! In: the first bytes of a file. Out: whether its lines are handed out as they come, or all of it when it is whole. Reads no
//! file.

/// What sort of file one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing was read yet.
    Unknown,
    Lines,
    /// One JSON value over many lines: complete when it grows no more.
    Document,
    /// Packed: what it holds was read before it was packed.
    Packed,
    /// A document that is too long.
    TooLong,
}

impl Kind {
    /// By the first bytes, `is_cut` where there are more; without an end of line only once the file is quiet.
    pub(super) fn of(bytes: &[u8], is_cut: bool, is_quiet: bool) -> Self {
        if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return Self::Packed;
        }
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            let is_document = is_quiet && (is_whole_value(bytes) || (is_cut && is_one_value(bytes)));
            return if is_document { Self::Document } else { Self::Unknown };
        };
        let first = bytes.get(..end).unwrap_or_default().trim_ascii();
        let is_json = |line: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
        let opens = first.starts_with(b"{") || first.starts_with(b"[");
        if opens && !is_json(first) && is_one_value(bytes) { Self::Document } else { Self::Lines }
    }
}

/// Whether bytes are one object or list of JSON, and all of it.
pub(super) fn is_whole_value(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii();
    (bytes.starts_with(b"{") || bytes.starts_with(b"["))
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// Whether bytes are one JSON value, or the beginning of one.
fn is_one_value(bytes: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<serde::de::IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => bytes.get(values.byte_offset()..).unwrap_or_default().trim_ascii().is_empty(),
        Some(Err(error)) => error.is_eof(),
        None => true,
    }
}
