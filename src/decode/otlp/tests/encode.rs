//! A second, strict reading of OTLP/JSON into the generated types, to encode a request as protobuf.

use super::*;

fn text(value: &Value, key: &str) -> String {
    value.get(key).map(|text| text.as_str().unwrap().to_owned()).unwrap_or_default()
}

fn list<T>(value: &Value, key: &str, each: fn(&Value) -> T) -> Vec<T> {
    value.get(key).map(|list| list.as_array().unwrap().iter().map(each).collect()).unwrap_or_default()
}

fn id(value: &Value, key: &str) -> Vec<u8> {
    hex::decode(text(value, key)).unwrap()
}

fn nanos(value: &Value, key: &str) -> u64 {
    value.get(key).map(|text| text.as_str().unwrap().parse().unwrap()).unwrap_or_default()
}

fn small(value: &Value, key: &str) -> i32 {
    value.get(key).map(|number| i32::try_from(number.as_i64().unwrap()).unwrap()).unwrap_or_default()
}

pub(super) fn any(value: &Value) -> common::AnyValue {
    use common::any_value::Value as Kind;
    let kind = value.as_object().unwrap().iter().next().map(|(kind, value)| match kind.as_str() {
        "stringValue" => Kind::StringValue(value.as_str().unwrap().to_owned()),
        "boolValue" => Kind::BoolValue(value.as_bool().unwrap()),
        "intValue" => Kind::IntValue(value.as_str().unwrap().parse().unwrap()),
        "doubleValue" => Kind::DoubleValue(match value.as_str() {
            Some(word) => word.parse().unwrap(),
            None => value.as_f64().unwrap(),
        }),
        "arrayValue" => Kind::ArrayValue(common::ArrayValue { values: list(value, "values", any) }),
        "kvlistValue" => Kind::KvlistValue(common::KeyValueList { values: list(value, "values", pair) }),
        "bytesValue" => {
            let text = value.as_str().unwrap();
            Kind::BytesValue(base64::engine::general_purpose::STANDARD.decode(text).unwrap())
        }
        other => panic!("{other}"),
    });
    common::AnyValue { value: kind }
}

fn pair(value: &Value) -> common::KeyValue {
    common::KeyValue { key: text(value, "key"), value: value.get("value").map(any), ..Default::default() }
}

fn resource(value: &Value) -> Option<Resource> {
    let resource = value.get("resource")?;
    Some(Resource { attributes: list(resource, "attributes", pair), ..Default::default() })
}

fn scope(value: &Value) -> Option<common::InstrumentationScope> {
    let scope = value.get("scope")?;
    Some(common::InstrumentationScope {
        name: text(scope, "name"),
        version: text(scope, "version"),
        ..Default::default()
    })
}

fn span(value: &Value) -> trace::Span {
    trace::Span {
        trace_id: id(value, "traceId"),
        span_id: id(value, "spanId"),
        parent_span_id: id(value, "parentSpanId"),
        name: text(value, "name"),
        kind: small(value, "kind"),
        start_time_unix_nano: nanos(value, "startTimeUnixNano"),
        end_time_unix_nano: nanos(value, "endTimeUnixNano"),
        attributes: list(value, "attributes", pair),
        events: list(value, "events", |event| trace::span::Event {
            time_unix_nano: nanos(event, "timeUnixNano"),
            name: text(event, "name"),
            attributes: list(event, "attributes", pair),
            ..Default::default()
        }),
        status: value
            .get("status")
            .map(|status| trace::Status { message: text(status, "message"), code: small(status, "code") }),
        ..Default::default()
    }
}

fn log(value: &Value) -> logs::LogRecord {
    logs::LogRecord {
        time_unix_nano: nanos(value, "timeUnixNano"),
        observed_time_unix_nano: nanos(value, "observedTimeUnixNano"),
        severity_number: small(value, "severityNumber"),
        severity_text: text(value, "severityText"),
        event_name: text(value, "eventName"),
        body: value.get("body").map(any),
        attributes: list(value, "attributes", pair),
        trace_id: id(value, "traceId"),
        span_id: id(value, "spanId"),
        ..Default::default()
    }
}

/// A request of either signal as the protobuf message that an exporter would send.
pub(super) fn request(value: &Value) -> Vec<u8> {
    if value.get("resourceLogs").is_some() {
        let resource_logs = list(value, "resourceLogs", |group| logs::ResourceLogs {
            resource: resource(group),
            scope_logs: list(group, "scopeLogs", |group| logs::ScopeLogs {
                scope: scope(group),
                log_records: list(group, "logRecords", log),
                ..Default::default()
            }),
            ..Default::default()
        });
        return ExportLogsServiceRequest { resource_logs }.encode_to_vec();
    }
    let resource_spans = list(value, "resourceSpans", |group| trace::ResourceSpans {
        resource: resource(group),
        scope_spans: list(group, "scopeSpans", |group| trace::ScopeSpans {
            scope: scope(group),
            spans: list(group, "spans", span),
            ..Default::default()
        }),
        ..Default::default()
    });
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}
