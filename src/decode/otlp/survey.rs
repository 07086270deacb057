//! What an OTLP/JSON request holds, before it is decoded.
//!
//! In: the JSON value of a request. Out: counts, and what is wrong with the request as a whole or merely unusual in it: a
//! sender wants to hear of both, a file cannot. Never changes the value.

use serde_json::Value;

use super::assemble::{Id, SPAN_ID, TRACE_ID};
use super::json::{LOG_RECORDS, RESOURCE_LOGS, RESOURCE_METRICS, RESOURCE_SPANS, SCOPE_LOGS, SCOPE_SPANS};

/// Names of the list of scopes with metrics.
const SCOPE_METRICS: [&str; 4] =
    ["scopeMetrics", "scope_metrics", "instrumentationLibraryMetrics", "instrumentation_library_metrics"];
/// Names of what holds the data points of a metric.
const METRIC_DATA: [&str; 6] =
    ["gauge", "sum", "histogram", "exponentialHistogram", "exponential_histogram", "summary"];
/// Names of a list of data points.
const DATA_POINTS: [&str; 2] = ["dataPoints", "data_points"];

/// What a request holds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(in crate::decode) struct Survey {
    /// Spans and log records.
    pub(in crate::decode) items: u64,
    /// Data points of metrics.
    pub(in crate::decode) data_points: u64,
    /// Enums given as names, which the specification forbids.
    pub(in crate::decode) named_enums: u64,
    /// What makes the request unreadable as a whole.
    pub(in crate::decode) fault: Option<&'static str>,
}

/// Looks a request over.
pub(in crate::decode) fn survey(request: &Value) -> Survey {
    let mut survey = Survey::default();
    if !request.is_object() {
        survey.fault = Some("an OTLP request is a JSON object");
        return survey;
    }
    for span in survey.all(request, &RESOURCE_SPANS, &SCOPE_SPANS, &["spans"]) {
        survey.items += 1;
        survey.named(span.get("kind"));
        survey.named(span.get("status").and_then(|status| status.get("code")));
        let is_unreadable = is_unreadable_id(member(span, &["traceId", "trace_id"]), TRACE_ID)
            || is_unreadable_id(member(span, &["spanId", "span_id"]), SPAN_ID);
        if is_unreadable {
            survey.fault = Some("the trace or span id of a span is not hexadecimal");
        }
    }
    for log in survey.all(request, &RESOURCE_LOGS, &SCOPE_LOGS, &LOG_RECORDS) {
        survey.items += 1;
        survey.named(member(log, &["severityNumber", "severity_number"]));
    }
    for metric in survey.all(request, &RESOURCE_METRICS, &SCOPE_METRICS, &["metrics"]) {
        let points = |name| metric.get(name).and_then(|data| member(data, &DATA_POINTS)).and_then(Value::as_array);
        survey.data_points += METRIC_DATA.into_iter().filter_map(points).map(|list| list.len() as u64).sum::<u64>();
    }
    survey
}

impl Survey {
    /// The items of all scopes of all resources; what should be a list and is none is a fault.
    fn all<'v>(&mut self, request: &'v Value, resources: &[&str], scopes: &[&str], items: &[&str]) -> Vec<&'v Value> {
        let resources = self.list(member(request, resources));
        let scopes: Vec<_> = resources.iter().flat_map(|resource| self.list(member(resource, scopes))).collect();
        scopes.iter().flat_map(|scope| self.list(member(scope, items))).collect()
    }

    fn list<'v>(&mut self, value: Option<&'v Value>) -> &'v [Value] {
        match value {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) => list,
            Some(_) => {
                self.fault = Some("a list of the OTLP request is no list");
                &[]
            }
        }
    }

    fn named(&mut self, value: Option<&Value>) {
        let is_name = value.and_then(Value::as_str).is_some_and(|text| text.trim().parse::<i64>().is_err());
        self.named_enums += u64::from(is_name);
    }
}

fn member<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    names.iter().find_map(|name| value.get(name).filter(|value| !value.is_null()))
}

/// Whether an id cannot be told at all. One that is only of the wrong length costs its own span, not the request.
fn is_unreadable_id(id: Option<&Value>, width: usize) -> bool {
    match id {
        None => false,
        Some(Value::String(text)) => Id::from_text(text, width) == Id::Bad && hex::decode(text.trim()).is_err(),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_of_all_signals_are_counted() {
        let request = json!({
            "resourceSpans": [{"scopeSpans": [{"spans": [{}, {"kind": 3}]}, {"spans": [{"kind": "SPAN_KIND_CLIENT"}]}]}, {}],
            "resourceLogs": [{"scopeLogs": [{"logRecords": [{"severityNumber": "9"}]}, {}]}],
            "resourceMetrics": [{"scopeMetrics": [{"metrics": [
                {"gauge": {"dataPoints": [{}, {}]}}, {"sum": {"dataPoints": [{}]}}, {"summary": {}}, {},
            ]}]}],
        });
        assert_eq!(survey(&request), Survey { items: 4, data_points: 3, named_enums: 1, fault: None });
        assert_eq!(survey(&json!({})), Survey::default());
    }

    #[test]
    fn an_id_of_the_wrong_length_differs_from_one_that_is_none() {
        let fault = |id: Value| {
            let spans = json!([{"traceId": id, "spanId": "00f067aa0ba902b7"}]);
            survey(&json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})).fault.is_some()
        };
        for good in [json!("01"), json!(""), json!(null), json!("4BF92F3577B34DA6A3CE929D0E0E4736")] {
            assert!(!fault(good.clone()), "{good}");
        }
        for bad in [json!("zzf92f3577b34da6a3ce929d0e0e4736"), json!("4bf"), json!(7), json!(["01"])] {
            assert!(fault(bad.clone()), "{bad}");
        }
    }

    #[test]
    fn what_should_be_a_list_and_is_none_is_a_fault() {
        for request in [json!([]), json!(7), json!({"resourceSpans": {}}), json!({"resourceLogs": [{"scopeLogs": 1}]})]
        {
            assert!(survey(&request).fault.is_some(), "{request}");
        }
    }
}
