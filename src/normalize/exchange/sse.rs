//! Server-sent events, by the rules of the WHATWG HTML standard, section 9.2.6.
//!
//! In: the text of an event stream. Out: its events, in order, each with the offset at which it was complete. Knows no
//! A2A.

/// One dispatched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent<'a> {
    /// `event` field; empty for the default.
    pub(crate) name: &'a str,
    /// `data` lines joined by line feeds.
    pub(crate) data: String,
    /// Byte offset just after the blank line that ended it; the text's length for an unfinished one.
    pub(crate) end: usize,
    /// The blank line was there. An unfinished event is to be used only if its data can be read: a recorder may trim
    /// white space, and a cut stream ends anywhere.
    pub(crate) finished: bool,
}

/// The events of a stream. Events without data are none.
pub(crate) fn events(text: &str) -> Vec<SseEvent<'_>> {
    let text_start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut found = Vec::new();
    let (mut name, mut data, mut has_data) = ("", String::new(), false);
    for (line, end) in lines(text, text_start) {
        if line.is_empty() {
            if has_data {
                found.push(SseEvent { name, data: std::mem::take(&mut data), end, finished: true });
            }
            (name, has_data) = ("", false);
            data.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if has_data {
                    data.push('\n');
                }
                data.push_str(value);
                has_data = true;
            }
            "event" => name = value,
            // A comment has the empty field name; `id` and `retry` carry nothing of A2A.
            _ => {}
        }
    }
    if has_data {
        found.push(SseEvent { name, data, end: text.len(), finished: false });
    }
    found
}

/// Lines without their ends, each with the offset after its end. A line ends with CR LF, LF or CR.
fn lines(text: &str, from: usize) -> impl Iterator<Item = (&str, usize)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let length = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let line = rest.get(..length)?;
        let tail = rest.get(length..)?;
        let end = if tail.starts_with("\r\n") { 2 } else { usize::from(!tail.is_empty()) };
        at += length + end;
        Some((line, at))
    })
}

/// Whether a text is an event stream, for recorders that keep no content type.
pub(crate) fn looks_like_stream(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start_matches(['\r', '\n']);
    ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| text.starts_with(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> Vec<String> {
        events(text).into_iter().filter(|event| event.finished).map(|event| event.data).collect()
    }

    #[test]
    fn all_three_line_ends_and_their_mixture_are_read() {
        for text in [
            "data: a\n\ndata: b\n\n",
            "data: a\r\n\r\ndata: b\r\n\r\n",
            "data: a\r\rdata: b\r\r",
            "data: a\r\n\ndata: b\n\r\n",
        ] {
            assert_eq!(data(text), ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn data_lines_are_joined_and_lose_one_leading_space() {
        assert_eq!(data("data: {\ndata:   \"a\": 1\ndata: }\n\n"), ["{\n  \"a\": 1\n}"]);
        assert_eq!(data("data:x\ndata\ndata: y\n\n"), ["x\n\ny"]);
    }

    #[test]
    fn comments_ids_and_empty_events_are_no_data() {
        assert_eq!(data("\u{feff}: ping\n\nid: 7\nevent: message\n\nretry: 10\ndata: a\n\n\n\n"), ["a"]);
    }

    #[test]
    fn an_event_name_holds_for_its_own_event_only() {
        let found = events("event: error\ndata: a\n\ndata: b\n\n");
        assert_eq!(found.iter().map(|event| event.name).collect::<Vec<_>>(), ["error", ""]);
    }

    #[test]
    fn an_unfinished_event_is_marked_and_ends_with_the_text() {
        let found = events("data: a\n\ndata: {\"b\":");
        assert_eq!(found.iter().map(|event| (event.end, event.finished)).collect::<Vec<_>>(), [(9, true), (20, false)]);
    }
}
