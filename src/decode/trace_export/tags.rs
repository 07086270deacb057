//! Tags that stand for what a span has members for elsewhere.
//!
//! In: the tags of a span of a format that knows nothing else (Jaeger, Zipkin). Out: its attributes, and kind, status and
//! scope, by the OpenTelemetry specification's mapping to such formats and the older conventions of OpenTracing.

use serde_json::Value;

use super::value::{kind, status};
use crate::decode::otlp::assemble::{Id, SpanParts};
use crate::decode::record::Attributes;

/// `STATUS_CODE_ERROR`.
const ERROR: i64 = 2;

/// What tags tell.
#[derive(Debug, Default)]
pub(super) struct Tags {
    pub(super) attributes: Attributes,
    pub(super) kind: i64,
    pub(super) status_code: i64,
    pub(super) status_message: String,
    pub(super) scope: String,
}

impl Tags {
    /// Reads tags; of those that stand for a member only what they say is kept.
    pub(super) fn of(tags: impl IntoIterator<Item = (String, Value)>) -> Self {
        let mut told = Self::default();
        let mut error = None;
        for (key, value) in tags {
            let word = value.as_str().unwrap_or_default();
            match key.as_str() {
                "" | "otel.scope.version" | "otel.library.version" => {}
                "span.kind" => told.kind = kind(word),
                "otel.status_code" => told.status_code = status(word),
                "otel.status_description" => told.status_message = word.to_owned(),
                "otel.scope.name" | "otel.library.name" if !word.is_empty() => told.scope = word.to_owned(),
                "error" => error = Some(value),
                _ => told.attributes.0.push((key, value)),
            }
        }
        told.error(error);
        told
    }

    /// The tag `error`: a truth value, or a text that is the reason (Zipkin). Where a status is told, it is that one's.
    fn error(&mut self, tag: Option<Value>) {
        let Some(tag) = tag else { return };
        let reason = match &tag {
            Value::Bool(false) => return,
            Value::String(word) if word.eq_ignore_ascii_case("false") => return,
            Value::String(word) if !word.eq_ignore_ascii_case("true") => word.clone(),
            _ => String::new(),
        };
        if self.status_code != ERROR && !reason.is_empty() {
            self.attributes.0.push(("error".to_owned(), tag));
        }
        self.status_code = ERROR;
        if self.status_message.is_empty() {
            self.status_message = reason;
        }
    }

    /// A span of these tags, without the rest.
    pub(super) fn into_parts(self) -> SpanParts {
        SpanParts {
            trace_id: Id::Absent,
            span_id: Id::Absent,
            parent_span_id: Id::Absent,
            name: String::new(),
            kind: self.kind,
            started_at: None,
            ended_at: None,
            has_bad_time: false,
            status_code: self.status_code,
            status_message: self.status_message,
            attributes: self.attributes,
            events: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tags(list: &[(&str, Value)]) -> Tags {
        Tags::of(list.iter().map(|(key, value)| ((*key).to_owned(), value.clone())))
    }

    #[test]
    fn tags_that_stand_for_members_are_no_attributes() {
        let told = tags(&[
            ("span.kind", json!("client")),
            ("otel.scope.name", json!("httpx")),
            ("otel.scope.version", json!("1")),
            ("otel.status_code", json!("ERROR")),
            ("otel.status_description", json!("refused")),
            ("error", json!(true)),
            ("http.method", json!("GET")),
        ]);
        assert_eq!((told.kind, told.status_code, told.scope.as_str()), (3, 2, "httpx"));
        assert_eq!(told.status_message, "refused");
        assert_eq!(told.attributes.0, [("http.method".to_owned(), json!("GET"))]);
    }

    #[test]
    fn an_error_tag_that_says_no_is_none_and_a_reason_is_kept() {
        for no in [json!(false), json!("false"), json!("False")] {
            assert_eq!(tags(&[("error", no)]).status_code, 0);
        }
        for yes in [json!(true), json!("true"), json!(""), json!(1)] {
            let told = tags(&[("error", yes)]);
            assert_eq!((told.status_code, told.status_message.as_str(), told.attributes.0.len()), (2, "", 0));
        }
        let told = tags(&[("error", json!("no route")), ("otel.status_code", json!("ERROR"))]);
        assert_eq!((told.status_message.as_str(), told.attributes.0.len()), ("no route", 0));
        // Without a status it may be an attribute of that name.
        assert_eq!(tags(&[("error", json!("no route"))]).attributes.get("error"), Some(&json!("no route")));
    }
}
