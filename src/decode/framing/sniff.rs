//! The first bytes of a stream: text, protobuf, or a format that another program converts.
//!
//! In: the head of a stream. Out: what it is. Never looks at a file name.

/// Bytes that are looked at.
pub(super) const HEAD: usize = 4096;

/// What a stream is, by its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Lines, or JSON.
    Text,
    /// May be an OTLP request body.
    Protobuf,
    /// No text and no format known here.
    Binary,
    /// A known format that is not read here, with what to do about it.
    Foreign(&'static str),
}

const FOREIGN: [(&[u8], &str); 22] = [
    (b"\xff\xfe", "UTF-16 text: iconv -f UTF-16 -t UTF-8 FILE"),
    (b"\xfe\xff", "UTF-16 text: iconv -f UTF-16 -t UTF-8 FILE"),
    (b"\xa1\xb2\xc3\xd4", PCAP),
    (b"\xd4\xc3\xb2\xa1", PCAP),
    (b"\xa1\xb2\x3c\x4d", PCAP),
    (b"\x4d\x3c\xb2\xa1", PCAP),
    // As the kernel of old wrote it, with longer packet headers.
    (b"\xa1\xb2\xcd\x34", PCAP),
    (b"\x34\xcd\xb2\xa1", PCAP),
    (b"\x0a\x0d\x0d\x0a", PCAP),
    (b"snoop\0\0\0", PCAP),
    (b"GMBU", PCAP),
    (b"PK\x03\x04", "zip archive: unzip FILE"),
    (b"BZh", "bzip2: bunzip2 FILE"),
    (b"\xfd7zXZ\x00", "xz: xz -d FILE"),
    (b"\x04\x22\x4d\x18", "lz4: lz4 -d FILE"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive: 7z x FILE"),
    (b"PAR1", "Parquet: export its log or body column as NDJSON"),
    (b"ARROW1", "Arrow file: export its log or body column as NDJSON"),
    (b"SQLite format 3\x00", "SQLite database: export its log or body column as NDJSON"),
    (b"\x1f\x9d", "compress: uncompress FILE"),
    (b"%PDF", "PDF: no capture"),
    (b"\x89PNG", "image: no capture"),
];

const PCAP: &str =
    "packet capture: pcap2har -o out.har FILE (PyPI; uses tshark), or record HTTP with a proxy that writes HAR";

/// An archive of Fiddler's sessions: a zip with a folder of requests and answers.
const SAZ: &str = "Fiddler sessions: File > Export Sessions > HTTPArchive v1.2";

const MITMPROXY: &str = "mitmproxy flows: mitmdump -nr FILE --set hardump=out.har";

/// Tells what a stream is.
pub(super) fn kind(head: &[u8]) -> Kind {
    if head.starts_with(b"PK\x03\x04") && is_saz(head) {
        return Kind::Foreign(SAZ);
    }
    if let Some((_, advice)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Kind::Foreign(advice);
    }
    if is_mitmproxy_flow(head) {
        return Kind::Foreign(MITMPROXY);
    }
    let odd = head.iter().take(HEAD).filter(|b| is_odd(**b)).count();
    if odd == 0 {
        Kind::Text
    } else if may_be_protobuf(head) {
        Kind::Protobuf
    } else if is_mostly_text(head) || begins_with_line_of_text(head) || is_mostly_lines_of_text(head) {
        Kind::Text
    } else {
        Kind::Binary
    }
}

/// Text with the odd stray control character. NUL is in no text.
pub(super) fn is_mostly_text(bytes: &[u8]) -> bool {
    let bytes = &bytes[..bytes.len().min(HEAD)];
    !bytes.contains(&0) && bytes.iter().filter(|b| is_odd(**b)).count() * 20 < bytes.len()
}

/// Text that turns binary further on: what was torn or preallocated behind it costs none of it.
fn begins_with_line_of_text(head: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', head).unwrap_or_default();
    head.get(..end).is_some_and(|line| !line.is_empty() && is_mostly_text(line))
}

/// Text of which some lines are damaged: it is told line by line what is none.
fn is_mostly_lines_of_text(head: &[u8]) -> bool {
    let lines = head.split(|byte| *byte == b'\n').filter(|line| is_mostly_text(line));
    lines.map(<[u8]>::len).sum::<usize>() * 2 > head.len()
}

/// Control characters that text files do not hold (terminal escapes and JSON text sequences do appear).
fn is_odd(byte: u8) -> bool {
    byte == 0x7f || (byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b | 0x1e))
}

