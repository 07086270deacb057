//! The events of a streamed answer, and how the stream ended.
//!
//! In: an exchange whose response is an event stream. Out: each event's JSON with its time and position. Reads what is
//! complete of a stream that was cut.

use serde_json::Value;

use super::sse;
use crate::decode::record::{Body, Chunk, Exchange};
use crate::decode::tree;
use crate::instant::Instant;
use crate::normalize::protocol::state;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StreamEvent {
    /// When its last piece arrived, where the recorder kept that.
    pub(crate) at: Option<Instant>,
    /// The server named it `error`.
    pub(crate) is_error: bool,
    pub(crate) value: Value,
}

/// The events of a response, or none if it is no event stream.
pub(crate) fn read(exchange: &Exchange) -> Option<Vec<StreamEvent>> {
    let joined: String = exchange.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    let text = match &exchange.response_body {
        Body::Text(text) => text.as_str(),
        Body::Bytes(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
        Body::Absent => joined.as_str(),
        Body::Json(_) => return None,
    };
    // Streams put together from documents come here unweighed.
    let text = tree::heavy_from(text).and_then(|end| text.get(..end)).unwrap_or(text);
    let content_type = exchange.response_headers.get("content-type").unwrap_or_default();
    let declared = content_type.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
    if !declared && !sse::looks_like_stream(text) {
        return None;
    }
    let arrivals = if joined == text { Arrivals::of(&exchange.chunks) } else { Arrivals::default() };
    let read = |event: sse::SseEvent<'_>| {
        let value = tree::read(&event.data).ok()?;
        Some(StreamEvent { at: arrivals.at(event.end), is_error: event.name == "error", value })
    };
    let events: Vec<StreamEvent> = sse::events(text).into_iter().filter_map(read).collect();
    // A refusal under the content type that was asked for is no stream.
    let refused = exchange.status.is_some_and(|status| status >= 300);
    (!events.is_empty() || !refused).then_some(events)
}

/// Offsets at which the pieces of a stream end, with their times.
#[derive(Default)]
struct Arrivals(Vec<(usize, Option<Instant>)>);

impl Arrivals {
    fn of(chunks: &[Chunk]) -> Self {
        let mut end = 0;
        Self(
            chunks
                .iter()
                .map(|chunk| {
                    end += chunk.text.len();
                    (end, chunk.at)
                })
                .collect(),
        )
    }

    fn at(&self, offset: usize) -> Option<Instant> {
        let index = self.0.partition_point(|(end, _)| *end < offset);
        self.0.get(index).and_then(|(_, at)| *at)
    }
}

/// What the last of a stream's events told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LastSeen {
    /// Last state told; empty for none.
    pub(crate) state: &'static str,
    pub(crate) message: bool,
    pub(crate) error: bool,
}

impl LastSeen {
    /// The word of the `stream_end` column. A stream that the recorder cut has no end that is known.
    pub(crate) fn end(self, exchange: &Exchange) -> &'static str {
        if self.error {
            "error"
        } else if state::is_terminal(self.state) {
            "terminal"
        } else if state::is_interrupted(self.state) {
            "interrupted"
        } else if self.message {
            "message"
        } else if exchange.client_disconnected {
            "client-closed"
        } else if exchange.truncated {
            ""
        } else {
            "cut"
        }
    }
}
