//! Envoy's line of text for a request, in its own default form and in Istio's.
//!
//! In: `[TIME] "METHOD PATH PROTOCOL" CODE FLAGS … RECEIVED SENT DURATION UPSTREAM_TIME "FORWARDED_FOR" "USER_AGENT"
//! "REQUEST_ID" "AUTHORITY" "UPSTREAM_HOST" …`. Out: the record. Istio puts words before the numbers and behind the last
//! quote, so the numbers and the five quotes after them are what is looked for.

use serde_json::Value;

use super::super::frame::Frame;
use super::super::headers::absolute_url;
use super::super::record::{LogRecord, Origin};
use super::words::{Word, Words};
use super::{Line, request_line};
use crate::decode::times;
use crate::instant::Instant;

/// Words of a line that are looked at.
const WORDS: usize = 64;
/// Bytes received and sent, duration and upstream's time, then five quotes.
const NUMBERS: usize = 4;
const QUOTES: usize = 5;
/// Behind the quotes Istio writes cluster, two local addresses, then the caller's.
const CALLER: usize = 3;

/// The record, and whether its time is none.
pub(super) fn of_text(text: &str, origin: &Origin, frame: &Frame<'_>) -> Option<(LogRecord, bool)> {
    if !text.starts_with('[') {
        return None;
    }
    let words: Vec<Word<'_>> = Words::of(text).take(WORDS).collect();
    let [Word::Bracketed(time), Word::Quoted(request), Word::Bare(status), Word::Bare(_), rest @ ..] = words.as_slice()
    else {
        return None;
    };
    let started = Instant::parse_rfc3339(time);
    started.map(drop).or_else(|| times::is_time_like(time).then_some(()))?;
    let (method, path) = request_line(request)?;
    let at = (0..rest.len()).find(|at| is_numbers_and_quotes(rest.get(*at..).unwrap_or_default()))?;
    let number = |index: usize| rest.get(at + index).map(Word::text).and_then(|text| text.parse::<f64>().ok());
    let text = |index: usize| rest.get(at + NUMBERS + index).map(Word::text).unwrap_or_default();
    let [forwarded, authority, upstream, caller] = [text(0), text(3), text(4), text(QUOTES + CALLER)];
    let client = if caller.is_empty() { forwarded.split(',').next().unwrap_or_default().trim() } else { caller };
    let line = Line {
        method,
        url: absolute_url(path, "", authority),
        status: status.parse().ok().filter(|code| *code > 0),
        client,
        upstream: upstream.strip_prefix("tcp://").unwrap_or(upstream),
        started,
        ended: started.zip(number(2).filter(|ms| *ms >= 0.0)).map(|(started, ms)| started.plus_millis(ms)),
    };
    let has_bad_time = line.started.is_none();
    Some((line.record(Value::Null, origin, frame), has_bad_time))
}

fn is_numbers_and_quotes(words: &[Word<'_>]) -> bool {
    let is_number = |word: &Word<'_>| matches!(word, Word::Bare(text) if *text == "-" || text.bytes().all(|byte| byte.is_ascii_digit()));
    let Some((numbers, quotes)) = words.split_at_checked(NUMBERS) else { return false };
    numbers.iter().all(is_number)
        && numbers.first().is_some_and(|word| !word.text().is_empty())
        && quotes.len() >= QUOTES
        && quotes.iter().take(QUOTES).all(|word| matches!(word, Word::Quoted(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::framing::collect::Collected;

    fn read(line: &str) -> Option<LogRecord> {
        of_text(line, &Collected::origin(), &Frame::default()).map(|(record, _)| record)
    }

    /// The examples of Envoy's and of Istio's documentation.
    #[test]
    fn the_documented_lines_are_read_in_both_forms() {
        let envoy = read(
            r#"[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80""#,
        )
        .unwrap();
        let text = |record: &LogRecord, key: &str| record.attributes.text(key).unwrap_or_default();
        assert_eq!(text(&envoy, "url.full"), "http://locations/api/v1/locations");
        assert_eq!(
            (text(&envoy, "http.request.method").as_str(), text(&envoy, "http.response.status_code").as_str()),
            ("POST", "204")
        );
        assert_eq!(
            (text(&envoy, "client.address").as_str(), text(&envoy, "upstream.address").as_str()),
            ("10.0.35.28", "10.0.2.1:80")
        );
        assert_eq!(envoy.at, Instant::parse_rfc3339("2016-04-15T20:17:00.536Z"));
        assert_eq!(text(&envoy, "duration"), "226000000ns");

        let istio = read(
            r#"[2020-11-25T21:26:18.409Z] "GET /status/418 HTTP/1.1" 418 - via_upstream - "-" 0 135 3 1 "-" "curl/7.73.0-DEV" "84961386-6d84-929d-98bd-c5aee93b5c88" "httpbin:8000" "127.0.0.1:80" inbound|8000|| 127.0.0.1:41854 10.44.1.27:80 10.44.1.23:37652 outbound_.8000_._.httpbin.foo.svc.cluster.local default"#,
        )
        .unwrap();
        assert_eq!(text(&istio, "url.full"), "http://httpbin:8000/status/418");
        assert_eq!(
            (text(&istio, "client.address"), text(&istio, "upstream.address")),
            ("10.44.1.23:37652".into(), "127.0.0.1:80".into())
        );
        assert_eq!(istio.at, Instant::parse_rfc3339("2020-11-25T21:26:18.412Z"));
    }

    #[test]
    fn lines_of_other_forms_are_none() {
        for line in [
            "",
            "[",
            "[2020-11-25T21:26:18.409Z]",
            r#"[2020-11-25T21:26:18.409Z] "GET /" 200 - 1 2 3 4"#,
            r#"[soon] "POST / HTTP/2" 204 - 154 0 226 100 "a" "b" "c" "d" "e""#,
            r#"[2020-11-25T21:26:18.409Z] "-" 0 - 154 0 226 100 "a" "b" "c" "d" "e""#,
            r#"[2020-11-25 21:26:18] INFO httpx: said"#,
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