/// A request body begins with field 1 (a list of resources), bare or behind a length or a gRPC frame header.
fn may_be_protobuf(head: &[u8]) -> bool {
    const FIELD_1: u8 = 0x0a;
    let framed = |header: usize| {
        let length = head.get(header - 4..header).map(|b| b.iter().fold(0_u32, |sum, b| sum << 8 | u32::from(*b)));
        length.is_some_and(|l| l > 1) && head.get(header) == Some(&FIELD_1)
    };
    // Compressed gRPC messages begin with gzip's magic.
    let packed = head.first() == Some(&1) && head.get(5..7) == Some(&[0x1f, 0x8b]);
    head.first() == Some(&FIELD_1) || framed(4) || (matches!(head.first(), Some(0 | 1)) && framed(5)) || packed
}

/// Names of the files of Fiddler's archive, which stand in plain text in a zip: `raw/1_c.txt`, the folder with a slash of
/// either sort.
fn is_saz(head: &[u8]) -> bool {
    let folder = memchr::memmem::find(head, b"raw/").or_else(|| memchr::memmem::find(head, b"raw\\"));
    let Some(name) = folder.and_then(|at| head.get(at + 4..)) else { return false };
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // The folder may have an entry of its own, before those of its files.
    digits == 0 || [&b"_c.txt"[..], b"_s.txt", b"_m.xml"].iter().any(|end| name[digits..].starts_with(end))
}

/// A tnetstring dictionary: `2314:9:websocket;...`. A time of day such as `12:30:45` looks like its beginning.
fn is_mitmproxy_flow(head: &[u8]) -> bool {
    let Some((outer, rest)) = number(head) else { return false };
    let Some((inner, rest)) = number(rest) else { return false };
    let Some((key, rest)) = usize::try_from(inner).ok().and_then(|n| rest.split_at_checked(n)) else { return false };
    let is_word = !key.is_empty() && key.iter().all(|b| b.is_ascii_lowercase() || *b == b'_');
    inner < outer && is_word && matches!(rest.first(), Some(b';' | b','))
}

/// Digits and a colon.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().position(|b| !b.is_ascii_digit()).filter(|n| (1..=12).contains(n))?;
    let value = std::str::from_utf8(&bytes[..length]).ok()?.parse().ok()?;
    Some((value, bytes[length..].strip_prefix(b":")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_formats_come_with_advice_and_times_of_day_are_no_flows() {
        let advice = |head: &[u8]| match kind(head) {
            Kind::Foreign(advice) => advice,
            kind => panic!("{kind:?}"),
        };
        assert!(advice(b"2314:9:websocket;0:~8:response;").contains("mitmdump -nr FILE --set hardump=out.har"));
        // mitmproxy 11.0.2
        assert!(
            advice(b"2025:9:websocket;0:~8:response;363:6:reason;2:OK")
                .contains("mitmdump -nr FILE --set hardump=out.har")
        );
        // pcap of either byte order, of nanoseconds, modified; pcapng; snoop: the first bytes of files of tshark 4.
        for magic in [
            &b"\xd4\xc3\xb2\xa1\x02\0"[..],
            b"\xa1\xb2\xc3\xd4\0\x02",
            b"\x4d\x3c\xb2\xa1\x02\0",
            b"\xa1\xb2\x3c\x4d\0\x02",
            b"\x34\xcd\xb2\xa1\x02\0",
            b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a",
            b"snoop\0\0\0\0\0\0\x02",
        ] {
            assert!(advice(magic).contains("pcap2har -o out.har FILE"));
        }
        assert_eq!(kind(b"snoop is a word"), Kind::Text);
        let zip = |name: &str| [b"PK\x03\x04".as_slice(), &[0; 26], name.as_bytes(), b"\x78\x9c"].concat();
        for name in ["raw/1_c.txt", "raw\\0001_s.txt", "raw/"] {
            assert!(advice(&zip(name)).contains("HTTPArchive"), "{name}");
        }
        for name in ["capture.har", "raw/12.json", "draws/1_c.txt"] {
            assert!(advice(&zip(name)).contains("unzip"), "{name}");
        }
        assert!(advice(b"\xff\xfe{\0").contains("iconv"));
        for line in ["12:30:45 INFO a\n", "23:02:45,123 x\n", "23:05:ab,cd x\n"] {
            assert_eq!(kind(line.as_bytes()), Kind::Text, "{line}");
        }
    }

    #[test]
    fn captured_protobuf_bodies_are_told_from_text_and_from_noise() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/a2a-python-1.3.0/");
        for (file, expected) in [
            ("jsonrpc.logs.0.otlp-http.pb", Kind::Protobuf),
            ("jsonrpc.traces.1.otlp-grpc.pb", Kind::Protobuf),
            ("jsonrpc.har", Kind::Text),
            ("README.md", Kind::Text),
        ] {
            let bytes = std::fs::read(format!("{folder}{file}")).unwrap();
            assert_eq!(kind(&bytes[..bytes.len().min(HEAD)]), expected, "{file}");
        }
        assert_eq!(kind(&[0; HEAD]), Kind::Binary);
        assert_eq!(kind(b"\0\0\0\0\x05\x0a\x03abc"), Kind::Protobuf);
    }
}
