//! The common and the combined log format of Apache and nginx, with or without the virtual host before them.
//!
//! In: `[HOST] CLIENT IDENT USER [TIME] "METHOD PATH PROTOCOL" STATUS SIZE …`. Out: the record, without a host where the
//! line names none. Reads no header and no query beyond the url.

use serde_json::Value;

use super::super::frame::Frame;
use super::super::headers::absolute_url;
use super::super::record::{LogRecord, Origin};
use super::words::{Word, Words};
use super::{Line, request_line};
use crate::instant::Instant;

/// Words up to the size of the answer, with a virtual host before them.
const WORDS: usize = 8;

/// The record, and whether its time is none.
pub(super) fn of_text(text: &str, origin: &Origin, frame: &Frame<'_>) -> Option<(LogRecord, bool)> {
    // Most texts are none; looking for the bracket costs little.
    text.split_once(" [").filter(|(before, _)| before.len() < 1024)?;
    let words: Vec<Word<'_>> = Words::of(text).take(WORDS).collect();
    let (host, words) = match words.as_slice() {
        [Word::Bare(host), rest @ ..] if matches!(rest.get(3), Some(Word::Bracketed(_))) => (*host, rest),
        rest => ("", rest),
    };
    let [Word::Bare(client), Word::Bare(_), _, Word::Bracketed(time), Word::Quoted(request), Word::Bare(status), ..] =
        words
    else {
        return None;
    };
    let (method, path) = request_line(request)?;
    let at = time_local(time);
    if at.is_none() && !has_form(time) {
        return None;
    }
    let line = Line {
        method,
        url: absolute_url(path, "", host),
        status: Some(status.parse().ok().filter(|code| (100..=599).contains(code))?),
        client,
        upstream: "",
        started: at,
        ended: None,
    };
    let has_bad_time = line.started.is_none();
    Some((line.record(Value::Null, origin, frame), has_bad_time))
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Whether a text has the form of a time, whatever its numbers are.
fn has_form(time: &str) -> bool {
    const FORM: &[u8] = b"00/Mon/0000:00:00:00 +0000";
    let fits = |(byte, form): (u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        b'+' => matches!(byte, b'+' | b'-'),
        b'M' | b'o' | b'n' => true,
        separator => byte == *separator,
    };
    time.len() == FORM.len()
        && time.bytes().zip(FORM).all(fits)
        && time.get(3..6).is_some_and(|name| MONTHS.contains(&name))
}

/// `30/Nov/2026:06:15:34 +0000`
pub(in crate::decode) fn time_local(text: &str) -> Option<Instant> {
    let (date, rest) = text.split_once(':')?;
    let (time, zone) = rest.split_once(' ')?;
    let mut parts = date.split('/');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let (hours, minutes) = zone.split_at_checked(3)?;
    Instant::parse_rfc3339(&format!("{year}-{month:02}-{day}T{time}{hours}:{minutes}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::framing::collect::Collected;

    fn read(line: &str) -> Option<LogRecord> {
        of_text(line, &Collected::origin(), &Frame::default()).map(|(record, _)| record)
    }

    #[test]
    fn the_documented_lines_are_read_with_and_without_a_virtual_host() {
        // The example of Apache's documentation, then the same with more words.
        let common = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
        let combined = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)""#;
        let vhost = format!("agents.example:443 {combined}");
        for (line, key, url) in [
            (common, "url.path", "/apache_pb.gif"),
            (combined, "url.path", "/apache_pb.gif"),
            (vhost.as_str(), "url.full", "http://agents.example:443/apache_pb.gif"),
        ] {
            let record = read(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(record.attributes.text(key).as_deref(), Some(url), "{line}");
            assert_eq!(record.attributes.text("client.address").as_deref(), Some("127.0.0.1"));
            assert_eq!(record.attributes.text("http.response.status_code").as_deref(), Some("200"));
            assert_eq!(record.at, Instant::parse_rfc3339("2000-10-10T20:55:36Z"));
        }
    }

    #[test]
    fn a_time_that_is_none_costs_a_line_its_time_only() {
        let line = r#"127.0.0.1 - - [31/Nov/2026:13:55:36 -0700] "GET / HTTP/1.0" 200 1"#;
        let (record, has_bad_time) = of_text(line, &Collected::origin(), &Frame::default()).unwrap();
        assert_eq!((record.at, has_bad_time), (None, true));
        assert_eq!(record.attributes.text("http.response.status_code").as_deref(), Some("200"));
    }

    #[test]
    fn lines_of_other_forms_are_none() {
        for line in [
            "",
            "a b c [d] \"e\" f",
            r#"127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "-" 400 0"#,
            r#"127.0.0.1 - - [10/Okt/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1"#,
            r#"127.0.0.1 - - [10/Oct/2000:13:55:36] "GET / HTTP/1.0" 200 1"#,
            r#"127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 999 1"#,
            r#"127.0.0.1 - - [10/Oct/2000:13:55:36 ä07] "GET / HTTP/1.0" 200 1"#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
